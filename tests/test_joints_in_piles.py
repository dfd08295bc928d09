"""A robot among bodies: rows of joints leave an island's matrix as sparse as contacts alone make it."""

import numpy as np
import pytest

from contactlab.constraints import LoopConstraint
from contactlab.simulation import (
    Box,
    ForceChoice,
    HalfSpace,
    JointActions,
    JointLimit,
    Material,
    ModelBuilder,
    PositionDrive,
    RigidInertia,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    joints,
    simulate,
)
from contactlab.world.joint_actions import MimicJoint
from problem_data import ConstraintVelProblemData

H = 2e-3
HALF = (0.05, 0.05, 0.04)
FINGER = (0.02, 0.04, 0.035)
SCENES = {
    "drives and stops": ({}, {}),
    "an equation": ({"follower": True}, {}),
    "an equation between trees": ({"tethered": True}, {}),
    "one that gives way": ({"tethered": True}, {"cfm": 1e-6}),
    "exact cones": ({"follower": True}, {"friction": "cone"}),
}


def gripped_wall(layers: int = 6, columns: int = 5, *, follower: bool = False, tethered: bool = False) -> World:
    """A wall of bricks whose topmost one a gripper presses down and holds: drives, stops and dry friction.

    ``follower``: one finger goes as the other does, which is an equation. ``tethered``: a brick is bound to the palm.
    """
    material = Material(0.6)
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), material)
    top = 2 * HALF[2] * (layers + 1)
    hand = ModelBuilder()
    palm = Transform(p=(0.0, 0.0, top + HALF[2]))
    hand.add_body(
        "palm", joint=joints.Prismatic((0, 0, 1)), placement=palm, inertia=RigidInertia.solid_box(1.0, (0.1,) * 3)
    )
    for name, side in (("left", -1.0), ("right", 1.0)):
        hand.add_body(
            name,
            parent="palm",
            joint=joints.Prismatic((-side, 0, 0)),
            placement=Transform(p=(side * (HALF[0] + FINGER[0]), 0.0, -2 * HALF[2])),
            inertia=RigidInertia.solid_box(0.3, FINGER),
        )
    builder.add_model(hand.build())
    for name in ("left", "right"):
        builder.add_shape(name, Box(FINGER), material)
        builder.add_joint_limit(JointLimit(name, -0.02, 1e-4))
        builder.add_joint_friction(name, 0.5)
    builder.add_drive(PositionDrive("palm", -0.1, 1e4, 50.0, max_force=30.0))
    builder.add_drive(PositionDrive("left", 0.05, 1e4, 50.0, max_force=20.0))
    if follower:
        builder.add_actions(JointActions(mimics=(MimicJoint("right", "left", 1.0, 0.0),)))
    else:
        builder.add_drive(PositionDrive("right", 0.05, 1e4, 50.0, max_force=20.0))
    inertia = RigidInertia.solid_box(1.0, HALF)
    for layer in range(layers):
        for i in range(columns):
            x = 2.1 * HALF[0] * (i - 0.5 * (columns - 1) + 0.25 * (-1) ** layer)
            builder.add_free_body(
                f"brick {layer} {i}", inertia, Box(HALF), material, (x, 0, HALF[2] * (2 * layer + 1), 1, 0, 0, 0)
            )
    builder.add_free_body("held", inertia, Box(HALF), material, (0, 0, top - HALF[2], 1, 0, 0, 0))
    if tethered:
        builder.add_loop(
            LoopConstraint("palm", "held", Transform(p=(0, 0, -2 * HALF[2])), Transform(), (0, 0, 0, 0, 0, 1))
        )
    return builder.build()


@pytest.mark.parametrize("scene", SCENES)
def test_the_forces_are_those_of_one_tree(scene):
    """Without the trees of a problem its matrix is dense: bits differ, but the forces agree."""
    of_world, of_stepper = SCENES[scene]
    recording = simulate(gripped_wall(2, 15, **of_world), TimeStepping(H, **of_stepper), steps=6)
    solver = recording.stepper.constraint_solver
    for i in (0, 5):
        data = recording.problem(i)
        one = data.blocks()._replace(tree_starts=np.array([0, data.nv]))
        whole = ConstraintVelProblemData.from_blocks(one, solve_inertia=data.solve_inertia)
        sparse, dense = (solver.solve_discretized_problem(each, H) for each in (data, whole))
        assert sparse.choice == dense.choice == ForceChoice.EQUAL_COMPLIANCE
        np.testing.assert_allclose(sparse.v_plus, dense.v_plus, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            sparse.generalized_force, dense.generalized_force, rtol=0, atol=1e-9 * np.abs(dense.generalized_force).max()
        )
        np.testing.assert_allclose(sparse.forces.fN, dense.forces.fN, rtol=0, atol=1e-9 * dense.forces.fN.max())
        np.testing.assert_allclose(sparse.forces.fB, dense.forces.fB, rtol=0, atol=1e-9 * np.abs(dense.forces.fB).max())

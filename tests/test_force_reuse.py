"""Forces of bodies at rest, or that slide, are held where they are surely those selected; joints among piles."""

from dataclasses import replace

import numpy as np
import pytest

from contactlab.multibody.constraints import LoopConstraint
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
    Simulation,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    joints,
    simulate,
    verify,
)
from contactlab.simulation.world.joint_actions import MimicJoint
from lcp.contacts.strategies import RECORDED
from problem_data import ConstraintVelProblemData


def boxes_at_rest(count: int) -> World:
    """Boxes of 1 kg, one on the other."""
    builder, material, half = WorldBuilder(), Material(mu=0.5), (0.1, 0.1, 0.1)
    builder.add_half_space("floor", HalfSpace(), material)
    for i in range(count):
        inertia = RigidInertia.solid_box(1.0, half)
        builder.add_free_body(f"box {i}", inertia, Box(half), material, q=(0, 0, 0.1 + 0.2 * i, 1, 0, 0, 0))
    return builder.build()


def one_box(*, slope: float = 0.0, mu: float = 0.5, sunk: float = 0.0, turn: tuple[float, float] = (0.0, 0.0)) -> World:
    """A box of 1 kg on a slope about y, or on a level floor, sunk and turned a little about x and y."""
    builder, material, half = WorldBuilder(), Material(mu), (0.1, 0.1, 0.1)
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    builder.add_half_space("floor", HalfSpace(up), material)
    quaternion = np.array([1.0, 0.5 * turn[0], np.tan(0.5 * slope) + 0.5 * turn[1], 0.0])
    q = (*((0.1 - sunk) * up), *(quaternion / np.linalg.norm(quaternion)))
    builder.add_free_body("box", RigidInertia.solid_box(1.0, half), Box(half), material, q)
    return builder.build()


def contradicting() -> World:
    """Three corners as deep as rounding may leave them, the fourth above the floor by what it would tilt the box."""
    return one_box(sunk=4e-9, turn=(2e-11, 4e-8))


WORLDS = (boxes_at_rest(1), boxes_at_rest(3), one_box(slope=0.35, mu=0.2), contradicting())


@pytest.mark.parametrize("world", WORLDS, ids=["box", "boxes", "slides", "contradicts"])
def test_where_a_run_is_resumed_does_not_show(world: World) -> None:
    """Values kept from step to step are not part of the state: from any state steps have the same bits and counts."""
    stepper = TimeStepping(2e-3)
    whole = simulate(world, stepper, steps=80)
    begun = simulate(world, stepper, steps=60)
    rest = simulate(world, stepper, state=begun.state(60), steps=20)
    for name in ("q", "v"):
        np.testing.assert_array_equal(whole.rows[name][60:], rest.rows[name])
    for name in ("contact_impulse", "contact_z"):
        np.testing.assert_array_equal(whole.rows[name][-len(rest.rows[name]) :], rest.rows[name])
    for name in ("island_attempt", "island_systems"):
        np.testing.assert_array_equal(whole.rows[name][-20:], rest.rows[name])
    assert verify(whole).holds


def test_forces_that_solve_the_problem_but_are_not_those_selected_are_not_held() -> None:
    """A self-stress between the corners of a box changes no motion, and is gone in the next step."""
    run = Simulation(boxes_at_rest(1), TimeStepping(2e-3))
    run.step(n=50)
    state = run.state
    x, y = run.contacts.point[:, 0], run.contacts.point[:, 1]
    z = np.array(state.z)
    quarter = 9.81 / 4.0
    np.testing.assert_allclose(z[:, 0], quarter, rtol=1e-9)
    for share in (1e-3, 0.3):
        strained = z.copy()
        strained[:, 0] += share * quarter * np.sign(x * y)
        run.reset(replace(state, z=strained))
        run.step()
        np.testing.assert_allclose(run.state.z[:, 0], quarter, rtol=1e-9)


@pytest.mark.parametrize("count", [2, 3])
def test_what_has_drifted_from_rounding_is_not_turned_round(count: int) -> None:
    """Boxes at rest are solved for now and then, not in every other step, and the public path has the same bits."""
    stepper = TimeStepping(2e-3)
    recording = simulate(boxes_at_rest(count), stepper, steps=300)
    anew = np.flatnonzero(recording.rows["island_attempt"] != 1 + RECORDED.index("reuse"))
    later = anew[anew >= 100]
    assert 0 < later.size <= 25
    assert np.abs(recording.v[100:]).max() < 1e-14
    for i in later:
        found = stepper.constraint_solver.solve_discretized_problem(
            recording.problem(i), stepper.h, z0=recording.warm_start(i)
        )
        np.testing.assert_array_equal(found.result.z, recording.z(i))
        np.testing.assert_array_equal(found.v_plus, recording.v_plus(i))
    assert verify(recording).holds


def test_forces_between_gaps_that_contradict_one_another_are_held() -> None:
    """They are looked for once; a box that stands on two corners is held, with half of its weight on each."""
    recording = simulate(contradicting(), TimeStepping(2e-3), steps=100)
    answered = recording.certificates.count_by_strategy()
    assert answered["active_set"] + answered["interior_point"] <= 3
    assert answered["reuse"] >= 95
    last = recording.contacts.impulse_normal[-4:]
    np.testing.assert_allclose(np.sort(last), 9.81 * 2e-3 * np.array([0.0, 0.0, 0.5, 0.5]), atol=1e-9)
    assert np.abs(recording.v[5:]).max() < 1e-12
    assert verify(recording).holds


def test_a_box_that_slides_has_the_acceleration_of_friction() -> None:
    """g (sin - mu cos), forces held or not; half a step in which nothing pulls is none."""
    slope, mu, h = 0.35, 0.2, 2e-3
    recording = simulate(one_box(slope=slope, mu=mu), TimeStepping(h), steps=200)
    down = recording.v[-1, 0] * np.cos(slope) - recording.v[-1, 2] * np.sin(slope)
    np.testing.assert_allclose(down, 9.81 * (np.sin(slope) - mu * np.cos(slope)) * 200 * h, rtol=1e-9)
    assert recording.certificates.count_by_strategy()["reuse"] > 100
    assert verify(recording).holds


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

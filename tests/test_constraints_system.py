"""The constrained equations of motion, put together from the functions of each part."""

from __future__ import annotations

import numpy as np
import pytest
from every_joint import model_with_every_joint, moved
from random_rows import random_loop, random_set
from trees import random_transform, state

from contactlab.constraints import (
    ConstraintSet,
    ContactConstraint,
    constrained_system,
    constraint_gamma,
    constraint_jacobian,
    constraint_velocity_error,
)
from contactlab.multibody import (
    ModelBuilder,
    MultibodyError,
    PointForce,
    external_forces,
    inverse_dynamics,
    joints,
    kinematics,
    kinetic_energy,
    mass_matrix,
    nonlinear_effects,
    potential_energy,
    random_configuration,
)
from contactlab.spatial import RigidInertia

SIX = np.eye(6)
STEP = 1e-5


@pytest.mark.parametrize(
    "root",
    [joints.EulerZYX(), joints.EulerXYZ(), joints.Helical((0, 1, 1), 0.4), joints.Screw((1, 0, 2), (0.3, 0.1, 0.2))],
    ids=lambda joint: type(joint).__name__,
)
def test_joints_with_bias_at_the_root(root: joints.Joint) -> None:
    """With an Euler or helical joint on the world, gamma and C are right: finite differences, and energy is kept."""
    rng = np.random.default_rng(8)
    builder = ModelBuilder()
    for name, parent, joint in (
        ("a", "world", root),
        ("b", "a", joints.Revolute((1, 1, 0))),
        ("c", "b", joints.Spherical()),
    ):
        inertia = RigidInertia.solid_box(1.5, (0.3, 0.2, 0.1)).moved(random_transform(rng, 0.2))
        builder.add_body(name, parent=parent, joint=joint, placement=random_transform(rng), inertia=inertia)
    model = builder.build()
    q = random_configuration(model, 8)
    v0, a = rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    cs = ConstraintSet(model, [ContactConstraint("c", (0.1, 0.2, 0.3), (0, 0, 1)), random_loop(model, rng)])
    before, after = (constraint_velocity_error(model, moved(model, q, v0, a, h), v0 + h * a, cs) for h in (-STEP, STEP))
    expected = constraint_jacobian(model, q, cs) @ a - constraint_gamma(model, q, v0, cs)
    np.testing.assert_allclose((after - before) / (2 * STEP), expected, atol=1e-7)

    # Velocities that the rows allow: no force then does work, and C must balance what the energy does.
    G = constraint_jacobian(model, q, cs)
    v = v0 - np.linalg.pinv(G) @ (G @ v0)
    system = constrained_system(model, q, v, np.zeros(model.nv), cs)
    K = np.block([[system.H, -system.G.T], [system.G, np.zeros((2, 2))]])
    motion = np.linalg.solve(K, np.concatenate([-system.C, system.gamma]))[: model.nv]
    energy = [
        kinetic_energy(model, at, v + h * motion) + potential_energy(model, at)
        for h in (-STEP, STEP)
        for at in [moved(model, q, v, motion, h)]
    ]
    assert abs(energy[1] - energy[0]) / (2 * STEP) < 1e-7


def test_constrained_system_is_made_of_the_public_functions() -> None:
    """H, C (f_ext taken off), G and gamma are what the functions of each give, from q or from kinematics."""
    model = model_with_every_joint()
    q, v, _ = state(model, 6)
    cs = random_set(model, np.random.default_rng(6))
    f_ext = external_forces(
        model, q, [PointForce("eye", (0.1, 0, 0), (1, 2, 3)), PointForce("cam", (0, 0, 1), (5, 0, 0))]
    )
    tau = np.ones(model.nv)
    for at, speed in ((q, v), (kinematics(model, q, v), None), (kinematics(model, q), v)):
        system = constrained_system(model, at, speed, tau, cs, f_ext)
        np.testing.assert_array_equal(system.H, mass_matrix(model, q))
        np.testing.assert_allclose(system.C, nonlinear_effects(model, q, v, f_ext), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(system.C, inverse_dynamics(model, q, v, 0 * v, f_ext), rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(system.G, constraint_jacobian(model, q, cs))
        np.testing.assert_array_equal(system.gamma, constraint_gamma(model, q, v, cs))
    for message, call in (
        ("tau", lambda: constrained_system(model, q, v, tau[1:], cs)),
        ("v: is needed", lambda: constrained_system(model, q, None, tau, cs)),
        ("computed without velocities", lambda: constrained_system(model, kinematics(model, q), None, tau, cs)),
    ):
        with pytest.raises(MultibodyError, match=message):
            call()

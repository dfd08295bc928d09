"""Rotors behind the joints: on the diagonal of M, and in every answer that M is part of."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from contactlab.constraints import ConstraintSet, ContactConstraint, constrained_system, forward_dynamics_constraints
from contactlab.contact import ConvexPoints, HalfSpace, Material
from contactlab.multibody import (
    ModelBuilder,
    MultibodyError,
    factorize_mass_matrix,
    forward_dynamics,
    inverse_dynamics,
    joints,
    kinetic_energy,
    mass_matrix,
    nonlinear_effects,
    solve_mass_matrix,
)
from contactlab.recording.world_io import world_from_json, world_to_json
from contactlab.simulation import TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia, Transform

MJCF = """<mujoco><option gravity="0.3 0 -9.81"/><compiler inertiafromgeom="false"/><worldbody>
<body name="base"><inertial pos="0.1 0 0.02" mass="3" diaginertia="0.2 0.3 0.4"/><joint name="f" type="free"
 armature="0.05"/>
 <body name="upper" pos="0 0 0.2"><inertial pos="0 0.1 0" mass="1.2" diaginertia="0.02 0.03 0.04"/>
  <joint name="a" type="hinge" axis="0 1 0" armature="0.11"/>
  <body name="lower" pos="0 0.3 0"><inertial pos="0 0 0.2" mass="0.7" diaginertia="0.01 0.02 0.015"/>
   <joint name="b" type="ball" armature="0.02"/>
   <body name="slider" pos="0.2 0 0"><inertial pos="0 0 0" mass="0.4" diaginertia="0.01 0.01 0.01"/>
    <joint name="c" type="slide" axis="1 0 0" armature="0.6"/></body></body></body></body></worldbody></mujoco>"""


def of_mjcf():
    """The same tree."""
    builder = ModelBuilder((0.3, 0.0, -9.81))
    for name, parent, joint, p, mass, com, moments, armature in (
        ("base", "world", joints.FloatingBase(), (0, 0, 0), 3.0, (0.1, 0, 0.02), (0.2, 0.3, 0.4), 0.05),
        ("upper", "base", joints.Revolute((0, 1, 0)), (0, 0, 0.2), 1.2, (0, 0.1, 0), (0.02, 0.03, 0.04), 0.11),
        ("lower", "upper", joints.Spherical(), (0, 0.3, 0), 0.7, (0, 0, 0.2), (0.01, 0.02, 0.015), [0.02] * 3),
        ("slider", "lower", joints.Prismatic((1, 0, 0)), (0.2, 0, 0), 0.4, (0, 0, 0), (0.01, 0.01, 0.01), [0.6]),
    ):
        inertia = RigidInertia(mass, com, inertia=np.diag(moments))
        place = Transform(p=p)
        builder.add_body(name, parent=parent, joint=joint, placement=place, inertia=inertia, armature=armature)
    return builder.build()


def pendulum(armature):
    """A rod of 1 m and 2 kg on a hinge across gravity."""
    inertia = RigidInertia(2.0, (0, 0, -0.5), inertia=np.diag([1 / 6, 1 / 6, 1e-3]))
    builder = ModelBuilder().add_body("rod", joint=joints.Revolute((0, 1, 0)), inertia=inertia, armature=armature)
    return builder.build()


def test_all_is_mujocos() -> None:
    """M, bias, accelerations, M^-1 and energy of a free tree with rotors behind every kind of joint."""
    mujoco = pytest.importorskip("mujoco")
    m, model = mujoco.MjModel.from_xml_string(MJCF), of_mjcf()
    m.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    d, rng = mujoco.MjData(m), np.random.default_rng(3)
    np.testing.assert_array_equal(model.armature, m.dof_armature)
    for _ in range(5):
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 1.0)
        d.qvel[:], tau = rng.normal(size=m.nv), rng.normal(size=m.nv)
        d.qfrc_applied[:] = tau
        mujoco.mj_forward(m, d)
        q, v = np.array(d.qpos), np.array(d.qvel)
        M = np.zeros((m.nv, m.nv))
        for k in range(m.nv):
            mujoco.mj_mulM(m, d, M[k], np.eye(m.nv)[k])
        near = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(mass_matrix(model, q), M, **near)
        np.testing.assert_allclose(nonlinear_effects(model, q, v), d.qfrc_bias, **near)
        np.testing.assert_allclose(forward_dynamics(model, q, v, tau), d.qacc, **near)
        np.testing.assert_allclose(inverse_dynamics(model, q, v, d.qacc), tau, **near)
        np.testing.assert_allclose(solve_mass_matrix(model, q, np.eye(m.nv)), np.linalg.inv(M), **near)
        assert kinetic_energy(model, q, v) == pytest.approx(float(d.energy[1]), rel=1e-9)


def test_pendulum_with_a_rotor() -> None:
    """(m l^2 / 3 + armature) a = tau - m g l / 2 sin q, and the energy of the rotor's own turning."""
    model, q, v = pendulum(0.4), np.array([0.7]), np.array([1.3])
    moment = 2.0 / 3.0 + 0.4
    a = (0.2 - 9.81 * np.sin(0.7)) / moment
    assert mass_matrix(model, q)[0, 0] == pytest.approx(moment, rel=1e-14)
    assert forward_dynamics(model, q, v, [0.2])[0] == pytest.approx(a, rel=1e-13)
    assert inverse_dynamics(model, q, v, [a])[0] == pytest.approx(0.2, rel=1e-12)
    assert kinetic_energy(model, q, v) == pytest.approx(0.5 * moment * 1.3**2, rel=1e-14)


def test_single_and_many() -> None:
    """The articulated bodies give M^-1, and every batch what single calls give."""
    model, rng = of_mjcf(), np.random.default_rng(5)
    q = np.tile(model.neutral, (7, 1))
    q[:, [0, 1, 2, 7, 12]] += rng.normal(size=(7, 5))
    v, a = rng.normal(size=(2, 7, model.nv))
    tau = inverse_dynamics(model, q, v, a)
    np.testing.assert_allclose(forward_dynamics(model, q, v, tau), a, rtol=1e-9, atol=1e-9)
    for n in range(7):
        M = mass_matrix(model, q[n])
        np.testing.assert_array_equal(mass_matrix(model, q)[n], M)
        np.testing.assert_array_equal(tau[n], inverse_dynamics(model, q[n], v[n], a[n]))
        assert kinetic_energy(model, q, v)[n] == kinetic_energy(model, q[n], v[n])
        assert kinetic_energy(model, q[n], v[n]) == pytest.approx(0.5 * v[n] @ M @ v[n], rel=1e-12)
        np.testing.assert_allclose(M @ factorize_mass_matrix(model, q[n]).solve(a[n]), a[n], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(solve_mass_matrix(model, q, a)[n], np.linalg.solve(M, a[n]), rtol=1e-9, atol=1e-9)


def test_constraints_stand_behind_the_rotors() -> None:
    """M a + h = tau + G^T f with M of `mass_matrix`, by every method."""
    model, rng = of_mjcf(), np.random.default_rng(6)
    cs = ConstraintSet(model, [ContactConstraint("slider", (0.1, 0, 0), n) for n in ((0, 0, 1.0), (1.0, 0, 0))])
    q, v, tau = model.neutral, 0.1 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    system = constrained_system(model, q, v, tau, cs)
    np.testing.assert_array_equal(system.H, mass_matrix(model, q))
    K = np.block([[system.H, system.G.T], [system.G, np.zeros((2, 2))]])
    z = np.linalg.solve(K, np.concatenate([tau - system.C, system.gamma]))
    for method in ("direct", "range_space_sparse", "null_space", "kokkevis"):
        got = forward_dynamics_constraints(model, q, v, tau, cs, method=method)
        np.testing.assert_allclose(got.a, z[: model.nv], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(got.forces, -z[model.nv :], rtol=1e-9, atol=1e-9)


def world_with_rotors(gyroscopic_body):
    """A hopper on the floor whose leg has a rotor, and a loose body, with rotors too if asked."""
    bodies = ModelBuilder()
    box = RigidInertia.solid_box(2.0, (0.2, 0.15, 0.1))
    bodies.add_body("trunk", joint=joints.FloatingBase(), inertia=box)
    leg = RigidInertia.solid_box(0.5, (0.03, 0.03, 0.15))
    hip = Transform(p=(0.1, 0, -0.1))
    bodies.add_body("leg", parent="trunk", joint=joints.Revolute((0, 1, 0)), placement=hip, inertia=leg, armature=0.05)
    bodies.add_body("loose", joint=joints.FloatingBase(), inertia=box, armature=0.02 if gyroscopic_body else 0.0)
    world = WorldBuilder()
    world.add_half_space("floor", HalfSpace((0, 0, 1), 0.0), Material(0.5))
    start = [0, 0, 0.5, 1, 0, 0, 0, 0.3, 1.0, 0, 0.4, 1, 0, 0, 0]
    world.add_model(bodies.build(), start, [0.5, 0, 0, 0, 1, 0, 2.0, 0, 0.2, 0, 1.0, 2.0, 3.0])
    corners = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    world.add_shape("trunk", ConvexPoints(corners), Material(0.5))
    world.add_shape("loose", ConvexPoints(corners), Material(0.5))
    world.add_shape("leg", ConvexPoints(corners * [0.2, 0.2, 1.5]), Material(0.5))
    world.exclude_collision("trunk", "leg")
    return world.build()


def swinging(armature):
    """The pendulum let go."""
    world = WorldBuilder()
    world.add_model(pendulum(armature), [1.0], [0.0])
    return simulate(world.build(), TimeStepping(1e-3), steps=400)


@pytest.mark.parametrize("gyroscopic_body", [False, True])
def test_a_run_verifies(gyroscopic_body) -> None:
    """Recomputed without the kernels; the energies are those of M, and the world of a record has the rotors."""
    world = world_with_rotors(gyroscopic_body)
    recording = simulate(world, TimeStepping(1e-3), steps=300)
    assert verify(recording).holds
    ledger = recording.ledger
    assert np.abs(ledger.residual).max() <= 1e-13 * recording.kinetic.max()
    for i in (0, 150, 300):
        q, v = recording.q[i], recording.v[i]
        assert recording.kinetic[i] == pytest.approx(0.5 * v @ mass_matrix(world.model, q) @ v, rel=1e-10)
    again = world_from_json(world_to_json(world))
    np.testing.assert_array_equal(again.model.armature, world.model.armature)


def test_a_swing_keeps_its_energy() -> None:
    """A pendulum with a rotor swings as the longer one does that has the same moment."""
    slow, fast = swinging(0.4), swinging(0.0)
    total = slow.kinetic + slow.potential
    assert np.ptp(total) < 0.02 * np.ptp(slow.potential)
    assert verify(slow).holds
    assert np.abs(slow.q[200] - fast.q[200]).max() > 1e-3


@pytest.mark.parametrize("armature", [-1.0, np.nan, [1.0, 2.0], "x"])
def test_bad_armature_is_refused(armature) -> None:
    """Named, and nothing is added."""
    builder = ModelBuilder()
    with pytest.raises(MultibodyError, match="armature"):
        builder.add_body("rod", joint=joints.Revolute((0, 1, 0)), armature=armature)
    assert builder.build().nb == 0


def test_none_and_zero_are_the_same() -> None:
    """Bits included; and a rotor is enough to move a body without mass."""
    model = of_mjcf()
    plain = ModelBuilder(model.gravity)
    for body in (dataclasses.replace(body, armature=np.zeros(body.joint.nv)) for body in model.bodies):
        plain.add_body(body.name, parent=body.parent, joint=body.joint, placement=body.placement, inertia=body.inertia)
    assert not plain.build().armature.any()
    rotor = ModelBuilder().add_body("rotor", joint=joints.Revolute((0, 0, 1)), armature=0.3).build()
    assert forward_dynamics(rotor, [0.0], [0.0], [0.6])[0] == pytest.approx(2.0, rel=1e-15)

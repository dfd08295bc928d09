"""Inertias as people have them: point masses, planar links, massless bodies, rotors; against closed forms."""

import numpy as np
import pytest

from contactlab.multibody import (
    MultibodyError,
    forward_dynamics,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    nonlinear_effects,
    solve_mass_matrix,
)
from contactlab.multibody.constraints import (
    ConstraintSet,
    ContactConstraint,
    LoopConstraint,
    constrained_system,
    forward_dynamics_constraints,
)
from contactlab.multibody.spatial import SpatialError, quaternion
from contactlab.simulation import (
    ConvexPoints,
    HalfSpace,
    Material,
    ModelBuilder,
    RigidInertia,
    SimulationError,
    TimeStepping,
    Transform,
    WorldBuilder,
    joints,
    simulate,
    verify,
)
from contactlab.simulation.recording.world_io import world_from_json, world_to_json

G = 9.81
Y = (0.0, 1.0, 0.0)


def beads(masses, lengths):
    """Points on massless strings, hinges across gravity; angles relative to the link before."""
    builder, parent, p = ModelBuilder(), "world", (0, 0, 0)
    for i, (m, l) in enumerate(zip(masses, lengths, strict=True)):
        inertia = RigidInertia(m, (0, 0, -l), inertia=np.zeros((3, 3)))
        builder.add_body(
            f"bead {i}", parent=parent, joint=joints.Revolute(Y), placement=Transform(p=p), inertia=inertia
        )
        parent, p = f"bead {i}", (0, 0, -l)
    return builder.build()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_chain_of_point_masses(count) -> None:
    """M and h of Lagrange's equations in absolute angles a: M_ij = s_ij l_i l_j cos(a_i - a_j), s the mass beyond."""
    rng = np.random.default_rng(count)
    m, l = rng.uniform(0.5, 2.0, (2, count))
    model = beads(m, l)
    T = np.tril(np.ones((count, count)))  # absolute angles of relative ones
    for _ in range(5):
        q, v, tau = rng.normal(size=(3, count))
        a, w = T @ q, T @ v
        beyond = np.array([[m[max(i, j) :].sum() for j in range(count)] for i in range(count)])
        apart = a[:, None] - a[None, :]
        M = beyond * np.outer(l, l) * np.cos(apart)
        h = (beyond * np.outer(l, l) * np.sin(apart)) @ w**2 + np.diag(beyond) * G * l * np.sin(a)
        near = {"rtol": 1e-11, "atol": 1e-11}
        np.testing.assert_allclose(mass_matrix(model, q), T.T @ M @ T, **near)
        np.testing.assert_allclose(nonlinear_effects(model, q, v), T.T @ h, **near)
        wanted = np.linalg.solve(T.T @ M @ T, tau - T.T @ h)
        np.testing.assert_allclose(forward_dynamics(model, q, v, tau), wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(inverse_dynamics(model, q, v, wanted), tau, rtol=1e-9, atol=1e-9)
        assert kinetic_energy(model, q, v) == pytest.approx(0.5 * w @ M @ w, rel=1e-12)


def test_a_planar_link_moves_as_in_the_plane() -> None:
    """With diag(0, I, 0) only I matters about y; the record keeps the inertia and its option."""
    with pytest.raises(SpatialError, match="physical=False takes it"):
        RigidInertia(2.0, (0, 0, -0.5), inertia=np.diag([0.0, 0.1, 0.0]))
    inertia = RigidInertia(2.0, (0, 0, -0.5), inertia=np.diag([0.0, 0.1, 0.0]), physical=False)
    assert "sum of the others" in inertia.physical_fault
    model = ModelBuilder().add_body("link", joint=joints.Revolute(Y), inertia=inertia).build()
    assert mass_matrix(model, [0.4])[0, 0] == pytest.approx(0.6, rel=1e-14)
    assert forward_dynamics(model, [0.4], [1.0], [0.0])[0] == pytest.approx(-G * np.sin(0.4) / 0.6, rel=1e-13)
    world = WorldBuilder()
    world.add_model(model, [0.4], [1.0])
    again = world_from_json(world_to_json(world.build())).model.bodies[0].inertia
    np.testing.assert_array_equal(again.inertia, inertia.inertia)
    assert again.physical_fault == inertia.physical_fault


ODD = {
    "point": (np.zeros((3, 3)), True),
    "rod": (np.diag([1.0, 1.0, 0.0]), True),
    "plate": (np.diag([1.0, 2.0, 3.001]), True),
    "planar": (np.diag([0.0, 0.0, 0.1]), False),
    "heavy axis": (np.diag([1.0, 1.0, 3.0]), False),
    "negative": (np.diag([-0.1, 1.0, 1.0]), False),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_taken_can_be_moved_joined_and_read_back(name) -> None:
    """One rule: all functions that make inertias from inertias accept what one constructor accepts."""
    moments, physical = ODD[name]
    inertia = RigidInertia(2.0, (0.3, -20.0, 0.1), inertia=moments, physical=physical)
    X = Transform(quaternion.to_matrix(quaternion.normalize([1.0, 0.3, -0.2, 0.5])), (1.0, 2.0, 3.0))
    moved = inertia.moved(X)
    np.testing.assert_allclose(np.linalg.eigvalsh(moved.inertia), np.linalg.eigvalsh(moments), atol=1e-14)
    assert (moved.physical_fault is None) == physical
    read = RigidInertia.from_matrix(inertia.matrix(), physical=physical)
    np.testing.assert_allclose(read.inertia, moments, atol=1e-12)
    np.testing.assert_allclose(read.com, inertia.com, rtol=1e-15)
    both = inertia.join(RigidInertia.point(1.0), X)
    np.testing.assert_allclose(both.matrix(), inertia.matrix() + RigidInertia.point(1.0).moved(X).matrix(), atol=1e-9)
    alone = both.separate(RigidInertia.point(1.0), X, physical=physical)
    np.testing.assert_allclose(alone.inertia, moments, atol=1e-9)
    if not physical:
        with pytest.raises(SpatialError, match="belongs to no mass distribution"):
            RigidInertia.from_matrix(inertia.matrix())


def test_nothing_weighs_nothing() -> None:
    """A mass of zero is regular input, and joins as nothing."""
    nothing = RigidInertia.point(0.0)
    box = RigidInertia.solid_box(1.0, (0.1, 0.2, 0.3))
    for one in (nothing.join(box), box.join(nothing), box.separate(nothing)):
        np.testing.assert_array_equal(one.inertia, box.inertia)
        assert one.mass == 1.0
    assert nothing.join(nothing).mass == RigidInertia.from_matrix(np.zeros((6, 6))).mass == 0.0


def four_bar(m1, m2, l=0.5, base=0.8):
    """A parallelogram: two cranks with points at their ends, and a coupler without mass on the first."""
    builder = ModelBuilder()
    crank = RigidInertia.point(m1, (0, 0, -l))
    builder.add_body("crank", joint=joints.Revolute(Y), inertia=crank)
    builder.add_body("coupler", parent="crank", joint=joints.Revolute(Y), placement=Transform(p=(0, 0, -l)))
    follower = RigidInertia.point(m2, (0, 0, -l))
    builder.add_body("follower", joint=joints.Revolute(Y), placement=Transform(p=(base, 0, 0)), inertia=follower)
    model = builder.build()
    end, tip = Transform(p=(base, 0, 0)), Transform(p=(0, 0, -l))
    rows = [LoopConstraint("coupler", "follower", end, tip, np.eye(6)[k], name="pin") for k in (3, 5)]
    return model, ConstraintSet(model, rows)


@pytest.mark.parametrize("method", ["direct", "null_space"])
def test_a_four_bar_with_a_massless_coupler(method) -> None:
    """M is singular, the constrained system is not: both cranks swing as one pendulum, the coupler stays level."""
    model, cs = four_bar(1.0, 2.0)
    q, v = np.array([0.6, -0.6, 0.6]), np.array([1.1, -1.1, 1.1])
    assert np.linalg.matrix_rank(mass_matrix(model, q)) == 2
    a = forward_dynamics_constraints(model, q, v, np.zeros(3), cs, method=method).a
    swing = -G / 0.5 * np.sin(0.6)
    np.testing.assert_allclose(a, [swing, -swing, swing], rtol=1e-10)


def flagged(*, damping=0.0, armature=0.0, inertia=None):
    """A swinging point with a flag without mass on it, which something else keeps from being singular."""
    point = RigidInertia.point(1.0, (0, 0, -0.5))
    builder = ModelBuilder().add_body("rod", joint=joints.Revolute(Y), inertia=point)
    place = Transform(p=(0, 0, -0.5))
    builder.add_body(
        "flag", parent="rod", joint=joints.Revolute(Y), placement=place, inertia=inertia, armature=armature
    )
    builder.add_body("other", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(1.0, (0.1, 0.2, 0.3)))
    world = WorldBuilder()
    world.add_model(builder.build(), [0.5, 0.1, 3, 0, 0, 1, 0, 0, 0], [0, 1.0, 0, 0, 0, 1.0, 2.0, 3.0])
    if damping:
        world.add_joint_damping("flag", damping)
    return simulate(world.build(), TimeStepping(1e-3), steps=100)


def test_damping_a_rotor_or_inertia_without_mass_make_it_regular() -> None:
    """In worlds, their ledgers and verification; the free body beside it is none of their business."""
    spin = RigidInertia(0.0, inertia=np.diag([0.0, 0.1, 0.0]), physical=False)
    alone = None
    for given in ({"damping": 0.1}, {"armature": 0.1}, {"inertia": spin}):
        recording = flagged(**given)
        assert verify(recording).holds
        assert np.abs(recording.ledger.residual).max() < 1e-13
        alone = recording.q[:, 2:] if alone is None else alone
        np.testing.assert_array_equal(recording.q[:, 2:], alone)


def test_what_meets_the_singular_matrix_names_the_body() -> None:
    """Every solve with M, and a step of a world."""
    model, _ = four_bar(1.0, 2.0)
    z = np.zeros(3)
    for solve in (lambda: forward_dynamics(model, z, z, z), lambda: solve_mass_matrix(model, z, z)):
        with pytest.raises(MultibodyError, match="'coupler', moves no mass"):
            solve()
    world = WorldBuilder()
    world.add_model(model, z, z)
    with pytest.raises(SimulationError, match="'coupler', moves no mass"):
        simulate(world.build(), TimeStepping(1e-3), steps=2)
    free = WorldBuilder()
    loose = ModelBuilder().add_body("point", joint=joints.FloatingBase(), inertia=RigidInertia.point(1.0)).build()
    free.add_model(loose, [0, 0, 0, 1, 0, 0, 0], np.ones(6))
    with pytest.raises(SimulationError, match="'point', moves no mass"):
        simulate(free.build(), TimeStepping(1e-3), steps=2)


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
    """M, bias, accelerations, M^-1 and energy of a free tree with rotors at every kind of joint."""
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
    """A hopper on the floor whose leg has a rotor, and a loose body, with rotors on request."""
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


@pytest.mark.parametrize("armature", [-1.0, np.nan, [1.0, 2.0], "x"])
def test_bad_armature_is_refused(armature) -> None:
    """Named, and nothing is added."""
    builder = ModelBuilder()
    with pytest.raises(MultibodyError, match="armature"):
        builder.add_body("rod", joint=joints.Revolute((0, 1, 0)), armature=armature)
    assert builder.build().nb == 0

"""Inertias as people have them: point masses, planar links, bodies without mass; against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from contactlab.constraints import ConstraintSet, LoopConstraint, forward_dynamics_constraints
from contactlab.multibody import (
    ModelBuilder,
    MultibodyError,
    forward_dynamics,
    inverse_dynamics,
    joints,
    kinetic_energy,
    mass_matrix,
    nonlinear_effects,
    solve_mass_matrix,
)
from contactlab.recording.world_io import world_from_json, world_to_json
from contactlab.simulation import SimulationError, TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia, SpatialError, Transform, quaternion

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


def test_a_swing_of_points_verifies() -> None:
    """In a world, in its record, and recomputed."""
    world = WorldBuilder()
    world.add_model(beads((1.0, 0.5), (0.7, 0.4)), [0.5, -0.3], [0.0, 0.0])
    recording = simulate(world.build(), TimeStepping(1e-3), steps=200)
    total = recording.kinetic + recording.potential
    assert np.ptp(total) < 0.02 * np.ptp(recording.potential)
    assert verify(recording).holds


def test_a_planar_link_moves_as_in_the_plane() -> None:
    """Of diag(0, I, 0) only I is asked for about y; the record keeps it, the opt-out included."""
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
    """One rule: what one constructor takes, all that make inertias of inertias take."""
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


def test_a_negative_moment_that_would_move_is_refused() -> None:
    """By name; what it is fixed to counts."""
    bad = RigidInertia(1.0, inertia=np.diag([-0.5, 1.0, 1.0]), physical=False)
    with pytest.raises(MultibodyError, match=r"'bad' moves and, .* negative principal moment -0.5"):
        ModelBuilder().add_body("bad", joint=joints.Revolute(Y), inertia=bad).build()
    builder = ModelBuilder().add_body("good", joint=joints.Revolute(Y), inertia=RigidInertia(1.0, inertia=np.eye(3)))
    assert builder.add_body("bad", parent="good", joint=joints.Fixed(), inertia=bad).build().mass == 2.0


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

"""Rows that say too much, nothing, or nearly the same: the motion stands, rank and residual tell."""

from __future__ import annotations

import numpy as np
import pytest
from trees import random_tree, state

from contactlab.constraints import (
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    CustomConstraint,
    LoopConstraint,
    constrained_system,
)
from contactlab.constraints.forward_dynamics import forward_dynamics_constraints
from contactlab.multibody import joints
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.points import body_pose
from contactlab.spatial import RigidInertia, Transform

ALL = ("direct", "range_space_sparse", "null_space", "kokkevis")
GENERAL = ALL[:3]


def box(mass=3.0):
    """A box on four legs' places, free."""
    inertia = RigidInertia.solid_box(mass, (1.0, 0.6, 0.2))
    return ModelBuilder().add_body("box", joint=joints.FloatingBase(), inertia=inertia).build()


CORNERS = [(x, y, -0.1) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]


@pytest.mark.nojit
@pytest.mark.parametrize("method", ALL)
def test_four_corners_share_the_weight(method):
    """A box on four corners is overdetermined: rank three, and the shortest forces are a quarter of the weight each."""
    model = box()
    cs = ConstraintSet(model, [ContactConstraint("box", corner, (0, 0, 1)) for corner in CORNERS])
    found = forward_dynamics_constraints(model, model.neutral, np.zeros(6), np.zeros(6), cs, method=method)
    assert found.rank == 3
    assert found.residual < 1e-12
    np.testing.assert_allclose(found.forces, 3.0 * 9.81 / 4.0, rtol=1e-12)
    np.testing.assert_allclose(found.a, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method", ALL)
def test_duplicated_rows_leave_the_motion(seed, method):
    """Rows given twice and thrice change no acceleration, and their forces add up to those of one."""
    model = random_tree(seed, bodies=7)
    q, v, tau = state(model, seed)
    rng = np.random.default_rng(seed)
    rows = [ContactConstraint(model.names[-1 - i], rng.uniform(-0.3, 0.3, 3), np.eye(3)[i]) for i in range(3)]
    once = forward_dynamics_constraints(model, q, v, tau, ConstraintSet(model, rows), method=method)
    many = ConstraintSet(model, [rows[0], rows[1], rows[0], rows[2], rows[0], rows[1]])
    found = forward_dynamics_constraints(model, q, v, tau, many, method=method)
    assert found.rank == once.rank
    assert found.residual < 1e-10
    np.testing.assert_allclose(found.a, once.a, rtol=1e-9, atol=1e-9 * np.abs(once.a).max())
    if once.rank == 3:
        np.testing.assert_allclose(found.forces[[0, 2, 4]], once.forces[0] / 3.0, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found.forces[[1, 5]], once.forces[1] / 2.0, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", ALL)
def test_rows_that_cannot_act(method):
    """A contact on a body fixed to the world is a zero row: no force, no rank, and a residual if it wants motion."""
    model = random_tree(3, bodies=4)
    q, v, tau = state(model, 3)
    own = ContactConstraint("b3", (0.1, 0.2, 0.3), (0, 0, 1))
    free = forward_dynamics_constraints(model, q, v, tau, ConstraintSet(model, [own]), method=method)
    still = ConstraintSet(model, [ContactConstraint("ground", (1, 2, 3), (0, 0, 1)), own])
    found = forward_dynamics_constraints(model, q, v, tau, still, method=method)
    np.testing.assert_allclose(found.a, free.a, rtol=1e-10, atol=1e-10)
    assert found.forces[0] == 0.0
    assert found.rank == free.rank
    assert found.residual < 1e-10
    wish = ConstraintSet(model, [ContactConstraint("ground", (1, 2, 3), (0, 0, 1), acceleration=1.0), own])
    found = forward_dynamics_constraints(model, q, v, tau, wish, method=method)
    np.testing.assert_allclose(found.a, free.a, rtol=1e-10, atol=1e-10)
    assert found.residual == 1.0


@pytest.mark.parametrize("method", ALL)
def test_contradictions_are_met_half_way(method):
    """One point told to accelerate up at 1 and at 3 m/s^2 takes 2, and the residual says that nobody is content."""
    model = box()
    cs = ConstraintSet(
        model, [ContactConstraint("box", (0, 0, 0), (0, 0, 1), acceleration=wanted) for wanted in (1.0, 3.0)]
    )
    found = forward_dynamics_constraints(model, model.neutral, np.zeros(6), np.zeros(6), cs, method=method)
    np.testing.assert_allclose(found.a, [0, 0, 2.0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found.forces, 3.0 * (9.81 + 2.0) / 2.0, rtol=1e-12)
    assert found.rank == 1
    assert found.residual == pytest.approx(1.0 / (1.0 + 2.0 + 9.81))


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("angle", [1e-5, 1e-8])
def test_nearly_parallel_normals(method, angle):
    """Normals a tiny angle apart at one point are two rows; together they hold the plane they span."""
    model = box()
    rows = [(0, 0, 1), (np.sin(angle), 0, np.cos(angle))]
    cs = ConstraintSet(model, [ContactConstraint("box", (0, 0, 0), n) for n in rows])
    tau = np.array([5.0, 0, 0, 0, 0, 0])
    found = forward_dynamics_constraints(model, model.neutral, np.zeros(6), tau, cs, method=method)
    assert found.rank == 2
    np.testing.assert_allclose(found.a, 0.0, atol=1e-13 / angle)
    np.testing.assert_allclose(np.array(rows).T @ found.forces, [-5.0, 0, 3.0 * 9.81], atol=1e-12 / angle)


def four_bar(turn):
    """A planar four-bar in space, closed by all six rows of a hinge but its own: three of them only hold rounding."""
    R = Transform.identity().R if turn is None else turn
    bar = RigidInertia.solid_box(1.0, (1.0, 0.05, 0.05)).moved(Transform(np.eye(3), (0.5, 0, 0)))
    builder = ModelBuilder()
    builder.add_body("one", joint=joints.Revolute((0, 0, 1)), placement=Transform(R, (0.1, 0.2, 0.3)), inertia=bar)
    along = Transform(np.eye(3), (1.0, 0, 0))
    builder.add_body("two", parent="one", joint=joints.Revolute((0, 0, 1)), placement=along, inertia=bar)
    builder.add_body("three", parent="two", joint=joints.Revolute((0, 0, 1)), placement=along, inertia=bar)
    return builder.build()


@pytest.mark.parametrize("method", GENERAL)
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_planar_loop_closed_in_space(method, seed):
    """Rows out of the plane are rounding of a turned mechanism, not constraints: the planar answer, rank two."""
    from contactlab.spatial import quaternion

    turn = np.eye(3) if seed is None else quaternion.to_matrix(np.random.default_rng(seed).standard_normal(4))
    model = four_bar(turn)
    q = np.array([1.1, -0.7, -0.9])
    tip = body_pose(model, q, "three")
    end = Transform(tip.R, tip.apply((1.0, 0, 0)))
    at = Transform(np.eye(3), (1.0, 0, 0))
    hinge = [LoopConstraint("world", "three", end, at, axis) for axis in np.eye(6)[[0, 1, 3, 4, 5]]]
    planar = ConstraintSet(model, hinge[2:4])
    s = constrained_system(model, q, np.zeros(3), np.zeros(3), planar)
    v = np.linalg.svd(s.G)[2][2]
    tau = np.array([1.0, -2.0, 0.5])
    found = forward_dynamics_constraints(model, q, v, tau, ConstraintSet(model, hinge), method=method)
    exact = forward_dynamics_constraints(model, q, v, tau, planar, method=method)
    assert found.rank == exact.rank == 2
    np.testing.assert_allclose(found.a, exact.a, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.forces[[2, 3]], exact.forces, rtol=1e-9, atol=1e-9)
    assert found.residual < 1e-7


def gimbal():
    """A plate on Euler angles."""
    plate = RigidInertia.solid_box(1.0, (0.4, 0.3, 0.05))
    return ModelBuilder().add_body("plate", joint=joints.EulerZYX(), inertia=plate).build()


class Locked(CustomConstraint):
    """The first angle does not move."""

    name = "locked"
    rows = 1

    def jacobian(self, model, q):
        return np.eye(1, model.nv)

    def gamma(self, model, q, v):
        return np.zeros(1)

    def position_error(self, model, q):
        return np.zeros(1)


@pytest.mark.parametrize("method", GENERAL)
def test_singular_mass_matrix(method):
    """At gimbal lock the mass matrix is singular: an error if the lost direction is free, an answer if it is held."""
    model = gimbal()
    q, v, tau = np.array([0.2, np.pi / 2, 0.3]), np.array([0.0, 0.3, 0.4]), np.array([0.1, 0.2, 0.3])
    with pytest.raises(ConstraintError, match=r"singular.*plate"):
        forward_dynamics_constraints(model, q, v, tau, ConstraintSet(model, []), method=method)
    cs = ConstraintSet(model, [Locked()])
    found = forward_dynamics_constraints(model, q, v, tau, cs, method=method)
    s = constrained_system(model, q, v, tau, cs)
    assert found.a[0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(s.H @ found.a + s.C, tau + s.G.T @ found.forces, atol=1e-10)

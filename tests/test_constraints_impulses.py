"""Impulses of constraints that set in at once: balance, energy, signs."""

from __future__ import annotations

import numpy as np
import pytest
from pin_models import random_pair
from trees import random_transform, random_tree, state

from contactlab.constraints import (
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    CustomConstraint,
    LoopConstraint,
    constraint_jacobian,
)
from contactlab.constraints.forward_dynamics import constraint_impulses
from contactlab.multibody import joints
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.centroidal import center_of_mass_velocity, kinetic_energy
from contactlab.multibody.kinematics import kinematics
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.points import body_pose, point_velocity
from contactlab.spatial import RigidInertia
from contactlab.spatial.errors import MultibodyError

METHODS = ("direct", "range_space_sparse", "null_space")


def contacts(model, seed, count):
    rng = np.random.default_rng(seed)
    n = rng.standard_normal((count, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    return [ContactConstraint(model.names[-1 - i % 3], rng.uniform(-0.3, 0.3, 3), n[i]) for i in range(count)]


def ball(height=0.0):
    inertia = RigidInertia.solid_sphere(2.0, 0.1)
    return ModelBuilder().add_body("ball", joint=joints.FloatingBase(), inertia=inertia).build()


@pytest.mark.nojit
@pytest.mark.parametrize("method", METHODS)
def test_a_falling_ball(method):
    """A ball that falls at 3 m/s onto one contact is stopped by m v, pushed along the normal."""
    model = ball()
    cs = ConstraintSet(model, [ContactConstraint("ball", (0, 0, -0.1), (0, 0, 1))])
    found = constraint_impulses(model, model.neutral, [1.0, 0, -3.0, 0, 0, 0], cs, method=method)
    np.testing.assert_allclose(found.impulses, [6.0], rtol=1e-13)
    np.testing.assert_allclose(found.v_after, [1.0, 0, 0, 0, 0, 0], atol=1e-13)
    again = constraint_impulses(model, model.neutral, [1.0, 0, -3.0, 0, 0, 0], cs, method=method, v_plus=[1.5])
    np.testing.assert_allclose(again.impulses, [9.0], rtol=1e-13)
    np.testing.assert_allclose(again.v_after, [1.0, 0, 1.5, 0, 0, 0], atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_momentum_and_energy(method, seed):
    """H (v_after - v_minus) = G^T p and G v_after = v_plus; with v_plus = 0 the energy lost is that of the change."""
    model = random_tree(seed, bodies=6)
    q, v, _ = state(model, seed)
    cs = ConstraintSet(model, contacts(model, seed, 3))
    G, H = constraint_jacobian(model, q, cs), mass_matrix(model, q)
    found = constraint_impulses(model, q, v, cs, method=method)
    np.testing.assert_allclose(H @ (found.v_after - v), G.T @ found.impulses, atol=1e-9)
    np.testing.assert_allclose(G @ found.v_after, 0.0, atol=1e-9)
    lost = kinetic_energy(model, q, v) - kinetic_energy(model, q, found.v_after)
    change = found.v_after - v
    assert lost >= -1e-12
    assert abs(lost - 0.5 * change @ H @ change) < 1e-9 * max(1.0, lost)
    wanted = np.array([0.3, -0.2, 0.7])
    found = constraint_impulses(model, q, v, cs, method=method, v_plus=wanted)
    np.testing.assert_allclose(G @ found.v_after, wanted, atol=1e-9)
    assert found.residual < 1e-10


@pytest.mark.parametrize("method", METHODS)
def test_elastic_impact_keeps_the_energy(method):
    """v_plus = -G v_minus in all rows turns the constrained part of the velocity round: no energy is lost."""
    model = random_tree(3, bodies=6)
    q, v, _ = state(model, 3)
    cs = ConstraintSet(model, contacts(model, 3, 2))
    G = constraint_jacobian(model, q, cs)
    found = constraint_impulses(model, q, v, cs, method=method, v_plus=-G @ v)
    np.testing.assert_allclose(kinetic_energy(model, q, found.v_after), kinetic_energy(model, q, v), rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_loops_keep_the_momentum(method):
    """Two free bodies that catch each other in a loop keep their common momentum, and turn as one."""
    rng = np.random.default_rng(0)
    builder = ModelBuilder()
    for name in "ab":
        inertia = RigidInertia.solid_box(1.0 + (name == "b"), (0.1, 0.2, 0.3))
        builder.add_body(name, joint=joints.FloatingBase(), inertia=inertia)
    model = builder.build()
    q, v, _ = state(model, 1)
    X_s = random_transform(rng)
    X_p = body_pose(model, q, "a").inverse() @ body_pose(model, q, "b") @ X_s
    cs = ConstraintSet(model, [LoopConstraint("a", "b", X_p, X_s, axis) for axis in np.eye(6)])
    found = constraint_impulses(model, q, v, cs, method=method)
    np.testing.assert_allclose(
        center_of_mass_velocity(model, q, found.v_after), center_of_mass_velocity(model, q, v), atol=1e-12
    )
    for point in np.eye(3):
        here = body_pose(model, q, "a").inverse().apply(body_pose(model, q, "b").apply(point))
        one = point_velocity(model, q, found.v_after, "a", here)
        np.testing.assert_allclose(one, point_velocity(model, q, found.v_after, "b", point), atol=1e-11)
    assert found.rank == 6


@pytest.mark.parametrize("method", METHODS)
def test_redundant_rows_share_the_impulse(method):
    """The same contact three times: one third of the impulse each, the same motion, rank one."""
    model = ball()
    cs = ConstraintSet(model, [ContactConstraint("ball", (0, 0, -0.1), (0, 0, 1))] * 3)
    found = constraint_impulses(model, model.neutral, [0, 0, -3.0, 0, 0, 0], cs, method=method)
    np.testing.assert_allclose(found.impulses, 2.0, rtol=1e-12)
    assert found.rank == 1
    assert found.residual < 1e-14
    torn = constraint_impulses(model, model.neutral, [0, 0, -3.0, 0, 0, 0], cs, method=method, v_plus=[0.0, 0.0, 0.3])
    np.testing.assert_allclose(torn.v_after[2], 0.1, rtol=1e-12)
    assert torn.residual == pytest.approx(0.2 / (0.3 + 3.0 + 3.1))


class Belt(CustomConstraint):
    """The first coordinate's speed is 2 + t: a constraint whose error has a part of its own in time."""

    name = "belt"
    rows = 1
    level = "velocity"

    def jacobian(self, model, q):
        return np.eye(1, model.nv)

    def gamma(self, model, q, v, *, t):
        return np.ones(1)

    def velocity_error(self, model, q, v, *, t):
        return np.array([v[0] - (2.0 + t)])


@pytest.mark.parametrize("method", METHODS)
def test_conditions_that_depend_on_time(method):
    """The velocity after the impact meets G v + phi_t = v_plus at the time given."""
    model = random_tree(3, bodies=5, kinds=("revolute",))
    q, v, _ = state(model, 3)
    found = constraint_impulses(model, q, v, ConstraintSet(model, [Belt()]), method=method, t=1.5)
    assert abs(found.v_after[0] - 3.5) < 1e-12
    assert found.residual < 1e-13


def test_errors_name_what_is_wrong():
    """Wrong methods, lengths and entries are typed errors that name the argument."""
    model = ball()
    cs = ConstraintSet(model, [ContactConstraint("ball", (0, 0, 0), (0, 0, 1))])
    q, v = model.neutral, np.zeros(6)
    for more, field in (
        ({"method": "kokkevis"}, "method"),
        ({"v_plus": [0.0, 0.0]}, "v_plus"),
        ({"v_plus": [np.nan]}, "v_plus"),
        ({"linear_solver": "best"}, "linear_solver"),
    ):
        with pytest.raises(ConstraintError) as caught:
            constraint_impulses(model, q, v, cs, **more)
        assert caught.value.field == field
    for at, speed in ((q, None), (q, v[:-1]), (q, [0, 0, np.inf, 0, 0, 0]), (kinematics(model, q), None)):
        with pytest.raises(MultibodyError) as found:
            constraint_impulses(model, at, speed, cs)
        assert found.value.field == "v_minus"


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio(seed):
    """The velocity after the impact is that of pinocchio's impulse dynamics."""
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(seed)
    pair = random_pair(pin, rng, 14)
    model, theirs = pair.ours, pair.theirs
    q, v, _ = state(model, seed)
    cs = ConstraintSet(model, contacts(model, seed, 3))
    G, T = constraint_jacobian(model, q, cs), pair.rotations(q)
    after = pin.impulseDynamics(theirs, theirs.createData(), pair.q(q), np.linalg.solve(T, v), G @ T, 0.0, 0.0)
    for method in METHODS:
        found = constraint_impulses(model, q, v, cs, method=method)
        np.testing.assert_allclose(found.v_after, T @ after, rtol=1e-7, atol=1e-8)

"""Forward dynamics with constraints: four methods, one answer, that of the dense equations."""

from __future__ import annotations

import numpy as np
import pytest
from every_joint import Cam
from pin_models import random_pair
from trees import random_transform, random_tree, state

from contactlab.constraints import (
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    CustomConstraint,
    LoopConstraint,
    constrained_system,
    constraint_jacobian,
)
from contactlab.constraints.forward_dynamics import delassus_matrix, forward_dynamics_constraints
from contactlab.multibody import joints
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.dynamics import PointForce, external_forces, inverse_dynamics
from contactlab.multibody.kinematics import kinematics
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.points import body_pose, point_acceleration
from contactlab.spatial import RigidInertia
from contactlab.spatial.errors import MultibodyError

ALL = ("direct", "range_space_sparse", "null_space", "kokkevis")
GENERAL = ALL[:3]


def directions(rng, count):
    """Unit vectors."""
    n = rng.standard_normal((count, 3))
    return n / np.linalg.norm(n, axis=1)[:, None]


def contacts(model, seed, count):
    """Independent contacts at random points of random bodies, fixed ones included."""
    rng = np.random.default_rng(seed)
    q, _, _ = state(model, seed)
    moving = [body.name for body in model.bodies if body.name != "ground"]
    while True:
        rows = [
            ContactConstraint(str(body), rng.uniform(-0.3, 0.3, 3), n, acceleration=a)
            for body, n, a in zip(
                rng.choice(moving, count), directions(rng, count), rng.uniform(-1.0, 1.0, count), strict=True
            )
        ]
        if np.linalg.matrix_rank(constraint_jacobian(model, q, ConstraintSet(model, rows)), tol=1e-3) == count:
            return rows


def loops(model, q, seed, rows):
    """A closed chain between the last body and the first, or the world, some of its rows."""
    rng = np.random.default_rng(seed)
    first, last = ("world", model.names[0])[seed % 2], model.names[-1]
    X_s = random_transform(rng)
    X_p = body_pose(model, q, first).inverse() @ body_pose(model, q, last) @ X_s
    return [LoopConstraint(first, last, X_p, X_s, axis, baumgarte=0.1, name="loop") for axis in np.eye(6)[rows]]


def reference(model, q, v, tau, cs, f_ext=None, t=0.0):
    """Dense equations by numpy, full rank assumed."""
    s = constrained_system(model, q, v, tau, cs, f_ext, t=t)
    m = len(s.gamma)
    K = np.block([[s.H, s.G.T], [s.G, np.zeros((m, m))]])
    z = np.linalg.solve(K, np.concatenate([tau - s.C, s.gamma]))
    return z[: model.nv], -z[model.nv :]


def close(found, a, forces, tolerance=1e-9):
    scale = max(1.0, np.abs(a).max(), np.abs(forces).max(initial=0.0))
    assert np.abs(found.a - a).max() < tolerance * scale
    assert np.abs(found.forces - forces).max(initial=0.0) < tolerance * scale
    assert found.residual < 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("method", ALL)
def test_contacts_on_trees(seed, method):
    """All four methods give the accelerations and forces of the dense equations, external forces included."""
    model = random_tree(seed, bodies=7)
    q, v, tau = state(model, seed)
    cs = ConstraintSet(model, contacts(model, seed, min(5, model.nv // 2)))
    f_ext = np.random.default_rng(seed).standard_normal((model.nb, 6)) if seed % 2 else None
    found = forward_dynamics_constraints(model, q, v, tau, cs, method=method, f_ext=f_ext)
    close(found, *reference(model, q, v, tau, cs, f_ext))
    assert found.rank == len(cs)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", GENERAL)
def test_closed_chains(seed, method):
    """Loops and contacts together, the loops stabilised."""
    model = random_tree(20 + seed, bodies=7, kinds=("floating", "spherical", "revolute"))
    q, v, tau = state(model, seed)
    rows = [[3, 4, 5], [0, 1, 2, 3, 4, 5], [1, 3]][seed % 3]
    cs = ConstraintSet(model, [*loops(model, q, seed, rows), *contacts(model, seed, 1)])
    full = np.linalg.matrix_rank(constraint_jacobian(model, q, cs), tol=1e-8)
    found = forward_dynamics_constraints(model, q, v, tau, cs, method=method)
    assert found.rank == full
    if full == len(cs):
        close(found, *reference(model, q, v, tau, cs))


@pytest.mark.nojit
@pytest.mark.parametrize("method", ALL)
def test_without_the_compiler(method):
    """One pendulum's tip held along one direction, by every method."""
    model = random_tree(1, bodies=3, kinds=("revolute", "spherical"))
    q, v, tau = state(model, 1)
    cs = ConstraintSet(model, contacts(model, 3, 1))
    close(forward_dynamics_constraints(model, q, v, tau, cs, method=method), *reference(model, q, v, tau, cs))


def test_equations_of_motion():
    """tau and the constraint forces, applied as external ones, need exactly the accelerations found."""
    model = random_tree(9, bodies=6)
    q, v, tau = state(model, 9)
    rows = contacts(model, 9, 4)
    cs = ConstraintSet(model, rows)
    for method in ALL:
        found = forward_dynamics_constraints(model, q, v, tau, cs, method=method)
        pushes = [
            PointForce(row.body, row.point, f * np.asarray(row.normal))
            for row, f in zip(rows, found.forces, strict=True)
        ]
        needed = inverse_dynamics(model, q, v, found.a, external_forces(model, q, pushes))
        np.testing.assert_allclose(needed, tau, atol=1e-9)
        for row in rows:
            at = point_acceleration(model, q, v, found.a, row.body, row.point)
            assert abs(at @ row.normal - row.acceleration) < 1e-9


@pytest.mark.parametrize("method", ALL)
def test_a_weight_on_the_ground(method):
    """A sphere at rest on one contact weighs m g, and the force is positive along the normal."""
    ball = RigidInertia.solid_sphere(2.0, 0.1)
    model = ModelBuilder().add_body("ball", joint=joints.FloatingBase(), inertia=ball).build()
    cs = ConstraintSet(model, [ContactConstraint("ball", (0, 0, -0.1), (0, 0, 1))])
    found = forward_dynamics_constraints(model, model.neutral, np.zeros(6), np.zeros(6), cs, method=method)
    np.testing.assert_allclose(found.forces, [2.0 * 9.81], rtol=1e-14)
    np.testing.assert_allclose(found.a, 0.0, atol=1e-13)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("linear_solver", ["lu", "qr", "colpiv_qr", "complete_orthogonal", "svd"])
def test_choice_of_factorisation(method, linear_solver):
    """Every factorisation gives the same answer, with a row twice as well."""
    model = random_tree(6, bodies=6)
    q, v, tau = state(model, 6)
    rows = contacts(model, 6, 4)
    cs = ConstraintSet(model, rows)
    found = forward_dynamics_constraints(model, q, v, tau, cs, method=method, linear_solver=linear_solver)
    close(found, *reference(model, q, v, tau, cs))
    doubled = ConstraintSet(model, [*rows, rows[0]])
    again = forward_dynamics_constraints(model, q, v, tau, doubled, method=method, linear_solver=linear_solver)
    assert again.rank == 4
    np.testing.assert_allclose(again.a, found.a, atol=1e-9)
    np.testing.assert_allclose(again.forces[[0, -1]], found.forces[0] / 2.0, rtol=1e-8, atol=1e-9)


class Driven(CustomConstraint):
    """The first coordinate follows sin(t)."""

    name = "driven"
    rows = 1

    def jacobian(self, model, q):
        return np.eye(1, model.nv)

    def gamma(self, model, q, v, *, t):
        return np.array([-np.sin(t)])

    def position_error(self, model, q, *, t):
        return np.array([q[0] - np.sin(t)])

    def velocity_error(self, model, q, v, *, t):
        return np.array([v[0] - np.cos(t)])


@pytest.mark.parametrize("method", GENERAL)
def test_custom_rows_get_the_time(method):
    """A coordinate driven in time accelerates as its motion says, whatever else acts."""
    model = random_tree(3, bodies=5, kinds=("revolute",))
    q, v, tau = state(model, 3)
    cs = ConstraintSet(model, [Driven(), *contacts(model, 4, 1)])
    found = forward_dynamics_constraints(model, q, v, tau, cs, method=method, t=0.7)
    assert abs(found.a[0] + np.sin(0.7)) < 1e-12
    close(found, *reference(model, q, v, tau, cs, t=0.7))
    with pytest.raises(ConstraintError, match="driven"):
        forward_dynamics_constraints(model, q, v, tau, cs, method="kokkevis")


@pytest.mark.parametrize("method", ALL)
def test_custom_joints(method):
    """Joints of the user's own carry contacts like any others."""
    ball = RigidInertia.solid_box(1.0, (0.1, 0.2, 0.3))
    builder = ModelBuilder().add_body("a", joint=joints.Revolute((0, 1, 0)), inertia=ball)
    model = builder.add_body(
        "b", parent="a", joint=Cam(), inertia=ball.moved(random_transform(np.random.default_rng(0)))
    ).build()
    q, v, tau = np.array([0.3, 0.4]), np.array([0.5, -0.7]), np.array([1.0, 2.0])
    cs = ConstraintSet(model, [ContactConstraint("b", (0.1, 0.2, 0.3), (0, 0, 1))])
    close(forward_dynamics_constraints(model, q, v, tau, cs, method=method), *reference(model, q, v, tau, cs))


@pytest.mark.parametrize("method", ALL)
def test_kinematics_and_lists_stand_for_arrays(method):
    """A `Kinematics`, lists and read-only arrays give the same digits as plain arrays."""
    model = random_tree(5, bodies=5)
    q, v, tau = state(model, 5)
    cs = ConstraintSet(model, contacts(model, 5, 3))
    plain = forward_dynamics_constraints(model, q, v, tau, cs, method=method)
    frozen = tau.copy()
    frozen.flags.writeable = False
    for operands in (
        (kinematics(model, q, v), None, tau),
        (kinematics(model, q), v, tau),
        (q.tolist(), v.tolist(), tau.tolist()),
        (q, v, frozen),
    ):
        again = forward_dynamics_constraints(model, *operands, cs, method=method)
        np.testing.assert_array_equal(again.a, plain.a)
        np.testing.assert_array_equal(again.forces, plain.forces)
        assert again.rank == plain.rank


@pytest.mark.parametrize("seed", range(4))
def test_delassus_matrix(seed):
    """By unit forces it is G M^-1 G^T, for loops, several branches and redundant rows too."""
    model = random_tree(seed, bodies=8)
    q, _, _ = state(model, seed)
    cs = ConstraintSet(model, [*loops(model, q, seed, [0, 3, 5]), *contacts(model, seed, 6), *contacts(model, seed, 1)])
    G = constraint_jacobian(model, q, cs)
    exact = G @ np.linalg.solve(mass_matrix(model, q), G.T)
    np.testing.assert_allclose(delassus_matrix(model, q, cs), exact, rtol=1e-8, atol=1e-9 * np.abs(exact).max())


@pytest.mark.parametrize("method", ALL)
def test_errors_name_what_is_wrong(method):
    """Lengths, entries, quaternions, sets and names: typed errors, whatever the method."""
    model = random_tree(1, bodies=3, kinds=("floating",), fixed=False)
    q, v, tau = state(model, 1)
    cs = ConstraintSet(model, contacts(model, 1, 2))
    bad = v.copy()
    bad[1] = np.nan
    for operands, field in (
        ((q[:-1], v, tau), "q"),
        ((q, v[:-1], tau), "v"),
        ((q, v, tau[:-1]), "tau"),
        ((q, bad, tau), "v"),
        ((q, v, bad), "tau"),
        ((np.where(np.arange(model.nq) == 2, np.inf, q), v, tau), "q"),
        ((2.0 * q, v, tau), "q"),
        ((q, None, tau), "v"),
    ):
        with pytest.raises(MultibodyError) as caught:
            forward_dynamics_constraints(model, *operands, cs, method=method)
        assert caught.value.field == field
    with pytest.raises(MultibodyError) as caught:
        forward_dynamics_constraints(model, q, v, tau, cs, method=method, f_ext=np.zeros((1, 6)))
    assert caught.value.field == "f_ext"
    other = random_tree(2, bodies=3)
    for more, field in (
        ({"method": "cholesky"}, "method"),
        ({"method": method, "linear_solver": "best"}, "linear_solver"),
        ({"method": method, "t": np.nan}, "t"),
    ):
        with pytest.raises(ConstraintError) as caught:
            forward_dynamics_constraints(model, q, v, tau, cs, **more)
        assert caught.value.field == field
    with pytest.raises(ConstraintError) as caught:
        forward_dynamics_constraints(model, q, v, tau, ConstraintSet(other, []), method=method)
    assert caught.value.field == "cs"


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio(seed):
    """Accelerations and forces are those of pinocchio's constraint dynamics with point contacts."""
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(seed)
    pair = random_pair(pin, rng, 16)
    model, theirs = pair.ours, pair.theirs
    q, v, tau = state(model, seed)
    bodies = [model.names[-1], model.names[len(model.names) // 2]]
    points = rng.uniform(-0.2, 0.2, (2, 3))
    models, datas, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData(), theirs.createData()
    T = pair.rotations(q)
    for body, point in zip(bodies, points, strict=True):
        at = pin.SE3(np.eye(3), point)
        kind = pin.ContactType.CONTACT_3D
        contact = pin.RigidConstraintModel(kind, theirs, theirs.getJointId(body), at, pin.ReferenceFrame.LOCAL)
        models.append(contact)
        datas.append(contact.createData())
    pin.initConstraintDynamics(theirs, data, models, datas)
    v_theirs = np.linalg.solve(T, v)
    a_theirs = pin.constraintDynamics(theirs, data, pair.q(q), v_theirs, T.T @ tau, models, datas)
    cs = ConstraintSet(
        model, [ContactConstraint(b, p, n) for b, p in zip(bodies, points, strict=True) for n in np.eye(3)]
    )
    full = np.linalg.matrix_rank(constraint_jacobian(model, q, cs)) == 6
    for method in ALL:
        found = forward_dynamics_constraints(model, q, v, tau, cs, method=method)
        scale = np.abs(found.a).max()
        assert np.abs(found.a - (T @ a_theirs + pair.turning(q, v))).max() < 1e-6 * scale or not full

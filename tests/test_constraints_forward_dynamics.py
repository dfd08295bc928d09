"""Forward dynamics and impulses with constraints: four methods with one result, which equals the dense equations."""

import numpy as np
import pytest
from custom_constraints import Driven
from pin_models import random_pair
from refusals import assert_fields
from trees import random_transform, random_tree, state

from contactlab.multibody import ModelBuilder, body_pose, joints, kinematics, kinetic_energy, mass_matrix
from contactlab.multibody.constraints import (
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    LoopConstraint,
    constrained_system,
    constraint_impulses,
    constraint_jacobian,
    constraint_velocity_error,
    delassus_matrix,
    forward_dynamics_constraints,
)
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.arrays import MultibodyError

ALL = ("direct", "range_space_sparse", "null_space", "kokkevis")


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
@pytest.mark.parametrize("method", ALL)
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


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("linear_solver", ["lu", "qr", "colpiv_qr", "complete_orthogonal", "svd"])
def test_choice_of_factorisation(method, linear_solver):
    """Every factorisation gives the same result, also with a repeated row."""
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


@pytest.mark.parametrize("method", ALL)
def test_custom_rows_get_the_time(method):
    """A point driven in time, beside a contact: the dense equations at that time."""
    model = random_tree(3, bodies=5, kinds=("revolute",))
    q, v, tau = state(model, 3)
    cs = ConstraintSet(model, [Driven(), *contacts(model, 4, 1)])
    found = forward_dynamics_constraints(model, q, v, tau, cs, method=method, t=0.7)
    close(found, *reference(model, q, v, tau, cs, t=0.7))


@pytest.mark.parametrize("seed", range(4))
def test_delassus_matrix(seed):
    """It equals G M^-1 G^T by unit forces, for loops, several branches and redundant rows too."""
    model = random_tree(seed, bodies=8)
    q, _, _ = state(model, seed)
    cs = ConstraintSet(model, [*loops(model, q, seed, [0, 3, 5]), *contacts(model, seed, 6), *contacts(model, seed, 1)])
    G = constraint_jacobian(model, q, cs)
    exact = G @ np.linalg.solve(mass_matrix(model, q), G.T)
    np.testing.assert_allclose(delassus_matrix(model, q, cs), exact, rtol=1e-8, atol=1e-9 * np.abs(exact).max())


@pytest.mark.parametrize("method", ALL)
def test_errors_name_what_is_wrong(method):
    """Lengths, entries, quaternions, sets and names: typed errors, for every method."""
    model = random_tree(1, bodies=3, kinds=("floating",), fixed=False)
    q, v, tau = state(model, 1)
    cs = ConstraintSet(model, contacts(model, 1, 2))
    bad = np.where(np.arange(model.nv) == 1, np.nan, v)

    def run(q=q, v=v, tau=tau, cs=cs, method=method, **more):
        return forward_dynamics_constraints(model, q, v, tau, cs, method=method, **more)

    assert_fields(
        MultibodyError,
        ("q", lambda: run(q=q[:-1])),
        ("v", lambda: run(v=v[:-1])),
        ("tau", lambda: run(tau=tau[:-1])),
        ("v", lambda: run(v=bad)),
        ("tau", lambda: run(tau=bad)),
        ("q", lambda: run(q=np.where(np.arange(model.nq) == 2, np.inf, q))),
        ("q", lambda: run(q=2.0 * q)),
        ("v", lambda: run(v=None)),
        ("f_ext", lambda: run(f_ext=np.zeros((1, 6)))),
    )
    assert_fields(
        ConstraintError,
        ("method", lambda: run(method="cholesky")),
        ("linear_solver", lambda: run(linear_solver="best")),
        ("t", lambda: run(t=np.nan)),
        ("cs", lambda: run(cs=ConstraintSet(random_tree(2, bodies=3), []))),
    )


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio(seed):
    """Accelerations and forces equal pinocchio's constraint dynamics with point contacts."""
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


METHODS = ("direct", "range_space_sparse", "null_space")


def ball():
    inertia = RigidInertia.solid_sphere(2.0, 0.1)
    return ModelBuilder().add_body("ball", joint=joints.FloatingBase(), inertia=inertia).build()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_momentum_and_energy(method, seed):
    """H (v_after - v_minus) = G^T p and G v_after = v_plus; with v_plus = 0 the change has the lost energy."""
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


@pytest.mark.parametrize("method", METHODS)
def test_conditions_that_depend_on_time(method):
    """The velocity after the impact meets G v + phi_t = v_plus at the time given."""
    model = random_tree(3, bodies=5, kinds=("revolute",))
    q, v, _ = state(model, 3)
    cs = ConstraintSet(model, [Driven()])
    found = constraint_impulses(model, q, v, cs, method=method, t=1.5)
    assert np.abs(constraint_velocity_error(model, q, found.v_after, cs, t=1.5)).max() < 1e-12
    assert found.residual < 1e-13


def test_errors_of_impulses_name_what_is_wrong():
    """Wrong methods, lengths and entries are typed errors that name the argument."""
    model = ball()
    cs = ConstraintSet(model, [ContactConstraint("ball", (0, 0, 0), (0, 0, 1))])
    q, v = model.neutral, np.zeros(6)
    assert_fields(
        ConstraintError,
        ("method", lambda: constraint_impulses(model, q, v, cs, method="kokkevis")),
        ("v_plus", lambda: constraint_impulses(model, q, v, cs, v_plus=[0.0, 0.0])),
        ("v_plus", lambda: constraint_impulses(model, q, v, cs, v_plus=[np.nan])),
        ("linear_solver", lambda: constraint_impulses(model, q, v, cs, linear_solver="best")),
    )
    assert_fields(
        MultibodyError,
        ("v_minus", lambda: constraint_impulses(model, q, None, cs)),
        ("v_minus", lambda: constraint_impulses(model, q, v[:-1], cs)),
        ("v_minus", lambda: constraint_impulses(model, q, [0, 0, np.inf, 0, 0, 0], cs)),
        ("v_minus", lambda: constraint_impulses(model, kinematics(model, q), None, cs)),
    )


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio_of_impulses(seed):
    """The velocity after the impact equals pinocchio's impulse dynamics."""
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

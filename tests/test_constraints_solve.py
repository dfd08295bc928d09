"""Solvers of constrained systems, on bare arrays and for models: rank, residual, shortest multipliers, refusals."""

import numpy as np
import pytest
from refusals import assert_fields
from trees import random_tree, state

from contactlab.multibody.constraints import (
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    forward_dynamics_constraints,
    solve,
)
from contactlab.simulation import ModelBuilder, RigidInertia, joints

METHODS = (solve.direct, solve.range_space_sparse, solve.null_space)
SOLVERS = (None, "lu", "qr", "colpiv_qr", "complete_orthogonal", "svd")


def dense(H, G, c, gamma):
    """The whole matrix by its pseudo-inverse: least squares in gamma, shortest multipliers."""
    n, m = len(c), len(gamma)
    z = np.linalg.pinv(np.block([[H, G.T], [G, np.zeros((m, m))]]), rcond=1e-11) @ np.concatenate([c, gamma])
    return z[:n], -z[n:]


def system(seed, n, m):
    """A definite H and full rows."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return A @ A.T + 0.3 * np.eye(n), rng.standard_normal((m, n)), rng.standard_normal(n), rng.standard_normal(m)


def agrees(found, x, multipliers, tolerance=1e-9):
    scale = max(1.0, np.abs(x).max(initial=0.0), np.abs(multipliers).max(initial=0.0))
    assert np.abs(found.x - x).max(initial=0.0) < tolerance * scale
    assert np.abs(found.multipliers - multipliers).max(initial=0.0) < tolerance * scale


@pytest.mark.nojit
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 1), (5, 2), (6, 6), (9, 5), (14, 13)])
def test_independent_rows(method, n, m):
    """Every method solves the whole matrix's equations, with full rank and no residual."""
    H, G, c, gamma = system(n + 10 * m, n, m)
    found = method(H, G, c, gamma)
    agrees(found, *dense(H, G, c, gamma))
    assert found.rank == m
    assert found.residual < 1e-13


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("linear_solver", SOLVERS)
@pytest.mark.parametrize("consistent", [True, False])
def test_redundant_rows(method, linear_solver, consistent):
    """Combinations, copies and zeros among the rows: rank, least squares in gamma, shortest multipliers."""
    H, G, c, gamma = system(3, 7, 6)
    G = np.vstack([G[:3], 2.0 * G[0] - G[1], np.zeros(7), 1e3 * G[2], G[2]])
    gamma = G @ np.arange(7.0) if consistent else np.append(gamma, 1.0)
    found = method(H, G, c, gamma, linear_solver=linear_solver)
    x, multipliers = dense(H, G, c, gamma)
    agrees(found, x, multipliers, 1e-9)
    assert found.rank == 3
    assert found.residual < 1e-12 if consistent else found.residual > 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("angle", [1e-4, 1e-7, 1e-9])
def test_nearly_dependent_rows(method, angle):
    """Two rows a tiny angle apart are two rows, and what they ask for together is done with all digits there are."""
    H, G, c, _ = system(5, 6, 3)
    G[2] = G[0] + angle * G[1]
    wanted = np.arange(6.0)
    found = method(H, G, c, G @ wanted)
    exact, _ = dense(H, G[:2], c, G[:2] @ wanted)
    assert found.rank == 2
    assert np.abs(found.x - exact).max() < 1e-9
    G[2] = G[0] + angle * np.eye(6)[5]
    found = method(H, G, c, G @ wanted)
    exact, _ = dense(H, np.vstack([G[:2], np.eye(6)[5]]), c, np.append(G[:2] @ wanted, wanted[5]))
    assert found.rank == 3
    assert np.abs(found.x - exact).max() < 1e-13 / angle


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("angle", [1e-4, 1e-5, 1e-6, 1e-7])
def test_nearly_dependent_rows_that_leave_no_freedom(method, angle):
    """As many rows as unknowns, two of them nearly equal: no method loses more digits than the rows themselves do."""
    for seed in range(20):
        H, G, c, _ = system(seed, 4, 4)
        G[1] = G[0] + angle * G[1]
        wanted = np.arange(1.0, 5.0)
        found = method(H, G, c, G @ wanted)
        assert found.rank == 4
        assert np.abs(found.x - wanted).max() < 1e-12 / angle


@pytest.mark.parametrize("linear_solver", SOLVERS)
@pytest.mark.parametrize("method", METHODS)
def test_singular_matrix_whose_last_pivot_is_rounding(method, linear_solver):
    """A matrix of rank n - 1 in floats, as likely to pass for definite as not, is held by a row all the same."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        root, G, wanted = rng.standard_normal((6, 5)), rng.standard_normal((1, 6)), rng.standard_normal(6)
        H = root @ root.T
        found = method(H, G, H @ wanted - G[0], G @ wanted, linear_solver=linear_solver)
        agrees(found, wanted, np.array([1.0]), 1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_rows_closer_than_the_tolerance_count_as_one(method):
    """An angle of 1e-13 between two rows is rounding, not a separate constraint; the caller sets the tolerance."""
    H, G, c, gamma = system(5, 6, 2)
    G[1] = G[0] + 1e-13 * np.eye(6)[3]
    gamma[1] = gamma[0]
    found = method(H, G, c, gamma)
    exact, _ = dense(H, G[:1], c, gamma[:1])
    assert found.rank == 1
    assert np.abs(found.x - exact).max() < 1e-11
    G[1] = G[0] + 1e-3 * np.eye(6)[3]
    assert [method(H, G, c, gamma, tolerance=tolerance).rank for tolerance in (1e-2, 1e-12)] == [1, 2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("linear_solver", SOLVERS)
def test_singular_matrix_held_by_the_rows(method, linear_solver):
    """H without any inertia in two directions, both of them constrained: the motion is unique and found."""
    H, G, c, gamma = system(11, 6, 4)
    H[4:] = 0.0
    H[:, 4:] = 0.0
    found = method(H, G, c, gamma, linear_solver=linear_solver)
    agrees(found, *dense(H, G, c, gamma))
    assert found.rank == 4


@pytest.mark.nojit
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("linear_solver", SOLVERS)
def test_undetermined_motion(method, linear_solver):
    """A direction with neither inertia nor constraint is an error that names H."""
    H, G, c, gamma = system(11, 6, 2)
    H[5] = H[:, 5] = 0.0
    G[:, 5] = 0.0
    assert_fields(
        ConstraintError,
        ("H", lambda: method(H, G, c, gamma, linear_solver=linear_solver)),
    )


@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter(method):
    """Coordinates in other units and rows in other units change rank and solution by their factors only."""
    H, G, c, gamma = system(2, 8, 4)
    G = np.vstack([G, G[0] + G[1]])
    gamma = np.append(gamma, gamma[0] + gamma[1])
    plain = method(H, G, c, gamma)
    D, R = 10.0 ** np.linspace(-5, 5, 8), 10.0 ** np.array([-4.0, 0.0, 3.0, 1.0, 2.0])
    scaled = method(D[:, None] * H * D, R[:, None] * G * D, D * c, R * gamma)
    assert scaled.rank == plain.rank == 4
    np.testing.assert_allclose(D * scaled.x, plain.x, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_bad_input(method):
    """Shapes, entries, symmetry, names and tolerances are checked and the argument is named."""
    H, G, c, gamma = system(1, 4, 2)
    assert_fields(
        ConstraintError,
        ("H", lambda: method(H[:3], G, c, gamma)),
        ("H", lambda: method(H + np.eye(4, k=1), G, c, gamma)),
        ("G", lambda: method(H, G[:, :3], c, gamma)),
        ("G", lambda: method(H, np.where(np.arange(8).reshape(2, 4) == 6, np.nan, G), c, gamma)),
        ("H", lambda: method(H, G, c[:3], gamma)),
        ("G", lambda: method(H, G, c, gamma[:1])),
        ("gamma", lambda: method(H, G, c, [np.inf, 0.0])),
        ("linear_solver", lambda: method(H, G, c, gamma, linear_solver="cholesky")),
        ("tolerance", lambda: method(H, G, c, gamma, tolerance=-1.0)),
    )


ALL = ("direct", "range_space_sparse", "null_space", "kokkevis")


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

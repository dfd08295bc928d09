"""Bounds set by other unknowns, and horizontal problems: exact conversions, verdicts on the problem as it was posed."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lcp
from lcp.conformance import converted_entries


def contacts(seed: int) -> lcp.CoupledBoxLCP:
    """A body on one to three contacts, two friction rows each, as an engine with ``findex`` has them."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 4))
    J = rng.standard_normal((3 * count, 6))
    M = J @ J.T + 1e-2 * np.eye(3 * count)
    findex = np.full(3 * count, -1)
    findex[1::3] = findex[2::3] = np.arange(count) * 3
    hi = np.where(rng.random(3 * count) < 0.2, 0.3, np.inf)
    return lcp.CoupledBoxLCP(M, rng.standard_normal(3 * count), 0.0, hi, findex, rng.choice([0.0, 0.4, 1.0]))


def obeys(problem: lcp.CoupledBoxLCP, z: np.ndarray, tolerance: float = 1e-8) -> bool:
    """The definition, row by row."""
    w = problem.M @ z + problem.q
    for i in range(problem.n):
        lo, hi = problem.lo[i], problem.hi[i]
        if (j := problem.findex[i]) >= 0:
            lo, hi = -problem.mu[i] * z[j], problem.mu[i] * z[j]
        if z[i] < lo - tolerance or z[i] > hi + tolerance:
            return False
        if (w[i] > tolerance and z[i] > lo + tolerance) or (w[i] < -tolerance and z[i] < hi - tolerance):
            return False
    return True


@given(seed=st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_frictional_contacts_are_solved_as_they_are_coupled(seed: int) -> None:
    """The result obeys the definition with the bounds that it sets, and residuals agree with the definition."""
    problem = contacts(seed)
    result = lcp.solve(problem)
    assert result.solved, result.describe()
    assert obeys(problem, result.z)
    assert lcp.residuals(problem, result.z).solved()
    np.testing.assert_array_equal(result.w, problem.M @ result.z + problem.q)
    assert lcp.solve(problem, z0=result).solved
    worse = result.z + np.random.default_rng(seed).uniform(0.1, 0.2, problem.n)
    assert not lcp.residuals(problem, worse).solved()


@pytest.mark.parametrize("push", [0.0, 2.0, -2.0, 8.0, -8.0])
def test_block_on_a_table(push: float) -> None:
    """Pressed with 9.81 and pushed, mu = 0.5: it sticks up to 4.905, beyond friction is at its bound."""
    problem = lcp.CoupledBoxLCP(np.eye(2), [-9.81, push], 0.0, np.inf, [-1, 0], 0.5)
    for solver in (None, lcp.Lemke(), lcp.Enumeration(), lcp.CottleDantzig()):
        result = lcp.solve(problem, solver)
        np.testing.assert_allclose(result.z, [9.81, np.clip(-push, -4.905, 4.905)], rtol=1e-12, atol=1e-12)


def test_the_default_solves_what_conformance_lists() -> None:
    """Every listed problem that has a solution; the others end with a reason."""
    for entry, answer in converted_entries():
        result = lcp.solve(entry.problem)
        assert result.solved == (answer is not None), entry.name
        if answer is not None:
            np.testing.assert_allclose(result.z, answer, atol=1e-12)


def test_conversion_has_a_way_back_and_a_start() -> None:
    """`coupled_to_box` maps its solution to the coupled one, and back to a start that is already the solution."""
    problem = contacts(11)
    conversion = lcp.coupled_to_box(problem)
    x = lcp.solve(conversion.problem).z
    z = conversion.recover(x)
    assert obeys(problem, z)
    assert lcp.residuals(conversion.problem, conversion.start(z)).natural_map <= 1e-9


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0.0, np.inf, [0, -1], 0.5), r"findex\[0\] = 0 is coupled itself"),
        ((0.0, np.inf, [-1, 5], 0.5), r"findex\[1\] = 5 is no row"),
        ((-1.0, np.inf, [-1, 0], 0.5), "not linear"),
        ((0.0, np.inf, [-1, 0], -0.5), r"mu\[1\] = -0.5 is negative"),
        ((0.0, np.inf, [-1, 0], np.nan), "mu"),
        ((0.0, np.inf, [-1.0, 0.0], 0.5), "findex must be whole numbers"),
        ((0.0, np.inf, [-1], 0.5), "findex must be whole numbers of shape"),
        (([0.0], np.inf, [-1, 0], 0.5), "lo must have length 2"),
        ((2.0, 1.0, [-1, 0], 0.5), "exceeds"),
    ],
)
def test_couplings_that_are_none_are_refused(arguments: Any, text: str) -> None:
    """The row is named, and why no linear problem stands for it."""
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.CoupledBoxLCP(np.eye(2), [1.0, 1.0], *arguments)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_horizontal_problems_and_their_column_w_property(seed: int) -> None:
    """Column-W agrees with the determinants; then there is one solution, and both conversions give it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    N, M = rng.integers(-2, 3, (2, n, n)).astype(float)
    if seed % 3:
        M = N @ (np.tril(rng.uniform(-1.0, 1.0, (n, n)), -1) + np.diag(rng.uniform(0.5, 2.0, n)))
    problem = lcp.HorizontalLCP(N, M, rng.standard_normal(n))
    # Of all matrices with columns of either.
    choices = [np.where(takes, N, M) for takes in product((True, False), repeat=n)]
    determinants = np.linalg.det(choices)
    sign = np.where(np.abs(determinants) < 1e-9, 0.0, np.sign(determinants))
    verdict = problem.column_w()
    assert (verdict is not None and bool(verdict)) == bool(abs(sign.sum()) == sign.shape[0])
    result = lcp.solve(problem)
    if result.solved:
        scale = np.abs(N) @ np.abs(result.w) + np.abs(M) @ np.abs(result.z) + np.abs(problem.q)
        assert (np.abs(N @ result.w - M @ result.z - problem.q) <= 1e-8 * scale).all()
        assert min(result.w.min(), result.z.min()) >= -1e-9 * scale.max()
        assert abs(result.w @ result.z) <= 1e-8 * scale.max() ** 2
    if verdict is not None and verdict:
        assert result.solved
        conversion = lcp.horizontal_to_lcp(problem)
        np.testing.assert_allclose(
            lcp.solve(conversion.problem).z, result.z, atol=1e-7 * (1.0 + np.abs(result.z).max())
        )


def test_a_singular_side_is_refused_where_it_must_and_solved_where_it_can() -> None:
    """N singular: no LCP(N^-1 M, N^-1 q), said with its rank; the mixed form is exact."""
    # The second row, 0 = z_2 - 2, holds no w.
    problem = lcp.HorizontalLCP([[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [1.0, -2.0])
    assert problem.column_w() is None
    with pytest.raises(lcp.ProblemError, match=r"rank 1 of 2: \{N, M\} is not column-W"):
        lcp.horizontal_to_lcp(problem)
    result = lcp.solve(problem)
    assert result.solved
    np.testing.assert_allclose(result.z, [0.0, 2.0])
    np.testing.assert_allclose(result.w, [1.0, 0.0], atol=1e-12)
    with pytest.raises(lcp.ProblemError, match=r"N must have shape \(2, 2\)"):
        lcp.HorizontalLCP(np.eye(3), np.eye(2), [1.0, 1.0])

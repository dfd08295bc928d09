"""Double-double arithmetic, one basis solved in it, and Lemke's method built on it."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact_lemke import exact_lemke, exact_residuals
from hypothesis import given
from hypothesis import strategies as st
from naive import enumerate_bases
from numpy.typing import NDArray

import lcp
from lcp.kernels import double_double as dd
from lcp.kernels.extended_lemke import ExtendedTableau, leaving_row_extended
from lcp.polish import round_to_float64, solve_basis_extended
from lcp.solvers.extended_lemke import ExtendedLemke

ordinary = st.floats(-1e60, 1e60).filter(lambda x: x == 0.0 or abs(x) > 1e-60)


def exact(pair: tuple[float, float]) -> Fraction:
    return Fraction(pair[0]) + Fraction(pair[1])


def pair(a: float, b: float) -> tuple[float, float]:
    """A double-double number: a with a low part below half of its last digit."""
    h = a + b * 1e-17 * a
    return dd.two_sum(h, b * 1e-17 * h)


@pytest.mark.nojit
@given(ordinary, ordinary)
def test_sums_and_products_lose_nothing(a: float, b: float) -> None:
    """two_sum and two_product are exact, and normalised."""
    for found, truth in (
        (dd.two_sum(a, b), Fraction(a) + Fraction(b)),
        (dd.two_product(a, b), Fraction(a) * Fraction(b)),
    ):
        assert exact(found) == truth
        assert found[0] + found[1] == found[0]


@pytest.mark.nojit
@given(ordinary, st.floats(-1.0, 1.0), ordinary, st.floats(-1.0, 1.0))
def test_double_double_operations_keep_thirty_digits(a: float, s: float, b: float, t: float) -> None:
    """Sum, product and quotient are within 2^-102 of the exact ones."""
    x, y = pair(a, s), pair(b, t)
    cases = [(dd.dd_add(*x, *y), exact(x) + exact(y)), (dd.dd_multiply(*x, *y), exact(x) * exact(y))]
    if y[0] != 0.0:
        cases.append((dd.dd_divide(*x, *y), exact(x) / exact(y)))
    for found, truth in cases:
        assert abs(exact(found) - truth) <= Fraction(dd.ROUNDING) * abs(truth)


@pytest.mark.nojit
def test_a_dot_product_keeps_thirty_digits() -> None:
    """It is within 2^-102 of the terms, cancellation included."""
    rng = np.random.default_rng(3)
    n = 20
    x = rng.standard_normal(n)
    x_low = x * 1e-17
    a = rng.standard_normal(n)
    terms = [Fraction(a[j]) * (Fraction(x[j]) + Fraction(x_low[j])) for j in range(n)]
    start = -float(sum(terms))
    found = exact(dd.dd_dot(a, x, x_low, n, start))
    assert abs(found - sum(terms) - Fraction(start)) <= n * Fraction(dd.ROUNDING) * sum(abs(t) for t in terms)


@pytest.mark.parametrize(("n", "error"), [(6, 3e-16), (10, 3e-16), (12, 3e-16), (15, 1e-12)])
def test_ill_conditioned_bases_are_solved_to_the_last_digit(n: int, error: float) -> None:
    """Hilbert matrices of condition 1e7 to 1e16, and of 1e20, against rational elimination of the same doubles."""
    M = np.array([[1.0 / (i + j + 1) for j in range(n)] for i in range(n)])
    rows = [[Fraction(float(M[i, j])) for j in range(n)] + [Fraction(1)] for i in range(n)]
    for c in range(n):
        rows[c] = [v / rows[c][c] for v in rows[c]]
        for i in range(n):
            if i != c:
                rows[i] = [v - rows[i][c] * u for v, u in zip(rows[i], rows[c], strict=True)]
    z = solve_basis_extended(lcp.LCP(M, -np.ones(n)), np.ones(n, dtype=bool))
    assert z is not None
    np.testing.assert_allclose(z, [float(row[-1]) for row in rows], rtol=error)


@pytest.mark.nojit
def test_a_basis_by_mask_by_indices_and_of_a_mixed_problem() -> None:
    """Inactive entries are zero; an empty basis gives zero; a singular one is refused."""
    M, q = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]), np.array([-3.0, -3.0, -1.0])
    problem = lcp.LCP(M, q)
    for active in (np.array([True, True, False]), np.array([0, 1])):
        found = solve_basis_extended(problem, active)
        assert found is not None
        np.testing.assert_array_equal(found, [1.0, 1.0, 0.0])
    empty = solve_basis_extended(problem, np.zeros(3, dtype=bool))
    assert empty is not None
    assert not empty.any()
    assert solve_basis_extended(problem, np.ones(3, dtype=bool)) is None
    mixed = lcp.MLCP([[2.0]], [[1.0]], [[1.0]], [[2.0]], [-3.0], [-3.0])
    found = solve_basis_extended(mixed, np.array([True, True]))
    assert found is not None
    np.testing.assert_array_equal(found, [1.0, 1.0])


def cases() -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    rng = np.random.default_rng(8)
    found = []
    for i in range(60):
        n = int(rng.integers(1, 8))
        A = rng.integers(-2, 3, (n, n)).astype(float) if i % 2 else rng.standard_normal((n, n))
        found.append((A @ A.T + (i % 3) * 0.1 * np.eye(n), A @ rng.standard_normal(n) + rng.integers(0, 2, n)))
    return found


def test_small_monotone_problems_against_exact_pivoting_and_enumeration() -> None:
    """Solved whenever exact Lemke solves, to the last digits; with regular bases the result is one of theirs."""
    for M, q in cases():
        result = lcp.solve(lcp.LCP(M, q), ExtendedLemke())
        outcome, _, _ = exact_lemke(M, q)
        if outcome == "solved":
            assert result.solved
            assert exact_residuals(M, q, result.z)[1] < 1e-12
            if np.linalg.eigvalsh(M)[0] > 1e-3:
                (only,) = enumerate_bases(M, q)
                np.testing.assert_allclose(result.z, only, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["lemke_missed_contact_8", "lemke_missed_contact_12"])
def test_it_solves_what_lemke_misses(name: str) -> None:
    """Redundant contacts whose dependence the data's rounding hides, and breaks: exact pivoting ends in a ray."""
    with np.load(Path(__file__).parent / "data" / f"{name}.npz") as data:
        M, q = data["M"], data["q"]
    assert exact_lemke(M, q)[0] == "ray"
    assert lcp.solve(lcp.LCP(M, q), ExtendedLemke()).solved


def test_limits_are_heeded() -> None:
    """Pivots, seconds and size: a status, and a finite candidate."""
    n = 60
    A = np.random.default_rng(0).standard_normal((n, n))
    problem = lcp.LCP(A @ A.T + np.eye(n), -np.ones(n))
    for solver in (ExtendedLemke(max_pivots=3), ExtendedLemke(time_limit=1e-9)):
        result = lcp.solve(problem, solver)
        assert result.status is lcp.Status.ITERATION_LIMIT or result.solved
        assert np.isfinite(result.z).all()
    assert lcp.solve(problem, ExtendedLemke(max_pivots=3)).iterations <= 3
    result = lcp.solve(problem, ExtendedLemke(max_size=59))
    assert result.status is lcp.Status.UNSUITABLE
    assert "60" in result.attempts[0].detail


def test_settling_moves_only_last_digits() -> None:
    """Two forces of 3e9 oppose each other on a row with a load of 1e-4; a small third takes up their rounding."""
    M = np.array([[1.0, -1.0, 1.0], [1e-9, 0.0, 0.0], [0.0, 1e-9, 0.0]])
    problem = lcp.LCP(M, [-0.0001, -3.1234567012345, -3.1234567013])
    exactly = solve_basis_extended(problem, np.ones(3, dtype=bool))
    assert exactly is not None
    rounded = lcp.residuals(problem, exactly).natural_map
    assert rounded > 1e-3 * 0.0001
    found = round_to_float64(problem, exactly, 1e-9)
    assert found is not None
    assert lcp.residuals(problem, found).solved()
    assert lcp.residuals(problem, found).natural_map < 0.1 * rounded
    assert abs(found - exactly).max() <= 1e-6
    assert round_to_float64(problem, np.zeros(3), 1e-9) is None


@pytest.mark.skipif("NUMBA_DISABLE_JIT" not in os.environ, reason="only kernels call the kernel")
@pytest.mark.nojit
@pytest.mark.parametrize("surer", [0, 1])
def test_of_rows_that_tie_throughout_the_more_certain_one_leaves(surer: int) -> None:
    """Two equal rows: the one whose pivot has the smaller error."""
    T, errors = np.tile([-1.0, 1.0, 1.0, 1.0], (2, 1)), np.full((2, 4), 1e-20)
    errors[1 - surer, 0] = 1e-18
    zeros, basis, nonbasis = np.zeros((3, 4)), np.array([2, 3]), np.array([0, 1, 4])
    position = np.array([0, 1, -1, -1, 2])
    tableau = ExtendedTableau(
        np.eye(2), *np.ones((4, 2)), 0.0, T, zeros[:2], errors, zeros, np.zeros((3, 2)), basis, nonbasis, position,
        np.zeros(5, dtype=np.int64), np.zeros(2, dtype=np.int64),
    )  # fmt: skip
    assert leaving_row_extended(tableau, 0) == surer

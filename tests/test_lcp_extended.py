"""Lemke's method in twice the precision, and the hard set: stacks whose masses differ by many powers of ten."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact_lemke import exact_lemke, exact_residuals
from naive import enumerate_bases
from scaled_stacks import MOTIONS, PATTERNS, Data, stack

import lcp
from lcp import ExtendedLemke
from lcp.polish import solve_basis_extended


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


def test_small_monotone_problems_against_exact_pivoting_and_enumeration() -> None:
    """Solved whenever exact Lemke solves, to the last digits; with regular bases the result is one of theirs."""
    rng = np.random.default_rng(8)
    for i in range(60):
        n = int(rng.integers(1, 8))
        A = rng.integers(-2, 3, (n, n)).astype(float) if i % 2 else rng.standard_normal((n, n))
        M, q = A @ A.T + (i % 3) * 0.1 * np.eye(n), A @ rng.standard_normal(n) + rng.integers(0, 2, n)
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


def problem(seed: int, k: int, ratio: float, *, impulses: bool = True) -> Data:
    """Member ``seed`` of the family with k boxes."""
    rng = np.random.default_rng([seed, k])
    pattern, motion = PATTERNS[int(rng.integers(0, 3))], MOTIONS[int(rng.choice([0, 0, 0, 1, 2]))]
    nd, gaps, turned = int(rng.choice([4, 8])), bool(rng.integers(0, 2)), bool(rng.integers(0, 4))
    return stack(rng, k, nd, ratio, pattern=pattern, motion=motion, gaps=gaps, turned=turned, impulses=impulses)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.slow
def test_exact_pivoting_solves_small_ones_and_so_does_extended(seed: int) -> None:
    """The truth: a solution exists for the very doubles given; the one found holds without rounding."""
    M, q = problem(seed, 1 + seed % 2, 1e6)
    assert exact_lemke(M, q)[0] == "solved"
    result = lcp.solve(lcp.LCP(M, q), ExtendedLemke())
    assert result.solved
    natural, scaled = exact_residuals(M, q, result.z)
    assert scaled < 1e-9
    assert natural <= 1.01 * result.residual.natural_map + 1e-15


@pytest.mark.parametrize(
    ("ratio", "boxes", "impulses"), [(1e6, 6, True), (1e6, 5, False), (1e8, 4, True), (1e8, 2, False)]
)
def test_every_stack_is_solved(ratio: float, boxes: int, impulses: bool) -> None:
    """Extended precision solves all of them, in impulses and in newtons.

    In newtons rows whose rounding decides are summed in twice the precision.
    """
    for k in range(1, boxes + 1):
        for seed in range(4 if ratio == 1e6 or impulses else 1):
            assert lcp.solve(lcp.LCP(*problem(seed, k, ratio, impulses=impulses)), ExtendedLemke()).solved


@pytest.mark.parametrize("k", [2, 3])
def test_stacks_whose_solution_float64_can_hardly_hold(k: int) -> None:
    """Ratio 1e10: impulses of 1e9 and more on rows of light bodies with loads near one."""
    M, q = problem(3 if k == 3 else 0, k, 1e10)
    result = lcp.solve(lcp.LCP(M, q), ExtendedLemke())
    assert result.solved
    assert result.residual.scaled < 1e-15

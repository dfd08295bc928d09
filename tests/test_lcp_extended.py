"""Lemke's method in twice the precision, and the hard set: stacks whose masses differ by many powers of ten."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact_lemke import exact_lemke, exact_residuals
from naive import enumerate_bases
from numpy.typing import NDArray
from scaled_stacks import MOTIONS, PATTERNS, Data, scaled_definite, stack

import lcp
from lcp import ExtendedLemke
from lcp.kernels.extended_lemke import ExtendedTableau, leaving_row_extended
from lcp.polish import round_to_float64, solve_basis_extended


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


def problem(seed: int, k: int, ratio: float, *, impulses: bool = True) -> Data:
    """Member ``seed`` of the family with k boxes."""
    rng = np.random.default_rng([seed, k])
    pattern, motion = PATTERNS[int(rng.integers(0, 3))], MOTIONS[int(rng.choice([0, 0, 0, 1, 2]))]
    nd, gaps, turned = int(rng.choice([4, 8])), bool(rng.integers(0, 2)), bool(rng.integers(0, 4))
    return stack(rng, k, nd, ratio, pattern=pattern, motion=motion, gaps=gaps, turned=turned, impulses=impulses)


def count(ratio: float, boxes: range, seeds: range, *, impulses: bool = True) -> tuple[int, int, int]:
    """Members of a family, how many of them `Lemke` solves alone, and how many `ExtendedLemke` alone."""
    total, plain, extended = 0, 0, 0
    for k in boxes:
        for seed in seeds:
            M, q = problem(seed, k, ratio, impulses=impulses)
            given = lcp.LCP(M, q)
            total += 1
            plain += lcp.solve(given, lcp.Lemke()).solved
            extended += lcp.solve(given, ExtendedLemke()).solved
    return total, plain, extended


@pytest.mark.nojit
def test_the_generator_makes_what_it_says() -> None:
    """Contact block symmetric, semidefinite except for rounding; copositive signs of the cone's rows; light q."""
    for k in (1, 3):
        M, q = problem(4, k, 1e6)
        nc = 4 * k
        m = q.shape[0] - nc
        block = M[:m, :m]
        np.testing.assert_allclose(block, block.T, atol=1e-14)
        assert np.linalg.eigvalsh(block)[0] > -1e-12
        np.testing.assert_array_equal(M[nc:m, m:], -M[m:, nc:m].T)
        assert not M[m:, m:].any()
        assert not q[m:].any()


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


@pytest.mark.parametrize(("ratio", "boxes", "impulses"), [(1e6, 6, True), (1e6, 5, False), (1e8, 4, True)])
def test_every_stack_is_solved(ratio: float, boxes: int, impulses: bool) -> None:
    """Extended precision solves all of them, in impulses and in newtons."""
    total, plain, extended = count(ratio, range(1, boxes + 1), range(4), impulses=impulses)
    assert extended == total
    assert plain <= total


def test_a_stack_in_newtons_whose_residual_is_all_rounding() -> None:
    """Ratio 1e8 in newtons: certified because rows whose rounding decides are summed in twice the precision."""
    M, q = problem(0, 2, 1e8, impulses=False)
    assert lcp.solve(lcp.LCP(M, q), ExtendedLemke()).solved


@pytest.mark.parametrize("k", [2, 3])
def test_stacks_whose_solution_float64_can_hardly_hold(k: int) -> None:
    """Ratio 1e10: impulses of 1e9 and more on rows of light bodies with loads near one."""
    M, q = problem(3 if k == 3 else 0, k, 1e10)
    result = lcp.solve(lcp.LCP(M, q), ExtendedLemke())
    assert result.solved
    assert result.residual.scaled < 1e-15


def test_their_exact_solution_once_rounded_is_admitted_by_rounding_alone() -> None:
    """The remaining error comes from the grid of the numbers, not from the method."""
    M, q = problem(0, 2, 1e10)
    outcome, z, _ = exact_lemke(M, q)
    assert outcome == "solved"
    rounded = lcp.residuals(lcp.LCP(M, q), [float(v) for v in z])
    assert rounded.scaled < 1e-15
    assert rounded.solved()
    assert rounded.natural_map > 1e-8


def test_diagonal_scaling_changes_no_answer() -> None:
    """D M D and D q of definite M, D over twelve powers of ten: z is D^-1 times the plain solution."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        M, q = scaled_definite(rng, int(rng.integers(2, 30)), 6.0)
        result = lcp.solve(lcp.LCP(M, q), ExtendedLemke())
        assert result.solved
        d = np.sqrt(np.diag(M))
        plain = lcp.solve(lcp.LCP(M / d[:, None] / d, q / d), lcp.Lemke())
        np.testing.assert_allclose(result.z * d, plain.z, rtol=1e-6, atol=1e-8 * max(plain.z.max(), 1e-30))


def test_the_shared_stacks(shared: Path) -> None:
    """Recorded members of the family."""
    files = sorted((shared / "problems" / "lcp").glob("scaled*.npz"))
    assert files
    for file in files:
        with np.load(file) as data:
            result = lcp.solve(lcp.LCP(data["M"], data["q"]), ExtendedLemke())
        assert result.solved, file.name
        assert result.residual.scaled < 1e-12

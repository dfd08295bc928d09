"""The hard set: time steps of stacks whose masses differ by six powers of ten and more."""

from pathlib import Path

import numpy as np
import pytest
from exact_lemke import exact_lemke, exact_residuals
from scaled_stacks import MOTIONS, PATTERNS, Data, scaled_definite, stack

import lcp
from lcp import ExtendedLemke


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

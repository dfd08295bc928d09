"""Farkas vectors and verdicts, checked without rounding, in units of 2^-40 to 2^40."""

import time
from fractions import Fraction

import lcp_units
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lcp
from lcp import infeasibility_proof
from lcp.farkas import Farkas, balanced


def proven(problem: lcp.LCP, y: np.ndarray) -> bool:
    """y >= 0, M^T y <= 0 and q . y < 0 in rationals."""
    x = [Fraction(float(a)) for a in y]
    rows = [[Fraction(float(a)) for a in row] for row in problem.M]
    columns = [sum((row[j] * a for row, a in zip(rows, x, strict=True)), Fraction(0)) for j in range(problem.n)]
    value = sum((Fraction(float(a)) * b for a, b in zip(problem.q, x, strict=True)), Fraction(0))
    return min(x) >= 0 and max(columns) <= 0 and value < 0


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_infeasible_by_construction(seed: int, n: int) -> None:
    """A positive combination of rows without positive entry, and q against it: a proof, exact in rationals."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) + 0.1
    M = rng.standard_normal((n, n))
    M -= np.outer(y, (M.T @ y + rng.random(n)) / (y @ y))
    q = rng.standard_normal(n)
    problem = lcp.LCP(M, q - y * (y @ q + 1.0) / (y @ y))
    proof = infeasibility_proof(problem)
    assert proof is not None
    assert proof.proves(problem)
    assert proof.proves_exactly(problem) == proven(problem, proof.y)
    assert proof.proves_exactly(problem)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_feasible_problems_have_no_proof(seed: int, n: int) -> None:
    """Where some z >= 0 has M z + q >= 0 nothing is proven, tight or not."""
    rng = np.random.default_rng(seed)
    M, z = rng.standard_normal((n, n)), rng.random(n)
    problem = lcp.LCP(M, -M @ z + (0.0 if seed % 2 else 0.1) * rng.random(n) + 1e-12)
    assert infeasibility_proof(problem) is None


@pytest.mark.nojit
@pytest.mark.parametrize("e", [1e-6, 1e-9, 1e-12, 1e-13])
def test_columns_that_nearly_cancel_are_no_proof(e: float) -> None:
    """[[1, -1], [e - 1, 1]], q = -1, is a P-matrix: z of size 2 / e is a solution, in spite of rounding."""
    problem = lcp.LCP([[1.0, -1.0], [e - 1.0, 1.0]], [-1.0, -1.0])
    claim = Farkas(y=np.ones(2), v=np.zeros(0))
    assert not claim.proves(problem)
    assert not claim.proves_exactly(problem)
    assert infeasibility_proof(problem) is None


@pytest.mark.nojit
def test_a_rounding_of_the_data_is_told_from_none() -> None:
    """y = (1, 1): exact on [[1, -1], [-1, 1]]; one rounding away it proves only up to rounding, and says so."""
    claim = Farkas(y=np.ones(2), v=np.zeros(0))
    exact = lcp.LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0])
    assert claim.proves_exactly(exact)
    near = lcp.LCP([[1.0, -1.0], [-1.0, 1.0 + 2.0**-52]], [-1.0, -1.0])
    assert claim.proves(near)
    assert not claim.proves_exactly(near)
    tiny = lcp.LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, 1.0])
    assert not claim.proves(tiny)
    # The rounding cannot be seen in double precision, nor in twice that: integers tell.
    deep = lcp.LCP([[1e-40, 0.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], [-1.0, -1.0, -1.0])
    assert Farkas(y=np.ones(3), v=np.zeros(0)).proves(deep)
    assert not Farkas(y=np.ones(3), v=np.zeros(0)).proves_exactly(deep)


@pytest.mark.nojit
def test_what_is_no_proof() -> None:
    """Negative, infinite or ill-sized multipliers, and a contradiction that rounding could make."""
    problem = lcp.LCP([[0.0]], [-1.0])
    assert Farkas(y=np.ones(1), v=np.zeros(0)).proves_exactly(problem)
    for y in ([-1.0], [np.nan], [np.inf], [1.0, 1.0], [0.0]):
        assert not Farkas(y=np.array(y), v=np.zeros(0)).proves(problem)
    drowned = lcp.LCP(np.zeros((2, 2)), [1.0, -1.0 - 2.0**-50])
    assert not Farkas(y=np.ones(2), v=np.zeros(0)).proves(drowned)


@pytest.mark.nojit
def test_multipliers_of_a_linear_program_are_balanced_to_rounding() -> None:
    """Conditions that hold to 1e-8 hold to rounding afterwards, the others and the zeros stay as they are."""
    rng = np.random.default_rng(4)
    scaled, x = rng.standard_normal((5, 6)), np.array([0.4, 0.7, 0.0, 0.2, 0.9, 0.5])
    scaled[:4] -= np.outer(scaled[:4] @ x, x) / (x @ x)
    off = x * (1.0 + 1e-8 * rng.standard_normal(6))
    assert np.abs(scaled[:4] @ off).max() > 1e-9
    found = balanced(scaled, off, 2)
    assert np.abs(scaled[:4] @ found).max() < 1e-15
    assert found[2] == 0.0
    np.testing.assert_allclose(found, x, atol=1e-7)


UNITS = [((0, 0), (0, 0)), ((19, -16), (0, 0)), ((40, -40), (40, -40)), ((-30, 30), (30, 30)), ((40, 40), (-40, 40))]


@pytest.mark.parametrize(("rows", "unknowns"), UNITS)
def test_an_unsolvable_problem_is_so_in_any_units(rows: tuple[int, int], unknowns: tuple[int, int]) -> None:
    """w_1 = 4 forbids z_1, which row 2 needs: feasible, without solution, and reported immediately."""
    row, unit = np.exp2(rows), np.exp2(unknowns)
    problem = lcp.LCP(row[:, None] * np.array([[0.0, 0.0], [2.0, 0.0]]) * unit, row * [4.0, -1.0])
    lcp.solve(problem)
    start = time.process_time()
    result = lcp.solve(problem)
    assert result.status is lcp.Status.UNSOLVABLE
    assert time.process_time() - start < 1.0


def test_no_verdict_is_false_or_lost_in_other_units() -> None:
    """Plain, mixed and boxed problems, singular, infeasible and unsolvable ones: the small part of the campaign."""
    for number in range(140):
        drawn, known, problem = lcp_units.drawn_problem(7, number, 40)
        result = lcp.solve(problem)
        assert not lcp_units.faults(problem, known, result), (number, known, drawn, result)


@pytest.mark.campaign
def test_ten_thousand_problems_in_other_units() -> None:
    """No false verdict, none lost, none that takes two seconds."""
    assert lcp_units.report(1, 10_000, 40)[-1] == ""


@given(seed=st.integers(0, 10**6), powers=st.sampled_from([0, 20, 40]))
@settings(max_examples=60, deadline=None)
def test_proofs_of_whole_numbers_multiply_out(seed: int, powers: int) -> None:
    """In any units of rows and unknowns: no rounding is necessary."""
    drawn = lcp_units.draw(np.random.default_rng(seed), "infeasible")
    rng, n = np.random.default_rng(seed), len(drawn.q)
    problem = lcp_units.posed(drawn, *(np.exp2(rng.integers(-powers, powers + 1, n)) for _ in range(2)))
    proof = infeasibility_proof(problem)
    assert proof is not None
    assert proven(problem, proof.y)

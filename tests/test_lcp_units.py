"""Verdicts in units of 2^-40 to 2^40, against truth in rational numbers; proofs that multiply out."""

from __future__ import annotations

import time
from fractions import Fraction

import lcp_units
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lcp
from lcp.analysis.exact import nonnegative
from lcp.farkas import infeasibility_proof

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
    y = [Fraction(a) for a in proof.y.tolist()]
    columns = [sum(Fraction(a) * b for a, b in zip(column, y, strict=True)) for column in problem.M.T.tolist()]
    assert min(y) >= 0
    assert max(columns) <= 0
    assert sum(Fraction(a) * b for a, b in zip(problem.q.tolist(), y, strict=True)) < 0


@pytest.mark.nojit
@given(seed=st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_programs_in_integers_end_in_a_point_or_a_contradiction(seed: int) -> None:
    """A x = d b with x >= 0, or y A <= 0 with y . b > 0: exactly one of them, exactly."""
    rng = np.random.default_rng(seed)
    count, size = int(rng.integers(1, 6)), int(rng.integers(1, 8))
    A, b = rng.integers(-3, 4, (count, size)).astype(object), rng.integers(-4, 5, count).astype(object)
    x, scale, y = nonnegative(A, b)
    if x is None:
        assert max(y @ A) <= 0
        assert y @ b > 0
    else:
        assert (A @ x == scale * b).all()
        assert scale > 0
        assert min(x) >= 0

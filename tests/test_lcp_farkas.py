"""Farkas vectors: found for infeasible problems, checked without rounding, never given for feasible ones."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lcp
from lcp.farkas import Farkas, balanced, infeasibility_proof


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


@given(seed=st.integers(0, 10**6), contacts=st.integers(1, 10))
@settings(max_examples=30, deadline=None)
def test_opposed_contacts(seed: int, contacts: int) -> None:
    """Contacts and the same ones turned round, both to separate: columns cancel exactly, and the proof is exact."""
    rng = np.random.default_rng(seed)
    N = rng.standard_normal((contacts, 4))
    N = np.vstack([N, -N])
    problem = lcp.LCP(N @ (N / rng.uniform(0.1, 10.0, 4)).T, -rng.uniform(0.1, 1.0, 2 * contacts))
    proof = infeasibility_proof(problem)
    assert proof is not None
    assert proof.proves(problem)


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

"""Random problems of the classes that solvers promise to solve: no false result, none missed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lcp
from lcp.method import Traits, implied

Data = tuple[NDArray[np.float64], NDArray[np.float64]]
KINDS = {
    "definite": Traits.SYMMETRIC_POSITIVE_DEFINITE,
    "semidefinite": Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE,
    "dominant": Traits.H_PLUS,
    "contact": Traits.COPOSITIVE,
    "monotone": Traits.POSITIVE_SEMIDEFINITE,
    "positive": Traits.POSITIVE_DEFINITE,
}
# First-order, interior-point and QP methods come near an answer; the others end in one.
APPROXIMATE = (lcp.ProjectedGaussSeidel, lcp.APGD, lcp.NonsmoothNonlinearCG, lcp.InteriorPoint, lcp.OSQP, lcp.CVXPY)
APPROXIMATE += (lcp.Clarabel, *lcp.OPTIONAL_SOLVERS)
SLOW = {lcp.CVXPY: 10, lcp.Clarabel: 4, lcp.OSQP: 4, lcp.ExtendedLemke: 2, **dict.fromkeys(lcp.OPTIONAL_SOLVERS, 4)}


def some(rng: np.random.Generator, kind: str) -> Data:
    """One solvable problem of that kind."""
    if kind not in ("monotone", "positive"):
        return draw(rng, kind)
    n = int(rng.integers(1, 9))
    A = rng.standard_normal((n, int(rng.integers(1, n + 1)) if kind == "monotone" else n))
    K = rng.standard_normal((n, n))
    M = A @ A.T + (K - K.T) + (0.0 if kind == "monotone" else 1e-2) * np.eye(n)
    x = rng.integers(0, 2, n) * rng.random(n)
    return M, rng.integers(0, 2, n) * (x == 0.0) * rng.random(n) - M @ x


def fits(solver: type[Any], kind: str) -> bool:
    return bool(implied(KINDS[kind]) & solver.traits)


CASES = [
    pytest.param(solver, kind, id=f"{solver.__name__}-{kind}")
    for solver in (*lcp.ALL_SOLVERS, *lcp.OPTIONAL_SOLVERS)
    for kind in KINDS
    if fits(solver, kind)
]
# Failures found by the long run, kept by name below.
KNOWN = {("CottleDantzig", "semidefinite"): ["2/2975"]}


def missed(solver: type[Any], kind: str, seed: int, problems: int) -> list[str]:
    """Return the broken promises of the solver on ``problems`` random problems."""
    rng = np.random.default_rng([seed, len(kind)])
    left = []
    for i in range(problems):
        M, q = some(rng, kind)
        problem = lcp.LCP(M, q)
        if problem.n > getattr(solver(), "max_n", problem.n):
            continue  # Enumeration says so
        if solver in APPROXIMATE:
            results = (
                lcp.solve(problem, solver(), tolerance=1e-6),
                lcp.solve(problem, lcp.Refined(solver())),
            )
        else:
            results = (lcp.solve(problem, solver()),)
        for result in results:
            assert np.isfinite(result.z).all()
            if not result.solved:
                left.append(f"{seed}/{i}: {result.describe()}")
    return left


@pytest.mark.parametrize(("solver", "kind"), CASES)
def test_every_promise_is_kept(solver: type[Any], kind: str) -> None:
    """Tens to hundreds of problems each."""
    result = lcp.solve(lcp.LCP([[1.0]], [-1.0]), solver())
    if "not installed" in result.attempts[0].detail:
        pytest.skip(result.attempts[0].detail)
    assert missed(solver, kind, 1, 120 // SLOW.get(solver, 1)) == []


@pytest.mark.campaign
@pytest.mark.parametrize(("solver", "kind"), CASES)
def test_every_promise_is_kept_for_long(solver: type[Any], kind: str) -> None:
    """Ten thousands of problems each; one of all of them is missed."""
    left = [text.partition(":")[0] for text in missed(solver, kind, 2, 20_000 // SLOW.get(solver, 1))]
    assert left == KNOWN.get((solver.__name__, kind), [])


LOST = "lemke_missed_contact_12"


def missed_problem(name: str) -> lcp.LCP:
    """Return a problem of the long runs, one in 20 000 or fewer, that a method alone misses."""
    with np.load(Path(__file__).parent / "data" / f"{name}.npz") as data:
        return lcp.LCP(data["M"], data["q"])


@pytest.mark.parametrize("name", ["cottle_dantzig_missed_semidefinite", "lemke_missed_contact_8", LOST])
def test_what_one_method_misses_the_default_solves(name: str) -> None:
    """A semidefinite problem, and two contact problems with more rows than directions of motion."""
    assert lcp.solve(missed_problem(name)).solved


@pytest.mark.parametrize(
    ("solver", "name"), [(lcp.CottleDantzig(), "cottle_dantzig_missed_semidefinite"), (lcp.Lemke(), LOST)]
)
@pytest.mark.xfail(strict=True, reason="the path is lost to rounding and ends in a ray")
def test_one_method_alone_on_what_it_misses(solver: Any, name: str) -> None:
    """A semidefinite problem of low rank after 12 pivots; a Delassus matrix of rank 2 in 9 rows after every restart."""
    assert lcp.solve(missed_problem(name), solver).solved


def test_box_lemke_ends_with_the_last_digits_of_small_unknowns() -> None:
    """Forces of 2e-7 beside 0.3, number 608 of the long run: the basis is right, and solved to all digits."""
    rng = np.random.default_rng([2, len("contact")])
    M, q = [some(rng, "contact") for _ in range(609)][-1]
    result = lcp.solve(lcp.LCP(M, q), lcp.BoxLemke(restarts=0))
    result.raise_for_status()
    assert result.residual.backward_error < 1e-14


CLASSES = ("definite", "semidefinite", "dominant", "contact", "any")


def factor(rng: np.random.Generator, n: int, whole: bool) -> NDArray[np.float64]:
    """A matrix (n, up to n), of small whole numbers (many ties) or of normal ones."""
    width = max(1, n - int(rng.integers(0, 3)))
    return rng.integers(-2, 3, (n, width)).astype(float) if whole else rng.standard_normal((n, n))


def contact(rng: np.random.Generator, whole: bool) -> Data:
    """Contacts with friction pyramids on few coordinates, some twice: copositive, feasible, often degenerate."""
    nc, r, nv = int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(2, 5))
    rows = rng.integers(-1, 2, (nc * (1 + r), nv)).astype(float) if whole else rng.standard_normal((nc * (1 + r), nv))
    N, F = rows[:nc], rows[nc:]
    if rng.random() < 0.25:
        N[-1], F[-1] = N[0], F[0]
    J = np.vstack((N, F, -F))
    m = len(J)
    M = np.zeros((m + nc, m + nc))
    M[:m, :m] = J @ J.T
    E = np.tile(np.kron(np.eye(nc), np.ones((r, 1))), (2, 1))
    M[nc:m, m:], M[m:, nc:m] = E, -E.T
    M[m:, :nc] = np.diag(rng.choice([0.0, 0.2, 0.5, 1.0, 3.0], nc))
    v = rng.integers(-2, 3, nv).astype(float) if whole else rng.standard_normal(nv)
    return M, np.concatenate((J @ v, np.zeros(nc)))


def draw(rng: np.random.Generator, kind: str) -> Data:
    """One problem; all kinds but "any" have a solution that Lemke's method is proven to find."""
    n, whole = int(rng.integers(1, 9)), bool(rng.integers(0, 2))
    if kind == "contact":
        return contact(rng, whole)
    A = factor(rng, n, whole)
    if kind == "definite":
        return A @ A.T + (1.0 if whole else 1e-3) * np.eye(n), rng.integers(-3, 4, n).astype(float)
    if kind == "semidefinite":
        x = rng.integers(0, 3, n).astype(float)
        return A @ A.T, rng.integers(0, 2, n) * (x == 0.0) - A @ (A.T @ x)
    M = rng.integers(-2, 3, (n, n)).astype(float)
    if kind == "dominant":
        np.fill_diagonal(M, np.abs(M).sum(axis=1) + 0.1)
    return M, rng.integers(-3, 4, n).astype(float)


def run(seed: int, problems: int) -> list[tuple[int, int]]:
    """Solve and check; a seventh of the problems have a common factor of 1e-8 to 1e8. Return those that Lemke missed.

    The default cascade must solve what Lemke's method misses.
    """
    rng = np.random.default_rng(seed)
    missed: list[tuple[int, int]] = []
    for i in range(problems):
        kind = CLASSES[i % len(CLASSES)]
        M, q = draw(rng, kind)
        M = M * 10.0 ** rng.integers(-8, 9) if i % 7 == 0 else M
        problem = lcp.LCP(M, q)
        result = lcp.solve(problem, lcp.Lemke())
        if kind != "any" and not result.solved:
            missed.append((seed, i))
            result = lcp.solve(problem)
        assert np.isfinite(result.z).all(), (seed, i)
        natural = np.abs(np.minimum(result.z, M @ result.z + q)).max()
        rounding = min(64 * 2.3e-16 * np.abs(M).max() * np.abs(result.z).max(), 1e-6 * np.abs(q).max())
        if result.solved:
            assert natural <= 1.01 * max(1e-8 * max(1.0, np.abs(q).max()), rounding), (seed, i)
        else:
            assert kind == "any", (seed, i, result)
    return missed


def test_no_false_answer_and_none_missed() -> None:
    """Five thousand problems, Lemke alone."""
    assert run(1, 5_000) == []


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(2, 6))
def test_no_false_answer_and_none_missed_in_a_million(seed: int) -> None:
    """Four runs of a quarter of a million; Lemke alone misses two of them all, kept below by name."""
    assert len(run(seed, 250_000)) <= 1

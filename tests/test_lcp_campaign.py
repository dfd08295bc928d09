"""Many small random problems of known classes: no false result, none missed. The long run: `-m campaign`."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import lcp

CLASSES = ("definite", "semidefinite", "dominant", "contact", "any")
Data = tuple[NDArray[np.float64], NDArray[np.float64]]


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


@pytest.mark.parametrize("name", ["lemke_missed_contact_8", "lemke_missed_contact_12"])
def test_what_lemke_misses_the_cascade_solves(name: str) -> None:
    """Two contact problems with more rows than directions of motion."""
    with np.load(Path(__file__).parent / "data" / f"{name}.npz") as data:
        assert lcp.solve(lcp.LCP(data["M"], data["q"])).solved


@pytest.mark.parametrize("name", ["lemke_missed_contact_12"])
@pytest.mark.xfail(
    strict=True,
    reason="Delassus matrix of rank 2 in 9 rows: every restart loses the path to rounding and ends in a ray",
)
def test_lemke_alone_on_what_it_misses(name: str) -> None:
    """The one of the two that no scaling of the restarts helps."""
    with np.load(Path(__file__).parent / "data" / f"{name}.npz") as data:
        assert lcp.solve(lcp.LCP(data["M"], data["q"]), lcp.Lemke()).solved

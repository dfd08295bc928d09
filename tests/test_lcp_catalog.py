"""Every solver solves the catalog problems of its classes; enumeration checks the catalog's solutions."""

import numpy as np
import pytest
from naive import enumerate_bases

import lcp
from lcp.catalog import Entry, MixedEntry, entries, fathi, mixed_entries, murty, named

ENTRIES = entries()
CASES = [
    pytest.param(solver, entry, id=f"{solver.__name__}-{entry.name}") for solver in lcp.ALL_SOLVERS for entry in ENTRIES
]


def promised(solver: type[lcp.Lemke], entry: Entry) -> bool:
    """Whether the solver's traits cover the class of the problem, and its options the size."""
    if entry.problem.n > getattr(solver(), "max_n", entry.problem.n):
        return False
    return entry.matrix_class is not None and bool(entry.matrix_class & solver.traits)


@pytest.mark.nojit
@pytest.mark.parametrize(("solver", "entry"), CASES)
def test_solver_meets_problem(solver: type[lcp.Lemke], entry: Entry) -> None:
    """A promised solvable problem is solved at a listed solution; an unsolvable one is never called solved."""
    result = lcp.solve(entry.problem, solver())
    if entry.outcome is not lcp.Status.SOLVED:
        assert not result.solved
        assert np.isfinite(result.z).all()
        return
    if promised(solver, entry):
        result.raise_for_status()
    if result.solved and entry.complete:
        assert any(np.allclose(result.z, z, rtol=1e-9, atol=1e-12) for z in entry.solutions)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.problem.n <= 9], ids=lambda e: e.name)
def test_catalog_answers_agree_with_enumeration(entry: Entry) -> None:
    """Listed solutions solve, and enumeration of all bases finds no other isolated one where the list is complete."""
    for z in entry.solutions:
        assert lcp.residuals(entry.problem, z).solved(1e-12)
    found = enumerate_bases(entry.problem.M, entry.problem.q)
    if entry.outcome is not lcp.Status.SOLVED:
        assert found == []
    elif entry.complete:
        assert len(found) == len(entry.solutions)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_the_default_cascade_settles_every_entry(entry: Entry) -> None:
    """Solvable problems are solved, unsolvable ones proved so, by name."""
    result = lcp.solve(entry.problem)
    assert result.status is entry.outcome
    assert [attempt.status for attempt in result.attempts][-1] is entry.outcome
    if entry.outcome is lcp.Status.INFEASIBLE:
        assert result.evidence.proves(entry.problem)


@pytest.mark.nojit
@pytest.mark.parametrize("entry", mixed_entries(), ids=lambda e: e.name)
@pytest.mark.parametrize("solver", [None, *(solver() for solver in lcp.ALL_SOLVERS)], ids=repr)
def test_solver_meets_mixed_problem(solver: object, entry: MixedEntry) -> None:
    """Every solver: never a wrong SOLVED, always INCONSISTENT by name; the default settles every one."""
    result = lcp.solve(entry.problem, solver)  # type: ignore[arg-type]
    if solver is None or entry.outcome is lcp.Status.INCONSISTENT:
        assert result.status is entry.outcome
    if entry.outcome is not lcp.Status.SOLVED:
        assert not result.solved
        assert np.isfinite(result.u).all()
        assert np.isfinite(result.y).all()
        if result.status in (lcp.Status.INFEASIBLE, lcp.Status.INCONSISTENT):
            assert result.evidence.proves(entry.problem)
    elif result.solved and entry.complete:
        assert any(
            np.allclose(result.u, u, rtol=1e-9, atol=1e-12) and np.allclose(result.y, y, rtol=1e-9, atol=1e-12)
            for u, y in entry.solutions
        )


@pytest.mark.parametrize("entry", mixed_entries(), ids=lambda e: e.name)
def test_mixed_answers_agree_with_enumeration(entry: MixedEntry) -> None:
    """Listed solutions solve, and enumeration finds those and no others where the list is complete."""
    for u, y in entry.solutions:
        assert lcp.residuals(entry.problem, y, u).solved(1e-12)
    found = lcp.enumerate_solutions(entry.problem)
    assert found.complete
    if entry.outcome is not lcp.Status.SOLVED:
        assert found.solutions == ()
    elif entry.complete:
        assert len(found.solutions) == len(entry.solutions)
        assert not found.continuum
    else:
        assert found.continuum


def test_exponential_families_have_their_known_answer() -> None:
    """Murty's and Fathi's problems at other sizes have the solution of their papers."""
    for n in (2, 3, 8):
        for problem, first in ((murty(n), 2.0**n), (fathi(n), 4.0**n)):
            z = np.zeros(n)
            z[0] = first
            assert lcp.residuals(problem, z).solved(1e-14)


def test_named_lists_what_there_is() -> None:
    """The error for an unknown name lists the names."""
    assert named("murty_3").problem.n == 3
    with pytest.raises(KeyError, match="kostreva_cycle"):
        named("murty_4")

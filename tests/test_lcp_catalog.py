"""Every solver meets every catalog problem of its classes; the catalog's own answers are checked by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from naive import enumerate_bases

import lcp
from lcp.catalog import Entry, entries, fathi, murty, named

ENTRIES = entries()
CASES = [
    pytest.param(solver, entry, id=f"{solver.__name__}-{entry.name}") for solver in lcp.ALL_SOLVERS for entry in ENTRIES
]


def promised(solver: type[lcp.Lemke], entry: Entry) -> bool:
    """Whether the solver's traits cover the class of the problem."""
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


def test_exponential_families_have_their_known_answer() -> None:
    """Murty's and Fathi's problems at other sizes have the solution of their papers."""
    for n in (2, 3, 8):
        for problem, first in ((murty(n), 2.0**n), (fathi(n), 4.0**n)):
            z = np.zeros(n)
            z[0] = first
            assert lcp.residuals(problem, z).solved(1e-14)


def test_named_lists_what_there_is() -> None:
    """An unknown name is answered with the names."""
    assert named("murty_3").problem.n == 3
    with pytest.raises(KeyError, match="kostreva_cycle"):
        named("murty_4")

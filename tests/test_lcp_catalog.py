"""Every solver on the catalog and on the sets of other projects; enumeration checks their solutions."""

import csv
from pathlib import Path

import numpy as np
import pytest
from naive import enumerate_bases

import lcp
from lcp.catalog import Entry, MixedEntry, entries, mixed_entries, named

ENTRIES = entries()


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


def test_named_lists_what_there_is() -> None:
    """The error for an unknown name lists the names."""
    assert named("murty_3").problem.n == 3
    with pytest.raises(KeyError, match="kostreva_cycle"):
        named("murty_4")


def load(file: Path) -> lcp.LCP | lcp.MLCP:
    with np.load(file) as data:
        M, q = data["M"], data["q"]
        k = int(data["n_free"]) if "n_free" in data else 0
    if k == 0:
        return lcp.LCP(M, q)
    return lcp.MLCP(M[:k, :k], M[:k, k:], M[k:, :k], M[k:, k:], q[:k], q[k:])


def cases(shared: Path) -> list[tuple[dict[str, str], lcp.LCP | lcp.MLCP]]:
    folder = shared / "problems" / "lcp_mlcp"
    with (folder / "manifest.csv").open() as rows:
        return [(row, load(folder / f"{row['name']}.npz")) for row in csv.DictReader(rows)]


def test_every_problem_is_solved_by_default(shared: Path) -> None:
    """Circuits with singular equations, games, degenerate and nearly degenerate problems: all have a solution."""
    found = cases(shared)
    assert found
    for row, problem in found:
        result = lcp.solve(problem)
        assert result.solved, (row["name"], result)
        if isinstance(problem, lcp.MLCP):
            assert isinstance(result, lcp.MLCPResult)
            assert lcp.residuals(problem, result.y, result.u).solved(1e-10), row["name"]
        else:
            assert lcp.residuals(problem, result.z).solved(1e-10), row["name"]


@pytest.mark.slow
def test_no_solver_claims_what_is_not_so(shared: Path) -> None:
    """Each solver alone either solves a problem or says that it does not; monotone ones are solved by the QP."""
    for row, problem in cases(shared):
        for solver in lcp.ALL_SOLVERS:
            result = lcp.solve(problem, solver())
            assert result.solved == result.residual.solved(), (row["name"], solver)
            assert result.status not in (
                lcp.Status.INFEASIBLE,
                lcp.Status.UNSOLVABLE,
                lcp.Status.INCONSISTENT,
                lcp.Status.NOT_FINITE,
            ), (row["name"], solver, result)


def test_enumeration_agrees_with_the_manifest(shared: Path) -> None:
    """The number of distinct solutions at regular bases is the recorded one; the segment is called a continuum."""
    counted = 0
    for row, problem in cases(shared):
        if row["n_basic_solutions"] == "":
            continue
        found = lcp.enumerate_solutions(problem)
        assert found.complete
        assert len(found.solutions) == int(row["n_basic_solutions"]), row["name"]
        if row["name"] in ("lcp_CPS_1", "lcp_CPS_5"):
            assert found.continuum
        counted += 1
    assert counted

"""The small problems of other projects' test sets, plain and mixed, with their known numbers of solutions."""

import csv
from pathlib import Path

import numpy as np
import pytest

import lcp


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


def test_reducing_by_hand_gives_the_same(shared: Path) -> None:
    """`reduce`, a plain solve and `recover` are the path of `solve` where A is regular."""
    for _, problem in cases(shared):
        if not isinstance(problem, lcp.MLCP):
            continue
        reduction = lcp.reduce(problem)
        assert reduction.consistent
        if not reduction.exact:
            continue
        # Solved is enough: the delta-sigma modulator has two solutions, and pivoting on the whole finds the other.
        y = lcp.solve(reduction.lcp).z
        assert lcp.residuals(problem, y, reduction.recover(y)).solved(1e-9)


@pytest.mark.nojit
def test_a_diode_bridge_by_enumeration() -> None:
    """Four ideal diodes around a source of 1 A and a load of 2 ohm: the load sees the rectified current."""
    # Unknowns: potentials (in, out, load) free; diode currents y; pairs: current against voltage drop.
    G = np.diag([1e-3, 1e-3, 0.5])
    D = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    for current in (1.0, -1.0):
        problem = lcp.MLCP(-G, -D.T, -D, 1e-3 * np.eye(4), [current, -current, 0.0], np.zeros(4))
        result = lcp.solve(problem)
        result.raise_for_status()
        (only,) = lcp.enumerate_solutions(problem).solutions
        np.testing.assert_allclose(result.y, only.y, atol=1e-10)
        assert result.u[2] == pytest.approx(2.0, rel=2e-2)

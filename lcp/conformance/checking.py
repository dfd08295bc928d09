"""The checks: every catalog problem, every class promised, and the manners of a solver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.asking import Witness
from lcp.catalog import Entry, MixedEntry, entries, mixed_entries
from lcp.conformance.converted import converted_checks, converted_entries
from lcp.conformance.nonlinear import nonlinear_checks
from lcp.conformance.random_problems import CLASSES, random_problems
from lcp.conformance.report import Check, ConformanceReport
from lcp.judge import DENIALS
from lcp.nonlinear.catalog import entries as nonlinear_entries
from lcp.options import check_solver
from lcp.problem import LCP
from lcp.residuals import DEFAULT_TOLERANCE
from lcp.solve import solve
from lcp.status import Status
from lcp.traits import Traits


def check(solver: Any, *, tolerance: float = DEFAULT_TOLERANCE, problems: int = 20, seed: int = 0) -> ConformanceReport:
    """Hold a solver to what the solvers of `lcp` are held to.

    - Catalog: every named problem of `lcp.catalog`, plain and mixed, and some with coupled bounds or horizontal, which
      it meets converted. One of a class that the solver's ``traits`` name is solved, at a listed solution where the
      list is complete; one without solution is never claimed solved;
      what is claimed is so, and that there is no solution comes with evidence.
    - Promises: ``problems`` random problems of each class that the traits name are all solved.
    - Manners: it leaves the data and the start alone, gives the same answer twice, takes a start, and answers with
      a `Claim` whose z has the right length.

    A solver without ``traits`` promises nothing, and is held to the rest. One whose traits say NONLINEAR meets the
    catalog of nonlinear problems, each from several starts, instead.

    Parameters
    ----------
    solver
        An object with ``solve(problem, *, z0, tolerance, trace) -> lcp.Claim``. See `lcp.Solver`.
    tolerance
        Bound on the backward error under which an answer counts as solved.
    problems, seed
        Random problems per class, and what they are drawn from.

    Raises
    ------
    ProblemError
        If ``solver`` is a class, or has no ``solve``.
    """
    check_solver("solver", solver)
    checks: list[Check] = []
    solved: list[str] = []
    if getattr(solver, "traits", Traits(0)) & Traits.NONLINEAR:
        checks += nonlinear_checks(solver, tolerance, solved)
        solvable = sum(entry.outcome is Status.SOLVED for entry in nonlinear_entries())
        return ConformanceReport(solver, tuple(checks), tuple(solved), solvable)
    plain, mixed = entries(), mixed_entries()
    for entry in plain:
        _catalog(solver, entry, tolerance, checks, solved)
    for one in mixed:
        _mixed(solver, one, tolerance, checks, solved)
    checks += converted_checks(solver, tolerance, solved)
    checks += _promises(solver, tolerance, problems, seed)
    checks += _manners(solver, tolerance)
    outcomes = [entry.outcome for entry in plain] + [entry.outcome for entry in mixed]
    solvable = outcomes.count(Status.SOLVED) + sum(answer is not None for _, answer in converted_entries())
    return ConformanceReport(solver, tuple(checks), tuple(solved), solvable)


def _solved(solver: Any, problem: Any, tolerance: float, z0: Any = None) -> tuple[Any, str]:
    """The result, and what is wrong with it whatever the problem: an exception, or a false claim."""
    witness = Witness(solver)
    try:
        result = solve(problem, witness, tolerance=tolerance, z0=z0)
    except Exception as error:  # noqa: BLE001  whatever a solver raises is a finding
        return None, f"raised {type(error).__name__}: {error}"
    plain = isinstance(problem, LCP)
    if plain and witness.claim is not None and witness.claim.status is Status.SOLVED and not result.solved:
        return result, f"claimed to be solved, backward error {result.residual.backward_error:.1e}"
    if (
        plain
        and witness.claim is not None
        and witness.claim.status in DENIALS
        and result.status is not witness.claim.status
    ):
        return result, f"claimed {witness.claim.status.name} without evidence that holds"
    return result, ""


def _promised(solver: Any, entry: Entry) -> bool:
    traits = getattr(solver, "traits", Traits(0))
    fits = entry.problem.n <= getattr(solver, "max_n", entry.problem.n)
    return fits and entry.matrix_class is not None and bool(entry.matrix_class & traits)


def _catalog(solver: Any, entry: Entry, tolerance: float, checks: list[Check], solved: list[str]) -> None:
    name = f"catalog: {entry.name}"
    result, wrong = _solved(solver, entry.problem, tolerance)
    if wrong:
        checks.append(Check(name, False, wrong))
        return
    if result.solved:
        solved.append(entry.name)
    if entry.outcome is not Status.SOLVED:
        checks.append(Check(name, not result.solved, f"has no solution, came back {result.status.name}"))
    elif not result.solved:
        detail = f"{result.status.name}, promised by its traits" if _promised(solver, entry) else result.status.name
        checks.append(Check(name, not _promised(solver, entry), detail))
    else:
        listed = not entry.complete or _near(result.z, entry.solutions, tolerance)
        checks.append(Check(name, listed, "" if listed else f"z = {result.z} is none of its solutions"))


def _mixed(solver: Any, entry: MixedEntry, tolerance: float, checks: list[Check], solved: list[str]) -> None:
    name = f"catalog: {entry.name} (mixed)"
    result, wrong = _solved(solver, entry.problem, tolerance)
    if wrong:
        checks.append(Check(name, False, wrong))
    elif not result.solved:
        checks.append(Check(name, True, result.status.name))
    elif entry.outcome is not Status.SOLVED:
        checks.append(Check(name, False, "has no solution, came back SOLVED"))
    else:
        solved.append(entry.name)
        whole = [np.concatenate(pair) for pair in entry.solutions]
        listed = not entry.complete or _near(np.concatenate([result.u, result.y]), whole, tolerance)
        checks.append(Check(name, listed, "" if listed else "the answer is none of its solutions"))


def _near(z: NDArray[np.float64], solutions: Any, tolerance: float) -> bool:
    bound = max(1e-9, 1e3 * tolerance)
    return any(np.allclose(z, one, rtol=bound, atol=bound * 1e-3) for one in solutions)


def _promises(solver: Any, tolerance: float, problems: int, seed: int) -> Iterator[Check]:
    traits = getattr(solver, "traits", Traits(0))
    for trait in (*CLASSES, Traits.COPOSITIVE, Traits.BIMATRIX_GAME, Traits.FINITE_BOX):
        if not trait & traits:
            continue
        missed = []
        for i, problem in enumerate(random_problems(trait, problems, seed)):
            if problem.n > getattr(solver, "max_n", problem.n):
                continue
            result, wrong = _solved(solver, problem, tolerance)
            if wrong or not result.solved:
                missed.append(f"problem {i} (n = {problem.n}): {wrong or result.status.name}")
        detail = f"{len(missed)} of {problems} not solved, {missed[0]}" if missed else f"{problems} problems"
        yield Check(f"promise: {trait.name}", not missed, detail)


def _manners(solver: Any, tolerance: float) -> Iterator[Check]:
    problem = LCP([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]], [-5.0, -6.0, 1.0])
    before = (problem.M.copy(), problem.q.copy())
    start = np.array([0.5, 0.0, 0.25])
    first, wrong = _solved(solver, problem, tolerance)
    yield Check("manners: answers with a claim", not wrong, wrong)
    if wrong:
        return
    again, _ = _solved(solver, problem, tolerance)
    same = np.array_equal(first.z, again.z)
    yield Check("manners: gives the same answer twice", same, "" if same else f"{first.z} and then {again.z}")
    given = start.copy()
    warm, wrong = _solved(solver, problem, tolerance, given)
    agree = not wrong and (not first.solved or warm.solved)
    yield Check("manners: takes a start", agree, wrong or ("" if agree else f"{warm.status.name} from a start"))
    kept = np.array_equal(given, start) and all(
        np.array_equal(a, b) for a, b in zip(before, (problem.M, problem.q), strict=True)
    )
    yield Check("manners: leaves the data alone", kept, "" if kept else "M, q or z0 was changed")

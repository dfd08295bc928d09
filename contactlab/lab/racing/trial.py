"""Trials: a solver on a problem, with warm-up, timing and verification; curves of time against residual.

Solves are timed after a warm-up, and solves with compilation are not counted. The verdict uses only the data of the
problem, never the solver's claim. For a few problems, time is also measured against the residual.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lcp
from contactlab.lab.racing.entrant import Competitor, entrant_of, limited
from contactlab.lab.racing.kinds import (
    CRASHED,
    FRICTION,
    TIMEOUT,
    Kind,
    RaceRow,
    family_of,
    kind_of,
    read_problem,
    size_of,
)
from contactlab.lab.sweeps import sweep
from lcp.compiler import count_compilations
from lcp.dispatch import RecordingSolver
from lcp.friction.residuals import measure
from lcp.friction.solvers.contact_strategies import no_admissible_motion
from lcp.method import replace_fields

#: Total solve time [s] after which a trial is not repeated.
ENOUGH = 1.0
#: Maximum number of solves discarded because of compilation.
SPOILT = 3

_warm: set[tuple[str, str, bool]] = set()

_entrant = functools.lru_cache(maxsize=64)(entrant_of)


def run_trial(task: dict[str, Any]) -> dict[str, Any]:
    """Return a trial from the entries of a task; for the processes of a sweep."""
    settings = {name: task[name] for name in ("tolerance", "time_limit", "repeats")}
    return asdict(trial(task["problem"], read_problem(task["file"]), _entrant(task["text"]), **settings))


def failed_row(name: str, problem: Any, entrant: Competitor, tolerance: float, status: str, seconds: float) -> RaceRow:
    """Return the row of a solver without a result."""
    return RaceRow(
        name, entrant.name, status, math.inf, 0, seconds, size_of(problem), entrant.settings, kind_of(problem).name,
        family_of(name), math.inf, 0.0, 0, "", entrant.origin, tolerance, "",
    )  # fmt: skip


def trial(
    name: str, problem: Any, entrant: Competitor, *, tolerance: float, time_limit: float, repeats: int
) -> RaceRow:
    """Return the row of one solver on one problem, whatever the solver does, unless the process dies.

    Default time limits of the solver are reduced to the race's. The problem is solved a second time if the first solve
    took less than half the time limit, and up to ``repeats`` times within a second; the minimum time counts.
    """
    kind = kind_of(problem)
    row = failed_row(name, problem, entrant, tolerance, "UNSUITABLE", 0.0)
    if not entrant.supports(kind):
        return replace(row, detail=f"a solver of {entrant.problem_class} problems")
    witness = RecordingSolver(limited(entrant.solver, time_limit))

    def again(runs: int, spent: float) -> bool:
        # The first solve may contain compilation that the warm-up did not cover, so a second one follows unless it was
        # long.
        return runs < repeats and (spent < min(ENOUGH, time_limit) or (runs == 1 and spent < time_limit / 2))

    try:
        warm_up(entrant.text, witness, kind, bool(getattr(problem, "sparse", False)), tolerance)
        result, least, cpu, _, runs = timed(problem, witness, tolerance, again)
    except Exception as error:  # noqa: BLE001  whatever a solver raises is its row
        return replace(row, status=CRASHED, detail=f"{type(error).__name__}: {' '.join(str(error).split())}"[:500])
    status, found = verdict(problem, result)
    return replace(
        row,
        status=TIMEOUT if least > time_limit or (status == "ITERATION_LIMIT" and least > 0.9 * time_limit) else status,
        residual=found.residual,
        iterations=int(result.iterations),
        time=min(least, time_limit),
        natural_map=found.natural_map,
        cpu=cpu,
        runs=runs,
        claim="" if witness.claim is None else witness.claim.status.name,
        detail="; ".join(dict.fromkeys(attempt.detail for attempt in result.attempts if attempt.detail))[:500],
        deciding_error=found.deciding,
    )


def warm_up(text: str, solver: Any, kind: Kind, sparse: bool, tolerance: float) -> None:
    """Solve small problems of the kind, once per solver and process, so that imports and compilation are not timed."""
    if (text, kind.name, sparse) in _warm:
        return
    _warm.add((text, kind.name, sparse))
    for problem in kind.warm_up(sparse):
        # An exception raised here will be raised again, and counted, on the problem.
        with contextlib.suppress(Exception):
            lcp.solve(problem, solver, tolerance=tolerance)


def timed(
    problem: Any, solver: Any, tolerance: float, again: Callable[[int, float], bool]
) -> tuple[Any, float, float, float, int]:
    """Solve repeatedly, as long as ``again`` returns True for the number and total seconds of the counted solves.

    Return the last result, the minimum wall and processor time, the total wall time, and the number of solves.
    """
    least, cpu, total, runs, spoilt = math.inf, math.inf, 0.0, 0, 0
    while runs == 0 or again(runs, total):
        with count_compilations() as watch:
            clock, processor = time.perf_counter(), time.process_time()
            result = lcp.solve(problem, solver, tolerance=tolerance)
            seconds, worked = time.perf_counter() - clock, time.process_time() - processor
        if watch.compiled and spoilt < SPOILT:
            spoilt += 1
            continue
        least, cpu, total, runs = min(least, seconds), min(cpu, worked), total + seconds, runs + 1
    return result, least, cpu, total, runs


class Measured(NamedTuple):
    """Residual of a solution on the data of the problem.

    The residual is the scaled one, including equations; for friction it is the larger of FCLIB's and the scaled
    residual, if FCLIB's exceeds rounding. The natural map is unscaled; for friction it is FCLIB's residual.
    ``deciding`` is within the tolerance if the problem is solved.
    """

    residual: float
    natural_map: float
    deciding: float
    solved: bool


def measured(problem: Any, result: Any) -> Measured:
    """Return the residuals of a result, and whether it is a solution at the result's tolerance."""
    if kind_of(problem).problem_class == FRICTION:
        return _measured_friction(problem, result)
    z, u = (result.y, result.u) if isinstance(problem, lcp.MLCP) else (result.z, None)
    if not (np.isfinite(z).all() and (u is None or np.isfinite(u).all())):
        return Measured(math.inf, math.inf, math.inf, False)
    residuals = lcp.residuals(problem, z, u)
    return Measured(
        residual=max(residuals.scaled, residuals.equations_scaled),
        natural_map=max(residuals.natural_map, residuals.equations),
        deciding=residuals.backward_error,
        solved=residuals.solved(result.tolerance),
    )


def _measured_friction(problem: Any, result: Any) -> Measured:
    """Return the errors of a friction result on its problem; a global problem is first reduced to contacts."""
    if isinstance(problem, lcp.GlobalFrictionProblem):
        reduction = problem.reduce()
        _, _, u, equations = reduction.motion(result.r)
        residuals, _ = measure(reduction.problem, result.r, u, equations)
        solved = reduction.consistent and residuals.solved(result.tolerance)
    else:
        residuals, _ = measure(problem, result.r)
        solved = residuals.solved(result.tolerance)
    deciding = result.tolerance * residuals.excess(result.tolerance)
    return Measured(max(residuals.error, residuals.equations), residuals.fclib, deciding, solved)


def verdict(problem: Any, result: Any) -> tuple[str, Measured]:
    """Return status and residuals: SOLVED by only the residuals, else NOT_FINITE, a proved status, or STALLED."""
    found = measured(problem, result)
    if found.solved:
        return "SOLVED", found
    if not math.isfinite(found.residual):
        return "NOT_FINITE", found
    status: lcp.Status = result.status
    if status is lcp.Status.SOLVED or not _has_required_proof(problem, result):
        status = lcp.Status.STALLED
    return status.name, found


def _has_required_proof(problem: Any, result: Any) -> bool:
    """Return True if a status needs no proof, or if its proof is valid."""
    if result.status not in (lcp.Status.INFEASIBLE, lcp.Status.UNSOLVABLE, lcp.Status.INCONSISTENT):
        return True
    if kind_of(problem).problem_class != FRICTION:
        proves = getattr(result.evidence, "proves", None)
        return proves is not None and bool(proves(problem))
    reduction = problem.reduce() if isinstance(problem, lcp.GlobalFrictionProblem) else None
    if result.status is lcp.Status.INCONSISTENT:
        return reduction is not None and not reduction.consistent
    return no_admissible_motion(problem if reduction is None else reduction.problem) is not None


#: Requested tolerances, in order, for a solver without a limit on iterations.
TOLERANCES = tuple(10.0**-k for k in range(1, 13))
#: Seconds after which a point is not timed again.
SHORT = 0.3
_BUDGETS = ("max_iterations", "max_iter")


@dataclass(frozen=True)
class CurvePoint:
    """Seconds of one solve, and its deciding error, which is compared with the race's tolerance."""

    seconds: float
    residual: float


@dataclass(frozen=True)
class ResidualCurve:
    """Points of one solver on one problem.

    Attributes
    ----------
    problem, label
        Name of the problem, and label of the solver.
    by
        "iterations": every point is a separate solve with twice the iterations of the previous one; "tolerance": with a
        tenth of its tolerance.
    points
        Points in the order of the solves; only points with a finite residual.
    """

    problem: str
    label: str
    by: str
    points: tuple[CurvePoint, ...]


def residual_curve(
    name: str, problem: Any, entrant: Competitor, *, tolerance: float, time_limit: float
) -> ResidualCurve:
    """Solve repeatedly with increasing accuracy, until ``time_limit`` seconds are spent in total.

    A solver with a field ``max_iterations`` or ``max_iter`` gets 1, 2, 4, 8 ... iterations, until it solves; any other
    solver gets the tolerances 1e-1, 1e-2 ... 1e-12. Each solve starts from scratch; the minimum time of three counts. A
    solver that polishes its result on the active set does so for every limit, so its curve falls immediately.
    """
    solver = limited(entrant.solver, time_limit)
    fields = getattr(solver, "__dataclass_fields__", ())
    field = next((name for name in _BUDGETS if name in fields), "")
    warm_up(entrant.text, solver, kind_of(problem), bool(getattr(problem, "sparse", False)), tolerance)
    points: list[CurvePoint] = []
    spent = 0.0
    asked = [tolerance] * 60 if field else [max(value, tolerance * 1e-3) for value in TOLERANCES]
    for k, wanted in enumerate(asked):
        given = replace_fields(solver, {field: 2**k}) if field else solver
        result, least, _, total, _ = timed(problem, given, wanted, lambda runs, spent: runs < 3 and spent < SHORT)
        residual = measured(problem, result).deciding
        if math.isfinite(residual):
            points.append(CurvePoint(least, residual))
        spent += total
        if spent > time_limit or (field and (result.solved or result.iterations < 2**k)):
            break
    return ResidualCurve(name, entrant.label, "iterations" if field else "tolerance", tuple(points))


def pick_problems(named: Sequence[tuple[str, Any]], rows: Sequence[RaceRow], count: int) -> list[tuple[str, Any]]:
    """Return ``count`` solved problems per league, spread over the sizes, including the largest."""
    solved = {row.problem for row in rows if row.solved}
    leagues: dict[str, list[tuple[str, Any]]] = {}
    for name, problem in named:
        if name in solved:
            leagues.setdefault(kind_of(problem).problem_class, []).append((name, problem))
    picked: list[tuple[str, Any]] = []
    for league in leagues.values():
        league.sort(key=lambda pair: (size_of(pair[1]), pair[0]))
        last = len(league) - 1
        places = sorted({round(last * (k + 1) / count) for k in range(count)})
        picked += [league[place] for place in places]
    return picked


def curves_of(
    picked: Sequence[tuple[str, Any]],
    files: dict[str, Path],
    entrants: Sequence[Competitor],
    tolerance: float | None,
    time_limit: float,
    out: Path,
    jobs: int | None,
    cluster: str | None,
    patience: float,
) -> tuple[ResidualCurve, ...]:
    """Return the curves of every suitable entrant; entrants whose process was ended have none."""
    tasks = [
        {
            "problem": name,
            "file": str(files[name]),
            "text": entrant.text,
            "tolerance": kind_of(problem).tolerance if tolerance is None else tolerance,
            "time_limit": time_limit,
            "measure": "deciding error",
        }
        for name, problem in picked
        for entrant in entrants
        if entrant.supports(kind_of(problem))
    ]
    if not tasks:
        return ()
    result = sweep(run_curve, tasks, out=out, jobs=jobs, cluster=cluster, time_limit=patience)
    return tuple(
        ResidualCurve(row["problem"], row["label"], row["by"], tuple(CurvePoint(**point) for point in row["points"]))
        for row in result.rows
        if row["outcome"] == "done"
    )


def run_curve(task: dict[str, Any]) -> dict[str, Any]:
    """Return a curve from the entries of a task; for the processes of a sweep."""
    settings = {name: task[name] for name in ("tolerance", "time_limit")}
    return asdict(residual_curve(task["problem"], read_problem(task["file"]), entrant_of(task["text"]), **settings))

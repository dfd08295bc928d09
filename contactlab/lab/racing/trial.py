"""One trial: a solver on a problem, warmed up, timed, and judged by the problem's own data; and trials done before.

Solves are timed after a warm-up, what was compiled in them left out. Nothing of the verdict is the solver's word. For a
few problems also time against residual: how long a solver takes to come how near.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterable, Sequence
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
from contactlab.lab.sweeps.tasks import finished_rows
from lcp.compiler import count_compilations
from lcp.dispatch import RecordingSolver
from lcp.friction.infeasibility import no_admissible_motion
from lcp.friction.residuals import measure
from lcp.method import replace_fields


def unused_trials_note(folder: Path, rows: Iterable[dict[str, Any]], entrants: Iterable[Competitor]) -> list[str]:
    """A line on the finished trials of the folder that are none of these rows, and so are not in this race's table."""
    here = {row["key"] for row in rows}
    known = {name for entrant in entrants for name in (entrant.label, entrant.text)}
    others = [row for key, row in finished_rows(folder).items() if key not in here]
    if not others:
        return []
    labels = dict.fromkeys(map(_label, others))
    names = [label for label in labels if label not in known]
    if len(names) < len(labels):
        names.append("other problems, limits or versions")
    whose = ", ".join(names)
    return [f"{len(others)} trials finished earlier in this folder, of {whose}: the same call as then has them again"]


def _label(row: dict[str, Any]) -> str:
    if "solver" not in row:  # ended from outside: no row of its own
        return str(row["text"])
    return f"{row['solver']}({row['settings']})" if row["settings"] else str(row["solver"])


#: Seconds of solving after which a trial is not timed once more.
ENOUGH = 1.0
#: Solves that may be spoilt by compilation before one counts all the same.
SPOILT = 3

_warm: set[tuple[str, str, bool]] = set()

_entrant = functools.lru_cache(maxsize=64)(entrant_of)


def run_trial(task: dict[str, Any]) -> dict[str, Any]:
    """Return a trial from the entries of a task; for the processes of a sweep."""
    settings = {name: task[name] for name in ("tolerance", "time_limit", "repeats")}
    return asdict(trial(task["problem"], read_problem(task["file"]), _entrant(task["text"]), **settings))


def failed_row(name: str, problem: Any, entrant: Competitor, tolerance: float, status: str, seconds: float) -> RaceRow:
    """Return the row of a solver that gave no answer."""
    return RaceRow(
        name, entrant.name, status, math.inf, 0, seconds, size_of(problem), entrant.settings, kind_of(problem).name,
        family_of(name), math.inf, 0.0, 0, "", entrant.origin, tolerance, "",
    )  # fmt: skip


def trial(
    name: str, problem: Any, entrant: Competitor, *, tolerance: float, time_limit: float, repeats: int
) -> RaceRow:
    """Return the row of one solver on one problem. Whatever the solver does, a row comes back, unless the process dies.

    Time limits of the solver's own are lowered to the race's. It is solved a second time where the first took less than
    half the time limit, and up to ``repeats`` times within a second; the least time counts.
    """
    kind = kind_of(problem)
    row = failed_row(name, problem, entrant, tolerance, "UNSUITABLE", 0.0)
    if not entrant.supports(kind):
        return replace(row, detail=f"a solver of {entrant.problem_class} problems")
    witness = RecordingSolver(limited(entrant.solver, time_limit))

    def again(runs: int, spent: float) -> bool:
        # The first solve may hold what the warm-up did not reach: a second one follows unless it was long.
        return runs < repeats and (spent < min(ENOUGH, time_limit) or (runs == 1 and spent < time_limit / 2))

    try:
        warm_up(entrant.text, witness, kind, bool(getattr(problem, "sparse", False)), tolerance)
        result, least, cpu, _, runs = timed(problem, witness, tolerance, again)
    except Exception as error:  # noqa: BLE001  whatever a solver raises is its row
        return replace(row, status=CRASHED, detail=f"{type(error).__name__}: {' '.join(str(error).split())}"[:500])
    status, found = verdict(problem, result)
    slow = least > time_limit or (status == "ITERATION_LIMIT" and least > 0.9 * time_limit)
    return replace(
        row,
        status=TIMEOUT if slow else status,
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


class Timed(NamedTuple):
    """The last result of some solves, their least times by the clock and of the processor, their sum, their number."""

    result: Any
    least: float
    cpu: float
    total: float
    runs: int


def warm_up(text: str, solver: Any, kind: Kind, sparse: bool, tolerance: float) -> None:
    """Solve small problems of the kind, once per solver and process: imports and kernels are not timed."""
    if (text, kind.name, sparse) in _warm:
        return
    _warm.add((text, kind.name, sparse))
    for problem in kind.warm_up(sparse):
        # An exception raised here will be raised on the problem again, where it counts.
        with contextlib.suppress(Exception):
            lcp.solve(problem, solver, tolerance=tolerance)


def timed(problem: Any, solver: Any, tolerance: float, again: Callable[[int, float], bool]) -> Timed:
    """Solve, and once more while ``again`` says so of the number and the seconds of the solves that count."""
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
    return Timed(result, least, cpu, total, runs)


class Measured(NamedTuple):
    """Residual of a solution on the data of the problem.

    The residual is the scaled one, that of the equations included; of friction the larger of FCLIB's and the scaled
    one, where rounding leaves the former a meaning. The natural map is unscaled; of friction FCLIB's residual.
    ``deciding`` is within the tolerance where it is solved.
    """

    residual: float
    natural_map: float
    deciding: float
    solved: bool


def measured(problem: Any, result: Any) -> Measured:
    """Measures of an answer, and whether it is solved at the result's tolerance."""
    if kind_of(problem).problem_class == FRICTION:
        return _measured_friction(problem, result)
    z, u = (result.y, result.u) if isinstance(problem, lcp.MLCP) else (result.z, None)
    if not (np.isfinite(z).all() and (u is None or np.isfinite(u).all())):
        return Measured(math.inf, math.inf, math.inf, False)
    residuals = lcp.residuals(problem, z, u)
    residual = max(residuals.scaled, residuals.equations_scaled)
    natural = max(residuals.natural_map, residuals.equations)
    return Measured(residual, natural, residuals.backward_error, residuals.solved(result.tolerance))


def _measured_friction(problem: Any, result: Any) -> Measured:
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
    """Status and measures. That there is not a solution is believed with its proof only."""
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
    """Return True if a status needs no proof, or has it."""
    if result.status not in (lcp.Status.INFEASIBLE, lcp.Status.UNSOLVABLE, lcp.Status.INCONSISTENT):
        return True
    if kind_of(problem).problem_class != FRICTION:
        proves = getattr(result.evidence, "proves", None)
        return proves is not None and bool(proves(problem))
    reduction = problem.reduce() if isinstance(problem, lcp.GlobalFrictionProblem) else None
    if result.status is lcp.Status.INCONSISTENT:
        return reduction is not None and not reduction.consistent
    return no_admissible_motion(problem if reduction is None else reduction.problem) is not None


#: Tolerances that a solver without a budget of iterations is asked for, one after the other.
TOLERANCES = tuple(10.0**-k for k in range(1, 13))
#: Seconds after which a point is not timed once more.
SHORT = 0.3
_BUDGETS = ("max_iterations", "max_iter")


@dataclass(frozen=True)
class CurvePoint:
    """Seconds of one solve, and the error it reached: the one that decides, judged at the race's tolerance."""

    seconds: float
    residual: float


@dataclass(frozen=True)
class ResidualCurve:
    """Points of one solver on one problem.

    Attributes
    ----------
    problem, label
        Names.
    by
        "iterations": every point is a solve of its own with twice the iterations of the one before; "tolerance": with
        a tenth of its tolerance.
    points
        In the order of asking; only those with a finite residual.
    """

    problem: str
    label: str
    by: str
    points: tuple[CurvePoint, ...]


def residual_curve(
    name: str, problem: Any, entrant: Competitor, *, tolerance: float, time_limit: float
) -> ResidualCurve:
    """Solve again and again, asking for more each time, until ``time_limit`` seconds are spent in all.

    A solver with a field ``max_iterations`` or ``max_iter`` is given 1, 2, 4, 8 ... iterations, until it solves; any
    other tolerances 1e-1, 1e-2 ... 1e-12. Each solve begins again; the least time of three counts. What polishes its
    answer on the active set does so at any budget: its curve falls at once.
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
    """Problems spread over the sizes of those that somebody solved, the largest among them; ``count`` per league."""
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
    """Curves of every entrant that suits; those whose process was ended have none."""
    tasks = [
        {
            "problem": name,
            "file": str(files[name]),
            "text": entrant.text,
            "tolerance": kind_of(problem).tolerance if tolerance is None else tolerance,
            "time_limit": time_limit,
            "measure": "deciding",
        }
        for name, problem in picked
        for entrant in entrants
        if entrant.supports(kind_of(problem))
    ]
    if not tasks:
        return ()
    result = sweep(run_curve, tasks, out=out, jobs=jobs, cluster=cluster, time_limit=patience)
    return tuple(
        ResidualCurve(row["problem"], row["label"], row["by"], tuple(map(CurvePoint, row["times"], row["residuals"])))
        for row in result.rows
        if row["outcome"] == "done"
    )


def run_curve(task: dict[str, Any]) -> dict[str, Any]:
    """Return a curve from the entries of a task; for the processes of a sweep."""
    settings = {name: task[name] for name in ("tolerance", "time_limit")}
    curve = residual_curve(task["problem"], read_problem(task["file"]), entrant_of(task["text"]), **settings)
    return {
        "label": curve.label,
        "by": curve.by,
        "times": [point.seconds for point in curve.points],
        "residuals": [point.residual for point in curve.points],
    }

"""Time against residual: how long a solver takes to come how near, for a few problems of a race."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contactlab.lab.racing.entrant import Entrant, entrant_of, limited
from contactlab.lab.racing.kinds import kind_of, size_of
from contactlab.lab.racing.problem_files import read_problem
from contactlab.lab.racing.row import Row
from contactlab.lab.racing.standing import spelt_as_before
from contactlab.lab.racing.trial import measured, timed, warm_up
from contactlab.lab.sweeps import sweep
from lcp.options import with_fields

#: Tolerances that a solver without a budget of iterations is asked for, one after the other.
TOLERANCES = tuple(10.0**-k for k in range(1, 13))
#: Seconds after which a point is not timed once more.
SHORT = 0.3
_BUDGETS = ("max_iterations", "max_iter")


@dataclass(frozen=True)
class CurvePoint:
    """Seconds of one solve, and the scaled residual it reached."""

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


def residual_curve(name: str, problem: Any, entrant: Entrant, *, tolerance: float, time_limit: float) -> ResidualCurve:
    """Solve again and again, asking for more each time, until ``time_limit`` seconds are spent in all.

    A solver with a field ``max_iterations`` or ``max_iter`` is given 1, 2, 4, 8 ... iterations, until it solves; any
    other tolerances 1e-1, 1e-2 ... 1e-12. Each solve begins anew; the least time of three counts. What polishes its
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
        given = with_fields(solver, {field: 2**k}) if field else solver
        result, least, _, total, _ = timed(problem, given, wanted, lambda runs, spent: runs < 3 and spent < SHORT)
        residual = measured(problem, result)[0]
        if math.isfinite(residual):
            points.append(CurvePoint(least, residual))
        spent += total
        if spent > time_limit or (field and (result.solved or result.iterations < 2**k)):
            break
    return ResidualCurve(name, entrant.label, "iterations" if field else "tolerance", tuple(points))


def pick_problems(named: Sequence[tuple[str, Any]], rows: Sequence[Row], count: int) -> list[tuple[str, Any]]:
    """Problems spread over the sizes of those that somebody solved, the largest among them; ``count`` per league."""
    solved = {row.problem for row in rows if row.solved}
    leagues: dict[str, list[tuple[str, Any]]] = {}
    for name, problem in named:
        if name in solved:
            leagues.setdefault(kind_of(problem).league, []).append((name, problem))
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
    entrants: Sequence[Entrant],
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
        }
        for name, problem in picked
        for entrant in entrants
        if entrant.suits(kind_of(problem))
    ]
    if not tasks:
        return ()
    result = sweep(
        run_curve, spelt_as_before(run_curve, tasks, out), out=out, jobs=jobs, cluster=cluster, time_limit=patience
    )
    return tuple(
        ResidualCurve(row["problem"], row["label"], row["by"], _points(row))
        for row in result.rows
        if row["outcome"] == "done"
    )


def run_curve(task: dict[str, Any]) -> dict[str, Any]:
    """A curve from the entries of a task; for the processes of a sweep."""
    settings = {name: task[name] for name in ("tolerance", "time_limit")}
    curve = residual_curve(task["problem"], read_problem(task["file"]), entrant_of(task["text"]), **settings)
    return {
        "label": curve.label,
        "by": curve.by,
        "times": [point.seconds for point in curve.points],
        "residuals": [point.residual for point in curve.points],
    }


def _points(row: dict[str, Any]) -> tuple[CurvePoint, ...]:
    return tuple(CurvePoint(*point) for point in zip(row["times"], row["residuals"], strict=True))

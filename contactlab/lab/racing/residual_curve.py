"""Time against residual: how long a solver takes to come how near."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any

import lcp
from contactlab.lab.racing.entrant import Entrant, limited, with_fields
from contactlab.lab.racing.kinds import kind_of
from contactlab.lab.racing.verdict import measured
from contactlab.lab.racing.warm_up import warm_up

__all__ = ["CurvePoint", "ResidualCurve", "residual_curve"]

#: Tolerances that a solver without a budget of iterations is asked for, one after the other.
TOLERANCES = tuple(10.0**-k for k in range(1, 13))
#: Solves that may be spoilt by compilation before one counts all the same.
SPOILT = 3
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
    field = next((name for name in _BUDGETS if name in _fields(solver)), "")
    warm_up(entrant.text, solver, kind_of(problem), bool(getattr(problem, "sparse", False)), tolerance)
    points: list[CurvePoint] = []
    spent = 0.0
    asked = [tolerance] * 60 if field else [max(value, tolerance * 1e-3) for value in TOLERANCES]
    for k, wanted in enumerate(asked):
        given = with_fields(solver, {field: 2**k}) if field else solver
        result, seconds, total = _least_of_three(problem, given, wanted)
        residual = measured(problem, result)[0]
        if math.isfinite(residual):
            points.append(CurvePoint(seconds, residual))
        spent += total
        if spent > time_limit or (field and (result.solved or result.iterations < 2**k)):
            break
    return ResidualCurve(name, entrant.label, "iterations" if field else "tolerance", tuple(points))


def _least_of_three(problem: Any, solver: Any, tolerance: float) -> tuple[Any, float, float]:
    """Result, least time and all the time of three solves, or of fewer where they are long."""
    from lcp.kernels.compile_watch import watch_compilation

    times: list[float] = []
    spoilt = 0
    while not times or (len(times) < 3 and sum(times) < SHORT):
        with watch_compilation() as watch:
            clock = time.perf_counter()
            result = lcp.solve(problem, solver, tolerance=tolerance)
            seconds = time.perf_counter() - clock
        if watch.compiled and spoilt < SPOILT:
            spoilt += 1
        else:
            times.append(seconds)
    return result, min(times), sum(times)


def _fields(solver: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(solver)) if dataclasses.is_dataclass(solver) else ()

"""One trial: a solver on a problem, warmed up, timed, and judged by the problem's own data.

Solves are timed after a warm-up, what was compiled in them left out. Nothing of the verdict is the solver's word.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

import lcp
from contactlab.lab.racing.entrant import Entrant, entrant_of, limited
from contactlab.lab.racing.kinds import FRICTION, Kind, kind_of, size_of
from contactlab.lab.racing.problem_files import read_problem
from contactlab.lab.racing.row import CRASHED, TIMEOUT, Row, family_of
from lcp.asking import Witness
from lcp.compiler import watch_compilation
from lcp.friction.infeasibility import no_admissible_motion
from lcp.friction.residuals import measure

#: Seconds of solving after which a trial is not timed once more.
ENOUGH = 1.0
#: Solves that may be spoilt by compilation before one counts all the same.
SPOILT = 3

_warm: set[tuple[str, str, bool]] = set()

_entrant = functools.lru_cache(maxsize=64)(entrant_of)


def run_trial(task: dict[str, Any]) -> dict[str, Any]:
    """A trial from the entries of a task; for the processes of a sweep."""
    settings = {name: task[name] for name in ("tolerance", "time_limit", "repeats")}
    return asdict(trial(task["problem"], read_problem(task["file"]), _entrant(task["text"]), **settings))


def unanswered(name: str, problem: Any, entrant: Entrant, tolerance: float, status: str, seconds: float) -> Row:
    """The row of a solver that gave no answer."""
    return Row(
        name, entrant.name, status, math.inf, 0, seconds, size_of(problem), entrant.settings, kind_of(problem).name,
        family_of(name), math.inf, 0.0, 0, "", entrant.origin, tolerance, "",
    )  # fmt: skip


def trial(name: str, problem: Any, entrant: Entrant, *, tolerance: float, time_limit: float, repeats: int) -> Row:
    """The row of one solver on one problem. Whatever the solver does, a row comes back, unless the process dies.

    Time limits of the solver's own are lowered to the race's. It is solved a second time where the first took less than
    half the time limit, and up to ``repeats`` times within a second; the least time counts.
    """
    kind = kind_of(problem)
    row = unanswered(name, problem, entrant, tolerance, "UNSUITABLE", 0.0)
    if not entrant.suits(kind):
        return replace(row, detail=f"a solver of {entrant.league} problems")
    witness = Witness(limited(entrant.solver, time_limit))

    def again(runs: int, spent: float) -> bool:
        # The first solve may hold what the warm-up did not reach: a second one follows unless it was long.
        return runs < repeats and (spent < min(ENOUGH, time_limit) or (runs == 1 and spent < time_limit / 2))

    try:
        warm_up(entrant.text, witness, kind, bool(getattr(problem, "sparse", False)), tolerance)
        result, least, cpu, _, runs = timed(problem, witness, tolerance, again)
    except Exception as error:  # noqa: BLE001  whatever a solver raises is its row
        return replace(row, status=CRASHED, detail=f"{type(error).__name__}: {' '.join(str(error).split())}"[:500])
    status, residual, natural = verdict(problem, result)
    slow = least > time_limit or (status == "ITERATION_LIMIT" and least > 0.9 * time_limit)
    return replace(
        row,
        status=TIMEOUT if slow else status,
        residual=residual,
        iterations=int(result.iterations),
        time=min(least, time_limit),
        natural_map=natural,
        cpu=cpu,
        runs=runs,
        claim="" if witness.claim is None else witness.claim.status.name,
        detail="; ".join(dict.fromkeys(attempt.detail for attempt in result.attempts if attempt.detail))[:500],
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
        # What it raises here it will raise on the problem, and there it counts.
        with contextlib.suppress(Exception):
            lcp.solve(problem, solver, tolerance=tolerance)


def timed(problem: Any, solver: Any, tolerance: float, again: Callable[[int, float], bool]) -> Timed:
    """Solve, and once more while ``again`` says so of the number and the seconds of the solves that count."""
    least, cpu, total, runs, spoilt = math.inf, math.inf, 0.0, 0, 0
    while runs == 0 or again(runs, total):
        with watch_compilation() as watch:
            clock, processor = time.perf_counter(), time.process_time()
            result = lcp.solve(problem, solver, tolerance=tolerance)
            seconds, worked = time.perf_counter() - clock, time.process_time() - processor
        if watch.compiled and spoilt < SPOILT:
            spoilt += 1
            continue
        least, cpu, total, runs = min(least, seconds), min(cpu, worked), total + seconds, runs + 1
    return Timed(result, least, cpu, total, runs)


def measured(problem: Any, result: Any) -> tuple[float, float, bool]:
    """Residual, natural map and whether it is solved at the result's tolerance, anew on the problem's data.

    The residual is the scaled one, that of the equations included; of friction the larger of FCLIB's and the scaled
    one, where rounding leaves the former a meaning. The natural map is unscaled; of friction FCLIB's residual.
    """
    if kind_of(problem).league == FRICTION:
        return _measured_friction(problem, result)
    z, u = (result.y, result.u) if isinstance(problem, lcp.MLCP) else (result.z, None)
    if not (np.isfinite(z).all() and (u is None or np.isfinite(u).all())):
        return math.inf, math.inf, False
    residuals = lcp.residuals(problem, z, u)
    residual = max(residuals.scaled, residuals.equations_scaled)
    return residual, max(residuals.natural_map, residuals.equations), residuals.solved(result.tolerance)


def _measured_friction(problem: Any, result: Any) -> tuple[float, float, bool]:
    if isinstance(problem, lcp.GlobalFrictionProblem):
        reduction = problem.reduce()
        _, _, u, equations = reduction.motion(result.r)
        residuals, _ = measure(reduction.problem, result.r, u, equations)
        solved = reduction.consistent and residuals.solved(result.tolerance)
    else:
        residuals, _ = measure(problem, result.r)
        solved = residuals.solved(result.tolerance)
    return max(residuals.error, residuals.equations), residuals.fclib, solved


def verdict(problem: Any, result: Any) -> tuple[str, float, float]:
    """Status, residual and natural map. That there is no solution is believed with its proof only."""
    residual, natural, solved = measured(problem, result)
    if solved:
        return "SOLVED", residual, natural
    if not math.isfinite(residual):
        return "NOT_FINITE", residual, natural
    status: lcp.Status = result.status
    if status is lcp.Status.SOLVED or not _believed(problem, result):
        status = lcp.Status.STALLED
    return status.name, residual, natural


def _believed(problem: Any, result: Any) -> bool:
    """Whether a status needs no proof, or has it."""
    if result.status not in (lcp.Status.INFEASIBLE, lcp.Status.UNSOLVABLE, lcp.Status.INCONSISTENT):
        return True
    if kind_of(problem).league != FRICTION:
        proves = getattr(result.evidence, "proves", None)
        return proves is not None and bool(proves(problem))
    reduction = problem.reduce() if isinstance(problem, lcp.GlobalFrictionProblem) else None
    if result.status is lcp.Status.INCONSISTENT:
        return reduction is not None and not reduction.consistent
    return no_admissible_motion(problem if reduction is None else reduction.problem) is not None

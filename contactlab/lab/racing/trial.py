"""One trial: a solver on a problem, warmed up, timed, and judged by the problem's own data."""

from __future__ import annotations

import functools
import math
from dataclasses import asdict, replace
from typing import Any

import lcp
from contactlab.lab.racing.entrant import Entrant, entrant_of, limited
from contactlab.lab.racing.kinds import kind_of, size_of
from contactlab.lab.racing.problem_files import read_problem
from contactlab.lab.racing.row import CRASHED, TIMEOUT, Row, family_of
from contactlab.lab.racing.timing import timed, warm_up
from contactlab.lab.racing.verdict import verdict

__all__ = ["run_trial", "trial", "unanswered"]

#: Seconds of solving after which a trial is not timed once more.
ENOUGH = 1.0

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
    witness = _Witness(limited(entrant.solver, time_limit))

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
        claim=witness.claim,
        detail="; ".join(dict.fromkeys(attempt.detail for attempt in result.attempts if attempt.detail))[:500],
    )


class _Witness:
    """The solver, with a note of what it claimed last."""

    def __init__(self, solver: Any) -> None:
        self._solver = solver
        self.traits = getattr(solver, "traits", lcp.Traits(0))
        self.claim = ""

    def solve(self, problem: Any, *, z0: Any, tolerance: float, trace: bool) -> Any:
        claim: Any = self._solver.solve(problem, z0=z0, tolerance=tolerance, trace=trace)
        self.claim = claim.status.name
        return claim

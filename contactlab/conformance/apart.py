"""An engine in a process of its own, so that one that crashes or hangs has a row with its reason."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any

from contactlab.conformance.adapters import engine_of
from contactlab.conformance.case import Case, Measure
from contactlab.conformance.cases import CASES
from contactlab.conformance.engine import Engine
from contactlab.conformance.rows import CaseResult, CaseVerdict, missing, row_of
from contactlab.lab.sweeps.tasks import name_of
from contactlab.lab.sweeps.worker import Worker


def rows_apart(name: str, cases: Sequence[Case], seconds: float) -> Iterator[CaseResult]:
    """Yield a row for each case; the process is ended, and another started, when a case has taken so long [s]."""
    worker, version = Worker(name_of(held), 0), ""
    try:
        for case in cases:
            answer = worker.run(json.dumps({"engine": name, "case": case.name}), seconds)
            if answer.outcome == "done":
                told = answer.values
                version = told["version"]
                measures = tuple(Measure(*one) for one in told["measures"])
                yield CaseResult(name, version, case.name, CaseVerdict(told["verdict"]), measures, told["detail"])
            else:
                verdict = CaseVerdict.TIMED_OUT if answer.outcome == "timeout" else CaseVerdict.CRASHED
                yield CaseResult(name, version, case.name, verdict, (), " ".join(answer.error.split()))
    finally:
        worker.close()


def held(task: dict[str, Any]) -> dict[str, Any]:
    """Hold an engine to a case: what the worker process does."""
    case = next(case for case in CASES if case.name == task["case"])
    made = _made(task["engine"])
    row = missing(task["engine"], case, made) if isinstance(made, str) else row_of(made, case)
    measures = [astuple(one) for one in row.measures]
    return {"version": row.version, "verdict": row.verdict.value, "measures": measures, "detail": row.detail}


@functools.cache
def _made(name: str) -> Engine | str:
    try:
        return engine_of(name)
    except Exception as error:  # noqa: BLE001  whatever an engine raises is a finding
        return f"{type(error).__name__}: {error}"

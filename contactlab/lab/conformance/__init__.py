"""Conformance suite: tests of any engine against closed-form solutions and known complaints of the field.

>>> from contactlab.lab.conformance import conform
>>> conform(["ours"], ["projectile"]).score("ours")
(1, 1)

Every case runs on every engine, optionally in separate processes. Verdicts are computed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contactlab.lab.conformance import friction_cases, motion_cases
from contactlab.lab.conformance.case import (
    Body,
    Case,
    CaseResult,
    CaseVerdict,
    Engine,
    EngineContacts,
    HalfSpaceSpec,
    Joint,
    Measure,
    NotReportedError,
    NotSupportedError,
    Pin,
    Run,
    Scene,
    ShapeSpec,
    run_case,
)
from contactlab.lab.conformance.engines import UnknownEngineError, check_name, engine_of
from contactlab.lab.sweeps import sweep
from contactlab.naming import module_hooks

__all__ = [
    "CASES", "Body", "Case", "CaseResult", "CaseVerdict", "Engine", "EngineContacts", "HalfSpaceSpec", "Joint",
    "Measure", "NotReportedError", "NotSupportedError", "Pin", "Report", "Run", "Scene", "ShapeSpec",
    "UnknownEngineError", "conform", "engine_of",
]  # fmt: skip


#: The cases, in the order of the report.
CASES: tuple[Case, ...] = (
    *friction_cases.CASES,
    *motion_cases.IMPACTS,
    *motion_cases.LINKAGES,
    *motion_cases.FLIGHT,
    *motion_cases.MANNERS,
)


@dataclass(frozen=True)
class Report:
    """All rows, engine by engine, in the order of the cases."""

    rows: tuple[CaseResult, ...]
    cases: tuple[Case, ...]

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines."""
        return tuple(dict.fromkeys(row.engine for row in self.rows))

    def row(self, engine: str, case: str) -> CaseResult:
        """Return the row of an engine and a case."""
        return next(row for row in self.rows if (row.engine, row.case) == (engine, case))

    def score(self, engine: str) -> tuple[int, int]:
        """Return the number of passed cases, and the number of all cases with a verdict, passed or lost.

        A crash or a timeout counts as lost. Cases that are not supported or not reported do not count.
        """
        mine = [row for row in self.rows if row.engine == engine]
        kept = sum(row.verdict is CaseVerdict.PASSED for row in mine)
        return kept, kept + sum(row.lost for row in mine)

    def as_data(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        rows = [{
            "engine": row.engine, "version": row.version, "case": row.case, "verdict": row.verdict.value,
            "reason": row.reason, "measures": [one.as_data() for one in row.measures],
        } for row in self.rows]  # fmt: skip
        return {"scores": {name: self.score(name) for name in self.engines}, "rows": rows}

    def to_html(self, path: Path) -> Path:
        """Write scores, table and reasons as one self-contained HTML file."""
        from contactlab.lab.racing.report import templates

        template = templates().get_template("lab/conformance/report.html")
        rows = {case: [self.row(name, case.name) for name in self.engines] for case in self.cases}
        # Lost cases come first, sorted by their worst figure.
        reasons = {
            case: sorted(some, key=lambda row: (not row.lost, -row.times if row.lost else 0.0))
            for case, some in rows.items()
        }
        path.write_text(template.render(report=self, rows=rows, reasons=reasons, cell=cell), encoding="utf-8")
        return path

    def __str__(self) -> str:
        """Return a table, then a line for each lost case."""
        wide, names = max(len(case.name) for case in self.cases), self.engines
        lines = [" " * wide + "".join(f"  {name:>14}" for name in names)]
        lines += [
            f"{case.name:{wide}}" + "".join(f"  {cell(self.row(name, case.name)):>14}" for name in names)
            for case in self.cases
        ]
        scores = (f"{kept} of {held}" for kept, held in map(self.score, names))
        lines.append(f"{'kept':{wide}}" + "".join(f"  {text:>14}" for text in scores))
        others = (row for row in self.rows if row.verdict is not CaseVerdict.PASSED)
        return "\n".join([*lines, *(f"{row.engine}, {row.case}: {row.verdict.value}: {row.reason}" for row in others)])


def cell(row: CaseResult) -> str:
    """Return the verdict of a case as text for the table; for a failed one "lost x" and the ratio `times`."""
    times = f"{row.times:.2g}" if row.times < 100.0 or row.times >= 1e5 else f"{float(f'{row.times:.2g}'):.0f}"
    return f"lost x {times}" if row.verdict is CaseVerdict.FAILED else row.verdict.value


def conform(
    engines: Sequence[str | Engine],
    cases: Sequence[str] = (),
    *,
    seconds: float | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Report:
    """Run cases on engines and return the report.

    Parameters
    ----------
    engines
        Names (`contactlab.lab.conformance.engines.ENGINES`), ``path.py:Name``, or engine objects. A missing or crashing
        engine has rows with the reason.
    cases
        Names, or parts of names; all cases by default.
    seconds
        Time limit of a case [s]. Named engines then run in separate processes, and a case is lost if it takes longer or
        ends the process. With None all cases run in this process, and a case that hangs blocks the suite.
    progress
        Called with (finished rows, all rows).

    Raises
    ------
    ValueError
        A name is not the name of an engine or case.
    """
    chosen = tuple(case for case in CASES if not cases or any(word in case.name for word in cases))
    if not chosen:
        raise ValueError(f"there is no case named {', '.join(cases)}")
    for one in engines:
        if isinstance(one, str):
            check_name(one)
    _engine.cache_clear()
    rows: list[CaseResult] = []

    def told(done: int, of: int) -> None:
        if progress is not None:
            progress(len(rows) + done, len(chosen) * len(engines))

    for one in engines:
        rows += _rows_of(one, chosen, seconds, told) if isinstance(one, str) else [run_case(one, x) for x in chosen]
        told(0, 0)
    return Report(tuple(rows), chosen)


@functools.cache
def _engine(name: str) -> Engine | str:
    """Return the engine of a name, or the reason why it is not available."""
    try:
        return engine_of(name)
    except Exception as error:  # noqa: BLE001  whatever an engine raises is a finding
        return f"{type(error).__name__}: {error}"


def _rows_of(
    name: str, cases: Sequence[Case], seconds: float | None, progress: Callable[[int, int], None]
) -> Iterator[CaseResult]:
    """Yield a row for each case; with a time limit [s] they run in a process, which is then ended and replaced."""
    tasks = [{"engine": name, "case": case.name} for case in cases]
    rows = sweep(run_case_by_name, tasks, jobs=1, time_limit=seconds, retries=0, progress=progress).rows
    version = next((row["version"] for row in rows if row["outcome"] == "done"), "")
    for row in rows:
        verdict = CaseVerdict.TIMED_OUT if row["outcome"] == "timeout" else CaseVerdict.CRASHED
        if row["outcome"] == "done":
            verdict = CaseVerdict(row["verdict"])
        detail = row["detail"] if row["outcome"] == "done" else " ".join(row["error"].split())
        yield CaseResult(
            name, version, row["case"], verdict, tuple(Measure(*x) for x in row.get("measures", ())), detail
        )


def run_case_by_name(task: dict[str, Any]) -> dict[str, Any]:
    """Run a task of a sweep, a case on an engine; return version, verdict, measures as tuples, and detail."""
    made = _engine(task["engine"])
    if isinstance(made, str):
        return {"version": "", "verdict": CaseVerdict.MISSING.value, "detail": made}
    row = run_case(made, next(case for case in CASES if case.name == task["case"]))
    measures = [astuple(one) for one in row.measures]
    return {"version": row.version, "verdict": row.verdict.value, "measures": measures, "detail": row.detail}


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)

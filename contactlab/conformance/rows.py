"""A row: one case on one engine, and what became of it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from contactlab.conformance.case import Case, Measure, NotToldError
from contactlab.conformance.engine import Engine, NotOfferedError


class CaseVerdict(enum.Enum):
    """What became of a case."""

    KEPT = "kept"
    LOST = "lost"
    NOT_TOLD = "not told"
    NOT_OFFERED = "not offered"
    CRASHED = "crashed"
    TIMED_OUT = "out of time"
    MISSING = "missing"


@dataclass(frozen=True)
class CaseResult:
    """One case on one engine."""

    engine: str
    version: str
    case: str
    verdict: CaseVerdict
    measures: tuple[Measure, ...] = ()
    detail: str = ""

    @property
    def times(self) -> float:
        """The worst figure over its limit."""
        return max((one.times for one in self.measures), default=0.0)

    @property
    def reason(self) -> str:
        """For a loss the figures that missed their limits; else what there is to say."""
        if self.verdict is CaseVerdict.KEPT:
            return "; ".join(map(str, self.measures))
        return self.detail or "; ".join(str(one) for one in self.measures if not one.passed)


def row_of(engine: Engine, case: Case) -> CaseResult:
    """Hold an engine to a case."""

    def row(verdict: CaseVerdict, measures: Sequence[Measure] = (), detail: str = "") -> CaseResult:
        return CaseResult(engine.name, engine.version, case.name, verdict, tuple(measures), detail)

    try:
        measures = case.measure(engine)
    except NotToldError as error:
        return row(CaseVerdict.NOT_TOLD, (), str(error))
    except NotOfferedError as error:
        return row(CaseVerdict.NOT_OFFERED, (), str(error))
    except Exception as error:  # noqa: BLE001  whatever an engine raises is a finding
        return row(CaseVerdict.CRASHED, (), f"{type(error).__name__}: {error}")
    return row(CaseVerdict.KEPT if all(one.passed for one in measures) else CaseVerdict.LOST, measures)


def missing(name: str, case: Case, detail: str) -> CaseResult:
    """The row of an engine that could not be made."""
    return CaseResult(name, "", case.name, CaseVerdict.MISSING, (), detail)

"""Summary of a race, a line per solver: what it solved, how it failed, how long it took; and as text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.racing.kinds import KINDS
from contactlab.lab.racing.row import PROVED, Row
from contactlab.lab.racing.statistics import shifted_geometric_mean

#: Shift of the geometric mean [s]: differences far below a millisecond do not count.
SHIFT = 1e-3
#: Times within this factor of the least count as the least: repeated runs differ by that much.
NEAR = 1.1


@dataclass(frozen=True, eq=False, repr=False)
class Field:
    """Those who met the same problems, and what came of it.

    Attributes
    ----------
    league
        Of the problems.
    problems, labels
        Names; of solvers with their settings.
    rows
        One per problem and solver that met.
    """

    league: str
    problems: tuple[str, ...]
    labels: tuple[str, ...]
    rows: dict[tuple[str, str], Row]

    def __repr__(self) -> str:
        return f"Field({self.league}: {len(self.problems)} problems; {', '.join(self.labels)})"

    @property
    def tolerance(self) -> float:
        """Bound on the residual under which they solved."""
        return next(iter(self.rows.values())).tolerance

    @property
    def decided(self) -> tuple[str, ...]:
        """Problems that somebody solved: what times and profiles are taken over."""
        solved = {row.problem for row in self.rows.values() if row.solved}
        return tuple(name for name in self.problems if name in solved)

    def times(self, of: str = "time") -> NDArray[np.float64]:
        """Seconds (decided problems, solvers), by the clock or, with "cpu", of the processor; inf where not solved."""
        times = [[self._time(name, label, of) for label in self.labels] for name in self.decided]
        return np.array(times, dtype=np.float64).reshape((-1, len(self.labels)))

    def _time(self, problem: str, label: str, of: str) -> float:
        row = self.rows.get((problem, label))
        return float(getattr(row, of)) if row is not None and row.solved else math.inf


@dataclass(frozen=True)
class SolverSummary:
    """One solver over a field.

    Attributes
    ----------
    label, origin
        Solver with settings; "contactlab", "peer" or "own".
    met
        Problems it was put to.
    solved, proved, wrong
        How many it solved; showed to have no solution; claimed solved that it had not.
    failures
        Every other status, most frequent first.
    mean
        Shifted geometric mean [s] over the problems that somebody solved, failures at the time limit; NaN for none.
    cpu_mean
        The same of processor times.
    median
        Median [s] over what it solved; NaN for none.
    best
        Problems on which its time was the least, or within 10 % of it.
    """

    label: str
    origin: str
    met: int
    solved: int
    proved: int
    wrong: int
    failures: tuple[tuple[str, int], ...]
    mean: float
    cpu_mean: float
    median: float
    best: int


def fields_of(rows: Iterable[Row]) -> list[Field]:
    """Rows by league, in the order of their coming."""
    leagues = {kind.name: kind.league for kind in KINDS}
    sorted_rows: dict[str, list[Row]] = {}
    for row in rows:
        sorted_rows.setdefault(leagues.get(row.kind, row.kind), []).append(row)
    return [
        Field(
            league,
            tuple(dict.fromkeys(row.problem for row in some)),
            tuple(dict.fromkeys(row.label for row in some)),
            {(row.problem, row.label): row for row in some},
        )
        for league, some in sorted_rows.items()
    ]


def summaries(field: Field, time_limit: float) -> list[SolverSummary]:
    """One line per solver, who solved most first, then by the mean."""
    times = field.times()
    least = times.min(axis=1, initial=math.inf, keepdims=True)
    best = ((times <= NEAR * least) & np.isfinite(times)).sum(axis=0)
    worked = field.times("cpu")
    lines = [
        _summary(field, label, times[:, j], worked[:, j], int(best[j]), time_limit)
        for j, label in enumerate(field.labels)
    ]
    return sorted(lines, key=lambda one: (-one.solved, -one.proved, one.mean if math.isfinite(one.mean) else math.inf))


def _summary(
    field: Field, label: str, times: NDArray[np.float64], cpu: NDArray[np.float64], best: int, time_limit: float
) -> SolverSummary:
    rows: Sequence[Row] = [row for (_, name), row in field.rows.items() if name == label]
    failures = Counter(row.status for row in rows if not row.solved and row.status not in PROVED)
    solved = [row.time for row in rows if row.solved]
    return SolverSummary(
        label=label,
        origin=rows[0].origin,
        met=len(rows),
        solved=len(solved),
        proved=sum(row.status in PROVED for row in rows),
        wrong=sum(row.wrong for row in rows),
        failures=tuple(failures.most_common()),
        mean=shifted_geometric_mean(times, shift=SHIFT, failed_at=time_limit),
        cpu_mean=shifted_geometric_mean(cpu, shift=SHIFT, failed_at=time_limit),
        median=float(np.median(solved)) if solved else math.nan,
        best=best,
    )


def seconds_text(seconds: float) -> str:
    """Seconds in a unit that reads well; "-" for none."""
    if not math.isfinite(seconds):
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.2g} us"


def failures_text(one: SolverSummary) -> str:
    """Statuses other than solved, with counts."""
    return ", ".join(f"{count} {status.lower().replace('_', ' ')}" for status, count in one.failures) or "-"


def summary_table(field: Field, lines: Sequence[SolverSummary], time_limit: float) -> str:
    """One line per solver, with a heading."""
    width = max([len("solver"), *(len(one.label) for one in lines)])
    decided = len(field.decided)
    text = [
        f"{field.league}: {len(field.problems)} problems, {decided} of them solved by somebody; mean: shifted "
        f"geometric (shift {seconds_text(SHIFT)}) over those, failures at {seconds_text(time_limit)}",
        f"{'solver':{width}}  {'solved':>7}  {'proved':>6}  {'wrong':>5}  {'mean':>9}  {'cpu mean':>9}  "
        f"{'median':>9}  {'best on':>7}  "
        "failures",
    ]
    text += [
        f"{one.label:{width}}  {one.solved:3d}/{one.met:<3d}  {one.proved:6d}  {one.wrong:5d}  "
        f"{seconds_text(one.mean):>9}  {seconds_text(one.cpu_mean):>9}  "
        f"{seconds_text(one.median):>9}  {one.best:7d}  {failures_text(one)}"
        for one in lines
    ]
    return "\n".join(text)

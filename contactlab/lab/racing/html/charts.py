"""The three charts of a field: profile, time against residual, growth with size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from contactlab.lab.racing.html.chart import Axis, Series, chart
from contactlab.lab.racing.race_report import RaceReport
from contactlab.lab.racing.residual_curve import ResidualCurve
from contactlab.lab.racing.summary import Field

__all__ = ["curve_charts", "growth_chart", "profile_chart"]

#: Ratios beyond this are off the chart: the curves have long come to rest.
_FARTHEST = 1e4


def profile_chart(report: RaceReport, field: Field, order: Sequence[str]) -> str:
    """Share of problems solved within a ratio to the fastest."""
    profile = report.profile(field)
    end = min(_FARTHEST, max(2.0, 10.0 ** math.ceil(math.log10(max(profile.largest, 1.01)))))
    series = []
    for number, label in enumerate(order):
        tau, share = profile.steps(field.labels.index(label))
        kept = tau <= end
        first = float(share[0]) if tau.size and tau[0] == 1.0 else 0.0
        series.append(Series(label, [1.0, *tau[kept]], [first, *share[kept]], "steps", number))
    x = Axis("time / least time of any solver on the problem", 1.0, end)
    return chart(series, x, Axis("share of problems", 0.0, 1.0, log=False), name="performance profiles")


def growth_chart(report: RaceReport, field: Field, order: Sequence[str]) -> str:
    """Time of every solved trial against n, and the fitted power over the sizes it rests on."""
    rows = [row for row in field.rows.values() if row.solved and row.n > 0 and row.time > 0.0]
    if not rows:
        return ""
    fits = {label: fit for label, _, fit in report.growth(field)}
    series = []
    for number, label in enumerate(order):
        mine = [row for row in rows if row.label == label]
        if mine:
            series.append(Series(label, [r.n for r in mine], [r.time for r in mine], "points", number))
        if (fit := fits.get(label)) is not None:
            ends = [float(fit.least_n), float(fit.largest_n)]
            series.append(Series(label, ends, [fit.at(n) for n in ends], "line", number, legend=False))
    x = Axis("n", *_around([row.n for row in rows]))
    return chart(series, x, Axis("time [s]", *_around([row.time for row in rows])), name="growth with n")


def curve_charts(report: RaceReport, field: Field, order: Sequence[str]) -> list[tuple[str, str]]:
    """(heading, chart) per problem: what residual was reached after how long."""
    drawn = []
    for problem in dict.fromkeys(curve.problem for curve in report.curves if curve.problem in field.problems):
        curves = {curve.label: curve for curve in report.curves if curve.problem == problem and curve.points}
        if curves:
            n = next(row.n for row in field.rows.values() if row.problem == problem)
            drawn.append((f"{escape(problem)}, n = {n}", _curves(field.tolerance, curves, order)))
    return drawn


def _curves(tolerance: float, curves: dict[str, ResidualCurve], order: Sequence[str]) -> str:
    points = [point for curve in curves.values() for point in curve.points]
    floor = 1e-17
    series = [
        Series(
            label,
            [point.seconds for point in curves[label].points],
            [max(point.residual, floor) for point in curves[label].points],
            "line",
            number,
        )
        for number, label in enumerate(order)
        if label in curves
    ]
    x = Axis("time [s]", *_around([point.seconds for point in points]))
    low, high = _around([min(max(point.residual, floor), 1e3) for point in points] + [tolerance])
    bound = Series("tolerance", [x.low, x.high], [tolerance] * 2, "line", 6, legend=False)
    return chart([bound, *series], x, Axis("scaled residual", low, high), name="time against residual")


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Powers of ten around positive values."""
    kept = [value for value in values if value > 0.0 and math.isfinite(value)] or [1.0]
    low, high = 10.0 ** math.floor(math.log10(min(kept))), 10.0 ** math.ceil(math.log10(max(kept)))
    return low, high if high > low else 10.0 * low

"""The report of a race as one HTML file, from the template ``report.html``, and its charts.

The page needs no other file and no network, and every name is escaped. Its template fills the tables and the sentences
on what the race does not show.
"""

from __future__ import annotations

import datetime
import functools
import io
import math
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import contactlab
from contactlab.lab.racing.race_report import RaceReport
from contactlab.lab.racing.row import PROVED
from contactlab.lab.racing.statistics import NEAR, SHIFT, RaceGroup, failures_text, seconds_text, summaries
from contactlab.lab.racing.trial import ResidualCurve

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def page(report: RaceReport) -> str:
    """Return the whole file."""
    groups, missing = [], ""
    for field in report.fields:
        lines = summaries(field, report.time_limit)
        order = [one.label for one in lines]
        times = field.times()
        near = times <= NEAR * times.min(axis=1, initial=math.inf, keepdims=True)
        group = {"field": field, "lines": lines, "order": order, "rows": list(field.rows.values())}
        group["ties"] = int((near.sum(axis=1) > 1).sum())
        try:
            group |= _charts(report, field, order)
        except ModuleNotFoundError as error:
            missing = str(error.name)
        groups.append(group)
    return (
        environment()
        .get_template("lab/racing/report.html")
        .render(
            report=report,
            groups=groups,
            missing=missing,
            waiting=_waiting(report),
            when=datetime.datetime.fromtimestamp(report.began, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            problems=len({(row.kind, row.problem) for row in report.rows}),
            proved=PROVED,
            shift=SHIFT,
            near=NEAR,
        )
    )


@functools.cache
def environment() -> Environment:
    """Return the environment of the templates in this package: every value is escaped, and a missing one raises."""
    import jinja2

    loader = jinja2.FileSystemLoader(Path(contactlab.__file__).parent)
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"seconds": seconds_text, "failures": failures_text}
    made.tests["finite"] = math.isfinite
    return made


def _waiting(report: RaceReport) -> float:
    """Return the median of wall time over CPU time of solves longer than a time slice; 0 if there are none."""
    ratios = sorted(row.time / row.cpu for row in report.rows if row.cpu > 1e-3 and row.runs)
    return ratios[len(ratios) // 2] if ratios else 0.0


def _charts(report: RaceReport, field: RaceGroup, order: Sequence[str]) -> dict[str, Any]:
    """Return the charts of a field by their names in the template."""
    return {
        "profile": profile_chart(report, field, order),
        "curves": curve_charts(report, field, order),
        "growth": growth_chart(report, field, order),
    }


#: Ten colours told apart on white; each comes back with another dash.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
    "#56B4E9", "#222222", "#8C564B", "#7F3FBF", "#7A9A01",
)  # fmt: skip
DASHES = ("-", "--", ":")
LONGEST = 32  # letters of a label in the legend
#: Ratios beyond this are off the chart: the curves have long come to rest.
_FARTHEST = 1e4
_FLOOR = 1e-17
# Groups are numbered again in every picture, and no two elements of a page may have one id.
_GROUP = re.compile(r'<g id="(?:series (\d+)|[^"]*)">')


def profile_chart(report: RaceReport, field: RaceGroup, order: Sequence[str]) -> str:
    """Share of problems solved within a ratio to the fastest."""
    profile = report.profile(field)
    end = min(_FARTHEST, max(2.0, 10.0 ** math.ceil(math.log10(max(profile.largest, 1.01)))))
    figure, axes = _axes("time / least time of any solver on the problem", "share of problems", len(order))
    for number, label in enumerate(order):
        tau, share = profile.steps(field.labels.index(label))
        kept = tau <= end
        first = float(share[0]) if tau.size and tau[0] == 1.0 else 0.0
        heights = [first, *share[kept]]
        axes.step([1.0, *tau[kept], end], [*heights, heights[-1]], where="post", **_look(number, label))
    axes.set(yscale="linear", xlim=(1.0, end), ylim=(-0.02, 1.02))
    return _svg(figure, order, "performance profiles")


def growth_chart(report: RaceReport, field: RaceGroup, order: Sequence[str]) -> str:
    """Time of every solved trial against n, and the fitted power over the sizes it rests on."""
    rows = [row for row in field.rows.values() if row.solved and row.n > 0 and row.time > 0.0]
    if not rows:
        return ""
    fits = {label: fit for label, _, fit in report.growth(field)}
    figure, axes = _axes("n", "time [s]", len(order))
    for number, label in enumerate(order):
        mine = [row for row in rows if row.label == label]
        look = _look(number, label)
        if mine:
            points = {**look, "linestyle": "none", "marker": "o", "markersize": 4, "alpha": 0.65}
            axes.plot([row.n for row in mine], [row.time for row in mine], **points)
        if (fit := fits.get(label)) is not None:
            ends = [float(fit.least_n), float(fit.largest_n)]
            axes.plot(ends, [fit.at(n) for n in ends], **{**look, "label": "_"})
    return _svg(figure, order, "growth with n")


def curve_charts(report: RaceReport, field: RaceGroup, order: Sequence[str]) -> list[tuple[str, int, str]]:
    """Return (problem, n, chart) for each problem: the residual that was reached after so many seconds."""
    drawn = []
    for problem in dict.fromkeys(curve.problem for curve in report.curves if curve.problem in field.problems):
        curves = {curve.label: curve for curve in report.curves if curve.problem == problem and curve.points}
        if curves:
            n = next(row.n for row in field.rows.values() if row.problem == problem)
            drawn.append((problem, n, _curves(field.tolerance, curves, order)))
    return drawn


def _curves(tolerance: float, curves: dict[str, ResidualCurve], order: Sequence[str]) -> str:
    figure, axes = _axes("time [s]", "error that decides", len(curves))
    axes.axhline(tolerance, color="#222222", linewidth=1.0)
    for number, label in enumerate(order):
        if label in curves:
            points = curves[label].points
            residuals = [min(max(point.residual, _FLOOR), 1e3) for point in points]
            axes.plot([point.seconds for point in points], residuals, marker="o", markersize=3, **_look(number, label))
    return _svg(figure, order, "time against residual")


def _look(number: int, label: str) -> dict[str, Any]:
    """How the number-th solver is drawn; its group in the picture has the number for its name."""
    short = label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number // len(COLOURS) % len(DASHES)],
        "linewidth": 1.7,
        "label": short.replace("$", r"\$"),  # between two of them stood a formula
        "gid": f"series {number}",
    }


def _axes(x: str, y: str, solvers: int) -> tuple[Figure, Axes]:
    """Logarithmic axes with room for a legend of so many lines beside them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.8, max(4.3, 0.6 + 0.2 * solvers)), layout="constrained")
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axes.grid(color="#e4e4e4")
    return figure, axes


def _svg(figure: Figure, order: Sequence[str], name: str) -> str:
    """Return the chart as an element of the page, each solver's lines with its name to show; ``name`` is told aloud."""
    from markupsafe import Markup
    from matplotlib import rc_context

    figure.axes[0].legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    file = io.StringIO()
    # Letters stay letters; names of markers and clips depend on what they name alone.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "race"}):
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = file.getvalue()
    # Within a page an SVG needs no addresses of name spaces.
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text[text.index("<svg") :])

    def group(match: re.Match[str]) -> str:
        return f'<g class="series"><title>{escape(order[int(match[1])])}</title>' if match[1] else "<g>"

    return Markup(
        _GROUP.sub(group, text).replace("<svg", f'<svg role="img" aria-label="{escape(name, quote=True)}"', 1)
    )

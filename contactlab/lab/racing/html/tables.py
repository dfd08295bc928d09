"""The tables and charts of the report: who solved what, family by family, every row; profile, time, growth."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from contactlab.lab.racing.race_report import RaceReport
from contactlab.lab.racing.row import RaceRow
from contactlab.lab.racing.statistics import RaceGroup, SolverSummary, failures_text, seconds_text
from contactlab.lab.racing.trial import ResidualCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _table(head: Sequence[str], lines: Iterable[Iterable[str]], kind: str = "") -> str:
    heading = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "".join("<tr>" + "".join(line) + "</tr>" for line in lines)
    table = f'<table class="{kind}"><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="wide">{table}</div>'


def _table_of(lines: Sequence[dict[str, str]], kind: str) -> str:
    """Return a table of cells by their heads."""
    return _table(list(lines[0]) if lines else [], (line.values() for line in lines), kind)


def _text(value: object) -> str:
    return f"<td>{escape(str(value))}</td>"


def _number(value: object, *, good: bool = False, bad: bool = False) -> str:
    kind = "number good" if good else "number bad" if bad else "number"
    return f'<td class="{kind}">{escape(str(value))}</td>'


def summary_table(lines: Sequence[SolverSummary]) -> str:
    """One line per solver."""
    most, best = (max((getattr(one, name) for one in lines), default=0) for name in ("solved", "best"))
    means = [one.mean for one in lines if math.isfinite(one.mean)]
    cells = [
        {
            "solver": _text(one.label),
            "from": _text(one.origin),
            "solved": _number(f"{one.solved} / {one.met}", good=one.solved == most and most > 0),
            "no solution": _number(one.proved),
            "wrong claims": _number(one.wrong, bad=one.wrong > 0),
            "mean": _number(seconds_text(one.mean), good=bool(means) and one.mean == min(means)),
            "cpu mean": _number(seconds_text(one.cpu_mean)),
            "median": _number(seconds_text(one.median)),
            "best on": _number(one.best, good=one.best == best and best > 0),
            "failures": _text(failures_text(one)),
        }
        for one in lines
    ]
    return _table_of(cells, "summary")


def family_table(field: RaceGroup, order: Sequence[str]) -> str:
    """Solved of met: a line per family, a column per solver."""
    families = list(dict.fromkeys(row.family for row in field.rows.values()))

    def cell(family: str, label: str) -> str:
        rows = [row for row in field.rows.values() if row.label == label and row.family == family]
        solved = sum(row.solved for row in rows)
        return _number(f"{solved}/{len(rows)}", good=0 < len(rows) == solved, bad=bool(rows) and solved == 0)

    lines = ((_text(family), *(cell(family, label) for label in order)) for family in families)
    return _table(("family", *order), lines, "many upright")


def growth_table(report: RaceReport, field: RaceGroup) -> str:
    """Fitted exponents, family by family, each with its range."""
    fits = [(label, family, fit) for label, family, fit in report.growth(field, families=True)]
    if not fits:
        return "<p>No family has three sizes that differ by a factor of four: there is nothing to fit.</p>"
    families = list(dict.fromkeys(family for _, family, _ in fits))
    lines = []
    for label in dict.fromkeys(label for label, _, _ in fits):
        mine = {family: fit for name, family, fit in fits if name == label}
        cells = []
        for family in families:
            fit = mine.get(family)
            error = "" if fit is None or not math.isfinite(fit.standard_error) else f" ± {fit.standard_error:.1f}"
            cells.append(_number("" if fit is None else f"{fit.exponent:.2f}{error}"))
        lines.append((_text(label), *cells))
    ranges = {family: (fit.least_n, fit.largest_n, fit.points) for _, family, fit in fits}
    widest = "; ".join(f"{escape(f)}: n = {low} to {high}, {k} problems" for f, (low, high, k) in ranges.items())
    return _table(("solver", *families), lines, "many") + f'<p class="small">Widest fits: {widest}.</p>'


def rows_table(rows: Sequence[RaceRow]) -> str:
    """Every row, with the attributes by which the page filters."""
    cells = [
        {
            "problem": _text(row.problem),
            "solver": _text(row.label),
            "status": f'<td class="{"good" if row.solved else "bad"}">{escape(row.status)}</td>',
            "deciding error": _number(f"{row.deciding_error:.1e}" if math.isfinite(row.deciding_error) else "-"),
            "scaled residual": _number(f"{row.residual:.1e}"),
            "iterations": _number(row.iterations),
            "time": _number(seconds_text(row.time) if row.runs else "-"),
            "cpu": _number(seconds_text(row.cpu) if row.runs else "-"),
            "n": _number(row.n),
            "kind": _text(row.kind),
            "runs": _number(row.runs),
            "claim": f'<td class="bad">{escape(row.claim)}</td>' if row.wrong else _text(row.claim),
            "detail": f'<td class="detail">{escape(row.detail)}</td>',
        }
        for row in rows
    ]
    return _table_of(cells, "rows")


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """Return the description of a race: problems, machine and settings."""
    return _table(("what", "value"), ((_text(name), _text(value)) for name, value in facts), "facts")


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


def curve_charts(report: RaceReport, field: RaceGroup, order: Sequence[str]) -> list[tuple[str, str]]:
    """(heading, chart) per problem: what residual was reached after how long."""
    drawn = []
    for problem in dict.fromkeys(curve.problem for curve in report.curves if curve.problem in field.problems):
        curves = {curve.label: curve for curve in report.curves if curve.problem == problem and curve.points}
        if curves:
            n = next(row.n for row in field.rows.values() if row.problem == problem)
            drawn.append((f"{escape(problem)}, n = {n}", _curves(field.tolerance, curves, order)))
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

    return _GROUP.sub(group, text).replace("<svg", f'<svg role="img" aria-label="{escape(name, quote=True)}"', 1)

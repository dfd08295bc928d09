"""Results of a race: its rows, its machine (without names of hosts or users), and its page.

The page is one HTML file from the template ``report.html``. It needs no other file and no network, and all names are
escaped. The template has the tables and the text on the limits of the race; this module draws the charts.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import hashlib
import importlib.metadata
import io
import json
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import contactlab
import lcp
import problem_data
from contactlab.lab.racing.kinds import PROVED, RaceRow
from contactlab.lab.racing.statistics import (
    NEAR,
    SHIFT,
    Growth,
    PerformanceProfile,
    RaceGroup,
    SolverSummary,
    failures_text,
    fields_of,
    fit_growth,
    performance_profile,
    seconds_text,
    summaries,
    summary_table,
)
from contactlab.lab.racing.trial import ResidualCurve
from contactlab.lab.sweeps.tasks import write_csv
from contactlab.simulation.recording import environment
from problem_data.files import write_atomic

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_PACKAGES = ("osqp", "cvxpy", "clarabel", "piqp", "proxsuite")
_DISTRIBUTION = {"pydrake": "drake", "pinocchio": "pin"}


def this_machine(peers: Iterable[str] = ()) -> dict[str, str]:
    """Return the stamp of records, the digest of the sources, and versions of solver packages and of these peers."""
    machine = environment() | {"sources": sources_digest()}
    for package in dict.fromkeys((*_PACKAGES, *peers)):
        distribution = _DISTRIBUTION.get(package, package)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            machine[distribution] = importlib.metadata.version(distribution)
    return machine


@functools.cache
def sources_digest() -> str:
    """Return the SHA-256 of the Python sources of `contactlab`, `lcp` and `problem_data`, names and contents."""
    digest = hashlib.sha256()
    for package in (contactlab, lcp, problem_data):
        (folder,) = package.__path__
        for file in sorted(Path(folder).rglob("*.py")):
            content = file.read_bytes()
            digest.update(f"{package.__name__}/{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def load_average() -> float | None:
    """Return the mean number of processes waiting for a core over the last minute, or None if unknown."""
    with contextlib.suppress(AttributeError, OSError):
        return os.getloadavg()[0]
    return None


@dataclass(frozen=True, eq=False, repr=False)
class RaceReport:
    """Rows of a race, with the statistics derived from them.

    Attributes
    ----------
    rows
        One `RaceRow` per problem and solver, failures included.
    curves
        Curves of time against residual, on a few problems.
    time_limit, repeats, jobs, cluster
        Settings of the race; ``jobs`` is the number of processes, or the cluster.
    skipped
        A line each on peers that are not installed, files that could not be used, and trials in the folder that do not
        belong to this race.
    machine
        The machine on which the race ran, and versions, as text by name (`this_machine`).
    began, seconds
        Start (seconds since 1970) and duration.
    computed
        Number of trials run by this call; the others were in the folder.
    load
        Load average before and after; None if unknown.
    digests
        (name, digest) of each problem: the first 32 digits of the SHA-256 of its kind and arrays.
    """

    rows: tuple[RaceRow, ...]
    curves: tuple[ResidualCurve, ...]
    time_limit: float
    repeats: int
    jobs: int
    cluster: bool
    skipped: tuple[str, ...]
    machine: dict[str, str]
    began: float
    seconds: float
    computed: int
    load: tuple[float | None, float | None]
    digests: tuple[tuple[str, str], ...] = ()

    @property
    def fields(self) -> list[RaceGroup]:
        """Solvers grouped by their problems: LCP, MLCP and BoxLCP form one group, exact friction cones another."""
        return fields_of(self.rows)

    def summary(self) -> list[SolverSummary]:
        """One line per solver and field."""
        return [one for field in self.fields for one in summaries(field, self.time_limit)]

    def profile(self, field: RaceGroup) -> PerformanceProfile:
        """Return the performance profile over the solved problems of a field, with columns as ``field.labels``."""
        return performance_profile(field.times())

    def growth(self, field: RaceGroup, *, families: bool = False) -> list[tuple[str, str, Growth]]:
        """Return (solver, family, fit) of time against n over solved problems; family "" for all together."""
        fits = []
        for label in field.labels:
            rows = [row for (_, name), row in field.rows.items() if name == label and row.solved]
            for family in sorted({row.family for row in rows}) if families else [""]:
                some = [row for row in rows if family in ("", row.family)]
                fit = fit_growth([row.n for row in some], [row.time for row in some])
                if fit is not None:
                    fits.append((label, family, fit))
        return fits

    def __str__(self) -> str:
        """Return the summary as a table of text."""
        return "\n\n".join(
            summary_table(field, summaries(field, self.time_limit), self.time_limit) for field in self.fields
        )

    def __repr__(self) -> str:
        solved = sum(row.solved for row in self.rows)
        return f"RaceReport({len(self.rows)} trials, {solved} solved, {len(self.summary())} solvers)"

    def to_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML file."""
        write_atomic(Path(path), page(self).encode())
        return Path(path)

    def to_csv(self, path: str | Path) -> Path:
        """Write the rows."""
        return write_csv(path, [asdict(row) for row in self.rows], [field.name for field in fields(RaceRow)])

    def write(self, folder: str | Path) -> Path:
        """Write ``rows.csv``, ``race.json`` with the curves, and ``report.html``; return the last."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.to_csv(folder / "rows.csv")
        facts = {
            name: getattr(self, name)
            for name in ("time_limit", "repeats", "jobs", "cluster", "skipped", "began", "seconds", "load")
        }
        facts |= {
            "machine": self.machine,
            "problems": dict(self.digests),
            "curves": [asdict(one) for one in self.curves],
        }
        write_atomic(folder / "race.json", f"{json.dumps(facts, indent=1)}\n".encode())
        return self.to_html(folder / "report.html")


def page(report: RaceReport) -> str:
    """Return the HTML text of the report."""
    groups, missing = [], ""
    # Wall time by CPU time of solves longer than a time slice.
    waits = [row.time / row.cpu for row in report.rows if row.cpu > 1e-3 and row.runs]
    for field in report.fields:
        lines = summaries(field, report.time_limit)
        order = [one.label for one in lines]
        times = field.times()
        near = times <= NEAR * times.min(axis=1, initial=math.inf, keepdims=True)
        group = {"field": field, "lines": lines, "order": order, "rows": list(field.rows.values())}
        group["ties"] = int((near.sum(axis=1) > 1).sum())
        try:
            for name, chart in (("profile", profile_chart), ("curves", curve_charts), ("growth", growth_chart)):
                group[name] = chart(report, field, order)
        except ModuleNotFoundError as error:
            missing = str(error.name)
        groups.append(group)
    return (
        templates()
        .get_template("lab/racing/report.html")
        .render(
            report=report,
            groups=groups,
            missing=missing,
            waiting=float(np.median(waits or [0.0])),
            cores=int(report.machine["cores"]),
            when=datetime.datetime.fromtimestamp(report.began, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            problems=len({(row.kind, row.problem) for row in report.rows}),
            proved=PROVED,
            shift=SHIFT,
            near=NEAR,
        )
    )


@functools.cache
def templates() -> Environment:
    """Return the template environment of this package: values are escaped, and a missing value raises."""
    import jinja2

    loader = jinja2.FileSystemLoader(Path(contactlab.__file__).parent)
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"seconds": seconds_text, "failures": failures_text}
    made.tests["finite"] = math.isfinite
    return made


#: Ten colours distinguishable on white; they repeat with other dashes.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
    "#56B4E9", "#222222", "#8C564B", "#7F3FBF", "#7A9A01",
)  # fmt: skip
DASHES = ("-", "--", ":")
LONGEST = 32  # maximum number of characters of a label in the legend
#: Larger ratios are not shown, because the curves are constant there.
_FARTHEST = 1e4
_FLOOR = 1e-17
# Groups are renumbered in every picture, because ids of a page must be unique.
_GROUP = re.compile(r'<g id="(?:series (\d+)|[^"]*)">')


def profile_chart(report: RaceReport, field: RaceGroup, order: Sequence[str]) -> str:
    """Return a chart of the fraction of problems solved within a ratio to the fastest solver."""
    profile = report.profile(field)
    end = min(_FARTHEST, max(2.0, 10.0 ** math.ceil(math.log10(max(profile.largest, 1.01)))))
    figure, axes = _axes("time / smallest time of any solver on the problem", "fraction of problems", len(order))
    for number, label in enumerate(order):
        tau, share = profile.steps(field.labels.index(label))
        kept = tau <= end
        heights = [float(share[0]) if tau.size and tau[0] == 1.0 else 0.0, *share[kept]]
        axes.step([1.0, *tau[kept], end], [*heights, heights[-1]], where="post", **_look(number, label))
    axes.set(yscale="linear", xlim=(1.0, end), ylim=(-0.02, 1.02))
    return _svg(figure, order, "performance profiles")


def growth_chart(report: RaceReport, field: RaceGroup, order: Sequence[str]) -> str:
    """Return a chart of the time of every solved trial against n, with the fitted power over its sizes."""
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
    """Return (problem, n, chart) for each problem: the residual reached against time."""
    drawn = []
    for problem in dict.fromkeys(curve.problem for curve in report.curves if curve.problem in field.problems):
        curves = {curve.label: curve for curve in report.curves if curve.problem == problem and curve.points}
        if curves:
            n = next(row.n for row in field.rows.values() if row.problem == problem)
            drawn.append((problem, n, _convergence_svg(field.tolerance, curves, order)))
    return drawn


def _convergence_svg(tolerance: float, curves: dict[str, ResidualCurve], order: Sequence[str]) -> str:
    """Return a drawing as SVG text: deciding error over time of several solvers on one problem."""
    figure, axes = _axes("time [s]", "deciding error", len(curves))
    axes.axhline(tolerance, color="#222222", linewidth=1.0)
    for number, label in enumerate(order):
        if label in curves:
            points = curves[label].points
            residuals = [min(max(point.residual, _FLOOR), 1e3) for point in points]
            axes.plot([point.seconds for point in points], residuals, marker="o", markersize=3, **_look(number, label))
    return _svg(figure, order, "time against residual")


def _look(number: int, label: str) -> dict[str, Any]:
    """Return the line style of a solver; its group in the picture is named by the number."""
    short = label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number // len(COLOURS) % len(DASHES)],
        "linewidth": 1.7,
        "label": short.replace("$", r"\$"),  # text between two of them would be a formula
        "gid": f"series {number}",
    }


def _axes(x: str, y: str, solvers: int) -> tuple[Figure, Axes]:
    """Return logarithmic axes, with space for a legend of this many lines beside them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.8, max(4.3, 0.6 + 0.2 * solvers)), layout="constrained")
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axes.grid(color="#e4e4e4")
    return figure, axes


def _svg(figure: Figure, order: Sequence[str], name: str) -> str:
    """Return the chart as an element of the page, with a title for each solver; ``name`` is its accessible name."""
    from markupsafe import Markup
    from matplotlib import rc_context

    figure.axes[0].legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    file = io.StringIO()
    # Text stays text; names of markers and clips depend only on their contents.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "race"}):
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = file.getvalue()
    # Within an HTML page, an SVG needs no name space declarations.
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text[text.index("<svg") :])

    def group(match: re.Match[str]) -> str:
        return f'<g class="series"><title>{escape(order[int(match[1])])}</title>' if match[1] else "<g>"

    return Markup(
        _GROUP.sub(group, text).replace("<svg", f'<svg role="img" aria-label="{escape(name, quote=True)}"', 1)
    )

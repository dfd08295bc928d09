"""Results of a race: its rows, its machine (without names of hosts or users), and its page.

The page is one HTML file from the template ``report.html``. It needs no other file and no network, and every name is
escaped. The template fills the tables and the sentences on what the race does not show; the charts are made here.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import importlib.metadata
import io
import json
import math
import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import contactlab
import lcp
import problem_data
from contactlab.lab.racing.kinds import PROVED, RaceRow, write_rows
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
from contactlab.recording.environment import environment
from problem_data.files import write_atomic

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_PACKAGES = ("numpy", "scipy", "numba", "osqp", "cvxpy", "clarabel", "piqp", "proxsuite")
_DISTRIBUTION = {"pydrake": "drake", "pinocchio": "pin"}


@dataclass(frozen=True)
class Machine:
    """Machine and versions."""

    # As the system tells them.
    processor: str
    cores: int
    system: str
    versions: tuple[tuple[str, str], ...]  # package and version, as far as installed

    def text(self) -> str:
        """One line."""
        return f"{self.processor}, {self.cores} cores, {self.system}; " + ", ".join(
            f"{name} {version}" for name, version in self.versions
        )


def this_machine(peers: Iterable[str] = ()) -> Machine:
    """Describe this machine, with the versions of the packages that solve and of these peers."""
    versions = [("contactlab", contactlab.__version__), ("sources", sources_digest()[:12])]
    versions.append(("Python", platform.python_version()))
    for package in dict.fromkeys((*_PACKAGES, *peers)):
        distribution = _DISTRIBUTION.get(package, package)
        try:
            versions.append((distribution, importlib.metadata.version(distribution)))
        except importlib.metadata.PackageNotFoundError:
            continue
    return Machine(
        environment()["cpu"], os.cpu_count() or 1, f"{platform.system()} {platform.machine()}", tuple(versions)
    )


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
    """Processes that wanted a core over the last minute; None if the system does not tell."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


@dataclass(frozen=True, eq=False, repr=False)
class RaceReport:
    """Rows of a race, and what can be read off them.

    Attributes
    ----------
    rows
        One `RaceRow` per problem and solver, failures included.
    curves
        Time against residual, on a few problems.
    time_limit, repeats, jobs, cluster
        As raced; ``jobs`` processes, or a cluster.
    skipped
        Peers that are not installed, files that could not be used, and trials that stand in the folder and are not
        among the rows: a line each.
    machine
        What it ran on.
    began, seconds
        When (seconds since 1970) and for how long.
    computed
        Trials run now; the others stood in the folder.
    load
        Load average before and after; None if the system does not tell.
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
    machine: Machine
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
        """Performance profile over the problems of a field that somebody solved; columns as ``field.labels``."""
        return replace(performance_profile(field.times()), labels=field.labels)

    def growth(self, field: RaceGroup, *, families: bool = False) -> list[tuple[str, str, Growth]]:
        """(solver, family, fit) of time against n over what it solved; family "" for all together."""
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
        """Write the report: one file that needs nothing but a browser."""
        write_atomic(Path(path), page(self).encode())
        return Path(path)

    def to_csv(self, path: str | Path) -> Path:
        """Write the rows."""
        write_rows(Path(path), self.rows)
        return Path(path)

    def write(self, folder: str | Path) -> Path:
        """Write ``rows.csv``, ``summary.csv``, ``curves.csv``, ``race.json`` and ``report.html``; return the last."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.to_csv(folder / "rows.csv")
        lines = [
            {**asdict(one), "failures": " ".join(f"{status}:{count}" for status, count in one.failures)}
            for one in self.summary()
        ]
        write_csv(folder / "summary.csv", lines, [field.name for field in fields(SolverSummary)])
        points = [
            {"problem": curve.problem, "solver": curve.label, "by": curve.by, **asdict(point)}
            for curve in self.curves
            for point in curve.points
        ]
        write_csv(folder / "curves.csv", points, ("problem", "solver", "by", "seconds", "residual"))
        facts = {
            name: getattr(self, name)
            for name in ("time_limit", "repeats", "jobs", "cluster", "skipped", "began", "seconds", "load")
        }
        facts |= {"machine": asdict(self.machine), "sources": sources_digest(), "problems": dict(self.digests)}
        write_atomic(folder / "race.json", f"{json.dumps(facts, indent=1)}\n".encode())
        return self.to_html(folder / "report.html")


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
            waiting=_waiting(report),
            when=datetime.datetime.fromtimestamp(report.began, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            problems=len({(row.kind, row.problem) for row in report.rows}),
            proved=PROVED,
            shift=SHIFT,
            near=NEAR,
        )
    )


@functools.cache
def templates() -> Environment:
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

"""Results of a race, its machine (without names of hosts or users), and its pages."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import contactlab
import lcp
import problem_data
from contactlab.lab.racing.row import RaceRow, write_rows
from contactlab.lab.racing.statistics import (
    Growth,
    PerformanceProfile,
    RaceGroup,
    SolverSummary,
    fields_of,
    fit_growth,
    performance_profile,
    summaries,
    summary_table,
)
from contactlab.lab.racing.trial import ResidualCurve
from contactlab.lab.sweeps.store import write_csv
from contactlab.recording.environment import environment
from problem_data.files import write_atomic

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
        As raced; ``jobs`` processes, or those of a cluster.
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
        from contactlab.lab.racing.report_page import page

        path = Path(path)
        write_atomic(path, page(self).encode())
        return path

    def to_csv(self, path: str | Path) -> Path:
        """Write the rows."""
        path = Path(path)
        write_rows(path, self.rows)
        return path

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

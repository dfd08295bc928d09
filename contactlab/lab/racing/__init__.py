"""Races: every solver on every problem, on all cores, verified with the data of the problems."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from contactlab.lab.datasets import MOST_STEPS, load_problems
from contactlab.lab.datasets.files import DatasetError
from contactlab.lab.racing.entrant import Competitor, entrant_of, entrants_of, own_files, peers_of
from contactlab.lab.racing.external_solvers import ALL_PEERS
from contactlab.lab.racing.kinds import CRASHED, KINDS, TIMEOUT, Kind, RaceError, RaceRow, keep_problem, kind_of
from contactlab.lab.racing.report import RaceReport, load_average, this_machine
from contactlab.lab.racing.statistics import (
    Growth,
    PerformanceProfile,
    RaceGroup,
    SolverSummary,
    fit_growth,
    performance_profile,
    shifted_geometric_mean,
)
from contactlab.lab.racing.trial import (
    CurvePoint,
    ResidualCurve,
    curves_of,
    failed_row,
    pick_problems,
    residual_curve,
    run_trial,
)
from contactlab.lab.sweeps import sweep
from contactlab.lab.sweeps.tasks import write_lock

__all__ = [
    "ALL_PEERS", "Competitor", "CurvePoint", "Growth", "PerformanceProfile", "RaceError", "RaceGroup", "RaceReport",
    "RaceRow", "ResidualCurve", "SolverSummary", "entrant_of", "fit_growth", "performance_profile", "race",
    "residual_curve", "shifted_geometric_mean",
]  # fmt: skip


#: Seconds after twice the time limit until a trial's process is ended: start, imports, compilation, warm-up.
KILL_DELAY_SECONDS = 90.0
KIND_CLASSES = tuple(kind.problem for kind in KINDS)


def race(
    problems: str | os.PathLike[str] | Iterable[Any],
    solvers: str | Iterable[Any] = "all",
    *,
    tolerance: float | None = None,
    time_limit: float = 60.0,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    peers: str | Iterable[str] = (),
    repeats: int = 3,
    curves: int = 3,
    most_steps: int = MOST_STEPS,
    progress: bool | Callable[[int, int], None] = False,
) -> RaceReport:
    """Run every solver on every problem; report the solved problems, times and residuals of each solver.

    Parameters
    ----------
    problems
        A file or folder, or several, of a kind supported by `contactlab.lab.datasets.load_problems`. Or problems of
        `lcp`, or pairs (name, problem).
    solvers
        "all": the solvers of this package for the given kinds of problem. Or names, separated by commas or in a list,
        with settings as in ``OSQP(max_iter=1000)``; or solver objects; or ``path.py:Name`` and ``module:Name`` for your
        own.
    tolerance
        Bound on the residual of a solved problem; None for 1e-9, or 1e-8 with friction.
    time_limit
        Seconds per problem and solver. Solvers with a time limit get this one. Any other solver is ended from outside
        after twice this time plus 90 s for start and compilation; its row has the status TIMEOUT.
    out
        Folder for all results: ``rows.csv``, ``report.html``, the problems, and the finished trials, which the same
        call does not repeat. None for a temporary folder.
    jobs, cluster
        Processes (None: all cores), or the address of a Dask scheduler, whose workers must see the same ``out``.
    peers
        Solvers of other projects, by name or "all"; those not installed are left out, and named.
    repeats
        Maximum number of timed solves per problem; the minimum counts. Solves are repeated within one second in total,
        and once if the first one took less than half the limit.
    curves
        Number of problems, spread over the sizes, for curves of time against residual.
    most_steps
        For the record of a run: number of steps, evenly spread over the steps with contacts or limits.
    progress
        True for a bar on standard error, or a function of (done, total).

    Returns
    -------
    RaceReport
        Rows, profiles, means, growth, curves; ``.write(folder)`` and ``.to_html(path)``.

    Raises
    ------
    RaceError
        There is no problem, an unknown solver or setting, or an invalid limit.
    SweepError
        Another race is writing to the folder, or the folder cannot be written.
    """
    _check(tolerance, time_limit, {"repeats": (repeats, 1), "curves": (curves, 0), "most_steps": (most_steps, 1)})
    time_limit = float(time_limit)
    named, unread = _name_problems(problems, most_steps)
    if not named:
        raise RaceError("there are no problems to race on" + "".join(f"; {one}" for one in unread))
    kinds = list(dict.fromkeys(kind_of(problem) for _, problem in named))
    entrants = entrants_of(solvers, kinds)
    guests, skipped = peers_of(peers, kinds)
    entrants = list({entrant.label: entrant for entrant in (*entrants, *guests)}.values())
    began, load = time.time(), load_average()
    with _folder(out) as folder:
        files = {name: keep_problem(folder / "problems", problem) for name, problem in named}
        tasks, known = _tasks(named, files, entrants, solvers, tolerance, time_limit, repeats)
        trials, patience = folder / "trials", 2.0 * time_limit + KILL_DELAY_SECONDS
        result = sweep(run_trial, tasks, out=trials, jobs=jobs, cluster=cluster, time_limit=patience, progress=progress)
        rows = tuple(_row(entries, known[entries["problem"], entries["text"]], time_limit) for entries in result.rows)
        picked = pick_problems(named, rows, curves)
        drawn = curves_of(picked, files, entrants, tolerance, time_limit, folder / "curves", jobs, cluster, patience)
        report = RaceReport(
            rows=rows,
            curves=drawn,
            time_limit=time_limit,
            repeats=repeats,
            jobs=jobs or os.cpu_count() or 1,
            cluster=cluster is not None,
            skipped=(*skipped, *unread),
            machine=this_machine(entrant.solver.package for entrant in guests),
            began=began,
            seconds=time.time() - began,
            computed=result.computed,
            load=(load, load_average()),
            digests=tuple((name, file.stem) for name, file in files.items()),
        )
        if out is not None:
            report.write(folder)
    return report


def _check(tolerance: float | None, time_limit: float, counts: dict[str, tuple[int, int]]) -> None:
    """Raise a `RaceError` for an invalid tolerance or time limit, or for a count below its minimum."""
    if tolerance is not None and not 1e-14 <= tolerance < 1.0:
        raise RaceError(f"tolerance must lie between 1e-14 and 1, got {tolerance}")
    if not (time_limit > 0.0 and math.isfinite(time_limit)):
        raise RaceError(f"time_limit must be a number of seconds > 0, got {time_limit}")
    for name, (value, least) in counts.items():
        given: object = value  # callers may ignore the annotation
        if not isinstance(given, int) or given < least:
            raise RaceError(f"{name} must be a whole number >= {least}, got {value!r}")


def _name_problems(problems: Any, most_steps: int) -> tuple[list[tuple[str, Any]], list[str]]:
    """Return the problems with unique names, and a line on each file that cannot be used."""
    named: dict[str, Any] = {}
    unread = []
    for name, problem in _iterate_problems(problems, most_steps):
        if isinstance(problem, DatasetError):
            unread.append(str(problem))
            continue
        kind_of(problem)
        again = sum(1 for taken in named if taken.partition("#")[0] == name)
        named[f"{name}#{again + 1}" if again else name] = problem
    return list(named.items()), unread


def _iterate_problems(problems: Any, most_steps: int) -> Iterator[tuple[str, Any]]:
    """Yield names and problems, from files, from pairs, or numbered in the order of the sequence."""
    if isinstance(problems, str | os.PathLike):
        problems = [problems]
    for i, item in enumerate([problems] if isinstance(problems, KIND_CLASSES) else problems):
        if isinstance(item, str | os.PathLike):
            yield from load_problems(item, most_steps=most_steps)
        elif isinstance(item, tuple) and len(item) == 2:
            yield str(item[0]), item[1]
        else:
            yield f"problem{i}", item


@contextlib.contextmanager
def _folder(out: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield the locked folder ``out``, without partial files, or a temporary folder if it is None."""
    if out is not None:
        folder = Path(os.path.abspath(out))
        with contextlib.ExitStack() as held:
            held.callback(write_lock(folder, "another race is writing here").release)
            # A partial file of a killed race.
            for file in (*folder.glob(".*.partial"), *folder.glob("problems/.*.partial")):
                file.unlink(missing_ok=True)
            yield folder.resolve()
    else:
        with tempfile.TemporaryDirectory(prefix="race-") as name:
            yield Path(name)


def _tasks(
    named: Sequence[tuple[str, Any]],
    files: dict[str, Path],
    entrants: Sequence[Competitor],
    solvers: Any,
    tolerance: float | None,
    time_limit: float,
    repeats: int,
) -> tuple[list[dict[str, Any]], dict[tuple[str, str], RaceRow]]:
    """Return a task per problem and entrant, and its row in case the task returns nothing."""
    everyone = isinstance(solvers, str) and solvers.lower() == "all"
    tasks, known = [], {}
    for name, problem in named:
        kind: Kind = kind_of(problem)
        bound = kind.tolerance if tolerance is None else tolerance
        for entrant in entrants:
            if not entrant.supports(kind) and (everyone or entrant.origin == "peer"):
                continue  # "all" is meant kind by kind; a solver named by hand gets its row
            task = {
                "problem": name,
                "file": str(files[name]),
                "text": entrant.text,
                # A hash of the user's files, so that an edited solver is a different entrant.
                "source": digest_of(own_files(entrant.text)),
                "tolerance": bound,
                "time_limit": time_limit,
                "repeats": repeats,
            }
            tasks.append(task)
            known[name, entrant.text] = failed_row(name, problem, entrant, bound, CRASHED, time_limit)
    return tasks, known


def digest_of(files: Sequence[str]) -> str:
    """Return the SHA-256 of the contents of files, or "" without files."""
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest() if files else ""


def _row(entries: dict[str, Any], otherwise: RaceRow, time_limit: float) -> RaceRow:
    """Return the row of a task; if its process was ended or died, the row with the known entries."""
    if entries["outcome"] == "done":
        # The family follows the present rule for names, also for older rows.
        kept = {field.name: entries[field.name] for field in fields(RaceRow) if field.name in entries}
        return RaceRow(**kept | {"family": otherwise.family})
    status = TIMEOUT if entries["outcome"] == "timeout" else CRASHED
    detail = " ".join(str(entries.get("error", "")).split())[:500]
    return replace(otherwise, status=status, time=time_limit, detail=detail)

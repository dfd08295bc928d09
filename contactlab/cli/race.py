"""`contactlab race`: solvers against solvers on files of problems, every answer judged by the problem's own data."""

from __future__ import annotations

import argparse
from pathlib import Path

from contactlab.cli import arguments as kinds
from contactlab.lab.datasets.fetching import data_path
from contactlab.lab.datasets.problems import MOST_STEPS
from contactlab.lab.progress import Progress
from contactlab.lab.racing import race

EPILOG = """\
NAMES are separated by commas, capitals or not, with settings in brackets: 'Lemke,OSQP(max_iter=1000)'. `all` stands
for our solvers that suit each problem's kind; peers are named apart. A solver of your own is path.py:Name or
module:Name; its file is executed. DIR gets rows.csv, summary.csv, curves.csv, race.json and report.html; the same
command goes on where it was interrupted and runs no finished trial again. What a solver fails on keeps its row, and is
no failure of the command: the exit status is 1 only if nobody solved anything.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    add = parser.add_argument
    add("paths", type=Path, nargs="+", metavar="PATH", help="files, folders or data sets of problems")
    add("--solvers", default="all", metavar="NAMES", help="names, or all (default)")
    add("--peers", default="", metavar="NAMES", help="solvers of other projects: names, or all")
    add(
        "--tolerance",
        type=kinds.tolerance,
        metavar="T",
        help="bound on the error that decides (default 1e-9, of exact cones 1e-8)",
    )
    add(
        "--time-limit",
        type=kinds.positive,
        default=60.0,
        metavar="S",
        help="seconds per problem and solver (default 60)",
    )
    add("--out", type=Path, metavar="DIR", help="folder of rows and report; resumed if it is there")
    add("--workers", dest="jobs", type=kinds.positive_integer, metavar="N", help="processes (default: one per core)")
    add("--cluster", metavar="ADDRESS", help="scheduler of a Dask cluster, such as tcp://host:8786")
    add(
        "--max-steps",
        dest="most_steps",
        type=kinds.positive_integer,
        default=MOST_STEPS,
        metavar="N",
        help="of the record of a run: problems of so many of its steps (default %(default)s)",
    )
    add("--repeats", type=kinds.positive_integer, default=3, help="most solves timed per trial (default %(default)s)")
    add(
        "--curves",
        type=kinds.whole,
        default=3,
        help="problems on which time is drawn against residual (default %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Race, print the summary; exit status 1 if nobody solved anything."""
    # Names of data sets stand for their files, fetched before anything is begun.
    paths = [data_path(path) for path in arguments.paths]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise FileNotFoundError(f"there is no file, folder or data set {missing[0]}")
    with Progress("race", "trials") as progress:
        asked = ("tolerance", "time_limit", "out", "jobs", "cluster", "peers", "repeats", "curves", "most_steps")
        settings = {name: getattr(arguments, name) for name in asked}
        report = race(paths, arguments.solvers, **settings, progress=progress.update)
    print(report)
    for line in report.skipped:
        print(f"left out: {line}")
    solved = sum(row.solved for row in report.rows)
    failed = sum(row.status in ("TIMEOUT", "CRASHED") for row in report.rows)
    where = "" if arguments.out is None else f"; wrote {arguments.out / 'rows.csv'} and {arguments.out / 'report.html'}"
    print(
        f"{len(report.rows)} trials ({report.computed} run now) in {report.seconds:.1f} s: {solved} solved, "
        f"{failed} timed out or crashed{where}"
    )
    return 0 if solved else 1

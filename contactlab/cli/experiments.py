"""Commands with many runs: `contactlab race`, `conform` and `sweep`."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from contactlab import cli as kinds
from contactlab.cli import command, one_of, option
from contactlab.lab.datasets import MOST_STEPS
from contactlab.lab.datasets.files import data_path
from contactlab.lab.racing import race as run_race
from contactlab.lab.racing.kinds import RaceError
from contactlab.lab.sweeps import Progress
from contactlab.lab.sweeps import sweep as run_sweep


@command(
    option("paths", type=Path, nargs="+", metavar="PATH", help="files, folders or data sets of problems"),
    option("--solvers", default="all", metavar="NAMES", help="names, or all (default)"),
    option("--peers", default="", metavar="NAMES", help="solvers of other projects: names, or all"),
    option(
        "--tolerance",
        type=kinds.tolerance,
        metavar="T",
        help="bound on the error of a solved problem (default 1e-9, with exact cones 1e-8)",
    ),
    option(
        "--time-limit",
        type=kinds.positive,
        default=60.0,
        metavar="S",
        help="seconds per problem and solver (default 60)",
    ),
    option("--out", type=Path, metavar="DIR", help="folder of rows and report; resumed if it exists"),
    option(
        "--workers", dest="jobs", type=kinds.positive_integer, metavar="N", help="processes (default: one per core)"
    ),
    option("--cluster", metavar="ADDRESS", help="scheduler of a Dask cluster, such as tcp://host:8786"),
    option(
        "--max-steps",
        dest="most_steps",
        type=kinds.positive_integer,
        default=MOST_STEPS,
        metavar="N",
        help="number of steps used of the record of a run (default %(default)s)",
    ),
    option(
        "--repeats",
        type=kinds.positive_integer,
        default=3,
        help="maximum number of timed solves per trial (default %(default)s)",
    ),
    option(
        "--curves",
        type=kinds.whole,
        default=3,
        help="number of problems with curves of time against residual (default %(default)s)",
    ),
    epilog="""\
NAMES are separated by commas and case-insensitive, with settings in brackets: 'Lemke,OSQP(max_iter=1000)'. `all`
stands for the solvers of contactlab for each kind of problem; peers are named with --peers. Your own solver is
path.py:Name or module:Name; its file is executed. DIR gets rows.csv, race.json and
report.html. The same command continues an interrupted race and does not repeat finished trials. A failure of a solver
has a row and is not a failure of the command: the exit status is 1 only if no solver solved any problem.
""",
)
def race(arguments: argparse.Namespace) -> int:
    """Race solvers on files of problems; every result is verified with the data of the problem."""
    # Data sets are downloaded before the race begins.
    paths = [data_path(path) for path in arguments.paths]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise FileNotFoundError(f"there is no file, folder or data set {missing[0]}")
    with Progress("race", "trials") as progress:
        asked = ("tolerance", "time_limit", "out", "jobs", "cluster", "peers", "repeats", "curves", "most_steps")
        settings = {name: getattr(arguments, name) for name in asked}
        report = run_race(paths, arguments.solvers, **settings, progress=progress.update)
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


@command(
    option("engines", nargs="*", default=["ours"], metavar="ENGINE", help="engines (default: ours)"),
    option("--filter", action="append", default=[], metavar="NAME", help="only cases with this in the name"),
    option("--time-limit", type=kinds.positive, default=120.0, metavar="S", help="time limit of a case (default: 120)"),
    option("--list", action="store_true", help="only list the cases and their sources"),
    option("--out", type=kinds.output_file, metavar="FILE", help="report as one HTML file"),
    option("--json", type=kinds.output_file, metavar="FILE", help="scores, figures and reasons as JSON"),
    epilog="""\
ENGINE is ours, ours:cone, mujoco, mujoco:elliptic, mujoco:noslip, drake, drake:sap, drake:tamsi, drake:similar,
drake:lagged, or path.py:Name, your own engine; its file is executed. Each engine runs in a separate process.
A lost case is not a failure of the command: the exit status is 1 only if no case could be run on any engine.
""",
)
def conform(arguments: argparse.Namespace) -> int:
    """Test engines against closed forms and known complaints; every score is computed."""
    from contactlab.lab import conformance

    if arguments.list:
        for case in conformance.CASES:
            print(f"{case.name}: {case.question} {case.source}.")
        return 0
    with Progress("conform", "cases") as progress:
        chosen = {"seconds": arguments.time_limit, "progress": progress.update}
        try:
            report = conformance.conform(arguments.engines, arguments.filter, **chosen)
        except ValueError as error:
            raise RaceError(str(error)) from error
    print(report)
    if arguments.out is not None:
        print(f"wrote {report.to_html(arguments.out)}")
    kinds.write_json(arguments.json, report.as_data())
    return 0 if any(report.score(name)[1] for name in report.engines) else 1


@command(
    option("experiment", type=Path, metavar="EXPERIMENT", help="the experiment, .toml"),
    option("--out", type=Path, required=True, metavar="DIR", help="folder of the rows"),
    one_of(
        option(
            "--workers",
            dest="jobs",
            type=kinds.positive_integer,
            metavar="N",
            help="processes (default: one per core)",
        ),
        option("--cluster", metavar="ADDRESS", help="a running Dask scheduler, as in tcp://10.0.0.5:8786"),
    ),
    option("--time-limit", type=kinds.positive, metavar="S", help="seconds a run may take"),
    option(
        "--recompute",
        dest="again",
        action="append",
        choices=("failed", "timeout", "lost"),
        default=[],
        help="run tasks with this outcome again; may be given more than once",
    ),
    epilog="""\
EXPERIMENT is a TOML file; docs/sweeps.md describes its sections. DIR/rows.jsonl gets a line per finished run, and
DIR/rows.csv is the table at the end. The same command continues where it was stopped, and repeats no finished run.
Exit status: 0 all runs done; 1 some failed, timed out or were lost, with the reasons in their rows; 2 an experiment,
folder or cluster that cannot be used; 130 interrupted.
""",
)
def sweep(arguments: argparse.Namespace) -> int:
    """Run a scene many times, as described by one TOML file."""
    from contactlab.lab.sweeps.grids import load_experiment

    settings = {name: getattr(arguments, name) for name in ("out", "jobs", "cluster", "time_limit", "again")}
    result = run_sweep(load_experiment(arguments.experiment), **settings, progress=True)
    outcomes = Counter(row["outcome"] for row in result.rows)
    account = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "none"
    print(f"{len(result)} runs, {result.computed} of them now: {account}")
    for row in result.failures[:5]:
        print(f"{row['outcome']}: {row['error'].splitlines()[0]}")
    if len(result.failures) > 5:
        print(f"and {len(result.failures) - 5} more")
    print(f"wrote {arguments.out / 'rows.csv'}")
    return 1 if result.failures else 0

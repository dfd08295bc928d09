"""`contactlab sweep`: many runs of a scene, or many solves of problems, from one TOML file."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from contactlab.cli import arguments as kinds

EPILOG = """\
EXPERIMENT is a TOML file; docs/sweeps.md has its sections. DIR/rows.jsonl grows by a line per finished run and
DIR/rows.csv is the table at the end. The same command goes on where it was stopped, and runs nothing twice.
Exit status: 0 all runs done; 1 some failed, timed out or were lost, and their rows say why; 2 an experiment, folder or
cluster that cannot be used; 130 interrupted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("experiment", type=Path, metavar="EXPERIMENT", help="the experiment, .toml")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the rows")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", dest="jobs", type=kinds.positive_integer, metavar="N", help="processes (default: one per core)"
    )
    where.add_argument("--cluster", metavar="ADDRESS", help="a running Dask scheduler, as in tcp://10.0.0.5:8786")
    parser.add_argument("--time-limit", type=kinds.positive, metavar="S", help="seconds a run may take")
    parser.add_argument(
        "--recompute",
        dest="again",
        action="append",
        choices=("failed", "timeout", "lost"),
        default=[],
        help="compute rows of this outcome anew; may be given more than once",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the sweep, print its account."""
    from contactlab.lab import sweep
    from contactlab.lab.sweeps.experiment import load_experiment

    settings = {name: getattr(arguments, name) for name in ("out", "jobs", "cluster", "time_limit", "again")}
    result = sweep(load_experiment(arguments.experiment), **settings, progress=True)
    outcomes = Counter(row["outcome"] for row in result.rows)
    account = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "none"
    print(f"{len(result)} runs, {result.computed} of them now: {account}")
    for row in result.failures[:5]:
        print(f"{row['outcome']}: {row['error'].splitlines()[0]}")
    if len(result.failures) > 5:
        print(f"and {len(result.failures) - 5} more")
    print(f"wrote {arguments.out / 'rows.csv'}")
    return 1 if result.failures else 0

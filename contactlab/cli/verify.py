"""`contactlab verify`: check every step of a record again, with arithmetic of its own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from contactlab.cli import arguments as kinds
from contactlab.lab.progress import Progress
from contactlab.simulation import Recording, verify

EPILOG = """\
FILE is a record (.npz), or the folder FILE.npz.chunks of a run that was stopped. Kinematics, mass matrix, contact rows
and the complementarity problem of each step are formed again in plain numpy; no kernel of the simulation is used.
The record's stamp is printed first: versions, processor and date of the run; of a scene file its checksum.
Exit status: 0 everything holds; 1 something does not (step, island and contact are named); 2 unreadable.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="the record")
    add("--every", type=kinds.positive_integer, default=1, metavar="K", help="every K-th step (default: all)")
    add("--tolerance", type=kinds.positive, default=1e-9, help="violation over scale allowed (default %(default)g)")


def stamp_text(stamp: Mapping[str, str]) -> str:
    """Return a record's stamp as lines of text; of a scene file its checksum, not its text."""
    return "\n".join(f"{name}: {value}" for name, value in stamp.items() if name != "scene")


def run(arguments: argparse.Namespace) -> int:
    """Verify, print the table and each failure."""
    recording = Recording.open(arguments.file)
    print(stamp_text(recording.environment))
    with Progress("verifying", "steps") as progress:
        report = verify(recording, every=arguments.every, tolerance=arguments.tolerance, progress=progress.update)
    print(report)
    for failure in report.failures:
        print(f"failed: {failure}")
    if report.failed > len(report.failures):
        print(f"and {report.failed - len(report.failures)} more")
    lost = f", {len(report.uncertified)} islands are not certified" if report.uncertified else ""
    print("every certificate holds" if report.holds else f"{report.failed} conditions do not hold{lost}")
    if report.failed and not report.unexplained_failures:
        marked = len({step for step, _ in report.uncertified})
        print(f"all of these in the {marked} steps already marked uncertified")
    return 0 if report.holds else 1

"""`contactlab demo`: throw cubes and balls onto a plane and an incline; needs no data."""

from __future__ import annotations

import argparse
import errno
import os
import time
from pathlib import Path

import numpy as np

from contactlab.cli import arguments as kinds
from contactlab.cli.demo_scene import demo_stepper, demo_world
from contactlab.cli.replay import write_html
from contactlab.cli.warmup import background_compilation
from contactlab.lab.progress import Progress
from contactlab.simulation import Recording, SimulationError, simulate
from lcp.compiler import compilation_seconds

NAME = "contactlab_demo"
EPILOG = f"Writes {NAME}.npz, {NAME}.html and {NAME}.png."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    add = parser.add_argument
    add("--out", type=Path, default=Path(), metavar="DIR", help="folder to write into (default: this one)")
    add("--duration", type=kinds.positive, default=4.0, help="simulated seconds (default %(default)s)")
    add("--seed", type=kinds.whole, default=0, help="another seed, other throws (default %(default)s)")


@background_compilation()
def run(arguments: argparse.Namespace) -> int:
    """Simulate, print energy and the worst certificate, write record, replay and plot."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not os.access(arguments.out, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(arguments.out))
    world, stepper = demo_world(arguments.seed), demo_stepper()
    names = ", ".join(world.model.names)
    print(f"{world.model.nb} bodies ({names}), {arguments.duration:g} s at h = {stepper.h:g} s")
    clock, status = StepClock(), 0
    try:
        with Progress("simulating", "steps") as progress:
            recording = simulate(world, stepper, arguments.duration, progress=progress.update)
    except SimulationError as error:
        print(f"stopped: {error}")
        recording, status = error.recording, 1
    took = clock.account(recording.n_steps)
    print_summary(recording)
    print(took)
    _write(recording, arguments.out)
    return status


class StepClock:
    """From here on: how long steps take, and their kernels, which are compiled or read from disk when first called."""

    def __init__(self) -> None:
        self._began, self._before = time.perf_counter(), compilation_seconds()

    def account(self, steps: int) -> str:
        """Return a line on so many steps."""
        waited = compilation_seconds() - self._before
        seconds = time.perf_counter() - self._began - waited
        return f"{steps} steps in {seconds:.1f} s, and {waited:.1f} s until their kernels were compiled or read"


def print_summary(recording: Recording) -> None:
    """Print energy and worst certificate since the line before, each simulated second; then the ledger, what solved."""
    print("  time  kinetic  potential   total [J]  contacts  worst scaled residual")
    # A second that the end only rounds to is the end.
    ends = np.append(np.arange(0.0, recording.time[-1] * (1.0 - 1e-9), 1.0), recording.time[-1])
    steps = np.searchsorted(recording.time, ends - 1e-9)
    certificates, contacts = recording.certificates, recording.contacts
    # Both tables ascend by step: no line looks at more than its own rows.
    for previous, step in zip([0, *steps[:-1]], steps, strict=True):
        since = slice(*np.searchsorted(certificates.step, (previous, step)))
        worst = f"{certificates.scaled[since].max():.1e}" if since.start < since.stop else "-"
        kinetic, potential = recording.kinetic[step], recording.potential[step]
        first, last = np.searchsorted(contacts.step, (step - 1, step))
        touching = int(last - first)
        print(
            f"{recording.time[step]:>6.2f}  {kinetic:>7.3f}  {potential:>9.3f}  {kinetic + potential:>10.3f}"
            f"  {touching:>8}  {worst:>21}"
        )
    worst_step = recording.worst_certificate()
    print(
        f"worst of all steps: scaled residual {worst_step.scaled:.1e} (solved: at most 1e-9), "
        f"mechanical condition {worst_step.mechanical:.1e}"
    )
    print(f"ledger: {recording.ledger}")
    print(recording.statistics)


def _write(recording: Recording, folder: Path) -> None:
    """Write the record, then what the installed extras can draw."""
    from contactlab.plotting import save_figure, summary

    record = folder / f"{NAME}.npz"
    recording.save(record)
    print(f"wrote {record}")
    plot, page = folder / f"{NAME}.png", folder / f"{NAME}.html"
    kinds.write_and_report(plot.name, lambda: save_figure(summary(recording), plot))
    kinds.write_and_report(page.name, lambda: write_html(recording, page))

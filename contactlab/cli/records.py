"""Commands that make and read records: `contactlab run`, `verify`, `explain` and `replay`."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import lcp
from contactlab.cli import (
    command,
    one_of,
    option,
    output_file,
    positive,
    positive_integer,
    print_address,
    times,
)
from contactlab.constraint_solver.blocks import lcp_size
from contactlab.lab.sweeps import Progress
from contactlab.simulation import Recording, SimulationConfigError, SimulationError, simulate
from contactlab.simulation import verify as verify_recording
from contactlab.simulation.explanation import Explanation, explain_failure
from contactlab.simulation.scene import SceneError, load_scene
from contactlab.view.drawing import visual_meshes
from lcp.compiler import compilation_seconds


@command(
    option("scene", type=Path, metavar="SCENE", help="the scene, .toml"),
    option("--out", type=output_file, required=True, metavar="FILE", help="the record, .npz"),
    option("--duration", type=positive, help="simulated seconds, in place of the scene's"),
    option("--h", type=positive, help="step [s], in place of the scene's"),
    option("--progress", action="store_true", help="report the progress on standard error"),
    one_of(
        option("--resume", action="store_true", help="continue FILE where it ends, or begin it"),
        option("--overwrite", action="store_true", help="replace FILE, or the rest of a stopped run"),
    ),
    epilog="""\
SCENE is a TOML file; docs/scenes.md describes its sections, examples/scenes/ has some files. The record opens with
contactlab.simulation.Recording.open, contactlab verify and contactlab replay. During the run the record is in
OUT.chunks/, written at least once a second. The record of a stopped run opens in the same way, and --resume continues
it, to the same bits. An existing OUT is replaced only with --overwrite.
Exit status: 0 done; 1 a step failed (see contactlab explain); 2 a scene or a record that cannot be used, a record that
another process is writing, or a disk that refuses; 130 interrupted.
""",
)
def run(arguments: argparse.Namespace) -> int:
    """Simulate a scene from a TOML file and write its record."""
    scene = load_scene(arguments.scene)
    stepper, duration = scene.stepper, arguments.duration or scene.duration
    if arguments.h is not None:
        try:
            stepper = dataclasses.replace(stepper, h=arguments.h)
        except SimulationConfigError as error:
            raise SceneError(arguments.scene, 0, "--h", str(error)) from error
    print(f"{scene.name}: {scene.world.model.nb} bodies, {duration:g} s at h = {stepper.h:g} s")
    clock, status = StepClock(), 0
    try:
        with Progress("simulating", "steps") as progress:
            report = progress.update if arguments.progress else None
            kept = {"path": arguments.out, "resume": arguments.resume, "overwrite": arguments.overwrite}
            recording = simulate(scene.world, stepper, duration, **kept, progress=report, stamp=scene.stamp)
    except SimulationError as error:
        print(f"stopped: {error}")
        recording, status = error.recording, 1
    except (lcp.ProblemError, ModuleNotFoundError) as error:
        # Some options, such as the engine of lcp.CVXPY, can be checked only during their use.
        raise SceneError(arguments.scene, 0, "[stepper] 'solver'", str(error)) from error
    except SimulationConfigError as error:
        # More steps than memory is available for.
        raise SceneError(arguments.scene, 0, f"[stepper] '{error.field}'", error.detail) from error
    print_summary(recording, clock)
    print(f"wrote {arguments.out}" if status == 0 else f"the record so far: {arguments.out}.chunks")
    return status


class StepClock:
    """Stopwatch of steps, including time to compile kernels or to load them from disk."""

    def __init__(self) -> None:
        self._began, self._before = time.perf_counter(), compilation_seconds()

    def account(self, steps: int) -> str:
        """Return a line with the time of ``steps`` steps, and the time until their kernels were ready."""
        waited = compilation_seconds() - self._before
        seconds = time.perf_counter() - self._began - waited
        return f"{steps} steps in {seconds:.1f} s, and {waited:.1f} s until their kernels were compiled or read"


def print_summary(recording: Recording, clock: StepClock) -> None:
    """Print energy and the worst certificate of each simulated second, then the ledger, the solvers and the time."""
    took = clock.account(recording.n_steps)
    print("  time  kinetic  potential   total [J]  contacts  worst scaled residual")
    # A last second that differs from the end only by rounding is the end.
    ends = np.append(np.arange(0.0, recording.time[-1] * (1.0 - 1e-9), 1.0), recording.time[-1])
    steps = np.searchsorted(recording.time, ends - 1e-9)
    certificates, contacts = recording.certificates, recording.contacts
    # Both tables ascend by step, so each line reads only its rows.
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
    print(took)


@command(
    option("file", type=Path, metavar="FILE", help="the record"),
    option("--every", type=positive_integer, default=1, metavar="K", help="every K-th step (default: all)"),
    option(
        "--tolerance", type=positive, default=1e-9, help="allowed ratio of violation to scale (default %(default)g)"
    ),
    epilog="""\
FILE is a record (.npz), or the folder FILE.npz.chunks of a run that was stopped. Kinematics, mass matrix, contact rows
and the complementarity problem of each step are formed again in plain numpy; no kernel of the simulation is used.
The record's stamp is printed first: versions, processor and date of the run; of a scene file its checksum.
Exit status: 0 all conditions hold; 1 one does not (step, island and contact are named); 2 unreadable.
""",
)
def verify(arguments: argparse.Namespace) -> int:
    """Check every step of a record again, with separate arithmetic."""
    recording = Recording.open(arguments.file)
    print(stamp_text(recording.environment))
    with Progress("verifying", "steps") as progress:
        report = verify_recording(
            recording, every=arguments.every, tolerance=arguments.tolerance, progress=progress.update
        )
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


def stamp_text(stamp: Mapping[str, str]) -> str:
    """Return a record's stamp as lines of text, with the checksum of a scene file in place of its text."""
    return "\n".join(f"{name}: {value}" for name, value in stamp.items() if name != "scene")


@command(
    option("file", type=Path, metavar="FILE", help="the dumped problem, or the record"),
    option("--h", type=positive, help="step [s] of a problem without its record (default 1e-3)"),
    option("--contacts", type=positive_integer, default=20, metavar="N", help="maximum number of listed contacts"),
    epilog="""\
FILE is the file of a failed step, <record>_failed_step<i>.npz, or the record itself. With the record in the same
folder, step, time and contacts of the problem are reported too. The solver is called again.
Exit status: 0 it is solved this time; 1 it is not; 2 unreadable.
""",
)
def explain(arguments: argparse.Namespace) -> int:
    """Explain a step that failed, and report whether it is solved now."""
    explanation = explain_failure(arguments.file, h=arguments.h)
    if explanation.environment:
        print(stamp_text(explanation.environment))
    print("\n".join(explanation_lines(explanation, arguments.contacts)))
    return 0 if explanation.solved else 1


def explanation_lines(explanation: Explanation, most: int) -> list[str]:
    """Return the explanation as lines of text, with at most ``most`` contacts."""
    text = []
    if explanation.step is not None:
        when = "" if explanation.time is None else f", time {explanation.time:.9g} s"
        text.append(f"step {explanation.step}{when}, h = {explanation.h:.6g} s")
    text.append(explanation.reason)
    problem, result = explanation.problem, explanation.result
    if problem is not None:
        blocks = problem.blocks()
        text += [
            f"sizes: {blocks.nv} velocities, {blocks.nc} contacts, {blocks.nr} friction rows, {blocks.nl} limits, "
            f"{blocks.nb} bilateral rows, {blocks.nbox} boxed rows; LCP of {lcp_size(blocks)} unknowns",
            f"ranks: normal rows {explanation.rank_normal} of {blocks.nc}, all rows {explanation.rank} of "
            f"{blocks.J.shape[0]}; condition of N M^-1 N^T {explanation.condition:.1e}",
        ]
    for attempt in () if result is None else result.attempts:
        detail = f": {attempt.detail}" if attempt.detail else ""
        text.append(
            f"tried {type(attempt.solver).__name__}: {attempt.status.name} after {attempt.iterations} iterations, "
            f"scaled residual {attempt.residual.scaled:.1e}{detail}"
        )
    for lines, named in ((explanation.contacts, "contacts"), (explanation.joints, "rows of joints")):
        text += lines[:most]
        if len(lines) > most:
            text.append(f"and {len(lines) - most} {named} more")
    return text + [f"advice: {advice}" for advice in explanation.advice]


@command(
    option("file", type=Path, metavar="FILE", help="the record, .npz"),
    option("--html", type=output_file, metavar="OUT", help="write one HTML file that opens offline"),
    option("--picture", type=output_file, metavar="OUT", help="write bodies and forces as a picture, .png"),
    option("--time", type=times, metavar="T[,T...]", help="time of the picture [s]; by default the last state"),
    option("--plots", type=Path, metavar="DIR", help="write plots over time, .png, into a folder"),
    option("--collision", action="store_true", help="draw the collision shapes instead of the visuals"),
    option(
        "--mesh-roots",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="folder of the mesh files of robots' visuals, which a record only names; may be repeated",
    ),
    option("--port", type=positive_integer, default=8080, help="port of the live view (default %(default)s)"),
    epilog="Without --html, --picture and --plots it is served on this machine only, until Ctrl-C.",
)
def replay(arguments: argparse.Namespace) -> int:
    """Look at a record: in the browser, as one HTML file, as a picture, or as plots."""
    recording = Recording.open(arguments.file, mesh_roots=arguments.mesh_roots)
    try:
        _show(recording, arguments)
    except ValueError as error:
        print(f"contactlab: error: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(f"{error.name} is missing; pip install '.[viz]'")
        return 1
    return 0


def _show(recording: Recording, arguments: argparse.Namespace) -> None:
    """Write the requested page, picture and plots of a recording; if none is requested, show it in the browser."""
    drawn = arguments.html is not None or arguments.picture is not None or arguments.plots is None
    if drawn and not arguments.collision:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            visual_meshes(recording.world)
        for warning in told:
            print(f"contactlab: {warning.message} (--mesh-roots DIR says where they are)", file=sys.stderr)
    if arguments.html is not None:
        print(f"wrote {write_html(recording, arguments.html, collision=arguments.collision)}")
    if arguments.picture is not None:
        from contactlab.view.plotting import picture

        picture(recording, arguments.time, path=arguments.picture, collision=arguments.collision)
        print(f"wrote {arguments.picture}")
    if arguments.plots is not None:
        for path in write_plots(recording, arguments.plots):
            print(f"wrote {path}")
    if arguments.html is None and arguments.picture is None and arguments.plots is None:
        from contactlab.view.viewer import show

        show(
            recording,
            port=arguments.port,
            collision=arguments.collision,
            announce=lambda url: print_address(url, arguments.port),
        )


def write_html(recording: Recording, path: Path, *, collision: bool = False) -> Path:
    """Write the replay, with progress on standard error."""
    from contactlab.view.viewer import write_html_replay

    with Progress("writing the replay", "frames") as progress:
        return write_html_replay(recording, path, collision=collision, progress=progress.update)


def write_plots(recording: Recording, folder: Path) -> list[Path]:
    """Write all plots of a record into a folder, which is created if necessary."""
    from contactlab.view import plotting

    folder.mkdir(parents=True, exist_ok=True)
    plots = (
        plotting.summary, plotting.ledger, plotting.forces, plotting.modes, plotting.gaps, plotting.solver_effort,
        plotting.certificates,
    )  # fmt: skip
    return [plotting.save_figure(plot(recording), folder / f"{plot.__name__}.png") for plot in plots]

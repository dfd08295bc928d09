"""`contactlab run`: simulate a scene from a TOML file and write its record."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import lcp
from contactlab.cli import arguments as kinds
from contactlab.cli.demo import StepClock, print_summary
from contactlab.lab.progress import Progress
from contactlab.simulation import SimulationConfigError, SimulationError, simulate
from contactlab.simulation.scene import SceneError, load_scene

EPILOG = """\
SCENE is a TOML file; docs/scenes.md has its sections, examples/scenes/ some files. The record opens with
contactlab.simulation.Recording.open, contactlab verify and contactlab replay. While the run lasts it stands in
OUT.chunks/, written at least once a second, and a run that was stopped opens just so; --resume goes on with it, to the
same bits. What stands at OUT already is replaced with --overwrite alone.
Exit status: 0 done; 1 a step failed (see contactlab explain); 2 a scene or a record that cannot be used, a record that
another process is writing, or a disk that refuses; 130 interrupted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("scene", type=Path, metavar="SCENE", help="the scene, .toml")
    parser.add_argument("--out", type=kinds.output_file, required=True, metavar="FILE", help="the record, .npz")
    parser.add_argument("--duration", type=kinds.positive, help="simulated seconds, in place of the scene's")
    parser.add_argument("--h", type=kinds.positive, help="step [s], in place of the scene's")
    parser.add_argument("--progress", action="store_true", help="say how far the run is, on standard error")
    there = parser.add_mutually_exclusive_group()
    there.add_argument("--resume", action="store_true", help="go on with FILE where it ends, or begin it")
    there.add_argument(
        "--overwrite", action="store_true", help="replace FILE, or what a run that was stopped left of it"
    )


def run(arguments: argparse.Namespace) -> int:
    """Load, simulate, print the account."""
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
        # Some options, such as the engine of lcp.CVXPY, are known to be good or bad only once they are used.
        raise SceneError(arguments.scene, 0, "[stepper] 'solver'", str(error)) from error
    except SimulationConfigError as error:
        # More steps than there is room for.
        raise SceneError(arguments.scene, 0, f"[stepper] '{error.field}'", error.detail) from error
    took = clock.account(recording.n_steps)
    print_summary(recording)
    print(took)
    print(f"wrote {arguments.out}" if status == 0 else f"the record so far: {arguments.out}.chunks")
    return status

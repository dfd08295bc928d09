"""`contactlab warmup`: compile kernels before the first run, in parts, some of them in a second process."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lcp
from contactlab.cli import command, option
from contactlab.cli.demo import SIDE_PARTS, demo_stepper, demo_world, is_of_use, side_process
from contactlab.collision import Box, HalfSpace, Material, Sphere
from contactlab.constraint_solver import JointLimit, PositionDrive, VelocityDrive
from contactlab.derivatives import linearize
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.constraints import LoopConstraint
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import (
    ImplausibleWarning,
    Recording,
    Simulation,
    TimeStepping,
    World,
    WorldBuilder,
    simulate,
)
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.kernels import layout
from lcp.compiler import compile_for
from lcp.compiler.kernel_files import VARIABLE, export_kernels


def _compile_ground() -> None:
    """Compile the kernels of a run of bodies on a ground, by a few steps of the demo's world.

    Rarely needed kernels are first, because a second process begins with the others, for another world.
    """
    world, stepper = demo_world(seed=0), demo_stepper()
    Simulation(world, stepper).compile()
    simulate(world, stepper, steps=3)


def _compile_all(world: World) -> None:
    """Make three steps, then compile all other kernels that a run may need."""
    simulate(world, TimeStepping(1e-3), steps=3)
    Simulation(world, TimeStepping(1e-3)).compile()


def _cubes_world() -> World:
    """Return a world of two stacked cubes, whose run needs the kernels of contacts between bodies."""
    builder, rough, inertia = WorldBuilder(), Material(0.5), RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_half_space("ground", HalfSpace(), rough)
    for i in range(2):
        builder.add_free_body(f"cube {i}", inertia, Box.cube(0.1), rough, (0, 0, 0.1 + 0.2 * i, 1, 0, 0, 0))
    return builder.build()


def _arms_world(body_contacts: bool) -> World:
    """Return a world of two arms with limits, friction, damping, drives and a loop, for the kernels of joints.

    With ``body_contacts`` bodies touch each other too, and not only the ground.
    """
    arm, place = ModelBuilder(), Transform(p=(0.4, 0.0, 0.0))
    for name, parent in (("upper", "world"), ("lower", "upper"), ("hand", "lower")):
        inertia = RigidInertia.solid_box(1.0, (0.2, 0.05, 0.05))
        arm.add_body(name, parent=parent, joint=joints.Revolute((0, 1, 0)), placement=place, inertia=inertia)
    model = arm.build()
    builder = WorldBuilder(body_contacts=body_contacts)
    builder.add_half_space("ground", HalfSpace(), Material(0.5))
    for prefix in ("left ", "right "):
        builder.add_model(model, prefix=prefix)
        builder.add_shape(f"{prefix}hand", Sphere(0.1), Material(0.5), placement=place)
    builder.add_joint_limit(JointLimit("left upper", -0.1, 0.0))
    builder.add_joint_friction("left hand", 0.1)
    builder.add_joint_damping("right hand", 0.1)
    builder.add_drive(PositionDrive("left lower", 0.1, 10.0, 1.0, max_force=1.0))
    builder.add_drive(PositionDrive("right lower", 0.1, 10.0, 1.0))
    builder.add_drive(VelocityDrive("right upper", 0.1, max_force=1.0))
    builder.add_loop(LoopConstraint("left hand", "right hand", place, place, (0, 0, 0, 1, 0, 0)))
    return builder.build()


def _derivatives() -> None:
    for world in (demo_world(), _cubes_world(), _arms_world(False), _arms_world(True)):
        linearize(world, TimeStepping(1e-3), world.initial_state(), wrt=("gravity.z",))


def _compile_public_path() -> None:
    """Compile the kernels of the public path by solving one recorded problem and one LCP."""
    import numpy as np

    from contactlab import ConstraintSolver

    recording = simulate(demo_world(), demo_stepper(), 1.0)
    str(recording.ledger)
    recording.poses()
    if recording.islands.any():
        i = int(np.flatnonzero(recording.islands)[0])
        ConstraintSolver().solve_discretized_problem(recording.problem(i), recording.h[i])
    lcp.solve(lcp.LCP(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-1.0, -1.0]))).raise_for_status()


#: In the order of their dependencies. Each is a tiny world that needs the kernels to be compiled.
PARTS: dict[str, Callable[[], None]] = {
    "ground": _compile_ground,
    "bodies": lambda: _compile_all(_cubes_world()),
    "joints": lambda: _compile_all(_arms_world(False)),
    "robots": lambda: _compile_all(_arms_world(True)),
    "derivatives": _derivatives,
    "public": _compile_public_path,
}
#: Parts for a second process, which together take as long as the others.
BESIDE = ("joints", "public", "robots")


def _demo_driver() -> Driver:
    """Return a driver of the demo's world, before its first step."""
    world = demo_world()
    return Driver(world, demo_stepper(), world.initial_state())


def _fallback() -> None:
    """Compile the fallback strategies, but not their entry from Python, which the demo's process compiles."""
    from contactlab.simulation.stepping.kernels.next_island import run_fallback_strategies

    # Without the compiler, or with a release that was not tested, there is no inner kernel.
    entry: Any = getattr(run_fallback_strategies, "inner", run_fallback_strategies)
    compile_for(entry, *_demo_driver().island_arguments())


def _ledger() -> None:
    """Compile the kernels for energies and poses of a record of the demo, without making steps."""
    world, stepper = demo_world(), demo_stepper()
    recording = Recording.of_run(world, stepper, world.initial_state(), [_demo_driver().detach_chunk()])
    str(recording.ledger)
    recording.poses()


#: Parts for the second process of the demo.
DEMO_PARTS: dict[str, Callable[[], None]] = dict(
    zip(SIDE_PARTS, (lambda: _demo_driver().compile_stage(layout.SWEEPS), _fallback, _ledger), strict=True)
)


def _part(text: str) -> str:
    """Return the name of a part; raise for other names."""
    if text not in PARTS | DEMO_PARTS:
        raise argparse.ArgumentTypeError(f"unknown part '{text}': choose from {', '.join(PARTS)}")
    return text


EPILOG = """\
Parts: ground, bodies on half-spaces only (the demo and the toss); bodies, with contacts between them as well; joints,
with stops, dry friction, drives and loops, for bodies on the ground only; robots, the same with contacts between
bodies; derivatives, of one step of each; public, the solution of one LCP and one step's problem by public functions,
the energy ledger and poses. By default all parts except derivatives, which take as long as the others together. If
there is a second core, a second process compiles joints, public and robots. Compiled kernels are cached on disk, once
per version and tier of processors, for the releases of numba named in the documentation of releases. With others
every process compiles again.
"""


@command(
    option("parts", nargs="*", type=_part, metavar="PART", help=f"{', '.join(PARTS)} (default: all but derivatives)"),
    option(
        "--export",
        type=Path,
        metavar="FOLDER",
        help="then copy the compiled kernels to a folder for CONTACTLAB_KERNELS",
    ),
    epilog=EPILOG,
)
def warmup(arguments: argparse.Namespace) -> int:
    """Compile kernels part by part, some in a second process; return the exit status, 1 if this process failed."""
    parts = PARTS | DEMO_PARTS
    names = arguments.parts or [part for part in PARTS if part != "derivatives"]
    beside = [name for name in BESIDE if name in names]
    if len(beside) == len(names) or not is_of_use():
        beside = []
    started = time.perf_counter()
    with side_process(beside) as process:
        for name in names:
            if name not in beside:
                began = time.perf_counter()
                with warnings.catch_warnings():
                    # Bodies that overlap at the start, so that the first step has contacts of all kinds.
                    warnings.simplefilter("ignore", ImplausibleWarning)
                    parts[name]()
                print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)
        if process is not None:
            for line in process.stdout or ():
                if line.partition(":")[0] in beside:
                    print(line, end="", flush=True)
            if process.wait() != 0:
                return 1
    if arguments.export is not None:
        print(f"{export_kernels(arguments.export)} kernels in {arguments.export}, for {VARIABLE}")
    print(f"kernels ready after {time.perf_counter() - started:.1f} s")
    return 0

"""Waiting time for kernels on a machine without compiled ones: seconds of the processor, kernel by kernel.

    python benchmarks/compiling.py [falling | cube | quadruped | demo ...] [--top 30] [--without PATCH ...]

Each scene runs in a separate process with an empty folder of kernels. The unit is the yard: 72 small loops that numba
compiles, measured in the same process right before, so that ratios can be compared on slow or busy machines. Times are
times of the process; the time of each kernel excludes the kernels that it calls. They are split into type inference;
LLVM, which optimises and translates; and the rest, in which numba reads bytecode, inlines small kernels and writes
LLVM's language. Patches of numba (`lcp/compiler/releases.py`) can be left out, to see their effect.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lcp.compiler.releases import TESTED_RELEASES

LOOPS = 72
KINDS = ("inference", "LLVM", "rest")


def yard() -> float:
    """Return the seconds of the processor that numba takes to compile this many small loops."""
    import numba

    x = np.ones(3)
    before = time.process_time()
    for i in range(LOOPS):
        names: dict[str, Any] = {}
        exec(
            f"def loop(x):\n    s = {i}.0\n    for i in range(x.shape[0]):\n        s += s * x[i]\n    return s", names
        )
        numba.njit(names["loop"])(x)
    return time.process_time() - before


class Meter:
    """Seconds of the processor by kernel and kind, each without nested ones."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], float] = defaultdict(float)
        self._open: list[tuple[str, str]] = []
        self._last = time.process_time()

    def _turn(self) -> None:
        now = time.process_time()
        if self._open:
            self.seconds[self._open[-1]] += now - self._last
        self._last = now

    @contextlib.contextmanager
    def within(self, kind: str, kernel: str | None = None) -> Iterator[None]:
        """Count the block's time for a kind of work, on a kernel or on the one being compiled."""
        self._turn()
        self._open.append((kernel or (self._open[-1][0] if self._open else "-"), kind))
        try:
            yield
        finally:
            self._turn()
            self._open.pop()


def measured(meter: Meter, place: Any, name: str, kind: str, named: Callable[[Any], str] | None = None) -> None:
    """Let a meter count a method's calls."""
    original = getattr(place, name)

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        with meter.within(kind, named(self) if named else None):
            return original(self, *arguments, **options)

    setattr(place, name, method)


def install(meter: Meter) -> None:
    """Let a meter count the compilations of kernels from now on."""
    from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary
    from numba.core.dispatcher import _FunctionCompiler
    from numba.core.typed_passes import NopythonTypeInference

    from lcp.compiler import pipeline

    measured(meter, _FunctionCompiler, "_compile_cached", "rest", lambda compiler: str(compiler.py_func.__qualname__))
    measured(meter, NopythonTypeInference, "run_pass", "inference")
    measured(meter, CPUCodeLibrary, "add_llvm_module", "LLVM")
    measured(meter, JITCodeLibrary, "finalize", "LLVM")
    measured(meter, pipeline._inner_library(), "finalize", "LLVM")


def falling() -> None:
    """Make the first step of the README's cube, which is in the air."""
    cube(0.3)


def cube(height: float = 0.05) -> None:
    """Make the first step of this cube on the floor: contacts, forces, and their certificate."""
    from contactlab.collision import Box, HalfSpace, Material
    from contactlab.multibody.spatial import RigidInertia
    from contactlab.simulation import Simulation, TimeStepping, WorldBuilder

    builder, rubber = WorldBuilder(), Material(mu=0.5)
    builder.add_half_space("floor", HalfSpace(normal=(0, 0, 1), offset=0.0), rubber)
    inertia = RigidInertia.solid_box(0.6, (0.05, 0.05, 0.05))
    builder.add_free_body("cube", inertia, Box.cube(0.05), rubber, q=(0, 0, height, 1, 0, 0, 0), v=(0.5, 0, 0, 0, 0, 0))
    run = Simulation(builder.build(), TimeStepping(h=0.005))
    run.step()


def quadruped() -> None:
    """Make the first step of the README's quadruped, under torques."""
    from contactlab.collision import HalfSpace, Material
    from contactlab.simulation import Simulation, TimeStepping, WorldBuilder

    builder, legs = WorldBuilder(), ("front_left", "front_right", "rear_left", "rear_right")
    builder.add_half_space("floor", HalfSpace(), Material(mu=0.8))
    pose = {f"{leg}_{joint}": angle for leg in legs for joint, angle in (("hip", 0.6), ("knee", -1.2))}
    robot = Path(__file__).parents[1] / "examples" / "scenes" / "quadruped.urdf"
    builder.add_urdf(str(robot), q=pose, floating_base=True, stand_on="floor")
    run = Simulation(builder.build(), TimeStepping(h=1e-3))
    wanted = run.q[7:].copy()
    run.step(np.append(np.zeros(6), 300 * (wanted - run.q[7:]) - 10 * run.v[6:]))


def demo() -> None:
    """Simulate a tenth of a second of the demo."""
    from contactlab.cli.demo import demo_stepper, demo_world
    from contactlab.simulation import simulate

    recording = simulate(demo_world(), demo_stepper(), 0.1)
    str(recording.ledger)
    recording.poses()


SCENES = {"falling": falling, "cube": cube, "quadruped": quadruped, "demo": demo}


def measure(scene: str, top: int) -> None:
    """Measure one scene in this process, without stored kernels; print its table."""
    import contactlab.simulation  # noqa: F401

    yard()  # numba itself is loaded and warm
    unit, meter = yard(), Meter()
    install(meter)
    started, began = time.process_time(), time.perf_counter()
    SCENES[scene]()
    spent, waited = time.process_time() - started, time.perf_counter() - began
    kernels: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(KINDS, 0.0))
    for (kernel, kind), seconds in meter.seconds.items():
        kernels[kernel][kind] += seconds
    print(f"{scene}: {spent / unit:.2f} yards, {spent:.1f} s of the processor, {waited:.1f} s by the clock")
    print(f"a yard: {unit:.2f} s; kernels: {len(kernels)}")
    print(f"{'kernel':44} {'inference':>10} {'LLVM':>10} {'rest':>10} {'all [s]':>10}")
    total = {kind: sum(times[kind] for times in kernels.values()) for kind in KINDS}
    rows = sorted(kernels.items(), key=lambda row: -sum(row[1].values()))
    for name, times in [("all", total), *rows[:top]]:
        numbers = " ".join(f"{value:>10.2f}" for value in (*(times[kind] for kind in KINDS), sum(times.values())))
        print(f"{name:44} {numbers}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "scenes", nargs="*", default=["falling", "cube", "quadruped"], metavar="SCENE", help=", ".join(SCENES)
    )
    parser.add_argument("--top", type=int, default=30, help="kernels in the table")
    parser.add_argument("--without", nargs="+", default=[], metavar="PATCH", help="patches of numba to leave out")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for scene in arguments.scenes:
        if arguments.here:
            TESTED_RELEASES.update(dict.fromkeys(arguments.without, ()))
            measure(scene, arguments.top)
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, scene, "--here", "--top", str(arguments.top)]
            command += ["--without", *arguments.without] if arguments.without else []
            subprocess.run(command, env=os.environ | {"NUMBA_CACHE_DIR": folder}, check=True)


if __name__ == "__main__":
    main()

"""Instructions of one step here and in MuJoCo, by valgrind: what a loaded machine counts as an idle one does.

Run: ``python benchmarks/step_instructions.py [--scene NAME ...] [--edges 8] [--steps 100]`` (valgrind, a C compiler and
its header ``valgrind/callgrind.h`` are needed; MuJoCo, in the extra ``peers``, is optional).

Each run is made twice, of so many steps and of twice as many, and the difference is a step's. Ours is told in two: the
loop that is compiled (less its calls of the mathematical library), and all else, which is the recording. Kernels are
compiled for a processor that valgrind knows, into a cache of their own. The counts are no times: a step touches more
code than the nearest cache holds, and waits for roots and quotients.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulation_ours import our_run, world
from simulation_scenes import Scene, scenes

NAMES = ("free box at rest", "tumbling cube", "stack of 10", "quadruped standing")
#: A processor whose instructions valgrind knows.
PROCESSOR = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+sse4.2,+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt"}
REQUESTS = """#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""


def runs_of(scene: Scene, edges: int) -> dict[str, Callable[[int], object]]:
    """Runs by engine, of so many steps."""
    from contactlab.simulation import simulate

    place, stepper, _ = our_run(scene, edges)
    if scene.reference is not None:
        place = world(scene, drives=True)
    found: dict[str, Callable[[int], object]] = {"contactlab": lambda n: simulate(place, stepper, steps=n)}
    try:
        import mujoco
        from simulation_mujoco import mujoco_model
    except ImportError:
        return found
    model = mujoco_model(scene)

    def steps(n: int) -> None:
        data = mujoco.MjData(model)
        for i, body in enumerate(scene.bodies):
            data.qvel[6 * i : 6 * i + 6] = body.velocity
        if scene.reference is not None:
            data.qpos[7:] = data.ctrl[:] = scene.reference(0.0)
        for _ in range(n):
            mujoco.mj_step(model, data)

    return found | {"mujoco": steps}


def counted(arguments: argparse.Namespace, requests: Any) -> None:
    """Make all runs, and have those counted that ``requests`` encloses."""
    for name in arguments.scene:
        for engine, run in runs_of(scenes()[name], arguments.edges).items():
            run(2)
            for times in (1, 2) if requests is not None else ():
                requests.begin()
                run(times * arguments.steps)
                requests.end(f"{name}|{engine}|{times}".encode())


def costs(path: Path) -> tuple[str, Counter[str]]:
    """Name of a dump, and its instructions by where they stand: in code that no file holds, or elsewhere."""
    trigger, place, skip, names = "", "", False, {}
    found: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        if line.startswith("desc: Trigger"):
            trigger = line.rpartition(": ")[2]
        elif line.startswith("ob="):
            number, _, name = line[3:].partition(" ")
            place = names.setdefault(number, name)
        elif line.startswith("cob="):
            number, _, name = line[4:].partition(" ")
            names.setdefault(number, name)
        elif line.startswith("calls="):
            skip = True
        elif line[:1] in "0123456789+-*" and line:
            if not skip:
                found["loop" if place in ("", "???") else "all else"] += int(line.split()[1])
            skip = False
    return trigger, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", nargs="*", choices=sorted(scenes()), default=NAMES)
    parser.add_argument("--edges", type=int, default=8)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--counted", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.counted is not None:
        requests = ctypes.CDLL(arguments.counted) if arguments.counted else None
        counted(arguments, requests)
        return
    cache = Path(tempfile.gettempdir()) / f"step-instructions-{os.getuid()}"
    environment = {**os.environ, **PROCESSOR, "NUMBA_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    again = [sys.executable, __file__, "--edges", str(arguments.edges), "--steps", str(arguments.steps)]
    again += ["--scene", *arguments.scene, "--counted"]
    subprocess.run([*again, ""], env=environment, check=True)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "requests.so"
        (Path(folder) / "requests.c").write_text(REQUESTS)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, Path(folder) / "requests.c"], check=True)
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/dump"]
        subprocess.run([*valgrind, *again, str(library)], env=environment, check=True)
        dumps = dict(costs(path) for path in Path(folder).glob("dump.*"))
    print("scene | engine | instructions a step | of them in the loop")
    for key in sorted(name[:-2] for name in dumps if name.endswith("|1")):
        step = Counter(dumps[f"{key}|2"])
        step.subtract(dumps[f"{key}|1"])
        name, engine = key.split("|")
        loop = f"{step['loop'] / arguments.steps:.0f}" if engine == "contactlab" else ""
        print(name, engine, f"{sum(step.values()) / arguments.steps:.0f}", loop, sep=" | ")


if __name__ == "__main__":
    main()

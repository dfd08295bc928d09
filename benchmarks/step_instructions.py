"""Instructions of one step here and in MuJoCo, by valgrind, which do not depend on the load of the machine.

Run: ``python benchmarks/step_instructions.py [--scene NAME ... | --small] [--edges 8] [--steps 100] [--skip 0]
[--stages]``
(valgrind, a C compiler and its ``valgrind/callgrind.h`` are needed; MuJoCo, in the extra ``peers``, is optional).

Each run is made twice, with a number of steps and with twice as many, and the difference gives a step. Our instructions
are split into the compiled loop (less its calls of the mathematical library) and the rest, which is the recording.
Kernels are compiled for a processor that valgrind supports, into a separate cache. The counts are not times: a step
uses more code than the nearest cache holds, and waits for roots and quotients. The first steps of a run can be left
out: a thrown cube comes to rest after the 160th.

With ``--stages`` a second table has a step's instructions by stage, for a loop whose stages are not inlined, which
costs some instructions; calls of the mathematical library belong to the stage.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulation_ours import our_run, world
from simulation_scenes import Scene, scenes
from small_scenes.scenes import ALL, SmallScene, small_scene

NAMES = ("free box at rest", "tumbling cube", "stack of 10", "quadruped standing")
#: Processor whose instructions valgrind supports.
PROCESSOR = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+sse4.2,+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt"}
#: Parts of a step here, in the order of their execution, and in MuJoCo; indented names are sub-parts.
STAGES = (
    "begin", "detect", ". fill_frames", ". free_motion", ". pair_contacts", ". half_space_contacts", ". match_previous",
    "find_islands", ". find_joint_rows", ". label_islands", "next_island", ". build_blocks", ". . contact_jacobian",
    ". copy_variables",
    "run_first_strategies", ". fill_own", ". fill_loads", ". recover", ". strays", ". measure_recovered", ". certified",
    ". walk", "add_joint_rows_stage", "verify_island", ". write_rows", ". write_island",
    "integrate_step", ". integrate_configuration", ". compute_energies", ". write_state",
)  # fmt: skip
OTHER_STAGES = (
    "mj_fwdPosition", ". mj_fwdKinematics", ". mj_kinematics", ". mj_comPos", ". mj_crb", ". mj_makeM", ". mj_factorM",
    ". mj_collision", ". mj_makeConstraint", ". mj_transmission", ". mj_projectConstraint", "mj_fwdVelocity",
    ". mj_rne", ". mj_referenceConstraint", "mj_fwdActuation", "mj_fwdAcceleration", "mj_fwdConstraint", "mj_Euler",
    "mj_implicit",
)  # fmt: skip
REQUESTS = """#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""


def runs_of(scene: Scene | SmallScene, edges: int) -> dict[str, Callable[[int], object]]:
    """Return runs by engine, with this many steps."""
    from contactlab.simulation import TimeStepping, simulate

    driving: dict[str, Any] = {}
    if isinstance(scene, SmallScene):
        place, stepper, driving = scene.world(), TimeStepping(scene.h, edges=edges), scene.kw
    else:
        place, stepper, _ = our_run(scene, edges)
        if scene.reference is not None:
            place = world(scene, drives=True)
    found: dict[str, Callable[[int], object]] = {"contactlab": lambda n: simulate(place, stepper, steps=n, **driving)}
    try:
        from simulation_mujoco import mujoco, mujoco_model
    except ModuleNotFoundError:
        return found
    model = mujoco.MjModel.from_xml_string(scene.xml()) if isinstance(scene, SmallScene) else mujoco_model(scene)

    def steps(n: int) -> None:
        data = mujoco.MjData(model)
        if isinstance(scene, SmallScene):
            mujoco.mj_resetDataKeyframe(model, data, 0)
        for i, body in enumerate(scene.bodies):
            data.qvel[6 * i : 6 * i + 6] = body.velocity
        if not isinstance(scene, SmallScene) and scene.reference is not None:
            data.qpos[7:] = data.ctrl[:] = scene.reference(0.0)
        for _ in range(n):
            mujoco.mj_step(model, data)

    return found | {"mujoco": steps}


def counted(arguments: argparse.Namespace) -> None:
    """Make all runs, and count the instructions between the requests."""
    folder = arguments.counted
    if arguments.stages:
        mark_stages(frozenset(map(plain, STAGES)))
    loaded = hear_of_code() if folder else []
    requests = ctypes.CDLL(str(Path(folder) / "requests.so")) if folder else None
    for name in arguments.scene:
        scene = small_scene(name) if name in ALL else scenes()[name]
        for engine, run in runs_of(scene, arguments.edges).items():
            run(2)
            for times in (1, 2) if requests is not None else ():
                requests.begin()
                run(arguments.skip + times * arguments.steps)
                requests.end(f"{name}|{engine}|{times}".encode())
    if folder:
        (Path(folder) / "places").write_text("\n".join(places_of(loaded)))


def plain(stage: str) -> str:
    """Return a stage's name without the dots of its indentation."""
    return stage.lstrip(". ")


def mark_stages(names: frozenset[str]) -> None:
    """Compile stages as separate functions from here on."""
    import lcp.compiler.pipeline as pipeline
    import lcp.kernels as kernels

    original, drop = kernels.kernel, pipeline._drop_unused_arguments

    def kernel(function: Any = None, **options: bool) -> Any:
        if function is None:
            return lambda function: kernel(function, **options)
        if function.__name__ in names and options.pop("inline", False):
            options["inner"] = True
        return original(function, **options)

    def drop_and_mark(module: Any, codegen: Any) -> None:
        drop(module, codegen)
        for function in module.functions:
            if not function.is_declaration and name_of(function.name) in names:
                function.add_function_attribute("noinline")

    kernels.kernel, pipeline._drop_unused_arguments = kernel, drop_and_mark


def name_of(mangled: str) -> str:
    """Return a kernel's name, without its modules and argument types."""
    name, rest = mangled, mangled[3:]
    while found := re.match(r"\d+", rest):
        end = found.end() + int(found[0])
        name, rest = rest[found.end() : end], rest[end:]
    return name


def hear_of_code() -> list[tuple[Any, bytes]]:
    """Record compiled kernels that are loaded from here on."""
    from numba.core.codegen import CodeLibrary

    loaded: list[tuple[Any, bytes]] = []
    original = CodeLibrary._set_compiled_object

    def set_compiled_object(library: Any, code: bytes) -> None:
        loaded.append((library, bytes(code)))
        original(library, code)

    CodeLibrary._set_compiled_object = set_compiled_object
    return loaded


def places_of(loaded: list[tuple[Any, bytes]]) -> list[str]:
    """Return the start addresses of kernels, and their names, one per line."""
    from llvmlite import binding

    lines = []
    for library, code in loaded:
        parts = {part.name(): bytes(part.data()) for part in binding.ObjectFileRef.from_data(code).sections()}
        names, found = parts[b".strtab"], []
        for name, kind, _, _, at, size in struct.iter_unpack("<IBBHQQ", parts[b".symtab"]):
            if kind & 15 == 2:
                found.append((at, size, kind >> 4, names[name : names.index(b"\0", name)].decode()))
        # Addresses of kernels that others can call are known.
        at, _, _, name = next(one for one in found if one[2] != 0)
        start = library.get_pointer_to_function(name) - at
        lines += [f"{start + at} {name_of(name)}" for at, _, _, name in found]
    return lines


class Dump:
    """Output of callgrind: its name, instructions by address, and by function with all its callees."""

    def __init__(self, path: Path, places: dict[int, str]) -> None:
        self.name, self.place, self.function = "", Counter[str](), Counter[str]()
        place, callee, called = "", "", False
        for line in path.read_text().splitlines():
            key, _, value = line.partition("=")
            if line.startswith("desc: Trigger"):
                self.name = line.rpartition(": ")[2]
            elif key == "ob":
                place = value
            elif key == "cfn":
                callee = value
            elif key == "calls":
                callee = places.get(int(value.split()[1], 16), callee)
                called = True
            elif line[:2] == "0x":
                cost = int(line.split()[-1])
                if called:
                    self.function[callee] += cost
                else:
                    self.place["loop" if place in ("", "???") else "all else"] += cost
                called = False


def tell_stages(steps: dict[tuple[str, str], Dump], names: list[str], count: int) -> None:
    """Print a table of instructions per step, for each engine."""
    for engine, stages in (("contactlab", STAGES), ("mujoco", OTHER_STAGES)):
        print(f"\n| {engine} | " + " | ".join(names) + " |\n| --- |" + " ---: |" * len(names))
        for stage in stages:
            counts = [steps[name, engine].function[plain(stage)] / count for name in names if (name, engine) in steps]
            if any(counts):
                print("|", stage, "|", " | ".join(f"{round(number)}" for number in counts), "|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", nargs="*", choices=(*sorted(scenes()), *ALL), metavar="NAME", default=NAMES)
    parser.add_argument("--small", dest="scene", action="store_const", const=ALL, help="those nothing was tuned on")
    parser.add_argument("--edges", type=int, default=8)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--skip", type=int, default=0, help="steps left out beside the first --steps")
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--counted", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.counted is not None:
        counted(arguments)
        return
    cache = Path(tempfile.gettempdir()) / f"step-instructions-{os.getuid()}{'-stages' if arguments.stages else ''}"
    environment = {**os.environ, **PROCESSOR, "NUMBA_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    again = [sys.executable, __file__, *sys.argv[1:], "--counted"]
    subprocess.run([*again, ""], env=environment, check=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "requests.c").write_text(REQUESTS)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{folder}/requests.so", f"{folder}/requests.c"], check=True)
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/dump"]
        valgrind += ["--dump-instr=yes", "--compress-pos=no", "--compress-strings=no"]
        subprocess.run([*valgrind, *again, folder], env=environment, check=True)
        lines = (Path(folder) / "places").read_text().splitlines()
        places = {int(place): name for place, name in (line.split() for line in lines)}
        dumps = {dump.name: dump for dump in (Dump(path, places) for path in Path(folder).glob("dump.*"))}
    steps: dict[tuple[str, str], Dump] = {}
    print("scene | engine | instructions a step | of them in the loop")
    for key in sorted(name[:-2] for name in dumps if name.endswith("|1")):
        step = dumps[f"{key}|2"]
        step.place.subtract(dumps[f"{key}|1"].place)
        step.function.subtract(dumps[f"{key}|1"].function)
        name, engine = key.split("|")
        steps[name, engine] = step
        loop = f"{step.place['loop'] / arguments.steps:.0f}" if engine == "contactlab" else ""
        print(name, engine, f"{step.place.total() / arguments.steps:.0f}", loop, sep=" | ")
    if arguments.stages:
        tell_stages(steps, arguments.scene, arguments.steps)


if __name__ == "__main__":
    main()

"""All scenes of examples/scenes: seconds of the processor of whole runs, with compiled kernels and Python started.

Run: ``python benchmarks/ready_scenes.py [--out benchmarks/results/ready_scenes_DATE] [--scene NAME ...]``. Writes
OUT.csv and OUT.md. Records go to a file, as records of `contactlab run` do; one process runs all.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from tables import write

from contactlab.simulation import simulate
from contactlab.simulation.scene import load_scene

SCENES = Path(__file__).resolve().parents[1] / "examples" / "scenes"
HEAD = ("scene", "bodies", "steps", "seconds", "worst scaled residual", "uncertified islands")


def main() -> None:
    """Run, print and write."""
    names = sorted(file.stem for file in SCENES.glob("*.toml"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="results without suffix: OUT.csv and OUT.md")
    parser.add_argument("--scene", nargs="*", default=names, choices=names, metavar="NAME")
    options = parser.parse_args()
    lines: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.scene:
            scene = load_scene(SCENES / f"{name}.toml")
            simulate(scene.world, scene.stepper, scene.duration)  # compiles, also kernels that only later contacts need
            begun = time.process_time()
            recording = simulate(scene.world, scene.stepper, scene.duration, path=Path(folder) / f"{name}.npz")
            seconds = time.process_time() - begun
            worst, lost = recording.worst_certificate().scaled, len(recording.uncertified)
            lines.append([name, scene.world.model.nb, recording.n_steps, f"{seconds:.2f}", f"{worst:.0e}", lost])
            print(*lines[-1], flush=True)
    if options.out is not None:
        write(options.out, "", "", HEAD, lines)


if __name__ == "__main__":
    main()

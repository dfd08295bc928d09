"""Piles, a tower, dominoes, an arch: whole runs compared with `mj_step`, and the number of islands given to a solver.

Run: ``python benchmarks/piles.py [--out benchmarks/results/piles_DATE] [--scene "216 spheres" ...] [--seed 11]
[--limit 120] [--edges 4 8 cone]``. Writes OUT.csv and OUT.md anew after every scene.

The scenes (``simulation_scenes.py``) have the same bodies, friction, start and step (h = 2 ms) in both engines, and
pyramids of four edges unless ``--edges`` selects others for ours (``cone``: circular cones). MuJoCo has its defaults
except for h. Bodies of 0.2 m and 1 kg fall into a bin and settle (mu 0.5). Planks lie crosswise, three to a layer (mu
0.8). Thirty dominoes fall. A heap mixes spheres, boxes and capsules. A hundred boxes fall in aligned columns. An arch
of fifteen stones stands.

A scene is first run in pieces, which gives the contacts and the slowest step; then whole, in one call, which gives ``ms
a step``. Seconds are seconds of the processor, on one thread; a piece in which a kernel was compiled is repeated. Every
step of ours is recorded and certified; MuJoCo records nothing. ``fell back`` counts islands given to a solver,
``other`` those whose forces are certified but not selected (`ForceChoice.OTHER_SOLUTION`). A run that needs more than
``--limit`` seconds, or fails, is kept with its completed steps, and compared with as many of MuJoCo's.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from simulation_ours import world
from simulation_scenes import Scene, aligned_boxes, arch, dominoes, heap, pile, tower
from tables import environment, write

from contactlab import ForceChoice
from contactlab.lab.conformance.peers import import_mujoco
from contactlab.simulation import Simulation, SimulationError, TimeStepping, simulate
from lcp.compiler import count_compilations

SCENES = (
    "20 spheres", "60 spheres", "216 spheres", "20 boxes", "100 boxes", "tower of 90",
    "30 dominoes", "heap of 27", "100 aligned boxes", "arch of 15",
)  # fmt: skip
HEAD = (
    "scene", "edges", "seed", "steps", "of", "contacts", "largest", "ms a step", "mj_step", "ratio", "worst step",
    "islands", "fell back", "other", "worst", "their contacts", "note",
)  # fmt: skip
TRIES = 3  # runs of a piece with compilation before one of them counts
WARNINGS = ("inertia", "contact memory", "constraint memory", "bad qpos", "bad qvel", "bad qacc", "bad control")


@dataclass
class Pile:
    """Cost and results of a run."""

    scene: Scene
    done: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    contacts: int = 0
    largest: int = 0
    worst: float = 0.0
    islands: int = 0
    fell_back: int = 0
    other: int = 0
    note: str = ""

    def run(self, stepper: TimeStepping, limit: float) -> None:
        """Run piece by piece, up to the time limit."""
        place = world(self.scene)
        state = place.initial_state()
        simulate(place, stepper, steps=1)
        Simulation(place, stepper).compile()
        while self.done < self.scene.steps and not self.note:
            if self.seconds > limit:
                self.note = f"stopped after {limit:g} s"
                return
            steps, compiled, tries = min(10, self.scene.steps - self.done), True, 0
            while compiled and tries < TRIES:  # again if kernels were compiled, which would count
                tries += 1
                with count_compilations() as watch:
                    start = time.process_time()
                    try:
                        piece = simulate(place, stepper, steps=steps, state=state)
                    except SimulationError as error:
                        piece, self.note = error.recording, f"step {self.done + error.step}: {error}".splitlines()[0]
                    spent = time.process_time() - start
                compiled = bool(watch.compiled)
            self.seconds += spent
            self.done += piece.n_steps
            if not piece.n_steps:
                return
            self.slowest = max(self.slowest, spent / piece.n_steps)
            counts = np.bincount(piece.rows["contact_step"], minlength=1)
            self.contacts += int(counts.sum())
            self.largest = max(self.largest, int(counts.max()))
            self.worst = max(self.worst, piece.worst_certificate().scaled)
            self.islands += int(piece.islands.sum())
            self.fell_back += int(np.count_nonzero(piece.rows["island_pivots"]))
            self.other += int(piece.count_by_choice(ForceChoice.OTHER_SOLUTION).sum())
            state = piece.state(piece.n_steps)
        if not self.note:
            start = time.process_time()
            simulate(place, stepper, steps=self.scene.steps)
            self.seconds = time.process_time() - start


@dataclass
class Peer:
    """Cost of a run of MuJoCo: seconds per step and mean contacts, nan without it, and the text of a failure."""

    seconds: float = float("nan")
    contacts: float = float("nan")
    note: str = ""

    @classmethod
    def of(cls, scene: Scene) -> Peer:
        """Make a run once to count, and once more to measure."""
        try:
            from simulation_mujoco import mujoco, mujoco_data, mujoco_model
        except ModuleNotFoundError:
            return cls()
        model = mujoco_model(scene)
        data, contacts = mujoco_data(scene, model), 0
        for _ in range(scene.steps):
            mujoco.mj_step(model, data)
            contacts += data.ncon
        warned = [name for name, one in zip(WARNINGS, data.warning, strict=False) if one.number]
        data = mujoco_data(scene, model)
        start = time.process_time()
        for _ in range(scene.steps):
            mujoco.mj_step(model, data)
        spent = time.process_time() - start
        return cls(spent / scene.steps, contacts / scene.steps, f"MuJoCo warns: {', '.join(warned)}" if warned else "")


def scene_of(name: str, seed: int) -> Scene:
    """Return the scene of this name."""
    words = name.split()
    if words[0] in ("tower", "heap", "arch"):
        count = int(words[-1])
        return arch(count) if words[0] == "arch" else {"tower": tower, "heap": heap}[words[0]](count, seed)
    if words[-1] == "dominoes":
        return dominoes(int(words[0]))
    if words[1] == "aligned":
        return aligned_boxes(int(words[0]), seed)
    return pile(words[1], int(words[0]), seed)


def line(name: str, seed: int, edges: int | str, limit: float) -> list[str]:
    """Return one row of the table."""
    scene = scene_of(name, seed)
    ours = Pile(scene)
    cone = isinstance(edges, str)
    ours.run(TimeStepping(scene.h, friction="cone") if cone else TimeStepping(scene.h, edges=edges), limit)
    # A short run is compared with the same steps of the other.
    theirs = Peer.of(replace(scene, steps=max(ours.done, 1)))
    mine = ours.seconds / max(ours.done, 1)
    return [
        name, str(edges), str(seed), str(ours.done), str(scene.steps), f"{ours.contacts / max(ours.done, 1):.0f}",
        str(ours.largest), f"{1e3 * mine:.3g}", f"{1e3 * theirs.seconds:.3g}", f"{mine / theirs.seconds:.2g}",
        f"{1e3 * ours.slowest:.3g}", str(ours.islands), str(ours.fell_back), str(ours.other), f"{ours.worst:.1e}",
        f"{theirs.contacts:.0f}", "; ".join(note for note in (ours.note, theirs.note) if note),
    ]  # fmt: skip


def main() -> None:
    """Run the requested scenes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--scene", nargs="*", default=SCENES)
    parser.add_argument("--seed", type=int, nargs="*", default=(11,))
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument(
        "--edges",
        type=lambda text: text if text == "cone" else int(text),
        nargs="*",
        default=(4,),
        help="of our pyramids, or cone; MuJoCo's have four",
    )
    given = parser.parse_args()
    with contextlib.suppress(ModuleNotFoundError):
        import_mujoco()  # before anything is measured
    note = "seconds of the processor"
    print(environment(), note, sep="; ", flush=True)
    print(*HEAD, sep=" | ", flush=True)
    lines = []
    for name in given.scene:
        for edges, seed in itertools.product(given.edges, given.seed):
            lines.append(line(name, seed, edges, given.limit))
            print(*lines[-1], sep=" | ", flush=True)
            if given.out is not None:
                write(given.out, "", note, HEAD, lines)


if __name__ == "__main__":
    main()

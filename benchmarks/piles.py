"""Piles and a tower: whole runs beside `mj_step`, and how many of their islands needed a solver.

Run: ``python benchmarks/piles.py [--out benchmarks/results/piles_DATE] [--scene "216 spheres" ...] [--seed 11]
[--limit 120] [--edges 4]``. Writes OUT.csv and OUT.md anew after every scene.

Bodies of 0.2 m and 1 kg fall into a bin and settle (h = 2 ms, mu 0.5); planks lie crosswise, three to a layer (mu 0.8).
Seconds are of the processor, one thread, nothing compiled, every step recorded and certified; MuJoCo at its defaults
but for h. ``fell back`` counts islands for which a solver was asked, ``other`` those whose forces are certified and not
the ones selected (`Choice.NOT_SELECTED`), whatever found them.
A run that needs more than ``--limit`` seconds, or fails, is kept with the steps it did.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from simulation_ours import world
from simulation_scenes import Scene, pile, tower
from tables import write

from contactlab import Choice
from contactlab.simulation import Simulation, SimulationError, TimeStepping, simulate

SCENES = ("20 spheres", "60 spheres", "216 spheres", "20 boxes", "100 boxes", "tower of 90")
HEAD = (
    "scene", "seed", "steps", "of", "contacts", "largest", "ms a step", "mj_step", "ratio", "worst step",
    "islands", "fell back", "other", "worst", "note",
)  # fmt: skip


@dataclass
class Pile:
    """What a run cost and found."""

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
        """Advance piece by piece, as far as the limit reaches."""
        place = world(self.scene)
        state = place.initial_state()
        simulate(place, stepper, steps=1)
        Simulation(place, stepper).compile()
        while self.done < self.scene.steps and not self.note:
            if self.seconds > limit:
                self.note = f"stopped after {limit:g} s"
                return
            steps = min(10, self.scene.steps - self.done)
            start = time.process_time()
            try:
                piece = simulate(place, stepper, steps=steps, state=state)
            except SimulationError as error:
                piece, self.note = error.recording, f"step {self.done + error.step}: {error}".splitlines()[0]
            spent = time.process_time() - start
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
            self.other += int(piece.chosen(Choice.NOT_SELECTED).sum())
            state = piece.state(piece.n_steps)


def mujoco_seconds(scene: Scene) -> float:
    """Seconds of a step of MuJoCo, nan without it."""
    try:
        import mujoco
        from simulation_mujoco import mujoco_model
    except ModuleNotFoundError:
        return float("nan")
    model = mujoco_model(scene)
    data = mujoco.MjData(model)
    start = time.process_time()
    for _ in range(scene.steps):
        mujoco.mj_step(model, data)
    return (time.process_time() - start) / scene.steps


def scene_of(name: str, seed: int) -> Scene:
    """The scene of this name."""
    if name.startswith("tower of "):
        return tower(int(name.removeprefix("tower of ")), seed)
    count, kind = name.split()
    return pile(kind, int(count), seed)


def line(name: str, seed: int, edges: int, limit: float) -> list[str]:
    """One row of the table."""
    scene = scene_of(name, seed)
    ours = Pile(scene)
    ours.run(TimeStepping(scene.h, edges=edges), limit)
    # A short run is compared with the same steps of the other.
    theirs = mujoco_seconds(replace(scene, steps=max(ours.done, 1)))
    mine = ours.seconds / max(ours.done, 1)
    return [
        name, str(seed), str(ours.done), str(scene.steps), f"{ours.contacts / max(ours.done, 1):.0f}",
        str(ours.largest), f"{1e3 * mine:.3g}", f"{1e3 * theirs:.3g}", f"{mine / theirs:.2g}",
        f"{1e3 * ours.slowest:.3g}", str(ours.islands), str(ours.fell_back), str(ours.other), f"{ours.worst:.1e}",
        ours.note,
    ]  # fmt: skip


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--scene", nargs="*", default=SCENES)
    parser.add_argument("--seed", type=int, nargs="*", default=(11,))
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--edges", type=int, default=4)
    given = parser.parse_args()
    lines = []
    for name in given.scene:
        for seed in given.seed:
            lines.append(line(name, seed, given.edges, given.limit))
            print(*lines[-1], sep=" | ", flush=True)
            if given.out is not None:
                write(given.out, "", f"seconds of the processor, k = {given.edges}", HEAD, lines)


if __name__ == "__main__":
    main()

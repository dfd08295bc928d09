"""SimBenchmark's scenes (rolling, bouncing, 666, elastic 666, Kapla) here, beside the published figures.

Run: ``python benchmarks/simbenchmark.py [--out benchmarks/results/simbenchmark_DATE] [--scene NAME ...]
[--limit 120]``.

Scenes, definitions of the errors and the published rows: Kang and Hwangbo, SimBenchmark (ETH Zurich, 2018), engines of
that year on an i7-7700HQ. ERP, CFM and damping are 0 there and here. Our runs are recorded and certified; CPU seconds
are of one thread, without compilation. A run that needs more than ``--limit`` seconds of the processor, or fails, is
kept with its completed steps: its error is the mean over those, with a note. Runs are cut into pieces so that no record
grows.

All runs of a scene have the same settings, for every step (`SETTINGS`). If e = 1, ``restitution_threshold`` = 0,
because nothing there comes to rest and every closing contact is an impact. If e = 0, ``restitution_threshold`` = 1000
m/s, so there are no impacts: a contact then closes its gap within the step, where the impact rule would stop it before.
``margin`` = 0 for single balls on the ground, whose gap is exact; elsewhere it admits contacts that form within the
step.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from simbenchmark_scenes import (
    DIRECTIONS,
    Array,
    block_of_spheres,
    bouncing,
    energy_error,
    kapla,
    midstep_energy_error,
    penetrations,
    push,
    rolling,
    rolling_error,
    rolling_facet_error,
)
from tables import markdown, write

from contactlab.simulation import Recording, SimulationError, TimeStepping, World, simulate

NO_IMPACTS = 1e3  # m/s

SETTINGS = {
    "rolling": TimeStepping(1e-3),
    "bouncing": TimeStepping(1e-3, edges=4, restitution_threshold=0.0, margin=0.0),
    "666": TimeStepping(1e-3, edges=4, restitution_threshold=NO_IMPACTS, margin=5e-3),
    "elastic 666": TimeStepping(1e-3, edges=4, restitution_threshold=0.0, margin=0.0),
    "kapla": TimeStepping(1e-2, edges=4, restitution_threshold=NO_IMPACTS, reduce_contacts=True),
}

#: Published errors, by scene and step; for rolling by direction of the force at 1 ms. CPU seconds at 1 ms.
PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    "rolling": {
        "y": {"RaiSim": 4.08e-7, "Bullet": 7e-28, "ODE": 7.6e-9, "MuJoCo": 9.2e-3, "DART": 0.426},
        "oblique": {"RaiSim": 4.09e-7, "Bullet": 3.9e-27, "ODE": 3.145, "MuJoCo": 7.1e-3, "DART": 3.145},
        "CPU s": {"RaiSim": 1.10, "Bullet": 1.8, "ODE": 22.6, "MuJoCo": 1.5, "DART": 2.7},
    },
    "bouncing": {
        "0.001": {"RaiSim": 0.0186, "ODE": 185, "Bullet": 75245, "DART": 72274},
        "0.01": {"RaiSim": 186, "ODE": 18808, "Bullet": 7.4e6, "DART": 7.4e6},
        "CPU s": {"RaiSim": 0.24, "ODE": 1.9, "Bullet": 0.86, "DART": 3.2},
    },
    "666": {
        "0.001": {"RaiSim": 1.35e-4, "ODE": 1.55e-4, "MuJoCo": 0.0950, "Bullet": 0.382, "DART": 2.8e-4},
        "0.01": {"RaiSim": 0.0153, "ODE": 0.0161, "MuJoCo": 0.933, "Bullet": 37.4, "DART": 215},
        "CPU s": {"RaiSim": 1.5, "ODE": 10.6, "MuJoCo": 12, "Bullet": 12.0, "DART": 22.9},
    },
    "elastic 666": {
        "0.001": {"RaiSim": 8.4, "ODE": 112, "Bullet": 41498, "DART": 346909},
    },
    "kapla": {
        "steps stood": {"RaiSim": 60000, "Bullet": 147, "ODE": 122, "MuJoCo": 3300, "DART": 19},
        "CPU s": {"RaiSim": 2885, "Bullet": 33, "ODE": 21, "MuJoCo": 61, "DART": 6},
    },
}

HEAD = ("scene", "case", "dt", "edges", "error", "second", "steps", "of", "cpu_s", "contacts", "worst", "note")


@dataclass
class Run:
    """Run in pieces: its cost, its residuals, and the reason of an early end."""

    world: World
    stepper: TimeStepping
    steps: int
    limit: float
    tau: Array | None = None
    done: int = 0
    cpu: float = 0.0
    contacts: int = 0
    worst: float = 0.0
    note: str = ""

    def pieces(self) -> Iterator[Recording]:
        """Run piece by piece; the work of the caller on a piece is not timed."""
        state = self.world.initial_state()
        simulate(self.world, self.stepper, steps=1, tau=self.tau)  # compiles
        length = 1  # grows until a piece takes about a second: the limit is respected, and the record stays small
        while self.done < self.steps:
            if self.cpu > self.limit:
                self.note = f"stopped after {self.limit:g} s"
                return
            start = time.process_time()
            try:
                steps = min(length, self.steps - self.done)
                piece = simulate(self.world, self.stepper, steps=steps, state=state, tau=self.tau)
            except SimulationError as error:
                piece, self.note = error.recording, f"step {self.done + error.step}: {error}".splitlines()[0]
            spent = time.process_time() - start
            self.cpu += spent
            self.done += piece.n_steps
            self.contacts += len(piece.contacts)
            self.worst = max(self.worst, piece.worst_certificate().scaled)
            if piece.n_steps:
                yield piece
            if self.note:
                return
            state = piece.state(piece.n_steps)
            length = int(np.clip(length * min(4.0, 1.0 / max(spent, 1e-9)), 1, 200))

    def row(self, scene: str, case: str, error: float, second: float = float("nan")) -> list[str]:
        """Return one line of the table."""
        found = [
            scene, case, f"{self.stepper.h:g}", str(self.stepper.edges), f"{error:.3g}",
            "" if np.isnan(second) else f"{second:.3g}", str(self.done), str(self.steps), f"{self.cpu:.1f}",
            f"{self.contacts / max(self.done, 1):.1f}", f"{self.worst:.1e}", self.note,
        ]  # fmt: skip
        print(*found, sep=" | ", flush=True)
        return found


def rolling_rows(limit: float) -> Iterator[list[str]]:
    """1a: mean squared velocity error. Of these cones only k = 12 has an edge at 60 degrees.

    ``second`` is the closed form with only the facets' error. The original scene's overlaps shift the points of contact
    by 2e-5 m; if bodies touch without overlap ("touching"), only the cone's edges remain.
    """
    for overlap, cones in ((2e-5, (4, 8, 12, 16)), (0.0, (8, 12))):
        world, touching = rolling(overlap=overlap), "" if overlap else ", touching"
        for h in (1e-2, 1e-3):
            for edges in cones:
                for name, direction in DIRECTIONS.items():
                    stepper = replace(SETTINGS["rolling"], h=h, edges=edges)
                    run = Run(world, stepper, round(4.0 / h), limit, push(world, direction))
                    errors = [rolling_error(p.time[:-1], p.v[:-1], direction) for p in run.pieces()]
                    facets = rolling_facet_error(np.arange(0.0, run.done) * h, direction, edges)
                    yield run.row("rolling", name + touching, float(np.mean(np.concatenate(errors))), facets)


def bouncing_rows(limit: float) -> Iterator[list[str]]:
    """1b: mean squared energy error, and the same with the velocity read at the time of the position."""
    yield from _energies("bouncing", "", bouncing(), 20.0, (1e-2, 1e-3), limit)


def elastic_rows(limit: float) -> Iterator[list[str]]:
    """1d: mean squared energy error over 10 s."""
    for seed in (0, 1):
        world = block_of_spheres(seed, elastic=True)
        yield from _energies("elastic 666", f"seed {seed}", world, 10.0, (1e-2, 1e-3), limit)


def _energies(
    scene: str, case: str, world: World, seconds: float, sizes: tuple[float, ...], limit: float
) -> Iterator[list[str]]:
    for h in sizes:
        run = Run(world, replace(SETTINGS[scene], h=h), round(seconds / h), limit)
        plain, shifted, start = [], [], None
        for piece in run.pieces():
            if start is None:
                start = float(piece.kinetic[0] + piece.potential[0])
            plain.append(energy_error(piece, start))
            shifted.append(midstep_energy_error(piece, start))
        yield run.row(scene, case, float(np.mean(np.concatenate(plain))), float(np.mean(np.concatenate(shifted))))


def collapse_rows(limit: float) -> Iterator[list[str]]:
    """1c: mean over 10 s of the summed squared penetrations [m^2], several seeds."""
    for h, seeds in ((1e-2, (0, 1, 2)), (1e-3, (0,))):
        for seed in seeds:
            run = Run(block_of_spheres(seed), replace(SETTINGS["666"], h=h), round(10.0 / h), limit)
            sums = [penetrations(p.q[:-1].reshape(p.n_steps, -1, 7)[:, :, :3]) for p in run.pieces()]
            yield run.row("666", f"seed {seed}", float(np.mean(np.concatenate(sums))))


def kapla_rows(limit: float) -> Iterator[list[str]]:
    """1e: steps until the last block's centre falls below 1 m; ``second`` is its sinking [m]."""
    run = Run(kapla(), SETTINGS["kapla"], 60000, limit)
    start = height = float(run.world.initial_q[-5])
    for piece in run.pieces():
        heights = piece.q[1:, -5]
        height = float(heights[-1])
        if heights.min() < 1.0:
            fallen = run.done - piece.n_steps + int(np.argmax(heights < 1.0))
            run.note = f"fell at step {fallen}"
            break
    yield run.row("kapla", "102 blocks", float(run.done), start - height)


ROWS: dict[str, Callable[[float], Iterator[list[str]]]] = {
    "rolling": rolling_rows,
    "bouncing": bouncing_rows,
    "666": collapse_rows,
    "elastic 666": elastic_rows,
    "kapla": kapla_rows,
}


def published() -> str:
    """Return the published figures in Markdown."""
    engines = ("RaiSim", "ODE", "MuJoCo", "Bullet", "DART")
    lines = [
        [scene, what, *(f"{figures[engine]:.3g}" if engine in figures else "" for engine in engines)]
        for scene, cases in PUBLISHED.items()
        for what, figures in cases.items()
    ]
    return markdown(("scene", "case", *engines), lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="results without suffix: OUT.csv and OUT.md")
    parser.add_argument("--scene", nargs="*", choices=sorted(ROWS), help="only these")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of the processor for one run")
    arguments = parser.parse_args()
    lines: list[list[str]] = []
    for name, rows in ROWS.items():
        if arguments.scene is not None and name not in arguments.scene:
            continue
        for line in rows(arguments.limit):
            lines.append(line)
            if arguments.out is not None:
                write(arguments.out, "", "", HEAD, lines, f"Published:\n\n{published()}\nMeasured:\n\n")


if __name__ == "__main__":
    main()

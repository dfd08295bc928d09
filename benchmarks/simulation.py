"""Simulation speed here, in MuJoCo and in Drake, side by side, each through its Python API.

Run: ``python benchmarks/simulation.py [--out benchmarks/results/simulation_DATE] [--rounds 5] [--scene NAME ...]
[--exponents] [--tosses FILE]`` (MuJoCo and Drake, in the extra ``peers``, are optional: without them their rows are
missing). Writes OUT.csv and OUT.md.

Seven scenes, the same bodies, friction and step (2 ms) in every engine, from the same start (``simulation_scenes.py``).
MuJoCo at its defaults (Newton, pyramids of four edges); Drake's discrete plant with point contact, three of its
approximations; contactlab at its defaults with pyramids of eight edges, and of four. Everything of ours is recorded and
certified while it is timed; MuJoCo's rollout records states; its loop and Drake record nothing.

A round runs every variant once, in turn; figures are medians over the rounds with the quartiles. One thread: seconds of
the processor, which a neighbour on the machine disturbs less than the wall's; more threads: seconds of the wall.
``ratio`` is the median over the rounds of the variant's speed over that of MuJoCo's loop in the same round. Compilation
is never timed. A run that fails keeps its row, with the reason; its speed is that up to the failure, in brackets in the
table.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from simulation_ours import our_runs, world
from simulation_scenes import Scene, free_boxes, resting_boxes, scenes, stacked_boxes

from contactlab.simulation import SimulationError, TimeStepping, simulate

BASE = ("mujoco", "mj_step loop")
SHORTEST = 0.05  # seconds of a run below which it is repeated within a round
LONG, BUDGET = 5.0, 30.0  # seconds of a run from which on it is not made once more unmeasured; of all runs of a variant


@dataclass
class Row:
    """One variant of one engine in one scene."""

    engine: str
    variant: str
    run: Callable[[], object]
    steps: int
    contacts: float = float("nan")
    worst: float = float("nan")
    failure: str = ""
    rates: list[float] = field(default_factory=list)

    @property
    def threads(self) -> int:
        """How many run at once."""
        return 2 if "2 threads" in self.variant else 1


def timed(row: Row, repeats: int = 1) -> float:
    """Seconds of one run: of the processor on one thread, of the wall on more."""
    clock = time.process_time if row.threads == 1 else time.perf_counter
    start = clock()
    for _ in range(repeats):
        row.run()
    return (clock() - start) / repeats


def rows_of(scene: Scene) -> list[Row]:
    """All variants that can be had of a scene; what fails is known afterwards and keeps its row."""
    rows: list[Row] = []
    for edges in (8, 4):
        runs, recorded = our_runs(scene, edges)
        contacts = worst = float("nan")
        failure = ""
        try:
            record = recorded()
        except SimulationError as error:
            failure = f"step {error.step} of {scene.steps}: {error}".splitlines()[0]
            record = error.recording
        if record.n_steps:
            contacts, worst = len(record.contacts) / record.n_steps, record.worst_certificate().scaled
        reached = record.n_steps / scene.steps
        for variant, (run, steps) in runs.items():
            run = _until_failure(run) if failure else run
            rows.append(
                Row(f"contactlab, {edges} edges", variant, run, round(steps * reached), contacts, worst, failure)
            )
    rows += _peers("mujoco", "mujoco", scene)
    for approximation in ("Sap", "Lagged", "Tamsi"):
        rows += _peers("drake", f"drake {approximation}", scene, approximation)
    return rows


def _until_failure(run: Callable[[], object]) -> Callable[[], object]:
    def attempt() -> None:
        with contextlib.suppress(SimulationError):
            run()

    return attempt


def _peers(engine: str, name: str, scene: Scene, *arguments: object) -> list[Row]:
    """Rows of a peer; none where it is not installed, a row with the reason where it fails."""
    try:
        make = getattr(importlib.import_module(f"simulation_{engine}"), f"{engine}_runs")
    except ImportError:
        return []
    runs, contacts = make(scene, *arguments)
    try:
        count, failure = contacts(), ""
    except RuntimeError as error:
        count, failure = float("nan"), str(error).split(". ")[0]
    if failure:
        return [Row(name, next(iter(runs)), lambda: None, 0, count, failure=failure)]
    return [Row(name, variant, run, steps, count) for variant, (run, steps) in runs.items()]


def measure(scene: Scene, rounds: int) -> list[Row]:
    """Rates of all variants, interleaved; a run of many seconds is made as often as fits `BUDGET`, once at least."""
    rows = rows_of(scene)
    able = [row for row in rows if row.steps]
    repeats, times = [1] * len(able), [rounds] * len(able)
    for i, row in enumerate(able):  # the first run compiles, unless it is ours: that is compiled by now
        seconds = timed(row)
        if seconds > LONG:
            row.rates.append(row.steps / seconds)
            times[i] = min(rounds, int(BUDGET / seconds)) - 1
        else:
            repeats[i] = max(1, int(np.ceil(SHORTEST / max(timed(row), 1e-6))))
    for k in range(rounds):
        for i, row in enumerate(able):
            if k < times[i]:
                row.rates.append(row.steps / timed(row, repeats[i]))
    return rows


HEAD = ("scene", "engine", "variant", "threads", "steps", "contacts", "steps_per_s", "lower", "upper", "ratio", "worst")


def table(scene: Scene, rows: Iterable[Row]) -> list[list[str]]:
    """Lines of the CSV file."""
    rows = list(rows)
    base = next((row.rates for row in rows if (row.engine, row.variant) == BASE), [])
    lines = []
    for row in rows:
        quartiles = np.percentile(row.rates, (50, 25, 75)) if row.rates else [np.nan] * 3
        ratios = [a / b for a, b in zip(row.rates, base, strict=False)]
        ratio = f"{statistics.median(ratios):.3f}" if ratios else ""
        lines.append(
            [
                scene.name, row.engine, row.variant, str(row.threads), str(row.steps), f"{row.contacts:.1f}",
                *(f"{value:.0f}" for value in quartiles), ratio, "" if np.isnan(row.worst) else f"{row.worst:.1e}",
                row.failure,
            ]
        )  # fmt: skip
        print(*lines[-1], sep=" | ", flush=True)
    return lines


def exponents(edges: int = 8) -> list[list[str]]:
    """Cost of a step against the number of bodies, and the slope of its logarithm over the larger half."""
    families = {
        "free": (free_boxes, (1, 10, 30, 100, 300, 1000)),
        "resting apart": (resting_boxes, (1, 10, 30, 100, 300)),
        "stacked": (stacked_boxes, (1, 2, 5, 10, 20, 40)),
    }
    lines = []
    for name, (make, counts) in families.items():
        costs, contacts = [], []
        for count in counts:
            scene = Scene(name, max(5, 1000 // count), make(count))
            place, stepper = world(scene), TimeStepping(scene.h, edges=edges)
            record = simulate(place, stepper, steps=2)
            seconds = []
            for _ in range(5):
                start = time.process_time()
                record = simulate(place, stepper, steps=scene.steps)
                seconds.append((time.process_time() - start) / scene.steps)
            costs.append(1e6 * statistics.median(seconds))
            contacts.append(len(record.contacts) / record.n_steps)
        half = len(counts) // 2
        slope = np.polyfit(np.log(counts[half:]), np.log(costs[half:]), 1)[0]
        for i, count in enumerate(counts):
            lines.append([name, str(count), f"{contacts[i]:.1f}", f"{costs[i]:.1f}", f"{slope:.2f}"])
            print(*lines[-1], sep=" | ", flush=True)
    return lines


def tosses(path: Path) -> list[list[str]]:
    """Seconds for all tosses of a file at the settings of ``contactlab toss``, on one thread and on two."""
    from contactlab.lab.datasets import load_cube_tosses
    from contactlab.studies import TossSettings, run_tosses

    data, lines = load_cube_tosses(path), []
    for workers in (1, 2):
        best = min((run_tosses(data, TossSettings(), workers=workers) for _ in range(2)), key=lambda one: one.seconds)
        lines.append(
            [
                str(workers), str(best.tosses), str(best.steps), f"{best.seconds:.2f}", str(len(best.failures)),
                f"{best.worst_scaled:.1e}",
            ]
        )  # fmt: skip
        print("tosses", *lines[-1], sep=" | ", flush=True)
    return lines


def markdown(head: Iterable[str], lines: list[list[str]]) -> str:
    """A table in Markdown."""
    head = list(head)
    rows = [head, ["---"] * len(head), *lines]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def summary(lines: list[list[str]]) -> str:
    """The speeds in Markdown, a column a scene: steps per second, and in brackets the ratio to MuJoCo's loop."""
    names = list(dict.fromkeys(line[0] for line in lines))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for line in lines:
        speed = "failed" if line[6] == "nan" else f"{_three_digits(float(line[6]))} ({float(line[9] or 'nan'):.2g})"
        cells.setdefault((line[1], line[2]), {})[line[0]] = f"[{speed}]" if line[-1] and speed != "failed" else speed
    rows = [
        [f"{engine}: {variant}", *(found.get(name, "") for name in names)] for (engine, variant), found in cells.items()
    ]
    return markdown(("steps per second (ratio)", *names), rows)


def _three_digits(value: float) -> str:
    """A count with three digits, thousands apart."""
    digits = max(0, len(f"{value:.0f}") - 3)
    return f"{round(value, -digits):,.0f}".replace(",", " ")


def environment() -> str:
    """One line on the machine and the versions."""
    names = []
    for name in ("numpy", "numba", "mujoco", "drake"):
        try:
            names.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            names.append(f"no {name}")
    return f"{platform.machine()}, Python {platform.python_version()}, {', '.join(names)}"


def write(out: Path, name: str, note: str, head: tuple[str, ...], lines: list[list[str]], first: str = "") -> None:
    """Write OUT_name.csv and OUT_name.md, there with ``first`` before the table."""
    target = out.with_name(f"{out.name}{name}")
    with target.with_suffix(".csv").open("w", newline="") as file:
        file.write(f"# {environment()}; {note}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)
    target.with_suffix(".md").write_text(f"{environment()}; {note}\n\n{first}{markdown(head, lines)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="results without suffix: OUT.csv, OUT.md, OUT_exponents.csv, ...")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scene", nargs="*", choices=sorted(scenes()), help="only these")
    parser.add_argument("--exponents", action="store_true", help="also the cost of a step against bodies")
    parser.add_argument("--tosses", type=Path, metavar="FILE", help="also the seconds for all tosses of this file")
    arguments = parser.parse_args()
    out = arguments.out
    lines: list[list[str]] = []
    for name, scene in scenes().items():
        if arguments.scene is None or name in arguments.scene:
            lines += table(scene, measure(scene, arguments.rounds))
            if out is not None:
                note = f"{arguments.rounds} rounds, h = 2 ms"
                write(out, "", note, (*HEAD, "failure"), lines, summary(lines) + "\n")
    if arguments.exponents:
        head = ("bodies are", "bodies", "contacts", "us_per_step", "exponent")
        found = exponents()
        if out is not None:
            write(out, "_exponents", "processor time, medians of 5", head, found)
    if arguments.tosses is not None:
        head = ("threads", "tosses", "steps", "seconds", "failures", "worst")
        found = tosses(arguments.tosses)
        if out is not None:
            write(out, "_tosses", "seconds of the wall, better of 2", head, found)


if __name__ == "__main__":
    main()

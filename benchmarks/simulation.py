"""Simulation speed here, in MuJoCo and in Drake, each through its Python API.

Run: ``python benchmarks/simulation.py [--out benchmarks/results/simulation_DATE] [--rounds 5] [--scene NAME ...]
[--limit 300] [--exponents] [--tosses FILE]`` (MuJoCo and Drake, in the extra ``peers``, are optional: without them
their rows are missing). Writes OUT.csv and OUT.md anew whenever a row has been measured.

Seven scenes, the same bodies, friction and step (2 ms) in every engine, from the same start (``simulation_scenes.py``).
MuJoCo at its defaults (Newton, pyramids of four edges); Drake's discrete plant with point contact, three of its
approximations; contactlab at its defaults with pyramids of eight edges, and of four. Everything of ours is recorded and
certified while it is timed; MuJoCo's rollout records states; its loop and Drake record nothing.

A round runs every variant once, in turn; figures are medians over the rounds with the quartiles. With one thread,
seconds of the processor are measured, on which other processes have less influence than on wall time; with more
threads, wall time. ``ratio`` is the median over the rounds of the variant's speed over the speed of MuJoCo's loop in
the same round. Compilation is never timed. A failed run keeps its row, with the reason; its speed up to the failure is
in brackets in the table.

A scene is measured in a child process, which the system ends after ``--limit`` seconds of the processor. Every engine
runs as many of its steps as ours does within a twentieth of that (column ``steps``). If a child is ended, the variant
in progress keeps its row, with the reason, and another child measures the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from limited import allow, tell, told
from simulation_ours import BATCH, our_run, our_runs, world
from simulation_scenes import Scene, free_boxes, resting_boxes, scenes, stacked_boxes
from tables import environment, markdown, write

from contactlab.lab.conformance.peers import import_mujoco
from contactlab.simulation import SimulationError, TimeStepping, simulate
from lcp.compiler import count_compilations

BASE = ("mujoco", "mj_step loop")
SHORTEST = 0.2  # seconds below which a run is repeated within a round
LONG = 5.0  # seconds from which on a run is not made once more unmeasured
LOOK, MEASURED = 0.05, 0.7  # fractions of the limit: first run of ours with 8 and with 4 edges, all measured runs
CHILDREN = 4  # children per scene, each but the first without the variants that ended those before
COMPILING = 900.0  # seconds for the work before any measurement
SPOILT = 3  # runs with compilation before one of them counts


@dataclass
class Row:
    """One variant of one engine in one scene."""

    engine: str
    variant: str
    steps: int
    contacts: float = float("nan")
    worst: float = float("nan")
    failure: str = ""
    rates: list[float] = field(default_factory=list)
    expected: float = 0.0  # expected seconds of a run, if they are known
    looked: bool = False  # whether the first run was of this variant

    @property
    def threads(self) -> int:
        """Return the number of threads."""
        return 2 if "2 threads" in self.variant else 1

    @property
    def key(self) -> tuple[str, str]:
        """Return the values that distinguish it from other rows of the scene."""
        return self.engine, self.variant


Run = Callable[[], object]


def timed(row: Row, run: Run, repeats: int = 1) -> float:
    """Return the seconds of one run without compilation: of the processor on one thread, wall time on more."""
    clock = time.process_time if row.threads == 1 else time.perf_counter
    for _ in range(SPOILT):
        with count_compilations() as watch:
            start = clock()
            for _ in range(repeats):
                run()
            seconds = (clock() - start) / repeats
        if not watch.compiled:
            break
    return seconds


@dataclass
class Look:
    """Results of a first run of ours, in pieces, up to its time limit."""

    steps: int = 0
    contacts: int = 0
    worst: float = 0.0
    seconds: float = 0.0
    failure: str = ""

    @classmethod
    def at(cls, scene: Scene, edges: int, seconds: float) -> Look:
        """Run a scene for at most these seconds of the processor, plus the piece in progress."""
        place, stepper, tau = our_run(scene, edges)
        found, state, length = cls(), place.initial_state(), 1
        while found.steps < scene.steps and found.seconds < seconds and not found.failure:
            steps, tries = min(length, scene.steps - found.steps), 0
            while True:  # once more if kernels were compiled, because their seconds do not belong to the scene
                with count_compilations() as watch:
                    start = time.process_time()
                    try:
                        piece = simulate(place, stepper, steps=steps, state=state, tau=tau)
                    except SimulationError as error:
                        piece = error.recording
                        found.failure = f"step {found.steps + error.step} of {scene.steps}: {error}".splitlines()[0]
                    spent = time.process_time() - start
                tries += 1
                if found.failure or not watch.compiled or tries == SPOILT:
                    break
            found.seconds += spent
            found.steps += piece.n_steps
            found.contacts += len(piece.contacts)
            if piece.n_steps:
                found.worst = max(found.worst, piece.worst_certificate().scaled)
                state = piece.state(piece.n_steps)
            # A piece takes at most a tenth of the remaining time.
            grown = min(4.0, 0.1 * (seconds - found.seconds) / max(spent, 1e-9))
            length = int(np.clip(length * grown, 1, scene.steps))
        return found


def rows_of(scene: Scene, limit: float) -> list[tuple[Row, Run]]:
    """Return all possible variants of a scene; failures show later and keep their rows."""
    looks = {edges: Look.at(scene, edges, LOOK * limit) for edges in (8, 4)}
    reached = min((look.steps for look in looks.values() if not look.failure), default=scene.steps)
    short = replace(scene, steps=max(1, reached))
    rows: list[tuple[Row, Run]] = []
    for edges, look in looks.items():
        runs, looked = our_runs(short, edges)
        share = min(1.0, look.steps / short.steps)
        for variant, (run, steps) in runs.items():
            row = Row(f"contactlab, {edges} edges", variant, round(steps * share), failure=look.failure)
            row.contacts, row.worst = look.contacts / max(look.steps, 1), look.worst
            row.looked = run is looked
            row.expected = look.seconds * short.steps / max(look.steps, 1) * (BATCH if "batch" in variant else 1)
            rows.append((row, _until_failure(run) if look.failure else run))
    rows += _peers("mujoco", "mujoco", short)
    for approximation in ("Sap", "Lagged", "Tamsi"):
        rows += _peers("drake", f"drake {approximation}", short, approximation)
    return rows


def _until_failure(run: Run) -> Run:
    def attempt() -> None:
        with contextlib.suppress(SimulationError):
            run()

    return attempt


def _peers(engine: str, name: str, scene: Scene, *arguments: object) -> list[tuple[Row, Run]]:
    """Return the rows of a peer; none if it is not installed, a row with the reason if it fails."""
    try:
        make = getattr(importlib.import_module(f"simulation_{engine}"), f"{engine}_runs")
    except ModuleNotFoundError:
        return []
    runs, contacts = make(scene, *arguments)
    try:
        count, failure = contacts(), ""
    except RuntimeError as error:
        count, failure = float("nan"), str(error).split(". ")[0]
    if failure:
        return [(Row(name, next(iter(runs)), 0, count, failure=failure), lambda: None)]
    return [(Row(name, variant, steps, count), run) for variant, (run, steps) in runs.items()]


def measure(scene: Scene, rounds: int, limit: float, skipped: list[str]) -> None:
    """Report the rates of all variants, interleaved.

    A run of many seconds is made as often as there is time, at least once; not at all if it would take all of it.
    """
    allow(COMPILING)
    for edges in (8, 4):
        for run, _ in our_runs(replace(scene, steps=2), edges)[0].values():
            _until_failure(run)()
    allow(limit)
    found = [(row, run) for row, run in rows_of(scene, limit) if f"{row.engine}: {row.variant}" not in skipped]
    for row, _ in found:
        tell(row=asdict(row))
    budget = MEASURED * limit / max(1, len(found))
    able = []
    for row, run in found:
        if row.steps and row.expected > 2.0 * budget:
            if row.looked:
                row.rates.append(row.steps / row.expected)
            else:
                row.failure = row.failure or f"not run: it would take {row.expected:.0f} s"
            tell(row=asdict(row))
        elif row.steps:
            able.append((row, run))
    repeats, times = [1] * len(able), [rounds] * len(able)
    for i, (row, run) in enumerate(able):
        tell(begun=row.key)
        start = time.perf_counter()
        seconds = timed(row, run)
        # The processor's clock may tick in hundredths of a second.
        wall = time.perf_counter() - start
        if seconds > min(LONG, budget / rounds):
            row.rates.append(row.steps / seconds)
            times[i] = min(rounds, int(budget / seconds)) - 1
            tell(row=asdict(row))
        else:
            repeats[i] = max(1, int(np.ceil(SHORTEST / max(seconds, 0.5 * wall))))
    for k in range(rounds):
        for i, (row, run) in enumerate(able):
            if k < times[i]:
                tell(begun=row.key)
                row.rates.append(row.steps / timed(row, run, repeats[i]))
                tell(row=asdict(row))


def measured(scene: Scene, rounds: int, limit: float) -> Iterator[list[Row]]:
    """Yield the rows of a scene whenever one has changed, from children that are ended at their limit."""
    rows: dict[tuple[str, str], Row] = {}
    skipped: list[str] = []
    for _ in range(CHILDREN):
        begun, died = ("contactlab", "building the scene"), ""
        arguments = ["--one", scene.name, "--rounds", str(rounds), "--limit", str(limit), "--skip", *skipped]
        for message in told(Path(__file__), arguments, COMPILING + 5.0 * limit):
            if "begun" in message:
                begun = message["begun"][0], message["begun"][1]
            died = message.get("died", "")
            if "row" in message:
                row = Row(**message["row"])
                # Results of another child are kept until this one has as many.
                if row.rates or not rows.get(row.key, row).rates:
                    rows[row.key] = row
                    yield list(rows.values())
        if not died:
            return
        rows.setdefault(begun, Row(*begun, 0)).failure = died
        yield list(rows.values())
        name = f"{begun[0]}: {begun[1]}"
        if name in skipped or begun[1] == "building the scene":
            break
        skipped.append(name)
    for row in rows.values():
        if not row.rates and not row.failure:
            row.failure = "not reached: those before it took the time"
    yield list(rows.values())


HEAD = ("scene", "engine", "variant", "threads", "steps", "contacts", "steps_per_s", "lower", "upper", "ratio", "worst")


def table(scene: Scene, rows: Iterable[Row]) -> list[list[str]]:
    """Return the lines of the CSV file."""
    rows = list(rows)
    base = next((row.rates for row in rows if row.key == BASE), [])
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
    return lines


def exponents(edges: int = 8) -> list[list[str]]:
    """Return the cost of a step over the number of bodies, and the slope of its logarithm over the larger half."""
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
    """Return the seconds for all tosses of a file at the settings of ``contactlab toss``, on one thread and on two."""
    from contactlab.lab.datasets import load_cube_tosses
    from contactlab.lab.studies import TossSettings, run_tosses

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


def summary(lines: list[list[str]]) -> str:
    """Return the speeds in Markdown, a column per scene: steps per second, in brackets the ratio to MuJoCo's loop."""
    names = list(dict.fromkeys(line[0] for line in lines))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for line in lines:
        empty = "not run" if line[-1].startswith("not run") else "failed"
        speed = empty if line[6] == "nan" else f"{_three_digits(float(line[6]))} ({float(line[9] or 'nan'):.2g})"
        cells.setdefault((line[1], line[2]), {})[line[0]] = f"[{speed}]" if line[-1] and speed != empty else speed
    rows = [
        [f"{engine}: {variant}", *(found.get(name, "") for name in names)] for (engine, variant), found in cells.items()
    ]
    return markdown(("steps per second (ratio)", *names), rows)


def _three_digits(value: float) -> str:
    """Return a count with three digits, and thousands separated."""
    digits = max(0, len(f"{value:.0f}") - 3)
    return f"{round(value, -digits):,.0f}".replace(",", " ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="results without suffix: OUT.csv, OUT.md, OUT_exponents.csv, ...")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scene", nargs="*", choices=sorted(scenes()), help="only these")
    parser.add_argument("--exponents", action="store_true", help="also the cost of a step against bodies")
    parser.add_argument("--tosses", type=Path, metavar="FILE", help="also the seconds for all tosses of this file")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of the processor for a scene")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--skip", nargs="*", default=[], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        measure(scenes()[arguments.one], arguments.rounds, arguments.limit, arguments.skip)
        return
    with contextlib.suppress(ModuleNotFoundError):
        import_mujoco()  # before anything is measured
    print(environment(), flush=True)
    out = arguments.out
    done: list[list[str]] = []
    note = f"{arguments.rounds} rounds, h = 2 ms, limit {arguments.limit:g} s a scene"
    for name, scene in scenes().items():
        if arguments.scene is None or name in arguments.scene:
            lines: list[list[str]] = []
            for rows in measured(scene, arguments.rounds, arguments.limit):
                lines = table(scene, rows)
                if out is not None:
                    write(out, "", note, (*HEAD, "failure"), done + lines, summary(done + lines) + "\n")
            done += lines
            for line in lines:
                print(*line, sep=" | ", flush=True)
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

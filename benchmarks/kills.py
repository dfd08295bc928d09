"""Runs, sweeps and races, killed at random or with a full disk: no reported result is lost, all ends are equal.

Run: ``python benchmarks/kills.py [--kills 1000] [--signals 60] [--seed 0] [--out benchmarks/results/kills_DATE]``.
Writes OUT.csv and OUT.md. Most kills happen within this process, by a disk that fails at a random operation
(`faulty_disk`); ``--signals`` of them are SIGKILL to a separate process at a random moment. Each case is killed
repeatedly until it ends normally.

A reported result is lost if it is not on disk, or differs from the undisturbed run in a bit. A case differs if its end
differs from the end of the undisturbed one. Reported are steps after their chunk was written, and rows of sweeps and
trials of races that count as finished.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from faulty_disk import KINDS, Killed, faulty
from tables import markdown, write

import lcp
from contactlab.collision import Box, HalfSpace, Material, Sphere
from contactlab.lab import SweepError, sweep
from contactlab.lab.racing import race
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import Recording, RecordWriteError, TimeStepping, WorldBuilder, simulate

HEAD = ("what", "how", "cases", "kills", "lost", "differing", "seconds")
STEPS = 40
LONG = 3000
STEPPER = TimeStepping(2e-3)
SOLVERS = "Lemke,Murty,InteriorPoint"
REFUSED = (RecordWriteError, SweepError, OSError, Killed)


@functools.cache
def world() -> Any:
    """Two boxes and a ball that fall onto a floor and each other."""
    builder, rough = WorldBuilder(), Material(0.5)
    builder.add_half_space("floor", HalfSpace(), rough)
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    for i, shape in enumerate((Box.cube(0.1), Box((0.1, 0.08, 0.06)), Sphere(0.1))):
        start = (0.03 * i, 0.02 * i, 0.12 + 0.22 * i, 1.0, 0.0, 0.0, 0.0)
        builder.add_free_body(f"body {i}", inertia, shape, rough, start, (0.2, 0.0, -1.0, 1.0, 0.0, 0.5))
    return builder.build()


def walk(task: dict[str, Any]) -> dict[str, Any]:
    """A random walk, after a pause."""
    time.sleep(task["pause"])
    place = np.cumsum(np.random.default_rng(task["seed"]).normal(size=500))
    return {"end": place[-1], "path": place[:4]}


def problems() -> list[tuple[str, lcp.LCP]]:
    """Return the problems of the race."""
    rng = np.random.default_rng(5)
    return [(f"p{n}", lcp.LCP(np.eye(n) * 2.0 + 0.1 * rng.standard_normal((n, n)), -np.ones(n))) for n in (2, 5, 9)]


def same(a: Any, b: Any) -> bool:
    """Return True if two recordings have the same bits."""
    return all(np.array_equal(rows, b.rows[name]) for name, rows in a.rows.items())


@functools.cache
def undisturbed(steps: int) -> Any:
    return simulate(world(), STEPPER, steps=steps)


# --- cases: resumed until they end, with reports of their progress, and checked in between ---------------------------

Tell = Callable[[int, int], None]


class Run:
    """A run; a longer one for signals."""

    name, mean = "run", 0.4  # s until a signal, on average

    def __init__(self, folder: Path, steps: int = STEPS) -> None:
        self.path, self.steps = folder / "run.npz", steps

    def prepare(self, rng: np.random.Generator) -> None:
        """Sometimes there is already a packed record of the first steps."""
        if rng.random() < 0.3:
            simulate(world(), STEPPER, steps=int(rng.integers(0, 6)), path=self.path)

    def go(self, tell: Tell, rng: np.random.Generator) -> None:
        """Start or resume."""
        simulate(
            world(), STEPPER, steps=self.steps, path=self.path, resume=True, chunk_steps=int(rng.integers(2, 12)),
            flush_seconds=0.0, progress=tell,
        )  # fmt: skip

    def lost(self, told: int) -> bool:
        """Return True if a reported result is missing or different."""
        if not told:
            return False
        left = Recording.open(self.path)
        return left.n_steps < told or not same(left, undisturbed(self.steps).first(left.n_steps))

    def differs(self) -> bool:
        """Return True if the end differs from the undisturbed one."""
        rest = [file.name for file in self.path.parent.iterdir()]
        return rest != ["run.npz"] or not same(Recording.open(self.path), undisturbed(self.steps))


class Sweep:
    """A sweep; for signals with two processes, and enough time to be killed."""

    name, mean = "sweep", 0.3

    def __init__(self, folder: Path, pause: float = 0.0, jobs: int = 1) -> None:
        self.out, self.jobs = folder / "out", jobs
        self.tasks = [{"seed": seed, "pause": pause} for seed in range(8)]

    def prepare(self, rng: np.random.Generator) -> None:
        """Nothing is prepared."""

    def go(self, tell: Tell, rng: np.random.Generator) -> None:
        """Start or resume."""
        sweep(walk, self.tasks, out=self.out, jobs=self.jobs, progress=tell)

    def lost(self, told: int) -> bool:
        """Return True if a reported result is missing or different."""
        found = {row["seed"]: row["end"] for row in whole_lines(self.out / "rows.jsonl").values()}
        return len(found) < told or any(end != walk({"seed": seed, "pause": 0.0})["end"] for seed, end in found.items())

    def differs(self) -> bool:
        """Return True if the end differs from the undisturbed one."""
        rest = sorted(file.name for file in self.out.iterdir())
        table = (self.out / "rows.csv").read_text(encoding="utf-8").splitlines()
        return rest != ["rows.csv", "rows.jsonl"] or len(table) != 1 + len(self.tasks) or self.lost(len(self.tasks))


class Race:
    """A race."""

    name, mean = "race", 2.0

    def __init__(self, folder: Path) -> None:
        self.out = folder / "out"
        self.before: dict[str, dict[str, Any]] = {}

    def prepare(self, rng: np.random.Generator) -> None:
        """Nothing is prepared."""

    def go(self, tell: Tell, rng: np.random.Generator) -> None:
        """Start or resume."""
        race(problems(), SOLVERS, out=self.out, repeats=1, curves=0, jobs=2, progress=tell)

    def lost(self, told: int) -> bool:
        """Return True if a finished trial has changed, including its times."""
        found = whole_lines(self.out / "trials" / "rows.jsonl")
        kept = all(found.get(key) == row for key, row in self.before.items())
        self.before = found
        return len(found) < told or not kept

    def differs(self) -> bool:
        """Return True if the end differs from the undisturbed one."""
        left = [file.name for file in self.out.rglob("*") if file.name.endswith(".partial") or file.name == "lock"]
        wanted = {"rows.csv", "race.json", "report.html", "problems", "trials"}
        here = {file.name for file in self.out.iterdir()}
        return bool(left) or not wanted <= here or verdicts(self.out / "rows.csv") != undisturbed_race()


def verdicts(table: Path) -> list[tuple[str, ...]]:
    """Return the results in a table that do not depend on the clock."""
    with table.open(newline="", encoding="utf-8") as file:
        names = ("problem", "solver", "status", "residual", "iterations")
        return [tuple(row[name] for name in names) for row in csv.DictReader(file)]


@functools.cache
def undisturbed_race() -> list[tuple[str, ...]]:
    """Return the results of an undisturbed race."""
    report = race(problems(), SOLVERS, repeats=1, curves=0, jobs=2)
    with tempfile.TemporaryDirectory() as folder:
        return verdicts(report.to_csv(Path(folder) / "rows.csv"))


def whole_lines(file: Path) -> dict[str, dict[str, Any]]:
    """Return the complete rows of a file, by key."""
    content = file.read_bytes() if file.exists() else b""
    lines = [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]
    return {row["key"]: row for row in lines}


# --- kills ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def here() -> Iterator[None]:
    """Let sweeps with time limits run in this process, where the disk fails."""
    from contactlab.lab import sweeps

    with mock.patch.object(sweeps, "run_on_processes", lambda name, items, *_: sweeps.run_here(name, items)):
        yield


def by_faults(kind: Any, rng: np.random.Generator, row: dict[str, Any], most: int) -> None:
    """Run one case, whose disk fails some times before it can end normally."""
    with tempfile.TemporaryDirectory() as name, here():
        folder = Path(name)
        case, told = kind(folder), [0]
        case.prepare(rng)
        row["cases"] += 1
        for _ in range(int(rng.integers(1, 6))):
            # Early operations more often than late ones, which few resumed runs reach.
            at = 1 + int(operations(kind) * rng.random() ** 2)
            with faulty(folder, at, KINDS[int(rng.integers(len(KINDS)))]) as disk, contextlib.suppress(*REFUSED):
                case.go(lambda done, total: told.append(max(done, told[-1])), rng)
            if disk.count < at or row["kills"] >= most:
                break
            row["kills"] += 1
            row["lost"] += case.lost(told[-1])
        case.go(lambda done, total: None, rng)
        row["differing"] += case.differs()


@functools.cache
def operations(kind: Any) -> int:
    """Return about how many disk operations a case takes."""
    with tempfile.TemporaryDirectory() as name, here(), faulty(Path(name)) as disk:
        kind(Path(name)).go(lambda done, total: None, np.random.default_rng(0))
        return disk.count


def by_signals(kind: Any, rng: np.random.Generator, row: dict[str, Any], most: int) -> None:
    """Run one case in separate processes, killed until it can end normally."""
    with tempfile.TemporaryDirectory() as name:
        case, told = longer(kind, Path(name)), 0
        case.prepare(rng)
        row["cases"] += 1
        kills = min(most - row["kills"], int(rng.integers(1, 6)))
        while True:
            command = [sys.executable, __file__, "--child", kind.__name__, name, str(int(rng.integers(1 << 30)))]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            process.stdout.readline()  # it begins
            patience = threading.Timer(float(rng.exponential(kind.mean)), process.kill)
            if kills > 0:
                patience.start()
            for line in process.stdout:
                # A truncated line reports nothing.
                told = max(told, int(line) if line.endswith("\n") else 0)
            status = process.wait()
            patience.cancel()
            if status == -signal.SIGKILL:
                kills -= 1
                row["kills"] += 1
                row["lost"] += case.lost(told)
            elif status != 0:
                raise RuntimeError(f"a {kind.name} ended with status {status}")
            else:
                break
        row["differing"] += case.differs()


def longer(kind: Any, folder: Path) -> Any:
    """Return a case that takes longer."""
    return {Run: lambda: Run(folder, LONG), Sweep: lambda: Sweep(folder, 0.05, 2), Race: lambda: Race(folder)}[kind]()


def child(name: str, folder: str, seed: str) -> None:
    """Resume a case and report its progress."""
    kind = {kind.__name__: kind for kind in (Run, Sweep, Race)}[name]
    simulate(world(), STEPPER, steps=2)
    print(0, flush=True)
    longer(kind, Path(folder)).go(lambda done, total: print(done, flush=True), np.random.default_rng(int(seed)))


def main() -> None:
    """Kill, check, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--signals", type=int, default=60, help="of them by SIGKILL from outside")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="path of the tables, without ending")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    rows = []
    for kill, kills in ((by_faults, arguments.kills - arguments.signals), (by_signals, arguments.signals)):
        for kind, share in ((Run, 0.65), (Sweep, 0.25), (Race, 0.1)):
            row: dict[str, Any] = dict.fromkeys(HEAD, 0) | {"what": kind.name, "how": kill.__name__[3:]}
            begun = time.perf_counter()
            most = round(share * kills)
            while row["kills"] < most:
                kill(kind, rng, row, most)
            row["seconds"] = round(time.perf_counter() - begun)
            rows.append(row)
            print(row, flush=True)
    rows.append({"what": "all", "how": "", **{name: sum(row[name] for row in rows) for name in HEAD[2:]}})
    lines = [[row[name] for name in HEAD] for row in rows]
    print(markdown(HEAD, lines))
    if arguments.out is not None:
        write(arguments.out, "", f"seed {arguments.seed}, {arguments.signals} by SIGKILL", HEAD, lines)
    sys.exit(1 if rows[-1]["lost"] or rows[-1]["differing"] else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        main()

"""A campaign of random scenes: failures, slow steps, strategies used, results of `verify`, and times of `mj_step`.

Run: ``python benchmarks/campaign.py --scenes FOLDER --seeds 0:10 [--kinds grid_box lid ...] [--out
benchmarks/results/campaign_DATE] [--jobs 1] [--limit 120] [--keep FOLDER] [--mujoco]``. Writes OUT.csv (a row for each
scene) and OUT.md (a table by kind) again after every scene, and continues where OUT.csv ends.

FOLDER has ``scenes.py`` with ``ALL``, the names of its kinds, and ``make(kind, seed)``. This returns a scene with
``world()``, ``kw`` (further arguments of `simulate`, here its targets) and ``xml()`` (None, or the same for MuJoCo), a
stepper, a number of steps and a mapping that describes it.

Scenes run in children, which the system ends at ``--limit`` seconds of the processor for a scene. Seconds of a step are
seconds of the processor without compilation. ``--keep`` writes the problem and the warm start of every island for which
all strategies failed, or which took half a second.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from limited import allow, tell, told
from tables import environment, markdown

from contactlab.lab.conformance.peers import import_mujoco
from lcp.contacts.strategies import STRATEGY_NAMES

# Number of islands by strategy; "solver": islands without contacts, of solvers, or without solution.
ATTEMPTS = ("solver", *STRATEGY_NAMES)
HEAD = (
    "kind", "seed", "mode", "bodies", "mu", "h", "masses", "steps", "done", "contacts", "islands", "other", "later",
    *ATTEMPTS, "uncertified", "seconds", "median", "slowest", "over 2 s", "ratio", "verified", "refused", "notices",
    "note",
)  # fmt: skip
# A process with limited seconds reports them in pieces of this size; its thread reports the total.
TICK = 0.01
# Shorter runs are repeated up to this many seconds, in turn with `mj_step`.
SHORT, TURNS = 0.2, 3
# Steps longer than this many seconds of the processor are counted.
LONG = 2.0
# Islands that took this long, or that were not solved, are stored.
KEPT = 0.5


def now() -> tuple[float, float]:
    """Return the seconds of the processor of this thread, and of the process if other threads work for it."""
    return time.thread_time(), time.process_time()


def since(before: tuple[float, float]) -> float:
    """Return the seconds of the processor since then."""
    return max(time.thread_time() - before[0], time.process_time() - before[1] - TICK)


def made(folder: Path, kind: str, seed: int) -> tuple[Any, Any, int, dict[str, Any]]:
    """Return a scene made by the generator in the folder."""
    sys.path[:0] = [str(folder), str(folder.resolve().parent)]
    return importlib.import_module("scenes").make(kind, seed)  # type: ignore[no-any-return]


def kinds_of(folder: Path) -> list[str]:
    """Return the names of the generator's kinds."""
    sys.path[:0] = [str(folder), str(folder.resolve().parent)]
    return list(importlib.import_module("scenes").ALL)


def beside_mujoco(scene: Any, stepper: Any, steps: int, seconds: float) -> float:
    """Return the seconds of a run over as many `mj_step`, NaN if the scene has no MuJoCo form.

    For short runs it is the median of several, recorded, each in turn with MuJoCo's.
    """
    text = scene.xml()
    if text is None:
        return float("nan")
    from contactlab.simulation import simulate

    mujoco = import_mujoco()
    model, world = mujoco.MjModel.from_xml_string(text), scene.world()
    data = mujoco.MjData(model)

    def theirs(times: int) -> float:
        start = time.process_time()
        for _ in range(times):
            mujoco.mj_resetDataKeyframe(model, data, 0) if model.nkey else mujoco.mj_resetData(model, data)
            for i, body in enumerate(scene.bodies):
                data.qvel[6 * i : 6 * i + 6] = body[6]
            for _ in range(steps):
                mujoco.mj_step(model, data)
        return time.process_time() - start

    def ours(times: int) -> float:
        start = time.process_time()
        for _ in range(times):
            simulate(world, stepper, steps=steps, **scene.kw)
        return time.process_time() - start

    if seconds > SHORT:
        return seconds / theirs(1)
    times = int(np.ceil(SHORT / max(seconds, 1e-4)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.median([ours(times) / theirs(times) for _ in range(TURNS)]))


def held(driver: Any) -> tuple[Any, Any]:
    """Copy the problem of the island in progress and its warm start."""
    progress, island = driver.progress, driver.island
    m, nv = int(progress.nc + progress.nr), int(progress.nv)
    column = np.arange(nv)
    first, last, other, end = (island.column_ranges[:m, i, None] for i in range(4))
    within = ((first <= column) & (column < last)) | ((other <= column) & (column < end))
    for rows in (island.J, island.Y):
        # Before an LCP is posed, the columns outside the ranges are not filled.
        rows[: m * nv].reshape(m, nv)[~within] = 0.0
    view = driver.view()
    z0 = view.warm_start()
    return view.problem(), np.zeros(0) if z0 is None else z0


def run(folder: Path, kind: str, seed: int, limit: float, keep: Path | None, with_mujoco: bool) -> dict[str, Any]:
    """Run one scene step by step and judge its record."""
    from contactlab import ForceChoice
    from contactlab.simulation import verify
    from contactlab.simulation.recording import Recording
    from contactlab.simulation.recording.run_reports import simulation_error
    from contactlab.simulation.stepping.driver import Driver
    from contactlab.simulation.stepping.kernels import layout
    from contactlab.simulation.stepping.record_schema import rows_of_chunks
    from lcp.compiler import count_compilations

    scene, stepper, steps, meta = made(folder, kind, seed)
    world = scene.world()
    start = world.initial_state()
    hard = []

    class Watched(Driver):
        def _serve(self, reason: int) -> bool:
            if reason != layout.UNSOLVED or self.failed or self.control.stage == layout.SOLVE_LCP:
                return super()._serve(reason)
            hard.append(reason)
            problem = None if keep is None else held(self)
            clock = time.process_time()
            served = super()._serve(reason)
            long = time.process_time() - clock > KEPT
            if keep is not None and problem is not None and (long or self.progress.attempt < 0):
                from problem_data import save

                name = f"{kind}_{seed}_{self.step:03d}_{self.control.island}_{len(hard)}"
                save(keep / f"{name}.npz", problem[0])
                np.save(keep / f"{name}.start.npy", problem[1])
            return served

    driver = Watched(world, stepper, start, steps=steps, **scene.kw)
    driver.compile()
    rows, spent, note = [], [], ""
    row = dict.fromkeys(HEAD, "")
    row |= {"kind": kind, "seed": seed, "mode": meta["mode"], "bodies": meta["n"], "mu": meta["mu"], "h": meta["h"]}
    row |= {"masses": meta["masses"], "steps": steps}
    begun = time.process_time()
    while driver.step < steps:
        before = driver.step
        with count_compilations() as compiled:
            begin = now()
            driver.advance(1)
            clock = since(begin)
        if not compiled.compiled:
            spent.append(clock)
        rows.append(rows_of_chunks([driver.detach_chunk()]))
        if driver.failed or driver.step == before:
            break
        row |= {
            "done": driver.step,
            "seconds": round(time.process_time() - begun, 2),
            "slowest": max(spent, default=0.0),
        }
        if driver.step % 5 == 0:
            tell(row=row | {"note": f"ended by the limit in step {driver.step}"})
    recording = Recording.of_run(world, stepper, start, rows)
    if driver.failed:
        note = f"step {driver.step}: {simulation_error(driver, recording)}".splitlines()[0][:160]
    counts = np.bincount(recording.rows["contact_step"], minlength=1)
    islands = int(recording.islands.sum())
    row |= {
        "done": driver.step, "contacts": int(counts.max()), "islands": islands,
        "other": int(recording.count_by_choice(ForceChoice.OTHER_SOLUTION).sum()), "later": len(hard),
        "uncertified": len(getattr(recording, "uncertified", ())), "seconds": round(sum(spent), 3),
        "median": float(f"{np.median(spent):.3g}") if spent else "", "slowest": float(f"{max(spent, default=0.0):.3g}"),
        "over 2 s": int(np.sum(np.array(spent) > LONG)), "note": note,
    }  # fmt: skip
    row |= recording.certificates.count_by_strategy()
    tell(row=row | {"note": note or "ended by the limit in verify"})
    if with_mujoco:
        row["ratio"] = float(f"{beside_mujoco(scene, stepper, driver.step or 1, sum(spent)):.3g}")
    allow(3.0 * limit)
    report = verify(recording)
    row |= {
        "verified": report.holds,
        "notices": " ".join(sorted({notice.kind.replace(" ", "_") for notice in recording.notices})),
        "refused": "" if report.holds else str(next(iter(report.failures), "uncertified"))[:120],
    }
    return row


def work(arguments: argparse.Namespace) -> None:
    """In a child: run the scenes in ``arguments.work`` and report their rows."""
    for kind, seed in json.loads(arguments.work):
        allow(arguments.limit + 600.0)  # seconds to compile in
        from contactlab.simulation import TimeStepping  # noqa: F401  # imports are not the scene's

        allow(arguments.limit)
        tell(begin=[kind, seed])
        try:
            row = run(arguments.scenes, kind, seed, arguments.limit, arguments.keep, arguments.mujoco)
        except Exception as error:  # noqa: BLE001 # in a campaign an error is a result
            row = dict.fromkeys(HEAD, "") | {
                "kind": kind,
                "seed": seed,
                "note": f"{type(error).__name__}: {error}"[:160],
            }
        tell(row=row, done=True)


def portion(arguments: argparse.Namespace, scenes: list[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Run scenes in children, with a new child after each that died; yield a row for each."""
    left = list(scenes)
    while left:
        call = ["--work", json.dumps(left), "--scenes", str(arguments.scenes), "--limit", str(arguments.limit)]
        call += ["--keep", str(arguments.keep)] if arguments.keep else []
        call += ["--mujoco"] if arguments.mujoco else []
        last: dict[str, Any] | None = None
        for said in told(Path(__file__), call, 1e6):
            if "begin" in said:
                kind, seed = said["begin"]
                last = dict.fromkeys(HEAD, "") | {"kind": kind, "seed": seed, "note": "ended by the limit"}
            elif said.get("done"):
                yield said["row"]
                left.pop(0)
                last = None
            elif "row" in said:
                last = said["row"]
            else:
                row = last or dict.fromkeys(HEAD, "") | {"kind": left[0][0], "seed": left[0][1]}
                yield row | {"note": f"{row['note']}: {said['died']}"}
                left.pop(0)


def is_good(row: dict[str, Any]) -> bool:
    """Return True if a run ended with its last step, no step over the limit, and verified."""
    return not row["note"] and str(row["over 2 s"]) == "0" and str(row["verified"]) == "True"


def summary(rows: list[dict[str, Any]]) -> str:
    """Return the table by kind of scene, and by kind of friction."""
    head = ("", "scenes", "ended early", "steps over 2 s", "refused", "islands", "other", *ATTEMPTS[1:], "uncertified")
    head += ("slowest s", "slowest / median", "median ratio")
    lines = []
    for group in ("mode", "kind"):
        for name in sorted({str(row[group]) for row in rows}):
            own = [row for row in rows if str(row[group]) == name]

            def total(field: str, own: list[dict[str, Any]] = own) -> int:
                return int(sum(float(row[field] or 0) for row in own))

            ratios = [float(row["ratio"]) for row in own if row["ratio"] not in ("", "nan")]
            over = [float(row["slowest"]) / float(row["median"]) for row in own if float(row["median"] or 0)]
            finite = [ratio for ratio in ratios if np.isfinite(ratio)]
            lines.append(
                [
                    name, len(own), sum(bool(row["note"]) for row in own), total("over 2 s"),
                    sum(str(row["verified"]) == "False" for row in own), total("islands"), total("other"),
                    *map(total, ATTEMPTS[1:]), total("uncertified"),
                    f"{max((float(row['slowest'] or 0) for row in own), default=0.0):.2f}",
                    f"{max(over, default=0.0):.0f}", f"{np.median(finite):.2f}" if finite else "-",
                ]
            )  # fmt: skip
    good = sum(map(is_good, rows))
    causes = Counter(
        "ended early" if row["note"] else "slow" if str(row["over 2 s"]) != "0" else "refused"
        for row in rows
        if not is_good(row)
    )
    said = ", ".join(f"{count} {cause}" for cause, count in causes.items()) or "none otherwise"
    return f"{good} of {len(rows)} scenes end well, {said}.\n\n{markdown(head, lines)}"


def write(out: Path, rows: list[dict[str, Any]]) -> None:
    """Write both files."""
    with out.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    out.with_suffix(".md").write_text(f"{environment()}\n\n{summary(rows)}", encoding="utf-8")


def main() -> None:
    """Run the scenes that are not in OUT.csv yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--seeds", default="0:10")
    parser.add_argument("--kinds", nargs="*")
    parser.add_argument("--out", type=Path, default=Path("campaign"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--mujoco", action="store_true")
    parser.add_argument("--only", help="file with lines 'kind seed': these scenes")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments)
        return
    if arguments.mujoco:
        import_mujoco()  # before anything is measured
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    first, last = map(int, arguments.seeds.split(":"))
    wanted = [(kind, seed) for seed in range(first, last) for kind in arguments.kinds or kinds_of(arguments.scenes)]
    if arguments.only:
        wanted = [(kind, int(seed)) for kind, seed in map(str.split, Path(arguments.only).read_text().splitlines())]
    rows: list[dict[str, Any]] = []
    if arguments.out.with_suffix(".csv").exists():
        with arguments.out.with_suffix(".csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    there = {(row["kind"], int(row["seed"])) for row in rows}
    left = [scene for scene in wanted if scene not in there]

    def one(own: list[tuple[str, int]]) -> None:
        for row in portion(arguments, own):
            rows.append(row)
            write(arguments.out, rows)
            print(
                row["kind"],
                row["seed"],
                row["mode"],
                row["done"],
                row["slowest"],
                row["verified"],
                row["note"],
                flush=True,
            )

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, [left[i :: arguments.jobs] for i in range(arguments.jobs)]))
    print(summary(rows))


if __name__ == "__main__":
    main()

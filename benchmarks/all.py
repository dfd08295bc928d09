"""Repeat every figure on the pages by one command, which resumes after an interruption.

Run: ``python benchmarks/all.py [--only NAME ...] [--list] [--data tosses=FILE fclib=FOLDER ...] [--date 2026-11-26]
[--out benchmarks/results]``. The extra ``peers`` has the engines and solvers of the comparisons.

Files of a script are OUT/NAME_DATE with its endings; printed output is OUT/NAME_DATE.txt. OUT/all_DATE.jsonl has a line
for each finished script: how it ended, the seconds, and its last printed line. The same command repeats failed scripts
only; a failure does not stop the others. Scripts that need missing data are named and skipped. ``--list`` prints for
each script the command, the pages and headings that use it, and the seconds of its last run in OUT.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = "benchmarks.md: Benchmarks"  # the table of scripts there; the figures are in results alone


class Figure(NamedTuple):
    """Command, with ``{out}`` for its output and other braces for data; the pages and headings that use it."""

    name: str
    command: str
    feeds: tuple[str, ...]

    @property
    def needs(self) -> list[str]:
        """Return the names of the data that the command reads."""
        return [name for _, name, _, _ in Formatter().parse(self.command) if name and name != "out"]


FIGURES = (
    Figure("compiling", "compiling.py", ("benchmarks.md: Waiting for kernels",)),
    Figure("step_instructions", "step_instructions.py --stages", (SCRIPTS,)),
    Figure("small_steps", "step_instructions.py --small --skip 100", ("benchmarks.md: Small scenes nobody tuned",)),
    Figure(
        "small_scenes",
        "campaign.py --scenes benchmarks/small_scenes --seeds 0:9 --mujoco --out {out}",
        ("benchmarks.md: Small scenes nobody tuned",),
    ),
    Figure("lcp_lemke", "lcp_lemke.py --out {out}.csv", (SCRIPTS,)),
    Figure("lcp_small", "lcp_small.py", ("benchmarks.md: Small problems",)),
    Figure("lcp_active_set", "lcp_active_set.py --out {out}.csv", (SCRIPTS,)),
    Figure("lcp_mixed", "lcp_mixed.py --out {out}.csv", (SCRIPTS,)),
    Figure("lcp_sparse", "lcp_sparse.py --out {out}.csv", (SCRIPTS,)),
    Figure("lcp_warm_start", "lcp_warm_start.py --out {out}.csv", (SCRIPTS,)),
    Figure("lcp_variational", "lcp_variational.py --out {out}.md", ("benchmarks.md: Variational inequalities",)),
    Figure("lcp_units", "lcp_units.py --out {out}.md", ("benchmarks.md: Verdicts in other units",)),
    Figure("planted", "planted.py --out {out}", ("benchmarks.md: Problems of no class",)),
    Figure(
        "race",
        "contactlab race {lcp} --solvers all,Cascade,PIQP,ProxQP --peers all --time-limit 2 --out {out}",
        ("racing.md: All of them on one set", "README.md: Measured beside others"),
    ),
    Figure("multibody", "multibody.py --out {out}.csv", (SCRIPTS, "README.md: Measured beside others")),
    Figure("constraints", "constraints.py --out {out}.csv", (SCRIPTS,)),
    Figure("redundant_mechanisms", "redundant_mechanisms.py --seeds 500", ("benchmarks.md: Redundant mechanisms",)),
    Figure("derivatives", "derivatives.py --out {out}.json", (SCRIPTS,)),
    Figure("collision", "collision.py --out {out}.csv", ("shapes.md: Shapes and pairs", SCRIPTS)),
    Figure("depth", "depth.py --scenes {scenes} --seeds 6 --verify", ("benchmarks.md: How deep bodies get",)),
    Figure("geometry_campaign", "geometry_campaign.py --out {out}.md", ("shapes.md: Proved, pair by pair", SCRIPTS)),
    Figure(
        "simulation",
        "simulation.py --rounds 3 --limit 20 --exponents --out {out}",
        ("benchmarks.md: Speed of simulation", "README.md: Measured beside others"),
    ),
    Figure("simulation_tosses", "simulation.py --scene cube --tosses {tosses} --out {out}", (SCRIPTS,)),
    Figure(
        "piles",
        "piles.py --seed 31 32 33 --out {out}",
        ("benchmarks.md: Piles", "grains.md: Grains: how many, and how fast", "README.md: Measured beside others"),
    ),
    Figure(
        "piles_of_eight_edges",
        "piles.py --edges 8 --seed 31 32 33 --out {out} "
        "--scene '30 dominoes' 'heap of 27' '100 aligned boxes' 'arch of 15'",
        ("benchmarks.md: Piles",),
    ),
    Figure("islands", "islands.py {islands} --out {out}", ("benchmarks.md: Islands",)),
    Figure("walls", "walls.py --out {out}", ("benchmarks.md: Kicked walls",)),
    Figure("simbenchmark", "simbenchmark.py --out {out}", ("benchmarks.md: SimBenchmark",)),
    Figure("strategies", "strategies.py {islands}", ("contact_solver.md: Ablation",)),
    Figure("simulation_campaign", "simulation_campaign.py {out} --out {out}.csv", ("benchmarks.md: A million steps",)),
    Figure("fuzz_readers", "fuzz_readers.py --out {out}", ("benchmarks.md: Damage and abuse",)),
    Figure("kills", "kills.py --out {out}", ("benchmarks.md: Damage and abuse",)),
    Figure("abusive_worlds", "abusive_worlds.py --out {out}", ("benchmarks.md: Damage and abuse",)),
    Figure("qp_in_the_loop", "qp_in_the_loop.py --out {out}", ("friction_backends.md: In the loop",)),
    Figure("cone_loop", "cone_loop.py --out {out}", ("cone_friction.md: In a simulation",)),
    Figure(
        "friction_fclib",
        "friction_fclib.py {fclib} --out {out}",
        ("cone_friction.md: Which solver when", "README.md: Measured beside others"),
    ),
    Figure("ready_scenes", "ready_scenes.py --out {out}", ("scenes.md: Ready scenes",)),
    Figure("environments", "environments.py --out {out}", ("learning.md: Random actions",)),
    Figure("identify", "identify.py --json {out}.json", ("identify.md: Coverage of the intervals",)),
    Figure(
        "conform",
        "contactlab conform ours ours:cone mujoco mujoco:elliptic mujoco:noslip drake drake:sap drake:tamsi "
        "drake:similar drake:lagged --json {out}.json",
        ("conformance.md: Measured",),
    ),
    Figure(
        "toss_fit",
        "toss_fit.py {tosses} --out {out}.jsonl",
        ("validation.md: Protocol", "README.md: Measured beside others"),
    ),
    Figure("toss_ensembles", "toss_ensembles.py {tosses}", ("validation.md: The floor, and ensembles",)),
    Figure(
        "planar_models",
        "planar_models.py {planar} --nested --friction --json {out}.json",
        ("validation.md: Nested", "validation.md: Friction, impact by impact"),
    ),
    Figure("toss_ablation", "toss_ablation.py {tosses}", ("validation.md: The effect of each ingredient",)),
    Figure("square_drops", "square_drops.py {planar} --json {out}.json", ("validation.md: Errors",)),
    Figure("square_fit", "square_fit.py {planar} --json {out}.json", ("validation.md: Errors",)),
    Figure(
        "square_first_impacts",
        "square_first_impacts.py {planar}",
        ("validation.md: Conclusions about the drops",),
    ),
    Figure("elbow_fit", "elbow_fit.py {elbow} --out {out}", ("validation.md: Tosses of two hinged blocks",)),
    Figure("elbow_floor", "elbow_floor.py {elbow} --numbers impacts", ("validation.md: The floor",)),
    Figure(
        "elbow_ensembles", "elbow_floor.py {elbow} --members 32", ("validation.md: Ensembles of the hinged blocks",)
    ),
)

#: Files of the folder that make no figure.
TOOLS = {
    "damage.py": "how files are damaged, for fuzz_readers.py",
    "derivative_checks.py": "differences that derivatives.py holds derivatives to",
    "derivative_cost.py": "the part `cost` of derivatives.py",
    "elbow_tosses.py": "the model of the hinged blocks, for elbow_fit.py and elbow_floor.py",
    "error_bars.py": "bars of errors, for square_drops.py and toss_ablation.py",
    "faulty_disk.py": "the disk that fails, for kills.py",
    "geometry_proofs.py": "the proofs that geometry_campaign.py asks for",
    "good_files.py": "the files that fuzz_readers.py damages",
    "limited.py": "children with a limit, for those that run some",
    "reader_kinds.py": "the readers that fuzz_readers.py asks",
    "simbenchmark_scenes.py": "the scenes of simbenchmark.py",
    "simulation_drake.py": "Drake's side of simulation.py",
    "simulation_mujoco.py": "MuJoCo's side of simulation.py",
    "simulation_ours.py": "our side of simulation.py",
    "simulation_scenes.py": "the scenes of simulation.py",
    "tables.py": "how tables are written",
}

#: Dated figures without a script here: the page and heading, and their origin.
BY_HAND = {
    "benchmarks.md: What others do better": "told of others' work, with the day it was looked up",
    "bridge.md: Large models": "three piles captured by a study; seconds under load, of one size of machine",
    "contact_solver.md: Sweeps at a soft compliance": "islands captured from runs of piles.py, solved from two starts",
    "friction_backends.md: Measured": "the scenes of tests/test_friction_backends.py, timed once",
    "from_urdf.md: A robot in a world": "hulls of four robots whose meshes are not part of the repository",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the requested scripts that are not finished; exit status 1 if one failed."""
    options = _parser().parse_args(arguments)
    data = dict(pair.split("=", 1) for pair in options.data)
    chosen = [figure for figure in FIGURES if not options.only or figure.name in options.only]
    unknown = set(options.only or ()) - {figure.name for figure in FIGURES}
    if unknown:
        print(f"no figure {', '.join(sorted(unknown))}; there are: {', '.join(one.name for one in FIGURES)}")
        return 2
    if options.list:
        for line in listed(chosen, options.out):
            print(line)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    log = options.out / f"all_{options.date}.jsonl"
    done = {row["name"] for row in rows_of(log) if row["status"] == "done"}
    failed = []
    for figure in chosen:
        missing = [name for name in figure.needs if name not in data]
        if figure.name in done or missing:
            why = "done" if figure.name in done else f"left: give --data {missing[0]}=PATH"
            print(f"{figure.name}: {why}", flush=True)
            continue
        row = run(figure, options.out.resolve() / f"{figure.name}_{options.date}", data)
        with log.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{figure.name}: {row['status']} in {row['seconds']:.0f} s; {row['said']}", flush=True)
        if row["status"] != "done":
            failed.append(figure.name)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--data", nargs="+", default=[], metavar="NAME=PATH")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of the results, and of the log")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    return parser


def command_of(figure: Figure, out: Path, data: Mapping[str, str]) -> list[str]:
    """Return the command line of a figure: a script of this folder, or `contactlab`."""
    script, *rest = (word.format(out=out, **data) for word in shlex.split(figure.command))
    program = ["-m", "contactlab.cli"] if script == "contactlab" else [str(Path(__file__).parent / script)]
    return [sys.executable, *program, *rest]


def run(figure: Figure, out: Path, data: Mapping[str, str]) -> dict[str, Any]:
    """Run a figure's command and return how it ended."""
    begun = time.time()
    ended = subprocess.run(command_of(figure, out, data), cwd=ROOT, capture_output=True, text=True, check=False)
    if "{out}" not in figure.command and ended.returncode == 0:
        out.with_name(f"{out.name}.txt").write_text(ended.stdout, encoding="utf-8")
    lines = (ended.stdout if ended.returncode == 0 else ended.stderr or ended.stdout).split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    status = "done" if ended.returncode == 0 else f"failed ({ended.returncode})"
    return {"name": figure.name, "status": status, "seconds": round(time.time() - begun, 1), "said": said[:300]}


def rows_of(log: Path) -> list[dict[str, Any]]:
    """Return the lines of a log, or an empty list if there is none."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def listed(figures: list[Figure], out: Path) -> Iterator[str]:
    """Return the command, the pages and the seconds of the last run of each figure."""
    last: dict[str, str] = {}
    for log in sorted(out.glob("all_*.jsonl")):
        day = log.stem.removeprefix("all_")
        last |= {row["name"]: f"{row['status']} in {row['seconds']:.0f} s, {day}" for row in rows_of(log)}
    for figure in figures:
        yield f"{figure.name}: {last.get(figure.name, 'not run by this command yet')}"
        yield f"    {figure.command}"
        yield f"    feeds {'; '.join(figure.feeds)}"


if __name__ == "__main__":
    sys.exit(main())

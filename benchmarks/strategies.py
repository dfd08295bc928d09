"""Ablation of the strategies for an island's forces: solved, equal-compliance, systems, seconds.

Run: ``python benchmarks/strategies.py FOLDER [--friction pyramid cone] [--every 1] [--tolerance 1e-8] [--cold]
[--strategies reuse,active_set,interior_point interior_point]``. FOLDER has islands in the form of `islands.py`, with
the previous step's impulses, ``p_before`` (nc, 3), for a warm start. The package's acceptance test decides. Seconds are
seconds of the processor, without compilation.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from islands import read

from lcp.contacts.kernels.island_acceptance import BEST_RESIDUAL, IslandProblem
from lcp.contacts.kernels.strategy_loop import EQUAL_COMPLIANCE, NO_STRATEGY
from lcp.contacts.strategies import RECORDED, STRATEGY_NAMES, IslandResult, solve_island, strategy_mask
from lcp.friction.global_problem import factor_from_masses
from lcp.friction.solvers.contact_strategies import contact_rows


def solve(
    path: Path, exact: bool, warm: bool, strategies: tuple[str, ...], tolerance: float
) -> tuple[IslandResult, float]:
    """Solve one island; return the result and seconds."""
    island = read(path)
    nc = island.mu.size
    with np.load(path, allow_pickle=False) as file:
        before = file["p_before"] if warm else np.zeros((nc, 3))
    shape: Any = SimpleNamespace(nc=nc, m=3 * nc, _dims=np.full(nc, 3), _mu=island.mu)
    units: Any = SimpleNamespace(w=1.0, p=1.0)
    rows: Any = contact_rows(shape, factor_from_masses(*island.cone()._parts[:4]), units)  # type: ignore[arg-type]
    z0 = rows.variables(before)
    case = IslandProblem(rows.system, rows.starts, True, warm, exact, strategy_mask(strategies), z0, tolerance)
    start = time.process_time()
    found = solve_island(case)
    return found, time.process_time() - start


def main() -> None:
    """Print a line for each friction law and set of strategies, and one for each island that is not solved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--friction", nargs="*", choices=("pyramid", "cone"), default=("pyramid", "cone"))
    parser.add_argument("--strategies", nargs="*", default=[",".join(STRATEGY_NAMES)])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--cold", action="store_true", help="without the forces of the step before")
    parser.add_argument("--most", type=int, default=2000, help="contacts of an island at most")
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("*.npz"))[:: arguments.every]
    files = [path for path in files if read(path).mu.size <= arguments.most]
    for friction in arguments.friction:
        for names in arguments.strategies:
            strategies, warm = tuple(names.split(",")), not arguments.cold
            solve(files[0], friction == "cone", warm, strategies, arguments.tolerance)
            answered: Counter[str] = Counter()
            systems, seconds, selected = [], 0.0, 0
            for path in files:
                found, spent = solve(path, friction == "cone", warm, strategies, arguments.tolerance)
                name = RECORDED[found.attempt] if found.attempt != NO_STRATEGY else "none"
                answered[name] += 1
                systems.append(found.systems)
                seconds += spent
                selected += name != "none" and found.outcome == EQUAL_COMPLIANCE
                if name == "none":
                    print(f"  {path.stem}: not solved, off by {found.answer.state[BEST_RESIDUAL]:.0e}", flush=True)
            solved = len(files) - answered["none"]
            print(
                f"{friction}, {names}: {solved} of {len(files)} solved, {selected} equal-compliance; "
                f"{sum(systems)} systems, median {np.median(systems):g}; {seconds:.1f} s; {dict(answered)}",
                flush=True,
            )


if __name__ == "__main__":
    main()

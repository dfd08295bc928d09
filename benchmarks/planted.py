"""Problems of no class with a planted solution: the fraction solved, and seconds of the processor.

Run: ``python benchmarks/planted.py [--out benchmarks/results/planted_DATE] [--sizes 20 50 100] [--count 8] [--limit 10]
[--solvers default ConcaveMinimization ...]``. Writes OUT.csv, every solve a row, failures too, and OUT.md, a table.

M is Gaussian, of rank n/2, sparse with small integers, or symmetric Gaussian (indefinite); z and w are complementary,
about half of each positive, and q = w - M z. Seeds are [n, number], so that others can solve the same problems. A
problem counts as solved by the status of ``lcp.solve`` at the default tolerance. Solvers with a time limit get the
limit ``--limit``, in seconds of the processor; kernels are compiled before. Columns of the table: solved within a tenth
of a second, a second, and the limit, in seconds of the processor.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
from tables import write_rows

import lcp

KINDS = ("Gaussian", "low rank", "sparse integer", "symmetric")


def planted(kind: str, n: int, seed: int) -> lcp.LCP:
    """One problem."""
    rng = np.random.default_rng([n, seed])
    M = rng.standard_normal((n, n))
    if kind == "low rank":
        M = M[:, : n // 2] @ rng.standard_normal((n // 2, n))
    elif kind == "sparse integer":
        M = np.where(rng.random((n, n)) < 0.2, rng.integers(-3, 4, (n, n)), 0).astype(float)
    elif kind == "symmetric":
        M = 0.5 * (M + M.T)
    z, w = np.ceil(4.0 * rng.random(n)), np.ceil(4.0 * rng.random(n))
    if kind != "sparse integer":
        z, w = rng.random(n), rng.random(n)
    positive = rng.random(n) < 0.5
    z, w = np.where(positive, z, 0.0), np.where(positive, 0.0, w)
    return lcp.LCP(M, w - M @ z)


def main() -> None:
    """Solve, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--solvers", nargs="+", default=["default", "ConcaveMinimization", "Lemke", "FischerNewton"])
    arguments = parser.parse_args()
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores before" if hasattr(os, "getloadavg") else ""
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}"
    machine = f"{platform.machine()}, {versions}, {load}; limit {arguments.limit:g} s of the processor"
    print(machine)
    rows: list[dict[str, Any]] = []
    table = ["| solver | M | n | solved in 0.1 s | in 1 s | in all | median s |", "|---|---|---|---|---|---|---|"]
    for name in arguments.solvers:
        solver = lcp.default_solver() if name == "default" else getattr(lcp, name)()
        solver = replace(solver, time_limit=arguments.limit)
        lcp.solve(planted("Gaussian", 14, 1), solver)
        for n in arguments.sizes:
            for kind in KINDS:
                of_kind = []
                for seed in range(arguments.count):
                    problem = planted(kind, n, seed)
                    clock = time.thread_time()
                    result = lcp.solve(problem, solver)
                    seconds = time.thread_time() - clock
                    by = type(result.solver).__name__
                    of_kind.append({"solver": name, "kind": kind, "n": n, "seed": seed, "status": result.status.name,
                                    "by": by, "iterations": result.iterations, "seconds": round(seconds, 4),
                                    "backward_error": f"{result.residual.backward_error:.1e}"})  # fmt: skip
                rows += of_kind
                times = sorted(row["seconds"] for row in of_kind if row["status"] == "SOLVED")
                within = " | ".join(f"{sum(t <= most for t in times)}" for most in (0.1, 1.0))
                median = f"{times[len(times) // 2]:.3g}" if times else ""
                table.append(f"| {name} | {kind} | {n} | {within} | {len(times)} of {len(of_kind)} | {median} |")
                print(table[-1], flush=True)
    if arguments.out:
        write_rows(arguments.out.with_suffix(".csv"), (machine,), rows)
        arguments.out.with_suffix(".md").write_text(f"{machine}.\n\n" + "\n".join(table) + "\n")


if __name__ == "__main__":
    main()

"""Obstacle problems of up to 100 000 unknowns with sparse M: accuracy, time and memory of each solver.

Run: ``python benchmarks/lcp_sparse.py [--out benchmarks/results/lcp_sparse_DATE.csv] [--solvers APGD ...]``.

There are two problems: a membrane on m x m nodes (five-point Laplacian) and a string (tridiagonal), fixed at the rim on
a table, lifted by a unit load in the middle and pressed down by one elsewhere. M includes 1/h^2, so the natural map is
an error of the load. The string's M has the condition number 0.4 n^2, too large for first-order methods at n = 100 000;
1000 and 10 000 are tried too. ``Refined`` polishes the solver's result within its limits at the default tolerance.

Each case runs in a separate process, which reports the growth of its peak memory from its value before the solve, with
the problem in memory. Kernels are compiled before, on a small problem. A missing solver is skipped with a message.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tables import write_rows

import lcp

# Solvers with their options, by their imported names; all of them keep M sparse, or report that they do not.
SOLVERS: tuple[tuple[str, dict[str, object]], ...] = (
    ("ProjectedGaussSeidel", {}),
    ("ProjectedGaussSeidel", {"relaxation": 1.0}),
    ("APGD", {}),
    ("NonsmoothNonlinearCG", {}),
    ("NonsmoothNonlinearCG", {"relaxation": 1.8}),
    ("MinMapNewton", {}),
    ("FischerNewton", {}),
    ("InteriorPoint", {}),
    ("OSQP", {}),
)
CASES = (("membrane", 100), ("membrane", 316), ("string", 1000), ("string", 10_000), ("string", 100_000))
TOLERANCES = (1e-6, 1e-9)


def laplacian(n: int) -> sparse.csr_array:
    """Return second differences on n nodes between fixed ends, without the factor 1/h^2."""
    off = -np.ones(n - 1)
    return sparse.csr_array(sparse.diags_array([off, 2.0 * np.ones(n), off], offsets=[-1, 0, 1]))


def problem(kind: str, m: int) -> lcp.LCP:
    """Return the membrane on m x m nodes or the string on m."""
    x = np.arange(1, m + 1) / (m + 1.0)
    line = laplacian(m) * (m + 1.0) ** 2
    if kind == "string":
        return lcp.LCP(line, np.where(np.abs(x - 0.5) < 0.25, -1.0, 1.0))
    one = sparse.eye_array(m)
    lifted = (x[:, None] - 0.5) ** 2 + (x - 0.5) ** 2 < 0.0625
    return lcp.LCP(sparse.kron(line, one) + sparse.kron(one, line), np.where(lifted, -1.0, 1.0).ravel())


def label(place: int) -> str:
    """Return the solver with this number in the table, as in its row."""
    name, options = SOLVERS[place]
    return name + "".join(f" {key}={value}" for key, value in options.items())


def built(place: int, limit: float) -> Any:
    """Return the solver object; None if there is no such solver."""
    from lcp import solvers

    name, options = SOLVERS[place]
    kind = getattr(solvers, name, None)
    if kind is None:
        return None
    limits = {"time_limit": limit} if "time_limit" in kind.__dataclass_fields__ else {}
    return kind(**options, **limits)


def one(kind: str, m: int, place: int, tolerance: float, limit: float, refined: bool) -> dict[str, object] | None:
    """Return one row of the table, measured in this process."""
    solver = built(place, limit)
    if solver is None:
        return None
    if refined:
        solver = lcp.Refined(solver)
    lcp.solve(problem(kind, 6), solver, tolerance=tolerance)
    data = problem(kind, m)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock = time.perf_counter()
    result = lcp.solve(data, solver, tolerance=tolerance)
    seconds = time.perf_counter() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "problem": kind,
        "n": data.n,
        "nnz": data.M.nnz,
        "solver": f"Refined {label(place)}" if refined else label(place),
        "tolerance": tolerance,
        "status": result.status.name,
        "natural_map": result.residual.natural_map,
        "scaled": result.residual.scaled,
        "iterations": result.iterations,
        "seconds": seconds,
        "memory_mib": (peak - before) / 1024.0,
    }


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    names = sorted({name for name, _ in SOLVERS})
    parser.add_argument("--solvers", nargs="+", choices=names, default=names)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each solve")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        kind, m, place, tolerance, refined = arguments.one
        print(json.dumps(one(kind, int(m), int(place), float(tolerance), arguments.limit, bool(int(refined)))))
        return
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores before" if hasattr(os, "getloadavg") else ""
    machine = f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}, {load}"
    print(machine)
    print(f"{'problem':9}{'n':>7} {'solver':40}{'tol':>6} {'status':16}{'natural':>9}{'iter':>8}{'s':>8}{'MiB':>7}")
    rows = []
    for kind, m in CASES:
        for place in [i for i, (name, _) in enumerate(SOLVERS) if name in arguments.solvers]:
            for tolerance, refined in [(TOLERANCES[0], 0), (TOLERANCES[1], 1)]:
                call = [sys.executable, __file__, "--limit", str(arguments.limit), "--one"]
                call += [kind, str(m), str(place), str(tolerance), str(refined)]
                done = subprocess.run(call, capture_output=True, text=True, check=False)
                row = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
                if row is None:
                    reason = f"failed: {done.stderr[-200:]}" if done.returncode else "absent"
                    print(f"{kind:9}{m:7d} {label(place):40}{reason}")
                    continue
                rows.append(row)
                print(f"{kind:9}{row['n']:7d} {row['solver']:40}{tolerance:6.0e} {row['status']:16}"
                      f"{row['natural_map']:9.1e}{row['iterations']:8d}{row['seconds']:8.2f}{row['memory_mib']:7.1f}",
                      flush=True)  # fmt: skip
    if arguments.out and rows:
        note = f"{machine}; {arguments.limit:g} s for each solve; memory: growth of the peak over the problem's"
        write_rows(arguments.out, (note,), rows, ".4g")


if __name__ == "__main__":
    main()

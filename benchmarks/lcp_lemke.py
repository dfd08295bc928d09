"""Lemke's method here and in quantecon, side by side: solve time on the same random problems, in turn.

Run: ``python benchmarks/lcp_lemke.py [--out benchmarks/results/lcp_lemke_DATE.csv]`` (extra ``peers``).

Both solvers are called from Python with arrays ready; both are compiled before the clock starts. Ours is timed twice:
the kernel alone, which ends with the verified re-solve, and `lcp.solve`, which adds the residuals and the result. A
pair is one call each, alternating; the ratio is the median over pairs. A wrong answer of either side is counted, never
dropped.
"""

from __future__ import annotations

import argparse
import csv
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import lcp
from lcp.kernels import lemke as k

SIZES = (4, 8, 16, 32, 50, 100, 200)


def problem(kind: str, n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A random problem: symmetric positive definite, semidefinite of rank n/2 (feasible), or P (not symmetric)."""
    if kind == "spd":
        A = rng.standard_normal((n, n))
        return A @ A.T + 0.1 * np.eye(n), rng.standard_normal(n)
    if kind == "psd":
        A = rng.standard_normal((n, max(1, n // 2)))
        z = np.maximum(rng.standard_normal(n), 0.0)
        return A @ A.T, np.maximum(rng.standard_normal(n), 0.0) * (z == 0.0) - A @ (A.T @ z)
    M = rng.uniform(-1.0, 1.0, (n, n))
    np.fill_diagonal(M, np.abs(M).sum(axis=1) + 0.1)
    return M, rng.standard_normal(n)


def kernel_call(M: NDArray[np.float64], q: NDArray[np.float64]) -> Callable[[], None]:
    """The kernel with its workspace ready, as a compiled loop would call it."""
    n = q.shape[0]
    options = lcp.Lemke().kernel_options()
    wf, wi = np.empty(k.lemke_float_size(n)), np.empty(k.lemke_int_size(n), dtype=np.int64)
    z, info = np.zeros(n), np.zeros(k.INFO_SIZE, dtype=np.int64)
    return lambda: k.lemke(M, q, z, False, options, wf, wi, z, info)


def timed(call: Callable[[], object], repeats: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def main() -> None:
    """Print and keep the table."""
    from quantecon.optimize import lcp_lemke

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pairs", type=int, default=41)
    arguments = parser.parse_args()
    machine = f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
    print(machine)
    print("class    n  kernel us   solve us  quantecon us  q/kernel  q/solve  wrong: ours  quantecon")
    rows = []
    for kind in ("spd", "psd", "p"):
        for n in SIZES:
            rng = np.random.default_rng([n, len(kind)])
            ours, whole, theirs = [], [], []
            wrong = [0, 0]
            repeats = max(1, 400 // n)
            for pair in range(arguments.pairs + 1):
                M, q = problem(kind, n, rng)
                data = lcp.LCP(M, q)
                a = timed(kernel_call(M, q), repeats)
                b = timed(lambda M=M, q=q: lcp_lemke(M, q), repeats)  # type: ignore[misc]
                c = timed(lambda data=data: lcp.solve(data, lcp.Lemke()), repeats)  # type: ignore[misc]
                wrong[0] += not lcp.solve(data, lcp.Lemke()).solved
                wrong[1] += not lcp.residuals(data, lcp_lemke(M, q).z).solved()
                if pair:  # the first pair compiles
                    ours.append(a)
                    theirs.append(b)
                    whole.append(c)
            row = {
                "class": kind,
                "n": n,
                "kernel_us": np.median(ours) * 1e6,
                "solve_us": np.median(whole) * 1e6,
                "quantecon_us": np.median(theirs) * 1e6,
                "ratio_kernel": np.median(np.divide(theirs, ours)),
                "ratio_solve": np.median(np.divide(theirs, whole)),
                "wrong_ours": wrong[0],
                "wrong_quantecon": wrong[1],
            }
            rows.append(row)
            print(f"{kind:5} {n:4d} {row['kernel_us']:10.2f} {row['solve_us']:10.2f} {row['quantecon_us']:13.2f} "
                  f"{row['ratio_kernel']:9.2f} {row['ratio_solve']:8.2f} {wrong[0]:12d} {wrong[1]:10d}")  # fmt: skip
    if arguments.out:
        with arguments.out.open("w", newline="") as file:
            file.write(f"# {machine}; {arguments.pairs} pairs, medians; ratio > 1: ours is faster\n")
            writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
            writer.writeheader()
            for row in rows:
                writer.writerow({key: f"{v:.3f}" if isinstance(v, float) else v for key, v in row.items()})


if __name__ == "__main__":
    main()

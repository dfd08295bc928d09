"""Lemke's method here and in quantecon: solve time on the same random problems, in turn.

Run: ``python benchmarks/lcp_lemke.py [--out benchmarks/results/lcp_lemke_DATE.csv]`` (extra ``peers``).

Both solvers are called from Python with prepared arrays, and both are compiled before timing. Ours is timed twice: only
the kernel, which ends with the verified re-solve, and `lcp.solve` with a prebuilt `lcp.LCP` and an explicit
`lcp.Lemke`, which adds the certificate and the result. On each problem the three take turns several times and the least
time of each counts; the figures are medians over problems. A wrong result of either side is counted, never dropped.
Quantecon, whose default limit is a million pivots, is stopped after 20 n + 1000, so that a cycle ends.

``per update`` is kernel time / (pivots x time of one rank-1 update of the full tableau), n x (2 n + 2) entries, with
the update measured in the same run. It is the cost of a pivot as a fraction of a textbook pivot, with all overhead.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tables import write_rows

import lcp
from lcp.kernels import kernel
from lcp.kernels import lemke as k

SIZES = (4, 8, 16, 32, 50, 100, 200, 500, 1000)
TITLE = "class     n  pivots  kernel us   solve us  quantecon us  q/kernel  q/solve  per update  wrong: ours  quantecon"


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


@kernel
def rank_one_updates(T: NDArray[np.float64], u: NDArray[np.float64], v: NDArray[np.float64], repeats: int) -> None:
    """Compute T += u v', two rows at a time."""
    for _ in range(repeats):
        for i in range(0, T.shape[0], 2):
            upper = T[i]
            lower = T[i + 1]
            a = u[i]
            b = u[i + 1]
            for j in range(T.shape[1]):
                p = v[j]
                upper[j] += a * p
                lower[j] += b * p


def update_seconds(n: int) -> float:
    """Least time of one rank-1 update of the full tableau."""
    T, u, v = np.ones((n, 2 * n + 2)), np.full(n, 1e-9), np.ones(2 * n + 2)
    repeats = max(1, 10**7 // (n * n))
    return min(timed(lambda: rank_one_updates(T, u, v, repeats), 1) for _ in range(15)) / repeats


def begun(info: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the information array of a first kernel call."""
    info[:] = 0
    return info


def kernel_call(
    M: NDArray[np.float64], q: NDArray[np.float64]
) -> tuple[Callable[[], None], NDArray[np.float64], NDArray[np.int64]]:
    """Call the kernel with its workspace, as in a compiled loop; return its result and its information."""
    n = q.shape[0]
    options = lcp.Lemke().kernel_options()
    wf, wi = np.empty(k.lemke_float_size(n)), np.empty(k.lemke_int_size(n), dtype=np.int64)
    z, info = np.zeros(n), np.zeros(k.INFO_SIZE, dtype=np.int64)
    return lambda: k.lemke_drive(M, q, z, False, options, wf, wi, z, begun(info), k.WHOLE), z, info


def timed(call: Callable[[], object], repeats: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def in_turn(calls: list[Callable[[], object]], rounds: int, repeats: int) -> list[float]:
    """Return the least seconds per call of each."""
    times = [[timed(call, repeats) for call in calls] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def compare(kind: str, n: int, update: float) -> dict[str, float | str | int]:
    """Return one row of the table."""
    from quantecon.optimize import lcp_lemke

    rng = np.random.default_rng([n, len(kind)])
    solver, most = lcp.Lemke(), 20 * n + 1000
    measured, wrong = [], [0, 0]
    for _ in range(21 if n <= 100 else 11 if n <= 200 else 5 if n <= 500 else 3):
        M, q = problem(kind, n, rng)
        data = lcp.LCP(M, q)
        ours, z, info = kernel_call(M, q)
        ours()
        wrong[0] += not (lcp.residuals(data, z).solved() and lcp.solve(data, solver).solved)
        wrong[1] += not lcp.residuals(data, lcp_lemke(M, q, max_iter=most).z).solved()
        calls = [ours, lambda data=data: lcp.solve(data, solver), lambda M=M, q=q: lcp_lemke(M, q, max_iter=most)]  # type: ignore[misc]
        a, b, c = in_turn(calls, 9 if n <= 200 else 3 if n <= 500 else 2, max(1, 1000 // n) if n <= 200 else 1)
        measured.append((int(info[k.PIVOTS]), a * 1e6, b * 1e6, c * 1e6, c / a, c / b, a / (info[k.PIVOTS] * update)))
    middle = np.median(np.array(measured), axis=0).tolist()
    names = ("pivots", "kernel_us", "solve_us", "quantecon_us", "ratio_kernel", "ratio_solve", "per_update")
    return {
        "class": kind,
        "n": n,
        **dict(zip(names, middle, strict=True)),
        "wrong_ours": wrong[0],
        "wrong_quantecon": wrong[1],
    }


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--note", default="", help="state of the machine, kept in the file")
    arguments = parser.parse_args()
    machine = (
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__} {arguments.note}".strip()
    )
    print(machine)
    rank_one_updates(np.ones((2, 6)), np.ones(2), np.ones(6), 1)
    compare("spd", 4, 1.0)  # compiles
    sizes = [n for n in SIZES if n <= arguments.largest]
    updates = {n: update_seconds(n) for n in sizes}
    print("rank-1 update of the full tableau, us:", {n: round(t * 1e6, 2) for n, t in updates.items()})
    print(TITLE)
    rows, growth = [], []
    for kind in ("spd", "psd", "p"):
        for n in sizes:
            row = compare(kind, n, updates[n])
            row["update_us"] = updates[n] * 1e6
            rows.append(row)
            wrong = f"{row['wrong_ours']:12d} {row['wrong_quantecon']:10d}"
            print(f"{kind:5} {n:5d} {row['pivots']:7.0f} {row['kernel_us']:10.2f} {row['solve_us']:10.2f} "
                  f"{row['quantecon_us']:13.2f} {row['ratio_kernel']:9.2f} {row['ratio_solve']:8.2f} "
                  f"{row['per_update']:11.3f} {wrong}", flush=True)  # fmt: skip
        large = [row for row in rows if row["class"] == kind and int(row["n"]) >= 100]
        if len(large) > 1:
            logs = [np.log([float(row[name]) for row in large]) for name in ("n", "kernel_us", "quantecon_us")]
            ours, theirs = (float(np.polyfit(logs[0], log, 1)[0]) for log in logs[1:])
            growth.append(f"{kind}: kernel n^{ours:.2f}, quantecon n^{theirs:.2f}")
            print(f"growth from n = 100, {growth[-1]}")
    if arguments.out:
        note = f"{machine}; least of several turns, medians over problems; ratio > 1: ours is faster"
        write_rows(arguments.out, (note, f"growth from n = 100: {'; '.join(growth)}"), rows, ".3f")


if __name__ == "__main__":
    main()

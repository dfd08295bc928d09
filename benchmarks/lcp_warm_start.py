"""Gain by warm starts: Lemke's method on sequences of neighbouring problems, cold and from the previous solution.

Run: ``python benchmarks/lcp_warm_start.py [SEQUENCE.npz] [--out benchmarks/results/lcp_warm_start_DATE.csv]``.

SEQUENCE.npz has the LCPs of consecutive time steps: ``n`` (sizes), and ``M`` and ``q`` one after another. Sequences are
also generated: a fixed M with a q that takes random steps, of ``step`` times its size (semidefinite: this fraction of
the entries of its solution changes). A previous solution is used if the size is the same. ``try`` is the method without
a path: try the previous basis, else start cold; its time is the cold time plus the time of a failed try. Times are
kernel times, the least of several.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np
from lcp_lemke import problem
from numpy.typing import NDArray
from tables import write_rows

import lcp
from lcp.kernels import lemke as k
from lcp.kernels.basis_solve import solve_active
from lcp.kernels.equilibrate import equilibrate

Matrix = NDArray[np.float64]
Sequence = list[tuple[Matrix, Matrix]]


def recorded(file: Path) -> Sequence:
    """Return the problems of a file."""
    with np.load(file) as data:
        sizes, M, q = data["n"], data["M"], data["q"]
    found, at_M, at_q = [], 0, 0
    for n in sizes:
        found.append((M[at_M : at_M + n * n].reshape(n, n).copy(), q[at_q : at_q + n].copy()))
        at_M, at_q = at_M + n * n, at_q + n
    return found


def generated(kind: str, n: int, step: float, length: int = 40) -> Sequence:
    """Return a fixed M and a changing q."""
    rng = np.random.default_rng([n, len(kind)])
    M, q = problem(kind, n, rng)
    if kind != "psd":
        found = []
        for _ in range(length):
            found.append((M, q))
            q = q + step * rng.standard_normal(n)
        return found
    z, slack, found = np.maximum(rng.standard_normal(n), 0.0), rng.random(n), []
    for _ in range(length):
        found.append((M, slack * (z == 0.0) - M @ z))
        z = np.where(rng.random(n) < step, np.maximum(rng.standard_normal(n), 0.0), z)
    return found


def solved(M: Matrix, q: Matrix, z0: Matrix | None, rounds: int) -> tuple[bool, int, int, float, Matrix]:
    """Return whether the kernel solves it, its pivots, the use of the start, seconds, and z."""
    n = q.shape[0]
    wf, wi = np.empty(k.lemke_float_size(n)), np.empty(k.lemke_int_size(n), dtype=np.int64)
    z, info, options = np.zeros(n), np.zeros(k.INFO_SIZE, dtype=np.int64), lcp.Lemke().kernel_options()
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        info[:] = 0
        code = k.lemke_drive(M, q, z if z0 is None else z0, z0 is not None, options, wf, wi, z, info, k.WHOLE)
        best = min(best, time.perf_counter() - start)
    return code == 0, int(info[k.PIVOTS]), int(info[k.WARM]), best, z


def try_seconds(M: Matrix, q: Matrix, z0: Matrix, rounds: int) -> float:
    """Return the time to scale and solve the basis of z0."""
    n = q.shape[0]
    row, column, A, work = np.ones(n), np.ones(n), np.empty((n, n)), np.empty(3 * n)
    active, perm, z = np.zeros(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    chosen = np.flatnonzero(z0 > 0.0)
    active[: len(chosen)] = chosen
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        equilibrate(M, row, column, 4, work)
        solve_active(M, q, row, column, active, len(chosen), A, perm, work, z)
        best = min(best, time.perf_counter() - start)
    return best


def measure(name: str, problems: Sequence, rounds: int) -> dict[str, str | int | float]:
    """Return one row of the table."""
    total = dict.fromkeys(("cold_pivots", "cold_us", "warm_pivots", "warm_us", "try_pivots", "try_us"), 0.0)
    ends = {k.WARM_BASIS: 0, k.WARM_PATH: 0, 0: 0}
    pairs = lost = 0
    previous = None
    for M, q in problems:
        cold_solved, cold, _, cold_time, z = solved(M, q, None, rounds)
        if previous is not None and previous.shape == z.shape:
            pairs += 1
            warm_solved, warm, used, warm_time, _ = solved(M, q, previous, rounds)
            lost += cold_solved and not warm_solved
            ends[used] += 1
            accepted = used == k.WARM_BASIS
            tried = warm_time if accepted else cold_time + try_seconds(M, q, previous, rounds)
            for key, value in (
                ("cold_pivots", cold), ("cold_us", cold_time * 1e6), ("warm_pivots", warm),
                ("warm_us", warm_time * 1e6), ("try_pivots", 0 if accepted else cold), ("try_us", tried * 1e6),
            ):  # fmt: skip
                total[key] += value
        previous = z.copy() if cold_solved else None
    return {
        "sequence": name,
        "pairs": pairs,
        **total,
        "basis_solves": ends[k.WARM_BASIS],
        "path_from_it": ends[k.WARM_PATH],
        "fell_back": ends[0],
        "lost": lost,
    }


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequence", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--note", default="", help="state of the machine, kept in the file")
    arguments = parser.parse_args()
    machine = (
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__} {arguments.note}".strip()
    )
    print(machine)
    solved(np.eye(2), -np.ones(2), np.array([1.0, 0.0]), 1)
    runs = [(arguments.sequence.stem, recorded(arguments.sequence), 9)] if arguments.sequence else []
    for kind in ("spd", "psd", "p"):
        for n in (16, 50, 100, 200):
            runs.extend((f"{kind} n={n} step={step}", generated(kind, n, step), 5) for step in (0.02, 0.1))
    rows = []
    print("sequence                  pairs    pivots: cold   try  warm    us: cold       try      warm  warm/cold  "
          "basis/path/back  lost")  # fmt: skip
    for name, problems, rounds in runs:
        row = measure(name, problems, rounds)
        rows.append(row)
        ends = f"{row['basis_solves']:5d}/{row['path_from_it']}/{row['fell_back']}"
        print(f"{name:25} {row['pairs']:5d} {row['cold_pivots']:15.0f} {row['try_pivots']:5.0f} "
              f"{row['warm_pivots']:5.0f} {row['cold_us']:11.0f} {row['try_us']:9.0f} {row['warm_us']:9.0f} "
              f"{float(row['warm_us']) / float(row['cold_us']):10.2f}  "
              f"{ends} {row['lost']:9d}", flush=True)  # fmt: skip
    if arguments.out:
        write_rows(arguments.out, (f"{machine}; totals over the pairs; kernel times",), rows, ".1f")


if __name__ == "__main__":
    main()

"""Small problems: cost of a whole call here and in quantecon, single and in batches, and cost of the import.

Run: ``python benchmarks/lcp_small.py`` (extra ``peers``), half a minute.

A whole call starts with arrays and ends with z: ``lcp.solve(lcp.LCP(M, q), lcp.Lemke()).z`` copies and checks data,
solves, measures the result on the data and decides its status; ``lcp_lemke(M, q).z`` solves. Both are compiled before
timing. On each problem they take turns many times and the least time of each counts; the figures are medians over
problems. The time of a batch is per problem. ``instructions`` are bytecode instructions of Python, which do not depend
on the load of the machine: per problem, for single calls and a batch of the same problems, for every solver.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
from lcp_lemke import problem

import lcp

SIZES = (4, 16, 64)
KINDS = ("spd", "psd", "p")
BATCH = 2000


def least(calls: list[Callable[[], object]], rounds: int, repeats: int) -> list[float]:
    """Return the least microseconds of each call, in turn."""
    best = [np.inf] * len(calls)
    for call in calls:
        call()
    for _ in range(rounds):
        for i, call in enumerate(calls):
            begun = time.perf_counter()
            for _ in range(repeats):
                call()
            best[i] = min(best[i], (time.perf_counter() - begun) / repeats * 1e6)
    return best


def single(kind: str, n: int) -> tuple[float, float, float, float]:
    """Return median us of a whole call, of a solve only, and of quantecon's; and the median ratio of whole calls."""
    from quantecon.optimize import lcp_lemke

    rng = np.random.default_rng([n, len(kind)])
    rows = []
    for _ in range(9):
        M, q = problem(kind, n, rng)
        data, solver = lcp.LCP(M, q), lcp.Lemke()
        assert lcp.solve(data, solver).solved
        calls = [
            lambda M=M, q=q: lcp.solve(lcp.LCP(M, q), lcp.Lemke()).z,  # type: ignore[misc]
            lambda data=data, solver=solver: lcp.solve(data, solver).z,  # type: ignore[misc]
            lambda M=M, q=q: lcp_lemke(M, q).z,  # type: ignore[misc]
        ]
        rows.append(least(calls, 200, max(2, 80 // n)))
    whole, solve, theirs = np.median(rows, axis=0).tolist()
    return whole, solve, theirs, float(np.median([row[2] / row[0] for row in rows]))


def batch(n: int, threads: int | None) -> float:
    """Return the least us per problem of a batch."""
    rng = np.random.default_rng(n)
    M, q = (np.array(part) for part in zip(*[problem("spd", n, rng) for _ in range(BATCH)], strict=True))
    assert lcp.solve_batch(M, q, lcp.Lemke(), threads=threads).solved.all()
    return least([lambda: lcp.solve_batch(M, q, lcp.Lemke(), threads=threads)], 60, 1)[0] / BATCH


def instructions(work: Callable[[], object]) -> int:
    """Return Python's bytecode instructions of ``work``, which are the same on every machine at any load."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def of_python(solver: Any) -> tuple[float, float]:
    """Return instructions per problem: of single calls, and of a batch."""
    rng = np.random.default_rng(0)
    M, q = (np.array(part) for part in zip(*[problem("spd", 4, rng) for _ in range(64)], strict=True))

    def singly() -> None:
        for i in range(len(M)):
            lcp.solve(lcp.LCP(M[i], q[i]), solver)

    def together() -> None:
        lcp.solve_batch(M, q, solver, threads=1)

    singly()
    together()
    return instructions(singly) / len(M), instructions(together) / len(M)


def import_milliseconds() -> tuple[float, float]:
    """Return the least CPU milliseconds of ten new interpreters (with bytecode) for numpy, and for lcp beyond it."""
    code = (
        "import time; a = time.process_time(); import numpy; b = time.process_time(); import lcp;"
        " print(b - a, time.process_time() - b)"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    runs = []
    for _ in range(11):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        runs.append([1e3 * float(number) for number in done.stdout.split()])
    ours, theirs = (min(column) for column in zip(*runs[1:], strict=True))
    return ours, theirs


def main() -> None:
    """Print the tables."""
    print("class     n   whole call us   solve us   quantecon us   quantecon / whole call")
    for n in SIZES:
        for kind in KINDS:
            whole, solve, theirs, ratio = single(kind, n)
            print(f"{kind:5} {n:5d} {whole:15.2f} {solve:10.2f} {theirs:14.2f} {ratio:24.2f}", flush=True)
    for threads in (1, None):
        print(f"batch of {BATCH}, n = 16, threads {threads}: {batch(16, threads):.2f} us a problem", flush=True)
    print("import: numpy {:.0f} ms, lcp beyond it {:.0f} ms of the processor".format(*import_milliseconds()))
    print("instructions of Python by the problem: single calls, batch")
    for kind in lcp.ALL_SOLVERS:
        if kind is not lcp.LemkeHowson:  # bimatrix games alone
            print("{:24} {:10.0f} {:10.0f}".format(kind.__name__, *of_python(kind())), flush=True)


if __name__ == "__main__":
    main()

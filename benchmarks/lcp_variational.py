"""Five variational inequalities of 100 000 unknowns: the default beside every solver here that keeps M sparse.

Run: ``python benchmarks/lcp_variational.py [--side 316] [--rounds 3] [--solvers default PIQP ...] [--out ...md]``.

The problems are on side x side nodes of the unit square: an obstacle under a membrane; the film of a journal bearing;
elastic-plastic torsion (bounds on both sides); contact along one edge only, as Signorini's (the other unknowns are
free); a membrane over an obstacle in a wind (M not symmetric). Solvers take turns in one process, so that ratios belong
to one machine and one hour. Each row is the median of the rounds, with the status of `lcp.solve`. Seconds are seconds
of the processor, of all threads of the process. Kernels are compiled before, on small problems.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import lcp

SOLVERS: dict[str, Any] = {
    "default": None,
    "BlockPrincipalPivoting": lcp.BlockPrincipalPivoting(time_limit=60.0),
    "FischerNewton": lcp.FischerNewton(time_limit=60.0),
    "InteriorPoint": lcp.Refined(lcp.InteriorPoint(time_limit=60.0)),
    "PIQP": lcp.PIQP(),
    "OSQP": lcp.OSQP(time_limit=60.0),
    "Clarabel": lcp.Clarabel(time_limit=60.0),
}


def second_differences(m: int, weights: np.ndarray | None = None) -> Any:
    """Return the matrix of -(weight u')' on m nodes between fixed ends, times h^2; (m + 1) weights between nodes."""
    a = np.ones(m + 1) if weights is None else weights
    return sparse.diags_array([-a[1:-1], a[:-1] + a[1:], -a[1:-1]], offsets=[-1, 0, 1])


def membrane(m: int) -> Any:
    """Return -Laplace on m x m nodes, without 1/h^2."""
    line, one = second_differences(m), sparse.eye_array(m)
    return (sparse.kron(line, one) + sparse.kron(one, line)).tocsr()


def obstacle(m: int) -> lcp.LCP:
    """Return a membrane pulled down onto two hills, in the distance above them."""
    h = 1.0 / (m + 1)
    x = np.arange(1, m + 1) * h
    hills = np.maximum(np.sin(9.2 * x)[:, None] * np.sin(9.3 * x), 0.0).ravel() ** 3 * 0.2
    A = membrane(m)
    return lcp.LCP(A, A @ hills + h * h)


def bearing(m: int) -> lcp.LCP:
    """Return Reynolds' film of eccentricity 0.1 on (0, 2 pi) x (0, 20), with at least the pressure of the air."""
    eccentricity, wide, high = 0.1, 2.0 * np.pi / (m + 1), 20.0 / (m + 1)
    gap = (1.0 + eccentricity * np.cos(wide * (np.arange(m + 1) + 0.5))) ** 3
    here = (1.0 + eccentricity * np.cos(wide * np.arange(1, m + 1))) ** 3
    A = sparse.kron(second_differences(m, gap), sparse.eye_array(m)) * (high / wide)
    A = A + sparse.kron(sparse.diags_array(here), second_differences(m)) * (wide / high)
    load = -eccentricity * np.sin(wide * np.arange(1, m + 1)) * wide * high
    return lcp.LCP(A.tocsr(), np.repeat(load, m))


def torsion(m: int) -> lcp.BoxLCP:
    """Return a bar twisted until it yields: the slope of u is at most 1, |u| at most the rim distance."""
    h = 1.0 / (m + 1)
    x = np.arange(1, m + 1) * h
    near = np.minimum(x, 1.0 - x)
    distance = np.minimum(near[:, None], near).ravel()
    return lcp.BoxLCP(membrane(m), np.full(m * m, -5.0 * h * h), -distance, distance)


def signorini(m: int) -> lcp.BoxLCP:
    """Return a membrane whose last edge is free above a table; its other unknowns have no bounds."""
    h = 1.0 / (m + 1)
    free_end = second_differences(m).tolil()
    free_end[m - 1, m - 1] = 1.0
    weight = np.append(np.ones(m - 1), 0.5)
    A = sparse.kron(free_end.tocsr(), sparse.eye_array(m)) + sparse.kron(
        sparse.diags_array(weight), second_differences(m)
    )
    x = np.arange(1, m + 1) * h
    load = 20.0 * np.cos(9.0 * x) * np.ones((m, 1)) * h * h * weight[:, None]
    low = np.full((m, m), -np.inf)
    low[-1] = -0.1
    return lcp.BoxLCP(A.tocsr(), load.ravel(), low.ravel(), np.inf)


def windy(m: int) -> lcp.LCP:
    """Return the obstacle with a wind across: upwind differences of 20 u_x + 10 u_y, not symmetric."""
    h = 1.0 / (m + 1)
    back = sparse.diags_array([-np.ones(m - 1), np.ones(m)], offsets=[-1, 0])
    one = sparse.eye_array(m)
    still = obstacle(m)
    wind = (20.0 * h * sparse.kron(back, one) + 10.0 * h * sparse.kron(one, back)).tocsr()
    x = np.arange(1, m + 1) * h
    hills = np.maximum(np.sin(9.2 * x)[:, None] * np.sin(9.3 * x), 0.0).ravel() ** 3 * 0.2
    return lcp.LCP(still.M + wind, still.q + wind @ hills)


PROBLEMS = {"obstacle": obstacle, "bearing": bearing, "torsion": torsion, "signorini": signorini, "windy": windy}


def main() -> None:
    """Take turns, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=316)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    lines = [f"{arguments.side}^2 = {arguments.side**2} unknowns, median of {arguments.rounds} rounds in turn", "",
             "| problem | solver | status | backward error | factorisations or steps | s | s / default |",
             "| --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    print(*lines, sep="\n", flush=True)
    for name in arguments.problems:
        problem, small = PROBLEMS[name](arguments.side), PROBLEMS[name](12)
        seconds: dict[str, list[float]] = {solver: [] for solver in arguments.solvers}
        results: dict[str, Any] = {}
        for _ in range(arguments.rounds):
            for solver in arguments.solvers:
                lcp.solve(small, SOLVERS[solver])
                clock = time.process_time()
                results[solver] = lcp.solve(problem, SOLVERS[solver])
                seconds[solver].append(time.process_time() - clock)
        for solver in arguments.solvers:
            result = results[solver]
            ratio = statistics.median(
                a / b for a, b in zip(seconds[solver], seconds[arguments.solvers[0]], strict=True)
            )
            figures = f"{result.status.name} | {result.residual.backward_error:.1e} | {result.iterations}"
            lines.append(f"| {name} | {solver} | {figures} | {statistics.median(seconds[solver]):.2f} | {ratio:.2f} |")
            print(lines[-1], flush=True)
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

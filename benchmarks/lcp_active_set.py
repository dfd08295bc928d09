"""Few positive unknowns: active-set pivoting beside Lemke's method on stacks of boxes at rest.

Run: ``python benchmarks/lcp_active_set.py [--out benchmarks/results/lcp_active_set_DATE.csv]``.

A stack of unit boxes is on a plane, with four contacts per interface, in one step of h = 0.01 s from rest: with the
friction pyramid of four edges (n = 24 per box) and without friction (n = 4 per box, positive semidefinite, of rank 3
per interface). Both solvers are called as by a user, `lcp.solve` on a prebuilt problem, and as in a compiled loop, only
the kernel. A pair is one call of each in turn, the ratio is the median over pairs, and times are minima. Wrong results
are counted, never dropped. The exponential families are listed with the pivots of every method.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import lcp
from lcp.catalog import fathi, murty
from lcp.kernels import active_set_pivoting as active
from lcp.kernels import lemke
from lcp.solvers.block_principal_pivoting import BlockPrincipalPivoting
from lcp.solvers.principal_pivoting import ActiveSetPivoting, CottleDantzig, Murty

H, G, MU = 0.01, 9.81, 0.5


def stack(boxes: int, friction: bool) -> lcp.LCP:
    """Return unit cubes of 1 kg on top of one another; unknowns [fN | fD contact by contact | lambda], or only fN."""
    corners = [np.array([x, y]) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    edges = [np.array([1.0, 0, 0]), np.array([-1.0, 0, 0]), np.array([0, 1.0, 0]), np.array([0, -1.0, 0])]
    normals: list[NDArray[np.float64]] = []
    tangents: list[NDArray[np.float64]] = []
    for upper in range(boxes):
        for corner in corners:
            for direction, rows in ((np.array([0, 0, 1.0]), normals), *((edge, tangents) for edge in edges)):
                row = np.zeros((boxes, 6))
                for body, sign, height in ((upper, 1.0, -0.5), (upper - 1, -1.0, 0.5)):
                    if body >= 0:
                        arm = np.array([*corner, height])
                        row[body] = sign * np.concatenate([direction, np.cross(arm, direction)])
                rows.append(row.ravel())
    inverse_mass = np.tile([1.0, 1.0, 1.0, 6.0, 6.0, 6.0], boxes)
    v_free = np.zeros(6 * boxes)
    v_free[2::6] = -H * G
    J = np.array(normals + tangents if friction else normals)
    block = (J * inverse_mass) @ J.T
    if not friction:
        return lcp.LCP(block, J @ v_free)
    contacts, m = len(normals), len(J)
    M = np.zeros((m + contacts, m + contacts))
    M[:m, :m] = block
    E = np.kron(np.eye(contacts), np.ones((4, 1)))
    M[contacts:m, m:], M[m:, contacts:m] = E, -E.T
    M[m:, :contacts] = MU * np.eye(contacts)
    return lcp.LCP(M, np.concatenate([J @ v_free, np.zeros(contacts)]))


def begun(info: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the information array of a first kernel call."""
    info[:] = 0
    return info


def active_kernel(problem: lcp.LCP) -> Callable[[], object]:
    """Return the kernel with its workspace."""
    n, M, q = problem.n, problem._M, problem._q
    options = ActiveSetPivoting().kernel_options()
    wf, wi = np.empty(active.active_set_float_size(n)), np.empty(active.active_set_int_size(n), dtype=np.int64)
    z, info = np.zeros(n), np.zeros(active.INFO_SIZE, dtype=np.int64)
    return lambda: active.active_set_drive(M, q, z, False, options, wf, wi, z, begun(info), 1 << 60)


def lemke_kernel(problem: lcp.LCP) -> Callable[[], object]:
    """Return the kernel with its workspace."""
    n, M, q = problem.n, problem._M, problem._q
    options = lcp.Lemke().kernel_options()
    wf, wi = np.empty(lemke.lemke_float_size(n)), np.empty(lemke.lemke_int_size(n), dtype=np.int64)
    z, info = np.zeros(n), np.zeros(lemke.INFO_SIZE, dtype=np.int64)
    return lambda: lemke.lemke_drive(M, q, z, False, options, wf, wi, z, begun(info), lemke.WHOLE)


def timed(call: Callable[[], object], repeats: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def race(name: str, problem: lcp.LCP, pairs: int) -> dict[str, object]:
    """Return one row: both solvers in turn."""
    calls = (
        lambda: lcp.solve(problem, ActiveSetPivoting()),
        lambda: lcp.solve(problem, lcp.Lemke()),
        active_kernel(problem),
        lemke_kernel(problem),
    )
    ours, theirs = calls[0](), calls[1]()
    repeats = max(1, 2000 // (problem.n + 1))
    times = np.array([[timed(call, repeats) for call in calls] for _ in range(pairs + 1)][1:])
    best = times.min(axis=0) * 1e6
    return {
        "problem": name,
        "n": problem.n,
        "positive": int(np.count_nonzero(ours.z)),
        "pivots": ours.iterations,
        "pivots_lemke": theirs.iterations,
        "solve_us": best[0],
        "solve_lemke_us": best[1],
        "kernel_us": best[2],
        "kernel_lemke_us": best[3],
        "ratio_solve": float(np.median(times[:, 1] / times[:, 0])),
        "ratio_kernel": float(np.median(times[:, 3] / times[:, 2])),
        "wrong": int(not ours.solved),
        "wrong_lemke": int(not theirs.solved),
    }


def exponential() -> list[dict[str, object]]:
    """Return pivots and times on the families that are exponential for complementary pivoting."""
    rows: list[dict[str, object]] = []
    for name, problem in [
        *((f"fathi_{n}", fathi(n)) for n in (5, 10, 20)),
        *((f"fathi_ones_{n}", lcp.LCP(fathi(n)._M, -np.ones(n))) for n in (10, 50)),
        *((f"murty_{n}", murty(n)) for n in (10, 20, 40)),
        *((f"murty_ones_{n}", lcp.LCP(murty(n)._M, -np.ones(n))) for n in (10, 50)),
    ]:
        row: dict[str, object] = {"problem": name, "n": problem.n}
        for solver in (ActiveSetPivoting(), CottleDantzig(), BlockPrincipalPivoting(), Murty(time_limit=2.0)):
            result = lcp.solve(problem, solver)
            seconds = min(lcp.solve(problem, solver).solve_time for _ in range(3))
            key = type(solver).__name__
            row[f"{key}_pivots"] = result.iterations if result.solved else f"{result.iterations} {result.status.name}"
            row[f"{key}_us"] = seconds * 1e6
        rows.append(row)
    return rows


def show(rows: list[dict[str, object]]) -> list[str]:
    """Return the rows as lines of a CSV table with heading."""
    lines = [",".join(rows[0])]
    for row in rows:
        lines.append(",".join(f"{v:.2f}" if isinstance(v, float) else str(v) for v in row.values()))
    return lines


def main() -> None:
    """Print and keep both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 4, 8, 16, 24, 33])
    arguments = parser.parse_args()
    machine = f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
    print(machine)
    rows = []
    for boxes in arguments.sizes:
        rows.append(race(f"rest_friction_{boxes}", stack(boxes, True), arguments.pairs))
    for boxes in arguments.sizes:
        rows.append(race(f"rest_frictionless_{6 * boxes}", stack(6 * boxes, False), arguments.pairs))
    text = [f"# {machine}; minima of {arguments.pairs} runs in us; ratio > 1: faster than Lemke", *show(rows)]
    text += ["# pivots and us on the exponential families", *show(exponential())]
    print("\n".join(text))
    if arguments.out:
        arguments.out.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()

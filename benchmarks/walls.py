"""Kicked walls: one frictional problem of growing size, for solvers that use its blocks and for solvers of matrices.

Run: ``python benchmarks/walls.py [--out benchmarks/results/walls_DATE] [--wall 3x4 4x6 ...] [--limit 30]``.

Bricks of 2 kg in running bond have four contacts per face, mu 0.6, k = 4, h = 2 ms; one in the middle is kicked out at
2 m/s. There are n = 6 unknowns per contact. ``EqualCompliance`` is the default of a step; the others get the step's LCP
as a sparse matrix, with its stated noise, quantecon the dense one. Seconds are seconds of the processor, without
compilation and without forming the problem.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from simulation_ours import world
from simulation_scenes import Body, Scene
from tables import write

import lcp
from contactlab import ConstraintSolver, EqualCompliance
from contactlab.constraint_solver.discretized import DiscretizedLCP, form_discretized_lcp
from contactlab.simulation import TimeStepping, simulate

WALLS = ("3x4", "4x6", "6x8", "7x15", "11x20")
HEAD = ("wall", "contacts", "n", "solver", "cpu_s", "status", "natural map")
HALF = (0.1, 0.05, 0.05)
LARGEST_DENSE, LARGEST = 1500, 6500


def wall(courses: int, bricks: int) -> Scene:
    """Return a wall whose middle brick is kicked across."""
    bodies = []
    for i in range(courses):
        for j in range(bricks):
            kick = 2.0 if (i, j) == (courses // 2, bricks // 2) else 0.0
            at = (0.2 * j + 0.1 * (i % 2), 0.0, 0.05 + 0.1 * i, 1.0, 0.0, 0.0, 0.0)
            bodies.append(Body("box", HALF, 2.0, at, (0.0, kick, 0.0, 0.0, 0.0, 0.0)))
    return Scene(f"{courses}x{bricks}", 1, tuple(bodies), mu=0.6)


def answers(formed: DiscretizedLCP, limit: float) -> Iterator[tuple[str, float, str, float]]:
    """Return solver, seconds, status and natural map of each."""
    selecting = ConstraintSolver(EqualCompliance())
    for _ in range(2):  # the first compiles
        start = time.process_time()
        found = selecting.solve_discretized_problem(formed.data, formed.h).result
        seconds = time.process_time() - start
    yield "EqualCompliance", seconds, found.status.name, found.residual.natural_map
    if formed.n > LARGEST:
        return
    problem = formed.with_matrix(sparse.csr_array(formed.MM))
    for solver in (lcp.FischerNewton(time_limit=limit), lcp.Lemke(time_limit=limit)):
        lcp.solve(lcp.LCP(sparse.csr_array(np.eye(2)), -np.ones(2)), solver)  # compiles
        start = time.process_time()
        result = lcp.solve(problem, solver)
        seconds = time.process_time() - start
        yield type(solver).__name__, seconds, result.status.name, result.residual.natural_map
    if formed.n <= LARGEST_DENSE:
        try:
            from quantecon.optimize import lcp_lemke
        except ModuleNotFoundError:
            return
        lcp_lemke(np.eye(2), -np.ones(2))
        start = time.process_time()
        theirs = lcp_lemke(np.ascontiguousarray(formed.MM), formed.qq, max_iter=10**5)
        seconds = time.process_time() - start
        natural = float(np.abs(np.minimum(theirs.z, formed.MM @ theirs.z + formed.qq)).max())
        yield "quantecon", seconds, "SOLVED" if theirs.success else f"status {theirs.status}", natural


def main() -> None:
    """Solve the requested walls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--wall", nargs="*", default=WALLS)
    parser.add_argument("--limit", type=float, default=30.0)
    given = parser.parse_args()
    lines = []
    for name in given.wall:
        courses, bricks = (int(part) for part in name.split("x"))
        scene = wall(courses, bricks)
        recording = simulate(world(scene), TimeStepping(scene.h, edges=4), steps=1)
        formed = form_discretized_lcp(recording.problem(0, 0), scene.h)
        for solver, seconds, status, natural in answers(formed, given.limit):
            lines.append([name, str(formed.n // 6), str(formed.n), solver, f"{seconds:.3g}", status, f"{natural:.1e}"])
            print(*lines[-1], sep=" | ", flush=True)
            if given.out is not None:
                write(given.out, "", f"limit {given.limit:g} s of the processor", HEAD, lines)


if __name__ == "__main__":
    main()

"""Equations pivoted in first (`lcp.solvers.mixed_pivoting`) against equations eliminated first (`lcp.reduce`).

Run: ``python benchmarks/lcp_mixed.py [--problems FOLDER] [--out benchmarks/results/lcp_mixed_DATE.csv]``.

Random saddle problems [[A, X1], [-X1', X3]] have a symmetric positive definite A, with three eigenvalues of 1/cond and
the others between 1 and 2. The pairs restrict the directions of the small eigenvalues, so the final basis is well
conditioned for any A. The solution is drawn and the constants follow; the reference is the solution of the known basis,
refined in long double. Both methods end in the same Lemke kernel. Raw errors are errors of (u, y) at the end of the
path, before any refinement on the active set: the loss of the elimination. "rescued" counts verified results that
needed the other method or a refinement; the final error is the largest among the verified ones. FOLDER has .npz files
with M, q and n_free.
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
from lcp.method import Traits
from lcp.solvers.mixed_pivoting import pivot_free_variables, solve_mixed

Vector = NDArray[np.float64]
SIZES = ((10, 20), (30, 30), (60, 60), (100, 100))
EXPONENTS = (0, 4, 8, 10, 11, 12, 13, 14)
SOLVER = lcp.Lemke()


def reference(problem: lcp.MLCP, active: Vector) -> Vector:
    """Return the solution of a basis, refined with residuals in long double."""
    m = problem.n_free
    K = np.block([[problem.A, problem.X1], [problem.X2, problem.X3]])
    k = np.concatenate([problem.a, problem.x4])
    chosen = np.concatenate([np.arange(m), m + np.flatnonzero(active)])
    block, right = K[np.ix_(chosen, chosen)], -k[chosen]
    x = np.zeros(len(chosen), dtype=np.longdouble)
    for _ in range(6):
        gap = right.astype(np.longdouble) - block.astype(np.longdouble) @ x
        x += np.linalg.solve(block, gap.astype(np.float64))
    found = np.zeros(len(k))
    found[chosen] = x.astype(np.float64)
    return found


def saddle(m: int, n: int, exponent: int, seed: int) -> tuple[lcp.MLCP, Vector]:
    """Return a problem and its solution (u, y)."""
    rng = np.random.default_rng([m, n, exponent, seed])
    Q = np.linalg.qr(rng.standard_normal((m, m)))[0]
    values = rng.uniform(1.0, 2.0, m)
    values[:3] = 10.0**-exponent
    A = (Q * values) @ Q.T
    A = 0.5 * (A + A.T)
    X1, B = rng.standard_normal((m, n)), rng.standard_normal((n, n)) / np.sqrt(n)
    X3 = B @ B.T + 0.1 * np.eye(n)
    u, active = rng.standard_normal(m), rng.random(n) < 0.5
    y, w = np.where(active, rng.uniform(0.5, 1.5, n), 0.0), np.where(active, 0.0, rng.uniform(0.5, 1.5, n))
    problem = lcp.MLCP(A, X1, -X1.T, X3, -(A @ u + X1 @ y), w - (-X1.T @ u + X3 @ y))
    return problem, reference(problem, active)


def load(file: Path) -> lcp.MLCP | None:
    with np.load(file) as data:
        M, q, k = data["M"], data["q"], int(data["n_free"]) if "n_free" in data else 0
    return lcp.MLCP(M[:k, :k], M[:k, k:], M[k:, :k], M[k:, k:], q[:k], q[k:]) if k else None


def raw_direct(problem: lcp.MLCP) -> Vector | None:
    pivoted = pivot_free_variables(problem)
    return None if pivoted is None else pivoted.recover(lcp.solve(pivoted.lcp, SOLVER).z)


def raw_reduced(problem: lcp.MLCP) -> Vector | None:
    reduction = lcp.reduce(problem)
    if not reduction.exact:
        return None
    y = lcp.solve(reduction.lcp, SOLVER).z
    return np.concatenate([reduction.recover(y), y])


class Direct:
    """Lemke's method with the free unknowns pivoted in."""

    traits = Traits.MIXED

    def solve(self, problem: lcp.MLCP, *, z0: Vector | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve."""
        return solve_mixed(problem, SOLVER, z0=z0, tolerance=tolerance, trace=trace)


class Reduced:
    """Lemke's method on the result of `lcp.reduce`, as the dispatch does for solvers of plain problems."""

    def solve(self, problem: lcp.LCP, *, z0: Vector | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve."""
        return SOLVER.solve(problem, z0=z0, tolerance=tolerance, trace=trace)


def error(found: Vector | None, known: Vector) -> float:
    if found is None or not np.isfinite(found).all():
        return np.inf
    return float(np.abs(found - known).max() / np.abs(known).max())


def timed(call: Callable[[], object], repeats: int) -> float:
    least = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def row_of(name: str, problems: list[tuple[lcp.MLCP, Vector | None]], repeats: int) -> dict[str, object]:
    """Return both methods' results on some problems of one kind."""
    ways = {"direct": (Direct(), raw_direct), "reduced": (Reduced(), raw_reduced)}
    first = problems[0][0]
    row: dict[str, object] = {"problem": name, "n_free": first.n_free, "n": first.n, "count": len(problems)}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for way, (solver, raw) in ways.items():
        errors: list[float] = []
        finals: list[float] = []
        solved = rescued = 0
        for problem, known in problems:
            result = lcp.solve(problem, solver)
            before = raw(problem)
            good = before is not None and lcp.residuals(problem, before[problem.n_free :], before[: problem.n_free])
            solved += result.solved
            rescued += result.solved and not (good and good.solved())
            answer = np.concatenate([result.u, result.y])
            truth = answer if known is None else known
            errors.append(error(before, truth))
            if result.solved:
                finals.append(error(answer, truth) if known is not None else result.residual.scaled)
        row |= {
            f"{way}_raw_error": float(np.median(errors)),
            f"{way}_worst_raw_error": float(np.max(errors)),
            f"{way}_final_error": float(np.max(finals, initial=0.0)),
            f"{way}_solved": solved,
            f"{way}_rescued": rescued,
        }
    for problem, _ in problems:
        for way, (solver, _raw) in ways.items():
            seconds[way].append(timed(lambda p=problem, s=solver: lcp.solve(p, s), repeats))  # type: ignore[misc]
    row |= {f"{way}_us": 1e6 * float(np.median(seconds[way])) for way in ways}
    row["reduced_over_direct"] = float(np.median(np.divide(seconds["reduced"], seconds["direct"])))
    return row


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--count", type=int, default=20)
    arguments = parser.parse_args()
    machine = f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
    print(machine)
    lcp.solve(saddle(3, 3, 0, 0)[0], Direct())  # compiles
    rows = []
    for m, n in SIZES:
        for exponent in EXPONENTS:
            drawn: list[tuple[lcp.MLCP, Vector | None]] = [saddle(m, n, exponent, s) for s in range(arguments.count)]
            rows.append(row_of(f"saddle 1e{exponent}", drawn, 3))
            show(rows[-1])
    for file in sorted(arguments.problems.glob("*.npz")) if arguments.problems else ():
        problem = load(file)
        if problem is not None:
            rows.append(row_of(file.stem, [(problem, None)], 20))
            show(rows[-1])
    if arguments.out:
        note = (
            f"{machine}; {arguments.count} of each kind; errors relative to the largest unknown, of the named files: "
            "final_error is the scaled residual; times: medians of the least of three"
        )
        write_rows(arguments.out, (note,), rows, ".4g")


def show(row: dict[str, object]) -> None:
    cells = [f"{v:.2g}" if isinstance(v, float) else str(v) for v in row.values()]
    print("  ".join(cells), flush=True)


if __name__ == "__main__":
    main()

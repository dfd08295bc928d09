"""Proof that no feasible point exists: a Farkas vector from a linear program (by HiGHS), checked again here."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcp.analysis.exact import Branching, branch, integers
from lcp.arrays import Vector
from lcp.conversions import box_to_mlcp, lcp_to_mlcp
from lcp.factors import enclosed_rows
from lcp.interruptible import cpu_seconds, run_interruptibly
from lcp.problem import LCP, MLCP, BoxLCP
from lcp.residuals import Problem
from lcp.scaling import scales
from lcp.status import Status

# Sign conditions can be violated by this fraction of their terms: a few roundings of the data. A larger violation is
# not a proof: if columns nearly cancel, a huge z can be feasible. The contradiction itself must exceed the second
# fraction of its terms.
ROUNDING = 2.0**-48
MIN_MARGIN = 1e-8
# Rows up to which linear programs are solved in integers.
EXACT = 16


@dataclass(frozen=True, slots=True, eq=False)
class Farkas:
    """Multipliers whose combination of the rows of a problem is a contradiction.

    For LCP(M, q): y >= 0, M^T y <= 0 and q . y < 0, so that y . (M z + q) < 0 for every z >= 0, and M z + q >= 0 is
    impossible. For an `MLCP` with v on the equations: A^T v + X2^T y = 0, X1^T v + X3^T y <= 0, a . v + x4 . y < 0; y =
    0 and X1^T v = 0 then means that the equations contradict each other. For a `BoxLCP` the multipliers belong to its
    `box_to_mlcp`.

    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), theorem 2.7.9 (Farkas).
    """

    y: Vector
    v: Vector

    def status(self, problem: Problem) -> Status:
        """INCONSISTENT if the equations contradict each other for y of any sign, else INFEASIBLE."""
        mixed = to_mlcp(problem)
        bound = np.abs(mixed.X1.T @ self.v) > ROUNDING * (np.abs(mixed.X1).T @ np.abs(self.v))
        return Status.INFEASIBLE if self.y.any() or bound.any() else Status.INCONSISTENT

    def proves(self, problem: Problem) -> bool:
        """Return True if the multipliers prove infeasibility of ``problem``, or of data within a few roundings.

        Sums are formed in twice the working precision. `proves_exactly` allows no rounding.
        """
        return self._checked(problem, ROUNDING)

    def proves_exactly(self, problem: Problem) -> bool:
        """Return True if the multipliers prove in exact arithmetic that the data are infeasible."""
        return self._checked(problem, 0.0)

    def _checked(self, problem: Problem, slack: float) -> bool:
        """Return True if the multipliers prove infeasibility; the inequalities may be violated by ``slack``."""
        x = np.concatenate([self.v, self.y])
        if not np.isfinite(x).all() or (self.y < 0.0).any():
            return False
        if isinstance(problem, LCP):
            K, k, m = problem._M, problem._q, 0
        else:
            mixed = to_mlcp(problem)
            K, k, m = mixed._K, mixed._k, mixed.n_free
        if x.shape != k.shape or self.v.shape != (m,):
            return False
        contradiction = float(k @ x)
        if not contradiction < -MIN_MARGIN * float(np.abs(k) @ np.abs(x)):
            return False
        # Rows with multiplier zero add nothing: of a sparse M only the other rows are made dense.
        used = np.flatnonzero(x)
        rows = K[used] if isinstance(K, np.ndarray) else K[used].toarray()
        return bool((relative_violation(rows, x[used], m) <= slack).all())


def relative_violation(K: Vector, x: Vector, m: int) -> Vector:
    """Return the largest violation of K^T x = 0 (first m entries) and K^T x <= 0 (others), as a fraction of the terms.

    Compensated sums give all signs except for sums that vanish to 30 digits; these are formed in integers.
    """
    size = K.shape[1]
    transposed = np.ascontiguousarray(K.T)
    sums, error = enclosed_rows(transposed, x, np.zeros(size))
    terms = np.abs(transposed) @ np.abs(x)
    for i in np.flatnonzero(np.abs(sums) <= error):
        used = (transposed[i] != 0.0) & (x != 0.0)
        total = int((integers(transposed[i][used]) * integers(x[used])).sum()) if used.any() else 0
        sums[i] = np.copysign(max(float(error[i]), np.finfo(np.float64).tiny), 1 if total > 0 else -1) if total else 0.0
    missed = np.where(np.arange(size) < m, np.abs(sums), np.maximum(sums, 0.0))
    share: Vector = np.where(missed > 0.0, np.inf, 0.0)
    np.divide(missed, terms, out=share, where=terms > 0.0)
    return share


def to_mlcp(problem: Problem) -> MLCP:
    """Return any problem as an `MLCP`."""
    if isinstance(problem, LCP):
        return lcp_to_mlcp(problem).problem
    return box_to_mlcp(problem).problem if isinstance(problem, BoxLCP) else problem


def solve_integer_program(problem: MLCP, time_limit: float = 0.0) -> Branching:
    """Search ``problem`` in integers for at most these seconds; without seconds only decide on feasibility."""
    return branch(problem._K, problem._k, problem.n_free, time_limit)


def row_proof(problem: LCP) -> Farkas | None:
    """Return the proof of a row with q_i < 0 beyond its noise and no positive entry, or None if there is none."""
    M, q = problem._M, problem._q
    lost = q < 0.0 if problem._q_uncertainty is None else q < -problem._q_uncertainty
    if not lost.any():
        return None
    most = M.max(axis=1, initial=0.0) if isinstance(M, np.ndarray) else M.max(axis=1).toarray().ravel()
    rows = np.flatnonzero(lost & (most <= 0.0))
    return Farkas(y=(np.arange(problem.n) == rows[0]).astype(np.float64), v=np.zeros(0)) if rows.size else None


def infeasibility_proof(problem: Problem, time_limit: float = 60.0) -> Farkas | None:
    """Return a verified Farkas vector of ``problem``, or None if a linear program finds none within these seconds."""
    deadline = cpu_seconds() + time_limit
    mixed = to_mlcp(problem)
    K, k, m = mixed._K, mixed._k, mixed.n_free
    size = k.shape[0]
    if size == 0:
        return None
    best = None
    if size <= EXACT and (y := solve_integer_program(mixed).farkas) is not None:
        best = Farkas(y=y[m:], v=y[:m])
        if best.proves_exactly(mixed):
            return best
        best = best if best.proves(mixed) else None
    row, column = scales(K)
    scaled = (row[:, None] * K * column).T
    cost = row * k
    # Each row has its scale, because a row of small numbers can contain the contradiction.
    cost = cost / max(float(np.abs(cost).max()), np.finfo(np.float64).tiny)
    if not (np.isfinite(cost).all() and np.isfinite(scaled).all()):
        return best
    program = linear_program(
        cost,
        scaled[m:] if size > m else None,
        scaled[:m] if m else None,
        b_ub=np.zeros(size - m) if size > m else None,
        b_eq=np.zeros(m) if m else None,
        bounds=[(-1.0, 1.0)] * m + [(0.0, 1.0)] * (size - m),
        time_limit=deadline - cpu_seconds(),
    )
    if program is None or not cost @ program.x < 0.0:
        return best
    x = np.where(np.abs(program.x) > 1e-9, program.x, 0.0)
    for candidate in candidates(scaled, cost, x, m, deadline):
        proof = Farkas(y=np.maximum(candidate[m:], 0.0) * row[m:], v=candidate[:m] * row[:m])
        if proof.proves_exactly(mixed):
            return proof
        if best is None and proof.proves(mixed):
            best = proof
    return best


def candidates(scaled: Vector, cost: Vector, x: Vector, m: int, deadline: float = np.inf) -> Iterator[Vector]:
    """Yield variants of the LP's multipliers: near whole numbers, unchanged, balanced, and off the border."""
    for unit in np.unique(np.abs(x[x != 0.0])):
        whole = np.round(x / unit)
        if np.abs(x / unit - whole).max() < 1e-6:
            yield whole
            break
    yield x
    yield balanced(scaled, x, m)
    interior = _interior(scaled, cost, x, m, deadline - cpu_seconds())
    if interior is not None:
        yield interior


def _interior(scaled: Vector, cost: Vector, x: Vector, m: int, time_limit: float) -> Vector | None:
    """Return multipliers (n,) with ``scaled`` y < 0 by a margin for rounding and half the cost of x, or None.

    A linear program finds them. None is also returned with free unknowns, m > 0, because equations have no margin.
    """
    size = x.shape[0]
    if m or size == 0:
        return None
    room = np.abs(scaled).max(axis=1, initial=0.0)
    program = linear_program(
        np.concatenate([np.zeros(size), [-1.0]]),
        np.vstack([np.column_stack([scaled, room]), np.concatenate([cost, [0.0]])]),
        b_ub=np.concatenate([np.zeros(size), [0.5 * float(cost @ x)]]),
        bounds=[(0.0, 1.0)] * (size + 1),
        time_limit=time_limit,
    )
    if program is None or program.x[size] < 1e-7:
        return None
    interior: Vector = np.maximum(program.x[:size], 0.0)
    return interior


def balanced(scaled: Vector, x: Vector, m: int) -> Vector:
    """Return x with active conditions satisfied to rounding; the LP solver satisfies them to 1e-7 only."""
    columns = scaled @ x
    tight = np.abs(columns) <= 1e-6
    tight[:m] = True
    used = x != 0.0
    if not used.any():
        return x
    corrected = x.copy()
    corrected[used] -= np.linalg.lstsq(scaled[np.ix_(tight, used)], columns[tight], rcond=None)[0]
    return corrected


def feasible_point(problem: Problem, time_limit: float = 60.0) -> Vector | None:
    """Return (u, y) with y >= 0 that satisfies the equations and w >= 0 to 1e-8 of their terms; None if not found."""
    mixed = to_mlcp(problem)
    K, k, m = mixed._K, mixed._k, mixed.n_free
    size = k.shape[0]
    if size == 0:
        return np.zeros(0)
    row, column = scales(K)
    scaled, right = row[:, None] * K * column, row * k
    unit = max(float(np.abs(right).max()), np.finfo(np.float64).tiny)
    if not (np.isfinite(scaled).all() and np.isfinite(right).all()):
        return None
    program = linear_program(
        np.concatenate([np.zeros(m), np.ones(size - m)]),
        -scaled[m:] if size > m else None,
        scaled[:m] if m else None,
        b_ub=right[m:] / unit if size > m else None,
        b_eq=-right[:m] / unit if m else None,
        bounds=[(None, None)] * m + [(0.0, None)] * (size - m),
        time_limit=time_limit,
    )
    if program is None:
        return None
    x: Vector = program.x * column * unit
    x[m:] = np.maximum(x[m:], 0.0)
    rows = K @ x + k
    sizes = np.abs(K) @ np.abs(x) + np.abs(k)
    met = (np.abs(rows[:m]) <= 1e-8 * sizes[:m]).all() and (rows[m:] >= -1e-8 * sizes[m:]).all()
    return x if met else None


Bounds = Sequence[tuple[float | None, float | None]] | tuple[float, float]

# Entries up to which a program takes some milliseconds, and no separate thread.
_SMALL = 20_000
# Seconds that HiGHS can take beyond its limit before it is abandoned.
_EXTRA_SECONDS = 0.25


def linear_program(
    cost: Vector,
    A_ub: Any = None,
    A_eq: Any = None,
    *,
    b_ub: Vector | None = None,
    b_eq: Vector | None = None,
    bounds: Bounds,
    time_limit: float = 60.0,
) -> Any:
    """Minimise cost . x with A_ub x <= b_ub, A_eq x = b_eq and bounds; return the result of `scipy.optimize.linprog`.

    Returns None if HiGHS returns no point, as at the end of ``time_limit`` seconds. These are wall seconds, extended by
    the load of the machine, so that they are about CPU seconds.
    """
    from scipy.optimize import linprog

    def solved(limit: float) -> Any:
        given: Any = {"b_ub": b_ub, "A_eq": A_eq, "b_eq": b_eq, "bounds": bounds}
        program: Any = linprog(cost, A_ub, **given, method="highs", options={"time_limit": max(limit, 1e-3)})
        return None if program.x is None else program

    if time_limit <= 0.0:
        return None
    if sum(0 if A is None else A.shape[0] * A.shape[1] for A in (A_ub, A_eq)) <= _SMALL:
        return solved(time_limit)
    # HiGHS counts wall seconds: of a busy machine they are fewer CPU seconds.
    busy = 1.0
    with contextlib.suppress(AttributeError, OSError):  # not every system reports it
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    seconds = time_limit * max(1.0, busy)
    end = time.monotonic() + seconds
    try:
        return run_interruptibly(lambda: solved(end - time.monotonic()), seconds + _EXTRA_SECONDS)
    except TimeoutError:
        return None

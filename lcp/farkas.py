"""Proof that no feasible point exists: a Farkas vector, found by a linear program and re-checked here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lcp.analysis.exact import integers
from lcp.analysis.exact_branching import Branching
from lcp.arrays import Vector
from lcp.conversions import box_to_mlcp, lcp_to_mlcp
from lcp.interruptible import cpu_seconds
from lcp.linear_program import linear_program
from lcp.problem import LCP, MLCP, BoxLCP
from lcp.residuals import Problem
from lcp.scaling import scales
from lcp.status import Status

# Sign conditions may miss by this fraction of their terms: a few roundings of the data. What misses by more is no
# proof, however little: where columns nearly cancel, a huge z may be feasible. The contradiction itself must be larger
# than the second fraction of its terms.
ROUNDING = 2.0**-48
MIN_MARGIN = 1e-8
# Rows up to which linear programs are solved in integers.
EXACT = 16


@dataclass(frozen=True, slots=True, eq=False)
class Farkas:
    """Multipliers that add the rows of a problem up to a contradiction.

    For LCP(M, q): y >= 0, M^T y <= 0 and q . y < 0, so that y . (M z + q) < 0 for every z >= 0, and M z + q >= 0 is
    impossible. For an `MLCP` with v on the equations: A^T v + X2^T y = 0, X1^T v + X3^T y <= 0, a . v + x4 . y < 0;
    y = 0 and X1^T v = 0
    then means that the equations contradict each other. For a `BoxLCP` they belong to its `box_to_mlcp`.

    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), theorem 2.7.9 (Farkas).
    """

    y: Vector
    v: Vector

    def status(self, problem: Problem) -> Status:
        """INCONSISTENT where the equations contradict each other for y of any sign, else INFEASIBLE."""
        mixed = to_mlcp(problem)
        bound = np.abs(mixed.X1.T @ self.v) > ROUNDING * (np.abs(mixed.X1).T @ np.abs(self.v))
        return Status.INFEASIBLE if self.y.any() or bound.any() else Status.INCONSISTENT

    def proves(self, problem: Problem) -> bool:
        """Whether the multipliers do what they should on the data of ``problem``, or on data a few roundings away.

        Sums are formed in twice the working precision. See `proves_exactly` for no roundings at all.
        """
        return self._checked(problem, ROUNDING)

    def proves_exactly(self, problem: Problem) -> bool:
        """Whether the multipliers prove the data as they stand to be infeasible, in exact arithmetic."""
        return self._checked(problem, 0.0)

    def _checked(self, problem: Problem, slack: float) -> bool:
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
        # Rows that take no part add nothing: of a sparse M only the others are made dense.
        used = np.flatnonzero(x)
        rows = K[used] if isinstance(K, np.ndarray) else K[used].toarray()
        return bool((relative_violation(rows, x[used], m) <= slack).all())


def relative_violation(K: Vector, x: Vector, m: int) -> Vector:
    """By what fraction of their terms K^T x = 0 in its first m entries and K^T x <= 0 in the others are missed.

    Compensated sums give all signs except for sums that vanish to 30 digits; these are formed in integers.
    """
    from lcp.kernels.reductions import dense_residual

    count, size = K.shape
    transposed = np.ascontiguousarray(K.T)
    sums, error = np.empty(size), np.empty(size)
    dense_residual(transposed, np.zeros(size), x, np.arange(count, dtype=np.int64), sums, error)
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
    """Any problem as an `MLCP`."""
    if isinstance(problem, LCP):
        return lcp_to_mlcp(problem).problem
    return box_to_mlcp(problem).problem if isinstance(problem, BoxLCP) else problem


def solve_integer_program(problem: MLCP, time_limit: float = 0.0) -> Branching:
    """``problem`` searched in integers for so many seconds; without any, whether a point is feasible."""
    search = Branching(problem._K, problem._k, problem.n_free, time_limit)
    search.run()
    return search


def row_proof(problem: LCP) -> Farkas | None:
    """The proof of a row that no z >= 0 can lift, q_i < 0 beyond its noise and no entry positive; None without one."""
    M, q = problem._M, problem._q
    lost = q < 0.0 if problem._q_uncertainty is None else q < -problem._q_uncertainty
    if not lost.any():
        return None
    most = M.max(axis=1, initial=0.0) if isinstance(M, np.ndarray) else M.max(axis=1).toarray().ravel()
    rows = np.flatnonzero(lost & (most <= 0.0))
    return Farkas(y=(np.arange(problem.n) == rows[0]).astype(np.float64), v=np.zeros(0)) if rows.size else None


def infeasibility_proof(problem: Problem, time_limit: float = 60.0) -> Farkas | None:
    """A verified Farkas vector of ``problem``, or None where a linear program finds none within so many seconds."""
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
    # Every row's own size: a row of small numbers may carry the contradiction.
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
    """What the LP found: as whole numbers if it is near such, as it is, balanced to rounding, off the border."""
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
    """Multipliers that meet the inequalities with room for rounding, where some do."""
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
    """x with the conditions that hold as equations met to rounding: the LP solver meets them to 1e-7 only."""
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
    """(u, y) with y >= 0 that meets the equations and w >= 0 to 1e-8 of their terms; None where none was found."""
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

"""Proof that no feasible point exists: a Farkas vector, found by a linear program and re-checked here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lcp.box import BoxLCP
from lcp.conversions import box_to_mlcp, lcp_to_mlcp
from lcp.mixed import MLCP
from lcp.problem import LCP
from lcp.residuals import Problem
from lcp.scaling import scales
from lcp.status import Status

# Sign conditions are met to this fraction of their largest possible size, by rounding alone; the contradiction itself
# must be larger than the second fraction of its terms.
_ZERO = 1e-11
_CLEAR = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class Farkas:
    """Multipliers that add the rows of a problem up to a contradiction.

    For LCP(M, q): y >= 0, M^T y <= 0 and q . y < 0, so that y . (M z + q) < 0 for every z >= 0, and M z + q >= 0 is
    impossible. For an `MLCP` with v on the equations: A^T v + X2^T y = 0, X1^T v + X3^T y <= 0, a . v + x4 . y < 0;
    y = 0 and X1^T v = 0
    then means that the equations contradict each other. For a `BoxLCP` they belong to its `box_to_mlcp`.

    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), theorem 2.7.9 (Farkas).
    """

    y: NDArray[np.float64]
    v: NDArray[np.float64]

    def status(self, problem: Problem) -> Status:
        """INCONSISTENT where the equations contradict each other for y of any sign, else INFEASIBLE."""
        mixed = as_mixed(problem)
        bound = np.abs(mixed.X1.T @ self.v) > _ZERO * (np.abs(mixed.X1).T @ np.abs(self.v))
        return Status.INFEASIBLE if self.y.any() or bound.any() else Status.INCONSISTENT

    def proves(self, problem: Problem) -> bool:
        """Whether the multipliers do what they should on the data of ``problem``, rounding apart."""
        mixed = as_mixed(problem)
        m = mixed.n_free
        x = np.concatenate([self.v, self.y])
        if x.shape != mixed._k.shape or not np.isfinite(x).all() or (self.y < 0.0).any():
            return False
        columns = mixed._K.T @ x
        sizes = np.abs(mixed._K).T @ np.abs(x)
        balanced = (np.abs(columns[:m]) <= _ZERO * sizes[:m]).all() and (columns[m:] <= _ZERO * sizes[m:]).all()
        return bool(balanced and mixed._k @ x < -_CLEAR * (np.abs(mixed._k) @ np.abs(x)))


def as_mixed(problem: Problem) -> MLCP:
    """Any problem as an `MLCP`."""
    if isinstance(problem, LCP):
        return lcp_to_mlcp(problem).problem
    return box_to_mlcp(problem).problem if isinstance(problem, BoxLCP) else problem


def infeasibility_proof(problem: Problem) -> Farkas | None:
    """A verified Farkas vector of ``problem``, or None where a linear program finds none."""
    from scipy.optimize import linprog

    mixed = as_mixed(problem)
    K, k, m = mixed._K, mixed._k, mixed.n_free
    size = k.shape[0]
    if size == 0:
        return None
    row, column = scales(K)
    scaled = (row[:, None] * K * column).T
    cost = row * k
    # Every row's own size: a row of small numbers may carry the contradiction.
    cost = cost / max(float(np.abs(cost).max()), np.finfo(np.float64).tiny)
    bounds = [(-1.0, 1.0)] * m + [(0.0, 1.0)] * (size - m)
    found = linprog(
        cost,
        A_ub=scaled[m:] if size > m else None,
        b_ub=np.zeros(size - m) if size > m else None,
        A_eq=scaled[:m] if m else None,
        b_eq=np.zeros(m) if m else None,
        bounds=bounds,
        method="highs",
    )
    if found.x is None or not cost @ found.x < 0.0:
        return None
    x = np.where(np.abs(found.x) > 1e-9, found.x, 0.0)
    for candidate in (x, _balanced(scaled, x, m)):
        proof = Farkas(y=np.maximum(candidate[m:], 0.0) * row[m:], v=candidate[:m] * row[:m])
        if proof.proves(mixed):
            return proof
    return None


def _balanced(scaled: NDArray[np.float64], x: NDArray[np.float64], m: int) -> NDArray[np.float64]:
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


def feasible_point(problem: Problem) -> NDArray[np.float64] | None:
    """(u, y) with y >= 0 that meets the equations and w >= 0 to 1e-8 of their terms; None where none was found."""
    from scipy.optimize import linprog

    mixed = as_mixed(problem)
    K, k, m = mixed._K, mixed._k, mixed.n_free
    size = k.shape[0]
    if size == 0:
        return np.zeros(0)
    row, column = scales(K)
    scaled, right = row[:, None] * K * column, row * k
    unit = max(float(np.abs(right).max()), np.finfo(np.float64).tiny)
    bounds = [(None, None)] * m + [(0.0, None)] * (size - m)
    found = linprog(
        np.concatenate([np.zeros(m), np.ones(size - m)]),
        A_ub=-scaled[m:] if size > m else None,
        b_ub=right[m:] / unit if size > m else None,
        A_eq=scaled[:m] if m else None,
        b_eq=-right[:m] / unit if m else None,
        bounds=bounds,
        method="highs",
    )
    if found.x is None:
        return None
    x: NDArray[np.float64] = found.x * column * unit
    x[m:] = np.maximum(x[m:], 0.0)
    rows = K @ x + k
    sizes = np.abs(K) @ np.abs(x) + np.abs(k)
    met = (np.abs(rows[:m]) <= 1e-8 * sizes[:m]).all() and (rows[m:] >= -1e-8 * sizes[m:]).all()
    return x if met else None

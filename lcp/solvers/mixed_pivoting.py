"""Mixed problems by complementary pivoting: the free unknowns enter the basis first and never leave it.

`lcp.reduce` forms X3 - X2 A^-1 X1 column by column. Here an ill-conditioned A causes only the errors of one elimination
with complete pivoting. If A has no good pivot, an unknown enters through a complementary row. The result is the
solution of the final basis, computed from the original blocks, refined once and verified on them. If there is none,
the problem is solved by `reduce`. `benchmarks/lcp_mixed.py` compares the two.

R. W. H. Sargent, An efficient implementation of the Lemke algorithm and its extension to deal with upper and lower
bounds, Mathematical Programming Study 7 (1978). J. J. Judice, F. M. Pires, Basic-set algorithm for a generalized linear
complementarity problem, Journal of Optimization Theory and Applications 74 (1992). J. J. Judice, J. Machado,
A. Faustino, An extension of the Lemke's method for the solution of a generalized linear complementarity problem, System
Modeling and Optimization, Lecture Notes in Control and Information Sciences (1992). R. W. Cottle, J.-S. Pang,
R. E. Stone, The Linear Complementarity Problem (1992), section 1.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.dispatch import solve_reduced
from lcp.method import SolveRequest
from lcp.polish import refine, solve_basis
from lcp.problem import LCP, MLCP
from lcp.reduction import RANK_TOLERANCE, reduce
from lcp.residuals import measure, verified
from lcp.result import Claim
from lcp.scaling import scales
from lcp.status import Status

#: Largest growth of the dictionary by a pivot in A; beyond it, a pivot in a complementary pair is used instead.
GROWTH_LIMIT = 1e6
# Largest entry, in equilibrated units, that counts as zero in equations that could not be used.
_ZERO = 1e-9
# A right basis has full accuracy; see `lcp.kernels.lemke`.
_STRICTNESS = 1e-3


@dataclass(frozen=True, eq=False)
class Pivoted:
    """A mixed problem whose free unknowns are basic."""

    lcp: LCP  # the remaining problem, equilibrated: an LCP in the nonbasic variable of each pair
    swapped: NDArray[np.bool_]  # pairs (n,) whose nonbasic variable is w_i, because y_i is basic
    rank: int  # number of free unknowns that are basic; the others occur nowhere else and are zero
    _u: tuple[NDArray[np.intp], NDArray[np.float64], Vector] = field(repr=False)
    _column: Vector = field(repr=False)

    def recover(self, z: Vector) -> Vector:
        """Return (u, y) of the mixed problem as one vector for a z of ``lcp``: u by rows of the dictionary, y >= 0."""
        w = self.lcp._M @ z + self.lcp._q
        which, rows, constants = self._u
        n = self.swapped.shape[0]
        x = np.zeros(self._column.shape[0])
        x[which] = rows @ z + constants
        x[x.shape[0] - n :] = np.maximum(np.where(self.swapped, w, z), 0.0)
        return x * self._column

    def start(self, y: Vector) -> Vector:
        """Return a z whose signs agree with y."""
        return np.where(self.swapped, np.where(y > 0.0, 0.0, 1.0), y)

    def positive(self, z: Vector) -> NDArray[np.bool_]:
        """Return a mask of the pairs whose y is basic at a solution z of ``lcp``."""
        return np.where(self.swapped, z <= 0.0, z > 0.0)


class _Dictionary:
    """The dictionary of a mixed problem; its basic variables are ``rows``, the others ``columns``.

    At first the slacks e = A u + X1 y + a, which are fixed at zero, and w = X2 u + X3 y + x4 are basic. Variable e_k is
    k, u_j is m + j, w_i is 2 m + i, and y_i is 2 m + n + i. Each u is exchanged with an e, whose column then
    drops out. If A has no pivot that keeps the dictionary small, u is exchanged with a w_i and that e with y_i, which
    exchanges the roles of y_i and w_i (a 2 x 2 block pivot, J. R. Bunch and B. N. Parlett 1971).
    """

    def __init__(self, T: NDArray[np.float64], x: Vector, m: int) -> None:
        """Start with the slacks of all rows basic; ``T`` and ``x`` are equilibrated."""
        n = x.shape[0] - m
        self.T, self.x, self.m, self.n = T, x, m, n
        self.rows = np.r_[:m, 2 * m : 2 * m + n]
        self.columns = np.r_[m : 2 * m, 2 * m + n : 2 * (m + n)]

    def enter_free(self, rank_tolerance: float) -> None:
        """Exchange free unknowns with slacks e by complete pivoting, until no unknown or no pivot is left.

        If such a pivot makes the dictionary large, a 2 x 2 pivot with a complementary pair takes its place.
        """
        m, n = self.m, self.n
        smallest = rank_tolerance * float(np.abs(self.T[:m, :m]).max(initial=0.0))
        while (equations := np.flatnonzero(self.rows < m)).size:
            free = np.flatnonzero(self.columns < 2 * m)
            sizes = np.abs(self.T[np.ix_(equations, free)])
            best = float(sizes.max(initial=0.0))
            if best > smallest:
                i, j = divmod(int(sizes.argmax()), free.size)
                r, c = int(equations[i]), int(free[j])
                # How much the pivot may add to an entry of a complementary row.
                along = float(np.abs(np.delete(self.T[r], c)).max(initial=0.0))
                down = float(np.abs(self.T[self.rows >= 2 * m, c]).max(initial=0.0))
                if along * down <= GROWTH_LIMIT * best:
                    self._exchange(r, c, drop=True)
                    continue
            # The two successive pivots of a pair, with the smaller one as large as possible.
            value, pair_pivots = 0.0, (-1, -1, -1, -1)
            for s in np.flatnonzero((self.rows >= 2 * m) & (self.rows < 2 * m + n)).tolist():
                for d in np.flatnonzero(self.columns == self.rows[s] + n).tolist():
                    pivots = self.T[s, free]
                    second = self.T[equations, d] - self.T[np.ix_(equations, free)].T * self.T[s, d] / pivots[:, None]
                    lesser = np.where(pivots[:, None] != 0.0, np.minimum(np.abs(pivots)[:, None], np.abs(second)), 0.0)
                    if lesser.max(initial=0.0) > value:
                        value = float(lesser.max())
                        j, i = divmod(int(lesser.argmax()), equations.size)
                        pair_pivots = s, int(free[j]), int(equations[i]), d
            if value * value > best and value > smallest:
                s, first_column, r, d = pair_pivots
                self._exchange(s, first_column, drop=False)
                self._exchange(r, d, drop=True)
            elif best > smallest:
                self._exchange(r, c, drop=True)
            else:
                return

    def _exchange(self, r: int, c: int, *, drop: bool) -> None:
        """Exchange row r and column c; with ``drop`` the last column replaces the column of the leaving variable."""
        T, x = self.T, self.x
        column, inverse = T[:, c].copy(), 1.0 / T[r, c]
        T[:, c] = column[r] = 0.0
        pivot_row, x_r = -T[r] * inverse, -x[r] * inverse
        pivot_row[c] = inverse
        moved = column != 0.0
        T[moved] += np.outer(column[moved], pivot_row)
        x += column * x_r
        T[r], x[r] = pivot_row, x_r
        self.rows[r], self.columns[c] = self.columns[c], self.rows[r]
        if drop:
            T[:, c], self.columns[c] = T[:, -1], self.columns[-1]
            self.T, self.columns = T[:, :-1], self.columns[:-1]


def pivot_free_variables(problem: MLCP, *, rank_tolerance: float = RANK_TOLERANCE) -> Pivoted | None:
    """Pivot the free unknowns into the basis; return None if an equation left over restricts y or w, or cannot hold."""
    m, n = problem.n_free, problem.n
    row, column = scales(problem._K)
    dictionary = _Dictionary(row[:, None] * problem._K * column, row * problem._k, m)
    unit = float(np.abs(dictionary.x).max(initial=0.0))
    with np.errstate(all="ignore"):
        dictionary.enter_free(rank_tolerance)
    T, x, rows, columns = dictionary.T, dictionary.x, dictionary.rows, dictionary.columns
    if not (np.isfinite(T).all() and np.isfinite(x).all()):
        return None
    free, unused, pairs = (rows >= m) & (rows < 2 * m), rows < m, rows >= 2 * m
    out, across = np.flatnonzero(columns < 2 * m), np.flatnonzero(columns >= 2 * m)
    if unused.any() and (
        (np.abs(T[np.ix_(unused, across)]) > _ZERO).any()
        or (np.abs(T[np.ix_(pairs, out)]) > _ZERO).any()
        or (np.abs(x[unused]) > _ZERO * unit).any()
    ):
        return None
    # Both in the order of the pairs.
    pair_rows = np.flatnonzero(pairs)
    pair_rows = pair_rows[np.argsort((rows[pair_rows] - 2 * m) % max(n, 1))]
    across = across[np.argsort((columns[across] - 2 * m) % max(n, 1))]
    M, q = T[np.ix_(pair_rows, across)], x[pair_rows]
    which = np.flatnonzero(free)
    basic = (rows[which] - m, T[np.ix_(which, across)], x[which])
    return Pivoted(LCP(M, q), rows[pair_rows] >= 2 * m + n, which.shape[0], basic, column)


def solve_mixed(problem: MLCP, inner: Any, *, z0: Vector | None, tolerance: float, trace: bool) -> Claim:
    """Return the claim of a solver of plain problems on a mixed one, after its free unknowns were pivoted in.

    The z of the claim is (u, y); ``z0`` is a y. The claim has the iterations of ``inner``.
    """
    if z0 is not None:
        x = solve_basis(problem, *scales(problem._K), _basis(problem, z0 > 0.0))
        if x is not None and verified(problem, x, _STRICTNESS * tolerance):
            return Claim(x, Status.SOLVED, 0, "warm basis accepted")
    pivoted = pivot_free_variables(problem)
    if pivoted is None:
        return solve_reduced(problem, inner, SolveRequest(z0, tolerance, trace))
    start = None if z0 is None else pivoted.start(z0)
    claim: Claim = inner.solve(pivoted.lcp, z0=start, tolerance=tolerance, trace=trace)
    if np.isfinite(claim.z).all():
        answer = _verified_solution(problem, pivoted, claim.z, tolerance)
        if answer is not None:
            swapped = int(pivoted.swapped.sum())
            through = f", {swapped} of them through a pair" if swapped else ""
            detail = f"{pivoted.rank} free unknowns pivoted in{through}"
            detail = f"{detail}; {claim.detail}" if claim.detail else detail
            return replace(claim, z=answer, status=Status.SOLVED, detail=detail, evidence=None)
    second = solve_reduced(problem, inner, SolveRequest(z0, tolerance, trace))
    return replace(second, iterations=claim.iterations + second.iterations)


def _verified_solution(problem: MLCP, pivoted: Pivoted, z: Vector, tolerance: float) -> Vector | None:
    """Return the verified (u, y) of the mixed problem for a z of the pivoted problem, or None.

    Of several candidates it is the one of least backward error.
    """
    x = pivoted.recover(z)
    candidates: list[Vector | None] = []
    if pivoted.rank < problem.n_free:
        # Some unknowns occur in no other row: choose the u of smallest norm.
        y = x[problem.n_free :]
        candidates.append(np.concatenate([reduce(problem).recover(y), y]))
    else:
        candidates.append(solve_basis(problem, *scales(problem._K), _basis(problem, pivoted.positive(z))))
    candidates.append(x)
    best: Vector | None = None
    least = np.inf
    for candidate in candidates:
        if candidate is None or not np.isfinite(candidate).all():
            continue
        residual = measure(problem, candidate)[0]
        size = residual.backward_error
        if residual.solved(tolerance) and size < least:
            best, least = candidate, size
            if size <= _STRICTNESS * tolerance:
                break
    return refine(problem, x, tolerance) if best is None else best


def _basis(problem: MLCP, positive: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the indices of the free unknowns and of the ``positive`` pairs in (u, y)."""
    return np.flatnonzero(np.concatenate([np.ones(problem.n_free, dtype=bool), positive]))

"""Principal pivoting on the set of positive unknowns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.farkas import Farkas
from lcp.method import SYMMETRIC_MONOTONE, Traits, integer_option, positive_option, real_option
from lcp.result import Claim
from lcp.scaling import BETWEEN, LOWER, ScaledBox, States
from lcp.solvers.block_principal_pivoting import exchange_wrong_signs, wrong_signs
from lcp.solvers.newton import NewtonMethod, SolveMonitor, basic_point
from lcp.status import Status

# Successive exchanges of all infeasible indices that need not reduce their number.
_BACKUPS = 8
# Steps of length zero after which the least index enters and leaves (Chang and Cottle 1980).
_IDLE = 4
# A pivot below this fraction of its terms is rounding: the index is redundant.
_REDUNDANT = 1e-12
# Entries of a direction below this fraction of the largest do not block.
_PIVOT = 1e-9
# Hundredfold reductions of the zero tolerance if the final basis is no solution.
_LEVELS = 2


@dataclass(frozen=True)
class ActiveSetPivoting(NewtonMethod):
    """Principal pivoting on a factored active set, at a cost of k^3 for k positive unknowns (Drumwright 2017).

    For problems with few positive z, especially boxes at rest: only blocks of active unknowns are solved. The method
    starts like Drake's fast solver: from z = 0 it exchanges infeasible pairs and solves the active block. All
    infeasible pairs are exchanged together while this helps, and redundant contacts are left out. The end is proven:
    for symmetric M by the primal active set method, whose energy decreases in every step, for other M by Murty's
    least-index rule. If M is symmetric positive semidefinite, every
    feasible problem is solved, and for the others a Farkas vector is returned. P matrices always have a solution.

    Friction couples pairs whose diagonal entries vanish, and pivots of single indices may not reach a solution with
    sliding contacts. The status then reports this after a few rounds, and `Lemke` is the method to use.

    Parameters
    ----------
    max_pivots
        Limit on insertions and removals; None for max(1000, 50 n).
    zero_tolerance
        Relative size that counts as zero: for z_i relative to the largest z, for w_i to the terms of its row. The
        method reduces it if a solution is not accepted.
    time_limit
        Seconds, checked between rounds.

    References
    ----------
    E. Drumwright and others, `SolveLcpFast` of Moby and Drake (2016-2019); A. Chang, R. W. Cottle, Least-index
    resolution of degeneracy in quadratic programming, Mathematical Programming 18 (1980); J. J. Judice, F. M. Pires,
    A block principal pivoting algorithm for large-scale strictly monotone linear complementarity problems, Computers
    and Operations Research 21 (1994); K. G. Murty, Opsearch 11 (1974).
    """

    max_pivots: int | None = integer_option(None)
    zero_tolerance: float = real_option(1e-11, least=0.0, most=1e-3)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = SYMMETRIC_MONOTONE | Traits.P_MATRIX | Traits.WARM_START

    congruent: ClassVar[bool] = True

    def _limit(self, n: int) -> int:
        return max(1000, 50 * n) if self.max_pivots is None else self.max_pivots

    def _from_start(self, progress: SolveMonitor, start: Vector) -> Claim:
        """Exchange all infeasible indices together while this helps, then follow the proven rule of the matrix."""
        box = progress.box
        states = np.where(start > 0.0, BETWEEN, LOWER).astype(np.int8)
        if not box.symmetric:
            claim = exchange_wrong_signs(progress, states, patience=_BACKUPS, slack=self.zero_tolerance)
            if claim.status is not Status.SINGULAR_BASIS:
                return claim
            # One exchange at a time from zero meets fewer singular blocks.
            return exchange_wrong_signs(progress, np.full_like(states, LOWER), patience=0, slack=self.zero_tolerance)
        x, fewest, left = np.zeros(box.n), box.n + 1, _BACKUPS
        while left > 0 and not progress.exhausted:
            point = basic_point(box, states)
            if point is None:
                break
            x = point
            wrong, following = wrong_signs(box, states, x, self.zero_tolerance)
            count = int(wrong.sum())
            if (count == 0 or progress.recorder.wanted) and progress.check_iterate(x):
                return progress.claim(Status.SOLVED)
            if count == 0:
                break
            left, fewest = (_BACKUPS, count) if count < fewest else (left - 1, fewest)
            progress.iterations = min(progress.iterations + count, progress.max_iterations)
            states = following
        active = np.flatnonzero((x > 0.0) & (states == BETWEEN)).tolist()
        for level in range(_LEVELS + 1):
            path = _EnergyDescent(box, np.maximum(x, 0.0), active, self.zero_tolerance * 100.0**-level)
            status = path.follow(progress)
            x, active = path.x, path.active
            if progress.check_iterate(x) or progress.check_iterate(path.refined(), record=False):
                return progress.claim(Status.SOLVED)
            if status is not Status.SOLVED:
                break
        if status is Status.ITERATION_LIMIT:
            return progress.limit()
        if status is Status.SOLVED:
            return progress.claim(Status.STALLED, "the final basis is no solution of the original data")
        # Of a semidefinite M the direction is in the null space, and adds the rows up to a contradiction.
        proof = Farkas(y=np.maximum(path.direction, 0.0) * box.unit, v=np.zeros(0))
        if proof.proves(progress.problem):
            return progress.claim(Status.INFEASIBLE, evidence=proof)
        return progress.claim(status, "the energy falls for ever along a direction")


class _EnergyDescent:
    """The primal active set method on x . M x / 2 + q . x over x >= 0, M symmetric."""

    def __init__(self, box: ScaledBox, x: Vector, active: list[int], tolerance: float) -> None:
        self.box, self.active, self.tolerance = box, active, tolerance
        self.x = np.zeros(box.n)
        self.x[active] = x[active]
        self.direction = np.zeros(box.n)

    def refined(self) -> Vector:
        """Return the minimum on the active set, without its negative entries."""
        point = basic_point(self.box, self._states())
        return self.x if point is None else np.maximum(point, 0.0)

    def follow(self, progress: SolveMonitor) -> Status:
        """Step from minimum to minimum on active sets until no index lowers the energy.

        The status is RAY_TERMINATION if the energy falls without bound along ``direction``.
        """
        box, active, idle = self.box, self.active, 0
        while not progress.exhausted:
            point = basic_point(box, self._states())
            if point is None:
                return Status.SINGULAR_BASIS
            # Towards the minimum on the active set, as far as all x stay positive.
            zero = self.tolerance * float(np.abs(point).max(initial=0.0))
            moved = self._move(point - self.x, 1.0, self.x - point > 0.0, point < -zero, idle > _IDLE)
            if moved is not None:
                progress.iterations += 1
                idle = 0 if moved > zero else idle + 1
                continue
            idle = 0 if np.abs(point - self.x).max(initial=0.0) > zero else idle
            self.x = np.maximum(point, 0.0)
            if progress.recorder.wanted:
                progress.check_iterate(self.x)
            # The index that lowers the energy most enters, or the least one; a decrease does not depend on units.
            w = box.rows(self.x)
            low = w < -self.tolerance * (np.abs(box.M) @ self.x + np.abs(box.q))
            low[active] = False
            if not low.any():
                return Status.SOLVED
            gain = np.where(low, w * w / np.maximum(np.diag(box.M), 1e-300), -1.0)
            j = int(np.flatnonzero(low)[0] if idle > _IDLE else np.argmax(gain))
            idle += 1
            progress.iterations += 1
            column = box.M[active, j]
            inner = np.linalg.solve(box.M[np.ix_(active, active)], column)
            pivot, terms = box.M[j, j] - column @ inner, abs(box.M[j, j])
            if pivot > _REDUNDANT * terms:
                active.append(j)
                continue
            # Dependent: along the null vector, or one of negative curvature, until another unknown reaches zero.
            d = self.direction = np.zeros(box.n)
            d[active], d[j] = -inner, 1.0
            falls = d < -_PIVOT * float(np.abs(d).max())
            moved = self._move(d, np.inf, falls, falls, idle > _IDLE)
            if moved is None:
                return Status.RAY_TERMINATION
            active.append(j)
            idle = 0 if moved > zero else idle
        return Status.ITERATION_LIMIT

    def _move(
        self, d: Vector, step: float, falls: NDArray[np.bool_], blocks: NDArray[np.bool_], by_index: bool
    ) -> float | None:
        """Move by at most ``step`` d; remove the index that blocks and return the length, None if none blocks."""
        ratio = np.where(falls & blocks, self.x / np.where(falls, -d, 1.0), np.inf)
        least = float(ratio.min(initial=np.inf))
        if not least < step:
            return None
        tied = np.flatnonzero(ratio == least)
        leaving = int(tied[0]) if by_index else int(tied[np.argmin(d[tied])])
        self.x = np.maximum(self.x + least * d, 0.0)
        self.x[leaving] = 0.0
        self.active.remove(leaving)
        return float(np.abs(least * d).max())

    def _states(self) -> States:
        states = np.full(self.box.n, LOWER, dtype=np.int8)
        states[self.active] = BETWEEN
        return states

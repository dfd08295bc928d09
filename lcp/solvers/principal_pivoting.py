"""Principal pivoting on a dense tableau: the method of Cottle and Dantzig.

A dictionary b = x + T y has one of each pair (z_i, w_i) basic, with the value b_i, and the other nonbasic, with the
value y_i; ``inside[i]`` is true if z_i is basic. Nonbasic values need not be zero, because z_i can be at a bound
(R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section 2.3).

A major cycle drives one violated pair along the path on which all complementary pairs stay complementary. z_r and w_r
of the driven pair move in one direction only, until one of them reaches the value that makes the pair complementary. A
blocking pair is exchanged by itself or, if its diagonal entry vanishes, together with the driven one. Every major cycle
makes one pair complementary and violates none, so there are at most n of them. If no other pair blocks, a violated pair
blocks at a limit far on its wrong side; without this limit a ray would prove nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.farkas import Farkas
from lcp.method import MONOTONE, Traits, integer_option, positive_option, real_option
from lcp.polish.active_set import refine
from lcp.problem import LCP
from lcp.result import Claim
from lcp.scaling import BETWEEN, LOWER, UPPER, ScaledBox, States
from lcp.solvers.newton import NewtonMethod, SolveMonitor, basic_point
from lcp.status import Status

# Rounds of pivoting; each begins from the last final basis, if it is no solution, with a smaller zero tolerance.
_ROUNDS = 3
# Largest step of a violated pair if nothing else blocks, in units of the largest value of the first tableau.
_FAR = 1024.0
# Steps of length zero after which ties are broken only by the least index (Cottle and Chang 1992).
_PATIENCE = 2


@dataclass(frozen=True)
class CottleDantzig(NewtonMethod):
    """Principal pivoting that makes one pair complementary at a time and keeps the others so (Cottle, Dantzig 1968).

    Each major cycle drives one pair to complementarity along a path on which all complementary pairs stay
    complementary. If a diagonal entry vanishes, two pairs are exchanged together. The method ends for P matrices. For
    positive semidefinite (more generally sufficient) M it ends either in a solution or in a proof that the problem is
    infeasible; ties are broken by the least index. Bounds on both sides are native, also infinite and equal ones: a
    driven unknown may also stop at its far bound. The tableau is dense, with n^2 operations per pivot, and a sparse M
    is made dense.

    Parameters
    ----------
    max_pivots
        Limit on pivots; None for max(1000, 50 n).
    zero_tolerance
        Size that counts as zero relative to the terms of a value. The method reduces it if a solution is not accepted.
    pivot_tolerance
        Smallest admissible pivot relative to the entries it couples.
    time_limit
        Seconds, checked between pivots.

    References
    ----------
    R. W. Cottle, G. B. Dantzig, Complementary pivot theory of mathematical programming, Linear Algebra and its
    Applications 1 (1968); R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section
    4.3; R. W. Cottle, Y.-Y. Chang, Least-index resolution of degeneracy in linear complementarity problems with
    sufficient matrices, SIAM Journal on Matrix Analysis and Applications 13 (1992); with bounds: D. Baraff, Fast
    contact force computation for nonpenetrating rigid bodies, SIGGRAPH (1994).
    """

    max_pivots: int | None = integer_option(None)
    zero_tolerance: float = real_option(1e-11, least=0.0, most=1e-3)
    pivot_tolerance: float = real_option(1e-10, least=0.0, most=1e-3)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = MONOTONE | Traits.P_MATRIX | Traits.WARM_START | Traits.BOXED

    def _limit(self, n: int) -> int:
        return max(1000, 50 * n) if self.max_pivots is None else self.max_pivots

    def _from_start(self, progress: SolveMonitor, start: Vector) -> Claim:
        """Pivot from the basis of the start; if this fails, refine the best z of an `LCP`, then begin at the bounds."""
        problem, nearest = progress.problem, progress.box.start(None)
        claim = self._pivoted(progress, start)
        if claim.status in (Status.SOLVED, Status.INFEASIBLE) or progress.timed_out():
            return claim
        better = refine(problem, progress.best, progress.tolerance) if isinstance(problem, LCP) else None
        if better is not None:
            return replace(claim, z=better, status=Status.SOLVED, detail="polished")
        if (start == nearest).all():
            return claim
        progress.iterations = 0
        return self._pivoted(progress, nearest)

    def _pivoted(self, progress: SolveMonitor, start: Vector) -> Claim:
        """Pivot from the basis of a start; reduce the zero tolerance if the final basis is no solution."""
        box = progress.box
        states = np.where(start <= box.lo, LOWER, np.where(start >= box.hi, UPPER, BETWEEN)).astype(np.int8)
        for attempt in range(_ROUNDS):
            path = _Path(box, states, self.zero_tolerance * 100.0**-attempt, self.pivot_tolerance)
            status = path.follow(progress)
            states = path.states()
            x = basic_point(box, states)
            if x is not None and progress.check_iterate(np.clip(x, box.lo, box.hi)):
                return progress.claim(Status.SOLVED)
            proof = path.proof(progress) if status is Status.RAY_TERMINATION else None
            if proof is not None:
                return progress.claim(Status.INFEASIBLE, evidence=proof)
            if status is Status.ITERATION_LIMIT:
                return progress.limit()
        if status is Status.SOLVED:
            return progress.claim(Status.STALLED, "the final basis is no solution of the original data")
        return progress.claim(status)


def exchange(T: NDArray[np.float64], r: int, c: int) -> None:
    """Exchange the basic variable of row r and the nonbasic variable of column c of a dictionary, in place."""
    column, inverse = T[:, c].copy(), 1.0 / T[r, c]
    row = T[r] * -inverse
    row[c] = inverse
    column[r] = T[:, c] = 0.0
    T += column[:, None] * row
    T[r] = row


class _Path:
    """A tableau and the driven pair: the values, the sizes of their terms, and the direction of the last step."""

    def __init__(self, box: ScaledBox, states: States, zero_tolerance: float, pivot_tolerance: float) -> None:
        """Form the tableau of the pairs between their bounds; if their block is singular, of none."""
        n = box.n
        self.lo, self.hi, self.zero_tolerance, self.pivot_tolerance = box.lo, box.hi, zero_tolerance, pivot_tolerance
        self.free = np.isinf(box.lo) & np.isinf(box.hi)
        self.inside = states == BETWEEN
        try:
            self.T = _transform(box.M, self.inside)
        except np.linalg.LinAlgError:
            self.inside, self.T = np.zeros(n, dtype=np.bool_), box.M.copy()
        at_high = (states == UPPER) & np.isfinite(box.hi) | np.isinf(box.lo)
        rest = np.where(at_high, np.where(np.isfinite(box.hi), box.hi, 0.0), box.lo)
        self.y = np.where(self.inside, 0.0, rest)
        # Of basic z the rows are solved for z, so that -q takes the place of their w.
        self.b = np.where(self.inside, 0.0, box.q) + self.T @ np.where(self.inside, -box.q, self.y)
        self.size = np.maximum(np.abs(self.b), np.abs(box.q))
        self.direction, self.driven = np.zeros(n), -1

    def violations(self) -> Vector:
        """Return the violation of each pair, positive if z_i (or w_i) must grow; 0 within rounding."""
        b, y, lo, hi = self.b, self.y, self.lo, self.hi
        margin = self.zero_tolerance * self.size
        basic = np.where(b < lo - margin, lo - b, np.where(b > hi + margin, hi - b, -y))
        wrong = ((b < -margin) & (y < hi)) | ((b > margin) & (y > lo))
        resting = np.where(wrong & (lo != hi), -b, 0.0)
        return np.where(self.inside, basic, np.where(y < lo, lo - y, np.where(y > hi, hi - y, resting)))

    def rooms(self, rate: Vector) -> Vector:
        """Return how far each basic variable can move in the direction of ``rate``; infinite if it does not block."""
        b, y, lo, hi = self.b, self.y, self.lo, self.hi
        margin = self.zero_tolerance * self.size
        falls = rate < 0.0
        # A z that is beyond a bound and moves farther does not block: another major cycle corrects this.
        below = np.where(b < lo - margin, np.inf, np.maximum(b - lo, 0.0))
        above = np.where(b > hi + margin, np.inf, np.maximum(hi - b, 0.0))
        at_low = np.where(falls & (b >= -margin), np.maximum(b, 0.0), np.inf)
        at_high = np.where(~falls & (b <= margin), np.maximum(-b, 0.0), np.inf)
        # Without bounds the condition is w_i = 0: kept if satisfied, and reached if possible.
        equation = np.where(np.abs(b) <= margin, 0.0, np.where(b * rate < 0.0, np.abs(b), np.inf))
        resting = np.where(self.free, equation, np.where(y <= lo, at_low, at_high))
        resting = np.where(lo == hi, np.inf, resting)
        return np.where(self.inside, np.where(falls, below, above), resting)

    def follow(self, progress: SolveMonitor) -> Status:
        """Pivot until every pair is complementary up to rounding, the driven variable is on a ray, or a limit."""
        T, b, y, size = self.T, self.b, self.y, self.size
        far, idle, others = _FAR * float(np.abs(b).max()), 0, np.arange(b.shape[0])
        while True:
            # A major cycle begins with the most violated pair.
            r = self.driven
            if r < 0:
                amounts = self.violations()
                r = int(np.argmax(np.abs(amounts)))
                if amounts[r] == 0.0:
                    return Status.SOLVED
                if not np.isfinite(amounts[r]):
                    return Status.NOT_FINITE
                self.driven, sense = r, float(np.sign(amounts[r]))
                margin = self.zero_tolerance * size[r] if self.inside[r] else 0.0
                position = b[r] if self.inside[r] else y[r]
                wrong_sign = self.lo[r] - margin <= position <= self.hi[r] + margin
            if progress.exhausted:
                return Status.ITERATION_LIMIT
            rate = self.direction = sense * T[:, r]
            floor = self.pivot_tolerance * float(np.abs(rate).max())
            # Target of the driven pair: w_r = 0 or its far bound, or, from beyond a bound, this bound.
            z_goal = self.hi[r] if (sense > 0.0) == wrong_sign else self.lo[r]
            w_goal = 0.0 if wrong_sign else sense * np.inf
            nonbasic_goal, basic_goal = (w_goal, z_goal) if self.inside[r] else (z_goal, w_goal)
            nonbasic = max(sense * (nonbasic_goal - y[r]), 0.0)
            own = sense * rate[r]
            basic = max(sense * (basic_goal - b[r]), 0.0) / own if own > floor else np.inf
            step, blocking = min(nonbasic, basic), -1
            # The distance that the other pairs admit; ties by the larger pivot or the least index.
            moves = (np.abs(rate) > floor) & (others != r)
            speed = np.where(moves, np.abs(rate), 1.0)
            ratio = np.where(moves, self.rooms(rate) / speed, np.inf)
            least = float(ratio.min())
            if least < step:
                tied = np.flatnonzero(ratio <= least + self.zero_tolerance * size / speed)
                best = 0 if idle > _PATIENCE else int(np.argmax(np.abs(T[tied, tied])))
                step, blocking = least, int(tied[best])
            # No pair blocks: violated pairs block at the far limit, or the path is a ray.
            limited = step == np.inf
            if limited:
                amounts = self.violations()
                room = np.where(moves & (amounts * rate < 0.0), np.maximum(far - np.abs(amounts), 0.0) / speed, np.inf)
                blocking, step = int(np.argmin(room)), float(room.min())
                if step == np.inf:
                    return Status.RAY_TERMINATION
            if not step < np.inf:
                return Status.NOT_FINITE
            # Move, and count steps of length zero.
            change = np.abs(rate) * step
            np.maximum(size, change, out=size)
            idle = 0 if (change > self.zero_tolerance * size).any() else idle + 1
            b += T[:, r] * (sense * step)
            y[r] += sense * step
            progress.iterations += 1
            if blocking < 0:
                # The driven pair becomes complementary, which ends the cycle.
                self.driven = -1
                if nonbasic <= basic:
                    y[r] = nonbasic_goal
                else:
                    b[r] = basic_goal
                    size[r] = max(abs(y[r]), abs(z_goal) if np.isfinite(z_goal) else 0.0)
                    self._swap(r)
            elif not self._exchange_blocking(blocking, r, step, limited):
                return Status.SINGULAR_BASIS
            if progress.recorder.wanted:
                progress.check_iterate(np.clip(np.where(self.inside, b, y), self.lo, self.hi))

    def _exchange_blocking(self, i: int, r: int, step: float, limited: bool) -> bool:
        """Exchange a blocking pair by itself or together with the driven one; return False if no pivot is large."""
        T, b = self.T, self.b
        if not limited:
            # Exactly, because nonbasic values are compared with their bounds.
            b[i] = (self.lo[i] if self.direction[i] < 0.0 else self.hi[i]) if self.inside[i] else 0.0
        least = self.pivot_tolerance * max(abs(T[i, r]), abs(T[r, i]))
        pairs = [i]
        if abs(T[i, i]) <= least:
            if not abs(T[r, i]) > least:
                return False
            pairs.append(r)
        self._swap(*pairs)
        self.size[pairs] = np.maximum(np.abs(b[pairs]), step)
        return True

    def _swap(self, i: int, r: int | None = None) -> None:
        """Exchange the variables of pair i, or of i and r together if their diagonal entries are too small."""
        T = self.T
        if r is None:
            exchange(T, i, i)
            pairs = [i]
        else:
            exchange(T, i, r)
            exchange(T, r, i)
            pairs = [i, r]
            T[pairs] = T[pairs[::-1]]
            T[:, pairs] = T[:, pairs[::-1]]
        self.b[pairs], self.y[pairs] = self.y[pairs], self.b[pairs]
        self.inside[pairs] = ~self.inside[pairs]

    def states(self) -> States:
        """Return the state of each unknown; a nonbasic one is at its nearest bound."""
        nearest = np.where(np.abs(self.y - self.hi) < np.abs(self.y - self.lo), UPPER, LOWER)
        return np.where(self.inside | self.free, BETWEEN, nearest).astype(np.int8)

    def proof(self, progress: SolveMonitor) -> Farkas | None:
        """Return a Farkas vector, or None: a ray of a semidefinite problem is in the null space of M + M^T."""
        if not isinstance(progress.problem, LCP):
            return None
        y = np.where(self.inside, self.direction, 0.0)
        if not self.inside[self.driven]:
            y[self.driven] = 1.0
        size = float(np.abs(y).max())
        proof = Farkas(y=np.where(y > 1e-12 * size, y, 0.0) * progress.box.unit, v=np.zeros(0))
        return proof if proof.proves(progress.problem) else None


def _transform(M: Vector, inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the principal transform of M in which the z of ``inside`` and the w of the other pairs are basic."""
    a, c = np.flatnonzero(inside), np.flatnonzero(~inside)
    if a.shape[0] == 0:
        return M.copy()
    T = np.empty_like(M)
    inverse = np.linalg.inv(M[np.ix_(a, a)])
    if not np.abs(inverse).max() < 1e14:
        raise np.linalg.LinAlgError("the block is singular to working precision")
    T[np.ix_(a, a)] = inverse
    T[np.ix_(a, c)] = -inverse @ M[np.ix_(a, c)]
    T[np.ix_(c, a)] = M[np.ix_(c, a)] @ inverse
    T[np.ix_(c, c)] = M[np.ix_(c, c)] - M[np.ix_(c, a)] @ inverse @ M[np.ix_(a, c)]
    return T

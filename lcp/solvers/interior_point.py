"""Infeasible primal-dual interior-point method with a predictor and a corrector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, scaled_matrix
from lcp.factors import Factors, block, factorized, shifted
from lcp.farkas import infeasibility_proof
from lcp.method import MONOTONE, Traits, bool_option, integer_option, positive_option
from lcp.result import Claim
from lcp.scaling import BETWEEN, LOWER, UPPER, ScaledBox, States
from lcp.solvers.newton import NewtonMethod, SolveMonitor, basic_point
from lcp.status import Status

# Distances of the start from the bounds, in units of a guess at the solution: a start inside enough is not known.
_STARTS = (1.0, 1e3, 1e6)
# Fall of mu from which on the active set is guessed.
_CLOSE = 1e-4
# Steps too short to matter that may follow one another, and the growth of x and the fall of mu at which all ends.
_SHORT_STEPS, _DIVERGED, _CENTRAL = 15, 1e14, 1e-34
# Fraction of the largest unknown below which an unknown and its multiplier may both be zero at the end of the path.
_TIE = 1e-8
#: Unknowns up to which a linear program is asked whether a problem that could not be solved is infeasible.
_PROOF_SIZE = 2000
# The neighbourhood of the path: products of at least this fraction of their mean, and residuals that fall at least as
# fast as this factor times the mean (Wright 1997, gamma and beta of his N_-infinity).
_PRODUCT, _RESIDUAL = 1e-3, 1e3
# The plain step: its centring, and the fraction of its length by which the mean must fall at least.
_SAFE_CENTRING, _FALL = 0.3, 0.01
_SHORT, _SHORTEST = 0.1, 1e-10
_SHIFTS = (0.0, 1e-14, 1e-11, 1e-8)


@dataclass(frozen=True)
class InteriorPoint(NewtonMethod):
    """Infeasible interior-point path following, predictor-corrector (Mehrotra 1992; Wright 1997, chapter 8).

    For monotone problems: M positive semidefinite, not necessarily symmetric. Each iteration factorises M + diag(s / (z
    - lo) + t / (hi - z)) once, by Cholesky's method if M is symmetric and dense, sparse if M is sparse, and solves with
    it twice. The predictor-corrector step is used if it stays in the neighbourhood of the central path, reduces mu and
    is not shorter than 0.1. Otherwise the plain path-following step of Wright's algorithm IPF is used. From a start far
    enough inside this converges if a solution exists (Wright 1997, chapters 6 and 8; the feasible method is from
    Kojima, Mizuno and Yoshise 1989). The necessary distance depends on the solution. If a path breaks, it is started
    again a thousand times further inside, at most twice. Both bounds of a box have a multiplier each, unknowns without
    bounds have none, and fixed ones are substituted. The data are scaled by a congruence, which keeps M semidefinite.

    Near the end the active set is guessed from z - lo < s and solved, which gives the last digits. If a problem of up
    to 2000 unknowns ends without solution, a linear program is solved; its verified Farkas vector proves INFEASIBLE.

    Parameters
    ----------
    max_iterations
        Limit on the iterations; 20 to 40 are usual at any size.
    polish
        Whether the active set is guessed and solved.
    time_limit
        Seconds, checked between iterations.

    References
    ----------
    S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optim. 2 (1992).
    M. Kojima, S. Mizuno, A. Yoshise, A polynomial-time algorithm for a class of linear complementarity problems,
    Mathematical Programming 44 (1989).
    S. J. Wright, Primal-Dual Interior-Point Methods, SIAM (1997).
    """

    max_iterations: int = integer_option(300)
    polish: bool = bool_option(True)
    time_limit: float = positive_option(300.0)

    congruent: ClassVar[bool] = True
    traits: ClassVar[Traits] = MONOTONE | Traits.SPARSE | Traits.BOXED

    def _from_start(self, progress: SolveMonitor, start: Vector) -> Claim:
        """Follow the path from one starting distance after another until a verified solution, a proof or a limit.

        ``start`` is ignored: ``progress`` has already checked it for being a solution.
        """
        problem, box = progress.problem, progress.box
        moving = np.flatnonzero(box.lo < box.hi)
        part = _part(box, moving)
        for distance in _STARTS:
            status = self._follow(progress, part, moving, distance)
            if progress.should_stop():
                return progress.claim(Status.SOLVED)
            if status is Status.ITERATION_LIMIT:
                return progress.limit()
            if progress.solved:
                return progress.claim(Status.SOLVED)
            proof = None
            if distance == _STARTS[0] and problem.n <= _PROOF_SIZE:
                proof = infeasibility_proof(problem, min(60.0, progress.seconds_left))
            if proof is not None:
                return progress.claim(proof.status(problem), "the iterates diverged", evidence=proof)
        return progress.claim(status, "the path could not be followed further")

    def _follow(self, progress: SolveMonitor, box: ScaledBox, moving: NDArray[np.intp], distance: float) -> Status:
        """Follow the path from a start at ``distance`` to its end; return the reason why it ended.

        ``moving`` are the unknowns that are not fixed. ``progress`` measures every point and keeps the best.
        """

        def embedded(x: Vector) -> Vector:
            full = progress.box.start(None)
            full[moving] = x
            return full

        at = start(box, distance)
        area = Neighbourhood(box, at)
        size = float(np.abs(at.x).max(initial=1.0))
        short, tried = 0, b""
        while not progress.exhausted:
            progress.iterations += 1
            step = step_from(box, at, area)
            if step is None:
                return Status.SINGULAR_BASIS
            at, length = step
            if not np.isfinite(at.x).all():
                return Status.NOT_FINITE
            solved = progress.check_iterate(embedded(at.x))
            states = active_bounds(at, area)
            key = states.tobytes()
            if self.polish and (solved or (key != tried and area.mean(at) < _CLOSE * area.first_mean)):
                tried = key
                candidate = basic_point(box, states, near=at.x)
                solved |= candidate is not None and progress.check_iterate(embedded(candidate), record=False)
            if solved:
                return Status.SOLVED
            short = short + 1 if length < 1e-3 else 0
            diverged = float(np.abs(at.x).max(initial=0.0)) > _DIVERGED * size
            if short > _SHORT_STEPS or diverged or area.mean(at) < _CENTRAL * area.first_mean:
                # Rows of tiny unknowns alone, -4 z_2 >= 0, are met only at their bounds themselves.
                for near in (0.0, _TIE * float(np.abs(at.x).max(initial=0.0))):
                    low, high = (
                        area.low & (at.p <= np.maximum(at.s, near)),
                        area.high & (at.r <= np.maximum(at.t, near)),
                    )
                    progress.check_iterate(embedded(np.where(low, box.lo, np.where(high, box.hi, at.x))), record=False)
                return Status.STALLED
        return Status.ITERATION_LIMIT


def _part(box: ScaledBox, moving: NDArray[np.intp]) -> ScaledBox:
    """Return the problem of the unknowns that are not fixed (lo = hi), with the fixed ones substituted."""
    if moving.shape[0] == box.n:
        return box
    given = np.where(box.lo == box.hi, box.lo, 0.0)
    q = box.rows(given)[moving]
    return replace(box, M=block(box.M, moving), q=q, lo=box.lo[moving], hi=box.hi[moving], unit=box.unit[moving])


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Interior point: x, the distances p = x - lo > 0 and r = hi - x > 0, and w = s - t with multipliers s, t > 0.

    If a bound is missing, its distance is 1 and its multiplier 0.
    """

    x: Vector
    p: Vector
    r: Vector
    s: Vector
    t: Vector

    def moved(self, step: Point, length: float) -> Point:
        """Return the point plus a step."""
        return Point(
            self.x + length * step.x,
            self.p + length * step.p,
            self.r + length * step.r,
            self.s + length * step.s,
            self.t + length * step.t,
        )


def start(box: ScaledBox, times: float) -> Point:
    """Return a point well inside: its distance to the bounds is ``times`` the size of (M + 0.001 I)^-1 q, or of 1."""
    n = box.n
    low, high = np.isfinite(box.lo), np.isfinite(box.hi)
    matrix = shifted(box.M, 1e-3)
    factors = factorized(matrix, positive_definite=box.symmetric, symmetric_pattern=box.symmetric_pattern)
    guess = np.zeros(n) if factors is None else factors.solve(-box.q)
    inside = max(1.0, float(np.abs(guess).max(initial=0.0))) if np.isfinite(guess).all() else 1.0
    inside *= times
    room = np.where(low & high, box.hi - box.lo, np.inf)
    distance = np.minimum(inside, 0.5 * room)
    x = np.where(low, box.lo + distance, np.where(high, box.hi - distance, 0.0))
    p = np.where(low, distance, 1.0)
    r = np.where(high, np.where(low, room - distance, distance), 1.0)
    return Point(x, p, r, np.where(low, inside, 0.0), np.where(high, inside, 0.0))


class Neighbourhood:
    """Points whose products are not far below their mean, and whose residual decreases as fast as the mean.

    This is N_-infinity(gamma, beta) of Wright (1997), chapter 6; gamma is reduced to admit the first point.
    """

    def __init__(self, box: ScaledBox, first: Point) -> None:
        self.box = box
        self.low, self.high = np.isfinite(box.lo), np.isfinite(box.hi)
        self.pairs = max(1, int(self.low.sum() + self.high.sum()))
        self.first_mean = max(self.mean(first), np.finfo(np.float64).tiny)
        self.first_residual = float(np.abs(self.residual(first)).max(initial=0.0))
        self.least = min(_PRODUCT, 0.5 * self.smallest(first) / self.first_mean)

    def residual(self, at: Point) -> Vector:
        """Return M x + q - s + t."""
        gap: Vector = self.box.rows(at.x) - at.s + at.t
        return gap

    def mean(self, at: Point) -> float:
        """Return mu, the mean of the products p s and r t."""
        return float(at.p @ at.s + at.r @ at.t) / self.pairs

    def smallest(self, at: Point) -> float:
        """Return the smallest product."""
        below = (at.p * at.s)[self.low].min(initial=np.inf)
        return min(float(below), float((at.r * at.t)[self.high].min(initial=np.inf)))

    def holds(self, at: Point) -> bool:
        """Return True if no product is far below the mean, and the residual has fallen with the mean or is rounding."""
        mean = self.mean(at)
        if not self.smallest(at) >= self.least * mean:
            return False
        allowed = _RESIDUAL * mean / self.first_mean * self.first_residual
        w_size = float(max(at.s.max(initial=0.0), at.t.max(initial=0.0)))
        rounding = 1e-13 * (w_size + float(np.abs(at.x).max(initial=0.0)) + 1.0)
        return float(np.abs(self.residual(at)).max(initial=0.0)) <= max(allowed, rounding)


def step_from(box: ScaledBox, at: Point, area: Neighbourhood) -> tuple[Point, float] | None:
    """Return the next point and the length of the step, or None if no shift makes the matrix regular."""
    low, high = area.low, area.high
    factors = _factors(box, at.s / at.p + at.t / at.r)
    if factors is None:
        return None
    residual, mean = area.residual(at), area.mean(at)

    def newton(c_low: Vector, c_high: Vector) -> Point:
        # s p and t r change by c_low and c_high to first order, the residual goes to zero.
        x = factors.solve(-residual + c_low / at.p - c_high / at.r)
        p, r = np.where(low, x, 0.0), np.where(high, -x, 0.0)
        s, t = (c_low - at.s * p) / at.p, (c_high - at.t * r) / at.r
        return Point(x, p, r, np.where(low, s, 0.0), np.where(high, t, 0.0))

    predictor = newton(np.where(low, -at.p * at.s, 0.0), np.where(high, -at.r * at.t, 0.0))
    far = at.moved(predictor, _step_to_boundary(at, predictor, 1.0))
    centring = min(1.0, max(area.mean(far), 0.0) / mean) ** 3 if mean > 0.0 else 0.0
    c_low = np.where(low, centring * mean - at.p * at.s - predictor.p * predictor.s, 0.0)
    c_high = np.where(high, centring * mean - at.r * at.t - predictor.r * predictor.t, 0.0)
    first = _longest(at, newton(c_low, c_high), area)
    if first[1] >= _SHORT and area.mean(first[0]) <= (1.0 - _FALL * first[1]) * mean:
        return first
    c_low = np.where(low, _SAFE_CENTRING * mean - at.p * at.s, 0.0)
    c_high = np.where(high, _SAFE_CENTRING * mean - at.r * at.t, 0.0)
    second = _longest(at, newton(c_low, c_high), area, falling=True)
    return second if second[1] > 0.0 else first


def _factors(box: ScaledBox, diagonal: Vector) -> Factors | None:
    """Factorise M + diag(diagonal), scaled symmetrically; return None if it is singular.

    Near the solution its entries span dozens of decades.
    """
    d = 1.0 / np.sqrt(1.0 + diagonal)
    matrix = scaled_matrix(box.M, d, d)
    for shift in _SHIFTS:
        full = shifted(matrix, diagonal * d * d + shift)
        factors = factorized(full, positive_definite=box.symmetric, symmetric_pattern=box.symmetric_pattern)
        if factors is not None:
            break
    else:
        return None
    inner = factors.solve
    return Factors(lambda b: d * inner(d * b))


def _step_to_boundary(at: Point, step: Point, share: float) -> float:
    """Return min(1, ``share`` t), with t the largest step for which p, r, s and t of the point stay nonnegative."""
    length = 1.0
    for value, change in ((at.p, step.p), (at.r, step.r), (at.s, step.s), (at.t, step.t)):
        falls = change < 0.0
        if falls.any():
            length = min(length, share * float((-value[falls] / change[falls]).min()))
    return length


def _longest(at: Point, step: Point, area: Neighbourhood, *, falling: bool = False) -> tuple[Point, float]:
    """Return the longest step, up to a factor 0.8, within the neighbourhood (and with a smaller mean), or length 0."""
    mean = area.mean(at)
    share = max(0.995, 1.0 - mean / area.first_mean)
    length = _step_to_boundary(at, step, min(share, 1.0 - 1e-9))
    while length >= _SHORTEST:
        there = at.moved(step, length)
        if area.holds(there) and not (falling and area.mean(there) > (1.0 - _FALL * length) * mean):
            return there, length
        length *= 0.8
    return at, 0.0


def active_bounds(at: Point, area: Neighbourhood) -> States:
    """Return the states of the unknowns: at a bound if its distance is smaller than its multiplier."""
    on_low, on_high = area.low & (at.p < at.s), area.high & (at.r < at.t)
    return np.where(on_low, LOWER, np.where(on_high, UPPER, BETWEEN)).astype(np.int8)

"""Solutions along a line of right-hand sides: parametric principal pivoting, which follows turning points.

With t as one more variable, w - M z - t d = q and the complementary pairs describe edges of a path. t enters the basis
of the solution at t = 0. The blocking variable leaves, its complement enters, and t, which is free, stays. On each edge
one variable outside the basis grows, and t grows, falls or is constant; for a P-matrix it always grows. Ties are broken
by the path of the perturbed data q + B (e, e^2, ...), B the first basis. This path visits no vertex twice.

R. W. Cottle, Monotone solutions of the parametric linear complementarity problem, Mathematical Programming 3 (1972);
R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section 4.5 (parametric principal
pivoting) and 4.9 (lexicographic degeneracy resolution).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector, checked_vector
from lcp.interruptible import interruptible
from lcp.method import number
from lcp.problem import LCP, MLCP, stacked
from lcp.residuals import DEFAULT_TOLERANCE, measure
from lcp.result import MLCPResult, Result
from lcp.scaling import scales
from lcp.solve import check_tolerance, solve
from lcp.solvers.enumeration import Enumeration
from lcp.solvers.lemke import Lemke
from lcp.status import ProblemError, Status

# Size of an entry of an entering column, relative to the largest, from which it blocks; tolerance of ties relative to
# the largest basic variable; fractions of the line and of z below which a vertex repeats the last one; least pivot of a
# regular factor.
_PIVOT, _TIE, _SAME, _SINGULAR = 1e-11, 1e-13, 1e-12, 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class ParametricPath:
    """Piecewise linear path of solutions of LCP(M, q + t d).

    Attributes
    ----------
    status
        `SOLVED` if t reached ``to`` and every point was verified. `TURNED_BACK` if the path returned to t = 0, or had a
        turning point with ``follow_turns=False``; `RAY_TERMINATION` if z grew without bound at one t;
        `ITERATION_LIMIT`; `STALLED` if a point is not a solution to the tolerance. If the first solve failed, its
        status, with its result as ``evidence``.
    detail
        Text with place and reason.
    t, z
        Breakpoints (k,) in the order of the path, and the solutions there (k, n), of an `MLCP` (u, y); read-only.
        Between two of them z is linear in t; if two have the same t, all points of the segment are solutions at this t.
    bases
        For each segment (k - 1 of them) the indices of the pairs whose z may be positive.
    turning_points
        Indices of the breakpoints at which t changes its direction: none for a P-matrix.
    backward_errors
        Of every breakpoint (k,), on the data.
    pivots
        Basis changes, including those at degenerate breakpoints.
    evidence
        The result of the first solve if it failed.
    """

    status: Status
    detail: str
    t: Vector
    z: NDArray[np.float64]
    bases: tuple[tuple[int, ...], ...]
    turning_points: tuple[int, ...]
    backward_errors: Vector
    pivots: int
    evidence: Result | MLCPResult | None
    _problem: LCP | MLCP = field(repr=False)
    _direction: Vector = field(repr=False)

    @property
    def solved(self) -> bool:
        """True if the path reached the requested t and was verified."""
        return self.status is Status.SOLVED

    def problem(self, t: float) -> LCP | MLCP:
        """Return the problem at t."""
        return _moved(self._problem, self._direction, t)

    def points(self, t: float) -> tuple[Vector, ...]:
        """Return all points of the path at t, in its order: one for a P-matrix, more if the path turned back.

        Of a segment at constant t these are the two ends.
        """
        found: list[Vector] = []
        for k in range(self.t.shape[0]):
            if self.t[k] == t:
                found.append(self.z[k].copy())
            elif k + 1 < self.t.shape[0] and min(self.t[k], self.t[k + 1]) < t < max(self.t[k], self.t[k + 1]):
                share = (t - self.t[k]) / (self.t[k + 1] - self.t[k])
                found.append((1.0 - share) * self.z[k] + share * self.z[k + 1])
        return tuple(found)

    def evaluate(self, t: float) -> Vector:
        """Return the solution (n,) that the path first reaches at t.

        Raises
        ------
        ProblemError
            If the path does not reach t.
        """
        found = self.points(t)
        if not found:
            reach = f"[{self.t.min()}, {self.t.max()}]" if self.t.size else "nothing"
            raise ProblemError(f"the path covers t in {reach}, not {t!r}; it ended in {self.status.name}")
        return found[0]


@interruptible
def parametric(
    problem: LCP | MLCP,
    direction: ArrayLike,
    to: float,
    *,
    follow_turns: bool = True,
    max_pivots: int = 10_000,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ParametricPath:
    """Compute the path of solutions of LCP(M, q + t * direction) from t = 0 to t = ``to``, which can be negative.

    Each pivot factors a basis anew: n^3 / 3 multiply-adds. M is made dense.

    Parameters
    ----------
    problem
        An `LCP`, or an `MLCP`, whose direction and solutions have the free rows and unknowns first.
    direction
        Change of q (n,) for t = 1; for an `MLCP` the change of (a, x4).
    to
        Last value of t.
    follow_turns
        Whether to continue if t turns back. The path can then turn again and reach ``to``.
    max_pivots
        Limit on basis changes.
    tolerance
        Bound on the backward error of every breakpoint.

    Raises
    ------
    ProblemError
        For ill-formed arguments. A `BoxLCP` is refused: `box_to_mlcp` makes it an `MLCP`.
    """
    if not isinstance(problem, LCP | MLCP):
        raise ProblemError(f"parametric takes an LCP or MLCP, got {type(problem).__name__}; see lcp.box_to_mlcp")
    check_tolerance(tolerance)
    if not np.isfinite(number(to)):
        raise ProblemError(f"to must be a finite number, got {to!r}")
    k = stacked(problem)[1]
    change = checked_vector("direction", direction, k.shape[0])
    with np.errstate(all="ignore"):
        walk = _PathFollower(problem, change, float(to), follow_turns, max_pivots)
        status, detail, evidence = walk.run(tolerance)
    t, z = float(to) * np.array(walk.t), np.array(walk.z).reshape((-1, k.shape[0]))
    errors = _errors(problem, change, t, z)
    if errors.size and not errors.max() <= tolerance and status is Status.SOLVED:
        worst = int(np.argmax(errors))
        status, detail = (
            Status.STALLED,
            f"breakpoint {worst} at t = {t[worst]:.6g} has backward error {errors[worst]:.1e}",
        )
    for array in (t, z, errors):
        array.flags.writeable = False
    return ParametricPath(
        status,
        detail,
        t,
        z,
        tuple(walk.bases),
        tuple(walk.turning_points),
        errors,
        walk.pivots,
        evidence,
        problem,
        change,
    )


def _errors(problem: LCP | MLCP, direction: Vector, t: Vector, z: NDArray[np.float64]) -> Vector:
    """Return the backward errors of the points of a path."""
    return np.array([
        measure(_moved(problem, direction, s), x)[0].backward_error for s, x in zip(t, z, strict=True)
    ])  # fmt: skip


def _moved(problem: LCP | MLCP, direction: Vector, t: float) -> LCP | MLCP:
    if isinstance(problem, LCP):
        # A breakpoint is known only to the rounding of t.
        rounding = 8.0 * np.finfo(np.float64).eps * (np.abs(problem._q) + np.abs(t * direction)) * (direction != 0.0)
        noise = rounding if problem._q_uncertainty is None else rounding + problem._q_uncertainty
        return LCP(problem._M, problem._q + t * direction, noise)
    m, k = problem.n_free, problem._k + t * direction
    return MLCP(problem.A, problem.X1, problem.X2, problem.X3, k[:m], k[m:])


class _PathFollower:
    """State of one path, in scaled units, t as a fraction of ``to``. Variables: x_j is j, w_i size + i, t 2 size."""

    def __init__(self, problem: LCP | MLCP, direction: Vector, to: float, follow: bool, max_pivots: int) -> None:
        self._problem, self._to, self._follow, self._limit = problem, to, follow, max_pivots
        K, k, self._m = stacked(problem)
        self._size = k.shape[0]
        row, self._column = scales(K)
        change = to * row * direction
        self._columns = np.hstack([-row[:, None] * K * self._column, np.eye(self._size), -change[:, None]])
        self._k = row * k
        self._load = float(np.maximum(np.abs(self._k), np.abs(change)).max(initial=0.0))
        self._T = 2 * self._size
        self.t: list[float] = []
        self.z: list[Vector] = []
        self.bases: list[tuple[int, ...]] = []
        self.turning_points: list[int] = []
        self.pivots = 0

    def run(self, tolerance: float) -> tuple[Status, str, Any]:
        """Follow the path and return its status."""
        first, basis = self._begin(tolerance)
        if basis is None:
            status = Status.SINGULAR_BASIS if first.solved else first.status
            return status, f"at t = 0: {first.describe()}", first
        if self._to == 0.0:
            self._keep(basis, self._values(basis, 0.0), 0.0, ())
            return Status.SOLVED, "", None
        start, entering, x, now = self._columns[:, basis], self._T, self._values(basis, 0.0), 0.0
        self._keep(basis, x, 0.0, ())
        while True:
            u = self._solved(basis, self._columns[:, entering])
            if not (np.isfinite(u).all() and np.isfinite(x).all()):
                return Status.SINGULAR_BASIS, f"a basis became singular at t = {self._to * now:.6g}", None
            at = None if entering == self._T else basis.index(self._T)
            rate = 1.0 if at is None else -float(u[at])
            if abs(rate) <= _PIVOT * float(np.abs(u).max(initial=0.0)):
                rate = 0.0  # a segment at one t
            leaving = self._leaving(basis, x, u, start)
            length = np.inf if leaving is None else max(float(x[leaving]), 0.0) / float(u[leaving])
            active = tuple(sorted(j - self._m for j in {*basis, entering} if self._m <= j < self._size))
            arrived = rate > 0.0 and (1.0 - now) / rate <= length + _SAME / rate
            if arrived or (leaving is not None and leaving == at):
                end = 1.0 if arrived else 0.0
                ended = [entering if j == self._T else j for j in basis]
                if self._keep(ended, self._values(ended, end), end, active) and not self._follow:
                    return Status.TURNED_BACK, self._first_turn(), None
                return (
                    (Status.SOLVED, "", None) if arrived else (Status.TURNED_BACK, "the path came back to t = 0", None)
                )
            if leaving is None:
                return Status.RAY_TERMINATION, f"z grows for ever at t = {self._to * now:.6g}", None
            if self.pivots >= self._limit:
                return Status.ITERATION_LIMIT, f"{self.pivots} pivots, at t = {self._to * now:.6g}", None
            self.pivots += 1
            left, basis[leaving] = basis[leaving], entering
            entering = left + self._size if left < self._size else left - self._size
            x = self._values(basis, None)
            now = float(x[basis.index(self._T)])
            if np.isfinite(x).all() and self._keep(basis, x, now, active) and not self._follow:
                return Status.TURNED_BACK, self._first_turn(), None

    def _first_turn(self) -> str:
        """Drop the points after the first turning point; return a text about it."""
        end = self.turning_points[-1] + 1
        del self.t[end:], self.z[end:], self.bases[end - 1 :]
        return f"t turns back at {self._to * self.t[-1]:.6g}"

    def _solved(self, basis: list[int], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return B^-1 times one or more columns, with one refinement; NaN if B is singular."""
        from scipy.linalg.lapack import dgetrf, dgetrs

        B = self._columns[:, basis]
        lu, order, _ = dgetrf(B)
        diagonal = np.abs(np.diag(lu))
        if not (diagonal > _SINGULAR * diagonal.max(initial=0.0)).all():
            return np.full_like(right, np.nan)
        x = dgetrs(lu, order, right)[0]
        refined: NDArray[np.float64] = x - dgetrs(lu, order, B @ x - right)[0]
        return refined

    def _values(self, basis: list[int], t: float | None) -> Vector:
        """Return the basic variables: at t, or None if t is basic."""
        return self._solved(basis, self._k if t is None else self._k - t * self._columns[:, self._T])

    def _begin(self, tolerance: float) -> tuple[Any, list[int] | None]:
        """Return a solution at t = 0 and its basis; None if there is no regular basis."""
        first: Any = None
        # The default solver can return a point between vertices; the other solvers return a vertex, if they succeed.
        for solver in (None, Lemke(), Enumeration()):
            result: Any = solve(self._problem, solver, tolerance=tolerance)
            first = first or result
            if not result.solved:
                if first is result:
                    break
                continue
            x = np.concatenate([result.u, result.y]) if isinstance(result, MLCPResult) else result.z
            x = x / self._column
            y = x[self._m :]
            positive = y > _TIE * float(y.max(initial=0.0))
            basis = [*range(self._m), *(self._m + i + (0 if up else self._size) for i, up in enumerate(positive))]
            values = self._values(basis, 0.0)[self._m :]
            if (values >= -1e-9 * max(1e-300, float(np.abs(values).max(initial=0.0)))).all():
                return result, basis
        return first, None

    def _leaving(self, basis: list[int], x: Vector, u: Vector, start: NDArray[np.float64]) -> int | None:
        """Return the row of the variable that first reaches zero as the entering one grows; ties lexicographically."""
        # t is such a variable too: the path is not followed below zero.
        bounded = np.array([self._m <= j for j in basis])
        rows = np.flatnonzero(bounded & (u > _PIVOT * float(np.abs(u).max(initial=0.0))))
        if rows.shape[0] == 0:
            return None
        error = _TIE * max(float(np.abs(x[bounded]).max(initial=0.0)), self._load)
        rows = _least(np.maximum(x[rows], 0.0), u[rows], rows, error)
        if rows.shape[0] > 1:
            inverse = self._solved(basis, start)
            for j in range(self._size):
                if rows.shape[0] == 1:
                    break
                rows = _least(inverse[rows, j], u[rows], rows, 1e-11 * float(np.abs(inverse[:, j]).max()))
        return int(rows[np.argmax(u[rows])])

    def _keep(self, basis: list[int], x: Vector, t: float, active: tuple[int, ...]) -> bool:
        """Add a breakpoint, unless it repeats the last one; return True if t turned back on the way to it."""
        z = np.zeros(self._size)
        for j, value in zip(basis, x.tolist(), strict=True):
            if j < self._size:
                z[j] = value if j < self._m else max(value, 0.0)
        z *= self._column
        t = next((end for end in (0.0, 1.0) if abs(t - end) <= _SAME), t)
        if self.t:
            size = np.maximum(np.abs(z), np.abs(self.z[-1])).max(initial=0.0)
            still = abs(t - self.t[-1]) <= _SAME
            if still and (np.abs(z - self.z[-1]) <= _SAME * size).all():
                return False
            if still:
                t = self.t[-1]
            self.bases.append(active)
        self.t.append(t)
        self.z.append(z)
        moves = np.sign(np.diff(self.t))
        moving = np.flatnonzero(moves)
        if moving.shape[0] > 1 and moving[-1] == moves.shape[0] - 1 and moves[moving[-1]] != moves[moving[-2]]:
            self.turning_points.append(int(moving[-2]) + 1)
            return True
        return False


def _least(values: Vector, divisors: Vector, rows: NDArray[np.intp], error: float) -> NDArray[np.intp]:
    """Return the rows with the least ratio, and rows as near to it as the error of the values allows."""
    ratios, errors = values / divisors, error / divisors
    best = int(np.argmin(ratios))
    kept: NDArray[np.intp] = rows[ratios - errors <= ratios[best] + errors[best]]
    return kept

"""Solutions along a line of right-hand sides: parametric principal pivoting, which follows turning points.

With t as one more variable, w - M z - t d = q and the complementary pairs describe edges of a path. It is a
`ComplementaryPath` with t between zero and its last value. t enters the basis of the solution at t = 0. The blocking
variable leaves, its complement enters, and t stays. On each edge one variable outside the basis grows, and t grows,
falls or is constant; for a P-matrix it always grows. Every vertex is solved again from the data.

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
from lcp.factors import solution
from lcp.interruptible import interruptible
from lcp.method import number
from lcp.problem import LCP, MLCP, bounds_of, stacked
from lcp.residuals import DEFAULT_TOLERANCE, measure
from lcp.result import MLCPResult, Result
from lcp.scaling import ScaledBox, scales
from lcp.solve import check_tolerance, solve
from lcp.solvers.complementary_path import ComplementaryPath
from lcp.solvers.enumeration import Enumeration
from lcp.solvers.lemke import Lemke
from lcp.status import ProblemError, Status

# Fraction of the largest unknown below which one is zero at t = 0; fractions of the line and of z below which a vertex
# repeats the last one.
_TIE, _SAME = 1e-13, 1e-12


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

    Each pivot factors a basis: n^3 / 3 multiply-adds. M is made dense.

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
    errors = np.array([measure(_moved(problem, change, s), x)[0].backward_error for s, x in zip(t, z, strict=True)])
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


def _moved(problem: LCP | MLCP, direction: Vector, t: float) -> LCP | MLCP:
    if isinstance(problem, LCP):
        # A breakpoint is known only to the rounding of t.
        rounding = 8.0 * np.finfo(np.float64).eps * (np.abs(problem._q) + np.abs(t * direction)) * (direction != 0.0)
        noise = rounding if problem._q_uncertainty is None else rounding + problem._q_uncertainty
        return LCP(problem._M, problem._q + t * direction, noise)
    m, k = problem.n_free, problem._k + t * direction
    return MLCP(problem.A, problem.X1, problem.X2, problem.X3, k[:m], k[m:])


class _PathFollower:
    """State of one path, in scaled units, t as a fraction of ``to``."""

    def __init__(self, problem: LCP | MLCP, direction: Vector, to: float, follow: bool, max_pivots: int) -> None:
        self._problem, self._to, self._follow, self._limit = problem, to, follow, max_pivots
        K, k, self._m = stacked(problem)
        row, column = scales(K)
        self._box = ScaledBox(row[:, None] * K * column, row * k, *bounds_of(problem), column, False, False)
        self._change = to * row * direction
        self.t: list[float] = []
        self.z: list[Vector] = []
        self.bases: list[tuple[int, ...]] = []
        self.turning_points: list[int] = []
        self.pivots = 0

    def run(self, tolerance: float) -> tuple[Status, str, Any]:
        """Follow the path and return its status."""
        first, path = self._begin(tolerance)
        if path is None:
            status = Status.SINGULAR_BASIS if first.solved else first.status
            return status, f"at t = 0: {first.describe()}", first
        try:
            self._keep(self._point(path), 0.0, ())
            return (Status.SOLVED, "", None) if self._to == 0.0 else self._followed(path)
        except np.linalg.LinAlgError:
            at = self._to * self.t[-1] if self.t else 0.0
            return Status.SINGULAR_BASIS, f"a basis became singular at t = {at:.6g}", None

    def _followed(self, path: ComplementaryPath) -> tuple[Status, str, Any]:
        """Pivot until t leaves the basis at the end of the line or at zero, or a limit is reached."""
        n, m, end = path.n, self._m, 2 * path.n
        entering, rising = end, True
        while True:
            active = tuple(sorted(j - m for j in {*path.basis.tolist(), entering} if m <= j < n))
            # The end of the line has precedence over variables that block with it, t = 0 has not.
            arrives = entering == end or path.rate(end, entering, rising) > 0.0
            leaving = path.enter(entering, rising, (end,) if arrives else ())
            if leaving < 0:
                return Status.RAY_TERMINATION, f"z grows for ever at t = {self._to * self.t[-1]:.6g}", None
            if leaving != end:
                if self.pivots >= self._limit:
                    return Status.ITERATION_LIMIT, f"{self.pivots} pivots, at t = {self._to * self.t[-1]:.6g}", None
                self.pivots += 1
                entering, rising = path.complement(leaving)
            z = self._point(path)
            if self._keep(z, path.value(end), active) and not self._follow:
                # Drop the points after the first turning point.
                last = self.turning_points[-1] + 1
                del self.t[last:], self.z[last:], self.bases[last - 1 :]
                return Status.TURNED_BACK, f"t turns back at {self._to * self.t[-1]:.6g}", None
            if leaving == end:
                arrived = path.value(end) > 0.0
                return (
                    (Status.SOLVED, "", None) if arrived else (Status.TURNED_BACK, "the path came back to t = 0", None)
                )

    def _point(self, path: ComplementaryPath) -> Vector:
        """Compute the basic values from the data; return z (n,), or raise `LinAlgError` if the basis is singular."""
        x = solution(path.columns[:, path.basis], self._box.q - path.columns[:, path.outside] @ path.at)
        if x is None:
            raise np.linalg.LinAlgError
        path.x = x
        z, inside = np.zeros(path.n), path.basis < path.n
        z[path.basis[inside]] = x[inside]
        z[self._m :] = np.maximum(z[self._m :], 0.0)
        return self._box.original(z)

    def _begin(self, tolerance: float) -> tuple[Any, ComplementaryPath | None]:
        """Return a solution at t = 0 and a path from its basis; None if there is no regular basis."""
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
            x = x / self._box.unit
            basic = x > _TIE * float(x[self._m :].max(initial=0.0))
            basic[: self._m] = True
            try:
                path = ComplementaryPath(self._box, self._change, np.zeros_like(basic), self._limit, np.inf, basic)
            except np.linalg.LinAlgError:
                continue
            path.high[-1] = 1.0
            values = path.x[self._m :]
            if (values >= -1e-9 * max(1e-300, float(np.abs(values).max(initial=0.0)))).all():
                return result, path
        return first, None

    def _keep(self, z: Vector, t: float, active: tuple[int, ...]) -> bool:
        """Add a breakpoint, unless it repeats the last one; return True if t turned back on the way to it."""
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

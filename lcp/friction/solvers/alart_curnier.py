"""Alart and Curnier's nonsmooth equations of Coulomb friction, their generalised Jacobian, and Newton's loop.

Per contact, with step lengths s_N and s_T::

    F_N = r_N - max(0, r_N - s_N u_N)
    F_T = r_T - P_D(r_T - s_T u_T),   D the disc of radius mu max(0, r_N - s_N u_N)

F = 0 exactly at solutions. With u = (W + shift) r + q its Jacobian is P + Q (W + shift), P and Q blocks of 3x3. Rows of
open contacts and of absent components give d = -F directly and are not part of the linear system.

P. Alart, A. Curnier, A mixed formulation for frictional contact problems prone to Newton like solution methods,
Computer Methods in Applied Mechanics and Engineering 92 (1991).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcp.arrays import Vector
from lcp.factors import factorized
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import FrictionClaim
from lcp.friction.solvers.first_order import FrictionSolverBase, GaussSeidelSweeps, IterateMonitor
from lcp.method import SolveRequest, integer_option, positive_option, real_option
from lcp.status import Status

# Unknowns up to which a linear system is dense for any density of W, and the density from which it is always dense.
_SMALL = 400
_FULL = 0.15
# Number of values of the merit whose maximum bounds a step's merit (Grippo, Lampariello, Lucidi 1986).
_MEMORY = 6
_ARMIJO = 1e-4
_HALVINGS = 12
# Fraction of its initial error to which a proximal point is solved, and fraction below which it is accepted.
_INNER = 1e-3
_ENOUGH = 0.1
# Number of proximal points without a merit smaller by the factor, after which the method stops.
_MAX_ROUNDS, _BETTER = 60, 0.9
# Range of the proximal weight, in units of the median diagonal entry of W.
_MIN_ALPHA, _MAX_ALPHA = 1e-13, 1e3


class AlartCurnier:
    """The equations for one W (m, m), q (nc, 3) and ``shift`` (nc,) on its diagonal; ``q`` and ``shift`` can change."""

    def __init__(self, problem: FrictionProblem, W: Any, q: Vector, shift: float = 0.0) -> None:
        from scipy import sparse

        self.problem, self.mu, self.index = problem, problem._mu, problem._index
        self.m, self.nc = problem.m, problem.nc
        filled = 1.0 if isinstance(W, np.ndarray) else W.nnz / max(1, self.m) ** 2
        self.dense = self.m <= _SMALL or (filled >= _FULL and self.m <= 8 * _SMALL)
        self.W: Any = (W if isinstance(W, np.ndarray) else W.toarray()) if self.dense else sparse.csr_matrix(W)
        self.q = q
        diagonal = problem.contacts(np.asarray(W.diagonal(), dtype=np.float64))
        self.present = self.index < self.m
        self._normal = diagonal[:, 0]
        tangents = np.maximum(self.present[:, 1:].sum(axis=1), 1)
        self._tangent = diagonal[:, 1:].sum(axis=1) / tangents
        self.set_shift(shift)

    def set_shift(self, shift: float) -> None:
        """Set another proximal weight, and the step lengths for it."""
        self.shift = shift
        tangent, normal = self._tangent + shift, self._normal + shift
        self.normal_step = np.divide(1.0, normal, out=np.ones(self.nc), where=normal > 0.0)
        self.tangent_step = np.divide(1.0, tangent, out=self.normal_step.copy(), where=tangent > 0.0)

    def motion(self, rows: Vector) -> Vector:
        """Return u (nc, 3), including the shift's part."""
        u: Vector = self.problem.contacts(self.W @ self.problem.flat(rows)) + self.q
        if self.shift:
            u += self.shift * rows * self.present
        return u

    def residual(self, rows: Vector, u: Vector) -> Vector:
        """Return F (nc, 3)."""
        return self._modes(rows, u)[0]

    def _modes(self, rows: Vector, u: Vector) -> tuple[Vector, Any, Any, Vector, Vector, Vector]:
        """Return F (nc, 3) of the forces ``rows`` at velocities u, and the contacts' modes.

        These are the masks of active and of sticking contacts, the tangential points y (nc, 2) before the projection,
        their lengths, and the friction bounds over these lengths.
        """
        z = rows[:, 0] - self.normal_step * u[:, 0]
        active = z > 0.0
        radius = self.mu * np.maximum(z, 0.0)
        y = rows[:, 1:] - self.tangent_step[:, None] * u[:, 1:]
        size = np.hypot(y[:, 0], y[:, 1])
        stick = active & (size <= radius)
        ratio = np.divide(radius, size, out=np.zeros_like(size), where=size > 0.0)
        F = np.empty_like(rows)
        F[:, 0] = rows[:, 0] - np.maximum(z, 0.0)
        F[:, 1:] = np.where(stick[:, None], self.tangent_step[:, None] * u[:, 1:], rows[:, 1:] - ratio[:, None] * y)
        return F, active, stick, y, size, ratio

    def step(self, rows: Vector, u: Vector, extra: float = 0.0) -> tuple[Vector, Vector] | None:
        """Return F and Newton's step d (nc, 3), None if singular. ``extra`` adds to the shift, for d only."""
        F, active, stick, y, size, ratio = self._modes(rows, u)
        nc = self.nc
        P, Q = np.zeros((nc, 3, 3)), np.zeros((nc, 3, 3))
        P[:, 0, 0] = ~active
        Q[active, 0, 0] = self.normal_step[active]
        step = self.tangent_step
        P[:, 1, 1] = P[:, 2, 2] = ~stick
        Q[stick, 1, 1] = Q[stick, 2, 2] = step[stick]
        slide = np.flatnonzero(active & ~stick & (self.mu > 0.0))
        if slide.size:
            n = y[slide] / size[slide, None]
            across = np.eye(2) - n[:, :, None] * n[:, None, :]
            P[slide, 1:, 1:] = np.eye(2) - ratio[slide, None, None] * across
            Q[slide, 1:, 1:] = (ratio * step)[slide, None, None] * across
            P[slide, 1:, 0] = -self.mu[slide, None] * n
            Q[slide, 1:, 0] = (self.mu * self.normal_step)[slide, None] * n
        d = self._solve(P, Q, F, extra)
        return None if d is None or not np.isfinite(d).all() else (F, d)

    def _solve(self, P: Vector, Q: Vector, F: Vector, extra: float) -> Vector | None:
        """Return d (nc, 3) with (P + Q (W + (shift + extra) I)) d = -F, or None if this matrix is singular.

        P and Q (nc, 3, 3) are block diagonal. Rows with Q = 0 give d = -F without a solve.
        """
        from scipy import sparse

        m = self.m
        live = (np.abs(Q).max(axis=2) > 0.0) & self.present
        flat = self.problem.flat
        inner = flat(live.astype(np.float64)) > 0.0
        rhs = -flat(F)
        d = np.where(inner, 0.0, rhs)
        at = np.flatnonzero(inner)
        if at.size == 0:
            return self.problem.contacts(d)
        where = np.repeat(self.index[:, :, None], 3, axis=2), np.repeat(self.index[:, None, :], 3, axis=1)
        keep = ((P != 0.0) | (Q != 0.0)) & (where[0] < m) & (where[1] < m)
        row, col = where[0][keep], where[1][keep]
        P_s = sparse.csr_matrix((P[keep], (row, col)), shape=(m, m))[at]
        Q_s = sparse.csr_matrix((Q[keep], (row, col)), shape=(m, m))[at]
        near = P_s + Q_s * (self.shift + extra)
        J = Q_s @ self.W + (near.toarray() if self.dense else near)
        right = rhs[at] - J @ d
        square = J[:, at]
        factors = factorized(square)
        if factors is None:
            return None
        x = factors.solve(right)
        # One step of iterative refinement.
        d[at] = x + factors.solve(right - square @ x)
        return self.problem.contacts(d)


@dataclass(frozen=True)
class NewtonRun:
    """End of a run of Newton's method: the best rows, their merit ||F||, the steps, and whether it converged."""

    rows: Vector
    merit: float
    iterations: int
    converged: bool
    singular: bool = False


def newton(
    equations: AlartCurnier,
    rows: Vector,
    done: Callable[[Vector, Vector, int], bool],
    *,
    max_iterations: int,
    timed_out: Callable[[], bool],
) -> NewtonRun:
    """Iterate from ``rows`` until ``done(rows, F, iteration)``, with a nonmonotone line search on ||F||."""
    u = equations.motion(rows)
    F = equations.residual(rows, u)
    merit = float(np.linalg.norm(F))
    best, best_merit = rows, merit
    history = [merit]
    extra = 0.0
    for iteration in range(max_iterations + 1):
        if done(rows, F, iteration):
            return NewtonRun(rows, merit, iteration, True)
        if iteration == max_iterations or timed_out():
            break
        move = equations.step(rows, u, extra)
        if move is None:
            # Singular: add a small compliance to every contact, which changes the step and not the equations.
            extra = max(10.0 * extra, 1e-10)
            move = equations.step(rows, u, extra) if extra < 1.0 else None
            if move is None:
                return NewtonRun(best, best_merit, iteration, False, True)
        _, d = move
        bound = max(history[-_MEMORY:])
        t, chosen = 1.0, None
        least = np.inf
        for _ in range(_HALVINGS):
            trial = rows + t * d
            moved = equations.motion(trial)
            G = equations.residual(trial, moved)
            size = float(np.linalg.norm(G))
            if size < least:
                least, chosen = size, (trial, moved, G)
            if size <= (1.0 - _ARMIJO * t) * bound:
                chosen, least = (trial, moved, G), size
                break
            t *= 0.5
        if chosen is None or not np.isfinite(least):
            return NewtonRun(best, best_merit, iteration, False)
        rows, u, F = chosen
        merit = least
        history.append(merit)
        if merit < best_merit:
            best, best_merit = rows, merit
    return NewtonRun(best, best_merit, max_iterations, False)


@dataclass(frozen=True)
class SemismoothNewton(FrictionSolverBase):
    """Newton's method on the nonsmooth equations of Alart and Curnier (1991), with a nonmonotone line search.

    With ``alpha`` = 0 the method converges in a few steps if W has full rank (elastic bodies) and the start is good. If
    W is rank deficient, the systems are singular; they are then solved with a small compliance, which seldom suffices.

    With ``alpha`` > 0 Newton's method solves a sequence of regular problems: the proximal-point algorithm of
    Rockafellar (1976). W is replaced by W + alpha I and q by q - alpha r, where r are the last forces. Fixed points are
    the solutions.
    The weight alpha falls tenfold while Newton needs few steps, and convergence becomes faster than linear. It rises
    tenfold if Newton fails twice, the second time from a start improved by block Gauss-Seidel.

    Parameters
    ----------
    alpha
        First proximal weight, in units of the median diagonal entry of W; 0 for none.
    newton_steps
        Limit on Newton's steps for one proximal point.
    max_iterations
        Limit on Newton's steps in all.
    time_limit
        Seconds, checked between steps.

    References
    ----------
    P. Alart, A. Curnier, Computer Methods in Applied Mechanics and Engineering 92 (1991).
    L. Grippo, F. Lampariello, S. Lucidi, A nonmonotone line search technique for Newton's method, SIAM Journal on
    Numerical Analysis 23 (1986).
    R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM Journal on Control and Optimization
    14 (1976).
    V. Acary, M. Bremond, O. Huber, INRIA RR-9118 (2018), sections 4.3, 4.5 and 5.
    """

    alpha: float = real_option(0.0, least=0.0, most=_MAX_ALPHA)
    newton_steps: int = integer_option(25, least=1)
    max_iterations: int = integer_option(200)
    time_limit: float = positive_option(120.0)

    def _claim(self, problem: FrictionProblem, request: SolveRequest) -> FrictionClaim:
        """Run Newton's method on the equations, or proximal points with Newton's method if ``alpha`` is positive."""
        z0, tolerance, trace = request
        monitor = IterateMonitor(problem, tolerance, self.time_limit, trace)
        equations = AlartCurnier(problem, monitor.units.W, monitor.units.q)
        if self.alpha > 0.0:
            return self._proximal_points(equations, monitor, monitor.units.start(z0))
        run = newton(
            equations,
            monitor.units.start(z0),
            lambda rows, F, iteration: monitor.record_iterate(rows, iteration) <= 1.0,
            max_iterations=self.max_iterations,
            timed_out=lambda: monitor.timed_out,
        )
        if run.singular:
            return monitor.claim(run.iterations, "the Jacobian is singular", Status.SINGULAR_BASIS)
        return monitor.claim(run.iterations)

    def _proximal_points(self, equations: AlartCurnier, monitor: IterateMonitor, rows: Vector) -> FrictionClaim:
        """Solve problems with W + alpha I about the last forces by Newton's method; alpha decreases after success.

        If Newton's method fails, Gauss-Seidel sweeps give another start. If it fails again, alpha grows tenfold.
        """
        problem, units = monitor.problem, monitor.units
        sweeps: GaussSeidelSweeps | None = None
        alpha, spent, rounds = self.alpha, 0, 0
        merit = monitor.record_iterate(rows, 0)
        swept, better = False, 0
        start = rows
        while merit > 1.0 and monitor.finite and spent < self.max_iterations and not monitor.timed_out:
            rounds += 1
            if rounds - better > _MAX_ROUNDS:
                return monitor.claim(spent, f"no better force in {_MAX_ROUNDS} rounds", Status.STALLED)
            # Solve the regular problem about the last forces by Newton's method.
            equations.set_shift(alpha)
            equations.q = units.q - alpha * rows * equations.present
            opening = float(np.linalg.norm(equations.residual(rows, equations.motion(rows))))
            run = newton(
                equations,
                start,
                lambda _, F, __, goal=_INNER * opening: bool(np.linalg.norm(F) <= goal),  # type: ignore[misc]
                max_iterations=min(self.newton_steps, self.max_iterations - spent),
                timed_out=lambda: monitor.timed_out,
            )
            spent += max(1, run.iterations)
            if run.converged or run.merit < _ENOUGH * opening:
                start = rows = run.rows
                least = monitor.best_merit
                merit = monitor.record_iterate(rows, spent)
                if merit < _BETTER * least:
                    better = rounds
                swept = False
                hard = run.iterations / self.newton_steps
                alpha = max(alpha * (0.1 if hard <= 0.25 else 0.3 if hard < 0.5 else 1.0), _MIN_ALPHA)
            elif not swept:
                # Newton failed: solve the same problem from a better start.
                sweeps = sweeps or GaussSeidelSweeps(problem, units.W)
                start, swept = rows.copy(), True
                sweeps(start, equations.q, min(100, 5 * sweeps.portion), np.full(problem.nc, alpha))
            else:
                # Newton failed again: use a more regular problem.
                start, swept = rows, False
                alpha *= 10.0
                if alpha > _MAX_ALPHA:
                    return monitor.claim(spent, f"no weight lets Newton converge ({rounds} rounds)", Status.STALLED)
        return monitor.claim(spent, f"{rounds} rounds, last weight {alpha:.0e}")

"""Projected Gauss-Seidel with relaxation, and nonsmooth nonlinear conjugate gradients on its residual."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.method import SYMMETRIC_MONOTONE, Traits, choice_option, integer_option, positive_option, real_option
from lcp.solvers.first_order import BoxProblemArrays, Iteration, IterativeMethod

SWEEP_ORDERS = ("forward", "symmetric")
# Sweeps of the shortest window over which a rate is measured.
_SHORTEST = 16
# A rate that reduces the steps a hundredfold within such a window needs no help.
_FAST = math.log(100.0) / _SHORTEST


@dataclass(frozen=True)
class ProjectedGaussSeidel(IterativeMethod):
    """Projected successive over-relaxation, one unknown after the other (Cryer 1971).

    One step is z_i <- z_i - omega w_i / M_ii, projected onto the bounds. Convergence is proven, and linear, for
    symmetric positive semidefinite M with a solution if omega is in (0, 2), and for H-matrices with positive diagonal
    if omega <= 1. For other matrices the status reports a failure. A diagonal entry that is not positive, as in the
    rows of sliding speeds of frictional contact, makes it UNSUITABLE. Scaling the problem does not change the path. A
    sparse M stays sparse.

    Parameters
    ----------
    relaxation
        omega in (0, 2); None for a factor that is adapted during the sweeps if M is symmetric, and 1 otherwise.
    sweep
        "forward", or "symmetric": forward and back, which counts as one iteration.
    max_iterations
        Limit on iterations.
    time_limit
        Seconds, checked between calls of a few hundredths of a second.
    check_interval
        Iterations between two checks of the residual; None for 1, 2, 4, 8, 16 and then ever longer intervals.

    References
    ----------
    C. W. Cryer, The solution of a quadratic programming problem using systematic overrelaxation, SIAM J. Control 9
    (1971).
    Z.-Q. Luo, P. Tseng, Error bounds and convergence analysis of feasible descent methods: a general approach, Annals
    of Operations Research 46 (1993): symmetric semidefinite M, bounds on both sides.
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), sections 5.2 and 5.3.
    """

    relaxation: float | None = real_option(None, least=0.0, most=2.0, open_ends=True)
    sweep: str = choice_option("forward", SWEEP_ORDERS)
    max_iterations: int = integer_option(200_000)
    time_limit: float = positive_option(300.0)
    check_interval: int | None = integer_option(None, least=1)

    by_diagonal: ClassVar[bool] = True
    traits: ClassVar[Traits] = SYMMETRIC_MONOTONE | Traits.H_PLUS | Traits.WARM_START | Traits.SPARSE | Traits.BOXED

    def _make_iteration(self, rows: BoxProblemArrays, start: Vector) -> Iteration:
        """Return the iteration by sweeps; without a given relaxation and with symmetric M the factor is tuned."""
        from lcp.kernels import first_order as k

        order = k.SYMMETRIC if self.sweep == "symmetric" else k.FORWARD
        search = RelaxationTuner() if self.relaxation is None and rows.symmetric else None
        fixed = 1.0 if self.relaxation is None else self.relaxation
        inverse, w = rows.inverse_diagonal(), np.empty(rows.n)

        def advance(z: Vector, count: int) -> None:
            while count > 0:
                omega, now = (fixed, count) if search is None else (search.omega, min(count, search.left))
                moved = np.empty(now)
                k.projected_gauss_seidel(
                    rows.matrix, rows.q, rows.diagonal, omega * inverse, rows.lo, rows.hi, z, w, order, moved
                )
                if search is not None:
                    search.record(moved)
                count -= now

        return Iteration(
            advance,
            rows.work * (1 + order),
            lambda: "" if search is None or search.omega == 1.0 else f"relaxation {search.omega:.4g}",
        )


class RelaxationTuner:
    """Tuner that tries relaxation factors on windows of sweeps and keeps the better ones.

    For symmetric matrices sweeps with any sequence of factors within [1, 2 - e] converge (Mangasarian 1977), so a bad
    factor costs only time. The increase follows from the rate lambda at which steps shrink at omega: for consistently
    ordered matrices mu^2 = (lambda + omega - 1)^2 / (lambda omega^2) is the squared radius of Jacobi's iteration, and 2
    / (1 + sqrt(1 - mu^2)) is the best factor (Young 1971; Hageman and Young 1981, chapter 9). The model is verified: a
    factor that is not clearly better than the previous one is compared with it again, and dropped if it is worse. Then
    the other direction is tried, after a wait that grows with the sweeps made.

    ``omega`` is the factor for the next sweeps, ``left`` the number of sweeps after which it may change.
    """

    def __init__(self) -> None:
        self.omega = 1.0
        self.left = _SHORTEST
        self._kept = 1.0
        self._rate = 0.0
        self._trial = 1.0
        self._trial_rate = 0.0
        self._stage = "kept"
        self._upwards = True
        self._sweeps = 0
        self._wait_until = 0
        self._moved: list[float] = []

    def record(self, moved: NDArray[np.float64]) -> None:
        """Record the squared lengths of the steps of some sweeps, at most ``left``."""
        self._moved.extend(moved.tolist())
        self._sweeps += moved.shape[0]
        self.left -= moved.shape[0]
        if self.left <= 0:
            self._decide(self._window_rate())
            self._moved.clear()
            self.left = max(_SHORTEST, math.ceil(3.0 / (2.0 - self.omega)), self._sweeps // 8)

    def _window_rate(self) -> float:
        """Return the decay of the step lengths per sweep over the second half of the window.

        A new factor disturbs the first.
        """
        steps = self._moved
        half = len(steps) // 2
        early, late = steps[half - 1], steps[-1]
        if late == 0.0:
            return math.inf
        if not (0.0 < early < math.inf and late < math.inf):
            return 0.0
        return 0.5 * (math.log(early) - math.log(late)) / (len(steps) - half)

    def _decide(self, rate: float) -> None:
        """Use the measured decay ``rate`` of a window: try another factor, measure again, or keep one.

        A trial that is not clearly faster is compared with the kept factor, which is measured once more after it.
        """
        if self._stage == "kept":
            self._rate = rate
            if rate < _FAST and self._sweeps >= self._wait_until:
                self._try()
        elif self._stage == "trial":
            if rate > 1.2 * self._rate:
                self._keep(self._trial, rate)
                self._try()
            else:
                self._trial_rate = rate
                self._stage, self.omega = "again", self._kept
        elif self._trial_rate >= 0.5 * (rate + self._rate):
            self._keep(self._trial, self._trial_rate)
            self._upwards = not self._upwards
        else:
            self._keep(self._kept, rate)
            self._upwards = not self._upwards
            self._wait_until = 2 * self._sweeps

    def _keep(self, omega: float, rate: float) -> None:
        self._kept, self._rate, self._stage, self.omega = omega, rate, "kept", omega

    def _try(self) -> None:
        """Choose the next factor to try, unless none can be clearly better."""
        omega = self._kept
        if omega <= 1.0:
            self._upwards = True
        if self._upwards:
            decay = math.exp(-min(max(self._rate, 1e-12), 30.0))
            radius = min((decay + omega - 1.0) ** 2 / (decay * omega**2), 1.0)
            model = 2.0 - 2.0 / (1.0 + math.sqrt(1.0 - radius))
            room = max(min(max(model, 0.25 * (2.0 - omega)), 0.7 * (2.0 - omega)), 1e-6)
            self._trial = 2.0 - room
            if self._rate > 0.7 * -math.log(self._trial - 1.0):
                self._upwards = False
                self._wait_until = 2 * self._sweeps
                return
        else:
            self._trial = max(1.0, 2.0 - 2.0 * (2.0 - omega))
        self._stage, self.omega = "trial", self._trial


@dataclass(frozen=True)
class NonsmoothNonlinearCG(IterativeMethod):
    """Conjugate directions on the residual of projected Gauss-Seidel (Silcowitz-Hansen, Niebe, Erleben 2010).

    Each iteration is one sweep of `ProjectedGaussSeidel` and a step along the previous direction, by the rule of
    Fletcher and Reeves; the direction is dropped if the residual grew. A safeguard makes it converge whenever the
    sweeps do: plain sweeps are made if the residual of the sweeps was not halved within 32 iterations, or within as
    many as were made before, until it is. A sparse M stays sparse.

    Parameters
    ----------
    relaxation
        omega of the sweeps, in (0, 2).
    sweep
        "symmetric", which makes two sweeps per iteration, so that directions are conjugate in the linear case, or
        "forward", as published.
    max_iterations, time_limit, check_interval
        As of `ProjectedGaussSeidel`.

    References
    ----------
    M. Silcowitz-Hansen, S. Niebe, K. Erleben, A nonsmooth nonlinear conjugate gradient method for interactive contact
    force problems, The Visual Computer 26 (2010).
    R. Fletcher, C. M. Reeves, Function minimization by conjugate gradients, The Computer Journal 7 (1964).
    """

    relaxation: float = real_option(1.0, least=0.0, most=2.0, open_ends=True)
    sweep: str = choice_option("symmetric", SWEEP_ORDERS)
    max_iterations: int = integer_option(100_000)
    time_limit: float = positive_option(300.0)
    check_interval: int | None = integer_option(None, least=1)

    by_diagonal: ClassVar[bool] = True
    traits: ClassVar[Traits] = SYMMETRIC_MONOTONE | Traits.H_PLUS | Traits.WARM_START | Traits.SPARSE | Traits.BOXED

    def _make_iteration(self, rows: BoxProblemArrays, start: Vector) -> Iteration:
        """Return the iteration of the kernel, with the state that it keeps from call to call."""
        from lcp.kernels import first_order as k

        order = k.SYMMETRIC if self.sweep == "symmetric" else k.FORWARD
        step = self.relaxation * rows.inverse_diagonal()
        y, p, work, state = start.copy(), np.zeros(rows.n), np.zeros((3, rows.n)), np.zeros(k.CG_STATE_SIZE)
        state[k.LEAST] = np.inf

        def advance(z: Vector, count: int) -> None:
            k.nonsmooth_nonlinear_cg(
                rows.matrix, rows.q, rows.diagonal, step, rows.lo, rows.hi, order, count, z, y, p, work, state
            )

        def note() -> str:
            spent = int(state[k.PLAIN_SPENT])
            return f"{spent} plain sweeps" if spent else ""

        return Iteration(advance, rows.work * (1 + order), note)

"""Projected Gauss-Seidel with relaxation, and nonsmooth nonlinear conjugate gradients on its residual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.method import SYMMETRIC_MONOTONE, Traits, choice_option, integer_option, positive_option, real_option
from lcp.solvers.first_order import BoxProblemArrays, Iteration, IterativeMethod

SWEEP_ORDERS = ("forward", "symmetric")


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
        omega in (0, 2); None for 1.
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
        """Return the iteration by sweeps."""
        from lcp.kernels import first_order as k

        symmetric_sweep = self.sweep == "symmetric"
        order = k.SYMMETRIC if symmetric_sweep else k.FORWARD
        step, w = (1.0 if self.relaxation is None else self.relaxation) * rows.inverse_diagonal(), np.empty(rows.n)

        def advance(z: Vector, count: int) -> None:
            k.projected_gauss_seidel(rows.matrix, rows.q, step, rows.lo, rows.hi, z, w, order, count)

        return Iteration(advance, rows.work * (2 if symmetric_sweep else 1), str)


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

        symmetric_sweep = self.sweep == "symmetric"
        order = k.SYMMETRIC if symmetric_sweep else k.FORWARD
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

        return Iteration(advance, rows.work * (2 if symmetric_sweep else 1), note)

"""Nonsmooth nonlinear conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.method import SYMMETRIC_MONOTONE, Traits
from lcp.options import choice_option, integer_option, positive_option, real_option
from lcp.solvers.projected_gauss_seidel import SWEEP_ORDERS
from lcp.solvers.shared.iterative_base import BoxProblemArrays, Iteration, IterativeMethod, is_symmetric

# Iterations of the shortest phase after which the objective is compared.
_PHASE = 32
# A rise of the objective that is less than this part of its terms is rounding.
_NOISE = 1e-12


@dataclass(frozen=True)
class NonsmoothNonlinearCG(IterativeMethod):
    """Conjugate directions on the residual of projected Gauss-Seidel (Silcowitz-Hansen, Niebe, Erleben 2010).

    Each iteration is one sweep of `ProjectedGaussSeidel` and a step along the previous direction, by the rule of
    Fletcher and Reeves; the direction is dropped if the residual grew. Safeguards make it converge whenever the sweeps
    do. For symmetric M the iterations have phases of growing length, each of which begins with a plain sweep. If a
    phase ends with a higher objective z . M z / 2 + q . z than this sweep had, it is undone, and the next phase has
    only plain sweeps. For other M plain sweeps are made if the residual of the sweeps was not halved within 32
    iterations, or within as many as were made before, until it is. A sparse M stays sparse.

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
        method = _Directions(rows, start, self.relaxation, self.sweep == "symmetric")
        return Iteration(method.advance, rows.work * (2 if self.sweep == "symmetric" else 1), method.note)


class _Directions:
    """The iteration and, for symmetric M, its safeguard: phases that must not raise the objective."""

    def __init__(self, rows: BoxProblemArrays, start: Vector, relaxation: float, symmetric_sweep: bool) -> None:
        from lcp.kernels import nonsmooth_nonlinear_cg as k
        from lcp.kernels.projected_gauss_seidel import FORWARD, SYMMETRIC

        self.rows, self.symmetric = rows, is_symmetric(rows)
        self.order = SYMMETRIC if symmetric_sweep else FORWARD
        self.step = relaxation * rows.inverse_diagonal()
        self.y, self.p, self.work = start.copy(), np.zeros(rows.n), np.zeros((3, rows.n))
        self.state = np.zeros(k.STATE_SIZE)
        self.state[[k.LEAST, k.WATCHED]] = np.inf, not self.symmetric
        # The point after the plain sweep that began the phase, and its w.
        self.first, self.w_first, self.w = np.empty(rows.n), np.empty(rows.n), np.empty(rows.n)
        self.done, self.phase_end = 0, 0

    def advance(self, z: Vector, count: int) -> None:
        """Make ``count`` iterations."""
        if self.symmetric and self.done >= self.phase_end:
            self._begin(z)
            count -= 1
        if count > 0:
            self._run(z, count)

    def _run(self, z: Vector, count: int) -> None:
        from lcp.kernels.nonsmooth_nonlinear_cg import nonsmooth_nonlinear_cg

        rows = self.rows
        vectors = z, self.y, self.p, self.work, self.state
        nonsmooth_nonlinear_cg(
            rows.matrix, rows.q, rows.diagonal, self.step, rows.lo, rows.hi, self.order, count, *vectors
        )
        self.done += count

    def _begin(self, z: Vector) -> None:
        """Check the phase that ends with z, undo it if the objective rose, and begin the next with a plain sweep."""
        from lcp.kernels import nonsmooth_nonlinear_cg as k
        from lcp.kernels.affine import affine

        rows = self.rows
        plain = False
        if self.done > 0:
            affine(rows.matrix, rows.q, z, self.w)
            # Twice the difference of the objective, without the cancellation of its two values.
            with np.errstate(over="ignore", invalid="ignore"):
                terms = (z - self.first) * (self.w + self.w_first)
                plain = bool(terms.sum() > _NOISE * np.abs(terms).sum())
            if plain:
                z[:] = self.first
        self.y[:] = z
        self.p[:] = 0.0
        self.state[[k.LENGTH, k.PLAIN]] = 0.0, plain
        self.phase_end = self.done + max(_PHASE, self.done // 2)
        self._run(z, 1)
        self.first[:] = z
        affine(rows.matrix, rows.q, z, self.w_first)

    def note(self) -> str:
        """Return how many plain sweeps the safeguard made."""
        from lcp.kernels.nonsmooth_nonlinear_cg import PLAIN_SPENT

        spent = int(self.state[PLAIN_SPENT])
        return f"{spent} plain sweeps" if spent else ""

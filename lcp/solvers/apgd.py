"""Accelerated projected gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.method import SYMMETRIC_MONOTONE, Traits
from lcp.options import integer_option, positive_option
from lcp.result import Claim
from lcp.solvers.shared.iterative_base import (
    BoxProblemArrays,
    Iteration,
    IterativeMethod,
    is_symmetric,
    largest_curvature,
)
from lcp.status import Status


@dataclass(frozen=True)
class APGD(IterativeMethod):
    """Accelerated projected gradient descent with restarts (Mazhar, Heyn, Negrut, Tasora 2015).

    Minimises z . M z / 2 + q . z between the bounds. If M is symmetric, its stationary points are the solutions of the
    problem; otherwise the status is UNSUITABLE. Convergence is proven for semidefinite M if there is a solution.
    Gradients use the metric of the diagonal of M, rounded to powers of two, so that units of the unknowns do not
    matter. A sparse M stays sparse.

    Parameters
    ----------
    max_iterations
        Limit on iterations, each a product with M and, seldom, another.
    time_limit, check_interval
        As of `ProjectedGaussSeidel`.

    References
    ----------
    H. Mazhar, T. Heyn, D. Negrut, A. Tasora, Using Nesterov's method to accelerate multibody dynamics with friction
    and contact, ACM Transactions on Graphics 34 (2015).
    Y. Nesterov, A method of solving a convex programming problem with convergence rate O(1/k^2), Soviet Mathematics
    Doklady 27 (1983).
    A. Beck, M. Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sciences 2 (2009).
    B. O'Donoghue, E. Candes, Adaptive restart for accelerated gradient schemes, Found. Comput. Math. 15 (2015).
    """

    max_iterations: int = integer_option(100_000)
    time_limit: float = positive_option(300.0)
    check_interval: int | None = integer_option(None, least=1)

    by_diagonal: ClassVar[bool] = False
    traits: ClassVar[Traits] = SYMMETRIC_MONOTONE | Traits.WARM_START | Traits.SPARSE | Traits.BOXED

    def _make_iteration(self, rows: BoxProblemArrays, start: Vector) -> Iteration | Claim:
        if not is_symmetric(rows):
            detail = "M is not symmetric: z . M z / 2 + q . z has other stationary points than the solutions"
            return Claim(rows.clipped(np.zeros(rows.n)), Status.UNSUITABLE, 0, detail)
        from lcp.kernels import apgd as k
        from lcp.kernels.affine import affine

        metric, work, state = rows.metric(), np.zeros((5, rows.n)), np.zeros(k.STATE_SIZE)
        work[0] = start
        affine(rows.matrix, rows.q, start, work[1])
        work[2] = work[1]
        largest = largest_curvature(rows, metric)
        state[[k.CURVATURE, k.LARGEST, k.THETA]] = min(1.0, largest), largest, 1.0

        def advance(z: Vector, count: int) -> None:
            k.apgd(rows.matrix, rows.q, metric, rows.lo, rows.hi, count, z, work, state)

        return Iteration(
            advance, rows.work, lambda: f"{int(state[k.RESTARTS])} restarts, {int(state[k.PRODUCTS])} products"
        )

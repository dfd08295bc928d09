"""Projected Gauss-Seidel with relaxation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.options import choice, positive, real, whole
from lcp.solvers.shared.boxed_rows import BoxedRows, is_symmetric
from lcp.solvers.shared.iterating import IterativeMethod, Motion
from lcp.solvers.shared.relaxation import Relaxation
from lcp.traits import SYMMETRIC_MONOTONE, Traits

SWEEPS = ("forward", "symmetric")


@dataclass(frozen=True)
class ProjectedGaussSeidel(IterativeMethod):
    """Projected successive over-relaxation, one unknown after the other (Cryer 1971).

    One step is z_i <- z_i - omega w_i / M_ii, put back between its bounds. Proven for symmetric positive semidefinite
    M wherever there is a solution, with omega in (0, 2), and for H-matrices with positive diagonal with omega <= 1;
    linear convergence in both cases. Elsewhere it is tried, and says so if it fails; a diagonal entry that is not
    positive, as in the rows of sliding speeds of frictional contact, makes it UNSUITABLE. No scaling of the problem
    changes its path. A sparse M stays sparse.

    Parameters
    ----------
    relaxation
        omega in (0, 2); None for a factor found while the sweeps run where M is symmetric
        (`lcp.solvers.shared.relaxation`), and 1 where it is not.
    sweep
        "forward", or "symmetric": forward and back, which counts as one iteration.
    max_iterations
        Limit on iterations.
    time_limit
        Seconds, heeded between portions of some hundredths of a second.
    check_interval
        Iterations between two looks at the residual; None for 1, 2, 4, 8, 16 and then ever more seldom.

    References
    ----------
    C. W. Cryer, The solution of a quadratic programming problem using systematic overrelaxation, SIAM J. Control 9
    (1971).
    Z.-Q. Luo, P. Tseng, Error bounds and convergence analysis of feasible descent methods: a general approach, Annals
    of Operations Research 46 (1993): symmetric semidefinite M, bounds on both sides.
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), sections 5.2 and 5.3.
    """

    relaxation: float | None = real(None, least=0.0, most=2.0, open_ends=True)
    sweep: str = choice("forward", SWEEPS)
    max_iterations: int = whole(200_000)
    time_limit: float = positive(300.0)
    check_interval: int | None = whole(None, least=1)

    by_diagonal: ClassVar[bool] = True
    traits: ClassVar[Traits] = SYMMETRIC_MONOTONE | Traits.H_PLUS | Traits.WARM_START | Traits.SPARSE | Traits.BOXED

    def _motion(self, rows: BoxedRows, start: Vector) -> Motion:
        from lcp.kernels import projected_gauss_seidel as k

        symmetric_sweep = self.sweep == "symmetric"
        order = k.SYMMETRIC if symmetric_sweep else k.FORWARD
        search = Relaxation() if self.relaxation is None and is_symmetric(rows) else None
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

        return Motion(
            advance,
            rows.work * (2 if symmetric_sweep else 1),
            lambda: "" if search is None or search.omega == 1.0 else f"relaxation {search.omega:.4g}",
        )

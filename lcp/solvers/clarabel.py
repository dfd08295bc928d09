"""Clarabel, an interior-point method for quadratic programs over cones, as an LCP solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.box import BoxLCP
from lcp.options import check_flag, check_positive, check_real, check_whole
from lcp.problem import LCP
from lcp.residuals import DEFAULT_TOLERANCE
from lcp.result import Claim
from lcp.solvers.shared.quadratic import Answer, not_installed, solve_by_program, usable
from lcp.solvers.shared.quadratic_program import Program
from lcp.traits import Traits


@dataclass(frozen=True)
class Clarabel:
    """Homogeneous interior-point method on the QP of a positive semidefinite problem by Clarabel (Goulart, Chen 2024).

    UNSUITABLE for any other, and where the package ``clarabel`` is not installed. Scaled before and polished after as
    in `OSQP`; a sparse M stays sparse, bounds stay bounds.

    Parameters
    ----------
    eps
        Absolute and relative tolerance on gap and feasibility.
    max_iter
        Limit on iterations.
    polish
        Polish on the active set (see `Refined`).
    time_limit
        Seconds.

    References
    ----------
    P. J. Goulart, Y. Chen, Clarabel: an interior-point solver for conic programs with quadratic objectives (2024),
    arXiv:2405.12762.
    """

    eps: float = 1e-12
    max_iter: int = 200
    polish: bool = True
    time_limit: float = 300.0

    traits: ClassVar[Traits] = Traits.POSITIVE_DEFINITE | Traits.POSITIVE_SEMIDEFINITE | Traits.SPARSE | Traits.BOXED

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        check_real(self, "eps", least=0.0, most=1.0, open_ends=True)
        check_whole(self, "max_iter", least=1)
        check_flag(self, "polish")
        check_positive(self, "time_limit")

    def solve(
        self,
        problem: LCP | BoxLCP,
        *,
        z0: NDArray[np.float64] | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        trace: bool = False,
    ) -> Claim:
        """Solve the QP; ``z0`` and ``trace`` are ignored."""
        try:
            import clarabel  # noqa: F401
        except ImportError:
            return not_installed("clarabel", problem)
        return solve_by_program(problem, tolerance, self.polish, None, self._run)

    def _run(self, program: Program, start: NDArray[np.float64] | None) -> Answer:
        import clarabel
        from scipy import sparse

        # Rows R x with R x + s = b: equations, then what is bounded from above, then what is from below.
        rows, low, high = program.all_rows()
        rows = rows.tocsr()
        equal = low == high
        above, below = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
        R = sparse.vstack([rows[equal], rows[above], -rows[below]], format="csc")
        b = np.concatenate([high[equal], high[above], -low[below]])
        count = int(equal.sum())
        cones = [clarabel.ZeroConeT(count)] if count else []
        cones.append(clarabel.NonnegativeConeT(R.shape[0] - count))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = self.max_iter
        settings.time_limit = self.time_limit
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = self.eps
        P = sparse.triu(sparse.csc_matrix(program.P), format="csc")
        found = clarabel.DefaultSolver(P, program.c, R, b, cones, settings).solve()
        word = str(found.status)
        limited = word in ("MaxIterations", "MaxTime")
        return Answer(usable(found.x, program.c.shape[0]), f"Clarabel: {word}", int(found.iterations), limited)

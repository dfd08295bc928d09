"""Clarabel, an interior-point method for quadratic programs over cones, as an LCP solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.options import flag, positive, real, whole
from lcp.solvers.shared.quadratic import Answer, ProgramMethod, usable
from lcp.solvers.shared.quadratic_program import Program
from lcp.traits import MONOTONE, Traits


@dataclass(frozen=True)
class Clarabel(ProgramMethod):
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

    eps: float = real(1e-12, least=0.0, most=1.0, open_ends=True)
    max_iter: int = whole(200, least=1)
    polish: bool = flag(True)
    time_limit: float = positive(300.0)

    package: ClassVar[str | None] = "clarabel"
    traits: ClassVar[Traits] = MONOTONE | Traits.SPARSE | Traits.BOXED

    def _answer(self, program: Program, start: NDArray[np.float64] | None) -> Answer:
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
        answer = clarabel.DefaultSolver(P, program.c, R, b, cones, settings).solve()
        word = str(answer.status)
        limited = word in ("MaxIterations", "MaxTime")
        return Answer(usable(answer.x, program.c.shape[0]), f"Clarabel: {word}", int(answer.iterations), limited)

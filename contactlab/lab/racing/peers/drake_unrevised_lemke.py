"""Drake's unrevised Lemke solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.lab.racing.peers.drake_program import solve_by_drake

__all__ = ["DrakeUnrevisedLemke"]


@dataclass(frozen=True)
class DrakeUnrevisedLemke:
    """``pydrake.solvers.UnrevisedLemkeSolver``, through a `MathematicalProgram` as `DrakeMoby`.

    References
    ----------
    H. Dai, E. Drumwright, Drake's ``unrevised_lemke_solver.h``.
    """

    package: ClassVar[str] = "pydrake"

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve without a start; the tolerance is the solver's own."""
        from pydrake.solvers import UnrevisedLemkeSolver

        return solve_by_drake(UnrevisedLemkeSolver(), problem)

"""Drake's Moby solver: Lemke's method on shifted diagonals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.lab.racing.peers.drake_program import solve_by_drake

__all__ = ["DrakeMoby"]


@dataclass(frozen=True)
class DrakeMoby:
    """``pydrake.solvers.MobyLcpSolver``, which pydrake offers through a `MathematicalProgram` alone.

    The program is built inside the measured time: Python has no other way to it. No limit on pivots or time.

    References
    ----------
    E. Drumwright, Moby (2013); Drake's ``moby_lcp_solver.h``.
    """

    package: ClassVar[str] = "pydrake"

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve without a start; the tolerance is the solver's own."""
        from pydrake.solvers import MobyLcpSolver

        return solve_by_drake(MobyLcpSolver(), problem)

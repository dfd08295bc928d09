"""pin's PGS solver of contact problems with Coulomb's cone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.lab.racing.peers.pin_contacts import solve_by_pin

__all__ = ["PinPGS"]


@dataclass(frozen=True)
class PinPGS:
    """``pinocchio.PGSConstraintSolver`` on the dense Delassus matrix, with De Saxce's term (``solve_ncp``).

    Parameters
    ----------
    max_iterations
        Limit on iterations.

    References
    ----------
    Q. Le Lidec, W. Jallet, L. Montaut, I. Laptev, C. Schmid, J. Carpentier, Contact models in robotics: a comparative
    analysis, IEEE Transactions on Robotics 40 (2024).
    """

    max_iterations: int = 100_000

    package: ClassVar[str] = "pinocchio"
    traits: ClassVar[lcp.Traits] = lcp.Traits.CONE

    def solve(
        self, problem: lcp.FrictionProblem, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool
    ) -> lcp.FrictionClaim:
        """Solve without a start, at a tenth of the race's tolerance, absolute and relative."""
        import pinocchio

        settings = pinocchio.PGSSolverSettings()
        settings.max_iterations = self.max_iterations
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 0.1 * tolerance
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.1 * tolerance
        settings.solve_ncp = True
        solver = pinocchio.PGSConstraintSolver(problem.m)
        return solve_by_pin(solver, settings, pinocchio.PGSSolverResult(), problem, "pin's PGS")

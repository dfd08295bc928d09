"""Drake's solvers of LCPs, which pydrake offers through a `MathematicalProgram` alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp


class _Program:
    """The way to a solver of the name ``engine``. The program is built inside the measured time: there is no other."""

    package: ClassVar[str] = "pydrake"
    engine: ClassVar[str]

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve without a start; the tolerance is the solver's own."""
        from pydrake import solvers

        if problem.n == 0:
            return lcp.Claim(np.zeros(0), lcp.Status.SOLVED, 0, "nothing to solve")
        program = solvers.MathematicalProgram()
        unknowns = program.NewContinuousVariables(problem.n)
        constrain: Any = program.AddLinearComplementarityConstraint  # its stubs know no typed arrays
        constrain(problem._M, problem._q, unknowns)
        result = getattr(solvers, self.engine)().Solve(program, None, None)
        outcome = result.get_solution_result()
        z = np.asarray(result.GetSolution(unknowns), dtype=np.float64)
        if not np.isfinite(z).all():
            z = np.zeros(problem.n)
        status = {
            solvers.SolutionResult.kSolutionFound: lcp.Status.SOLVED,
            solvers.SolutionResult.kIterationLimit: lcp.Status.ITERATION_LIMIT,
            # A ray is what these methods call infeasible.
            solvers.SolutionResult.kInfeasibleConstraints: lcp.Status.RAY_TERMINATION,
        }.get(outcome, lcp.Status.STALLED)
        return lcp.Claim(z, status, 0, f"Drake: {outcome.name.removeprefix('k')}; pivots are not told")


@dataclass(frozen=True)
class DrakeMoby(_Program):
    """Lemke's method on shifted diagonals: ``pydrake.solvers.MobyLcpSolver``, without a limit on pivots or time.

    References
    ----------
    E. Drumwright, Moby (2013); Drake's ``moby_lcp_solver.h``.
    """

    engine: ClassVar[str] = "MobyLcpSolver"


@dataclass(frozen=True)
class DrakeUnrevisedLemke(_Program):
    """Lemke's method, unrevised: ``pydrake.solvers.UnrevisedLemkeSolver``.

    References
    ----------
    H. Dai, E. Drumwright, Drake's ``unrevised_lemke_solver.h``.
    """

    engine: ClassVar[str] = "UnrevisedLemkeSolver"

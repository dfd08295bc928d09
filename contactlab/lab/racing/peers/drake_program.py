"""An LCP as Drake's mathematical program: the one door pydrake has to its LCP solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

import lcp

__all__ = ["solve_by_drake"]


def solve_by_drake(solver: Any, problem: lcp.LCP) -> lcp.Claim:
    """Build the program, solve it, and pass on what the solver says of it."""
    from pydrake.solvers import MathematicalProgram, SolutionResult

    if problem.n == 0:
        return lcp.Claim(np.zeros(0), lcp.Status.SOLVED, 0, "nothing to solve")
    program = MathematicalProgram()
    unknowns = program.NewContinuousVariables(problem.n)
    constrain: Any = program.AddLinearComplementarityConstraint  # its stubs know no typed arrays
    constrain(problem._M, problem._q, unknowns)
    result = solver.Solve(program, None, None)
    said = result.get_solution_result()
    z = np.asarray(result.GetSolution(unknowns), dtype=np.float64)
    if not np.isfinite(z).all():
        z = np.zeros(problem.n)
    status = {
        SolutionResult.kSolutionFound: lcp.Status.SOLVED,
        SolutionResult.kIterationLimit: lcp.Status.ITERATION_LIMIT,
        # A ray is what these methods call infeasible.
        SolutionResult.kInfeasibleConstraints: lcp.Status.RAY_TERMINATION,
    }.get(said, lcp.Status.STALLED)
    return lcp.Claim(z, status, 0, f"Drake: {said.name.removeprefix('k')}; pivots are not told")

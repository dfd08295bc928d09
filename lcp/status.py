"""Statuses of a solve with their texts and advice; and the errors of `lcp`.

Ill-formed input raises `ProblemError` immediately. A failed solve does not raise: its status has the reason.
"""

from __future__ import annotations

import enum

from lcp import kernels


class ProblemError(ValueError):
    """Invalid problem, start or option; the text names the entry."""


class OutOfRangeError(ProblemError):
    """A converted or reduced problem exceeds double precision; `solve` returns NOT_FINITE in place of this."""


class DomainError(ArithmeticError):
    """A nonlinear function was evaluated outside its domain; `solve` shortens steps or returns a status."""


class Status(enum.Enum):
    """Outcome of a solve; the value is the explanation, and `advice` has recommendations."""

    SOLVED = "the solution was verified on the original data"
    INFEASIBLE = "no z >= 0 has M z + q >= 0; the evidence is a verified Farkas vector"
    UNSOLVABLE = "feasible, but enumeration of every basis found no solution"
    RAY_TERMINATION = "the path ended in a ray: no solution was found, none is ruled out"
    ITERATION_LIMIT = "the pivot, iteration or time limit was reached"
    SINGULAR_BASIS = "a basis became singular to working precision"
    STALLED = "the method ended at a point that is not a solution of the original data"
    NOT_FINITE = "the iterates overflowed or became undefined"
    UNSUITABLE = "the solver's method does not apply to this problem"
    TURNED_BACK = "the path of solutions turned back before the parameter arrived"
    INCONSISTENT = "the equations of the mixed problem have no solution"

    @property
    def advice(self) -> str:
        """Recommendations for this status."""
        return _ADVICE[self]


_ADVICE = {
    Status.SOLVED: "Nothing to do.",
    Status.INFEASIBLE: "Check signs and data: the constraints contradict each other, whatever solver is used.",
    Status.UNSOLVABLE: "Change the model, or soften a row (a positive diagonal entry).",
    Status.RAY_TERMINATION: "Check that M is copositive or P (friction as mu >= 0, gamma >= 0); otherwise try another "
    "solver: the problem may have no solution.",
    Status.ITERATION_LIMIT: "Raise the limit, or try another method: some problems are exponential for "
    "complementary pivoting.",
    Status.SINGULAR_BASIS: "Scale the problem, remove duplicated rows, or soften a row (gamma > 0).",
    Status.STALLED: "The data are ill-conditioned for this method: scale them or try another solver.",
    Status.NOT_FINITE: "Of functions: give a z0 where they are defined. Of arrays: scale the data, which are too large "
    "or too small for double precision.",
    Status.UNSUITABLE: "Choose a solver whose traits cover the class of M: Lemke for the frictional problem as it is, "
    "or the convex friction backends ConvexRelaxation and StaggeredProjections of the constraint solver.",
    Status.TURNED_BACK: "M is no P-matrix: beyond the turn are solutions of other paths, or none; solve there.",
    Status.INCONSISTENT: "Remove or correct the contradicting equality rows.",
}

#: Statuses by the integers that kernels return.
STATUS_OF_CODE = {
    kernels.SOLVED: Status.SOLVED,
    kernels.RAY: Status.RAY_TERMINATION,
    kernels.ITERATION_LIMIT: Status.ITERATION_LIMIT,
    kernels.SINGULAR_BASIS: Status.SINGULAR_BASIS,
    kernels.STALLED: Status.STALLED,
    kernels.NOT_FINITE: Status.NOT_FINITE,
    kernels.RUNNING: Status.ITERATION_LIMIT,  # the time limit ended the path early
}

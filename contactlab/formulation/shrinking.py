"""A step that is made smaller until its problem can be solved.

The terms kN, kL, Mv and the gammas of a discretised problem depend on h, so a retry needs new data and not only a new
h: the problem is given as a function of h. The procedure is Drake's:

1. state rows and inertia at the current configuration;
2. choose h;
3. compute the terms that depend on h: Mv, kN, kF, kL, kG, gammas;
4. form the LCP of that h;
5. solve it;
6. if it was not solved, make h smaller and go back to 3;
7. unpack the forces.
"""

from __future__ import annotations

from collections.abc import Callable

from contactlab.formulation.blocks import check_step
from contactlab.formulation.solution import ConstraintSolveError, StepSolution
from problem_data import ConstraintVelProblemData, ProblemDataError

# Halved ten times: a step that has to be a thousandth of the one wanted means that the model is wrong.
SMALLEST_FRACTION = 2.0**-10


def solve_with_shrinking_step(
    data_of: Callable[[float], ConstraintVelProblemData],
    h: float,
    solve: Callable[[ConstraintVelProblemData, float], StepSolution],
    *,
    shrink: float = 0.5,
    min_h: float | None = None,
) -> StepSolution:
    """Solve at h, or at the first of shrink h, shrink^2 h, ... >= min_h at which the problem is solved.

    Parameters
    ----------
    data_of : callable
        Problem data for a step h [s].
    h : float
        Largest step [s].
    solve : callable
        (data, h) -> solution, raising `ConstraintSolveError`.
    shrink : float
        Factor from one step to the next, between 0 and 1.
    min_h : float, optional
        Smallest step to try [s]; h / 1024 if not given.

    Raises
    ------
    ProblemDataError
        h, shrink or min_h is out of its range, or ``data_of`` returns something else than problem data.
    ConstraintSolveError
        The problem was not solved at any step: the error of the smallest step, with all steps in its message.
    """
    step = check_step(h)
    smallest = SMALLEST_FRACTION * step if min_h is None else check_step(min_h, "min_h")
    if smallest > step:
        raise ProblemDataError("min_h", f"{min_h!r}, wanted at most h = {step:g}")
    if not 0.0 < shrink < 1.0:
        raise ProblemDataError("shrink", f"{shrink!r}, wanted a number between 0 and 1")
    tried: list[float] = []
    while True:
        data = data_of(step)
        if not isinstance(data, ConstraintVelProblemData):
            raise ProblemDataError("data", f"{type(data).__name__} at h = {step:g}, wanted ConstraintVelProblemData")
        tried.append(step)
        try:
            return solve(data, step)
        except ConstraintSolveError as error:
            step *= shrink
            if step < smallest:
                steps = ", ".join(f"{one:.4g}" for one in tried)
                message = f"not solved at any step tried, h = {steps} s; the last: {error}"
                raise ConstraintSolveError(
                    message, error.problem, error.lcp, error.result, error.h, error.certificate
                ) from error

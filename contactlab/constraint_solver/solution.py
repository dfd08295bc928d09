"""Certified solutions of the constraint solver, the error without a solution, and the retry with a smaller step.

The terms kN, kL, Mv and the gammas of a discretised problem depend on h, so a retry needs new data, not only a new h.
Therefore the problem is given as a function of h. The procedure is Drake's:

1. state rows and inertia at the current configuration;
2. choose h;
3. compute the terms that depend on h: Mv, kN, kF, kL, kG, gammas;
4. form the LCP of that h;
5. solve it;
6. if it was not solved, reduce h and continue with 3;
7. unpack the forces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import lcp
from contactlab.constraint_solver.acceleration import LinearResult
from contactlab.constraint_solver.blocks import check_step
from contactlab.constraint_solver.certificate import Certificate, ForceChoice
from contactlab.multibody.spatial.arrays import FloatArray
from problem_data import ConstraintAccelProblemData, ConstraintForces, ConstraintVelProblemData, ProblemDataError


class CoulombError(NamedTuple):
    """Violation of Coulomb's contact problem by forces: the condition with the largest violation.

    Parameters
    ----------
    condition : str
        Name of the condition in the certificate.
    violation : float
        Violation in the unit of the condition (a rate, a force or a power).
    scaled : float
        Violation divided by the size of the terms of the row; rounding gives about 1e-15.
    """

    condition: str
    violation: float
    scaled: float


@dataclass(frozen=True, eq=False)
class Solution:
    """Certified constraint forces or impulses.

    Parameters
    ----------
    forces : ConstraintForces
        Forces by class of constraint [N, N m], or impulses [N s, N m s] of an impact problem.
    result : lcp.Result, lcp.FrictionResult or LinearResult
        Result of the LCP solver, whose ``z`` warm-starts the next, similar problem; on the linear path the result of
        the linear system.
    certificate : Certificate
        The mechanical conditions, checked on the problem data.
    generalized_force : ndarray, shape (nv,)
        Sum of all constraint forces (impulses), in generalised coordinates.
    relaxed : bool
        Whether ``result`` solves another problem than Coulomb's, as a friction backend may. ``certificate`` still has
        Coulomb's conditions; its ``not_enforced`` lists the conditions that the other problem does not impose.
    choice : ForceChoice
        Selection among the forces that solve the problem.
    """

    forces: ConstraintForces
    result: lcp.Result | lcp.FrictionResult | LinearResult
    certificate: Certificate
    generalized_force: FloatArray
    relaxed: bool = field(default=False, kw_only=True)
    choice: ForceChoice = field(default=ForceChoice.ANY, kw_only=True)

    @property
    def coulomb_error(self) -> CoulombError:
        """The condition of Coulomb's problem with the largest violation."""
        name = self.certificate.worst_condition
        check = self.certificate.checks()[name]
        return CoulombError(name, check.violation, check.scaled)


@dataclass(frozen=True, eq=False)
class AccelerationSolution(Solution):
    """Forces at one instant.

    Parameters
    ----------
    acceleration : ndarray, shape (nv,)
        Acceleration under external and constraint forces.
    """

    acceleration: FloatArray


@dataclass(frozen=True, eq=False)
class ImpactSolution(Solution):
    """Impulses at one instant.

    Parameters
    ----------
    v_plus : ndarray, shape (nv,)
        Velocity after the impact.
    """

    result: lcp.Result | lcp.FrictionResult
    v_plus: FloatArray


@dataclass(frozen=True, eq=False)
class StepSolution(Solution):
    """Forces over one step.

    Parameters
    ----------
    v_plus : ndarray, shape (nv,)
        Velocity after the step.
    h : float
        Step [s]: the requested one, or the smaller one at which the problem was solved.
    """

    result: lcp.Result | lcp.FrictionResult
    v_plus: FloatArray
    h: float


def advice_on(
    result: lcp.Result | lcp.FrictionResult, data: ConstraintVelProblemData | ConstraintAccelProblemData
) -> str:
    """Return advice for a contact problem that ended with this status."""
    if result.status not in (lcp.Status.INFEASIBLE, lcp.Status.UNSOLVABLE):
        return result.advice
    if isinstance(data, ConstraintAccelProblemData):
        more = "Rigid friction may have no acceleration: pose the problem at velocity level."
    else:
        more = (
            "Rows prescribe velocities that contradict each other, as restitution between closing walls does: reduce "
            "them (restitution, kN), or soften rows (gamma > 0)."
        )
    return f"{result.advice} {more}"


class ConstraintSolveError(RuntimeError):
    """A constraint problem was not solved; the error has all data needed to study it.

    Parameters
    ----------
    message : str
        The failure, and advice.
    problem : ConstraintVelProblemData or ConstraintAccelProblemData
        The problem; `problem_data.save` writes it to a file.
    lcp : lcp.LCP, lcp.FrictionProblem or None
        The LCP or cone problem that was formed from it; None on the linear path.
    result : lcp.Result, lcp.FrictionResult or LinearResult
        Result of the solver, with its status and every attempt.
    h : float or None
        Step [s]; None for impact and acceleration-level problems.
    certificate : Certificate
        Mechanical conditions of the rejected forces.
    """

    def __init__(
        self,
        message: str,
        problem: ConstraintVelProblemData | ConstraintAccelProblemData,
        lcp: lcp.LCP | lcp.FrictionProblem | None,
        result: lcp.Result | lcp.FrictionResult | LinearResult,
        h: float | None,
        certificate: Certificate,
    ) -> None:
        # All values are in args, so that the error survives pickling between processes.
        super().__init__(message, problem, lcp, result, h, certificate)
        self.message = message
        self.problem = problem
        self.lcp = lcp
        self.result = result
        self.h = h
        self.certificate = certificate

    def __str__(self) -> str:
        return self.message


# Ten halvings: a model that needs a thousandth of the wanted step is wrong.
SMALLEST_FRACTION = 2.0**-10


def solve_with_shrinking_step(
    data_of: Callable[[float], ConstraintVelProblemData],
    h: float,
    solve: Callable[[ConstraintVelProblemData, float], StepSolution],
    *,
    shrink_factor: float = 0.5,
    min_h: float | None = None,
) -> StepSolution:
    """Solve at h, or at the first of shrink_factor h, shrink_factor^2 h, ... >= min_h at which the problem is solved.

    Parameters
    ----------
    data_of : callable
        Function of a step h [s] that returns problem data.
    h : float
        Largest step [s].
    solve : callable
        (data, h) -> solution, raising `ConstraintSolveError`.
    shrink_factor : float
        Factor from one step to the next, between 0 and 1.
    min_h : float, optional
        Smallest step to try [s]; h / 1024 if not given.

    Raises
    ------
    ProblemDataError
        h, shrink_factor or min_h is out of its range, or ``data_of`` does not return problem data.
    ConstraintSolveError
        The problem was not solved at any step: the error of the smallest step, with all steps in its message.
    """
    step = check_step(h)
    smallest = SMALLEST_FRACTION * step if min_h is None else check_step(min_h, "min_h")
    if smallest > step:
        raise ProblemDataError("min_h", f"{min_h!r}, wanted at most h = {step:g}")
    if not 0.0 < shrink_factor < 1.0:
        raise ProblemDataError("shrink_factor", f"{shrink_factor!r}, wanted a number between 0 and 1")
    tried: list[float] = []
    while True:
        data = data_of(step)
        if not isinstance(data, ConstraintVelProblemData):
            raise ProblemDataError("data", f"{type(data).__name__} at h = {step:g}, wanted ConstraintVelProblemData")
        tried.append(step)
        try:
            return solve(data, step)
        except ConstraintSolveError as error:
            step *= shrink_factor
            if step < smallest:
                steps = ", ".join(f"{one:.4g}" for one in tried)
                message = f"not solved at any step tried, h = {steps} s; the last: {error}"
                raise ConstraintSolveError(
                    message, error.problem, error.lcp, error.result, error.h, error.certificate
                ) from error

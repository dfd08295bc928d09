"""Constraint forces from problem data: form the LCP, solve it, unpack it, certify it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

import lcp
from contactlab.constraint_solver.acceleration import (
    NOT_ENFORCED,
    LinearResult,
    form_acceleration_lcp,
    solve_linear_path,
)
from contactlab.constraint_solver.blocks import bilateral_part, factor_bilateral_rows, lcp_size_text
from contactlab.constraint_solver.certificate import (
    ACCELERATION_FORMULAS,
    CONE_FORMULAS,
    FORMULAS,
    Certificate,
    ForceChoice,
)
from contactlab.constraint_solver.discretized import (
    ConeUnknowns,
    DiscretizedLCP,
    check_cone_data,
    cone_problem,
    form_discretized_lcp,
    form_impact_lcp,
    recover_forces,
)
from contactlab.constraint_solver.forces import (
    ForceHelpers,
    certify_forces,
    check_level,
    contradicted_row,
    generalized_force,
)
from contactlab.constraint_solver.friction_backend import (
    AccelerationBackend,
    FrictionAnswer,
    FrictionBackend,
    friction_objection,
    refuse,
)
from contactlab.constraint_solver.solution import (
    AccelerationSolution,
    ConstraintSolveError,
    ImpactSolution,
    Solution,
    StepSolution,
    advice_on,
    solve_with_shrinking_step,
)
from contactlab.constraint_solver.strategy_solver import (
    EqualCompliance,
    StrategySolver,
    solve_cones_with_strategies,
    solve_with_strategies,
)
from contactlab.multibody.spatial.arrays import FloatArray
from lcp.contacts.strategies import STRATEGY_NAMES
from problem_data import ConstraintAccelProblemData, ConstraintForces, ConstraintVelProblemData, ProblemDataError
from problem_data.validation import float_array

__all__ = [
    "AccelerationSolution",
    "ConstraintSolveError",
    "ConstraintSolver",
    "ImpactSolution",
    "Solution",
    "StepSolution",
    "certify_forces",
]


S = TypeVar("S", bound=Solution)

#: Treatment of inconsistent bilateral equations.
OnInconsistency = Literal["accept_small", "accept", "refuse"]


@dataclass(frozen=True)
class ConstraintSolver(ForceHelpers):
    """Solves constraint problems with one LCP solver.

    Parameters
    ----------
    lcp_solver : optional
        A solver of `lcp`, with its options; default `lcp.default_solver()`. Or a friction backend, which solves the
        problem by quadratic programs: for impacts and steps `ConvexRelaxation()` or `StaggeredProjections()`, for
        accelerations the latter. If its law differs from Coulomb's, the solution is marked ``relaxed``, and its
        certificate has the violation of Coulomb's law. With ``friction="cone"`` a friction solver, such as `lcp.NSGS`;
        default `lcp.default_friction_solver()`.

    tolerance : float, optional
        Bound on the backward error of the LCP, or on the residuals of the cone's problem; a friction backend uses its
        own tolerance.

    friction : str, optional
        Friction law. By default ``data.friction`` decides, which problems of a recording contain.
        ``"pyramid"``: the rows of F span a pyramid, an LCP. ``"cone"``: they are two orthonormal tangents per contact
        (one in planar data), and friction is Coulomb's law with its exact, isotropic cone. It applies to impacts and
        steps, without gammaE and moments. Limits are contacts without friction. z0 may also be a solution of the LCP
        whose edges are each tangent and its negative.

    on_inconsistency : str, optional
        Bilateral equations that do not agree are solved by least squares, in the rows' units, and the certificate has
        the residual (``certificate.bilateral``). ``"accept_small"``: accept residuals that errors of assembly explain:
        1 % of a row's terms, plus the terms kG of rows with position errors, ``errorG``; if the data of a step do not
        contain these, 1e-6 of a row's length. If the residual is larger, the solve raises an error.
        ``"accept"``: accept any residual. ``"refuse"``: accept only rounding.

    Examples
    --------
    A particle of 2 kg on the ground, pulled sideways at 3 N with friction 0.5 (bound 9.81 N), sticks:

    >>> import problem_data
    >>> h, m = 0.01, 2.0
    >>> data = problem_data.ConstraintVelProblemData(
    ...     M=[[m, 0], [0, m]], Mv=[h * 3.0, -h * m * 9.81], N=[[0, 1]], F=[[1, 0]], mu=[0.5], r=[1]
    ... )
    >>> solution = ConstraintSolver().solve_discretized_problem(data, h)
    >>> solution.forces.fN.round(6), solution.forces.fF.round(6)
    (array([19.62]), array([-3.]))
    >>> solution.certificate.holds(1e-9)
    True
    """

    lcp_solver: lcp.Solver | lcp.FrictionSolver | FrictionBackend | EqualCompliance | None = None
    tolerance: float = 1e-9
    friction: str | None = None
    on_inconsistency: OnInconsistency = "accept_small"

    def __post_init__(self) -> None:
        if self.on_inconsistency not in get_args(OnInconsistency):
            raise ProblemDataError(
                "on_inconsistency", f"{self.on_inconsistency!r}, wanted one of {get_args(OnInconsistency)}"
            )
        if isinstance(self.lcp_solver, type):
            name = self.lcp_solver.__name__
            raise lcp.ProblemError(f"lcp_solver must be a solver object: {name}(), not the class {name}")
        if self.friction is not None:
            self._check_law(self.friction)

    def _check_law(self, friction: str) -> None:
        """Raise for a friction law that is unknown, or that the solver does not support."""
        behind = self.lcp_solver.fallback if isinstance(self.lcp_solver, EqualCompliance) else None
        if friction == "cone" and behind is not None:
            raise lcp.ProblemError('otherwise solves LCPs alone: write friction="pyramid", or EqualCompliance()')
        objection = friction_objection(friction, self.lcp_solver)
        if objection is not None:
            field, why = objection
            raise lcp.ProblemError(f"friction {why}" if field == "friction" else why)

    def _law(self, data: ConstraintVelProblemData | ConstraintAccelProblemData) -> str:
        """Return the friction law for data: the solver's, or else the data's."""
        if self.friction is None:
            self._check_law(data.friction)
            return data.friction
        return self.friction

    def solve_constraint_problem(
        self, data: ConstraintAccelProblemData, *, z0: ArrayLike | None = None
    ) -> AccelerationSolution:
        """Return forces [N, N m] at an instant: M a = tau + (N - mu_s Q)' fN + F' fF + L' fL + G' fG, constraints on a.

        With ``data.use_complementarity_problem_solver`` off, all rows are active and one linear system is solved. The
        certificate then lists the conditions that this does not impose as ``not_enforced``, and measures them as well.

        Parameters
        ----------
        data : ConstraintAccelProblemData
            Problem at one instant.
        z0 : array_like, shape (nc + 2 nr + nns + nl,), optional
            LCP solution of a similar problem as initial value; not used for the linear system.

        Raises
        ------
        ProblemDataError
            z0 has a wrong shape.
        ConstraintSolveError
            The problem was not solved (sliding friction may leave it without solution), or equations are inconsistent.
        """
        check_level(data, ConstraintAccelProblemData)
        if self.friction == "cone":
            raise ProblemDataError(
                "friction",
                'applies to impacts and steps; accelerations support friction="pyramid" '
                "and given directions of sliding",
            )
        self._law(data)
        problem: lcp.LCP | None = None
        result: Any
        relaxed = False
        lagging: tuple[str, ...] = NOT_ENFORCED
        if data.use_complementarity_problem_solver:
            formed = form_acceleration_lcp(data)
            problem = formed.problem
            start = None if z0 is None else float_array("z0", z0, (problem.n,), "nc + 2 nr + nns + nl")
            solver: Any = self.lcp_solver
            if isinstance(solver, AccelerationBackend):
                answer = solver.solve_accelerations(formed, z0=start)
            elif isinstance(solver, FrictionBackend):
                why = "applies to impacts and steps only; StaggeredProjections does to this too"
                refused = refuse(problem, solver, f"{type(solver).__name__} {why}")
                answer = FrictionAnswer(problem, refused, relaxed=False)
            else:
                behind = solver.lcp_solver if isinstance(solver, EqualCompliance) else solver
                result = lcp.solve(problem, behind, z0=start, tolerance=self.tolerance)
                answer = FrictionAnswer(problem, result, relaxed=False)
            result, relaxed, lagging = answer.result, answer.relaxed, answer.not_enforced
            packed, acceleration = formed.unpack(result.z.copy())
        else:
            result, packed, acceleration = solve_linear_path(data)
        how: dict[str, Any] = {"formulas": ACCELERATION_FORMULAS, "not_enforced": lagging}
        certificate = certify_forces(data, 1.0, result.z, packed, acceleration, **how)
        self._check_equations(data, problem, result, None, packed, acceleration, certificate)
        _require("the acceleration-level problem", data, problem, result, None, certificate)
        forces = ConstraintForces.from_packed(data, packed)
        return AccelerationSolution(
            forces=forces,
            result=result,
            relaxed=relaxed,
            certificate=certificate,
            generalized_force=generalized_force(data, forces),
            acceleration=acceleration,
        )

    def solve_impact_problem(self, data: ConstraintVelProblemData, *, z0: ArrayLike | None = None) -> ImpactSolution:
        """Return impulses [N s, N m s] at one instant: M (v+ - v) = N' fN + F' fF + L' fL + G' fG + B' fB.

        Parameters
        ----------
        data : ConstraintVelProblemData
            Problem with Mv = M v before the impact, gammas in 1/kg, bounds of boxed rows in N s.
        z0 : array_like, shape (2 nc + 2 nr + nl and the variables of boxed rows,), optional
            LCP solution of a similar problem as initial value.

        Raises
        ------
        ProblemDataError
            z0 has a wrong shape.
        ConstraintSolveError
            The LCP solver failed, or the bilateral equations are inconsistent.
        """
        check_level(data, ConstraintVelProblemData)
        return self._velocity_level("the impact problem", data, form_impact_lcp(data), None, z0, ImpactSolution)

    def solve_discretized_problem(
        self,
        data: ConstraintVelProblemData | Callable[[float], ConstraintVelProblemData],
        h: float,
        *,
        z0: ArrayLike | None = None,
        shrink_factor: float = 0.5,
        min_h: float | None = None,
    ) -> StepSolution:
        """Return forces [N, N m] over a step: M (v+ - v) = h (tau + N' fN + F' fF + L' fL + G' fG + B' fB).

        Parameters
        ----------
        data : ConstraintVelProblemData, or callable h -> ConstraintVelProblemData
            Problem with Mv = M v + h tau, gammas in s/kg, bounds of boxed rows in N. A callable is called again for
            each smaller h after a failure, because kN, kL, Mv and gamma depend on h; the solution has the h that was
            used.
        h : float
            Step [s]; with a callable, the maximum.
        z0 : array_like, shape (2 nc + 2 nr + nl and the variables of boxed rows,), optional
            LCP solution of a similar problem as initial value. In problems with only contacts, forces near it that
            solve the LCP almost to rounding are returned, for any solver
            (`contactlab.constraint_solver.strategy_solver`).
        shrink_factor, min_h : float, optional
            With a callable: factor from one step to the next, and the minimum step [s], default h / 1024.

        Raises
        ------
        ProblemDataError
            h, shrink_factor or min_h is out of its range, or z0 has a wrong shape.
        ConstraintSolveError
            The LCP solver failed, or the bilateral equations are inconsistent; with a callable, at every step.
        """
        if callable(data):
            return solve_with_shrinking_step(
                data, h, lambda problem, step: self._step(problem, step, z0), shrink_factor=shrink_factor, min_h=min_h
            )
        if (shrink_factor, min_h) != (0.5, None):
            raise ProblemDataError(
                "shrink_factor", "shrink_factor and min_h need data as a callable: fixed data hold for one h"
            )
        check_level(data, ConstraintVelProblemData)
        return self._step(data, h, z0)

    def _step(self, data: ConstraintVelProblemData, h: float, z0: ArrayLike | None) -> StepSolution:
        formed = form_discretized_lcp(data, h)
        what = f"the contact problem over h = {formed.h:g} s"
        return self._velocity_level(what, data, formed, formed.h, z0, partial(StepSolution, h=formed.h))

    def _velocity_level(
        self,
        what: str,
        data: ConstraintVelProblemData,
        formed: DiscretizedLCP,
        h: float | None,
        z0: ArrayLike | None,
        kind: Callable[..., S],
    ) -> S:
        """Return the solution of the given kind: solved, unpacked and certified; the error carries h."""
        blocks, law = data.blocks(), self._law(data)
        try:
            answer, z = self._answer(formed, law, h, z0)
        except MemoryError as error:
            raise formed.memory_error() from error
        if isinstance(self.lcp_solver, FrictionBackend):
            what += f" by {type(self.lcp_solver).__name__} ({answer.result.attempts[-1].detail})"
        packed, v_plus = recover_forces(formed.h, formed.rows, blocks, z)
        how: dict[str, Any] = {"formulas": CONE_FORMULAS if law == "cone" else FORMULAS}
        edges = packed if law == "cone" else z
        certificate = certify_forces(data, formed.h, edges, packed, v_plus, not_enforced=answer.not_enforced, **how)
        self._check_equations(data, answer.problem, answer.result, h, packed, v_plus, certificate)
        _require(what, data, answer.problem, answer.result, h, certificate)
        by: Any = answer.result.solver
        selects = isinstance(self.lcp_solver, EqualCompliance) and blocks.nc > 0
        choice = ForceChoice.OTHER_SOLUTION if selects else ForceChoice.ANY
        return kind(
            forces=ConstraintForces.from_packed(data, packed),
            result=answer.result,
            choice=by.choice if isinstance(by, StrategySolver) else choice,
            relaxed=answer.relaxed,
            certificate=certificate,
            generalized_force=packed @ blocks.J,
            v_plus=v_plus,
        )

    def _check_equations(
        self,
        data: ConstraintVelProblemData | ConstraintAccelProblemData,
        problem: lcp.LCP | lcp.FrictionProblem | None,
        result: lcp.Result | lcp.FrictionResult | LinearResult,
        h: float | None,
        packed: FloatArray,
        motion: FloatArray,
        certificate: Certificate,
    ) -> None:
        """Raise if bilateral equations are inconsistent."""
        from contactlab.constraint_solver.kernels.bilateral import CONSISTENT

        check = certificate.bilateral
        # Infinite if the solver's z is not finite.
        if not CONSISTENT < check.scaled < math.inf or self.on_inconsistency == "accept":
            return
        blocks = data.blocks()
        part = bilateral_part(blocks)
        if self.on_inconsistency == "accept_small" and contradicted_row(blocks, h, packed, motion) < 0:
            return
        rows = factor_bilateral_rows(blocks.J[part], blocks.Y[part], blocks.scaleG, blocks.errorG)
        rates = np.abs(blocks.J[part] @ motion + blocks.k[part])
        off = np.flatnonzero(rates > 0.1 * rates.max())
        names = ", ".join(str(i) for i in off[:6]) + (", ..." if off.size > 6 else "")
        raise ConstraintSolveError(
            f"the bilateral equations {certificate.formulas['bilateral']} are inconsistent: the best motion leaves a "
            f"residual of {check.violation:.3g} ({check.scaled:.2g} of its terms); {data.nb} rows of rank {rows.rank}, "
            f"rows {names} of G do not agree. Remove or correct one of them, give way with a softened row, or take the "
            "least-squares motion with on_inconsistency='accept'.",
            data,
            problem,
            replace(result, status=lcp.Status.INCONSISTENT),
            h,
            certificate,
        )

    def _answer(
        self, formed: DiscretizedLCP, law: str, h: float | None, z0: ArrayLike | None
    ) -> tuple[FrictionAnswer, FloatArray]:
        """Return forces by a friction law, and as a vector of the LCP; h is None for impacts."""
        blocks = formed.data.blocks()
        solver: Any = self.lcp_solver
        selects = isinstance(solver, EqualCompliance)
        # Without contacts there is no cone: an LCP, as in the compiled step.
        if law == "cone" and not (selects and blocks.nc == 0):
            return self._cone_answer(formed, z0)
        start = None if z0 is None else float_array("z0", z0, (formed.n,), lcp_size_text(blocks))
        if isinstance(solver, FrictionBackend) and blocks.nc > 0:
            answer = solver.solve_contacts(formed, z0=start)
        else:
            # Without contacts there is no friction: a backend leaves an LCP, as in the compiled step.
            own = EqualCompliance() if isinstance(solver, FrictionBackend) else solver
            tries = selects or h is not None
            attempts = solver.strategies if selects else STRATEGY_NAMES
            result = solve_with_strategies(formed, start, self.tolerance, selects, attempts) if tries else None
            # Forces proposed without bilateral rows need no name for an error.
            named = formed.problem if result is None or blocks.nb > 0 else None
            if result is None:
                assert named is not None
                behind = own.lcp_solver if isinstance(own, EqualCompliance) else own
                result = lcp.solve(named, behind, z0=start, tolerance=self.tolerance)
            answer = FrictionAnswer(named, result, relaxed=False)
        # A copy, because the read-only z would be another type, with another compilation, for the kernels.
        return answer, answer.result.z.copy()

    def _cone_answer(self, formed: DiscretizedLCP, z0: ArrayLike | None) -> tuple[FrictionAnswer, FloatArray]:
        """Return forces with the exact cone, and as a vector of the LCP; z0 is for either problem."""
        solver: Any = self.lcp_solver
        blocks = formed.data.blocks()
        check_cone_data(formed.data)
        unknowns = ConeUnknowns.of(formed.n, blocks.r)
        if z0 is not None and np.shape(z0) == (formed.n,):
            z0 = unknowns.from_lcp(float_array("z0", z0, (formed.n,), lcp_size_text(blocks)))
        m = len(unknowns.places)
        start = None if z0 is None else float_array("z0", z0, (m,), "1 + r per contact, then nl, x and y")
        found = None
        if isinstance(solver, EqualCompliance):
            before = None if start is None else unknowns.to_lcp(start, np.zeros(m))
            found, solver = (
                solve_cones_with_strategies(formed, before, self.tolerance, solver.strategies),
                solver.cone_solver,
            )
        if found is None:
            cone = cone_problem(formed.dense_matrix(), formed.qq, blocks.r, blocks.mu)
            found = cone, lcp.solve(cone.problem, solver, z0=start, tolerance=self.tolerance)
        cone, result = found
        return FrictionAnswer(cone.problem, result, relaxed=False), cone.to_lcp(result.r, result.u)


def _require(
    what: str,
    data: ConstraintVelProblemData | ConstraintAccelProblemData,
    problem: lcp.LCP | lcp.FrictionProblem | None,
    result: lcp.Result | lcp.FrictionResult | LinearResult,
    h: float | None,
    certificate: Certificate,
) -> None:
    """Raise unless the solver solved its problem."""
    if result.solved:
        return
    if isinstance(result, LinearResult):
        how = (
            f"not every row can be active at once: the {len(result.z)} forces leave a "
            f"residual of {result.residual:.2g} of a row's terms (rank {result.rank}). "
            "Let the complementarity problem find the active rows."
        )
    else:
        kind = "LCP" if isinstance(result, lcp.Result) else "cone problem"
        how = (
            f"{kind} of size {len(result.z)} ended with {result.status.name} after {result.iterations} iterations. "
            f"{advice_on(result, data)}"
        )
    raise ConstraintSolveError(f"{what} was not solved ({data!r}): {how}", data, problem, result, h, certificate)

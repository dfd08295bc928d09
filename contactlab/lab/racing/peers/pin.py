"""pin's solvers of contact problems with Coulomb's cone, on the dense Delassus matrix, with De Saxce's term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp


class _ContactSolver:
    """The way to a solver whose classes begin with ``engine``; what is not spatial contacts is UNSUITABLE."""

    max_iterations: int
    package: ClassVar[str] = "pinocchio"
    traits: ClassVar[lcp.Traits] = lcp.Traits.CONE
    engine: ClassVar[str]

    def solve(
        self, problem: lcp.FrictionProblem, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool
    ) -> lcp.FrictionClaim:
        """Solve without a start, at a tenth of the race's tolerance, absolute and relative."""
        import pinocchio

        name = f"pin's {self.engine}"
        if not (problem._dims == 3).all():
            detail = f"{name}: contacts of one or two components"
            return lcp.FrictionClaim(np.zeros(problem.m), lcp.Status.UNSUITABLE, 0, detail)
        settings = getattr(pinocchio, f"{self.engine}SolverSettings")()
        settings.max_iterations = self.max_iterations
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 0.1 * tolerance
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.1 * tolerance
        settings.solve_ncp = True
        settings.stat_record = False
        # Ours are (N, T1, T2), pin's tangents first.
        order: NDArray[np.int64] = (3 * np.arange(problem.nc)[:, None] + np.array([1, 2, 0])).ravel()
        W = problem._W.toarray() if problem.sparse else problem._W
        delassus = pinocchio.DelassusOperatorDense(np.asfortranarray(W[np.ix_(order, order)]))
        world, here = pinocchio.Model(), pinocchio.SE3.Identity()
        models, data = pinocchio.StdVec_ConstraintModel(), pinocchio.StdVec_ConstraintData()
        for mu in problem._mu:
            contact = pinocchio.PointContactConstraintModel(world, 0, here, 0, here)
            contact.setFriction(float(mu))
            model = pinocchio.ConstraintModel(contact)
            models.append(model)
            data.append(model.createData())
        solver = getattr(pinocchio, f"{self.engine}ConstraintSolver")(problem.m)
        result = getattr(pinocchio, f"{self.engine}SolverResult")()
        converged = bool(solver.solve(delassus, problem._q[order], models, data, settings, result))
        r = np.empty(problem.m)
        r[order] = np.asarray(result.retrieveConstraintImpulses()).ravel()
        status = lcp.Status.SOLVED if converged else lcp.Status.ITERATION_LIMIT
        detail = f"{name}: {'converged' if converged else 'not converged'}"
        return lcp.FrictionClaim(r, status, int(result.iterations), detail)


@dataclass(frozen=True)
class PinADMM(_ContactSolver):
    """``pinocchio.ADMMConstraintSolver``.

    Parameters
    ----------
    max_iterations
        Limit on iterations.

    References
    ----------
    J. Carpentier, Q. Le Lidec, L. Montaut, From compliant to rigid contact simulation: a unified and efficient
    approach, Robotics: Science and Systems (2024).
    """

    max_iterations: int = 10_000

    engine: ClassVar[str] = "ADMM"


@dataclass(frozen=True)
class PinPGS(_ContactSolver):
    """``pinocchio.PGSConstraintSolver``.

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

    engine: ClassVar[str] = "PGS"

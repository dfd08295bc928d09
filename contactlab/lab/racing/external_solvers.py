"""Adapters to solvers of other projects, each imported only when it races.

A peer is an object with ``solve``, like all solvers. ``package`` names the package to be installed. Traits with
`lcp.Traits.CONE` mark solvers of friction problems. Its result is a claim, which is verified with the original data.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp

__all__ = ["ALL_PEERS", "installed"]


class _Program:
    """Adapter to Drake's LCP solver with the name ``engine``.

    pydrake offers these solvers only through a `MathematicalProgram`, which is built within the measured time.
    """

    package: ClassVar[str] = "pydrake"
    engine: ClassVar[str]

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve without a start; the solver uses its own tolerance."""
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
            # These methods report a ray as infeasible.
            solvers.SolutionResult.kInfeasibleConstraints: lcp.Status.RAY_TERMINATION,
        }.get(outcome, lcp.Status.STALLED)
        return lcp.Claim(z, status, 0, f"Drake: {outcome.name.removeprefix('k')}; pivots are not reported")


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


class _ContactSolver:
    """Adapter to pin's solver whose classes begin with ``engine``; it solves only contacts in space.

    They use Coulomb's cone on the dense Delassus matrix, with De Saxce's term.
    """

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
        # The order here is (N, T1, T2); pin has the tangents first.
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


_STATUS = {0: lcp.Status.SOLVED, 1: lcp.Status.ITERATION_LIMIT, 2: lcp.Status.RAY_TERMINATION}


@dataclass(frozen=True)
class QuantEconLemke:
    """``quantecon.optimize.lcp_lemke``: Lemke's method, compiled by numba, lexicographic rule.

    Parameters
    ----------
    max_iter
        Limit on pivots; None for 20 n + 1000 (QuantEcon's default of a million lets a cycle run for minutes).

    References
    ----------
    T. J. Sargent, J. Stachurski, QuantEcon.py.
    """

    max_iter: int | None = None

    package: ClassVar[str] = "quantecon"

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve without a start; the solver uses its own tolerances."""
        from quantecon.optimize import lcp_lemke

        most = 20 * problem.n + 1000 if self.max_iter is None else self.max_iter
        outcome = lcp_lemke(problem._M, problem._q, max_iter=most)
        return lcp.Claim(outcome.z, _STATUS.get(int(outcome.status), lcp.Status.STALLED), int(outcome.num_iter))


@dataclass(frozen=True)
class SiconosLCP:
    """``siconos.numerics.linearComplementarity_driver`` with the solver of a given identifier.

    Siconos is not on the Python package index; if ``siconos`` cannot be imported, this entrant is left out.

    Parameters
    ----------
    method
        Identifier without its prefix ``SICONOS_LCP_``: "LEMKE" (lexicographic), "NEWTON_MIN_FBLSA", "NSGS", "ENUM" ...
    max_iter
        Limit on iterations; None for Siconos' default.

    References
    ----------
    V. Acary, O. Bonnefon, M. Brémond, O. Huber, F. Pérignon, S. Sinclair, An introduction to Siconos (2019).
    """

    method: str = "LEMKE"
    max_iter: int | None = None

    package: ClassVar[str] = "siconos"

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve from z0 or zero at the race's tolerance; an exit code of zero is Siconos' claim of success."""
        from siconos import numerics

        identifier = getattr(numerics, f"SICONOS_LCP_{self.method}", None)
        if identifier is None:
            return lcp.Claim(np.zeros(problem.n), lcp.Status.UNSUITABLE, 0, f"Siconos has no LCP method {self.method}")
        options = numerics.SolverOptions(identifier)
        options.dparam[numerics.SICONOS_DPARAM_TOL] = tolerance
        if self.max_iter is not None:
            options.iparam[numerics.SICONOS_IPARAM_MAX_ITER] = self.max_iter
        z = np.zeros(problem.n) if z0 is None else z0.copy()
        w = np.zeros(problem.n)
        code = int(numerics.linearComplementarity_driver(numerics.LCP(problem._M, problem._q), z, w, options))
        spent = int(options.iparam[numerics.SICONOS_IPARAM_ITER_DONE])
        return lcp.Claim(z, lcp.Status.SOLVED if code == 0 else lcp.Status.STALLED, spent, f"Siconos: exit code {code}")


ALL_PEERS: tuple[type[Any], ...] = (DrakeMoby, DrakeUnrevisedLemke, QuantEconLemke, SiconosLCP, PinADMM, PinPGS)


def installed(peer: type[Any]) -> bool:
    """Return True if the package of a peer can be imported."""
    return importlib.util.find_spec(peer.package) is not None

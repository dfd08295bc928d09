"""Staggered projections: normal forces and friction by turns, each a convex problem, until neither moves the other.

With the rows of the contact LCP split into n = [fN | fL, boxed rows] and f = [fF+ | fF- | lambda], one round is::

    normal     0 <= zn  _|_  MM_nn zn + (qq_n + MM_nf zf) >= 0    for given friction: symmetric
    friction   0 <= zf  _|_  MM_ff zf + (qq_f + MM_fn zn) >= 0    most dissipation under the given mu fN: monotone

which is block Gauss-Seidel on Coulomb's LCP: a fixed point solves it exactly. There is no promise that one is reached;
contacts that wedge may make the rounds cycle. That is a status, not an answer.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.formulation.discretized import DiscretizedLCP
from contactlab.formulation.friction_backend import ContactLayout, FrictionAnswer, check_qp, verified
from contactlab.spatial.arrays import FloatArray
from problem_data import ProblemDataError

# The bound of lcp.solve: up to here an answer is one of Coulomb's problem.
_VERIFIED = 1e-9
# Conditions of the rows that, above that bound, have seen the friction of the round before.
_LAGGING = (
    "normal_gap",
    "normal_complementarity",
    "limit_gap",
    "limit_complementarity",
    "box_gap",
    "box_complementarity",
)
# A subproblem that was not quite solved may be in the next round; one that ended like this will not.
_HOPELESS = (lcp.Status.INFEASIBLE, lcp.Status.UNSUITABLE, lcp.Status.NOT_FINITE)


@dataclass(frozen=True)
class StaggeredProjections:
    """Forces by alternating normal and friction problems, in the place of an LCP solver.

    Parameters
    ----------
    qp : lcp.Solver
        Solver of symmetric and monotone LCPs: `lcp.OSQP`, `lcp.CVXPY`, or `lcp.Lemke`.
    max_iterations : int
        Rounds; without convergence the status is ITERATION_LIMIT and the trace has the scaled residual of each round.
    tolerance : float
        Scaled residual of Coulomb's LCP at which the rounds end. Above 1e-9 an answer may be one of a problem nearby,
        in which the normal forces have seen the friction of the round before: it is then marked as relaxed.

    References
    ----------
    D. M. Kaufman, S. Sueda, D. L. James, D. K. Pai, Staggered projections for frictional contact in multibody systems,
    ACM Trans. Graphics 27(5), SIGGRAPH Asia 2008.
    """

    qp: lcp.Solver = field(default_factory=lcp.OSQP)
    max_iterations: int = 200
    tolerance: float = _VERIFIED

    def __post_init__(self) -> None:
        check_qp(self.qp)
        rounds: object = self.max_iterations
        tolerance: object = self.tolerance
        if isinstance(rounds, bool) or not isinstance(rounds, (int, np.integer)) or rounds < 1:
            raise ProblemDataError("max_iterations", f"{rounds!r}, wanted a positive whole number")
        if not isinstance(tolerance, (int, float, np.floating)) or not 0.0 < tolerance < 1.0:
            raise ProblemDataError("tolerance", f"{tolerance!r}, wanted a number between 0 and 1")

    def solve_contacts(self, formed: DiscretizedLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Forces at the end of the rounds, verified on Coulomb's LCP, or as relaxed ones on the nearby problem."""
        at = ContactLayout.of(formed)
        problem = formed.problem
        clock = time.perf_counter()
        claim, lag = self._alternate(problem, at, z0)
        result, relaxed = verified(problem, self, lambda: claim), False
        if claim.status is lcp.Status.SOLVED and not result.solved:
            problem, relaxed = lcp.LCP(formed.MM, formed.qq + lag, problem.noise), True
            result = verified(problem, self, lambda: claim)
        result = replace(result, solve_time=time.perf_counter() - clock)
        return FrictionAnswer(problem, result, relaxed, _LAGGING if relaxed else ())

    def _alternate(self, problem: lcp.LCP, at: ContactLayout, z0: FloatArray | None) -> tuple[lcp.Claim, FloatArray]:
        """Rounds until Coulomb's LCP is met; and by how much the last normal problem's vector differed from qq."""
        MM, q = np.asarray(problem.M), problem.q
        z = np.zeros(len(q)) if z0 is None else np.maximum(z0, 0.0)
        lag = np.zeros(len(q))
        residuals: list[float] = []
        recorder = lcp.TraceRecorder(True, "scaled residual")
        spent = missed = 0
        status, proof = lcp.Status.ITERATION_LIMIT, None
        for _ in range(self.max_iterations):
            before = z
            z, ended = _round(MM, q, before, at, self.qp)
            spent += sum(one.iterations for one in ended)
            missed += sum(not one.solved for one in ended)
            if ended[-1].status in _HOPELESS:
                status = ended[-1].status
                break
            residual = lcp.residuals(problem, z)
            residuals.append(residual.scaled)
            recorder.add(len(residuals), residual.scaled)
            near = self.tolerance > _VERIFIED and residual.scaled <= self.tolerance
            if near or residual.solved(self.tolerance):
                friction, normal = slice(at.edges.start, at.slacks.stop), _normal(at)
                lag[normal] = MM[normal, friction] @ (before - z)[friction]
                status = lcp.Status.SOLVED
                break
        if status is lcp.Status.INFEASIBLE:
            # The proof has to speak of the whole problem.
            proof = lcp.infeasibility_proof(problem)
            status = lcp.Status.STALLED if proof is None else status
        detail = f"{len(residuals)} rounds, scaled residual {residuals[-1] if residuals else math.inf:.1e}"
        if missed:
            detail += f", {missed} subproblems not solved by {type(self.qp).__name__}"
        if status is lcp.Status.ITERATION_LIMIT:
            detail += "; raise max_iterations or tolerance, or give an LCP solver the whole problem"
        return lcp.Claim(z, status, spent, detail, evidence=proof, trace=recorder.trace()), lag


def _round(
    MM: FloatArray, q: FloatArray, before: FloatArray, at: ContactLayout, qp: lcp.Solver
) -> tuple[FloatArray, list[lcp.Result]]:
    """One round from ``before``: z after it, and how its one or two subproblems ended."""
    z = before.copy()
    normal = _normal(at)
    first = _subproblem(MM, q, z, normal, qp)
    if first.status in _HOPELESS:
        return z, [first]
    z[normal] = first.z
    # Where nothing presses there is no friction; to a QP it would be a problem without interior.
    pressed = _may_rub(MM, z, at)
    friction = np.r_[at.edges, at.slacks]
    z[friction[~pressed]] = 0.0
    second = _subproblem(MM, q, z, friction[pressed], qp)
    if second.status in _HOPELESS:
        return z, [first, second]
    z[friction[pressed]] = second.z
    # Contacts left out get the least lambda that the rates of their edges admit.
    E = MM[at.edges, at.slacks]
    rates = MM[at.edges] @ z + q[at.edges]
    least = np.max(E * -rates[:, None], axis=0, initial=0.0)
    z[at.slacks] = np.where(pressed[len(E) :], z[at.slacks], least)
    return z, [first, second]


def _normal(at: ContactLayout) -> NDArray[np.intp]:
    """Places of fN, fL and boxed rows."""
    places: NDArray[np.intp] = np.r_[at.normals, at.rest]
    return places


def _subproblem(MM: FloatArray, q: FloatArray, z: FloatArray, rows: NDArray[np.intp], qp: lcp.Solver) -> lcp.Result:
    """The LCP in z[rows], everything else staying as it is."""
    block = MM[np.ix_(rows, rows)]
    return lcp.solve(lcp.LCP(block, q[rows] + MM[rows] @ z - block @ z[rows]), qp, z0=z[rows])


def _may_rub(MM: FloatArray, z: FloatArray, at: ContactLayout) -> NDArray[np.bool_]:
    """Mask of [fF+ | fF- | lambda]: true where the bound mu fN of the contact is positive, or its slack softened."""
    contacts = MM[at.slacks, at.normals] @ z[at.normals] > 0.0
    contacts |= np.diag(MM[at.slacks, at.slacks]) > 0.0
    edges = MM[at.edges, at.slacks] @ contacts.astype(np.float64) > 0.0
    return np.concatenate((edges, contacts))

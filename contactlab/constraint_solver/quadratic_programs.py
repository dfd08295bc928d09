"""Friction backends by quadratic programs: Anitescu's convex relaxation, and staggered projections.

The convex relaxation of Coulomb friction states contact forces as one convex quadratic program.

A and b are the part of the contact LCP in the forces f = (fN, fF+, fF-, fL), and E are the edges by contact::

    min  1/2 f' A f + b' f + 1/2 sum gammaE lambda^2    over  f, lambda >= 0,  E' fF <= mu fN + gammaE lambda

Its optimality conditions are the LCP of `discretized` with one more block, -mu in the rows fN and columns lambda, which
makes the matrix monotone. Only the normal rows change::

    Coulomb     0 <= fN  _|_  N v+ + kN + gammaN fN              >= 0
    relaxed     0 <= fN  _|_  N v+ + kN + gammaN fN - mu lambda  >= 0,      lambda the sliding speed

So bodies at rest against each other have Coulomb's forces. A contact that slides at speed s on a gap of zero separates
at the speed mu s. Over a gap of h mu s, with kN = gap / h, the forces are Coulomb's again. A body that slides
continuously does so at this distance, which vanishes with h (Anitescu 2006). A body that begins to slide hops first.

The program is solved over the generators of the cones, on which it is a symmetric LCP: with x = (a, b, t, fL) >= 0, fN
= a + E' b, fF = (E mu) b + (E gammaE) t, lambda = E' t. Boxed rows follow fL; with two bounds they make the LCP
monotone instead of symmetric.

Staggered projections solve alternately for normal forces and for friction, each a convex problem, until neither changes
the other. With the rows of the contact LCP split into n = [fN | fL, boxed rows] and f = [fF+ | fF- | lambda], one
iteration is::

    normal     0 <= zn  _|_  MM_nn zn + (qq_n + MM_nf zf) >= 0    for given friction: symmetric
    friction   0 <= zf  _|_  MM_ff zf + (qq_f + MM_fn zn) >= 0    most dissipation under the given mu fN: monotone

This is block Gauss-Seidel on Coulomb's LCP, so a fixed point solves it exactly. Convergence is not guaranteed: for
contacts that wedge, the iteration may cycle. The status then reports it.

At acceleration level the friction of a sliding contact is mu_s fN against its slip. The normal rows then respond to R'
= (N - mu_s Q)' in place of N', and MM_nn is not symmetric. In the normal problem this friction is therefore given by
the previous iteration, like all other friction::

    normal     0 <= zn  _|_  S zn + (qq_n + MM_nf zf + (MM_nn - S) zn-) >= 0,    S = [N; L] C [N; L]': symmetric

A fixed point solves the whole problem again, but need not exist (Painleve's paradox).

The iterations only approach a solution. Near one, the active rows of Coulomb's LCP are solved together, as solvers of
quadratic programs polish their results. The residual decides whether the result is accepted.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.constraint_solver.acceleration import AccelerationLCP
from contactlab.constraint_solver.discretized import DiscretizedLCP
from contactlab.constraint_solver.friction_backend import (
    ROUNDING,
    VERIFIED,
    ContactLayout,
    FrictionAnswer,
    check_options,
    relaxed_lcp,
    sharpened,
    verified,
)
from contactlab.multibody.spatial.arrays import FloatArray
from problem_data import ProblemDataError


@dataclass(frozen=True)
class ConvexRelaxation:
    """Backend: forces by the convex relaxation of Coulomb's law, in place of an LCP solver.

    The solution is unique in v+, and exact without friction or if no contact slides. A sliding contact opens at mu
    times its sliding speed, which the certificate shows as ``normal_complementarity``. The problem is infeasible if no
    velocity satisfies the relaxed rows, even if Coulomb's problem has a solution.

    Parameters
    ----------
    qp : lcp.Solver
        Solver of symmetric positive semidefinite LCPs: `lcp.OSQP`, `lcp.CVXPY`, or `lcp.Lemke`.
    tolerance : float
        Backward error of the relaxed LCP up to which a result counts as solved;
        `contactlab.constraint_solver.friction_backend` has the rule for a step. The default is far above polished
        results.
        Use a larger one for a solver and a relaxation without ``polish``.
    polish : bool
        Solve the active rows of the relaxed LCP together, from the solver's result (see `lcp.Refined`). If this fails,
        an LCP solver continues from there.

    References
    ----------
    M. Anitescu, Optimization-based simulation of nonsmooth rigid multibody dynamics, Math. Programming 105 (2006).
    """

    qp: lcp.Solver = field(default_factory=lcp.OSQP)
    tolerance: float = VERIFIED
    polish: bool = True

    law: ClassVar[str] = "relaxed"

    def __post_init__(self) -> None:
        check_options(self.qp, self.tolerance, self.polish)

    def solve_contacts(self, formed: DiscretizedLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Return forces of the relaxed problem, verified on its LCP."""
        at = ContactLayout.of(formed)
        problem = relaxed_lcp(formed)
        result = verified(problem, self, partial(self._claim, problem, at, z0), self.tolerance)
        relaxed = bool((_Cone.of(formed.MM, at).slope > 0.0).any())
        return FrictionAnswer(problem, result, relaxed, ("normal_complementarity",) if relaxed else ())

    def _claim(self, problem: lcp.LCP, at: ContactLayout, z0: FloatArray | None) -> lcp.Claim:
        """Solve the quadratic program; return its z of the contact LCP, with slacks from the sliding speeds."""
        MM, q = np.asarray(problem.M), problem.q
        cone = _Cone.of(MM, at)
        T = cone.T
        physical = np.r_[at.normals, at.edges, at.rest]
        A = MM[np.ix_(physical, physical)]
        P = T.T @ (A @ T) + cone.L.T @ (np.diag(MM[at.slacks, at.slacks])[:, None] * cone.L)
        start = None if z0 is None else cone.coordinates(z0, at)
        solution = lcp.solve(lcp.LCP(P, T.T @ q[physical]), self.qp, z0=start)
        z = np.zeros(len(q))
        z[physical] = T @ solution.z
        # Opposite edges can both have a force; the common part has no effect.
        plus, minus = np.split(z[at.edges], 2)
        z[at.edges] -= np.tile(np.minimum(plus, minus), 2)
        rates = A @ z[physical] + q[physical]
        z[at.slacks] = cone.slacks(solution.z, rates[at.edges])
        status, proof, detail = solution.status, None, solution.attempts[-1].detail
        if status is lcp.Status.INFEASIBLE:
            # The proof must refer to the certified rows, not to generators.
            proof = lcp.infeasibility_proof(problem)
            status = lcp.Status.STALLED if proof is None else status
            detail += "; no velocity meets the relaxed rows, though one may meet Coulomb's"
        # Remove rounding of the generators and errors of the solver, unless its own solutions are requested.
        z = sharpened(problem, z) if self.polish and np.isfinite(z).all() else z
        return lcp.Claim(z, status, solution.iterations, detail, evidence=proof)


@dataclass(frozen=True, eq=False)
class _Cone:
    """Friction cones by generators, and the other rows: f = T x, x = (a, b, t, fL, ...) >= 0."""

    #: (n - nc, m) one generator per column; sparse, because products with a dense T take longer than the program.
    T: Any
    L: FloatArray  # (nc, m) lambda = L x for softened contacts
    E: FloatArray  # (2 nr, nc) edges by contact
    slope: FloatArray  # (2 nr,) E mu, the friction coefficient of each edge
    #: (m of all,) indices of T's columns among all possible ones: no edge without friction, no t without softening.
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, MM: FloatArray, at: ContactLayout) -> _Cone:
        """Return the cones, with mu, gammaE and E from the rows and columns of the slacks."""
        from scipy import sparse

        E = MM[at.edges, at.slacks]
        slope, give = E @ np.diag(MM[at.slacks, at.normals]), E @ np.diag(MM[at.slacks, at.slacks])
        (ne, nc), others = E.shape, at.rest.stop - at.rest.start
        T = sparse.block_array(
            [
                [sparse.eye_array(nc), sparse.csr_array(E.T), sparse.csr_array((nc, ne)), None],
                [sparse.csr_array((ne, nc)), sparse.diags_array(slope), sparse.diags_array(give), None],
                [None, None, None, sparse.eye_array(others)],
            ],
            format="csc",
        )
        L = np.hstack((np.zeros((nc, nc + ne)), E.T, np.zeros((nc, others))))
        kept = np.concatenate((np.ones(nc, bool), slope > 0.0, give > 0.0, np.ones(others, bool)))
        return cls(T[:, kept].tocsr(), L[:, kept], E, slope, kept)

    def coordinates(self, z: FloatArray, at: ContactLayout) -> FloatArray:
        """Return generator coordinates near the forces of z; the solver determines the part of softening."""
        b = np.divide(z[at.edges], self.slope, out=np.zeros(len(self.slope)), where=self.slope > 0.0)
        a = z[at.normals] - self.E.T @ b
        every = np.concatenate((a, b, np.zeros(len(b)), z[at.rest]))
        return np.asarray(np.maximum(every[self.kept], 0.0))

    def slacks(self, x: FloatArray, rates: FloatArray) -> FloatArray:
        """Return lambda (nc,): by softening, or without it the smallest that the rates of all edges permit."""
        least: FloatArray = np.max(self.E * -rates[:, None], axis=0, initial=0.0)
        return np.where(self.L.any(axis=1), self.L @ x, least)


# Conditions that, above this bound, are satisfied for the friction of the previous iteration.
_LAGGING = (
    "normal_gap",
    "normal_complementarity",
    "limit_gap",
    "limit_complementarity",
    "box_gap",
    "box_complementarity",
)
# An inaccurately solved subproblem can be solved in the next iteration, but not one with such a status.
_HOPELESS = (lcp.Status.INFEASIBLE, lcp.Status.UNSUITABLE, lcp.Status.NOT_FINITE)
# Scaled residual below which the active rows of an iteration are solved together.
_NEAR = 1e-2
# Fraction of the tolerance required of the scaled residual of a result, and maximum number of iterations to reach it.
_SHARE, _FURTHER = 0.1, 10


@dataclass(frozen=True)
class StaggeredProjections:
    """Backend: forces by alternating normal and friction problems, in place of an LCP solver.

    Parameters
    ----------
    qp : lcp.Solver
        Solver of symmetric and monotone LCPs: `lcp.OSQP`, `lcp.CVXPY`, or `lcp.Lemke`.
    max_iterations : int
        Maximum number of iterations; without convergence the status is ITERATION_LIMIT. The trace has the scaled
        residual of each iteration.
    tolerance : float
        Scaled residual of Coulomb's LCP at which the iteration ends. Above 1e-9 a result may solve a nearby problem,
        whose normal forces use the friction of the previous iteration: it is then marked as relaxed.
    polish : bool
        Solve the active rows of Coulomb's LCP together if an iteration is near a solution (see `lcp.Refined`), unless
        ``tolerance`` is above 1e-9. Without it, each iteration reduces the residual by a factor that may be near one.

    References
    ----------
    D. M. Kaufman, S. Sueda, D. L. James, D. K. Pai, Staggered projections for frictional contact in multibody systems,
    ACM Trans. Graphics 27(5), SIGGRAPH Asia 2008.
    """

    qp: lcp.Solver = field(default_factory=lcp.OSQP)
    max_iterations: int = 200
    tolerance: float = VERIFIED
    polish: bool = True

    law: ClassVar[str] = "coulomb"

    def __post_init__(self) -> None:
        check_options(self.qp, self.tolerance, self.polish)
        rounds: object = self.max_iterations
        if isinstance(rounds, bool) or not isinstance(rounds, (int, np.integer)) or rounds < 1:
            raise ProblemDataError("max_iterations", f"{rounds!r}, wanted a positive whole number")

    def solve_contacts(self, formed: DiscretizedLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Return the final forces, verified on Coulomb's LCP, or as relaxed ones on the nearby problem."""
        at = ContactLayout.of(formed)
        normal = np.r_[at.normals, at.rest]
        return self._answer(_Parts(formed.problem, at, normal, formed.MM[np.ix_(normal, normal)]), z0)

    def solve_accelerations(self, formed: AccelerationLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Return the final forces at one instant, verified on its LCP, or as relaxed ones on the nearby problem."""
        blocks, J, Y = formed.data.blocks(), formed.rows.J, formed.rows.Y
        nc, nr, n = blocks.nc, blocks.nr, len(formed.qq)
        edges, slacks = nc + 2 * nr, nc + 2 * nr + blocks.nns
        at = ContactLayout(slice(0, nc), slice(nc, edges), slice(edges, slacks), slice(slacks, n))
        rows = np.r_[0:nc, nc + nr : nc + nr + blocks.nl]
        return self._answer(_Parts(formed.problem, at, np.r_[at.normals, at.rest], J[rows] @ Y[rows].T), z0)

    def _answer(self, parts: _Parts, z0: FloatArray | None) -> FrictionAnswer:
        """Iterate, and verify z on Coulomb's LCP, or else on the last normal problem as a relaxation."""
        problem = parts.problem
        clock = time.perf_counter()
        claim, friction_change = self._alternate(parts, z0)
        result, relaxed = verified(problem, self, lambda: claim), False
        if claim.status is lcp.Status.SOLVED and not result.solved:
            problem, relaxed = lcp.LCP(problem.M, problem.q + friction_change, problem.q_uncertainty), True
            result = verified(problem, self, lambda: claim)
        result = replace(result, solve_time=time.perf_counter() - clock)
        return FrictionAnswer(problem, result, relaxed, _LAGGING if relaxed else ())

    def _alternate(self, parts: _Parts, z0: FloatArray | None) -> tuple[lcp.Claim, FloatArray]:
        """Iterate until Coulomb's LCP is solved; return the claim, and a vector (n,).

        The claimed z solves the LCP with this vector, the last `_Parts.friction_change`, added to qq.
        """
        problem = parts.problem
        z = np.zeros(problem.n) if z0 is None else np.maximum(z0, 0.0)
        friction_change = np.zeros(problem.n)
        residuals: list[float] = []
        recorder = lcp.TraceRecorder(True, "scaled residual")
        spent = missed = solved = 0
        status, proof = lcp.Status.ITERATION_LIMIT, None
        if z0 is not None:
            at_start, enough = lcp.residuals(problem, z), min(self.tolerance, VERIFIED)
            if at_start.solved(enough) and at_start.scaled <= _SHARE * enough:
                detail = f"the start, scaled residual {at_start.scaled:.1e}"
                return lcp.Claim(z, lcp.Status.SOLVED, 0, detail, trace=recorder.trace()), friction_change
        sharpens = self.polish and self.tolerance <= VERIFIED
        for _ in range(self.max_iterations):
            before = z
            z, ended = parts.round(before, self.qp)
            spent += sum(one.iterations for one in ended)
            missed += sum(not one.solved for one in ended)
            if ended[-1].status in _HOPELESS:
                status = ended[-1].status
                break
            residual = lcp.residuals(problem, z)
            if sharpens and ROUNDING < residual.scaled <= _NEAR:
                before = z = sharpened(problem, z)
                residual = lcp.residuals(problem, z)
            residuals.append(residual.scaled)
            recorder.add(len(residuals), residual.scaled)
            near = self.tolerance > VERIFIED and residual.scaled <= self.tolerance
            # The result is refined in a few further iterations.
            solved += residual.solved(self.tolerance)
            sharp = residual.scaled <= _SHARE * self.tolerance
            if near or (residual.solved(self.tolerance) and (sharp or solved > _FURTHER)):
                friction_change[parts.normal] = parts.friction_change(before, z)
                status = lcp.Status.SOLVED
                break
            if max(residuals[-2:]) <= ROUNDING and len(residuals) > 1:
                # Redundant contacts whose loads are rounding: further iterations have no effect.
                status = lcp.Status.STALLED
                break
        if status is lcp.Status.INFEASIBLE:
            # The proof must refer to the whole problem.
            proof = lcp.infeasibility_proof(problem)
            status = lcp.Status.STALLED if proof is None else status
        detail = f"{len(residuals)} rounds, scaled residual {residuals[-1] if residuals else math.inf:.1e}"
        if missed:
            detail += f", {missed} subproblems not solved by {type(self.qp).__name__}"
        if status is lcp.Status.ITERATION_LIMIT:
            detail += "; raise max_iterations or tolerance, or give an LCP solver the whole problem"
        return lcp.Claim(z, status, spent, detail, evidence=proof, trace=recorder.trace()), friction_change


@dataclass(frozen=True, eq=False)
class _Parts:
    """A contact problem, and its normal and friction subproblems."""

    problem: lcp.LCP
    at: ContactLayout
    normal: NDArray[np.intp]  # places of fN, fL and boxed rows
    block: FloatArray  # their matrix in the normal problem

    def round(self, before: FloatArray, qp: lcp.Solver) -> tuple[FloatArray, list[lcp.Result]]:
        """Run one iteration from ``before``; return z after it, and the results of its one or two subproblems."""
        MM, q, at = np.asarray(self.problem.M), self.problem.q, self.at
        z = before.copy()
        first = _subproblem(self.problem, z, self.normal, self.block, qp)
        if first.status in _HOPELESS:
            return z, [first]
        z[self.normal] = first.z
        # A contact without normal force has no friction; as a quadratic program its problem would have no interior.
        pressed = _friction_mask(MM, z, at)
        friction = np.r_[at.edges, at.slacks]
        z[friction[~pressed]] = 0.0
        rows = friction[pressed]
        second = _subproblem(self.problem, z, rows, MM[np.ix_(rows, rows)], qp)
        if second.status in _HOPELESS:
            return z, [first, second]
        z[rows] = second.z
        # Remove equal forces on opposite edges, which use the cone without effect.
        z[at.edges] -= np.tile(np.minimum(*np.split(z[at.edges], 2)), 2)
        # Contacts left out have the smallest lambda that the rates of their edges permit.
        E = MM[at.edges, at.slacks]
        rates = MM[at.edges] @ z + q[at.edges]
        least = np.max(E * -rates[:, None], axis=0, initial=0.0)
        z[at.slacks] = np.where(pressed[len(E) :], z[at.slacks], least)
        return z, [first, second]

    def friction_change(self, before: FloatArray, z: FloatArray) -> FloatArray:
        """Return the normal problem's vector q with the friction of ``before``, less q with the friction of z.

        The normal problem was solved with the friction of ``before``. At acceleration level its vector includes the
        friction of sliding contacts.
        """
        MM, normal = np.asarray(self.problem.M), self.normal
        friction, change = slice(self.at.edges.start, self.at.slacks.stop), before - z
        given = MM[normal, friction] @ change[friction]
        return np.asarray(given + (MM[np.ix_(normal, normal)] - self.block) @ change[normal])


def _subproblem(
    problem: lcp.LCP, z: FloatArray, rows: NDArray[np.intp], block: FloatArray, qp: lcp.Solver
) -> lcp.Result:
    """Return the result of the LCP in z[rows] with the matrix ``block``, with all other variables fixed."""
    load = problem.q[rows] + np.asarray(problem.M)[rows] @ z - block @ z[rows]
    return lcp.solve(lcp.LCP(block, load), qp, z0=z[rows])


def _friction_mask(MM: FloatArray, z: FloatArray, at: ContactLayout) -> NDArray[np.bool_]:
    """Return a mask of [fF+ | fF- | lambda], true if the contact's bound mu fN is positive or its slack softened."""
    contacts = MM[at.slacks, at.normals] @ z[at.normals] > 0.0
    contacts |= np.diag(MM[at.slacks, at.slacks]) > 0.0
    edges = MM[at.edges, at.slacks] @ contacts.astype(np.float64) > 0.0
    return np.concatenate((edges, contacts))

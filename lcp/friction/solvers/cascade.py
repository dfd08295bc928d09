"""The default for friction: attempts between the bodies, then sweeps and proximal points, and a polish."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lcp.arrays import Vector
from lcp.clock import processor_seconds
from lcp.friction.blocks import scaled
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import DEFAULT_FRICTION_TOLERANCE, measure
from lcp.friction.result import FrictionAttempt, FrictionClaim
from lcp.friction.solvers.alart_curnier import AlartCurnier
from lcp.friction.solvers.contact_attempts import ContactAttempts
from lcp.friction.solvers.nsgs import NSGS
from lcp.friction.solvers.proximal_point import ProximalPoint
from lcp.friction.solvers.watch import FrictionMethod
from lcp.judge import friction_attempt
from lcp.linear_program import linear_program
from lcp.method import Request
from lcp.options import positive
from lcp.status import Status

# Attempts after which it is asked whether there is a solution at all.
_BEFORE_PROOF = 2
# Proximal weights (in units of W's median diagonal entry), tried in turn: contacts share a load that nothing decides as
# they do now. Rounding of the equations comes back by its share of the weight in forces that W does not feel, so that a
# large weight goes further where it converges; a small one converges where W is ill-conditioned.
_WEIGHTS = (1e-4, 1e-6, 1e-9)
_STEPS = 8
# Steps in a row without gain that are put up with.
_WORSE = 2
# Tolerance from which on sweeps alone are the quickest way there, and no polish is asked for; sweeps then, and else.
_ROUGH, _ROUGH_SWEEPS, _SWEEPS = 1e-6, 3000, 100
# Error at which nothing is left to gain.
_ROUNDING = 1e-15
# Contacts up to which the linear program is worth its time.
_LARGEST = 3000
# What counts as zero, against the terms of a sum.
_ZERO = 1e-11


@dataclass(frozen=True)
class FrictionCascade(FrictionMethod):
    """`ContactAttempts`; then a burst of `NSGS`, `ProximalPoint` from its end and from zero, and both for longer.

    The attempts are for a W that is symmetric and positive semidefinite. Of any other W block Gauss-Seidel finds out
    cheaply which contacts are open, stick and slide, Newton's method does the digits. The answer is polished: Newton on
    the equations of its modes, to rounding. Where the tolerance is 1e-6 or more the burst comes first, goes on for
    thousands of sweeps, and nothing is polished. The first verified answer ends it; ``Result.attempts`` lists each
    attempt. After two failures a linear program looks for a proof that no forces in the cones keep the contacts from
    penetrating (`NoAdmissibleMotion`).

    Parameters
    ----------
    time_limit
        Seconds of the processor for all attempts together.
    """

    time_limit: float = positive(300.0)

    def line_up(
        self, problem: FrictionProblem, tolerance: float = DEFAULT_FRICTION_TOLERANCE
    ) -> tuple[tuple[Any, bool], ...]:
        """The solvers that would be tried, in order, and whether each starts where the best so far has ended."""
        del problem
        rough, whole = tolerance >= _ROUGH, self.time_limit
        sweeps, burst = (_ROUGH_SWEEPS, min(30.0, 0.5 * whole)) if rough else (_SWEEPS, min(6.0, 0.2 * whole))
        share = min(30.0, 0.3 * whole)
        attempts, swept = ContactAttempts(time_limit=whole), NSGS(max_iterations=sweeps, time_limit=burst)
        return (
            (swept if rough else attempts, True),
            (attempts if rough else swept, True),
            (ProximalPoint(alpha=1e-2, max_iterations=400), True),
            (ProximalPoint(alpha=1.0, max_iterations=1_000), False),
            (NSGS(max_iterations=10_000, time_limit=share), True),
            (ProximalPoint(alpha=1e-1), True),
        )

    def _claim(self, problem: FrictionProblem, request: Request) -> FrictionClaim:
        z0, tolerance, trace = request
        deadline = processor_seconds() + self.time_limit
        attempts: list[FrictionAttempt] = []
        best: FrictionClaim | None = None
        best_error, spent, by = np.inf, 0, None
        start = z0
        for solver, goes_on in self.line_up(problem, tolerance):
            left = deadline - processor_seconds()
            if left <= 0.0:
                break
            solver = replace(solver, time_limit=min(left, solver.time_limit))
            claim = solver.solve(problem, z0=start if goes_on else None, tolerance=tolerance, trace=trace)
            attempt = friction_attempt(problem, solver, claim, tolerance)
            attempts.append(attempt)
            spent += claim.iterations
            error = attempt.residual.error
            if best is None or error < best_error or attempt.status is Status.SOLVED:
                best, best_error, by = claim, error, solver
                start = claim.r if np.isfinite(claim.r).all() else z0
            if attempt.status is Status.SOLVED:
                break
            if len(attempts) == _BEFORE_PROOF:
                proof = no_admissible_motion(problem, max(1e-3, deadline - processor_seconds()))
                if proof is not None:
                    return FrictionClaim(
                        best.r,
                        Status.INFEASIBLE,
                        spent,
                        "no forces in the cones keep the contacts apart",
                        proof,
                        best.trace,
                        tuple(attempts),
                        by,
                    )
        assert best is not None
        r, status = best.r, attempts[-1].status
        if status is Status.SOLVED and tolerance < _ROUGH:
            r = _polished(problem, r)
        return FrictionClaim(
            r, status, spent, best.detail, best.evidence, best.trace, attempts=tuple(attempts), solver=by
        )


def _polished(problem: FrictionProblem, r: Vector) -> Vector:
    """The best of r and of a few Newton steps from it, by the larger of the two measures.

    Near a solution each contact's mode (open, stick, slide) no longer changes, and Newton's step on Alart and Curnier's
    equations is that on the equations of the modes: r = 0; u = 0; u_N = 0 with r_T against u_T.
    """
    best_error = _error(problem, r)
    if best_error <= _ROUNDING:
        return r
    units = scaled(problem)
    equations = AlartCurnier(problem, units.W, units.q)
    best = r
    for weight in _WEIGHTS:
        equations.set_shift(weight)
        rows, worse = units.start(best), 0
        for _ in range(_STEPS):
            equations.q = units.q - weight * rows * equations.present
            move = equations.step(rows, equations.motion(rows))
            if move is None:
                break
            rows = rows + move[1]
            candidate = units.original(rows)
            error = _error(problem, candidate)
            if error < best_error:
                best, best_error, worse = candidate, error, 0
            else:
                # A contact may have changed its mode on the way.
                worse += 1
                if worse > _WORSE:
                    break
        if best_error <= _ROUNDING:
            break
    return best


def _error(problem: FrictionProblem, r: Vector) -> float:
    residual, _ = measure(problem, r)
    return residual.error


@dataclass(frozen=True, slots=True, eq=False)
class NoAdmissibleMotion:
    """Weights d >= 0 (nc,) of the normal rows with d' W_N r <= 0 for every r in the cones, and d' q_N < 0.

    Then d' u_N < 0 whatever the forces: some contact penetrates. Farkas' lemma for u_N >= 0, r in K.
    """

    d: Vector
    value: float


def no_admissible_motion(problem: FrictionProblem, time_limit: float = 60.0) -> NoAdmissibleMotion | None:
    """Such weights, checked, from a linear program (cones cut to four facets) of at most so many seconds."""
    if problem.nc == 0 or problem.nc > _LARGEST:
        return None
    from scipy import sparse

    normal = problem._index[:, 0]
    unit = float(abs(problem._W).max()) or 1.0
    q_unit = float(np.abs(problem._q).max()) or 1.0
    # Row a: the factor of each force of contact a in d' W_N r, as a function of d.
    pull: Any = sparse.csr_matrix(problem._W)[normal].T / unit
    absent: Any = sparse.csr_matrix((1, problem.nc))
    padded: Any = sparse.vstack([pull, absent], format="csr")
    g = [padded[problem._index[:, k]] for k in range(3)]
    mu: Any = sparse.diags_array(problem._mu)
    facets: Any = sparse.vstack([g[0] + mu @ (s * g[1] + t * g[2]) for s in (1.0, -1.0) for t in (1.0, -1.0)])
    program = linear_program(
        problem._q[normal] / q_unit,
        facets,
        b_ub=np.zeros(4 * problem.nc),
        bounds=[(0.0, 1.0)] * problem.nc,
        time_limit=time_limit,
    )
    if program is None:
        return None
    d = np.maximum(program.x, 0.0)
    value = float(problem._q[normal] @ d)
    if not value < -_ZERO * float(np.abs(problem._q[normal]) @ d):
        return None
    factor = problem.contacts(np.asarray(pull @ d))
    size = problem.contacts(np.asarray(abs(pull) @ d)).max(axis=1)
    over = factor[:, 0] + problem._mu * np.hypot(factor[:, 1], factor[:, 2])
    return NoAdmissibleMotion(d, value) if (over <= _ZERO * size).all() else None

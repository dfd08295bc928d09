"""Alternating directions: a linear system and a projection on the cones in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lcp.factors import Factors, factorized, shifted
from lcp.friction.problem import FrictionProblem
from lcp.friction.result import FrictionClaim
from lcp.friction.solvers.friction_base import FrictionSolverBase, IterateMonitor
from lcp.method import SolveRequest, integer_option, positive_option, real_option
from lcp.status import Status

# Iterations between two convergence checks, and between two changes of the weight.
_LOOK = 5
_BALANCE = 20
# Ratio of the two errors above which the weight changes.
_UNEVEN = 3.0
# Largest weight and inverse of the smallest, in units of the median diagonal entry of W.
_HEAVY = 1e12
# Iterations without a better force after which the method gives up.
_PATIENCE = 3_000


@dataclass(frozen=True)
class ADMM(FrictionSolverBase):
    """Alternating direction method of multipliers, with De Saxce's term updated in every iteration.

    For given s = mu |u_T| the problem has a cone and a matrix, split as (W + rho I) r = rho (z - y) - q - s e_N and z =
    P_K(r + y). One factorisation is used until rho changes, if the two errors differ much. s follows u in every
    iteration. The method finds some digits cheaply for large sparse W, and converges linearly. With De Saxce's term, or
    without symmetry, nothing is proven.

    Parameters
    ----------
    rho
        First weight, in units of the median diagonal entry of W.
    relaxation
        Over-relaxation in (0, 2).
    max_iterations
        Limit on iterations.
    time_limit
        Seconds, checked between iterations.

    References
    ----------
    S. Boyd, N. Parikh, E. Chu, B. Peleato, J. Eckstein, Distributed optimization and statistical learning via the
    alternating direction method of multipliers, Foundations and Trends in Machine Learning 3 (2011), sections 3.4
    and 5.
    V. Acary, F. Cadoux, C. Lemarechal, J. Malick, A formulation of the linear discrete Coulomb friction problem via
    convex optimization, ZAMM 91 (2011): the outer loop on s.
    """

    rho: float = positive_option(0.1)
    relaxation: float = real_option(1.6, least=0.0, most=2.0, open_ends=True)
    max_iterations: int = integer_option(50_000)
    time_limit: float = positive_option(120.0)

    def _claim(self, problem: FrictionProblem, request: SolveRequest) -> FrictionClaim:
        """Repeat solves with W + rho I, projections to the cones and multiplier updates up to the tolerance or a limit.

        ``rho`` is balanced at intervals, which needs a new factorisation. The claim has the best force of the checks.
        """
        from lcp.kernels.cone_measures import project_cones

        z0, tolerance, trace = request
        monitor = IterateMonitor(problem, tolerance, self.time_limit, trace)
        units, mu = monitor.units, problem._mu
        q = problem.flat(units.q)
        rho, factors = self.rho, 0
        z = units.start(z0)
        merit = monitor.record_iterate(z, 0)
        # The dual variable is -u_hat / rho.
        u = problem.contacts(units.W @ problem.flat(z)) + units.q
        s = mu * np.hypot(u[:, 1], u[:, 2])
        hat = u.copy()
        hat[:, 0] += s
        y = -hat / rho
        factor: Factors | None = None
        iteration = 0
        while merit > 1.0 and monitor.finite and iteration < self.max_iterations and not monitor.timed_out:
            if factor is None:
                factor = factorized(shifted(units.W, rho))
                factors += 1
                if factor is None:
                    return monitor.claim(iteration, f"W + rho I is singular, rho {rho:.1e}", Status.SINGULAR_BASIS)
            iteration += 1
            load = q.copy()
            normal = problem._index[:, 0]
            load[normal] += s
            r = problem.contacts(factor.solve(problem.flat(rho * (z - y)) - load))
            eased = self.relaxation * r + (1.0 - self.relaxation) * z
            before = z
            z = eased + y
            project_cones(mu, z)
            y = y + eased - z
            # u_T from the dual variable: De Saxce's term changes only u_N.
            s = mu * rho * np.hypot(y[:, 1], y[:, 2])
            if iteration % _LOOK == 0:
                merit = monitor.record_iterate(z, iteration)
                if iteration - monitor.best_at > _PATIENCE:
                    return monitor.claim(iteration, f"no better force in {_PATIENCE} iterations", Status.STALLED)
            if iteration % _BALANCE == 0 and merit > 1.0:
                primal = float(np.linalg.norm(r - z)) / max(float(np.linalg.norm(z)), 1e-300)
                dual = float(np.linalg.norm(z - before)) / max(float(np.linalg.norm(y)), 1e-300)
                ratio = np.sqrt(primal / dual) if dual > 0.0 and primal > 0.0 else 1.0
                ratio = float(np.clip(ratio, 0.1, 10.0))
                # If forces grow without bound, the weight would vanish compared with W.
                if not 1.0 / _UNEVEN <= ratio <= _UNEVEN and 1.0 / _HEAVY <= rho * ratio <= _HEAVY:
                    rho, y, factor = rho * ratio, y / ratio, None
        return monitor.claim(iteration, f"rho {rho:.1e}, {factors} factorisations")

"""Proximal points: a sequence of regular friction problems, each solved by semismooth Newton."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lcp.arrays import Vector
from lcp.friction.problem import FrictionProblem
from lcp.friction.result import FrictionClaim
from lcp.friction.solvers.alart_curnier import AlartCurnier, newton
from lcp.friction.solvers.nsgs import Sweeper
from lcp.friction.solvers.watch import FrictionMethod, Watch
from lcp.method import Request
from lcp.options import positive, whole
from lcp.status import Status

# Share of the error at its start to which a subproblem is solved, and that below which it is taken as it is.
_INNER = 1e-3
_ENOUGH = 0.1
# Rounds without a merit better by this factor after which there is no hope.
_PATIENCE, _BETTER = 60, 0.9
# Range of the weight, in units of W's median diagonal entry.
_LEAST, _MOST = 1e-13, 1e3


@dataclass(frozen=True)
class ProximalPoint(FrictionMethod):
    """Proximal-point algorithm around a semismooth Newton (Rockafellar 1976; RR-9118, section 4.5).

    r is replaced by the solution of the problem with W + alpha I and q - alpha r, which is regular whatever the rank
    of W: contacts that give way a little, about forces that are already nearly right. The weight alpha falls tenfold
    while Newton needs few steps and rises tenfold where it fails; before it rises a second time, sweeps of block
    Gauss-Seidel on the regular problem provide another start. The fixed points are the solutions; as alpha
    falls, convergence is faster than linear.

    Parameters
    ----------
    alpha
        First weight, in units of the median diagonal entry of W.
    newton_steps
        Limit on Newton's steps in one subproblem.
    max_iterations
        Limit on Newton's steps in all.
    time_limit
        Seconds, heeded between steps.

    References
    ----------
    R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM Journal on Control and Optimization
    14 (1976).
    V. Acary, M. Bremond, O. Huber, INRIA RR-9118 (2018), sections 4.5 and 5.
    """

    alpha: float = positive(1.0)
    newton_steps: int = whole(25, least=1)
    max_iterations: int = whole(5_000)
    time_limit: float = positive(120.0)

    def _claim(self, problem: FrictionProblem, request: Request) -> FrictionClaim:
        z0, tolerance, trace = request
        watch = Watch(problem, tolerance, self.time_limit, trace)
        units = watch.units
        rows = units.start(z0)
        equations = AlartCurnier(problem, units.W, units.q)
        sweeper: Sweeper | None = None
        alpha, spent, rounds = self.alpha, 0, 0
        merit = watch.look(rows, 0)
        swept, better = False, 0
        start = rows
        while merit > 1.0 and watch.finite and spent < self.max_iterations and not watch.late:
            rounds += 1
            if rounds - better > _PATIENCE:
                return watch.claim(spent, f"no better force in {_PATIENCE} rounds", Status.STALLED)
            equations.set_shift(alpha)
            equations.q = units.q - alpha * rows * equations.present
            opening = _error(equations, rows)
            goal = _INNER * opening
            run = newton(
                equations,
                start,
                lambda _, F, __, goal=goal: bool(np.linalg.norm(F) <= goal),  # type: ignore[misc]
                max_iterations=min(self.newton_steps, self.max_iterations - spent),
                late=lambda: watch.late,
            )
            spent += max(1, run.iterations)
            if run.converged or run.merit < _ENOUGH * opening:
                start = rows = run.rows
                least = watch.best_merit
                merit = watch.look(rows, spent)
                if merit < _BETTER * least:
                    better = rounds
                swept = False
                hard = run.iterations / self.newton_steps
                alpha = max(alpha * (0.1 if hard <= 0.25 else 0.3 if hard < 0.5 else 1.0), _LEAST)
            elif not swept:
                sweeper = sweeper or Sweeper(problem, units.W)
                start, swept = rows.copy(), True
                sweeper(start, equations.q, min(100, 5 * sweeper.portion), np.full(problem.nc, alpha))
            else:
                start, swept = rows, False
                alpha *= 10.0
                if alpha > _MOST:
                    return watch.claim(spent, f"no weight lets Newton converge ({rounds} rounds)", Status.STALLED)
        return watch.claim(spent, f"{rounds} rounds, last weight {alpha:.0e}")


def _error(equations: AlartCurnier, rows: Vector) -> float:
    return float(np.linalg.norm(equations.residual(rows, equations.motion(rows))))

"""Semismooth Newton on Alart and Curnier's equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lcp.friction.problem import FrictionProblem
from lcp.friction.result import FrictionClaim
from lcp.friction.solvers.alart_curnier import AlartCurnier, newton
from lcp.friction.solvers.watch import FrictionMethod, Watch
from lcp.method import Request
from lcp.options import positive, whole
from lcp.status import Status
from lcp.traits import Traits


@dataclass(frozen=True)
class SemismoothNewton(FrictionMethod):
    """Newton's method on the nonsmooth equations of Alart and Curnier (1991), with a nonmonotone line search.

    A few steps where W has full rank (elastic bodies) and from a good start; no promise from far away, and with a W of
    deficient rank the systems are singular: they are then solved as if every contact gave way a little, which seldom
    is enough. `ProximalPoint` is the way to use it there.

    Parameters
    ----------
    max_iterations
        Limit on steps.
    time_limit
        Seconds, heeded between steps.

    References
    ----------
    P. Alart, A. Curnier, Computer Methods in Applied Mechanics and Engineering 92 (1991).
    L. Grippo, F. Lampariello, S. Lucidi, A nonmonotone line search technique for Newton's method, SIAM Journal on
    Numerical Analysis 23 (1986).
    V. Acary, M. Bremond, O. Huber, INRIA RR-9118 (2018), section 4.3.
    """

    max_iterations: int = whole(200)
    time_limit: float = positive(120.0)

    traits: ClassVar[Traits] = Traits.CONE | Traits.WARM_START | Traits.SPARSE

    def _claim(self, problem: FrictionProblem, request: Request) -> FrictionClaim:
        z0, tolerance, trace = request
        watch = Watch(problem, tolerance, self.time_limit, trace)
        units = watch.units
        run = newton(
            AlartCurnier(problem, units.W, units.q),
            units.start(z0),
            lambda rows, F, iteration: watch.look(rows, iteration) <= 1.0,
            max_iterations=self.max_iterations,
            late=lambda: watch.late,
        )
        if run.singular:
            return watch.claim(run.iterations, "the Jacobian is singular", Status.SINGULAR_BASIS)
        return watch.claim(run.iterations)

"""Interior point on friction pyramids, then proximal points on the exact cones, both in the space of the bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.friction.body_system import body_system, factors_of, resting
from lcp.friction.problem import FrictionProblem
from lcp.friction.result import FrictionClaim
from lcp.friction.solvers.watch import FrictionMethod, Watch
from lcp.method import Request
from lcp.options import positive, whole
from lcp.status import Status
from lcp.traits import Traits

if TYPE_CHECKING:
    from lcp.kernels.body_blocks import BlockFactors, BodySystem

# Edges of the pyramids.
_EDGES = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))
# Starts of the path in units of the problem, and the power of the corrector.
_STARTS = ((10.0, 1.0), (1.0, 2.0), (100.0, 1.0))
# Means of z w, in units of the problem, at which the cones are tried, with factorisations for pyramid and cone.
_TRIES = ((1e-6, 5, 100), (1e-8, 10, 200), (1e-11, 40, 200))
# Residual of a pyramid above which its cone is not tried; steps along the path to each of these means.
_LOST = 1e-2
_PATH = 60
# Residual, in units of the problem, below which a start given is taken to the cones at once; factorisations for that.
_NEAR, _AT_ONCE = 1e-2, 12
# rho of the proximal points is this by the residual; without any friction a pyramid has no inside.
_RHO = 0.05
_LEAST_MU = 1e-3


@dataclass(frozen=True)
class ContactInteriorPoint(FrictionMethod):
    """Interior point and proximal Newton steps in the space of the bodies: sparse, and blind to redundant contacts.

    Mehrotra's predictor and corrector follow the central path of the problem with pyramids of four edges until modes
    show; from there proximal points, each by semismooth Newton, first of the pyramids, then of the cones. Both need one
    sparse factorisation of 1 + J' D J a step, with blocks of six velocities: J are the contacts' rows where the inertia
    is 1. The method forms no matrix of the contacts (`lcp.solve` does, to judge the answer). The bodies are those of a
    `GlobalFrictionProblem` (a symmetric positive definite M, no bilateral rows); a `FrictionProblem` that was given its
    W is taken apart by eigenvectors, which is dense.

    Of the many impulses that solve a problem with redundant contacts the path leads to one inside their set.

    Parameters
    ----------
    max_iterations
        Limit on factorisations.
    time_limit
        Seconds, heeded between stages.

    References
    ----------
    S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM Journal on Optimization 2 (1992).
    V. Acary, P. Armand, H. M. Nguyen, M. Shpakovych, Second-order cone programming for frictional contact mechanics
    using interior point algorithm, Optimization Methods and Software (2023).
    R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM Journal on Control and Optimization
    14 (1976).
    """

    max_iterations: int = whole(2_000)
    time_limit: float = positive(120.0)

    traits: ClassVar[Traits] = Traits.CONE | Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE | Traits.WARM_START | Traits.SPARSE

    def _claim(self, problem: FrictionProblem, request: Request) -> FrictionClaim:
        """Follow the path, look at the cones on the way."""
        z0, tolerance, trace = request
        watch = Watch(problem, tolerance, self.time_limit, trace)
        if watch.look(watch.units.start(z0), 0) <= 1.0:
            return watch.claim(0)
        system = body_system(problem)
        if system is None:
            return watch.claim(
                0,
                "W is not symmetric and positive semidefinite, or too large to tell: pose the problem with its bodies",
                Status.UNSUITABLE,
            )
        run = _Run(problem, system, watch, self.max_iterations)
        run.solve(z0)
        if watch.best_merit <= 1.0:
            return watch.claim(run.spent)
        if run.left == 0:
            return watch.claim(run.spent, "" if watch.late else "limit on factorisations")
        return watch.claim(run.spent, f"no path of {len(_STARTS)} led to the cones", Status.STALLED)


class _Run:
    """One solve: the system, its units, and what was spent."""

    def __init__(self, problem: FrictionProblem, system: BodySystem, watch: Watch, budget: int) -> None:
        from lcp.kernels.body_blocks import moved_by
        from lcp.kernels.proximal_contacts import ProximalWork

        self.problem, self.system, self.watch, self.budget = problem, system, watch, budget
        self.factors: BlockFactors = factors_of(system)
        self.spent = 0
        nc, bodies = problem.nc, system.y_free.shape
        free, u = np.zeros(bodies), np.zeros((nc, 3))
        moved_by(system, np.zeros((nc, 3)), free, u)
        self.free = u
        self.speed = float(np.abs(u).max(initial=0.0)) or 1.0
        shapes = (*((nc, 3),) * 3, (nc, 3, 3), (3, 3), (3,), *((nc, 3),) * 2, *(bodies,) * 4)
        self.proximal = ProximalWork(*(np.zeros(shape) for shape in shapes))

    @property
    def left(self) -> int:
        """Factorisations that may still be made."""
        return 0 if self.watch.late else max(0, self.budget - self.spent)

    def solve(self, z0: Vector | None) -> None:
        """Try a start given, then paths; the watch keeps the best."""
        tolerance = 0.1 * self.watch.tolerance
        if z0 is not None:
            p = self.problem.contacts(z0)
            if self._refine(p, True, tolerance, 0)[1] <= _NEAR and self._cones(p, tolerance, _AT_ONCE):
                return
        for start, power in _STARTS:
            if self._path(start, power, tolerance):
                return

    def _path(self, start: float, power: float, tolerance: float) -> bool:
        """Follow the central path from one start."""
        from lcp.kernels.pyramid_interior_point import InteriorWork, follow_path, impulses_of

        nc, bodies = self.problem.nc, self.system.y_free.shape
        system = self.system._replace(mu=np.maximum(self.system.mu, _LEAST_MU))
        # The slack of the cone is an impulse, its multiplier a velocity.
        z, w = np.full((nc, len(_EDGES) + 2), start * self.speed), np.full((nc, len(_EDGES) + 2), start * self.speed)
        z[:, :-1] /= system.weight[:, None]
        w[:, -1] /= system.weight
        unit = float(np.median(z * w)) / start**2
        six, three, motion = (nc, len(_EDGES) + 2), (nc, 3), bodies
        shapes = (six,) * 6 + ((nc, 3, 3), *(three,) * 4, *(motion,) * 4)
        work = InteriorWork(*(np.zeros(shape) for shape in shapes))
        p, edges = np.zeros(three), np.array(_EDGES)
        for share, of_pyramid, of_cone in _TRIES:
            if self.left == 0:
                return False
            steps, mean = follow_path(
                system, self.factors, work, edges, power, share * unit, min(_PATH, self.left), z, w
            )
            self.spent += steps
            impulses_of(edges, z, p)
            if not np.isfinite(p).all():
                return False
            refined, residual = self._refine(p, False, 1e-2 * share, of_pyramid)
            if residual <= _LOST and self._cones(refined, tolerance, of_cone):
                return True
            if mean > share * unit:
                return False
        return False

    def _cones(self, p: Vector, tolerance: float, budget: int) -> bool:
        refined, _ = self._refine(p, True, tolerance, budget)
        refined[resting(self.system, self.free, refined)] = 0.0
        units = self.watch.units
        return self.watch.look(units.start(self.problem.flat(refined)), self.spent) <= 1.0

    def _refine(self, p: Vector, cone: bool, tolerance: float, budget: int) -> tuple[Vector, float]:
        """Proximal points from p, and the residual that they leave, in units of the problem."""
        from lcp.kernels.proximal_contacts import proximal_points

        refined = np.array(p)
        limit = tolerance * self.speed
        _, residual = proximal_points(self.system, self.factors, self.proximal, cone, np.inf, 0, 1.0, refined)
        rho = max(1.0, min(_RHO * self.speed / max(residual, 1e-12 * self.speed), 1e9))
        spent, residual = proximal_points(
            self.system, self.factors, self.proximal, cone, limit, min(budget, self.left), rho, refined
        )
        self.spent += spent
        return refined, residual / self.speed

"""Nonsmooth block Gauss-Seidel, and alternating directions.

The first solves one contact after the other exactly; the second a linear system and a projection on the cones in turn.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.factors import Factors, factorized, shifted
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import DEFAULT_FRICTION_TOLERANCE, FrictionClaim, measure
from lcp.interruptible import cpu_seconds
from lcp.method import Options, SolveRequest, Traits, choice_option, integer_option, positive_option, real_option
from lcp.result import TraceRecorder
from lcp.status import Status

if TYPE_CHECKING:
    from lcp.kernels.friction_sweeps import ContactBlocks


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """W / w and q / p of a problem: r here is (w / p) r there. Coulomb's problem is homogeneous in both."""

    problem: FrictionProblem
    #: W, q: The matrix and the rows (nc, 3) of the vector.
    W: Any
    q: Vector
    #: w, p: Powers of two.
    w: float
    p: float

    def original(self, rows: Vector) -> Vector:
        """Return r (m,) of the problem for rows (nc, 3) of the scaled one."""
        return self.problem.flat(rows * (self.p / self.w))

    def start(self, r: Vector | None) -> Vector:
        """Return rows (nc, 3) of the scaled problem for a start r (m,), zeros if there is none."""
        if r is None:
            return np.zeros((self.problem.nc, 3))
        return self.problem.contacts(r) / (self.p / self.w)


def scaled(problem: FrictionProblem) -> ScaledProblem:
    """Return the problem with W and q divided by powers of two, to a median diagonal and a largest q near 1."""
    diagonal = np.abs(problem._W.diagonal())
    diagonal = diagonal[diagonal > 0.0]
    w = float(np.median(diagonal)) if diagonal.size else float(abs(problem._W).max()) if problem.m else 1.0
    p = float(np.abs(problem._q).max(initial=0.0))
    w, p = _power_of_two(w), _power_of_two(p)
    # One factor after the other: their quotient may be beyond double precision where r is not.
    return ScaledProblem(problem, problem._W / w, problem.contacts(problem._q / p), w, p)


def _power_of_two(value: float) -> float:
    return float(2.0 ** np.round(np.log2(value))) if 0.0 < value < np.inf else 1.0


class FrictionSolverBase(Options):
    """A solver of friction problems; a method has its options as fields, its ``traits``, and `_claim`."""

    traits: ClassVar[Traits] = Traits.CONE | Traits.WARM_START | Traits.SPARSE

    def solve(
        self,
        problem: FrictionProblem,
        *,
        z0: Vector | None = None,
        tolerance: float = DEFAULT_FRICTION_TOLERANCE,
        trace: bool = False,
    ) -> FrictionClaim:
        """Return the claim on a problem from a start; `lcp.solve` checks the arguments and verifies the claim."""
        return self._claim(problem, SolveRequest(z0, tolerance, trace))

    @abstractmethod
    def _claim(self, problem: FrictionProblem, request: SolveRequest) -> FrictionClaim: ...


class IterateMonitor:
    """Measures of iterates by the verdict's residuals, in units of the scaled problem; it keeps the best iterate."""

    def __init__(self, problem: FrictionProblem, tolerance: float, time_limit: float, trace: bool) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.units: ScaledProblem = scaled(problem)
        self.deadline = cpu_seconds() + time_limit
        self.recorder = TraceRecorder(trace, "fclib residual")
        self.best = np.zeros(problem.m)
        self.best_merit, self.best_at = np.inf, 0
        self.finite = True

    @property
    def timed_out(self) -> bool:
        """Return True if the time limit has passed."""
        return cpu_seconds() > self.deadline

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the time limit, at least a millisecond."""
        return max(1e-3, self.deadline - cpu_seconds())

    def record_iterate(self, rows: Vector, iteration: int) -> float:
        """Measure ``rows`` (nc, 3) in scaled units, and keep them if they are the best.

        Return the largest residual in units of its bound: at most 1 if solved, infinite if it is not finite.
        """
        r = self.units.original(rows)
        residual, _ = measure(self.problem, r)
        self.recorder.add(iteration, residual.fclib)
        if not np.isfinite(residual.fclib):
            self.finite = False
            return np.inf
        merit = residual.excess(self.tolerance)
        if merit < self.best_merit:
            self.best, self.best_merit, self.best_at = r, merit, iteration
        return merit

    def claim(self, iteration: int, detail: str = "", status: Status | None = None) -> FrictionClaim:
        """Return the claim on the best iterate.

        The status is SOLVED if an iterate was within its bounds, else NOT_FINITE if one was not finite. Otherwise it is
        ``status``, by default ITERATION_LIMIT.
        """
        if self.best_merit <= 1.0:
            status = Status.SOLVED
        elif not self.finite:
            status = Status.NOT_FINITE
        elif status is None:
            status = Status.ITERATION_LIMIT
        said = [detail] if detail else []
        if status is Status.ITERATION_LIMIT and self.timed_out:
            said.append("time limit")
        return FrictionClaim(self.best, status, iteration, "; ".join(said), trace=self.recorder.trace())


SWEEPS = ("forward", "symmetric")

# Multiply-adds between two returns to Python, which check Ctrl-C and the time limit.
_PORTION = 10_000_000
# Step, relative to the force, without measurable effect.
_STILL = 1e-16


@dataclass(frozen=True)
class NSGS(FrictionSolverBase):
    """Nonsmooth block Gauss-Seidel with an exact solve of each contact (Jean and Moreau; Jourdan, Alart, Jean 1998).

    The most reliable method for a few digits, for W of any rank. Each sweep solves one contact after another for given
    forces of the others, by its modes (open, stick, slide; sliding by a quartic), so no block fails. Convergence is
    linear, and slow if many contacts share a load. With friction nothing is proven.

    Parameters
    ----------
    sweep
        "forward", or "symmetric": forward and back, which counts as one iteration.
    relaxation
        Factor on each step, in (0, 2).
    max_iterations
        Limit on sweeps.
    time_limit
        Seconds, checked between portions of some hundredths of a second.

    References
    ----------
    F. Jourdan, P. Alart, M. Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, Computer Methods
    in Applied Mechanics and Engineering 155 (1998).
    V. Acary, M. Bremond, O. Huber, INRIA RR-9118 (2018), section 4.2.
    """

    sweep: str = choice_option("forward", SWEEPS)
    relaxation: float = real_option(1.0, least=0.0, most=2.0, open_ends=True)
    max_iterations: int = integer_option(100_000)
    time_limit: float = positive_option(120.0)

    def _claim(self, problem: FrictionProblem, request: SolveRequest) -> FrictionClaim:
        """Sweep until the tolerance or a limit; the claim is STALLED if sweeps no longer move the forces."""
        z0, tolerance, trace = request
        monitor = IterateMonitor(problem, tolerance, self.time_limit, trace)
        rows = monitor.units.start(z0)
        sweeper = GaussSeidelSweeps(problem, monitor.units.W, self.sweep, self.relaxation)
        iteration, target = 0, 0
        while monitor.record_iterate(rows, iteration) > 1.0 and monitor.finite:
            if iteration >= self.max_iterations or monitor.timed_out:
                break
            # The next check: 1, 2, 4, 8, then an eighth more each time, at most 100 more.
            wait = max(1, iteration) if iteration < 8 else min(100, max(4, iteration // 8))
            target = iteration + 1 if trace else min(self.max_iterations, iteration + wait)
            while iteration < target and not monitor.timed_out:
                count = min(sweeper.portion, target - iteration)
                sweeper(rows, monitor.units.q, count)
                iteration += count
            if sweeper.moved <= _STILL * float(np.linalg.norm(rows)):
                monitor.record_iterate(rows, iteration)
                return monitor.claim(iteration, f"sweeps no longer move r{sweeper.note}", Status.STALLED)
        return monitor.claim(iteration, sweeper.note.removeprefix("; "))


def blocks_of(problem: FrictionProblem, W: Any) -> ContactBlocks:
    """Return the blocks of a matrix (m, m) by the contacts of ``problem``, without blocks of zeros."""
    from scipy import sparse

    from lcp.kernels.friction_sweeps import ContactBlocks

    nc, m = problem.nc, problem.m
    # Three rows for each contact; those that it lacks are empty.
    places = problem._index.ravel()
    rows = np.flatnonzero(places < m)
    pad = sparse.csr_matrix((np.ones(m), (rows, places[rows])), shape=(3 * nc, m))
    padded = (pad @ sparse.csr_matrix(W) @ pad.T).tocsr()
    padded.eliminate_zeros()
    stored = padded.tobsr((3, 3))
    stored.sort_indices()
    row, column, block = np.repeat(np.arange(nc), np.diff(stored.indptr)), stored.indices, stored.data
    inside = row == column
    diagonal = np.zeros((nc, 3, 3))
    diagonal[row[inside]] = block[inside]
    pointer = np.concatenate(([0], np.cumsum(np.bincount(row[~inside], minlength=nc))))
    columns = column[~inside].astype(np.int64)
    return ContactBlocks(pointer, columns, block[~inside], diagonal, problem._mu, problem._dims)


class GaussSeidelSweeps:
    """Sweeps over one W; ``moved`` is the last step's length, ``projected`` the number of blocks without a mode."""

    def __init__(self, problem: FrictionProblem, W: object, sweep: str = "forward", relaxation: float = 1.0) -> None:
        self.blocks = blocks_of(problem, W)
        self.relaxation = relaxation
        forward = np.arange(problem.nc, dtype=np.int64)
        self.order = np.concatenate([forward, forward[::-1]]) if sweep == "symmetric" else forward
        self.work = np.empty((5, 3))
        self.portion = max(1, _PORTION // max(1, 9 * self.blocks.block.shape[0] + 60 * problem.nc))
        self.moved, self.projected = np.inf, 0
        self.none = np.zeros(problem.nc)

    @property
    def note(self) -> str:
        """Return a note about the sweeps."""
        return f"; {self.projected} contacts by projected steps" if self.projected else ""

    def __call__(self, rows: Vector, q: Vector, count: int, shift: Vector | None = None) -> None:
        """Make this many sweeps of ``rows``, in place."""
        from lcp.kernels.friction_sweeps import friction_sweeps

        steps = np.empty(count)
        shift = self.none if shift is None else shift
        self.projected = friction_sweeps(self.blocks, shift, q, self.order, self.relaxation, rows, self.work, steps)
        self.moved = float(steps[-1])


# Iterations between two convergence checks, and between two changes of the weight.
_LOOK = 5
_BALANCE = 20
# Ratio of the two errors above which the weight changes.
_UNEVEN = 3.0
# Largest weight and inverse of the smallest, in units of the median diagonal entry of W.
_HEAVY = 1e12
# Iterations without a better force after which the method stops.
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

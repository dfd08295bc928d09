"""The default solver of friction problems: the contact strategies, a proof of infeasibility, Newton's method.

The proof that no contact forces prevent penetration is from a linear program and Farkas' lemma.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lcp.arrays import Vector, graph_components
from lcp.claims import friction_attempt
from lcp.contacts.strategies import RECORDED, STRATEGY_NAMES, contact_column_ranges, solve_island, strategy_mask
from lcp.farkas import linear_program
from lcp.friction.problem import DelassusFactor, FrictionProblem, IntArray
from lcp.friction.residuals import FrictionAttempt, FrictionClaim
from lcp.friction.solvers.alart_curnier import SemismoothNewton
from lcp.friction.solvers.first_order import FrictionSolverBase, IterateMonitor, ScaledProblem
from lcp.method import SolveRequest, positive_option
from lcp.status import Status

if TYPE_CHECKING:
    from lcp.contacts.kernels.contact_system import ContactSystem


# Fraction of the tolerance that the strategies meet, because the verdict sums in another order, and its minimum.
_SHARE, _STRICTEST = 0.5, 1e-5
# Linear systems that a strategy may solve between two checks of the clock, and products per second.
_SYSTEMS, _SPEED = 100, 1e10
# Numbers in the arrays of the largest problem for the strategies.
_MAX_NUMBERS = 400_000_000
# A force below this fraction of the largest one is rounding.
_NEGLIGIBLE_FORCE = 1e-14
# First proximal weight of Newton's method, and its limit on steps.
_ALPHA, _NEWTON_STEPS = 1e-2, 5_000


@dataclass(frozen=True)
class ContactStrategies(FrictionSolverBase):
    """The contact strategies of a time step with exact cones; `SemismoothNewton` if they do not solve the problem.

    The strategies (`lcp.contacts.strategies`) are Newton methods in the space of the bodies. If contacts are redundant,
    they look for the forces of equal compliance, and for any others if that fails. A linear system has a block for each
    body and each pair of bodies in contact; it is regular even if contacts depend on one another. No matrix of the
    contacts is formed, except a sparse one by `lcp.solve`, for the verdict. A `GlobalFrictionProblem` with a symmetric
    positive definite M and no bilateral rows gives the bodies. The W of a `FrictionProblem` is factorised by Cholesky's
    method, which is dense.

    The strategies need a symmetric positive semidefinite W. Any other W, and a problem that they leave unsolved, goes
    to `SemismoothNewton` with a proximal weight, which starts from the best forces found. Before that a linear program
    looks for a proof that no forces in the cones prevent penetration (`NoAdmissibleMotion`). ``Result.attempts`` lists
    the methods used.

    Parameters
    ----------
    strategies
        Names of the strategies that are allowed.
    time_limit
        Seconds of the processor for all methods together.

    References
    ----------
    S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optimization 2 (1992).
    M. Kojima, N. Megiddo, T. Noma, Homotopy continuation methods for nonlinear complementarity problems,
    Mathematics of Operations Research 16 (1991).
    """

    strategies: tuple[str, ...] = STRATEGY_NAMES
    time_limit: float = positive_option(300.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "strategies", tuple(self.strategies))
        strategy_mask(self.strategies)

    def _claim(self, problem: FrictionProblem, request: SolveRequest) -> FrictionClaim:
        """Run the strategies of the step; if they fail, look for a proof of infeasibility, then run `SemismoothNewton`.

        The Newton method starts at the forces of the strategies. The claim lists both attempts.
        """
        _, tolerance, trace = request
        monitor = IterateMonitor(problem, tolerance, self.time_limit, trace)
        first = self._use_strategies(problem, request, monitor)
        if first.status is Status.SOLVED or monitor.timed_out:
            return first
        attempts: tuple[FrictionAttempt, ...] = (friction_attempt(problem, self, first, tolerance),)
        proof = no_admissible_motion(problem, monitor.seconds_left)
        if proof is not None:
            detail = "no forces in the cones prevent penetration"
            return replace(first, status=Status.INFEASIBLE, detail=detail, evidence=proof, attempts=attempts)
        newton = SemismoothNewton(alpha=_ALPHA, max_iterations=_NEWTON_STEPS, time_limit=monitor.seconds_left)
        claim = newton.solve(problem, z0=first.r, tolerance=tolerance, trace=trace)
        attempts += (friction_attempt(problem, newton, claim, tolerance),)
        spent = first.iterations + claim.iterations
        return replace(claim, iterations=spent, attempts=attempts, solver=newton)

    def _use_strategies(
        self, problem: FrictionProblem, request: SolveRequest, monitor: IterateMonitor
    ) -> FrictionClaim:
        """Run the strategies on the rows J of the bodies, which are formed from W if the problem has no bodies."""
        from lcp.contacts.kernels.island_acceptance import IslandProblem
        from lcp.contacts.kernels.strategy_loop import NO_STRATEGY

        start = monitor.units.start(request.z0)
        if monitor.record_iterate(start, 0) <= 1.0 or monitor.timed_out:
            return monitor.claim(0)
        factor = problem._factor if problem._factor is not None else factor_from_delassus(problem)
        rows = None if factor is None else contact_rows(problem, factor, monitor.units)
        if rows is None:
            return monitor.claim(0, "W is not symmetric and positive semidefinite, or too large", Status.UNSUITABLE)
        if _SYSTEMS * _products(rows.system) > _SPEED * monitor.seconds_left:
            return monitor.claim(0, "the strategies would exceed the time limit", Status.ITERATION_LIMIT)
        # FCLIB's residual adds forces to velocities, and requires more if W is small.
        strict = request.tolerance * max(_SHARE * min(1.0, monitor.units.w), _STRICTEST)
        allowed, variables = strategy_mask(self.strategies), rows.variables(start)
        case = IslandProblem(rows.system, rows.starts, True, request.z0 is not None, True, allowed, variables, strict)
        found = solve_island(case, monitor.deadline)
        answered = found.attempt != NO_STRATEGY
        forces = rows.forces(found.answer.z if answered else found.answer.best_z)
        if monitor.record_iterate(rows.drop_rounding_forces(forces), found.systems) > 1.0:
            monitor.record_iterate(forces, found.systems)
        detail = RECORDED[found.attempt] if answered else "no strategy found forces that solve the problem"
        return monitor.claim(found.systems, detail, Status.STALLED)


def _products(system: ContactSystem) -> float:
    """Estimate the products that form one linear system: each contact has a block of its velocities."""
    spans = system.column_ranges[: system.nc]
    if not len(spans):
        return 9.0 * system.nc * float(system.v_free.size) ** 2
    widths = (spans[:, 1] - spans[:, 0] + spans[:, 3] - spans[:, 2]).astype(float)
    return float(9.0 * np.sum(widths**2))


@dataclass(frozen=True, eq=False)
class ContactSystemArrays:
    """Rows [N; F] of a problem in scaled units; all contacts have the same number of tangents, and h is 1."""

    system: ContactSystem
    starts: IntArray  # (nt + 1,) first velocity of each tree
    present: Vector  # (nc, 1 + r) 1 for components that a contact has

    def variables(self, rows: Vector) -> Vector:
        """Return the variables (fN, fF+, fF-, lambda) of an LCP for forces (nc, 3)."""
        friction = (rows[:, : self.present.shape[1]] * self.present)[:, 1:].ravel()
        return np.concatenate(
            (rows[:, 0], np.maximum(friction, 0.0), np.maximum(-friction, 0.0), np.zeros(self.system.nc))
        )

    def forces(self, z: Vector) -> Vector:
        """Return the forces (nc, 3) of variables z in the order of `variables`; absent components are 0."""
        nc, nr = self.system.nc, self.system.nr
        rows = np.zeros((nc, 3))
        rows[:, 0] = z[:nc]
        rows[:, 1 : self.present.shape[1]] = (z[nc : nc + nr] - z[nc + nr : nc + 2 * nr]).reshape(nc, -1)
        rows[:, : self.present.shape[1]] *= self.present
        return rows

    def drop_rounding_forces(self, rows: Vector) -> Vector:
        """Set forces (nc, 3) to zero that are rounding errors of the largest one.

        Between bodies that rest on each other as they move, such forces would be the only ones.
        """
        size = np.abs(rows).max(axis=1, initial=0.0)
        return np.where((size > _NEGLIGIBLE_FORCE * size.max(initial=0.0))[:, None], rows, 0.0)


def contact_rows(problem: FrictionProblem, factor: DelassusFactor, units: ScaledProblem) -> ContactSystemArrays | None:
    """Return the arrays of a problem between its bodies, or None if it is too large.

    A contact that lacks a tangent has a row of zeros in its place, without effect on motion and force.
    """
    from lcp.contacts.kernels.contact_system import ContactSystem

    nc, nv, dims = problem.nc, factor.v_free.shape[0], problem._dims
    r = int(dims.max()) - 1
    nr = nc * r
    if nv * (nc + nr + nv) > _MAX_NUMBERS:
        return None
    first = np.cumsum(dims) - dims
    contact = np.repeat(np.arange(nc, dtype=np.int64), dims)
    component = np.arange(problem.m, dtype=np.int64) - first[contact]
    place = np.where(component == 0, contact, nc + contact * r + component - 1)
    entries = factor.J.tocoo()
    # Pages of zeros that are never written take no memory.
    J = np.zeros((nc + nr, nv))
    J[place[entries.row], entries.col] = entries.data / np.sqrt(units.w)
    k = np.zeros(nc + nr)
    k[place] = factor.bias / units.p
    v_free = factor.v_free * (np.sqrt(units.w) / units.p)
    starts = factor.starts
    spans = contact_column_ranges(starts, nc, contact[entries.row], entries.col)
    if spans is None:
        starts, spans = np.array([0, nv], dtype=np.int64), np.zeros((0, 4), dtype=np.int64)
    else:
        spans = spans[np.concatenate((np.arange(nc), np.repeat(np.arange(nc), r)))]
    system = ContactSystem(
        h=1.0,
        nc=nc,
        nr=nr,
        nl=0,
        nb=0,
        r=np.full(nc, r, dtype=np.int64),
        mu=problem._mu,
        cone_contacts=np.arange(nc, dtype=np.int64),
        J=J,
        Y=J,
        k=k,
        gamma=np.zeros(nc + nr),
        gammaE=np.zeros(nc),
        lo=np.zeros(0),
        hi=np.zeros(0),
        v_free=v_free,
        Mv=v_free,
        column_ranges=spans,
        diagonal=np.zeros(0),
    )
    return ContactSystemArrays(system, starts, (np.arange(1 + r) < dims[:, None]).astype(np.float64))


# Rows coupled by W up to which they are factored.
_FACTORED = 3000
# Fraction of the largest entry below which a pivot of W is rounding, and up to which W can differ from J J'.
_ROUNDING = 1e-13
_REST = 1e-9


def factor_from_delassus(problem: FrictionProblem) -> DelassusFactor | None:
    """Return J with W = J J' by Cholesky's method, and v_free = 0; contacts that W couples are one tree.

    Return None if W is not symmetric and positive semidefinite, or couples too many rows.
    """
    from scipy import sparse

    W = sparse.csr_matrix(problem._W)
    W.eliminate_zeros()
    nc, m = problem.nc, problem.m
    contact = np.repeat(np.arange(nc, dtype=np.int64), problem._dims)
    entries = W.tocoo()
    joined = sparse.coo_matrix((np.ones(entries.nnz), (contact[entries.row], contact[entries.col])), shape=(nc, nc))
    parts, starts = [], [0]
    for contacts in graph_components(joined):
        own = problem._index[contacts]
        own = own[own < m]
        root = _square_root(W[own][:, own].toarray()) if own.size <= _FACTORED else None
        if root is None:
            return None
        if root.shape[1] > 0:
            columns = starts[-1] + np.arange(root.shape[1])
            parts.append((root.ravel(), np.repeat(own, columns.size), np.tile(columns, own.size)))
            starts.append(starts[-1] + columns.size)
    if not parts:
        return None
    value, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    J = sparse.csr_matrix((value, (row, column)), shape=(m, starts[-1]))
    return DelassusFactor(J, np.zeros(starts[-1]), problem._q, np.array(starts, dtype=np.int64))


def _square_root(W: Vector) -> Vector | None:
    """Return J of W = J J' with rank(W) columns, by pivoted Cholesky, or None if W is not semidefinite."""
    from scipy.linalg.lapack import dpstrf

    size = float(np.abs(W).max(initial=0.0))
    if not np.isfinite(size):
        return None
    half = 0.5 * W + 0.5 * W.T
    factor, pivots, rank, _ = dpstrf(half, tol=_ROUNDING * size, lower=1)
    J = np.empty((W.shape[0], rank))
    J[pivots - 1] = np.tril(factor)[:, :rank]
    # Remainder of a W that is not symmetric, or has a negative eigenvalue.
    return J if np.abs(J @ J.T - W).max(initial=0.0) <= _REST * size else None


# Contacts up to which the linear program is worth its time.
_MAX_CONTACTS = 3000
# A sum counts as zero up to this fraction of its terms.
_ZERO = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class NoAdmissibleMotion:
    """Weights d >= 0 (nc,) of the normal rows with d' W_N r <= 0 for every r in the cones, and d' q_N < 0.

    Then d' u_N < 0 for any forces: some contact penetrates. This is Farkas' lemma for u_N >= 0, r in K.
    """

    d: Vector
    value: float


def no_admissible_motion(problem: FrictionProblem, time_limit: float = 60.0) -> NoAdmissibleMotion | None:
    """Return such weights, or None if the linear program finds none that pass the check.

    The program replaces each cone by a pyramid of four facets; the check is on the cones. ``time_limit`` is in seconds.
    """
    if problem.nc == 0 or problem.nc > _MAX_CONTACTS:
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

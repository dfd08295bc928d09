"""The attempts at contact forces, between the bodies, with exact cones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.clock import processor_seconds
from lcp.contacts.attempts import NAMES, RECORDED, bits_of
from lcp.contacts.proposing import propose_forces
from lcp.contacts.trees import contact_spans
from lcp.friction.blocks import Scaled
from lcp.friction.bodies import Bodies, bodies_of_matrix
from lcp.friction.problem import FrictionProblem, Indices
from lcp.friction.result import FrictionClaim
from lcp.friction.solvers.watch import FrictionMethod, Watch
from lcp.method import Request
from lcp.options import positive
from lcp.status import Status
from lcp.traits import Traits

if TYPE_CHECKING:
    from lcp.contacts.kernels.contact_system import ContactSystem

# Part of the tolerance that is asked for, for the judge adds up in another way, and at least.
_SHARE, _STRICTEST = 0.5, 1e-5
# Systems that an attempt may need before anybody looks at the clock, and products a second.
_SYSTEMS, _SPEED = 100, 1e10
# Numbers of the largest problem that is laid out.
_MOST = 400_000_000
# Part of the largest force that rounding may leave.
_DUST = 1e-14


@dataclass(frozen=True)
class ContactAttempts(FrictionMethod):
    """The attempts of `lcp.contacts.attempts`, one after the other: Newton's methods in the space of the bodies.

    Of the many forces that solve a problem with redundant contacts those are looked for that contacts share which give
    way alike; where that leads nowhere, any. A linear system has a block for every body and every two that touch, and
    is regular whatever contacts depend on one another; no matrix of the contacts is formed (`lcp.solve` has a sparse
    one, to judge the answer). The bodies are those of a `GlobalFrictionProblem` with a symmetric positive definite M
    and no bilateral rows; a `FrictionProblem` that was given its W is taken apart by Cholesky's method, which is dense.

    Parameters
    ----------
    strategies
        Names of the strategies that may be used.
    time_limit
        Seconds of the processor, checked between strategies.

    References
    ----------
    S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optimization 2 (1992).
    M. Kojima, N. Megiddo, T. Noma, Homotopy continuation methods for nonlinear complementarity problems,
    Mathematics of Operations Research 16 (1991).
    """

    strategies: tuple[str, ...] = NAMES
    time_limit: float = positive(120.0)

    traits: ClassVar[Traits] = FrictionMethod.traits | Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "strategies", tuple(self.strategies))
        bits_of(self.strategies)

    def _claim(self, problem: FrictionProblem, request: Request) -> FrictionClaim:
        """Lay the problem out between its bodies, and make the attempts."""
        from lcp.contacts.kernels.attempts import NONE
        from lcp.contacts.kernels.judging import Case

        z0, tolerance, trace = request
        watch = Watch(problem, tolerance, self.time_limit, trace)
        start = watch.units.start(z0)
        if watch.look(start, 0) <= 1.0 or watch.late:
            return watch.claim(0)
        bodies = problem._bodies if problem._bodies is not None else bodies_of_matrix(problem)
        rows = None if bodies is None else contact_rows(problem, bodies, watch.units)
        if rows is None:
            return watch.claim(
                0,
                "W is not symmetric and positive semidefinite, or too large to tell: pose the problem with its bodies",
                Status.UNSUITABLE,
            )
        if _SYSTEMS * _products(rows.system) > _SPEED * (watch.deadline - processor_seconds()):
            return watch.claim(0, "the first attempts would outlast the time limit", Status.ITERATION_LIMIT)
        # FCLIB's residual adds forces to velocities, and asks for more where W is small.
        strict = tolerance * max(_SHARE * min(1.0, watch.units.w), _STRICTEST)
        allowed, variables = bits_of(self.strategies), rows.variables(start)
        case = Case(rows.system, rows.starts, True, z0 is not None, True, allowed, variables, strict)
        found = propose_forces(case, watch.deadline)
        answered = found.attempt != NONE
        forces = rows.forces(found.answer.z if answered else found.answer.best)
        if watch.look(rows.swept(forces), found.systems) > 1.0:
            watch.look(forces, found.systems)
        detail = RECORDED[found.attempt] if answered else "no attempt led to forces that solve the problem"
        return watch.claim(found.systems, detail, Status.STALLED)


def _products(system: ContactSystem) -> float:
    """How many products it takes, about, to form one linear system: each contact has a block of its velocities."""
    spans = system.spans[: system.nc]
    if not len(spans):
        return 9.0 * system.nc * float(system.v_free.size) ** 2
    widths = (spans[:, 1] - spans[:, 0] + spans[:, 3] - spans[:, 2]).astype(float)
    return float(9.0 * np.sum(widths**2))


@dataclass(frozen=True, eq=False)
class ContactRows:
    """The rows [N; F] of a problem in its solvers' units, every contact with as many tangents as any; h is 1."""

    system: ContactSystem
    starts: Indices  # (nt + 1,) first velocity of each tree
    present: Vector  # (nc, 1 + r) 1 for components that a contact has

    def variables(self, rows: Vector) -> Vector:
        """Forces in rows (nc, 3) as variables (fN, fF+, fF-, lambda) of an LCP."""
        friction = (rows[:, : self.present.shape[1]] * self.present)[:, 1:].ravel()
        return np.concatenate(
            (rows[:, 0], np.maximum(friction, 0.0), np.maximum(-friction, 0.0), np.zeros(self.system.nc))
        )

    def forces(self, z: Vector) -> Vector:
        """Rows (nc, 3) of such variables."""
        nc, nr = self.system.nc, self.system.nr
        rows = np.zeros((nc, 3))
        rows[:, 0] = z[:nc]
        rows[:, 1 : self.present.shape[1]] = (z[nc : nc + nr] - z[nc + nr : nc + 2 * nr]).reshape(nc, -1)
        rows[:, : self.present.shape[1]] *= self.present
        return rows

    def swept(self, rows: Vector) -> Vector:
        """Forces (nc, 3) without those that are rounding of the largest one.

        They are nothing beside the rest of the problem, and everything among bodies that rest on each other as they
        move.
        """
        size = np.abs(rows).max(axis=1, initial=0.0)
        return np.where((size > _DUST * size.max(initial=0.0))[:, None], rows, 0.0)


def contact_rows(problem: FrictionProblem, bodies: Bodies, units: Scaled) -> ContactRows | None:
    """Lay a problem out between its bodies; None where it is too large.

    A contact that lacks a tangent has a row of zeros in its place: nothing moves along it, and no force comes of it.
    """
    from lcp.contacts.kernels.contact_system import ContactSystem

    nc, nv, dims = problem.nc, bodies.v_free.shape[0], problem._dims
    r = int(dims.max()) - 1
    nr = nc * r
    if nv * (nc + nr + nv) > _MOST:
        return None
    first = np.cumsum(dims) - dims
    contact = np.repeat(np.arange(nc, dtype=np.int64), dims)
    component = np.arange(problem.m, dtype=np.int64) - first[contact]
    place = np.where(component == 0, contact, nc + contact * r + component - 1)
    entries = bodies.J.tocoo()
    # Pages of zeros that nobody writes to take no memory.
    J = np.zeros((nc + nr, nv))
    J[place[entries.row], entries.col] = entries.data / np.sqrt(units.w)
    k = np.zeros(nc + nr)
    k[place] = bodies.bias / units.p
    v_free = bodies.v_free * (np.sqrt(units.w) / units.p)
    starts = bodies.starts
    spans = contact_spans(starts, nc, contact[entries.row], entries.col)
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
        spans=spans,
        own=np.zeros(0),
    )
    return ContactRows(system, starts, (np.arange(1 + r) < dims[:, None]).astype(np.float64))

"""Impact laws: base classes, checks of their parameters, outcomes, and several contacts in sequence.

In a sequence each collision is solved as if the other contacts were absent. It can make any contact approach again. The
sequence ends when no contact approaches. The choice among simultaneous contacts can matter, and is part of the law: the
fastest first, among equals the lowest number (Han and Gilmore 1993). If the highest number leads to another outcome,
the order broke a symmetry, and a notice reports it.
"""

from __future__ import annotations

import itertools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np

from contactlab.constraint_solver.certificate import Certificate
from contactlab.impact.collision import Collision, ImpactProblem, Restitution, check_restitution, coefficients
from contactlab.impact.single import Ending, NoSeparationError, SingleImpact, single_impact
from contactlab.multibody.spatial.arrays import FloatArray, ImpactError
from problem_data import ConstraintForces, ConstraintVelProblemData

# Growth of the energy by rounding, relative to the energy before.
_ENERGY_ROUNDING = 1e-12


class ImpactStatus(Enum):
    """How a law ended."""

    SOLVED = "solved"
    #: a sequential law reached its maximum number of collisions
    SEQUENCE_LIMIT = "the sequence of collisions did not end"
    #: the bodies are jammed: no impulse, however large, separates them
    JAMMED = "no impulse separates the bodies"


@dataclass(frozen=True, eq=False)
class ImpactOutcome:
    """Velocity and impulses of one impact under one law.

    Parameters
    ----------
    law : str
        Name of the law.
    status : ImpactStatus
        SOLVED, or the reason why ``v_plus`` is only the last velocity reached.
    v_minus, v_plus : ndarray, shape (nv,)
        Generalised velocity before (projected onto the bilateral rows) and after.
    impulses : ConstraintForces
        By class of constraint [N s, N m s].
    u_minus, u_plus : ndarray, shape (nc,)
        Normal velocities of the contacts before and after [m/s], without normal terms.
    work_normal, work_tangential : ndarray, shape (nc,)
        Work of each contact's normal and friction impulse [J]: along its path, if the law has one; otherwise impulse
        times mean velocity. Then only the sum equals the work along a path: the part of friction may be positive.
    energy_before, energy_after : float
        Kinetic energy [J].
    sequence : tuple of SingleImpact
        Collisions of a sequential law in their order, with their impulse paths if the law integrates them.
    certificate : Certificate or None
        Conditions of the impact LCP, for laws that solve one.
    message : str
        Reason for a failure; otherwise empty.
    accuracy : float
        Error of the energy by the law's arithmetic (rounding or integration), relative to the energy before.
    notice : str
        Choices in a solved outcome that do not follow from the data, such as the order of contacts with equal speeds.
    """

    law: str
    status: ImpactStatus
    v_minus: FloatArray
    v_plus: FloatArray
    impulses: ConstraintForces
    u_minus: FloatArray
    u_plus: FloatArray
    work_normal: FloatArray
    work_tangential: FloatArray
    energy_before: float
    energy_after: float
    sequence: tuple[SingleImpact, ...] = ()
    certificate: Certificate | None = None
    message: str = ""
    notice: str = ""
    accuracy: float = _ENERGY_ROUNDING

    @property
    def solved(self) -> bool:
        """Return True if the law ended regularly."""
        return self.status is ImpactStatus.SOLVED

    @property
    def collisions(self) -> int:
        """Number of collisions of a sequential law; 0 for a simultaneous one."""
        return len(self.sequence)

    @property
    def energy_ratio(self) -> float:
        """Energy after over energy before; 1 if both are zero, infinite if only the energy before is zero."""
        if self.energy_before > 0.0:
            return self.energy_after / self.energy_before
        return 1.0 if self.energy_after == 0.0 else float("inf")

    @property
    def gains_energy(self) -> bool:
        """Return True if the law increased the energy, which no passive impact does."""
        return self.energy_after > self.energy_before * (1.0 + self.accuracy)

    @property
    def separates(self) -> bool:
        """Return True if no contact approaches any more (up to rounding of the velocities)."""
        size = float(np.abs(self.u_minus).max(initial=0.0))
        return bool((self.u_plus >= -1e-9 * size).all())

    def __repr__(self) -> str:
        flag = ", gains energy" if self.gains_energy else ""
        return f"ImpactOutcome({self.law}, {self.status.name}, energy ratio {self.energy_ratio:.6g}{flag})"


def outcome(
    problem: ImpactProblem,
    f: FloatArray,
    *,
    status: ImpactStatus = ImpactStatus.SOLVED,
    work: tuple[FloatArray, FloatArray] | None = None,
    sequence: tuple[SingleImpact, ...] = (),
    certificate: Certificate | None = None,
    message: str = "",
    accuracy: float = _ENERGY_ROUNDING,
) -> ImpactOutcome:
    """Return the complete outcome of a law from its impulses f (nu + nbox,) along [N; F; L; B].

    ``work`` (normal, tangential), if the law knows the path; otherwise impulse times mean velocity, which is exact
    in the sum over all contacts.
    """
    blocks = problem.blocks
    nc, nr = blocks.nc, blocks.nr
    impulses, v_plus = problem.outcome_of(f)
    v_minus = problem.v_minus
    J = blocks.J
    mean = 0.5 * (J[: nc + nr] @ (v_minus + v_plus))
    if work is None:
        friction = np.zeros(nc)
        np.add.at(friction, np.repeat(np.arange(nc), blocks.r), f[nc : nc + nr] * mean[nc:])
        work = f[:nc] * mean[:nc], friction
    # M v of the velocities on the bilateral rows; the projection onto them precedes the impact.
    before = 0.5 * float((blocks.Mv + problem.bilateral_impulses.packed() @ J) @ v_minus)
    after = 0.5 * float((blocks.Mv + impulses.packed() @ J) @ v_plus)
    values = J[:nc] @ v_minus, J[:nc] @ v_plus, *work, before, after, sequence, certificate, message
    return ImpactOutcome(problem.law, status, v_minus, v_plus, impulses, *values, accuracy=accuracy)


# Approach speed, relative to the first one, that counts as rest, because a ball between two others comes to rest only
# after infinitely many collisions.
_REST_SPEED = 1e-13

# Relative differences of equal approach speeds (to the fastest), and of equal final velocities (to the initial ones).
_TIE = 1e-9


#: Solver of a single collision from its velocity (1 + m,) and coefficient.
Collide = Callable[[Collision, FloatArray, float], SingleImpact]


def solve_in_sequence(
    problem: ImpactProblem, restitution: Restitution, collide: Collide, max_collisions: int
) -> ImpactOutcome:
    """Return the outcome of collisions in sequence, each by ``collide``, until no contact approaches."""
    found, tied = _run_sequence(problem, restitution, collide, max_collisions, last=False)
    if not tied or not found.solved:
        return found
    other, _ = _run_sequence(problem, restitution, collide, max_collisions, last=True)
    off = problem.blocks.J[: problem.blocks.nc] @ (found.v_plus - other.v_plus)
    if other.solved and float(np.abs(off).max(initial=0.0)) <= _TIE * float(np.abs(found.u_minus).max(initial=0.0)):
        return found
    who = ", ".join(str(i) for i in tied)
    notice = (
        f"contacts {who} approached equally fast, and which of them went first decided the outcome: the order broke a "
        "symmetry of the data; `impact.outcome_set` has all orders, and simultaneous laws have none"
    )
    return replace(found, notice=notice)


def solve_if_decoupled(
    problem: ImpactProblem, restitution: Restitution, collide: Collide, max_collisions: int
) -> ImpactOutcome | None:
    """Return the outcome of collisions in sequence if contacts are independent, so that any order gives it, or None.

    Contacts are independent if they do not move one another, or if the only approaching one causes no other to
    approach.
    """
    collisions = problem.collisions
    responses = [float(np.abs(one.W).max(initial=0.0)) for one in collisions]
    size = max(responses, default=0.0)
    coupled = any(
        float(np.abs(a.J @ b.Y.T).max(initial=0.0)) > _TIE * size for a, b in itertools.combinations(collisions, 2)
    )
    approach = [float(one.velocity(problem.v_minus)[0]) for one in collisions]
    fastest = max(0.0, -min(approach, default=0.0))
    if coupled and sum(speed < -_REST_SPEED * fastest for speed in approach) > 1:
        return None
    found, _ = _run_sequence(problem, restitution, collide, max_collisions, last=False)
    if not coupled:
        return found
    if len(found.sequence) > 1 or not found.solved:
        return None
    for single in found.sequence:
        others = [one for one in collisions if one.index != single.contact]
        for p in (state.p for segment in single.segments for state in segment.states):
            v = problem.v_minus + p @ collisions[single.contact].Y
            if any(float(one.velocity(v)[0]) < -_TIE * fastest for one in others):
                return None
    return found


def _run_sequence(
    problem: ImpactProblem, restitution: Restitution, collide: Collide, max_collisions: int, *, last: bool
) -> tuple[ImpactOutcome, tuple[int, ...]]:
    """Return the outcome of a sequence, beginning with the first or the ``last`` of equal contacts, and the ties."""
    b = problem.blocks
    collisions = problem.collisions
    v = problem.v_minus.copy()
    f = np.zeros(b.nc + b.nr + b.nl)
    work = np.zeros((2, b.nc + b.nl))
    # Checked before the first collision; laws that depend on speed are checked at the present speeds.
    approach = np.array([max(0.0, -float(c.velocity(v)[0])) for c in collisions])
    coefficients(restitution, approach[: b.nc])
    rest = _REST_SPEED * float(approach.max(initial=0.0))
    done: list[SingleImpact] = []
    status, message = ImpactStatus.SOLVED, ""
    tied: tuple[int, ...] = ()
    while collisions:
        speeds = np.array([float(c.velocity(v)[0]) for c in collisions])
        fastest = int(np.argmin(speeds))
        if speeds[fastest] >= -rest:
            break
        equal = np.flatnonzero(speeds <= speeds[fastest] * (1.0 - _TIE))
        if len(equal) > 1:
            tied = tied or tuple(equal.tolist())
            fastest = int(equal[-1 if last else 0])
        if len(done) >= max_collisions:
            status = ImpactStatus.SEQUENCE_LIMIT
            message = f"contact {fastest} still approaches at {-speeds[fastest]:.3g} m/s after {max_collisions}"
            break
        collision = collisions[fastest]
        e = coefficients(restitution, -np.minimum(0.0, speeds[: b.nc]))[fastest] if fastest < b.nc else 0.0
        try:
            if collision.W[0, 0] <= 0.0:
                raise NoSeparationError("no impulse, however large, separates the bodies")
            single = collide(collision, collision.velocity(v), float(e))
        except NoSeparationError as error:
            status, message = ImpactStatus.JAMMED, f"contact {fastest}: {error}"
            break
        done.append(single)
        f += problem.rows_of(collision, single.impulse)
        work[:, fastest] += single.work_normal, single.work_tangential
        v = v + single.impulse @ collision.Y
    found = outcome(
        problem, f, status=status, work=(work[0, : b.nc], work[1, : b.nc]), sequence=tuple(done), message=message
    )
    return found, tied


@runtime_checkable
class ImpactLaw(Protocol):
    """An impact law: a frozen value that turns problem data into an outcome.

    A user's law that does not use restitution of materials may derive from this class and define only `title` and
    `solve`; a law for single collisions derives from `SequentialLaw`.
    """

    @property
    def title(self) -> str:
        """Name for tables and messages."""
        ...

    def of_materials(self, restitution: Restitution) -> ImpactLaw:
        """Return the law with this restitution of materials; itself if it does not use it."""
        return self

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact."""
        ...


@dataclass(frozen=True, eq=False)
class RestitutedLaw(ABC):
    """A law with coefficients of restitution; by default the coefficients of the materials."""

    restitution: Restitution | None = None
    max_collisions: int = field(default=10_000, kw_only=True)

    title: ClassVar[str]

    def __post_init__(self) -> None:
        if self.restitution is not None:
            check_restitution(self.restitution)
        try:
            count = operator.index(self.max_collisions)
        except TypeError as error:
            raise ImpactError("max_collisions", f"must be a whole number, got {self.max_collisions!r}") from error
        if count < 1:
            raise ImpactError("max_collisions", f"must be at least 1, got {count}")

    def of_materials(self, restitution: Restitution) -> Self:
        """Return the law with the restitution of materials; itself if it has its own values."""
        return self if self.restitution is not None else replace(self, restitution=restitution)

    @abstractmethod
    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before."""


@dataclass(frozen=True, eq=False)
class SequentialLaw(RestitutedLaw):
    """A law for a single collision, `collide`; several contacts collide one after the other, the fastest first.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient; default the materials' coefficient, which event-driven runs supply.
    max_collisions : int
        Number of collisions after which the outcome is `SEQUENCE_LIMIT`.
    """

    #: Error of the energy by the arithmetic of ``collide``, relative to the energy before.
    accuracy: ClassVar[float] = 1e-12

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before.

        Raises `ImpactError` if the law does not support the data.
        """
        restitution = given_restitution(self.restitution, self.title)
        found = solve_in_sequence(ImpactProblem(data, self.title), restitution, self.collide, self.max_collisions)
        return replace(found, accuracy=self.accuracy)

    @abstractmethod
    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact, without the others, from its velocity u (1 + m,), u[0] < 0."""


@dataclass(frozen=True, eq=False)
class OrderedLaw(RestitutedLaw):
    """A law for all contacts together, or one after the other, each by Routh's method up to its ``ending``."""

    order: Literal["simultaneous", "sequential"] = "simultaneous"

    ending: ClassVar[Ending]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order not in ("simultaneous", "sequential"):
            raise ImpactError("order", f"must be 'simultaneous' or 'sequential', got {self.order!r}")

    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact, without the others, from its velocity u (1 + m,), u[0] < 0."""
        return single_impact(collision, u, e, self.ending)

    def solve(self, data: ConstraintVelProblemData) -> ImpactOutcome:
        """Return velocity and impulses after the impact of ``data``, whose Mv is the momentum before.

        Raises
        ------
        ImpactError
            The law does not support the data.
        ConstraintSolveError
            An LCP of the simultaneous law was not solved.
        """
        problem = ImpactProblem(data, f"{self.title}, {self.order}")
        if self.order == "simultaneous":
            return self._solve_simultaneous(problem)
        restitution = given_restitution(self.restitution, self.title)
        return solve_in_sequence(problem, restitution, self.collide, self.max_collisions)

    @abstractmethod
    def _solve_simultaneous(self, problem: ImpactProblem) -> ImpactOutcome:
        """Return the outcome of the simultaneous law."""


def given_restitution(restitution: Restitution | None, title: str) -> Restitution:
    """Return the restitution of a law; raise if it has none, because only event-driven runs supply the materials'."""
    if restitution is None:
        detail = (
            "event-driven runs supply the materials' restitution, and only Newton's simultaneous law uses the data's kN"
        )
        raise ImpactError("restitution", f"{title}'s law was given none: {detail}")
    return restitution


def with_normal_terms(
    data: ConstraintVelProblemData, kN: FloatArray, Mv: FloatArray | None = None, v_free: FloatArray | None = None
) -> ConstraintVelProblemData:
    """Return a copy of the data with other kN (nc,) and, if both are given, another momentum Mv and v_free (nv,)."""
    blocks = data.blocks()
    k = blocks.k.copy()
    k[: blocks.nc] = kN
    changed = blocks._replace(k=k)
    if Mv is not None and v_free is not None:
        changed = changed._replace(Mv=Mv, v_free=v_free)
    return ConstraintVelProblemData.from_blocks(changed, solve_inertia=data.solve_inertia, friction=data.friction)


def with_newtons_terms(problem: ImpactProblem, restitution: Restitution) -> ConstraintVelProblemData:
    """Return the problem with kN = e N v- for the contacts that approach."""
    u = problem.blocks.J[: problem.data.nc] @ problem.v_minus
    e = coefficients(restitution, np.maximum(0.0, -u))
    return with_normal_terms(problem.data, e * np.minimum(0.0, u))

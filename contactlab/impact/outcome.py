"""Outcome of an impact law."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from contactlab.certificate import Certificate
from contactlab.impact.collision import ImpactProblem
from contactlab.impact.single import SingleImpact
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintForces

# Growth of the energy that rounding explains, relative to the energy before.
_GROWTH = 1e-12


class ImpactStatus(Enum):
    """End of a law."""

    SOLVED = "solved"
    #: a sequential law was still at it at its largest number of collisions
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
        SOLVED, or why the velocity below is only as far as the law got.
    v_minus, v_plus : ndarray, shape (nv,)
        Generalised velocity before (led onto the bilateral rows) and after.
    impulses : ConstraintForces
        By class of constraint [N s, N m s].
    u_minus, u_plus : ndarray, shape (nc,)
        Normal velocities of the contacts before and after [m/s], without normal terms.
    work_normal, work_tangential : ndarray, shape (nc,)
        Work of each contact's normal and friction impulse [J]: along its path, if the law follows one; otherwise
        impulse times mean velocity. Only the sum equals the work along a path: the part of friction may be positive.
    energy_before, energy_after : float
        Kinetic energy [J].
    sequence : tuple of SingleImpact
        Collisions of a sequential law in their order, with the path of each if the law integrates one.
    certificate : Certificate or None
        Conditions of the impact LCP, of laws that solve one.
    message : str
        Reason for a failure; otherwise empty.
    accuracy : float
        Error of the energy, relative to the energy before, that the law's arithmetic explains: rounding or integration.
    notice : str
        What a solved outcome hangs on that the data do not say, as the order of contacts that approach equally fast.
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
    accuracy: float = _GROWTH

    @property
    def solved(self) -> bool:
        """Whether the law came to its end."""
        return self.status is ImpactStatus.SOLVED

    @property
    def collisions(self) -> int:
        """How many collisions a law took one after the other; 0 of one of all contacts at once."""
        return len(self.sequence)

    @property
    def energy_ratio(self) -> float:
        """Energy after over energy before; 1 if both are zero, infinite if only the energy before is zero."""
        if self.energy_before > 0.0:
            return self.energy_after / self.energy_before
        return 1.0 if self.energy_after == 0.0 else float("inf")

    @property
    def gains_energy(self) -> bool:
        """Whether the law gave the bodies energy, which no passive impact does."""
        return self.energy_after > self.energy_before * (1.0 + self.accuracy)

    @property
    def separates(self) -> bool:
        """Whether no contact approaches any more (to rounding of the velocities)."""
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
    accuracy: float = _GROWTH,
) -> ImpactOutcome:
    """Complete the answer of a law from its impulses f (nu + nbox,) along [N; F; L; B].

    ``work`` (normal, tangential), where the law knows the course; otherwise impulse times mean velocity, which is exact
    in sum over all contacts.
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
    # M v of the velocities on the bilateral rows; their cause belongs to the state before.
    before = 0.5 * float((blocks.Mv + problem.bilateral_impulses.packed() @ J) @ v_minus)
    after = 0.5 * float((blocks.Mv + impulses.packed() @ J) @ v_plus)
    told = J[:nc] @ v_minus, J[:nc] @ v_plus, *work, before, after, sequence, certificate, message
    return ImpactOutcome(problem.law, status, v_minus, v_plus, impulses, *told, accuracy=accuracy)

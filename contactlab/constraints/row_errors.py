"""How far a state is from meeting the constraints."""

from __future__ import annotations

from numpy.typing import ArrayLike

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.evaluation import evaluated
from contactlab.constraints.kernels.wanted import POSITION_ERROR, VELOCITY_ERROR
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

__all__ = ["constraint_position_error", "constraint_velocity_error"]


def constraint_position_error(
    model: Model, q: Instant, cs: ConstraintSet, *, group: str | int | None = None, t: float = 0.0
) -> FloatArray:
    """Position errors (nc,), or of one group's rows: those of loops and of custom constraints at position level.

    A contact's is zero, there being no ground to measure from; a loop's rotation error is the sine of the angle, zero
    at 180 degrees too.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    cs
        The set.
    group
        Name or id of a group.
    t
        Time [s], for custom constraints that depend on it.
    """
    phi = evaluated(model, q, None, cs, POSITION_ERROR, t).phi
    return phi if group is None else phi[cs.rows(group)]


def constraint_velocity_error(
    model: Model, q: Instant, v: ArrayLike | None, cs: ConstraintSet, *, group: str | int | None = None, t: float = 0.0
) -> FloatArray:
    """Velocity errors (nc,), or of one group's rows: G v, and phi_t where a custom constraint depends on time.

    At velocity level it is the condition itself, at acceleration level zero. v (nv,), or None with a `Kinematics` that
    has velocities; the rest as for `constraint_position_error`.
    """
    phid = evaluated(model, q, v, cs, VELOCITY_ERROR, t).phid
    return phid if group is None else phid[cs.rows(group)]

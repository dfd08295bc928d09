"""How the rows of a set depend on the velocities."""

from __future__ import annotations

from numpy.typing import ArrayLike

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.evaluation import evaluated
from contactlab.constraints.kernels.wanted import JACOBIAN
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

__all__ = ["constraint_jacobian"]


def constraint_jacobian(
    model: Model, q: Instant, cs: ConstraintSet, *, v: ArrayLike | None = None, t: float = 0.0
) -> FloatArray:
    """G (nc, nv): G v are the rows' velocities, G^T lambda the effect of forces lambda along them.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    cs
        The set.
    v
        (nv,), needed only where a custom constraint's Jacobian depends on it.
    t
        Time [s], for custom constraints that depend on it.
    """
    return evaluated(model, q, v, cs, JACOBIAN, t).G

"""Actuation: the degrees of freedom with a drive, and whether they determine the motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.evaluation import constraint_jacobian
from contactlab.constraints.row_space import row_space
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, finite_array

# What is left of a row of unit length where there are no drives: below this, rounding.
_ROUNDING: Final = 1e-12


@dataclass(frozen=True)
class Actuation:
    """Whether drives and constraints together determine the motion; true where they do.

    Attributes
    ----------
    rank
        Rank of G P^T: the rows' columns of the degrees of freedom without a drive.
    unactuated
        Number of these (nu).
    """

    rank: int
    unactuated: int

    def __bool__(self) -> bool:
        return self.rank == self.unactuated


def checked_mask(model: Model, actuated: ArrayLike) -> NDArray[np.bool_]:
    """``actuated`` as a boolean mask (nv,); 0 and 1 are no booleans, lest lists of indices pass."""
    try:
        mask = np.asarray(actuated)
    except ValueError as cause:
        raise ConstraintError("actuated", f"cannot be read as a mask of booleans ({cause})") from cause
    if mask.shape != (model.nv,):
        raise ConstraintError("actuated", f"must have shape ({model.nv},), got {mask.shape}")
    if model.nv and mask.dtype != np.bool_:
        raise ConstraintError("actuated", f"must be a mask of booleans, got {mask.dtype}")
    return mask.astype(np.bool_)


def wanted_acceleration(a_desired: ArrayLike, actuated: NDArray[np.bool_]) -> FloatArray:
    """The wanted accelerations (na,) of the actuated entries, given as (na,) or within (nv,)."""
    given = finite_array(a_desired, "a_desired", (None,), ConstraintError)
    na, nv = int(np.count_nonzero(actuated)), actuated.shape[0]
    if given.shape[0] == nv:
        return given[actuated]
    if given.shape[0] != na:
        raise ConstraintError("a_desired", f"must have length {nv} (nv) or {na} (actuated), got {given.shape[0]}")
    return given


def is_fully_actuated(
    model: Model, q: Instant, cs: ConstraintSet, actuated: ArrayLike, *, v: ArrayLike | None = None, t: float = 0.0
) -> Actuation:
    """Whether the accelerations of the actuated entries and the constraints determine all others: rank(G P^T) = nu.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    cs
        The constraints; their rows may depend on each other.
    actuated
        Boolean mask (nv,). All true is fully actuated; all false is where the constraints leave no freedom.
    v, t
        Velocity (nv,) and time [s], for custom rows that depend on them.

    Returns
    -------
    Actuation
        Its truth is the answer; `rank` and `unactuated` say by how much it fails.
    """
    mask = checked_mask(model, actuated)
    return actuation_of(constraint_jacobian(model, q, cs, v=v, t=t), mask)


def actuation_of(G: FloatArray, actuated: NDArray[np.bool_]) -> Actuation:
    """Actuation of a given G (nc, nv)."""
    length = np.linalg.norm(G, axis=1, keepdims=True)
    reduced = (G / np.where(length > 0.0, length, 1.0))[:, ~actuated]
    return Actuation(row_space(reduced[np.linalg.norm(reduced, axis=1) > _ROUNDING]).rank, reduced.shape[1])

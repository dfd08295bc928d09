"""Limits on position, velocity and effort of joints: data of every model, never forces."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.joints import Joint
from contactlab.multibody.kernels import codes
from contactlab.spatial.arrays import FloatArray, read_only
from contactlab.spatial.errors import MultibodyError


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits of degrees of freedom, infinite if there is none.

    Each is one number for all degrees of freedom of a joint, or an array, (nv,); those of a model are arrays.

    Attributes
    ----------
    lower, upper
        Smallest and largest position [rad or m]; infinite for orientations.
    velocity, effort
        Largest speed [rad/s or m/s] and largest force or torque [N or N m], not negative.

    Raises
    ------
    MultibodyError
        NaN, a lower end above the upper, a negative speed or effort.
    """

    lower: ArrayLike = -math.inf
    upper: ArrayLike = math.inf
    velocity: ArrayLike = math.inf
    effort: ArrayLike = math.inf

    def __post_init__(self) -> None:
        for one in fields(self):
            try:
                value = np.array(getattr(self, one.name), dtype=np.float64)
            except (TypeError, ValueError) as cause:
                raise MultibodyError(f"limits.{one.name}", f"cannot be read as floats ({cause})") from cause
            if value.ndim > 1 or np.isnan(value).any():
                raise MultibodyError(f"limits.{one.name}", f"must be numbers, one or (nv,), got {value}")
            if one.name in ("velocity", "effort") and np.any(value < 0.0):
                raise MultibodyError(f"limits.{one.name}", f"must not be negative, got {float(value.min())}")
            object.__setattr__(self, one.name, read_only(value))

    def of(self, joint: Joint) -> JointLimits:
        """Return the same, checked, with one number per degree of freedom of a joint."""
        try:
            spread = JointLimits(*(np.broadcast_to(getattr(self, one.name), (joint.nv,)) for one in fields(self)))
        except ValueError as cause:
            raise MultibodyError("limits", f"must be numbers or ({joint.nv},) for this joint: {cause}") from cause
        lower, upper = np.asarray(spread.lower), np.asarray(spread.upper)
        if np.any(lower > upper):
            i = int(np.argmax(lower > upper))
            raise MultibodyError("limits", f"lower {lower[i]:g} exceeds upper {upper[i]:g}")
        for i, place in enumerate(positions(joint)):
            if place is None and (math.isfinite(lower[i]) or math.isfinite(upper[i])):
                raise MultibodyError("limits", f"coordinate {i} turns an orientation: it has no position of its own")
        return spread

    def ranges(self) -> list[tuple[int, float, float]]:
        """Number, lower and upper end of every degree of freedom that has an end."""
        ends = zip(np.ravel(self.lower).tolist(), np.ravel(self.upper).tolist(), strict=True)
        return [(k, low, high) for k, (low, high) in enumerate(ends) if math.isfinite(low) or math.isfinite(high)]

    @classmethod
    def joined(cls, parts: Iterable[JointLimits]) -> JointLimits:
        """Return the limits of several joints, one after the other."""
        listed = list(parts)
        return cls(*(np.concatenate([np.zeros(0), *(getattr(p, one.name) for p in listed)]) for one in fields(cls)))


def positions(joint: Joint) -> list[int | None]:
    """Return the index of the coordinate whose rate each velocity of a joint is; None for orientations."""
    found: list[int | None] = []
    at = 0
    for motion in joint.chain():
        if motion.kind == codes.CUSTOM:
            nq, nv = joint.nq, joint.nv
            found += range(nq) if nq == nv else [None] * nv
            at += nq
            continue
        straight = motion.nv if motion.nq == motion.nv else 3 if motion.kind == codes.FLOATING else 0
        found += [at + i if i < straight else None for i in range(motion.nv)]
        at += motion.nq
    return found


def in_configuration(parts: Iterable[tuple[Joint, slice, JointLimits]], nq: int) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest q, (nq,) each, of joints with their slices of q."""
    lower, upper = np.full(nq, -np.inf), np.full(nq, np.inf)
    for joint, place, limits in parts:
        for k, at in enumerate(positions(joint)):
            if at is not None:
                lower[place.start + at] = np.asarray(limits.lower)[k]
                upper[place.start + at] = np.asarray(limits.upper)[k]
    return lower, upper

"""Coefficients of restitution: numbers, one per contact, or a law of the speed of approach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact import RestitutionLaw
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.errors import ImpactError

#: A coefficient or a law of the speed, for all contacts; or one per contact, numbers and laws as they come.
Restitution = ArrayLike | RestitutionLaw | Sequence[float | RestitutionLaw]


def check_restitution(restitution: Restitution) -> None:
    """Refuse values that cannot be restitution, before there is a problem to compare lengths with."""
    if isinstance(restitution, RestitutionLaw):
        return
    if _mixed(restitution):
        for one in restitution:
            check_restitution(one)
        return
    try:
        array = np.array(restitution, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ImpactError("restitution", f"must be numbers or have a method at(speed), got {restitution!r}") from error
    if array.ndim > 1:
        raise ImpactError("restitution", f"must be a number or one per contact, got shape {array.shape}")
    _check_range(array)


def coefficients(restitution: Restitution, approach: FloatArray) -> FloatArray:
    """Return the coefficient of each contact (nc,) for its speed of approach (nc,) [m/s]."""
    if isinstance(restitution, RestitutionLaw):
        values = np.array([float(restitution.at(max(0.0, float(speed)))) for speed in approach])
        _check_range(values)
        return values
    if _mixed(restitution):
        if len(restitution) != len(approach):
            raise ImpactError("restitution", f"has {len(restitution)} entries for {len(approach)} contacts")
        return np.array([coefficients(one, approach[i : i + 1])[0] for i, one in enumerate(restitution)])
    array = np.array(restitution, dtype=np.float64)
    if array.ndim == 1 and array.shape != approach.shape:
        raise ImpactError("restitution", f"has {array.size} entries for {approach.size} contacts")
    _check_range(array)
    return np.full(approach.shape, float(array)) if array.ndim == 0 else array


def _mixed(restitution: Restitution) -> TypeGuard[Sequence[float | RestitutionLaw]]:
    """Whether some contacts have a law of their own."""
    return isinstance(restitution, Sequence) and any(isinstance(one, RestitutionLaw) for one in restitution)


def _check_range(values: FloatArray) -> None:
    bad = np.atleast_1d(values)[~((np.atleast_1d(values) >= 0.0) & (np.atleast_1d(values) <= 1.0))]
    if bad.size:
        raise ImpactError("restitution", f"must lie between 0 and 1, got {bad[0]}")

"""Mass distribution of a rigid body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only
from contactlab.spatial.errors import SpatialError

__all__ = ["RigidInertia"]

# Relative slack: of the symmetry and of the triangle inequality (a flat plate meets it with equality).
SLACK = 1e-9
# Smallest principal moment relative to the largest that counts as positive: below it I^-1 has no correct digits.
SINGULAR = 1e-12


@dataclass(frozen=True, eq=False, init=False)
class RigidInertia:
    """Mass, centre of mass and inertia of a body.

    Parameters
    ----------
    mass
        m > 0 [kg].
    com
        Centre of mass (3,) in body axes, from the body origin [m].
    inertia
        I_c (3, 3) [kg m^2] about the centre of mass, body axes: symmetric, positive definite, and with principal
        moments a <= b <= c that some mass distribution has (c <= a + b).

    Raises
    ------
    SpatialError
        Naming the field and the entry or principal moments at fault.
    """

    mass: float
    com: FloatArray
    inertia: FloatArray

    def __init__(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), *, inertia: ArrayLike) -> None:
        object.__setattr__(self, "mass", _positive(mass, "mass"))
        object.__setattr__(self, "com", read_only(finite_array(com, "com", (3,), SpatialError)))
        object.__setattr__(self, "inertia", read_only(_checked_inertia(inertia)))

    @classmethod
    def solid_box(cls, mass: float, half_extents: ArrayLike) -> RigidInertia:
        """Homogeneous box of half side lengths ``half_extents`` (3,) [m], axes and origin at its middle."""
        mass = _positive(mass, "mass")
        half = finite_array(half_extents, "half_extents", (3,), SpatialError)
        for i in range(3):
            _positive(float(half[i]), f"half_extents[{i}]")
        squares = half * half
        return cls(mass, inertia=np.diag(mass / 3.0 * (np.sum(squares) - squares)))

    @classmethod
    def solid_sphere(cls, mass: float, radius: float) -> RigidInertia:
        """Homogeneous ball of the given radius [m], origin at its middle."""
        mass, radius = _positive(mass, "mass"), _positive(radius, "radius")
        return cls(mass, inertia=0.4 * mass * radius * radius * np.eye(3))


def _positive(value: float, field: str) -> float:
    number = finite_number(value, field, SpatialError)
    if number <= 0.0:
        raise SpatialError(field, f"must be positive, got {number}")
    return number


def _checked_inertia(value: ArrayLike) -> FloatArray:
    inertia = finite_array(value, "inertia", (3, 3), SpatialError)
    scale = float(np.max(np.abs(inertia)))
    i, j = np.unravel_index(int(np.argmax(np.abs(inertia - inertia.T))), (3, 3))
    if abs(inertia[i, j] - inertia[j, i]) > SLACK * scale:
        raise SpatialError(
            "inertia", f"is not symmetric: entry [{i}, {j}] is {inertia[i, j]}, entry [{j}, {i}] is {inertia[j, i]}"
        )
    inertia = 0.5 * (inertia + inertia.T)
    low, middle, high = np.linalg.eigvalsh(inertia)
    moments = f"principal moments {low:.6g}, {middle:.6g}, {high:.6g} kg m^2"
    if low <= SINGULAR * high:
        raise SpatialError("inertia", f"is not positive definite: {moments}")
    if high > (low + middle) * (1.0 + SLACK):
        detail = "belongs to no mass distribution, the largest moment exceeds the sum of the others"
        raise SpatialError("inertia", f"{detail}: {moments}")
    return inertia

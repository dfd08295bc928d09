"""Mass distribution of a rigid body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.spatial.algebra import cross_matrix
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only, rows_of
from contactlab.spatial.errors import SpatialError
from contactlab.spatial.transform import Transform

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

    def __init__(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> None:
        if inertia is None:
            raise SpatialError("inertia", "is needed: (3, 3) [kg m^2] about the centre of mass")
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

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> RigidInertia:
        """Read mass, centre of mass and inertia from a spatial inertia (6, 6) laid out as `matrix` gives it."""
        given = finite_array(matrix, "matrix", (6, 6), SpatialError)
        mass = float(given[3, 3])
        if mass <= 0.0:
            raise SpatialError("matrix", f"entry [3, 3], the mass, must be positive, got {mass}")
        c = np.array([given[2, 4], given[0, 5], given[1, 3]]) / mass
        made = cls(mass, c, inertia=given[:3, :3] - _parallel_axis(mass, c))
        off = np.abs(made.matrix() - given)
        if float(np.max(off)) > SLACK * float(np.max(np.abs(given))):
            i, j = (int(k) for k in np.unravel_index(int(np.argmax(off)), (6, 6)))
            raise SpatialError("matrix", f"belongs to no rigid body: entry [{i}, {j}] contradicts the others")
        return made

    def matrix(self) -> FloatArray:
        """Spatial inertia (6, 6) about the body origin: [[I_c + m cx cx^T, m cx], [-m cx, m 1]], cx y = c x y.

        Featherstone 2008, equation 2.63.
        """
        h = self.mass * cross_matrix(self.com)
        about = self.inertia + _parallel_axis(self.mass, self.com)
        return np.block([[about, h], [-h, self.mass * np.eye(3)]])

    def momentum(self, v: ArrayLike) -> FloatArray:
        """Spatial momentum (..., 6), about the body origin, of moving with the motion vectors v (..., 6)."""
        given = rows_of(v, "v", 6)
        w = given[..., :3]
        linear = self.mass * (given[..., 3:] + np.cross(w, self.com))
        return np.concatenate([w @ self.inertia + np.cross(self.com, linear), linear], axis=-1)

    def moved(self, X: Transform) -> RigidInertia:
        """The same mass distribution in the parent of the frame X it is given in."""
        return RigidInertia(self.mass, X.apply(self.com), inertia=X.R @ self.inertia @ X.R.T)

    def join(self, other: RigidInertia, placement: Transform | None = None) -> RigidInertia:
        """Both bodies as one, in this one's frame.

        Parameters
        ----------
        other
            The body to be joined, in its own frame.
        placement
            Pose of its frame in this one's; identity by default.
        """
        return self._sum(other if placement is None else other.moved(placement), 1.0)

    def separate(self, other: RigidInertia, placement: Transform | None = None) -> RigidInertia:
        """Remainder of a joined body without ``other``: the inverse of `join`.

        Raises
        ------
        SpatialError
            The remainder has no mass, or is no mass distribution: ``other`` was not part of this body.
        """
        if not self.mass - other.mass > SLACK * self.mass:
            raise SpatialError("mass", f"nothing remains: {other.mass} kg taken from {self.mass} kg")
        return self._sum(other if placement is None else other.moved(placement), -1.0)

    def _sum(self, other: RigidInertia, sign: float) -> RigidInertia:
        mass = self.mass + sign * other.mass
        # From this one's centre of mass: nothing is lost where both bodies are far from the origin.
        apart = other.com - self.com
        step = sign * other.mass / mass * apart
        inertia = self.inertia + sign * other.inertia
        inertia = inertia + sign * self.mass * other.mass / mass * _parallel_axis(1.0, apart)
        return RigidInertia(mass, self.com + step, inertia=inertia)


def _parallel_axis(mass: float, d: FloatArray) -> FloatArray:
    """Inertia about the origin of a mass at the distance d: m (d.d 1 - d d^T)."""
    return np.asarray(mass * (d @ d * np.eye(3) - np.outer(d, d)))


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

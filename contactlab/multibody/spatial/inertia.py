"""Mass distribution of a rigid body, and of the solid inside a closed surface of triangles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.spatial.arrays import (
    FieldError,
    FloatArray,
    IntArray,
    SpatialError,
    finite_array,
    finite_number,
    rows_of,
    set_fields,
)
from contactlab.multibody.spatial.transform import Transform, cross_matrix

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull


# Volume, relative to the bounding box of the points, below which a solid is flat.
_FLAT = 1e-12


class UnitSolid(NamedTuple):
    """A homogeneous solid of density 1 kg/m^3."""

    mass: float  # volume [m^3], 0 if flat, negative if the surface faces inward
    com: FloatArray  # (3,) [m]
    inertia: FloatArray  # (3, 3) about the centre of mass [m^5]


def unit_solid(vertices: FloatArray, triangles: IntArray) -> UnitSolid:
    """Return the integrals over the solid inside a closed surface of triangles (m, 3).

    Triangles are counter-clockwise seen from outside. Each triangle and a common point span a tetrahedron of signed
    volume; over a closed surface the signed sums are exact (Mirtich, Fast and accurate computation of polyhedral mass
    properties, Journal of Graphics Tools, 1996). The point is the mean of the vertices and then the centre of mass, so
    that no digits cancel far from the origin.
    """
    used = vertices[np.unique(triangles)]
    origin = used.mean(axis=0)
    corners = vertices[triangles] - origin
    volumes = np.linalg.det(corners) / 6.0
    mass = float(volumes.sum())
    if not abs(mass) > _FLAT * float(np.prod(np.ptp(used, axis=0))):
        return UnitSolid(0.0, origin, np.zeros((3, 3)))
    com = np.einsum("t,ti->i", volumes, corners.sum(axis=1)) / (4.0 * mass)
    corners -= com
    sums = corners.sum(axis=1)
    parts = np.linalg.det(corners) / 120.0
    # The integral of x x^T over each tetrahedron.
    second = np.einsum("t,tci,tcj->ij", parts, corners, corners) + np.einsum("t,ti,tj->ij", parts, sums, sums)
    return UnitSolid(mass, origin + com, np.trace(second) * np.eye(3) - second)


def vertex_numbers(triangles: ArrayLike, n_vertices: int, error: type[FieldError]) -> IntArray:
    """Return triangles as indices (m, 3) of vertices; raise ``error`` without any, or for an invalid index."""
    numbers = finite_array(triangles, "triangles", (None, 3), error)
    if numbers.shape[0] == 0:
        raise error("triangles", "must hold at least one triangle, got none")
    bad = np.argwhere((numbers != np.floor(numbers)) | (numbers < 0) | (numbers >= n_vertices))
    if len(bad):
        i, j = bad[0]
        raise error("triangles", f"entry [{i}, {j}] is {numbers[i, j]:g}, the vertices are {n_vertices}")
    return numbers.astype(np.int64)


def hull_triangles(points: FloatArray) -> IntArray:
    """Return the triangles (m, 3) of the hull of points (n, 3), counter-clockwise seen from outside, by Qhull.

    Raises
    ------
    SpatialError
        Fewer than four points, or points in a plane.
    """
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 4:
        raise SpatialError("points", f"a solid hull needs at least four points, got {len(points)}")
    try:
        return outward_triangles(points, ConvexHull(points))
    except QhullError as error:
        why = str(error).strip().partition("\n")[0]
        raise SpatialError("points", f"enclose no volume ({why}): at least four must not lie in a plane") from error


def outward_triangles(points: FloatArray, hull: ConvexHull) -> IntArray:
    """Return the triangles (m, 3) of a Qhull hull, each counter-clockwise seen from outside."""
    a, b, c = (points[hull.simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    return np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices).astype(np.int64)


def surface_fault(vertices: FloatArray, triangles: IntArray) -> str | None:
    """Return the reason why a surface of triangles does not enclose a solid, or None if it does.

    The reasons are an open surface, triangles that face in different directions or inward, and no volume.

    Vertices at one position count as one, because files often store separate corners for every triangle. A surface is
    closed if it traverses each edge equally often in both directions.
    """
    first, number = np.unique(vertices, axis=0, return_index=True, return_inverse=True)[1:]
    corners = number.reshape(-1)[triangles]
    directed = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    edges, place = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    passed = np.bincount(place, minlength=len(edges))
    balance = np.bincount(place, np.sign(directed[:, 1] - directed[:, 0]), minlength=len(edges))
    bad = np.flatnonzero(balance != 0.0)
    if bad.size:
        i, j = (int(first[k]) for k in edges[bad[0]])
        if (passed[bad] % 2 == 0).all():
            return (
                f"the triangles at the edge of vertices {i} and {j} pass it in the same direction: reverse one of them"
            )
        return f"the surface is open at {bad.size} edges, the first between vertices {i} and {j}: close the holes"
    volume = unit_solid(vertices, triangles).mass
    if volume == 0.0:
        return "the surface is flat and encloses no volume"
    if volume < 0.0:
        return "the triangles face inward (a negative volume): give the corners of each in the opposite order"
    return None


# Relative tolerance of symmetry.
SLACK = 1e-9
# Tolerance of the triangle inequality: files have about four digits, and for a flat plate it is an equality.
ROUNDED = 1e-3
# Radius of gyration [m] below which a body is a point: point masses from programs contain rounding errors.
POINT = 1e-6
# Relative rounding of a difference of matrices.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False, init=False)
class RigidInertia:
    """Mass, centre of mass and inertia of a body.

    Point masses, thin rods and bodies without mass are allowed. The model, and a solve with a singular mass matrix,
    report motions without inertia.

    Parameters
    ----------
    mass
        m >= 0 [kg].
    com
        Centre of mass (3,) in body axes, from the body origin [m].
    inertia
        I_c (3, 3) [kg m^2] about the centre of mass, body axes: symmetric, with principal moments 0 <= a <= b <= c that
        are physically possible (c <= a + b, to 1e-3 for rounding).
    physical
        If False, moments that no mass distribution has (such as a planar link's, where only one matters) are accepted
        unchanged. A model still refuses a motion with a negative moment.

    Attributes
    ----------
    physical_fault
        Reason why no mass distribution has this inertia, or None.

    Raises
    ------
    SpatialError
        The text names the field, and the entry or principal moments at fault.
    """

    mass: float
    com: FloatArray
    inertia: FloatArray
    physical_fault: str | None = field(init=False)

    def __init__(
        self,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        *,
        physical: bool = True,
    ) -> None:
        if inertia is None:
            raise SpatialError("inertia", "is needed: (3, 3) [kg m^2] about the centre of mass, zeros for a point")
        checked = finite_number(mass, "mass", SpatialError, least=0.0)
        self._fill(checked, finite_array(com, "com", (3,), SpatialError), _symmetric(inertia), 0.0)
        if physical:
            self._check_physical()

    def _fill(self, mass: float, com: FloatArray, inertia: FloatArray, noise: float) -> None:
        """Set the fields, and ``physical_fault`` from them; ``noise`` [kg m^2] is the uncertainty of the moments."""
        set_fields(self, mass=mass, com=com, inertia=inertia, physical_fault=_physical_fault(mass, inertia, noise))

    def _check_physical(self) -> None:
        if self.physical_fault is not None:
            raise SpatialError(
                "inertia",
                f"belongs to no mass distribution, it has {self.physical_fault}; physical=False takes it as it is",
            )

    @classmethod
    def _from_checked(cls, mass: float, com: FloatArray, inertia: FloatArray, noise: float = 0.0) -> RigidInertia:
        """Return an inertia from checked values, made symmetric; it can be physically impossible."""
        made = object.__new__(cls)
        made._fill(mass, com, 0.5 * (inertia + inertia.T), noise)
        return made

    @classmethod
    def point(cls, mass: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> RigidInertia:
        """Return the inertia of a point mass, with no moment of inertia about this point."""
        return cls(mass, com, np.zeros((3, 3)))

    @classmethod
    def solid_box(cls, mass: float, half_extents: ArrayLike) -> RigidInertia:
        """Return the inertia of a homogeneous box of half sides ``half_extents`` (3,) [m], origin at its middle."""
        mass = _positive(mass, "mass")
        half = finite_array(half_extents, "half_extents", (3,), SpatialError)
        for i in range(3):
            _positive(float(half[i]), f"half_extents[{i}]")
        squares = half * half
        return cls(mass, inertia=np.diag(mass / 3.0 * (np.sum(squares) - squares)))

    @classmethod
    def solid_sphere(cls, mass: float, radius: float) -> RigidInertia:
        """Return the inertia of a homogeneous ball of the given radius [m], origin at its middle."""
        mass, radius = _positive(mass, "mass"), _positive(radius, "radius")
        return cls(mass, inertia=0.4 * mass * radius * radius * np.eye(3))

    @classmethod
    def solid_cylinder(cls, mass: float, radius: float, half_length: float) -> RigidInertia:
        """Return the inertia of a homogeneous cylinder along the z axis, origin at its middle.

        Parameters
        ----------
        mass
            [kg].
        radius, half_length
            Radius and half the length along z [m], as of the shape `contactlab.collision.Cylinder`.
        """
        mass, r, half = _positive(mass, "mass"), _positive(radius, "radius"), _positive(half_length, "half_length")
        across = mass * (r * r / 4.0 + half * half / 3.0)
        return cls(mass, inertia=np.diag([across, across, 0.5 * mass * r * r]))

    @classmethod
    def solid_capsule(cls, mass: float, radius: float, half_length: float) -> RigidInertia:
        """Return the inertia of a homogeneous cylinder along z with half balls on its ends, origin at its middle.

        Parameters
        ----------
        mass
            [kg], ends included.
        radius, half_length
            Radius and half the distance between the centres of the half balls [m], as of the shape
            `contactlab.collision.Capsule`: the whole capsule is 2 (half_length + radius) long.
        """
        mass, r, half = _positive(mass, "mass"), _positive(radius, "radius"), _positive(half_length, "half_length")
        # The volumes of the cylinder and of the two half balls have the ratio 2 half_length to 4/3 radius.
        ends = mass * (4.0 * r) / (6.0 * half + 4.0 * r)
        tube = mass - ends
        # A half ball's centre of mass is 3/8 r from its face; its inertia there follows from the whole ball's.
        across = tube * (r * r / 4.0 + half * half / 3.0) + ends * (0.4 * r * r + half * half + 0.75 * r * half)
        return cls(mass, inertia=np.diag([across, across, 0.5 * tube * r * r + 0.4 * ends * r * r]))

    @classmethod
    def of_hull(cls, mass: float, points: ArrayLike) -> RigidInertia:
        """Return the inertia of the homogeneous convex hull of ``points`` (n, 3) [m] in body axes.

        Raises
        ------
        SpatialError
            Fewer than four points, or points in a plane.

        Examples
        --------
        >>> RigidInertia.of_hull(1.0, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]).com
        array([0.25, 0.25, 0.25])
        """
        corners = finite_array(points, "points", (None, 3), SpatialError)
        return cls._of_solid(mass, unit_solid(corners, hull_triangles(corners)))

    @classmethod
    def of_mesh(cls, mass: float, vertices: ArrayLike, triangles: ArrayLike) -> RigidInertia:
        """Return the inertia of the homogeneous solid inside a closed surface of triangles; the integrals are exact.

        The surface need not be convex.

        Parameters
        ----------
        mass
            [kg].
        vertices
            (n, 3) [m] in body axes; equal vertices count as one.
        triangles
            (m, 3) numbers of vertices, counter-clockwise seen from outside, as of the shape
            `contactlab.collision.Mesh`.
            The surface must not pass through itself, which is not checked.

        Raises
        ------
        SpatialError
            The surface is open, flat, or faces inward; the first edge at fault is named.
        """
        corners = finite_array(vertices, "vertices", (None, 3), SpatialError)
        numbers = vertex_numbers(triangles, len(corners), SpatialError)
        fault = surface_fault(corners, numbers)
        if fault is not None:
            raise SpatialError("triangles", f"{fault}; of_hull takes the convex hull of the vertices")
        return cls._of_solid(mass, unit_solid(corners, numbers))

    @classmethod
    def _of_solid(cls, mass: float, solid: UnitSolid) -> RigidInertia:
        """Return the inertia of a homogeneous solid of this mass; a solid without volume raises."""
        mass = _positive(mass, "mass")
        if not solid.mass > 0.0:
            raise SpatialError("points", "enclose no volume: at least four must not lie in a plane")
        return cls(mass, solid.com, mass / solid.mass * solid.inertia)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, physical: bool = True) -> RigidInertia:
        """Return the mass distribution of a spatial inertia (6, 6) in the form of `matrix`.

        ``physical`` is as for the constructor; without mass the centre of mass is the origin.
        """
        given = finite_array(matrix, "matrix", (6, 6), SpatialError)
        mass = float(given[3, 3])
        if mass < 0.0:
            raise SpatialError("matrix", f"entry [3, 3], the mass, must not be negative, got {mass}")
        c = np.array([given[2, 4], given[0, 5], given[1, 3]]) / mass if mass > 0.0 else np.zeros(3)
        # The difference has the rounding error of its terms.
        noise = ROUNDING * float(np.max(np.abs(given[:3, :3])))
        made = cls._from_checked(mass, c, given[:3, :3] - _parallel_axis(mass, c), noise)
        off = np.abs(made.matrix() - given)
        if float(np.max(off)) > SLACK * float(np.max(np.abs(given))):
            i, j = (int(k) for k in np.unravel_index(int(np.argmax(off)), (6, 6)))
            raise SpatialError("matrix", f"belongs to no rigid body: entry [{i}, {j}] contradicts the others")
        if physical:
            made._check_physical()
        return made

    def matrix(self) -> FloatArray:
        """Return the spatial inertia (6, 6) about the body origin: [[I_c + m cx cx^T, m cx], [-m cx, m 1]].

        Featherstone 2008, equation 2.63.
        """
        h = self.mass * cross_matrix(self.com)
        about = self.inertia + _parallel_axis(self.mass, self.com)
        return np.block([[about, h], [-h, self.mass * np.eye(3)]])

    def momentum(self, v: ArrayLike) -> FloatArray:
        """Return the spatial momentum (..., 6), about the body origin, at the motion vectors v (..., 6)."""
        given = rows_of(v, "v", 6)
        w = given[..., :3]
        linear = self.mass * (given[..., 3:] + np.cross(w, self.com))
        return np.concatenate([w @ self.inertia + np.cross(self.com, linear), linear], axis=-1)

    def moved(self, X: Transform) -> RigidInertia:
        """Return the same mass distribution in the parent frame of X."""
        return self._from_checked(self.mass, X.apply(self.com), X.R @ self.inertia @ X.R.T)

    def join(self, other: RigidInertia, placement: Transform | None = None) -> RigidInertia:
        """Return both bodies as one, in the frame of this body.

        Parameters
        ----------
        other
            The other body, in its own frame.
        placement
            Pose of its frame in the frame of this body; identity by default.
        """
        return self._sum(other if placement is None else other.moved(placement), 1.0)

    def separate(
        self, other: RigidInertia, placement: Transform | None = None, *, physical: bool = True
    ) -> RigidInertia:
        """Return the remainder of a joined body without ``other``: the inverse of `join`.

        ``physical`` as for the constructor.

        Raises
        ------
        SpatialError
            The remainder has no mass, or is physically impossible: ``other`` was not part of this body.
        """
        if not self.mass - other.mass > SLACK * self.mass:
            raise SpatialError("mass", f"nothing remains: {other.mass} kg taken from {self.mass} kg")
        rest = self._sum(other if placement is None else other.moved(placement), -1.0)
        if physical:
            rest._check_physical()
        return rest

    def _sum(self, other: RigidInertia, sign: float) -> RigidInertia:
        """Return this inertia plus ``sign`` times the other one, about the common centre of mass."""
        mass = self.mass + sign * other.mass
        share = sign * other.mass / mass if mass > 0.0 else 0.0
        # relative to the centre of mass of this body, so that no digits are lost if both bodies are far from the origin
        apart = other.com - self.com
        shift = share * self.mass * _parallel_axis(1.0, apart)
        inertia = self.inertia + sign * other.inertia + shift
        largest = max(float(np.max(np.abs(part))) for part in (self.inertia, other.inertia, shift))
        return self._from_checked(mass, self.com + share * apart, inertia, SLACK * largest if sign < 0.0 else 0.0)


def _parallel_axis(mass: float, d: FloatArray) -> FloatArray:
    """Return the inertia about the origin of a mass at the distance d: m (d.d 1 - d d^T)."""
    return np.asarray(mass * (d @ d * np.eye(3) - np.outer(d, d)))


def _positive(value: float, field: str) -> float:
    return finite_number(value, field, SpatialError, positive=True)


def _symmetric(value: ArrayLike) -> FloatArray:
    """Return the symmetric part of an inertia (3, 3); an asymmetry larger than rounding raises."""
    inertia = finite_array(value, "inertia", (3, 3), SpatialError)
    scale = float(np.max(np.abs(inertia)))
    i, j = np.unravel_index(int(np.argmax(np.abs(inertia - inertia.T))), (3, 3))
    if abs(inertia[i, j] - inertia[j, i]) > SLACK * scale:
        raise SpatialError(
            "inertia", f"is not symmetric: entry [{i}, {j}] is {inertia[i, j]}, entry [{j}, {i}] is {inertia[j, i]}"
        )
    return np.asarray(0.5 * (inertia + inertia.T))


def round_off(mass: float, largest: float) -> float:
    """Return the moment [kg m^2] that counts as zero, relative to the largest one."""
    return SLACK * abs(largest) + mass * POINT**2


def _physical_fault(mass: float, inertia: FloatArray, noise: float) -> str | None:
    """Return the reason why no mass distribution has this inertia; None for points, rods, plates and solid bodies."""
    low, middle, high = (float(moment) for moment in np.linalg.eigvalsh(inertia))
    zero = round_off(mass, high) + noise
    moments = f"principal moments {low:.6g}, {middle:.6g}, {high:.6g} kg m^2"
    if low < -zero:
        return f"a negative moment ({moments})"
    if mass == 0.0 and high > zero:
        return f"inertia without mass ({moments})"
    if high > (low + middle) * (1.0 + ROUNDED) + zero:
        return f"a moment larger than the sum of the others ({moments})"
    return None

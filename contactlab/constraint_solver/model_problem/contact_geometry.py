"""Contacts between two bodies of a model, as given by the user, and their geometry at an instant.

The geometry consists of positions, velocities of the points, and rows. With the normal n and the contact point x of B,
the relative velocity is u = v_B(x) - v_A(x). The rate of the gap is n . u, and the slip is the remainder of u. A row
for a direction d is d . (J_B - J_A). Its rate at a = 0 is

    d . (b_B - b_A) + (w_s x d) . u

where b are the accelerations, at a = 0, of the points in contact, which can change on both bodies. w_s is the angular
velocity of the body with the flat surface, with which d turns. For a fixed point of B (radius 0) on a surface that does
not turn, the rate is d . (bias acceleration of B's point - A's).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.collision import PowerLaw
from contactlab.collision.material import edge_directions
from contactlab.constraint_solver.model_problem.branches import Instantaneous, SparseRows, pair_rows
from contactlab.constraint_solver.model_problem.options import BridgeError, at_least_zero, fraction, number
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, finite_array, read_only, set_fields

#: Body with the flat surface at the contact: normal and tangents turn with it.
Surface = Literal["a", "b", "fixed"]

# Largest deviation of a normal from unit length; smaller ones are rounding and are removed.
_UNIT = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class ContactPoint:
    """A contact point of body B with body A, also before it touches.

    Parameters
    ----------
    body_b
        Name of body B, on which the reported force acts.
    point
        (3,) [m] the point of B: in the world, or in B's coordinates with ``frame="body"``.
    normal
        (3,) unit vector in world axes, from A into B.
    body_a
        Name of body A.
    frame
        Coordinates of `point` and `point_a`: "world", or "body" for the coordinates of each body.
    point_a
        (3,) [m] a point of A's surface, such as any point of a plane; by default B's point. The force on A acts
        opposite B's point, on the plane through this point.
    gap
        [m], negative in penetration; by default normal . (x_B - point_a), or 0 without `point_a`.
    mu
        Coefficient of friction, >= 0.
    mu_sliding, mu_non_sliding
        Kinetic and static coefficients if they differ; `mu` by default. The velocity level, which has only one
        coefficient, uses the one for the contact's state.
    restitution
        Coefficient of restitution, 0 to 1, or a `contactlab.collision.PowerLaw`; velocity level only.
    stiffness, dissipation
        k [N/m] and b [N s/m] of a compliant contact, over a step; both 0 for a rigid one.
    radius
        [m] of a ball of B around `point`. The contact point is the ball's point nearest to A, which can change.
    torsional, rolling
        [m] radii of torsional and rolling friction: moments about the normal, and perpendicular to it, up to the radius
        times the normal force from ``problem_data_from(loads=...)``. Only for steps of the velocity level.
    surface
        Body with the flat surface: normal and tangents turn with A ("a"), with B ("b"), or not at all ("fixed"). It has
        an effect only at acceleration level, and only if this body turns.
    name
        Label; by default "contact i" with the index in the list.

    Raises
    ------
    BridgeError
        A value out of its range, or a normal that is not of unit length.
    """

    body_b: str
    point: FloatArray
    normal: FloatArray
    body_a: str
    frame: Literal["world", "body"]
    point_a: FloatArray | None
    gap: float | None
    mu_sliding: float
    mu_non_sliding: float
    restitution: float | PowerLaw
    stiffness: float
    dissipation: float
    radius: float
    torsional: float
    rolling: float
    surface: Surface
    name: str | None

    def __init__(
        self,
        body_b: str,
        point: ArrayLike,
        normal: ArrayLike,
        *,
        body_a: str = "world",
        frame: Literal["world", "body"] = "world",
        point_a: ArrayLike | None = None,
        gap: float | None = None,
        mu: float = 0.0,
        mu_sliding: float | None = None,
        mu_non_sliding: float | None = None,
        restitution: float | PowerLaw = 0.0,
        stiffness: float = 0.0,
        dissipation: float = 0.0,
        radius: float = 0.0,
        torsional: float = 0.0,
        rolling: float = 0.0,
        surface: Surface = "a",
        name: str | None = None,
    ) -> None:
        prefix = "ContactPoint."
        if frame not in ("world", "body"):
            raise BridgeError(prefix + "frame", f"must be 'world' or 'body', got {frame!r}")
        if surface not in get_args(Surface):
            raise BridgeError(prefix + "surface", f"must be one of {get_args(Surface)}, got {surface!r}")
        label: object = name  # callers may ignore the annotation
        if label is not None and (not isinstance(label, str) or not label):
            raise BridgeError(prefix + "name", f"must be a non-empty string or None, got {name!r}")
        both = at_least_zero(mu, prefix + "mu")
        kinetic = both if mu_sliding is None else at_least_zero(mu_sliding, prefix + "mu_sliding")
        static = both if mu_non_sliding is None else at_least_zero(mu_non_sliding, prefix + "mu_non_sliding")
        if kinetic > static:
            raise BridgeError(prefix + "mu_sliding", f"{kinetic} exceeds mu_non_sliding, which is {static}")
        values = {
            "body_b": body_b,
            "point": _vector(point, prefix + "point"),
            "normal": _unit(normal),
            "body_a": body_a,
            "frame": frame,
            "point_a": None if point_a is None else _vector(point_a, prefix + "point_a"),
            "gap": None if gap is None else number(gap, prefix + "gap"),
            "mu_sliding": kinetic,
            "mu_non_sliding": static,
            "restitution": restitution
            if isinstance(restitution, PowerLaw)
            else fraction(restitution, prefix + "restitution"),
            "stiffness": at_least_zero(stiffness, prefix + "stiffness"),
            "dissipation": at_least_zero(dissipation, prefix + "dissipation"),
            "radius": at_least_zero(radius, prefix + "radius"),
            "torsional": at_least_zero(torsional, prefix + "torsional"),
            "rolling": at_least_zero(rolling, prefix + "rolling"),
            "surface": surface,
            "name": name,
        }
        set_fields(self, **values)
        if self.restitution and (self.stiffness or self.dissipation):
            raise BridgeError(prefix + "restitution", "a contact that gives way has stiffness and dissipation instead")
        if self.radius and surface == "b":
            raise BridgeError(prefix + "surface", "a ball of B is not flat; 'a' or 'fixed' with a radius")

    def __repr__(self) -> str:
        label = "" if self.name is None else f"{self.name!r}, "
        return f"ContactPoint({label}{self.body_a!r} -> {self.body_b!r}, normal={self.normal.tolist()})"


def _vector(value: ArrayLike, field: str) -> FloatArray:
    return read_only(finite_array(value, field, (3,), BridgeError))


def _unit(value: ArrayLike) -> FloatArray:
    """Return a contact's normal (3,), normalised; raise `BridgeError` unless its length is nearly 1."""
    normal = finite_array(value, "ContactPoint.normal", (3,), BridgeError)
    length = float(np.linalg.norm(normal))
    if not abs(length - 1.0) <= _UNIT:
        raise BridgeError("ContactPoint.normal", f"has length {length:.9g}, wanted 1")
    return read_only(normal if abs(length - 1.0) <= 4.0 * np.finfo(np.float64).eps else normal / length)


@dataclass(frozen=True, eq=False)
class ContactGeometry:
    """The contacts of one instant, one entry per contact."""

    at: Instantaneous  # motion of the links
    nv: int
    names: tuple[str, ...]  # label of each
    #: normal, x_a, x_b: (nc, 3) normals, points of A, points of B that touch; world axes [m].
    normal: FloatArray
    x_a: FloatArray
    x_b: FloatArray
    #: link_a, link_b: (nc,) the links that carry them, -1 for the world.
    link_a: IntArray
    link_b: IntArray
    gap: FloatArray  # (nc,) [m]
    velocity: FloatArray  # (nc, 3) of B's point relative to A's [m/s]
    centre: FloatArray  # (nc, 3) points fixed to B: x_b, or the centre of a ball
    radius: FloatArray  # (nc,) of the balls [m]
    turning: IntArray  # (nc,) link with which normal and tangents turn, -1 for none

    @property
    def approach(self) -> FloatArray:
        """Normal velocities N v (nc,) [m/s], negative if the gap closes."""
        return np.asarray(np.einsum("ci,ci->c", self.normal, self.velocity))

    @property
    def slip(self) -> FloatArray:
        """Tangential velocities (nc, 3) [m/s] of B relative to A."""
        return self.velocity - self.approach[:, None] * self.normal

    def rows(self, contacts: IntArray, directions: FloatArray) -> SparseRows:
        """Return rows for directions (m, 3), each at one of the contacts (m,)."""
        c = contacts
        return pair_rows(self.at, directions, self.link_a[c], self.x_a[c], self.link_b[c], self.x_b[c], self.nv)

    def bias(self, contacts: IntArray, directions: FloatArray) -> FloatArray:
        """Return the rates (m,) [m/s^2] of these rows at a = 0."""
        c = contacts
        at, n, radius = self.at, self.normal[c], self.radius[c][:, None]
        turning, _ = at.velocities(self.turning[c], self.x_b[c])
        w_b, _ = at.velocities(self.link_b[c], self.x_b[c])
        alpha_b, centre_b = at.bias_accelerations(self.link_b[c], self.centre[c])
        # The contact point of the ball is at -radius n from the centre, also while n turns.
        b = centre_b - radius * (np.cross(alpha_b, n) + np.cross(w_b, np.cross(turning, n)))
        w_a, at_a = at.velocities(self.link_a[c], self.x_a[c])
        _, bias_a = at.bias_accelerations(self.link_a[c], self.x_a[c])
        _, centre_velocity = at.velocities(self.link_b[c], self.centre[c])
        touched = centre_velocity - radius * np.cross(turning, n)  # velocity of the place of contact
        on_a = (self.turning[c] == self.link_a[c])[:, None]
        # On A's flat surface the contact moves over A; on B's flat surface, over B.
        a = bias_a + np.where(on_a, np.cross(w_a, touched - at_a), 0.0)
        on_b = (self.turning[c] == self.link_b[c])[:, None] & ~on_a
        b = b + np.where(on_b, np.cross(w_b, at_a - centre_velocity), 0.0)
        rate = np.einsum("ci,ci->c", directions, b - a)
        return np.asarray(rate + np.einsum("ci,ci->c", np.cross(turning, directions), self.velocity[c]))

    def edges(self, contacts: IntArray, counts: IntArray, edges: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return contact, number and direction (m, 3) of every friction row; each contact has k/2 or 0 rows."""
        active, half = contacts[counts > 0], edges // 2
        # Contacts with one normal have the same directions.
        normals, which = np.unique(self.normal[active], axis=0, return_inverse=True)
        fans = np.array([edge_directions(normal, edges) for normal in normals]).reshape(-1, half, 3)
        directions = fans[which.reshape(-1)].reshape(-1, 3)
        return np.repeat(active, half), np.tile(np.arange(half), active.size), directions


def contact_geometry(model: Model, at: Instantaneous, contacts: Sequence[ContactPoint]) -> ContactGeometry:
    """Return the geometry of the contacts.

    Raise for unknown bodies, equal names and values that are not a `ContactPoint`.
    """
    for i, contact in enumerate(contacts):
        if not isinstance(contact, ContactPoint):
            raise BridgeError(f"contacts[{i}]", f"must be a ContactPoint, got {type(contact).__name__}")
    names = _names(contacts)
    body_a = _bodies(model, contacts, "body_a")
    body_b = _bodies(model, contacts, "body_b")
    normal = np.array([contact.normal for contact in contacts]).reshape(-1, 3)
    given = np.array([contact.point for contact in contacts]).reshape(-1, 3)
    given_a = np.array([c.point if c.point_a is None else c.point_a for c in contacts]).reshape(-1, 3)
    in_body = np.array([contact.frame == "body" for contact in contacts], dtype=bool)
    paired = np.array([contact.point_a is not None for contact in contacts], dtype=bool)
    radius = np.array([contact.radius for contact in contacts])
    centre = _in_world(at, body_b, given, in_body)
    x_b = centre - radius[:, None] * normal
    facing = np.where(paired[:, None], _in_world(at, body_a, given_a, in_body), x_b)
    measured = np.einsum("ci,ci->c", normal, x_b - facing)
    # Opposite B's point, so that the two forces on A and B are on one line.
    x_a = x_b - measured[:, None] * normal
    gap = np.array([g if c.gap is None else c.gap for c, g in zip(contacts, measured.tolist(), strict=True)])
    link_a, link_b = at.links(body_a), at.links(body_b)
    _, velocity_a = at.velocities(link_a, x_a)
    _, velocity_b = at.velocities(link_b, x_b)
    kinds = np.array([contact.surface for contact in contacts], dtype=object)
    turning = np.where(kinds == "a", link_a, np.where(kinds == "b", link_b, -1)).astype(np.int64)
    velocity = velocity_b - velocity_a
    return ContactGeometry(
        at, model.nv, names, normal, x_a, x_b, link_a, link_b, gap, velocity, centre, radius, turning
    )


def _in_world(at: Instantaneous, bodies: IntArray, points: FloatArray, in_body: NDArray[np.bool_]) -> FloatArray:
    """Return points (nc, 3) in the world; points marked ``in_body`` are converted from body coordinates."""
    R, p = at.poses(bodies)
    return np.where(in_body[:, None], p + np.einsum("cij,cj->ci", R, points), points)


def _names(contacts: Sequence[ContactPoint]) -> tuple[str, ...]:
    """Return the names of the contacts, "contact i" without one; raise for repeated names."""
    names = tuple(f"contact {i}" if c.name is None else c.name for i, c in enumerate(contacts))
    places: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in places:
            raise BridgeError(f"contacts[{i}].name", f"{name!r} is the name of contacts[{places[name]}] too")
        places[name] = i
    return names


def _bodies(model: Model, contacts: Sequence[ContactPoint], attribute: str) -> IntArray:
    """Return the bodies ``attribute`` of the contacts by index; raise if body A is body B."""
    from contactlab.multibody.spatial.arrays import MultibodyError

    out = np.empty(len(contacts), dtype=np.int64)
    for i, contact in enumerate(contacts):
        try:
            out[i] = model.index_or_world(getattr(contact, attribute))
        except MultibodyError as cause:
            raise BridgeError(f"contacts[{i}].{attribute}", cause.detail) from cause
        if attribute == "body_b" and contact.body_a == contact.body_b:
            raise BridgeError(f"contacts[{i}].body_b", f"{contact.body_b!r} is body A too")
    return out

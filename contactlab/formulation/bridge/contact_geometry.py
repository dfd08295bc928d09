"""Geometry of the contacts of an instant: their places, the motion of their points, and their rows.

With n the normal and x the point where B touches, the relative velocity is u = v_B(x) - v_A(x), the rate of the gap is
n . u and the slip the rest of u. A row for a direction d is d . (J_B - J_A). Its rate at a = 0 is

    d . (b_B - b_A) + (w_s x d) . u

where b are the accelerations, at a = 0, of the points that are in touch, which need not stay the same points of their
bodies, and w_s is the angular velocity of the body whose surface is flat there, with which d turns. For a point of B
that stays (radius 0) on a surface that does not turn, this is d . (bias acceleration of B's point - A's).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.contact.friction_pyramid import edge_directions
from contactlab.formulation.bridge.branch_rows import SparseRows, pair_rows
from contactlab.formulation.bridge.branches import Instantaneous
from contactlab.formulation.bridge.contact_point import ContactPoint
from contactlab.formulation.bridge.errors import BridgeError
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, IntArray


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
    centre: FloatArray  # (nc, 3) the points that stay points of B: x_b but for balls
    radius: FloatArray  # (nc,) of the balls [m]
    turning: IntArray  # (nc,) link with which normal and tangents turn, -1 for none

    @property
    def approach(self) -> FloatArray:
        """N v (nc,) [m/s]: negative where the gap closes."""
        rate: FloatArray = np.einsum("ci,ci->c", self.normal, self.velocity)
        return rate

    @property
    def slip(self) -> FloatArray:
        """Tangential velocity (nc, 3) [m/s] of B relative to A."""
        return self.velocity - self.approach[:, None] * self.normal

    def rows(self, contacts: IntArray, directions: FloatArray) -> SparseRows:
        """Rows for directions (m, 3), each at one of the contacts (m,)."""
        c = contacts
        return pair_rows(self.at, directions, self.link_a[c], self.x_a[c], self.link_b[c], self.x_b[c], self.nv)

    def bias(self, contacts: IntArray, directions: FloatArray) -> FloatArray:
        """Rates (m,) [m/s^2] of those rows at a = 0."""
        c = contacts
        at, n, radius = self.at, self.normal[c], self.radius[c][:, None]
        turning, _ = at.velocities(self.turning[c], self.x_b[c])
        w_b, _ = at.velocities(self.link_b[c], self.x_b[c])
        alpha_b, centre_b = at.bias_accelerations(self.link_b[c], self.centre[c])
        # The point of the ball that touches lies at -radius n from the centre and stays there as n turns.
        b = centre_b - radius * (np.cross(alpha_b, n) + np.cross(w_b, np.cross(turning, n)))
        w_a, at_a = at.velocities(self.link_a[c], self.x_a[c])
        _, bias_a = at.bias_accelerations(self.link_a[c], self.x_a[c])
        _, centre_velocity = at.velocities(self.link_b[c], self.centre[c])
        touched = centre_velocity - radius * np.cross(turning, n)  # how the place of contact itself moves
        on_a = (self.turning[c] == self.link_a[c])[:, None]
        # On A's own surface ever new points of A are met; seen from B's surface, of B.
        a = bias_a + np.where(on_a, np.cross(w_a, touched - at_a), 0.0)
        on_b = (self.turning[c] == self.link_b[c])[:, None] & ~on_a
        b = b + np.where(on_b, np.cross(w_b, at_a - centre_velocity), 0.0)
        rate: FloatArray = np.einsum("ci,ci->c", directions, b - a)
        rate = rate + np.einsum("ci,ci->c", np.cross(turning, directions), self.velocity[c])
        return rate

    def edges(self, contacts: IntArray, counts: IntArray, edges: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Contact, number and direction (m, 3) of every friction row: as many as each contact counts, k/2 or 0."""
        of = np.repeat(contacts, counts)
        number = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(count) for count in counts.tolist())])
        directions = np.zeros((of.size, 3))
        fans: dict[bytes, FloatArray] = {}
        first = 0
        for contact, count in zip(contacts.tolist(), counts.tolist(), strict=True):
            if count:
                key = self.normal[contact].tobytes()
                if key not in fans:
                    fans[key] = edge_directions(self.normal[contact], edges)
                directions[first : first + count] = fans[key]
            first += count
        return of, number, directions


def contact_geometry(model: Model, at: Instantaneous, contacts: Sequence[ContactPoint]) -> ContactGeometry:
    """Place the contacts; unknown bodies, equal names and what is not a `ContactPoint` raise."""
    for i, contact in enumerate(contacts):
        if not isinstance(contact, ContactPoint):
            raise BridgeError(f"contacts[{i}]", f"must be a ContactPoint, got {type(contact).__name__}")
    names = _names(contacts)
    body_a = _bodies(model, contacts, "body_a")
    body_b = _bodies(model, contacts, "body_b")
    nc = len(contacts)
    normal, given, given_a = (np.zeros((nc, 3)) for _ in range(3))
    in_body, paired = np.zeros(nc, dtype=bool), np.zeros(nc, dtype=bool)
    for i, contact in enumerate(contacts):
        normal[i], given[i], in_body[i] = contact.normal, contact.point, contact.frame == "body"
        if contact.point_a is not None:
            given_a[i], paired[i] = contact.point_a, True
    radius = np.array([contact.radius for contact in contacts])
    centre = _in_world(at, body_b, given, in_body)
    x_b = centre - radius[:, None] * normal
    facing = np.where(paired[:, None], _in_world(at, body_a, given_a, in_body), x_b)
    measured = np.einsum("ci,ci->c", normal, x_b - facing)
    # Right opposite B's point, so that the two forces on A and B are on one line.
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
    """Points (nc, 3) in the world, where ``in_body`` from body coordinates."""
    R, p = at.poses(bodies)
    return np.where(in_body[:, None], p + np.einsum("cij,cj->ci", R, points), points)


def _names(contacts: Sequence[ContactPoint]) -> tuple[str, ...]:
    names = tuple(f"contact {i}" if c.name is None else c.name for i, c in enumerate(contacts))
    places: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in places:
            raise BridgeError(f"contacts[{i}].name", f"{name!r} is the name of contacts[{places[name]}] too")
        places[name] = i
    return names


def _bodies(model: Model, contacts: Sequence[ContactPoint], attribute: str) -> IntArray:
    from contactlab.multibody.errors import MultibodyError

    out = np.empty(len(contacts), dtype=np.int64)
    for i, contact in enumerate(contacts):
        try:
            out[i] = model.index_or_world(getattr(contact, attribute))
        except MultibodyError as cause:
            raise BridgeError(f"contacts[{i}].{attribute}", cause.detail) from cause
        if attribute == "body_b" and contact.body_a == contact.body_b:
            raise BridgeError(f"contacts[{i}].body_b", f"{contact.body_b!r} is body A too")
    return out

"""What the contact table says of single contacts: forces, places, bodies and slips, against world and velocities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from contactlab.contact import BodyShape
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping import OPEN, SLIDE, STICK
from contactlab.verification.contacts import pairs_of, surface_velocity
from contactlab.verification.findings import Found, largest
from contactlab.verification.island import FAINT
from contactlab.verification.motion import cross, turned
from contactlab.verification.portion import Portion

# Slip, of the speeds without contacts, from which a contact slides, and how far rounding may move it.
SLIDING, EDGE = 1e-8, 1e-6


def table_findings(portion: Portion, frames: FloatArray) -> Iterator[Found]:
    """Yield what the contact table says twice: impulses and forces, gap and place."""
    world = portion.recording.world
    r, h, z = frames.shape[1] - 1, portion.h[portion.at][:, None], portion.column("z")
    normal, point, island = portion.column("normal"), portion.column("point"), portion.numbers("island")
    wanted = h * (z[:, :1] * normal + np.einsum("nr,nri->ni", z[:, 1 : 1 + r] - z[:, 1 + r : 1 + 2 * r], frames[:, 1:]))
    t1 = frames[:, 1]
    along = np.stack([np.sum(wanted * axis, axis=1) for axis in (normal, t1, cross(normal, t1))], axis=1)
    said = np.hstack((portion.column("impulse_normal")[:, None], portion.column("impulse_tangential")))
    size = h * np.abs(z[:, : 1 + 2 * r]).sum(axis=1, keepdims=True) * np.ones(6)
    off = np.hstack((portion.column("impulse") - wanted, said - along))
    yield "impulse", portion.at, island, portion.contacts, largest(off, size)
    mu, restitution = pairs_of(portion, frames[:, 0])
    worst = np.maximum(np.abs(portion.column("mu") - mu), np.abs(portion.column("restitution") - restitution))
    half_space, own = portion.numbers("half_space"), portion.numbers("shape_b")
    # Points of shapes touch with themselves; of a cylinder, whose rim has none, the point is midway to the plane.
    midway = np.array([not isinstance(surface.shape, BodyShape) for surface in world.surfaces] or [False])
    whole = np.where(midway[np.clip(own, 0, midway.size - 1)] & (own >= 0) & (own < midway.size), 2.0, 1.0)
    on = half_space >= 0
    if np.any(half_space >= len(world.half_spaces)):
        raise IndexError("half-space")
    normals = np.array([plane.normal for plane in world.half_spaces]).reshape(-1, 3)
    offsets = np.array([plane.offset for plane in world.half_spaces])
    n, offset = normals[half_space[on]], offsets[half_space[on]]
    height = whole[on] * (np.sum(n * point[on], axis=1) - offset)
    scale = 1.0 + np.abs(point[on]).sum(axis=1) + np.abs(offset)
    off_plane = np.maximum(
        np.abs(normal[on] - n).max(axis=1, initial=0.0), np.abs(portion.column("gap")[on] - height) / scale
    )
    worst[on] = np.maximum(worst[on], off_plane)
    worst[~on] = np.maximum(worst[~on], np.abs(np.linalg.norm(normal[~on], axis=1) - 1.0))
    yield "geometry", portion.at, island, portion.contacts, worst


def slip_findings(portion: Portion, frames: FloatArray, v_free: FloatArray) -> Iterator[Found]:
    """Yield whether slips and modes are those of the velocities, v_free (ns, nv) without contacts, and of fN."""
    told = surface_velocity(portion)
    after, size = (np.zeros((portion.contacts.size, 3)) for _ in range(2))
    free = np.linalg.norm(told, axis=1)
    starts = portion.recording.world.tree_starts
    for one in portion.points:
        own = slice(starts[one.tree], starts[one.tree + 1])
        J, at = one.J[:, :3], portion.at[one.of]
        after[one.of] += turned(J, portion.v_plus[at, own])
        free[one.of] += np.linalg.norm(turned(J, v_free[at, own]), axis=1)
        size[one.of] += turned(np.abs(J), np.abs(portion.v_plus[at, own]))
        # Points on the axis that a body turns about are there to rounding.
        whole = np.linalg.norm(J, axis=(1, 2)) * np.linalg.norm(portion.v_plus[at, own], axis=1)
        size[one.of] += FAINT / 3.0 * whole[:, None]
    normal = frames[:, 0]
    after = after - told
    slip = np.linalg.norm(after - np.sum(after * normal, axis=1, keepdims=True) * normal, axis=1)
    if portion.recording.world.plane is not None:
        slip = np.linalg.norm(cross(normal, after), axis=1)
    off = largest((portion.column("slip") - slip)[:, None], (size + np.abs(told)).sum(axis=1)[:, None])
    mode, edge = portion.numbers("mode"), SLIDING * free
    closed = portion.column("z")[:, 0] > 0.0
    near = np.abs(slip - edge) <= EDGE * (edge + size.sum(axis=1))
    wanted = np.where(closed, np.where(slip > edge, SLIDE, STICK), OPEN)
    right = (mode == wanted) | (closed & near & ((mode == SLIDE) | (mode == STICK)))
    yield "slip", portion.at, portion.numbers("island"), portion.contacts, np.where(right, off, np.inf)

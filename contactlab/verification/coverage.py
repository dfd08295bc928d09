"""Whether the contact table lists every point that comes near a half-space, in plain numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import BodyShape
from contactlab.spatial.arrays import FloatArray
from contactlab.verification.motion import Body, tree_roots

if TYPE_CHECKING:
    from contactlab.world.world import World

NEAR = 1e-9  # part of its distance from the origin by which a listed point may be off


def uncovered(
    world: World,
    rows: Mapping[str, NDArray[Any]],
    chosen: NDArray[np.int64],
    bodies: dict[str, Body],
    v: FloatArray,
    h: float,
    margin: float,
    asleep: NDArray[np.bool_],
) -> float:
    """Return how far, relative to its place, an unlisted support point is within reach of a half-space; 0 for none.

    A point is within reach when gap <= margin + h max(0, -N v). ``chosen`` are the contact rows of the step;
    bodies ``asleep`` (nb,) have none.
    """
    moving = tree_roots(world.model)
    worst = 0.0
    for number, (surface, index) in enumerate(zip(world.surfaces, world.surface_bodies, strict=True)):
        name = world.model.names[index]
        if name not in moving or asleep[index] or not isinstance(surface.shape, BodyShape):
            continue
        body = bodies[name]
        points, radii = surface.support_points()
        centers = body.p + points @ body.R.T
        origin_velocity, turning = body.Jv @ v, body.Jw @ v
        for s, plane in enumerate(world.half_spaces):
            if world.half_space_filters:
                category, mask = world.half_space_filters[s]
                if not surface.category & mask or not category & surface.mask:
                    continue
            places = centers - radii[:, None] * plane.normal
            gap = places @ plane.normal - plane.offset
            speed = (origin_velocity + np.cross(turning, places - body.p)) @ plane.normal
            excess = margin + h * np.maximum(0.0, -speed) - gap
            near = np.flatnonzero(excess > 0.0)
            own = chosen[(rows["contact_shape_b"][chosen] == number) & (rows["contact_half_space"][chosen] == s)]
            listed = rows["contact_point"][own]
            for n in near:
                size = 1.0 + float(np.abs(places[n]).sum())
                if not np.any(np.abs(listed - places[n]).max(axis=1, initial=0.0) <= NEAR * size):
                    worst = max(worst, float(excess[n]) / size)
    return worst

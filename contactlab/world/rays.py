"""Ray casting in a world."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact import Shape
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.world.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.world.world import World


@dataclass(frozen=True, eq=False)
class RayHits:
    """First hits of n rays.

    Attributes
    ----------
    distance
        (n,) from the origin along the ray [m]; infinite if it meets nothing.
    normal
        (n, 3) outward unit normal, world axes; 0 if there is nothing.
    body
        (n,) number of the body; -1 for half-spaces and nothing.
    shape, half_space
        (n,) number in `World.surfaces`, and in `World.half_spaces`; -1 for the other, and for nothing.
    """

    distance: FloatArray
    normal: FloatArray
    body: IntArray
    shape: IntArray
    half_space: IntArray


def cast_rays(
    world: World,
    poses: tuple[FloatArray, FloatArray],
    origins: ArrayLike,
    directions: ArrayLike,
    reach: float,
    exclude: Collection[str],
) -> RayHits:
    """Return the hits of rays with the bodies at poses (nb, 3, 3) and (nb, 3); see `World.cast_rays`."""
    from contactlab.contact.detection.queries import first_hits

    out = {world.model.index(name) for name in exclude}
    shapes = [s for s, owner in enumerate(world.surface_bodies) if owner not in out]
    for s in shapes:
        if not isinstance(world.surfaces[s].shape, Shape):
            kind, name = type(world.surfaces[s].shape).__name__, world.model.names[world.surface_bodies[s]]
            raise SimulationConfigError("exclude", f"must name {name!r}: its shape, a {kind}, has no surface for rays")
    n, n_half_spaces = len(world.surfaces), len(world.half_spaces)
    chosen = np.array([*shapes, *range(n, n + n_half_spaces)], dtype=np.int64)
    # The pose of the world, for half-spaces, follows the poses of the bodies.
    rows = np.vstack(
        [np.concatenate([poses[0].reshape(-1, 9), poses[1]], axis=1), [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]]
    )
    owner = np.array([*world.surface_bodies, *[-1] * n_half_spaces], dtype=np.int64)
    packed = world.packed_shapes
    packed = packed._replace(kind=packed.kind[chosen], size=packed.size[chosen], place=packed.place[chosen])
    distance, number, normal = first_hits(packed, rows[owner[chosen]], origins, directions, reach)
    # A last entry for rays without a hit, whose number is -1.
    number = np.append(chosen, -1)[number]
    return RayHits(
        distance=distance,
        normal=normal,
        body=np.append(owner, -1)[number],
        shape=np.where(number < n, number, -1),
        half_space=np.where(number < n, -1, number - n),
    )

"""Torsional and rolling friction of recorded contacts, in plain numpy: the rows of turning and whom they lean on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import Material
from contactlab.spatial.arrays import FloatArray
from contactlab.verification.motion import Body

if TYPE_CHECKING:
    from contactlab.world.world import World

# Rolling [rad/s] below which it has no direction.
STILL = 1e-9


@dataclass(frozen=True, eq=False)
class Moments:
    """The further cones of an island."""

    # (nt, nv) angular velocity of B less that of A along each direction, on all velocities of the world.
    J: FloatArray
    k: FloatArray  # (nt,) what turning kinematic bodies add to it [rad/s]
    directions: FloatArray  # (nt, 3) world axes
    lengths: FloatArray  # (n,) of each cone [m]
    # (n,) the contact that each leans on, its number of directions, and where its variables begin among those kept by
    # contact.
    contacts: NDArray[np.int64]
    counts: NDArray[np.int64]
    places: NDArray[np.int64]


def moments_of(
    world: World,
    rows: Mapping[str, NDArray[Any]],
    numbers: NDArray[np.int64],
    surfaces: list[tuple[Material | None, Material | None]],
    frames: FloatArray,
    bodies: dict[str, Body],
) -> Moments:
    """Return the cones of moments of contacts ``numbers`` of a record, torsional before rolling, contact by contact.

    Parameters
    ----------
    surfaces
        The materials of A and B of each, None for a surface that is not there.
    frames
        (nc, 1 + r, 3) normal and directions of sliding friction of each.
    """
    r = frames.shape[1] - 1
    J, k, directions = [np.zeros((0, world.nv))], [np.zeros(0)], [np.zeros((0, 3))]
    cones: list[tuple[float, int, int, int]] = []
    for n, (c, (one, other)) in enumerate(zip(numbers, surfaces, strict=True)):
        if one is None or other is None:
            continue
        torsional, rolling = max(one.torsional, other.torsional), max(one.rolling, other.rolling)
        if world.plane is not None:
            torsional = 0.0  # nothing turns about a normal
        turning, w = _relative_turning(world, bodies, int(rows["contact_body_a"][c]), int(rows["contact_body_b"][c]))
        told = _told_turning(world, rows, int(c))
        for length, count, place in ((torsional, 1, 2 + 2 * r), (rolling, r, 5 + 2 * r)):
            if length > 0.0:
                axes = frames[n, :1] if count == 1 and place == 2 + 2 * r else _axes(world, frames[n], w - told)
                J.append(axes @ turning)
                k.append(-axes @ told)
                directions.append(axes)
                cones.append((length, n, count, place))
    lengths, contacts, counts, places = np.array(cones, dtype=np.float64).reshape(-1, 4).T
    whole = (part.astype(np.int64) for part in (contacts, counts, places))
    return Moments(np.concatenate(J), np.concatenate(k), np.concatenate(directions), lengths, *whole)


def _relative_turning(world: World, bodies: dict[str, Body], a: int, b: int) -> tuple[FloatArray, FloatArray]:
    """Return Jacobian (3, nv) and value (3,) of the angular velocity of body b less that of a."""
    J, w = np.zeros((3, world.nv)), np.zeros(3)
    for body, sign in ((b, 1.0), (a, -1.0)):
        if body >= 0:
            frame = bodies[world.model.names[body]]
            J, w = J + sign * frame.Jw, w + sign * frame.w
    return J, w


def _told_turning(world: World, rows: Mapping[str, NDArray[Any]], c: int) -> FloatArray:
    """Return the angular velocity (3,) of body A of contact c where it is a kinematic body."""
    for row, (body, _) in enumerate(world.motions):
        if body == int(rows["contact_body_a"][c]):
            return np.array(rows["motion_twist"][int(rows["contact_step"][c]), row, :3])
    return np.zeros(3)


def _axes(world: World, frame: FloatArray, w: FloatArray) -> FloatArray:
    """Return the directions (r, 3) of rolling: a pyramid whose first axis is along the rolling w (3,) of the start."""
    if world.plane is not None:
        return np.array(world.plane).reshape(1, 3)
    normal, r = frame[0], frame.shape[0] - 1
    across = w - (normal @ w) * normal
    speed = float(np.linalg.norm(across))
    first = across / speed if speed > STILL else frame[1]
    angles = np.pi * np.arange(r) / r
    return np.outer(np.cos(angles), first) + np.outer(np.sin(angles), np.cross(normal, first))

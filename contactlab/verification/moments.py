"""Torsional and rolling friction of recorded contacts, in plain numpy: the rows of turning and whom they lean on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contactlab.contact import Material
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.verification.motion import cross
from contactlab.verification.portion import Portion

if TYPE_CHECKING:
    from contactlab.world.world import World

# Rolling [rad/s] below which it has no direction.
STILL = 1e-9


@dataclass(frozen=True, eq=False)
class Moments:
    """The further cones of the contacts of a portion: torsional ones, then rolling ones; nt rows in all."""

    k: FloatArray  # (nt,) what turning kinematic bodies add to the turning of B less that of A [rad/s]
    directions: FloatArray  # (nt, 3) world axes
    lengths: FloatArray  # (n,) of each cone [m]
    # (n,) the contact that each leans on, its number of directions, and where its variables begin among those kept by
    # contact.
    contacts: IntArray
    counts: IntArray
    places: IntArray


def moments_of(
    portion: Portion, surfaces: list[tuple[Material | None, Material | None]], numbers: IntArray, frames: FloatArray
) -> Moments:
    """Return the cones of moments of the contacts of a portion.

    Parameters
    ----------
    surfaces
        The materials of A and B of each pair that touches, None for a surface that is not there.
    numbers
        (nc,) the pair of each contact.
    frames
        (nc, 1 + r, 3) normal and directions of sliding friction of each.
    """
    world, r = portion.recording.world, frames.shape[1] - 1
    known = [
        (0.0, 0.0) if a is None or b is None else (max(a.torsional, b.torsional), max(a.rolling, b.rolling))
        for a, b in surfaces
    ]
    torsional, rolling = np.array(known).reshape(-1, 2)[numbers].T
    if world.plane is not None:
        torsional = 0.0 * torsional  # nothing turns about a normal
    told = _told_turning(portion)
    about, over = np.flatnonzero(torsional > 0.0), np.flatnonzero(rolling > 0.0)
    axes = _axes(world, frames[over], (_turning(portion) - told)[over])
    rows = np.concatenate((about, np.repeat(over, axes.shape[1])))
    directions = np.concatenate((frames[about, 0], axes.reshape(-1, 3)))
    return Moments(
        -np.sum(directions * told[rows], axis=1),
        directions,
        np.concatenate((torsional[about], rolling[over])),
        np.concatenate((about, over)),
        np.repeat((1, axes.shape[1]), (about.size, over.size)),
        np.repeat((2 + 2 * r, 5 + 2 * r), (about.size, over.size)),
    )


def _turning(portion: Portion) -> FloatArray:
    """Return the angular velocities (nc, 3) of bodies B less those of A."""
    starts, w = portion.recording.world.tree_starts, np.zeros((portion.contacts.size, 3))
    for one in portion.points:
        own = portion.v[portion.at[one.of], starts[one.tree] : starts[one.tree + 1]]
        w[one.of] += np.einsum("min,mn->mi", one.J[:, 3:], own)
    return w


def _told_turning(portion: Portion) -> FloatArray:
    """Return the angular velocities (nc, 3) of bodies A that are kinematic."""
    told, a = np.zeros((portion.contacts.size, 3)), portion.numbers("body_a")
    for row, (body, _) in enumerate(portion.recording.world.motions):
        own = np.flatnonzero(a == body)
        told[own] = portion.recording.rows["motion_twist"][portion.steps[portion.at[own]], row, :3]
    return told


def _axes(world: World, frames: FloatArray, w: FloatArray) -> FloatArray:
    """Return the directions (n, r, 3) of rolling: pyramids whose first axis is along the rolling w (n, 3) of before."""
    if world.plane is not None:
        return np.tile(world.plane, (frames.shape[0], 1, 1))
    normal, r = frames[:, 0], frames.shape[1] - 1
    across = w - np.sum(normal * w, axis=1, keepdims=True) * normal
    speed = np.linalg.norm(across, axis=1, keepdims=True)
    first = np.where(speed > STILL, across / np.maximum(speed, STILL), frames[:, 1])
    second, angles = cross(normal, first), np.pi * np.arange(r) / r
    return np.asarray(np.cos(angles)[:, None] * first[:, None] + np.sin(angles)[:, None] * second[:, None])

"""Whether the contact table lists every point that comes near a half-space, in plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.contact import BodyShape
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.verification.motion import cross, turned
from contactlab.verification.portion import Portion, groups

NEAR = 1e-9  # part of its distance from the origin by which a listed point may be off
SLACK = 1e-5  # part of a shape's size by which a point must be deeper to be the deepest


def uncovered(portion: Portion) -> FloatArray:
    """Return how far, relative to its place, an unlisted support point is within reach of a half-space (ns,); 0: none.

    A point is within reach when gap <= margin + h max(0, -N v); bodies asleep have no contacts. Where contacts are
    reduced to four of a shape, only points deeper than all of these are missed.
    """
    recording = portion.recording
    world, margin, worst = recording.world, recording.stepper.margin, np.zeros(portion.steps.size)
    ground, shape, listed = portion.numbers("half_space"), portion.numbers("shape_b"), portion.column("point")
    names, asleep = world.model.names, recording.asleep[portion.steps]
    depth = portion.column("gap")
    of_shapes = dict(groups(np.where(ground >= 0, shape, -1)))
    none = np.zeros(0, dtype=np.int64)
    for number, (surface, index) in enumerate(zip(world.surfaces, world.surface_bodies, strict=True)):
        if world.body_trees[index] < 0 or not isinstance(surface.shape, BodyShape):
            continue
        body = portion.state.bodies[names[index]]
        points, radii = surface.support_points()
        arms = points @ np.swapaxes(body.R, 1, 2)
        v = portion.v[:, body.own]
        origin_velocity, turning = turned(body.Jv, v), turned(body.Jw, v)
        own = of_shapes.get(number, none)
        for s, plane in enumerate(world.half_spaces):
            if world.half_space_filters:
                category, mask = world.half_space_filters[s]
                if not surface.category & mask or not category & surface.mask:
                    continue
            gap = (body.p @ plane.normal - plane.offset)[:, None] + arms @ plane.normal - radii
            # Of the points' velocities, w x arm . n = (n x w) . arm.
            speed = (origin_velocity @ plane.normal)[:, None] + turned(arms, cross(plane.normal, turning))
            excess = margin + portion.h[:, None] * np.maximum(0.0, -speed) - gap
            near = (excess > 0.0) & ~asleep[:, index, None]
            mine = own[ground[own] == s]
            if recording.stepper.reduce_contacts:
                deepest = np.full(near.shape[0], np.inf)
                np.minimum.at(deepest, portion.at[mine], depth[mine])
                slack = SLACK * np.ptp(points, axis=0).max()
                near &= (near.sum(axis=1) <= 4)[:, None] | (gap < deepest[:, None] - slack)
            at, n = np.nonzero(near)
            places = body.p[at] + arms[at, n] - radii[n, None] * plane.normal
            size = 1.0 + np.abs(places).sum(axis=1)
            found = _found(at, places, NEAR * size, portion.at[mine], listed[mine])
            np.maximum.at(worst, at[~found], (excess[at, n] / size)[~found])
    return worst


def _found(at: IntArray, places: FloatArray, slack: FloatArray, steps: IntArray, listed: FloatArray) -> Any:
    """Return whether places (n, 3) of steps ``at`` (n,), ascending, are among those listed (m, 3) of ``steps`` (m,)."""
    first, last = np.searchsorted(steps, at), np.searchsorted(steps, at, side="right")
    found = np.zeros(at.size, dtype=bool)
    for k in range(int((last - first).max(initial=0))):
        own = np.flatnonzero(first + k < last)
        found[own] |= np.abs(listed[first[own] + k] - places[own]).max(axis=1) <= slack[own]
    return found

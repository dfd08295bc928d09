"""Any two convex shapes: closest points or depth of their cores, their radii, and the manifold along the normal."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.epa import epa
from contactlab.contact.detection.kernels.gjk import gjk
from contactlab.contact.detection.kernels.manifold import manifold
from contactlab.contact.detection.kernels.polish import ALL, KINKS, overlap, polish
from contactlab.contact.detection.kernels.segments import segment_box
from contactlab.contact.detection.kernels.simplex import weighted
from contactlab.contact.detection.kernels.support import core_radius, has_curved_core, reach
from contactlab.contact.detection.kernels.touching import common_point
from contactlab.contact.kernels.layout import BOX, CAPSULE, FACES, SCRATCH, Contacts, Posed, Vector, Workspace
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# Cores closer than this, relative to their size, get the normal of a face: the difference of their closest points has
# too few digits left to give one.
TOUCHING = 1e-8
# A distance is proved where the bounds from both sides agree to this part of what is asked for.
PROVED = 2e-2
# Points have to be known to this part of it.
POINTS = 0.1
# Part of the smaller shape's size to which gaps and points have to be known.
EXACT = 1e-9
# Part of the size to which the depth of a curved core has to be bounded from below, and how often it is looked for.
ROUND, STARTS = 2e-7, 16


@kernel
def _least(
    a: Posed, b: Posed, n: Vector, value: float, faces: int, scale: float, work: FloatArray
) -> tuple[float, Vector]:
    """The least overlap, and its direction, of those near faces of the expanding polytope that leave room for it."""
    for _ in range(STARTS):
        best, depth = -1, value - ROUND * scale
        for face in range(faces):
            if work[FACES + 4 * face + 3] < depth:
                best, depth = face, work[FACES + 4 * face + 3]
        if best < 0:
            break
        at = FACES + 4 * best
        work[at + 3] = math.inf
        here, m = polish(a, b, (work[at], work[at + 1], work[at + 2]), 1e-2 * scale, scale, ALL, work)
        if here < value:
            value, n = here, m
    return value, n


@kernel
def closest(
    a: Posed, b: Posed, margin: float, scale: float, exact: float, room: Workspace
) -> tuple[float, Vector, Vector]:
    """Gap, unit normal from A into B, and where the gap begins on A's surface; all in world axes.

    A gap that is known to exceed ``margin`` may come out as any larger number, with any normal and point. ``scale`` is
    that of the cores, `support.reach`; ``exact`` that of `manifold`.
    """
    radius_a, radius_b = core_radius(a), core_radius(b)
    weights, small = room.work[SCRATCH : SCRATCH + 8], max(PROVED * exact, 1e-14 * scale)
    curved = has_curved_core(a.kind) or has_curved_core(b.kind)
    proved, faces, near, n = False, 0, 1e-5, 0
    smooth = curved
    if a.kind == CAPSULE and b.kind == BOX:
        distance, nx, ny, nz, t = segment_box(a.size[1], a.pose, b.size, b.pose, room.work)
        ax, ay, az = a.pose[9] + t * a.pose[2], a.pose[10] + t * a.pose[5], a.pose[11] + t * a.pose[8]
        proved = distance > TOUCHING * scale
    else:
        enough = margin + radius_a + radius_b
        distance, n, lower = gjk(a, b, scale, enough, room.work, weights)
        proved = distance > 1e-13 * scale and (distance - lower <= small or lower > enough)
        if proved or distance > TOUCHING * scale:
            x, y, z = weighted(n, weights, room.work, 0)
            # w = a - b, and the normal leads from A to B. From zero: a zero entry stays a plain zero.
            nx, ny, nz = 0.0 - x, 0.0 - y, 0.0 - z
            length = (nx * nx + ny * ny + nz * nz) ** 0.5
            nx, ny, nz, distance = nx / length, ny / length, nz / length, length
            smooth = curved or distance - lower > 1e-14 * scale
        else:
            depth, nx, ny, nz, faces = epa(a, b, n, scale, room, weights)
            distance, n, near = -depth, 3, (1e-2 if curved else 1e-5)
        ax, ay, az = weighted(n, weights, room.work, 3)
    if (smooth and distance <= margin + radius_a + radius_b) or not proved:
        point, off = (ax, ay, az), math.inf
        if smooth:
            # Of a round rim or mantle the distance is known well before the direction is.
            allowed = ROUND * scale if distance <= TOUCHING * scale else math.inf
            for stage in range(KINKS, ALL):
                value, m = polish(a, b, (nx, ny, nz), near * scale, scale, stage, room.work)
                off, point = common_point(a, b, m, -value, (ax, ay, az), scale, room.work)
                if off <= POINTS * exact and value + distance <= allowed:
                    proved, distance, (nx, ny, nz), (ax, ay, az) = True, -value, m, point
                    break
        elif overlap(a, b, (nx, ny, nz)) + distance <= small:
            off, (ax, ay, az) = common_point(a, b, (nx, ny, nz), distance, point, scale, room.work)
            proved = off <= POINTS * exact
        if not proved:
            value, (nx, ny, nz) = polish(a, b, (nx, ny, nz), near * scale, scale, ALL, room.work)
            if faces > 0 and value + distance > ROUND * scale:
                value, (nx, ny, nz) = _least(a, b, (nx, ny, nz), value, faces, scale, room.work)
            distance = -value
            off, (ax, ay, az) = common_point(a, b, (nx, ny, nz), distance, point, scale, room.work)
    gap = distance - radius_a - radius_b
    return gap, (nx, ny, nz), (ax + radius_a * nx, ay + radius_a * ny, az + radius_a * nz)


@kernel
def convex_convex(a: Posed, b: Posed, margin: float, room: Workspace, out: Contacts) -> int:
    """Contacts of two spheres, capsules, boxes, cylinders or convex hulls, in any combination; returns their number."""
    reach_a, reach_b = reach(a), reach(b)
    wide_a, wide_b = reach_a + core_radius(a), reach_b + core_radius(b)
    exact = EXACT * min(wide_a, wide_b)
    gap, normal, point = closest(a, b, margin, reach_a + reach_b, exact, room)
    if not gap <= margin:
        return 0
    return manifold(a, b, normal, point, gap, wide_a + wide_b, exact, margin, room, out)

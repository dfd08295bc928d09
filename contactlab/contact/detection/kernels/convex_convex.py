"""Any two convex shapes: closest points or depth of their cores, their radii, and the manifold along the normal."""

from __future__ import annotations

from contactlab.contact.detection.kernels.epa import epa
from contactlab.contact.detection.kernels.gjk import gjk
from contactlab.contact.detection.kernels.manifold import manifold
from contactlab.contact.detection.kernels.polish import overlap, polish
from contactlab.contact.detection.kernels.segments import segment_box
from contactlab.contact.detection.kernels.simplex import weighted
from contactlab.contact.detection.kernels.support import core_radius, has_curved_core, reach
from contactlab.contact.detection.kernels.touching import common_point
from contactlab.contact.kernels.layout import BOX, CAPSULE, SCRATCH, Contacts, Posed, Vector, Workspace
from lcp.kernels import kernel

# Cores closer than this, relative to their size, get the normal of a face: the difference of their closest points has
# too few digits left to give one.
TOUCHING = 1e-8
# A distance is proved where the bounds from both sides agree to this part of the size.
PROVED = 2e-12
# Part of the smaller shape's size to which gaps and points have to be known.
EXACT = 1e-9


@kernel
def closest(a: Posed, b: Posed, margin: float, scale: float, room: Workspace) -> tuple[float, Vector, Vector]:
    """Gap, unit normal from A into B, and where the gap begins on A's surface; all in world axes.

    A gap that is known to exceed ``margin`` may come out as any larger number, with any normal and point. ``scale`` is
    that of the cores, `support.reach`.
    """
    radius_a, radius_b = core_radius(a), core_radius(b)
    weights = room.work[SCRATCH : SCRATCH + 8]
    if a.kind == CAPSULE and b.kind == BOX:
        distance, nx, ny, nz, t = segment_box(a.size[1], a.pose, b.size, b.pose, room.work)
        ax, ay, az = a.pose[9] + t * a.pose[2], a.pose[10] + t * a.pose[5], a.pose[11] + t * a.pose[8]
    else:
        enough = margin + radius_a + radius_b
        distance, n, lower = gjk(a, b, scale, enough, room.work, weights)
        curved = has_curved_core(a.kind) or has_curved_core(b.kind)
        if distance > TOUCHING * scale:
            x, y, z = weighted(n, weights, room.work, 0)
            # w = a - b, and the normal leads from A to B. From zero: a zero entry stays a plain zero.
            nx, ny, nz = 0.0 - x, 0.0 - y, 0.0 - z
            length = (nx * nx + ny * ny + nz * nz) ** 0.5
            nx, ny, nz, distance = nx / length, ny / length, nz / length, length
            proved, near = distance - lower <= PROVED * scale or lower > enough, 1e-5
        else:
            depth, nx, ny, nz = epa(a, b, n, scale, room, weights)
            distance, n, lower = -depth, 3, -overlap(a, b, (nx, ny, nz))
            proved, near = not curved and distance - lower <= 10.0 * PROVED * scale, (1e-2 if curved else 1e-5)
        ax, ay, az = weighted(n, weights, room.work, 3)
        if not proved:
            value, (nx, ny, nz) = polish(a, b, (nx, ny, nz), near * scale, scale, room.work)
            distance = -value
        if not proved or not distance > TOUCHING * scale:
            ax, ay, az = common_point(a, b, (nx, ny, nz), distance, (ax, ay, az), scale, room.work)
    gap = distance - radius_a - radius_b
    return gap, (nx, ny, nz), (ax + radius_a * nx, ay + radius_a * ny, az + radius_a * nz)


@kernel
def convex_convex(a: Posed, b: Posed, margin: float, room: Workspace, out: Contacts) -> int:
    """Contacts of two spheres, capsules, boxes, cylinders or convex hulls, in any combination; returns their number."""
    reach_a, reach_b = reach(a), reach(b)
    scale = reach_a + reach_b
    gap, normal, point = closest(a, b, margin, scale, room)
    if not gap <= margin:
        return 0
    reach_a, reach_b = reach_a + core_radius(a), reach_b + core_radius(b)
    exact = EXACT * min(reach_a, reach_b)
    return manifold(a, b, normal, point, gap, reach_a + reach_b, exact, margin, room, out)

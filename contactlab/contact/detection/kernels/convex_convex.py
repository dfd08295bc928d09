"""Any two convex shapes: closest points or depth of their cores, their radii, and the manifold along the normal."""

from __future__ import annotations

from contactlab.contact.detection.kernels.epa import epa
from contactlab.contact.detection.kernels.gjk import gjk
from contactlab.contact.detection.kernels.manifold import manifold
from contactlab.contact.detection.kernels.segments import segment_box
from contactlab.contact.detection.kernels.simplex import weighted
from contactlab.contact.detection.kernels.support import core_radius, reach
from contactlab.contact.kernels.layout import BOX, CAPSULE, SCRATCH, Contacts, Posed, Vector, Workspace
from lcp.kernels import kernel

# Cores closer than this, relative to their size, get the normal of a face: the difference of their closest points has
# too few digits left to give one.
TOUCHING = 1e-8


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
        distance, n = gjk(a, b, scale, margin + radius_a + radius_b, room.work, weights)
        if distance > TOUCHING * scale:
            x, y, z = weighted(n, weights, room.work, 0)
            # w = a - b, and the normal leads from A to B. From zero: a zero entry stays a plain zero.
            nx, ny, nz = 0.0 - x, 0.0 - y, 0.0 - z
            length = (nx * nx + ny * ny + nz * nz) ** 0.5
            nx, ny, nz, distance = nx / length, ny / length, nz / length, length
        else:
            depth, nx, ny, nz = epa(a, b, n, scale, room, weights)
            distance, n = -depth, 3
        ax, ay, az = weighted(n, weights, room.work, 3)
    gap = distance - radius_a - radius_b
    return gap, (nx, ny, nz), (ax + radius_a * nx, ay + radius_a * ny, az + radius_a * nz)


@kernel
def convex_convex(a: Posed, b: Posed, margin: float, room: Workspace, out: Contacts) -> int:
    """Contacts of two spheres, capsules, boxes, cylinders or convex hulls, in any combination; returns their number."""
    scale = reach(a) + reach(b)
    gap, normal, point = closest(a, b, margin, scale, room)
    if not gap <= margin:
        return 0
    scale += core_radius(a) + core_radius(b)
    return manifold(a, b, normal, point, gap, scale, margin, room, out)

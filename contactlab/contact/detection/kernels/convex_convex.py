"""Any two convex shapes: closest points or depth of their cores, their radii, and the manifold along the normal."""

from __future__ import annotations

from contactlab.contact.detection.kernels.epa import epa
from contactlab.contact.detection.kernels.gjk import gjk
from contactlab.contact.detection.kernels.manifold import manifold
from contactlab.contact.detection.kernels.segments import segment_box
from contactlab.contact.detection.kernels.simplex import weighted
from contactlab.contact.detection.kernels.support import core_radius, reach
from contactlab.contact.kernels.layout import (
    BOX,
    CAPSULE,
    CONTACT,
    GAP,
    NORMAL,
    POINT,
    SCRATCH,
    Contacts,
    Posed,
    Vector,
    Workspace,
)
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
    return manifold(a, b, normal, point, gap, scale, margin, room, out, False)


@kernel
def spread_contacts(a: Posed, b: Posed, count: int, margin: float, room: Workspace, out: Contacts) -> int:
    """Add the corners that two convex shapes, A's kind not above B's, share along the normal of their closest contact.

    ``count`` contacts are there already, normals from A into B; returns how many there are then. Those beyond the
    capacity are counted, not stored.
    """
    capacity = out.rows.shape[0]
    nearest = 0
    for i in range(1, count):
        if out.rows[i, GAP] < out.rows[nearest, GAP]:
            nearest = i
    row = out.rows[nearest]
    gap = row[GAP]
    normal = (row[NORMAL], row[NORMAL + 1], row[NORMAL + 2])
    half = 0.5 * gap
    point = (row[POINT] - half * normal[0], row[POINT + 1] - half * normal[1], row[POINT + 2] - half * normal[2])
    scale = reach(a) + reach(b) + core_radius(a) + core_radius(b)
    rest = Contacts(out.rows[count:], out.features[count:])
    more = manifold(a, b, normal, point, gap, scale, margin, room, rest, True)
    if count + more > capacity:
        return count + more
    kept = count
    for i in range(count, count + more):
        # Nothing is deeper than the closest pair: what seems so leads out another way.
        known = out.rows[i, GAP] < gap - 1e-6 * scale
        for k in range(count):
            known = known or out.features[k] == out.features[i]
        if not known:
            for k in range(CONTACT):
                out.rows[kept, k] = out.rows[i, k]
            out.features[kept] = out.features[i]
            kept += 1
    return kept

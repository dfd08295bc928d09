"""Contacts of any two convex shapes: closest points or depth of their cores, their radii, and the manifold."""

from __future__ import annotations

import math

from contactlab.collision.detection.kernels.contacts import append_contact, deepest_contact, distance2
from contactlab.collision.detection.kernels.epa import epa
from contactlab.collision.detection.kernels.faces import Polygon, farthest_feature, on_feature, support_face
from contactlab.collision.detection.kernels.gjk import gjk, sharpen, weighted
from contactlab.collision.detection.kernels.manifold import LEANING, manifold
from contactlab.collision.detection.kernels.polish import ALL, KINKS, overlap, polish
from contactlab.collision.detection.kernels.support import characteristic_size, core_radius, has_curved_core
from contactlab.collision.kernels import (
    BITS,
    CORNER_POSE,
    CORNER_SIZE,
    CYLINDER,
    FACES,
    GAP,
    ID_A,
    MAX_FACE,
    NONE,
    POLYGON_A,
    POLYGON_B,
    POSE,
    SCRATCH,
    SIZE,
    SPHERE,
    ContactBuffer,
    Posed,
    Workspace,
)
from contactlab.multibody.spatial.arrays import FloatArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    copy,
    cross,
    dot,
    linear,
    opposite,
    put,
    subtract,
    times,
    vector,
    vector_at,
)
from lcp.kernels import kernel

# Cores closer than this, relative to their size, get the normal of a face, because the difference of their closest
# points has too few digits.
TOUCHING = 1e-8

# A distance is proved if its upper and lower bound agree to this fraction of the required accuracy.
PROOF_TOLERANCE = 2e-2

# Required accuracy of points, as a fraction of the accuracy of gaps.
POINT_TOLERANCE = 0.1

# Required accuracy of gaps and points, relative to the size of the smaller shape.
RELATIVE_ACCURACY = 1e-9

# Distance, relative to the size of a pair, within which two of its contacts are one.
COINCIDENT = 1e-7

# Relative accuracy of the lower bound of the depth of a curved core, and the maximum number of starts of its search.
DEPTH_TOLERANCE, MAX_STARTS = 2e-7, 16

# Cosine above which two faces of the polytope have the same direction.
SAME_DIRECTION = 0.999

# Maximum number of searches for the point of an overlap, and the relative distance by which cores are moved apart.
MAX_TRIES, SEPARATION_SHIFT = 8, 1e-7


# Squared sine of the angle of axis and normal below which a cap can touch with more than one point of its rim: the
# first if the normal determines that point, the second if not.
FLAT, NEARLY_FLAT = 1e-26, 1e-2

MAX_PROJECTIONS = 100


@kernel
def _distance2(p: Vec3, q: Vec3) -> float:
    """Return the squared distance of two points."""
    d = subtract(p, q)
    return dot(d, d)


@kernel
def _common_point(
    a: Posed, b: Posed, n: Vec3, distance: float, guess: Vec3, scale: float, flat: float, work: FloatArray
) -> tuple[float, Vec3]:
    """Return the squared residual and the point on A, as `common_point`; ``flat`` is the tolerance of the features."""
    of_a, of_b = work[POLYGON_A : POLYGON_A + 3 * MAX_FACE], work[POLYGON_B : POLYGON_B + 3 * MAX_FACE]
    against, slack = opposite(n), 1e-11 * scale
    # farthest features of both shapes; two edges that cross give the point directly
    na, nb = farthest_feature(a, n, slack, flat, of_a), farthest_feature(b, against, slack, flat, of_b)
    p = on_feature(a, of_a, na, n, guess)
    if na == 2 and nb == 2:
        u, w = subtract(linear(of_a), vector(of_a)), subtract(linear(of_b), vector(of_b))
        c = cross(u, w)
        if dot(c, c) > 1e-24 * dot(u, u) * dot(w, w):
            d = subtract(vector(of_b), vector(of_a))
            p = add(vector(of_a), times(min(max(dot(cross(d, w), c) / dot(c, c), 0.0), 1.0), u))
    # alternating projections on both features
    residual2 = math.inf
    for _ in range(MAX_PROJECTIONS):
        q = subtract(on_feature(b, of_b, nb, against, add(p, times(distance, n))), times(distance, n))
        residual2 = _distance2(p, q)
        if residual2 <= (1e-15 * scale) ** 2:
            break
        new = on_feature(a, of_a, na, n, q)
        moved2 = _distance2(new, p)
        p = new
        if moved2 <= (1e-16 * scale) ** 2:
            break
    return residual2, p


@kernel
def common_point(
    a: Posed, b: Posed, n: Vec3, distance: float, guess: Vec3, scale: float, work: FloatArray
) -> tuple[float, Vec3]:
    """Return the residual [m] and a point of A from which B is at ``distance`` along a unit vector n.

    Along the direction of least overlap the residual is zero: the farthest features of both shapes have a common point,
    seen along n. Two edges have it where they cross. For other features, alternating projections from ``guess`` find
    it.
    """
    residual2, p = _common_point(a, b, n, distance, guess, scale, FLAT, work)
    # a cap that is nearly normal to n can touch with more than one point of its rim
    if residual2 > (1e-12 * scale) ** 2 and CYLINDER in (a.kind, b.kind):
        again2, other = _common_point(a, b, n, distance, guess, scale, NEARLY_FLAT, work)
        if again2 < residual2:
            residual2, p = again2, other
    return math.sqrt(residual2), p


@kernel
def _least(a: Posed, b: Posed, n: Vec3, value: float, faces: int, scale: float, work: FloatArray) -> tuple[float, Vec3]:
    """Return the smallest overlap and its direction, from starts at faces of the polytope closer than ``value``.

    Faces that were tried, and faces with the same direction, get an infinite distance in ``work``.
    """
    for _ in range(MAX_STARTS):
        # the face of least depth below the present overlap
        best, depth = -1, value - DEPTH_TOLERANCE * scale
        for face in range(faces):
            if work[FACES + 4 * face + 3] < depth:
                best, depth = face, work[FACES + 4 * face + 3]
        if best < 0:
            break
        start = vector_at(work, FACES + 4 * best)
        # faces with the same direction lead to the same minimum
        for face in range(faces):
            i = FACES + 4 * face
            if dot(start, vector_at(work, i)) > SAME_DIRECTION:
                work[i + 3] = math.inf
        here, m = polish(a, b, start, 1e-2 * scale, scale, ALL, work)
        if here < value:
            value, n = here, m
    return value, n


@kernel
def closest(a: Posed, b: Posed, margin: float, scale: float, exact: float, room: Workspace) -> tuple[float, Vec3, Vec3]:
    """Return the gap, the unit normal from A into B, and the point of A where the gap begins; all in world axes.

    If the gap exceeds ``margin``, the result can be any larger number, with any normal and point. ``scale`` is the
    length of the cores (`characteristic_size`), ``exact`` the accuracy of `manifold`.
    """
    # distance of the cores: by GJK, or by the expanding polytope in an overlap
    radius_a, radius_b = core_radius(a), core_radius(b)
    weights, small = room.work[SCRATCH : SCRATCH + 8], max(PROOF_TOLERANCE * exact, 1e-14 * scale)
    curved = has_curved_core(a.kind) or has_curved_core(b.kind)
    smooth, faces, near = curved, 0, 1e-5
    enough = margin + radius_a + radius_b
    distance, n, lower = gjk(a, b, scale, enough, room.work, weights)
    apart = distance > 1e-13 * scale
    proved = apart and (distance - lower <= small or lower > enough)
    if proved or distance > TOUCHING * scale:
        # w = a - b, and the normal points from A to B; subtracted from zero, so that a zero entry stays +0
        normal = subtract((0.0, 0.0, 0.0), weighted(n, weights, room.work, 0))
        smooth = curved or distance - lower > 1e-14 * scale
        distance = dot(normal, normal) ** 0.5
        normal = (normal[0] / distance, normal[1] / distance, normal[2] / distance)
    else:
        depth, normal, faces = epa(a, b, n, scale, room, weights)
        distance, n, near = -depth, 3, (1e-2 if curved else 1e-5)
    on_a = weighted(n, weights, room.work, 3)
    # refine the direction until the gap is proved and both shapes have points at that distance
    if (smooth and distance <= margin + radius_a + radius_b) or not proved:
        point, off = on_a, math.inf
        if smooth:
            # the distance of a curved rim or mantle is known before its direction
            allowed = DEPTH_TOLERANCE * scale if distance <= TOUCHING * scale else math.inf
            for stage in range(KINKS, ALL):
                value, m = polish(a, b, normal, near * scale, scale, stage, room.work)
                off, point = common_point(a, b, m, -value, on_a, scale, room.work)
                if off <= POINT_TOLERANCE * exact and value + distance <= allowed:
                    proved, distance, normal, on_a = True, -value, m, point
                    break
        elif overlap(a, b, normal) + distance <= small:
            off, on_a = common_point(a, b, normal, distance, point, scale, room.work)
            proved = off <= POINT_TOLERANCE * exact
        # the general minimisation, from the faces of the polytope too, then GJK with cores moved apart
        if not proved:
            value, normal = polish(a, b, normal, near * scale, scale, ALL, room.work)
            if faces > 0 and value + distance > DEPTH_TOLERANCE * scale:
                value, normal = _least(a, b, normal, value, faces, scale, room.work)
            distance = -value
            off, on_a = common_point(a, b, normal, distance, point, scale, room.work)
            first = normal
            for _ in range(1 if apart else MAX_TRIES):
                if off <= POINT_TOLERANCE * exact:
                    break
                shift = 0.0 if apart else overlap(a, b, first) + SEPARATION_SHIFT * scale
                here, value, first, point = sharpen(
                    a, b, first, shift, 0.1 * POINT_TOLERANCE * exact, room.work, weights
                )
                if here < off:
                    off, distance, normal, on_a = here, -value, first, point
    # add the radii of the cores
    gap = distance - radius_a - radius_b
    return gap, normal, add(on_a, times(radius_a, normal))


@kernel
def convex_convex(a: Posed, b: Posed, margin: float, room: Workspace, out: ContactBuffer) -> int:
    """Write the contacts of two spheres, capsules, boxes, cylinders or hulls; return their number."""
    reach_a, reach_b = characteristic_size(a), characteristic_size(b)
    wide_a, wide_b = reach_a + core_radius(a), reach_b + core_radius(b)
    exact = RELATIVE_ACCURACY * min(wide_a, wide_b)
    gap, normal, point = closest(a, b, margin, reach_a + reach_b, exact, room)
    if not gap <= margin:
        return 0
    return manifold(a, b, normal, point, gap, wide_a + wide_b, exact, margin, room, out, False)


@kernel
def spread_contacts(a: Posed, b: Posed, count: int, margin: float, room: Workspace, out: ContactBuffer) -> int:
    """Add the vertices that two convex shapes share along the normal of their closest contact; return the new count.

    ``out`` has ``count`` contacts already, with normals from A into B. The kind of A is not above the kind of B.
    Vertices deeper than the closest contact, and contacts already known, are left out. Contacts beyond the capacity are
    counted, not stored.
    """
    # the common polygon of the two faces
    capacity = out.rows.shape[0]
    gap, normal, point = deepest_contact(count, out)
    wide_a, wide_b = characteristic_size(a) + core_radius(a), characteristic_size(b) + core_radius(b)
    scale, exact = wide_a + wide_b, RELATIVE_ACCURACY * min(wide_a, wide_b)
    rest = ContactBuffer(out.rows[count:], out.features[count:])
    more = manifold(a, b, normal, point, gap, scale, exact, margin, room, rest, True)
    if count + more > capacity:
        return count + more
    kept = count
    # keep the new contacts; depths are known less accurately than distances
    least = gap - (1e-9 if gap > 0.0 else 1e-6) * scale
    for i in range(count, count + more):
        # a contact deeper than the closest pair has another direction of escape
        if out.rows[i, GAP] >= least and not is_known(i, count, scale, out):
            copy(out.rows[i], out.rows[kept])
            out.features[kept] = out.features[i]
            kept += 1
    return kept


@kernel
def is_known(i: int, count: int, scale: float, out: ContactBuffer) -> bool:
    """Return True if contact ``i`` has the feature or the place of one of the first ``count``."""
    for k in range(count):
        if out.features[k] == out.features[i] or distance2(i, k, out.rows) <= (COINCIDENT * scale) ** 2:
            return True
    return False


@kernel
def corner_contacts(a: Posed, b: Posed, count: int, margin: float, room: Workspace, out: ContactBuffer) -> int:
    """Add the vertices of the faces along the closest contact's normal, each with the closest point of the other shape.

    ``out`` has ``count`` contacts already, with normals from A into B. Vertices whose features are contacts already,
    and vertices with another direction of escape, are left out. Return the new count; contacts beyond the capacity are
    counted, not stored.
    """
    work, ints = room
    least, normal, _ = deepest_contact(count, out)
    # each vertex is a sphere with the radius of its shape
    scale = characteristic_size(a) + characteristic_size(b)
    pose, size = work[CORNER_POSE : CORNER_POSE + POSE], work[CORNER_SIZE : CORNER_SIZE + SIZE]
    for j in range(9):
        pose[j] = 1.0 if j % 4 == 0 else 0.0
    for side in range(2):
        shape, other = (a, b) if side == 0 else (b, a)
        sign = 1.0 if side == 0 else -1.0
        n = times(sign, normal)
        radius = core_radius(shape)
        size[0] = radius
        corner = Posed(SPHERE, size, pose, shape.data, shape.loops)
        wide = min(characteristic_size(shape), characteristic_size(other) + core_radius(other))
        face = Polygon(work[POLYGON_A : POLYGON_A + 3 * MAX_FACE], ints[ID_A : ID_A + MAX_FACE])
        corners = 2
        i = 0
        while i < corners:
            # the search for closest points overwrites the face, so that it is computed again
            corners, _ = support_face(shape, n, work[SCRATCH : SCRATCH + 6], face)
            number = face.ids[i]
            put(subtract(vector_at(face.corners, 3 * i), times(radius, n)), pose[9:12])
            i += 1
            code = (number << BITS) | NONE if side == 0 else (NONE << BITS) | number
            gap, m, point = closest(corner, other, margin, scale, RELATIVE_ACCURACY * wide, room)
            if gap > margin or gap < least or dot(m, n) < LEANING:
                continue
            if side == 1:
                point = add(point, times(gap, m))
            if count >= out.rows.shape[0]:
                return count + 1
            count = append_contact(point, times(sign, m), gap, code, count, out)
            if is_known(count - 1, count - 1, scale, out):
                count -= 1
    return count

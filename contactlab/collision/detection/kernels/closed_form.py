"""Contacts in closed form: spheres, capsules, boxes and cylinders with a round shape, half-spaces with all bodies."""

from __future__ import annotations

import math

from contactlab.collision.detection.kernels.contacts import append_contact
from contactlab.collision.detection.kernels.support import (
    axis_of,
    core_radius,
    ground_point,
    ground_point_count,
    origin,
    perpendicular,
    relative,
    unit,
)
from contactlab.collision.kernels import (
    BITS,
    CLOSEST_POINT_FEATURE,
    GAP,
    NONE,
    ContactBuffer,
    Posed,
)
from contactlab.multibody.spatial.arrays import FloatArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    copy,
    cross,
    dot,
    linear,
    opposite,
    rotate,
    rotate_inverse,
    subtract,
    times,
    vector,
)
from lcp.kernels import kernel


@kernel
def closest_on_segments(du: float, dw: float, cosine: float, half_a: float, half_b: float) -> tuple[float, float]:
    """Return the parameters s, t of the closest points a + s u and b + t w of two segments, u and w unit vectors.

    |s| <= half_a, |t| <= half_b. ``du`` and ``dw`` are the components of b - a along u and w, ``cosine`` is u . w
    (Ericson 2005, section 5.1.9). For parallel segments the result is any pair of closest points.
    """
    sine2 = 1.0 - cosine * cosine
    s = 0.0
    if sine2 > 1e-14:
        s = (du - dw * cosine) / sine2
    s = min(max(s, -half_a), half_a)
    t = min(max(s * cosine - dw, -half_b), half_b)
    # with t fixed, the best s is the projection of t; a second round corrects for the clamps
    s = min(max(t * cosine + du, -half_a), half_a)
    t = min(max(s * cosine - dw, -half_b), half_b)
    return s, t


# Cosine of the angle of two axes above which the ends of the common stretch are contacts too (5.7 degrees).
SIDE_BY_SIDE = 0.995


@kernel
def _points(
    p: Vec3, ra: float, d: Vec3, rb: float, fallback: Vec3, code: int, margin: float, count: int, out: ContactBuffer
) -> int:
    """Write the contact of two points with radii, p and p + d; if they coincide the normal is ``fallback``."""
    length, normal = math.sqrt(dot(d, d)), fallback
    gap = length - ra - rb
    if not gap <= margin:
        return count
    # the rounding between coinciding points is not a direction
    size = abs(p[0]) + abs(p[1]) + abs(p[2]) + ra + rb
    if length > 4e-16 * size and length > 1e-150:
        normal = unit(d)
    return append_contact(add(p, times(ra, normal)), normal, gap, code, count, out)


@kernel
def sphere_sphere(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Write the contact of two spheres, 0 or 1; the normal of concentric ones is the world's z axis.

    Christer Ericson, Real-Time Collision Detection, Morgan Kaufmann 2005, section 4.3.
    """
    d = relative(a.pose, b.pose)
    return _points(origin(a.pose), a.size[0], d, b.size[0], (0.0, 0.0, 1.0), 0, margin, 0, out)


@kernel(inner=True)
def _on_axis(pose: FloatArray, t: float) -> Vec3:
    """Return point t of a capsule's axis."""
    return add(origin(pose), times(t, axis_of(pose, 2)))


@kernel(inner=True)
def _drop_axial_rounding(d: Vec3, u: Vec3) -> Vec3:
    """Remove from the shortest vector d to an axis its component along the axis, which is rounding."""
    return subtract(d, times(dot(d, u), u))


@kernel
def sphere_capsule(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Write the contact of a sphere (A) and a capsule (B), 0 or 1.

    The point of the capsule is the point of its axis closest to the sphere's centre (Ericson 2005, section 5.1.2), with
    its radius. A centre on the axis gets a normal across it that depends only on the axis.
    """
    u = axis_of(b.pose, 2)
    t = min(max(dot(relative(b.pose, a.pose), u), -b.size[1]), b.size[1])
    d = subtract(_on_axis(b.pose, t), origin(a.pose))
    if abs(t) < b.size[1]:
        d = _drop_axial_rounding(d, u)
    return _points(origin(a.pose), a.size[0], d, b.size[0], perpendicular(u), 0, margin, 0, out)


@kernel
def _on_axes(
    a: Posed, b: Posed, s: float, t: float, fallback: Vec3, code: int, margin: float, count: int, out: ContactBuffer
) -> int:
    """Write the contact of point s of A's axis and point t of B's: the closest points, or one of them is an end."""
    p = _on_axis(a.pose, s)
    d = subtract(_on_axis(b.pose, t), p)
    u, w = axis_of(a.pose, 2), axis_of(b.pose, 2)
    on_a, on_b = abs(s) < a.size[1], abs(t) < b.size[1]
    # axes that nearly meet: keep only the component normal to both
    c = cross(u, w)
    sine2, size = dot(c, c), a.size[0] + a.size[1] + b.size[0] + b.size[1]
    if on_a and on_b and dot(d, d) < sine2 * size * size:
        # the cross product of nearly parallel directions has few digits, so remove its component along the axis
        d = _drop_axial_rounding(times(dot(d, c) / sine2, c), u)
    elif on_a:
        d = _drop_axial_rounding(d, u)
    elif on_b:
        d = _drop_axial_rounding(d, w)
    return _points(p, a.size[0], d, b.size[0], fallback, code, margin, count, out)


@kernel
def capsule_capsule(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Write the contacts of two capsules, at most 3; return their number.

    The closest points of the axes are always a contact. If the capsules are side by side, the ends of their common
    stretch are contacts too. Each pairs an end of one axis with the closest point of the other. Parallel axes have only
    these two. The normal of axes that cross is their common perpendicular; for collinear axes it is a fixed direction
    perpendicular to them.
    """
    # closest points of the axes
    u, w = axis_of(a.pose, 2), axis_of(b.pose, 2)
    d = relative(a.pose, b.pose)
    cosine, du, dw = dot(u, w), dot(d, u), dot(d, w)
    ha, hb = a.size[1], b.size[1]
    c = cross(u, w)
    fallback = unit(c) if math.sqrt(dot(c, c)) > 1e-7 else perpendicular(u)
    s, t = closest_on_segments(du, dw, cosine, ha, hb)
    count, rows = _on_axes(a, b, s, t, fallback, CLOSEST_POINT_FEATURE, margin, 0, out), out.rows
    if count == 0 or abs(cosine) < SIDE_BY_SIDE or rows.shape[0] < 3:
        return count
    # ends of the common stretch
    sign = 1.0 if cosine > 0.0 else -1.0
    low, high = max(-ha, du - hb), min(ha, du + hb)
    if high - low <= 1e-9 * (ha + hb):
        return count
    # if both end at the same place, A's end is used in every step, because warm starts identify contacts by feature
    tie = 1e-12 * (ha + hb)
    for end in range(2):
        side = 1.0 if end == 1 else -1.0
        if (ha <= du + hb + tie) if end == 1 else (-ha >= du - hb - tie):
            s_end = side * ha
            t_end = min(max(s_end * cosine - dw, -hb), hb)
            code = (end << BITS) | NONE
        else:
            t_end = side * sign * hb
            s_end = min(max(t_end * cosine + du, -ha), ha)
            code = (NONE << BITS) | int(t_end > 0.0)
        previous = count
        count = _on_axes(a, b, s_end, t_end, fallback, code, margin, count, out)
        # if the axes nearly cross, the normals on both sides of the crossing are opposite
        if count > previous and dot(linear(rows[count - 1]), linear(rows[0])) < 0.9:
            count = previous
    return _drop_closest_point(count, 1e-10 * (ha + hb + a.size[0] + b.size[0]), out)


@kernel
def _drop_closest_point(count: int, slack: float, out: ContactBuffer) -> int:
    """Drop the contact in row 0, the closest points, if an end of the stretch is as close; return the new count."""
    rows, features = out
    closest = rows[0, GAP] + slack
    for i in range(1, count):
        if rows[i, GAP] <= closest:
            for k in range(1, count):
                copy(rows[k], rows[k - 1])
                features[k - 1] = features[k]
            return count - 1
    return count


@kernel
def _to_side(c: Vec3, h: Vec3, size: float) -> tuple[float, Vec3]:
    """Return distance and direction from a point to the closest point of a box with half sides h (Ericson 2005, 5.1.4).

    A point inside leaves through the nearest face, the first of equal ones in the order x, y, z: its distance is
    negative. ``size`` is the length of the sides.
    """
    lx = min(max(c[0], -h[0]), h[0]) - c[0]
    ly = min(max(c[1], -h[1]), h[1]) - c[1]
    lz = min(max(c[2], -h[2]), h[2]) - c[2]
    length = math.sqrt(lx * lx + ly * ly + lz * lz)
    # a point on the surface up to rounding counts as inside
    if length > 1e-12 * size:
        return length, (lx / length, ly / length, lz / length)
    distance, direction = abs(c[0]) - h[0], ((-1.0 if c[0] >= 0.0 else 1.0), 0.0, 0.0)
    if abs(c[1]) - h[1] > distance:
        distance, direction = abs(c[1]) - h[1], (0.0, (-1.0 if c[1] >= 0.0 else 1.0), 0.0)
    if abs(c[2]) - h[2] > distance:
        distance, direction = abs(c[2]) - h[2], (0.0, 0.0, (-1.0 if c[2] >= 0.0 else 1.0))
    return distance, direction


@kernel
def _exit_contact(a: Posed, b: Posed, direction: Vec3, distance: float, margin: float, out: ContactBuffer) -> int:
    """Write the contact of a sphere (A), ``distance`` from a surface along a unit vector in B's axes; return 0 or 1."""
    gap = distance - a.size[0]
    if not gap <= margin:
        return 0
    normal = rotate(b.pose, direction)
    return append_contact(add(origin(a.pose), times(a.size[0], normal)), normal, gap, 0, 0, out)


@kernel
def sphere_box(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Write the contact of a sphere (A) and a box (B), 0 or 1."""
    center, half = rotate_inverse(b.pose, relative(b.pose, a.pose)), vector(b.size)
    distance, direction = _to_side(center, half, half[0] + half[1] + half[2])
    return _exit_contact(a, b, direction, distance, margin, out)


@kernel
def sphere_cylinder(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Write the contact of a sphere (A) and a cylinder (B), 0 or 1.

    In the half-plane through the axis and the sphere's centre the cylinder is a rectangle. A centre inside leaves
    through the nearer of mantle and cap. A centre on the axis leaves through the mantle along the cylinder's x axis.
    """
    # radial direction, and distance from the axis
    cx, cy, cz = rotate_inverse(b.pose, relative(b.pose, a.pose))
    rim, half = b.size[0], b.size[1]
    rho = math.sqrt(cx * cx + cy * cy)
    ex, ey = 1.0, 0.0
    if rho > 1e-150:
        ex, ey = cx / rho, cy / rho
    distance, (lr, _, lz) = _to_side((rho, 0.0, cz), (rim, math.inf, half), rim + half)
    return _exit_contact(a, b, (lr * ex, lr * ey, lz), distance, margin, out)


@kernel
def half_space_any(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Append a contact of a half-space (A) and a shape (B) for each point of B within ``margin``; return their number.

    `ground_point` gives the points and their features.
    """
    # plane of the half-space in world axes, and the downward direction in the axes of B
    normal = rotate(a.pose, vector(a.size))
    offset = a.size[3] + normal[0] * a.pose[9] + normal[1] * a.pose[10] + normal[2] * a.pose[11]
    downwards = opposite(rotate_inverse(b.pose, normal))
    radius, count = core_radius(b), 0
    for i in range(ground_point_count(b)):
        lx, ly, lz, code = ground_point(b, i, downwards)
        # the order of operations of `world_point` and `collide_point`, so that the bits are equal
        point = add(origin(b.pose), rotate(b.pose, (lx, ly, lz)))
        gap = dot(normal, point) - radius - offset
        if gap <= margin:
            on_plane = subtract(point, times(radius + gap, normal))
            count = append_contact(on_plane, normal, gap, code, count, out)
    return count

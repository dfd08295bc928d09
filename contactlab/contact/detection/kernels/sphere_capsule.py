"""Spheres and capsules in closed form: with one another, with boxes and with cylinders."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.contacts import append_contact
from contactlab.contact.detection.kernels.support import (
    axis_of,
    cross,
    dot,
    origin,
    perpendicular,
    relative,
    rotate,
    rotate_inverse,
)
from contactlab.contact.kernels.layout import (
    BITS,
    CLOSEST_POINT_FEATURE,
    CONTACT,
    GAP,
    NONE,
    NORMAL,
    ContactBuffer,
    Posed,
)
from contactlab.spatial.arrays import FloatArray, Vec3
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


@kernel
def _slope(t: float, c: FloatArray, u: FloatArray, half: FloatArray) -> float:
    """Return half the derivative by t of the squared distance of c + t u from the box."""
    total = 0.0
    for i in range(3):
        x = c[i] + t * u[i]
        if x > half[i]:
            total += (x - half[i]) * u[i]
        elif x < -half[i]:
            total += (x + half[i]) * u[i]
    return total


@kernel
def segment_box(
    half_length: float, pose_a: FloatArray, half: FloatArray, pose_b: FloatArray, work: FloatArray
) -> tuple[float, float, float, float, float]:
    """Return (distance, nx, ny, nz, t): the signed distance of a capsule's axis (A) from a box (B) and the unit normal.

    The normal points from A to B, in world axes. t is the position on the axis, from -half_length to half_length.

    The squared distance is convex along the axis and quadratic between the planes of the box's faces, so its slope is
    monotonic and piecewise linear: the breakpoints bracket its zero, and one linear interpolation gives it exactly. An
    axis inside the box leaves along the shortest of the 6 + 6 directions of the separating axis theorem: face normals,
    and the axis crossed with an edge (S. Gottschalk, M. C. Lin, D. Manocha, OBBTree, SIGGRAPH 1996).
    """
    # axis of the capsule in the axes of the box
    c, u = work[0:3], work[3:6]
    c[0], c[1], c[2] = rotate_inverse(pose_b, relative(pose_b, pose_a))
    u[0], u[1], u[2] = rotate_inverse(pose_b, (pose_a[2], pose_a[5], pose_a[8]))
    # bracket the zero of the slope by the planes of the faces, then interpolate
    low, high = -half_length, half_length
    at_low, at_high = _slope(low, c, u, half), _slope(high, c, u, half)
    if at_low >= 0.0:
        t = low
    elif at_high <= 0.0:
        t = high
    else:
        for i in range(3):
            for side in range(2):
                if u[i] != 0.0:
                    knot = ((half[i] if side == 1 else -half[i]) - c[i]) / u[i]
                    if low < knot < high:
                        slope = _slope(knot, c, u, half)
                        if slope < 0.0:
                            low, at_low = knot, slope
                        else:
                            high, at_high = knot, slope
        t = low - at_low * (high - low) / (at_high - at_low)
    # normal from the point of the axis, or the direction of least overlap
    n, best = work[6:9], work[9:12]
    length2 = 0.0
    for i in range(3):
        x = c[i] + t * u[i]
        n[i] = min(max(x, -half[i]), half[i]) - x
        length2 += n[i] * n[i]
    distance = math.sqrt(length2)
    if distance > 1e-9 * (half[0] + half[1] + half[2] + half_length):
        for i in range(3):
            n[i] /= distance
    else:
        distance, t = _overlap(half_length, c, u, half, n, best)
    nx, ny, nz = rotate(pose_b, (n[0], n[1], n[2]))
    return distance, nx, ny, nz, t


@kernel
def _overlap(
    half_length: float, c: FloatArray, u: FloatArray, half: FloatArray, n: FloatArray, best: FloatArray
) -> tuple[float, float]:
    """Fill the normal n of the largest separation (at most 0) over the candidate directions; return (separation, t)."""
    # normals of the faces
    largest = -math.inf
    for i in range(3):
        separation = abs(c[i]) - half[i] - half_length * abs(u[i])
        if separation > largest:
            largest = separation
            for j in range(3):
                best[j] = 0.0
            best[i] = -1.0 if c[i] >= 0.0 else 1.0
    # the axis crossed with an edge
    edge, slack = -1, 1e-9 * (half[0] + half[1] + half[2])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        length = math.sqrt(u[j] * u[j] + u[k] * u[k])
        if length > 1e-6:
            # u x e_i has the components u_k on j and -u_j on k
            along = (u[k] * c[j] - u[j] * c[k]) / length
            separation = abs(along) - (abs(u[k]) * half[j] + abs(u[j]) * half[k]) / length
            if separation > largest + slack:
                largest, edge = separation, i
                sign = -1.0 if along >= 0.0 else 1.0
                best[i], best[j], best[k] = 0.0, sign * u[k] / length, -sign * u[j] / length
    for i in range(3):
        n[i] = best[i]
    if edge < 0:
        # through a face: the deeper end, or the middle of an axis parallel to the face
        along = u[0] * n[0] + u[1] * n[1] + u[2] * n[2]
        if abs(along) * half_length <= slack:
            return largest, 0.0
        return largest, (half_length if along > 0.0 else -half_length)
    # through an edge: the point of the axis closest to the edge of the box that faces it
    j, k = (edge + 1) % 3, (edge + 2) % 3
    ej = half[j] if n[j] < 0.0 else -half[j]
    ek = half[k] if n[k] < 0.0 else -half[k]
    t = ((ej - c[j]) * u[j] + (ek - c[k]) * u[k]) / (u[j] * u[j] + u[k] * u[k])
    return largest, min(max(t, -half_length), half_length)


# Cosine of the angle of two axes above which the ends of the common stretch are contacts too (5.7 degrees).
SIDE_BY_SIDE = 0.995


@kernel
def _points(
    p: Vec3, ra: float, d: Vec3, rb: float, fallback: Vec3, code: int, margin: float, count: int, out: ContactBuffer
) -> int:
    """Write the contact of two points with radii, p and p + d; if they coincide the normal is ``fallback``."""
    (ax, ay, az), (dx, dy, dz) = p, d
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    gap = length - ra - rb
    if not gap <= margin:
        return count
    # the rounding between coinciding points is not a direction
    size = abs(ax) + abs(ay) + abs(az) + ra + rb
    nx, ny, nz = fallback
    if length > 4e-16 * size and length > 1e-150:
        nx, ny, nz = dx / length, dy / length, dz / length
    return append_contact((ax + ra * nx, ay + ra * ny, az + ra * nz), (nx, ny, nz), gap, code, count, out)


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
    return pose[9] + t * pose[2], pose[10] + t * pose[5], pose[11] + t * pose[8]


@kernel(inner=True)
def _to_axis(p: Vec3, pose: FloatArray, t: float) -> Vec3:
    """Return the vector from p to point t of a capsule's axis."""
    x, y, z = _on_axis(pose, t)
    return x - p[0], y - p[1], z - p[2]


@kernel(inner=True)
def _drop_axial_rounding(d: Vec3, u: Vec3) -> Vec3:
    """Remove from the shortest vector d to an axis its component along the axis, which is rounding."""
    component = dot(d, u)
    return d[0] - component * u[0], d[1] - component * u[1], d[2] - component * u[2]


@kernel
def sphere_capsule(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Write the contact of a sphere (A) and a capsule (B), 0 or 1.

    The point of the capsule is the point of its axis closest to the sphere's centre (Ericson 2005, section 5.1.2), with
    its radius. A centre on the axis gets a normal across it that depends only on the axis.
    """
    u = axis_of(b.pose, 2)
    t = min(max(dot(relative(b.pose, a.pose), u), -b.size[1]), b.size[1])
    d = _to_axis(origin(a.pose), b.pose, t)
    if abs(t) < b.size[1]:
        d = _drop_axial_rounding(d, u)
    return _points(origin(a.pose), a.size[0], d, b.size[0], perpendicular(u), 0, margin, 0, out)


@kernel
def _on_axes(
    a: Posed, b: Posed, s: float, t: float, fallback: Vec3, code: int, margin: float, count: int, out: ContactBuffer
) -> int:
    """Write the contact of point s of A's axis and point t of B's: the closest points, or one of them is an end."""
    p = _on_axis(a.pose, s)
    d = _to_axis(p, b.pose, t)
    u, w = axis_of(a.pose, 2), axis_of(b.pose, 2)
    on_a, on_b = abs(s) < a.size[1], abs(t) < b.size[1]
    # axes that nearly meet: keep only the component normal to both
    c = cross(u, w)
    sine2, size = dot(c, c), a.size[0] + a.size[1] + b.size[0] + b.size[1]
    if on_a and on_b and dot(d, d) < sine2 * size * size:
        factor = dot(d, c) / sine2
        # the cross product of nearly parallel directions has few digits, so remove its component along the axis
        d = _drop_axial_rounding((factor * c[0], factor * c[1], factor * c[2]), u)
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
    cx, cy, cz = cross(u, w)
    length = math.sqrt(cx * cx + cy * cy + cz * cz)
    if length > 1e-7:
        fallback = (cx / length, cy / length, cz / length)
    else:
        fallback = perpendicular(u)
    s, t = closest_on_segments(du, dw, cosine, ha, hb)
    count, rows = _on_axes(a, b, s, t, fallback, CLOSEST_POINT_FEATURE, margin, 0, out), out.rows
    if count == 0 or abs(cosine) < SIDE_BY_SIDE or rows.shape[0] < 3:
        return count
    # ends of the common stretch
    sign = 1.0 if cosine > 0.0 else -1.0
    low, high = max(-ha, du - hb), min(ha, du + hb)
    if high - low <= 1e-9 * (ha + hb):
        return count
    nx, ny, nz = rows[0, NORMAL], rows[0, NORMAL + 1], rows[0, NORMAL + 2]
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
        if count > previous:
            row = rows[count - 1]
            # if the axes nearly cross, the normals on both sides of the crossing are opposite
            if row[NORMAL] * nx + row[NORMAL + 1] * ny + row[NORMAL + 2] * nz < 0.9:
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
                for j in range(CONTACT):
                    rows[k - 1, j] = rows[k, j]
                features[k - 1] = features[k]
            return count - 1
    return count


@kernel
def _exit_contact(a: Posed, b: Posed, direction: Vec3, gap: float, margin: float, out: ContactBuffer) -> int:
    """Write the contact of a sphere (A) along a unit normal in B's axes; return 0 if it exceeds ``margin``, else 1."""
    if not gap <= margin:
        return 0
    normal, radius = rotate(b.pose, direction), a.size[0]
    point = (a.pose[9] + radius * normal[0], a.pose[10] + radius * normal[1], a.pose[11] + radius * normal[2])
    return append_contact(point, normal, gap, 0, 0, out)


@kernel
def sphere_box(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Write the contact of a sphere (A) and a box (B), 0 or 1.

    A centre outside touches the closest point of the box (Ericson 2005, section 5.1.4). A centre inside leaves through
    the nearest face, the first of equal ones in the order x, y, z.
    """
    # vector from the centre to the closest point of the box
    cx, cy, cz = rotate_inverse(b.pose, relative(b.pose, a.pose))
    hx, hy, hz = b.size[0], b.size[1], b.size[2]
    radius = a.size[0]
    lx = min(max(cx, -hx), hx) - cx
    ly = min(max(cy, -hy), hy) - cy
    lz = min(max(cz, -hz), hz) - cz
    length = math.sqrt(lx * lx + ly * ly + lz * lz)
    # a centre on the surface up to rounding counts as inside
    if length > 1e-12 * (hx + hy + hz):
        gap = length - radius
        lx, ly, lz = lx / length, ly / length, lz / length
    else:
        gap, lx, ly, lz = abs(cx) - hx, (-1.0 if cx >= 0.0 else 1.0), 0.0, 0.0
        if abs(cy) - hy > gap:
            gap, lx, ly = abs(cy) - hy, 0.0, (-1.0 if cy >= 0.0 else 1.0)
        if abs(cz) - hz > gap:
            gap, lx, ly, lz = abs(cz) - hz, 0.0, 0.0, (-1.0 if cz >= 0.0 else 1.0)
        gap -= radius
    return _exit_contact(a, b, (lx, ly, lz), gap, margin, out)


@kernel
def sphere_cylinder(a: Posed, b: Posed, margin: float, out: ContactBuffer) -> int:
    """Write the contact of a sphere (A) and a cylinder (B), 0 or 1.

    In the half-plane through the axis and the sphere's centre the cylinder is a rectangle, so that the closest point is
    found as for a box. A centre inside leaves through the nearer of mantle and cap. A centre on the axis leaves through
    the mantle along the cylinder's x axis.
    """
    # radial direction, and distance from the axis
    cx, cy, cz = rotate_inverse(b.pose, relative(b.pose, a.pose))
    rim, half, radius = b.size[0], b.size[1], a.size[0]
    rho = math.sqrt(cx * cx + cy * cy)
    ex, ey = 1.0, 0.0
    if rho > 1e-150:
        ex, ey = cx / rho, cy / rho
    # radial and axial difference to the closest point of the rectangle
    lr = min(rho, rim) - rho
    lz = min(max(cz, -half), half) - cz
    length = math.sqrt(lr * lr + lz * lz)
    if length > 1e-12 * (rim + half):
        gap = length - radius
        lr, lz = lr / length, lz / length
    elif abs(cz) - half > rho - rim:
        gap, lr, lz = abs(cz) - half - radius, 0.0, (-1.0 if cz >= 0.0 else 1.0)
    else:
        gap, lr, lz = rho - rim - radius, -1.0, 0.0
    return _exit_contact(a, b, (lr * ex, lr * ey, lz), gap, margin, out)

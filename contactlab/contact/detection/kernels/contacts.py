"""The contacts of one pair: appended, flipped, sorted, and reduced to those that matter."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.support import cross, dot, perpendicular
from contactlab.contact.kernels.layout import CONTACT, GAP, NORMAL, POINT, TRIANGLE_BITS, ContactBuffer, Vec3
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def append_contact(point: Vec3, normal: Vec3, gap: float, code: int, count: int, out: ContactBuffer) -> int:
    """Write contact number ``count`` and return ``count`` + 1; one beyond the capacity is counted, not stored.

    ``point`` lies on A's surface and the gap from it on along the normal. The point written is the middle of the
    gap: it is the same whichever of the two shapes comes first, and neither surface is preferred in an overlap.
    """
    if count < out.rows.shape[0]:
        row, (x, y, z), (nx, ny, nz) = out.rows[count], point, normal
        row[POINT], row[POINT + 1], row[POINT + 2] = x + 0.5 * gap * nx, y + 0.5 * gap * ny, z + 0.5 * gap * nz
        row[NORMAL], row[NORMAL + 1], row[NORMAL + 2] = nx, ny, nz
        row[GAP] = gap
        out.features[count] = code
    return count + 1


@kernel
def flip_normals(rows: FloatArray, count: int) -> None:
    """Turn the normals of the first ``count`` contacts: A and B change places."""
    for i in range(min(count, rows.shape[0])):
        for j in range(3):
            # From zero: a zero entry stays a plain zero.
            rows[i, NORMAL + j] = 0.0 - rows[i, NORMAL + j]


@kernel
def _swap(i: int, j: int, out: ContactBuffer) -> None:
    rows, features = out.rows, out.features
    for m in range(rows.shape[1]):
        kept = rows[i, m]
        rows[i, m] = rows[j, m]
        rows[j, m] = kept
    code = features[i]
    features[i] = features[j]
    features[j] = code


@kernel
def sort_contacts(count: int, out: ContactBuffer) -> None:
    """Sort the contacts of one pair by feature: their order does not depend on how they were found."""
    # By selection: rows are long, and each is moved at most once or twice.
    for i in range(count - 1):
        least = i
        for j in range(i + 1, count):
            if out.features[j] < out.features[least]:
                least = j
        if least != i:
            _swap(i, least, out)


@kernel
def distance2(i: int, j: int, rows: FloatArray) -> float:
    """Squared distance of two contacts."""
    x, y, z = rows[i, 0] - rows[j, 0], rows[i, 1] - rows[j, 1], rows[i, 2] - rows[j, 2]
    return x * x + y * y + z * z


@kernel
def _added_area(i: int, chosen: int, rows: FloatArray) -> float:
    """What contact i adds to the first ``chosen``: squared distance from one, squared area with two, outside three."""
    if chosen == 1:
        return distance2(i, 0, rows)
    if chosen == 2:
        ax, ay, az = rows[i, 0] - rows[0, 0], rows[i, 1] - rows[0, 1], rows[i, 2] - rows[0, 2]
        bx, by, bz = rows[1, 0] - rows[0, 0], rows[1, 1] - rows[0, 1], rows[1, 2] - rows[0, 2]
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        return x * x + y * y + z * z
    nearest = distance2(i, 0, rows)
    for j in range(1, chosen):
        nearest = min(nearest, distance2(i, j, rows))
    return nearest


@kernel
def reduce_contacts(count: int, out: ContactBuffer) -> int:
    """Keep at most four contacts: the deepest, the farthest from it, the one of largest area, the one farthest off.

    Contacts are taken in the order of their features, and a later one must be better by a millionth: of equal ones
    the first stays, step after step, whatever the last bits are. Returns how many stay, sorted by feature.
    """
    if count <= 4:
        return count
    sort_contacts(count, out)
    extent2 = 0.0
    for i in range(1, count):
        extent2 = max(extent2, distance2(i, 0, out.rows))
    for chosen in range(4):
        best, most = chosen, -math.inf
        for i in range(chosen, count):
            if chosen == 0:
                value, slack = -out.rows[i, GAP], 1e-6 * math.sqrt(extent2)
            else:
                value, slack = _added_area(i, chosen, out.rows), 1e-6 * abs(most)
            if i == chosen or value > most + slack:
                best, most = i, value
        # Moved by neighbours, so that the rest keep their order.
        for i in range(best, chosen, -1):
            _swap(i, i - 1, out)
    sort_contacts(4, out)
    return 4


# Normals this close are one, and lengths relative to the body's size.
COPLANAR = 1e-6

NEARLY_COPLANAR = 1e-4

# Part of the body's size by which a corner may be farther and do for the closest point.
AS_CLOSE = 1e-10

# Of features: neither corner nor edge of either shape.
NO_CORNER = (1 << TRIANGLE_BITS) - 1

# What becomes of a contact.
OPEN, ASSIGNED, KEPT = 0, 1, 2


@kernel
def _same_plane(i: int, j: int, length: float, tolerance: float, out: FloatArray) -> bool:
    """Whether two contacts have one normal and their points on A lie in one plane across it."""
    height = 0.0
    for m in range(3):
        n = out[i, NORMAL + m]
        if abs(out[j, NORMAL + m] - n) > tolerance:
            return False
        height += n * (out[j, m] - 0.5 * out[j, GAP] * out[j, NORMAL + m] - out[i, m] + 0.5 * out[i, GAP] * n)
    return abs(height) <= tolerance * length


@kernel
def _triangle_area(a: int, b: int, c: int, t: Vec3, s: Vec3, out: FloatArray) -> float:
    """Twice the area of the triangle of three contacts, seen along their normal."""
    u = (out[b, 0] - out[a, 0], out[b, 1] - out[a, 1], out[b, 2] - out[a, 2])
    v = (out[c, 0] - out[a, 0], out[c, 1] - out[a, 1], out[c, 2] - out[a, 2])
    return dot(u, t) * dot(v, s) - dot(u, s) * dot(v, t)


@kernel
def _outline(members: IntArray, n: int, state: IntArray, length: float, out: FloatArray) -> None:
    """Mark the contacts of one plane that stay: the corners of their outline, or all where gaps are not linear.

    R. A. Jarvis, On the identification of the convex hull of a finite set of points in the plane, Information
    Processing Letters 2 (1973).
    """
    first = members[0]
    normal = (out[first, NORMAL], out[first, NORMAL + 1], out[first, NORMAL + 2])
    t = perpendicular(normal)
    s = cross(normal, t)
    near2 = (COPLANAR * length) ** 2
    # Farthest along t, then s: a corner of the outline.
    start, best, second = first, -math.inf, -math.inf
    for a in range(n):
        i = members[a]
        point = (out[i, 0], out[i, 1], out[i, 2])
        along, beside = dot(point, t), dot(point, s)
        if along > best + COPLANAR * length or (along >= best - COPLANAR * length and beside > second):
            start, best, second = i, along, beside
    corner, kept = start, 0
    while kept < n:
        state[corner] = KEPT
        kept += 1
        following = -1
        for a in range(n):
            i = members[a]
            if distance2(i, corner, out) <= near2:
                continue
            if following < 0:
                following = i
                continue
            area = _triangle_area(corner, following, i, t, s, out)
            far, here = distance2(following, corner, out), distance2(i, corner, out)
            slack = COPLANAR * length * math.sqrt(max(far, here))
            if area < -slack or (area <= slack and here > far + near2):
                following = i
        if following < 0 or distance2(following, start, out) <= near2 or state[following] == KEPT:
            break
        corner = following
    # The plane of gaps through three corners: the first, the one farthest from it, the one farthest from their line.
    b, most = start, -1.0
    for a in range(n):
        if state[members[a]] == KEPT and distance2(members[a], start, out) > most:
            b, most = members[a], distance2(members[a], start, out)
    c, largest = -1, COPLANAR * length * math.sqrt(max(most, 0.0))
    for a in range(n):
        area = abs(_triangle_area(start, b, members[a], t, s, out))
        if state[members[a]] == KEPT and area > largest:
            c, largest = members[a], area
    linear = True
    for a in range(n):
        i = members[a]
        if most <= near2:
            expected = out[start, GAP]
        elif c < 0:
            share = math.sqrt(distance2(i, start, out) / most)
            expected = out[start, GAP] + share * (out[b, GAP] - out[start, GAP])
        else:
            whole = _triangle_area(start, b, c, t, s, out)
            of_c = _triangle_area(start, b, i, t, s, out) / whole
            of_b = _triangle_area(start, i, c, t, s, out) / whole
            expected = out[start, GAP] + of_b * (out[b, GAP] - out[start, GAP]) + of_c * (out[c, GAP] - out[start, GAP])
        if out[i, GAP] < expected - COPLANAR * length:
            linear = False
    if not linear:
        for a in range(n):
            state[members[a]] = KEPT


@kernel
def reduce_coplanar(count: int, length: float, ints: IntArray, contacts: ContactBuffer) -> int:
    """Keep, of contacts in one plane, the corners of their outline; return how many of ``count`` stay, moved up.

    ``length`` is of the order of the body's size [m]; ``ints`` is workspace: where it is too short, all stay.
    """
    if count <= 1 or 2 * count > ints.shape[0]:
        return count
    state, members, (out, feature) = ints[:count], ints[count : 2 * count], contacts
    for i in range(count):
        state[i] = OPEN
        # The closest point alone, where corners of the same plane are as close: the rim of a cylinder beside its cap.
        if feature[i] & NO_CORNER == NO_CORNER:
            for j in range(count):
                as_close = out[j, GAP] <= out[i, GAP] + AS_CLOSE * length
                if as_close and feature[j] & NO_CORNER != NO_CORNER and _same_plane(i, j, length, NEARLY_COPLANAR, out):
                    state[i] = ASSIGNED
    for i in range(count):
        if state[i] != OPEN:
            continue
        n = 0
        for j in range(i, count):
            if state[j] == OPEN and _same_plane(i, j, length, COPLANAR, out):
                state[j] = ASSIGNED
                members[n] = j
                n += 1
        if n == 1:
            state[i] = KEPT
        else:
            _outline(members, n, state, length, out)
    kept = 0
    for i in range(count):
        if state[i] == KEPT:
            if i != kept:
                for m in range(CONTACT):
                    out[kept, m] = out[i, m]
                feature[kept] = feature[i]
            kept += 1
    return kept

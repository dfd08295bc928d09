"""Contacts of one pair: append, flip, sort and reduce them."""

from __future__ import annotations

import math

from contactlab.collision.detection.kernels.support import perpendicular
from contactlab.collision.kernels import GAP, NORMAL, TRIANGLE_BITS, ContactBuffer
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    copy,
    cross,
    dot,
    linear,
    put,
    put_spatial,
    subtract,
    times,
    vector,
)
from lcp.kernels import kernel


@kernel
def append_contact(point: Vec3, normal: Vec3, gap: float, code: int, count: int, out: ContactBuffer) -> int:
    """Write contact number ``count`` and return ``count`` + 1; a contact beyond the capacity is counted, not stored.

    ``point`` is on the surface of A, where the gap begins along the normal. The stored point is the middle of the gap.
    It is the same in either order of the shapes, and prefers neither surface in an overlap.
    """
    if count < out.rows.shape[0]:
        row = out.rows[count]
        put_spatial(add(point, times(0.5 * gap, normal)), normal, row)
        row[GAP] = gap
        out.features[count] = code
    return count + 1


@kernel
def flip_normals(rows: FloatArray, count: int) -> None:
    """Reverse the normals of the first ``count`` contacts, because A and B are exchanged."""
    for i in range(min(count, rows.shape[0])):
        # subtracted from zero, so that a zero entry stays +0
        put(subtract((0.0, 0.0, 0.0), linear(rows[i])), rows[i, NORMAL:])


@kernel
def _swap(i: int, j: int, out: ContactBuffer) -> None:
    """Exchange contacts i and j."""
    rows, features = out.rows, out.features
    for m in range(rows.shape[1]):
        rows[i, m], rows[j, m] = rows[j, m], rows[i, m]
    features[i], features[j] = features[j], features[i]


@kernel
def sort_contacts(count: int, out: ContactBuffer) -> None:
    """Sort the contacts of one pair by feature, so that their order is independent of the search."""
    # selection sort: rows are long, and each is moved at most once or twice
    for i in range(count - 1):
        lowest = i
        for j in range(i + 1, count):
            if out.features[j] < out.features[lowest]:
                lowest = j
        if lowest != i:
            _swap(i, lowest, out)


@kernel(inner=True)
def offset_of(i: int, j: int, rows: FloatArray) -> Vec3:
    """Return the vector from the point of contact j to the point of contact i."""
    return subtract(vector(rows[i]), vector(rows[j]))


@kernel
def distance2(i: int, j: int, rows: FloatArray) -> float:
    """Return the squared distance of two contacts."""
    d = offset_of(i, j, rows)
    return dot(d, d)


@kernel
def _added_area(i: int, chosen: int, rows: FloatArray) -> float:
    """Return the gain by which `reduce_contacts` selects contact i in addition to the first ``chosen``.

    With one contact it is the squared distance, with two four times the squared area, with three the squared distance
    to the nearest.
    """
    if chosen == 1:
        return distance2(i, 0, rows)
    if chosen == 2:
        area = cross(offset_of(i, 0, rows), offset_of(1, 0, rows))
        return dot(area, area)
    nearest = distance2(i, 0, rows)
    for j in range(1, chosen):
        nearest = min(nearest, distance2(i, j, rows))
    return nearest


@kernel(inner=True)
def _point_on_a(row: FloatArray) -> Vec3:
    """Return the point of a contact on the surface of A."""
    return subtract(vector(row), times(0.5 * row[GAP], linear(row)))


@kernel
def deepest_contact(count: int, out: ContactBuffer) -> tuple[float, Vec3, Vec3]:
    """Return gap, normal and point on A of the contact with the smallest gap among the first ``count`` >= 1.

    Of equal ones it is the first.
    """
    deepest = 0
    for i in range(1, count):
        if out.rows[i, GAP] < out.rows[deepest, GAP]:
            deepest = i
    row = out.rows[deepest]
    return row[GAP], linear(row), _point_on_a(row)


@kernel
def reduce_contacts(count: int, out: ContactBuffer) -> int:
    """Keep at most four contacts: the deepest, the farthest from it, the one of largest area, the farthest from these.

    Contacts are compared in the order of their features, and a later one must be better by a millionth. So rounding
    does not decide between equal contacts; the first is kept. Return the number kept, sorted by feature.
    """
    if count <= 4:
        return count
    sort_contacts(count, out)
    extent2 = 0.0
    for i in range(1, count):
        extent2 = max(extent2, distance2(i, 0, out.rows))
    for chosen in range(4):
        # the best of the contacts not chosen yet
        best, most = chosen, -math.inf
        for i in range(chosen, count):
            if chosen == 0:
                value, slack = -out.rows[i, GAP], 1e-6 * math.sqrt(extent2)
            else:
                value, slack = _added_area(i, chosen, out.rows), 1e-6 * abs(most)
            if i == chosen or value > most + slack:
                best, most = i, value
        # move it by neighbours, so that the others keep their order
        for i in range(best, chosen, -1):
            _swap(i, i - 1, out)
    sort_contacts(4, out)
    return 4


# Tolerance within which normals, and lengths relative to the body's size, are equal.
COPLANAR = 1e-6

NEARLY_COPLANAR = 1e-4

# A vertex replaces the closest point if its gap is larger by less than this, relative to the body's size.
AS_CLOSE = 1e-10

# Feature number of closest points: neither vertex nor edge of either shape.
NO_CORNER = (1 << TRIANGLE_BITS) - 1

# States of a contact during the reduction.
OPEN, ASSIGNED, KEPT = 0, 1, 2


@kernel
def _same_plane(i: int, j: int, length: float, tolerance: float, out: FloatArray) -> bool:
    """Return True if two contacts have one normal and their points on A are in one plane normal to it."""
    n, apart = linear(out[i]), subtract(linear(out[j]), linear(out[i]))
    height = dot(n, subtract(_point_on_a(out[j]), _point_on_a(out[i])))
    return max(abs(apart[0]), abs(apart[1]), abs(apart[2])) <= tolerance and abs(height) <= tolerance * length


@kernel
def _triangle_area(a: int, b: int, c: int, t: Vec3, s: Vec3, out: FloatArray) -> float:
    """Return twice the signed area of the triangle of three contacts, seen along their normal."""
    u, v = offset_of(b, a, out), offset_of(c, a, out)
    return dot(u, t) * dot(v, s) - dot(u, s) * dot(v, t)


@kernel
def _outline(members: IntArray, n: int, state: IntArray, length: float, out: FloatArray) -> None:
    """Mark the contacts of one plane that are kept: the corners of their convex outline, or all if gaps are not linear.

    R. A. Jarvis, On the identification of the convex hull of a finite set of points in the plane, Information
    Processing Letters 2 (1973).
    """
    first = members[0]
    normal = linear(out[first])
    t = perpendicular(normal)
    s = cross(normal, t)
    near2 = (COPLANAR * length) ** 2
    # start at the contact farthest along t, then along s: a corner of the outline
    start, best, second = first, -math.inf, -math.inf
    for a in range(n):
        i = members[a]
        along, beside = dot(vector(out[i]), t), dot(vector(out[i]), s)
        if along > best + COPLANAR * length or (along >= best - COPLANAR * length and beside > second):
            start, best, second = i, along, beside
    # gift wrapping: the next corner is the one with all others on its left, the farthest of collinear ones
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
    # three corners that determine the plane of gaps: the first, the farthest from it, the farthest from their line
    b, most = start, -1.0
    for a in range(n):
        if state[members[a]] == KEPT and distance2(members[a], start, out) > most:
            b, most = members[a], distance2(members[a], start, out)
    c, largest = -1, COPLANAR * length * math.sqrt(max(most, 0.0))
    for a in range(n):
        area = abs(_triangle_area(start, b, members[a], t, s, out))
        if state[members[a]] == KEPT and area > largest:
            c, largest = members[a], area
    # if some gap is below this plane, all contacts are kept
    straight = True
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
            straight = False
    if not straight:
        for a in range(n):
            state[members[a]] = KEPT


@kernel
def reduce_coplanar(count: int, length: float, ints: IntArray, contacts: ContactBuffer) -> int:
    """Reduce coplanar contacts to the corners of their outline; return the number of contacts left.

    ``length`` is of the order of the body's size [m]. ``ints`` is workspace. If it is too short, all contacts are kept.
    """
    if count <= 1 or 2 * count > ints.shape[0]:
        return count
    state, members, (out, feature) = ints[:count], ints[count : 2 * count], contacts
    for i in range(count):
        state[i] = OPEN
        # drop a closest point if vertices in the same plane are as close, as the rim of a cylinder beside its cap
        if feature[i] & NO_CORNER == NO_CORNER:
            for j in range(count):
                as_close = out[j, GAP] <= out[i, GAP] + AS_CLOSE * length
                if as_close and feature[j] & NO_CORNER != NO_CORNER and _same_plane(i, j, length, NEARLY_COPLANAR, out):
                    state[i] = ASSIGNED
    # group the contacts by plane, and reduce each group
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
    # move the kept contacts up
    kept = 0
    for i in range(count):
        if state[i] == KEPT:
            if i != kept:
                copy(out[i], out[kept])
                feature[kept] = feature[i]
            kept += 1
    return kept

"""Contacts that say nothing new: inside the outline of others in one plane, with a gap between theirs."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.contacts import distance2
from contactlab.contact.detection.kernels.vectors import across, cross, dot
from contactlab.contact.kernels.layout import CONTACT, GAP, NORMAL, TRIANGLE_BITS, Contacts, Vector
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel

# Normals this close are one, and lengths relative to the body's size.
ALIKE = 1e-6
ROUGHLY = 1e-4
# Part of the body's size by which a corner may be farther and do for the closest point.
AS_CLOSE = 1e-10

# Of features: neither corner nor edge of either shape.
NO_CORNER = (1 << TRIANGLE_BITS) - 1

# What becomes of a contact.
OPEN, TAKEN, KEPT = 0, 1, 2


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
def _turn(a: int, b: int, c: int, t: Vector, s: Vector, out: FloatArray) -> float:
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
    t = across(normal)
    s = cross(normal, t)
    near2 = (ALIKE * length) ** 2
    # Farthest along t, then s: a corner of the outline.
    start, best, second = first, -math.inf, -math.inf
    for a in range(n):
        i = members[a]
        point = (out[i, 0], out[i, 1], out[i, 2])
        along, beside = dot(point, t), dot(point, s)
        if along > best + ALIKE * length or (along >= best - ALIKE * length and beside > second):
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
            area = _turn(corner, following, i, t, s, out)
            far, here = distance2(following, corner, out), distance2(i, corner, out)
            slack = ALIKE * length * math.sqrt(max(far, here))
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
    c, largest = -1, ALIKE * length * math.sqrt(max(most, 0.0))
    for a in range(n):
        area = abs(_turn(start, b, members[a], t, s, out))
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
            whole = _turn(start, b, c, t, s, out)
            of_c = _turn(start, b, i, t, s, out) / whole
            of_b = _turn(start, i, c, t, s, out) / whole
            expected = out[start, GAP] + of_b * (out[b, GAP] - out[start, GAP]) + of_c * (out[c, GAP] - out[start, GAP])
        if out[i, GAP] < expected - ALIKE * length:
            linear = False
    if not linear:
        for a in range(n):
            state[members[a]] = KEPT


@kernel
def keep_outline(count: int, length: float, ints: IntArray, contacts: Contacts) -> int:
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
                if as_close and feature[j] & NO_CORNER != NO_CORNER and _same_plane(i, j, length, ROUGHLY, out):
                    state[i] = TAKEN
    for i in range(count):
        if state[i] != OPEN:
            continue
        n = 0
        for j in range(i, count):
            if state[j] == OPEN and _same_plane(i, j, length, ALIKE, out):
                state[j] = TAKEN
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

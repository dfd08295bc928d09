"""How point and normal of a contact move as its bodies do: exact with half-spaces, else by differences of the pair.

``rates`` (7, 6) has point, normal and gap by a displacement of body B, turn first, about the contact's point, while
body A stands still; what moves with both moves as they do. Between shapes the pair alone is asked again near by, to
1e-10: a feature that is gone there, or one that moves otherwise on either side, is a kink.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.contact.detection.kernels.collide_pair import collide_pair
from contactlab.contact.kernels import layout as shapes
from contactlab.linearization.kernels.layout import Memory
from contactlab.multibody.kernels.views import part_at
from contactlab.stepping.kernels.collision import FEATURE_BITS, LOWEST_ID, Collision
from contactlab.stepping.kernels.layout import (
    BODY_B,
    CONTACT_ID,
    GAP,
    ID_BITS,
    NORMAL,
    POINT,
    FloatArray,
    PackedWorld,
    Work,
)
from lcp.kernels import kernel

#: Turn [rad] and, of the way from the shape's origin to the contact, shift of a displaced shape.
STRIDE: Final = 1e-5
#: The same of pairs whose search ends at 1e-10 m, of which differences are of fourth order.
LONG_STRIDE: Final = 1e-3
#: Of a slope of a gap by differences.
ROUNDING: Final = 1e-7
#: Between slopes to both sides, per turn or per way in levers, from where on they are two.
BENT: Final = 0.02


@kernel(inner=True)
def of_point(radius: float, n: FloatArray, rates: FloatArray) -> None:
    """Of a support point with a radius on a half-space: the point of the body that is lowest."""
    for i in range(6):
        for k in range(6):
            rates[i, k] = 0.0
    for i in range(3):
        rates[i, 3 + i] = 1.0
    rates[0, 1], rates[0, 2] = radius * n[2], -radius * n[1]
    rates[1, 0], rates[1, 2] = -radius * n[2], radius * n[0]
    rates[2, 0], rates[2, 1] = radius * n[1], -radius * n[0]
    for k in range(3):
        rates[6, k], rates[6, 3 + k] = 0.0, n[k]


@kernel(inner=True)
def displaced(pose: FloatArray, p: FloatArray, axis: int, way: float, out: FloatArray) -> None:
    """out (12,): the pose displaced about p along one of six axes, turns first."""
    for k in range(12):
        out[k] = pose[k]
    if axis >= 3:
        out[9 + axis - 3] += way
        return
    i, j = (axis + 1) % 3, (axis + 2) % 3
    c, s = math.cos(way), math.sin(way)
    for k in range(3):
        out[3 * i + k] = c * pose[3 * i + k] - s * pose[3 * j + k]
        out[3 * j + k] = s * pose[3 * i + k] + c * pose[3 * j + k]
    x, y = pose[9 + i] - p[i], pose[9 + j] - p[j]
    out[9 + i] = p[i] + c * x - s * y
    out[9 + j] = p[j] + s * x + c * y


@kernel(inner=True)
def found_again(c: Collision, i: int, j: int, within: float, feature: int) -> int:
    """Row of a feature among the contacts of a pair as it stands, -1 where it is none."""
    a = shapes.Posed(c.kind[i], c.size[i], c.poses[i], c.data, c.loops)
    b = shapes.Posed(c.kind[j], c.size[j], c.poses[j], c.data, c.loops)
    count = collide_pair(a, b, within, False, shapes.Workspace(c.work, c.ints), shapes.Contacts(c.points, c.features))
    for k in range(min(count, c.points.shape[0])):
        if c.features[k] == feature:
            return k
    return -1


@kernel(inline=True)
def is_searched(a: int, b: int) -> bool:
    """Whether contacts between shapes of these kinds come of a search, not of a formula."""
    low, high = min(a, b), max(a, b)
    if low in (shapes.HALF_SPACE, shapes.HEIGHT_FIELD, shapes.SPHERE):
        return high == shapes.CONVEX and low == shapes.SPHERE
    return not (low == high and low in (shapes.CAPSULE, shapes.BOX))


@kernel(inner=True)
def differenced(
    c: Collision,
    i: int,
    j: int,
    moved: int,
    feature: int,
    stride: float,
    p: FloatArray,
    n: FloatArray,
    gap: float,
    kept: FloatArray,
    rates: FloatArray,
) -> bool:
    """Fill the rates of a feature by centred differences of this stride; whether either side has other slopes."""
    pose, ahead, behind, far = part_at(kept, 0, 12), part_at(kept, 12, 7), part_at(kept, 19, 7), part_at(kept, 26, 7)
    own = c.poses[moved]
    sign = 1.0 if moved == j else -1.0
    lever = 0.0
    for k in range(12):
        pose[k] = own[k]
    for k in range(3):
        lever += (own[9 + k] - p[k]) ** 2
    lever = max(math.sqrt(lever), 1e-6)
    within = 2.0 * (c.reach[i] + c.reach[j]) + 4.0 * stride * lever
    bent = False
    for axis in range(6):
        way = stride if axis < 3 else stride * lever
        there = 0
        sides = 4 if stride > STRIDE else 2
        for k in range(7):
            far[k] = 0.0
        for side in range(sides):
            # Two strides away last, whose difference takes the error of third order off.
            out = ahead if side % 2 == 0 else behind
            times = (1.0 if side % 2 == 0 else -1.0) * (2.0 if side < sides - 2 else 1.0)
            displaced(pose, p, axis, times * way, own)
            at = found_again(c, i, j, within, feature)
            if at < 0:
                continue
            there += 1 + 4 * (side // 2) + (side % 2)
            for k in range(3):
                out[k] = c.points[at, shapes.POINT + k] - p[k]
                out[3 + k] = sign * c.points[at, shapes.NORMAL + k] - n[k]
            out[6] = c.points[at, shapes.GAP] - gap
            if side == sides - 3:
                for k in range(7):
                    far[k] = ahead[k] - behind[k]
        whole = 3 if sides == 2 else 14
        apart = 0.0
        for k in range(7):
            if there == whole:
                near = ahead[k] - behind[k]
                rates[k, axis] = near / (2.0 * way) if sides == 2 else (8.0 * near - far[k]) / (12.0 * way)
                apart += abs(ahead[k] + behind[k]) / (1.0 if 3 <= k < 6 else lever)
            elif sides == 4 or there == 0:
                rates[k, axis] = 0.0
            else:
                rates[k, axis] = ahead[k] / way if there == 1 else -behind[k] / way
        bent = bent or there != whole or apart > BENT * stride
    for k in range(12):
        own[k] = pose[k]
    return bent


@kernel(inner=True)
def of_pair(
    c: Collision, contact: int, p: FloatArray, n: FloatArray, gap: float, kept: FloatArray, rates: FloatArray
) -> bool:
    """Fill the rates of a contact of this id between two shapes; whether it is a kink. ``kept`` (36,) is scratch."""
    pair = (contact - LOWEST_ID) >> FEATURE_BITS
    feature = (contact - LOWEST_ID) - (pair << FEATURE_BITS)
    i = pair // c.kind.shape[0]
    j = pair - i * c.kind.shape[0]
    moved = j if c.link[j] >= 0 else i
    if is_searched(c.kind[i], c.kind[j]) and not differenced(
        c, i, j, moved, feature, LONG_STRIDE, p, n, gap, kept, rates
    ):
        return False
    return differenced(c, i, j, moved, feature, STRIDE, p, n, gap, kept, rates)


@kernel(inner=True)
def settle_gap(n: FloatArray, rates: FloatArray) -> None:
    """Take the normal for the slope of the gap where it is that but for rounding: not of faces a little askew."""
    off = 0.0
    for k in range(3):
        off = max(off, abs(rates[6, 3 + k] - n[k]))
    if off <= ROUNDING:
        for k in range(3):
            rates[6, k], rates[6, 3 + k] = 0.0, n[k]


@kernel(inner=True)
def contact_motion(world: PackedWorld, work: Work, c: Collision | None, m: Memory, number: int) -> bool:
    """Fill the rates of one contact of the step; whether it stands on a kink."""
    floats, contact, rates = work.contact_float[number], work.contact_int[number, CONTACT_ID], m.rates[number]
    n, p = floats[NORMAL : NORMAL + 3], floats[POINT : POINT + 3]
    if contact < 0:
        bent = False
        if c is not None:
            bent = of_pair(c, contact, p, n, floats[GAP], m.way_of_pair, rates)
            settle_gap(n, rates)
        return bent
    first = world.point_start[work.contact_int[number, BODY_B]]
    of_point(world.radii[first + (contact & ((1 << ID_BITS) - 1))], n, rates)
    return False

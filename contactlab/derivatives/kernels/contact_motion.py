"""Derivatives of point, normal and gap of a contact by the motion of its bodies.

``rates`` (7, 6) has the derivatives of point, normal and gap by a displacement of body B about the contact's point,
rotations first, with body A fixed. They are exact for half-spaces. Between shapes they are differences: detection of
the pair is repeated at displaced poses, to 1e-10. If a feature is absent there, or moves differently on either side,
the contact is on a kink.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.collision import kernels as shapes
from contactlab.collision.detection.kernels.collide_pair import collide_pair
from contactlab.derivatives.kernels import DerivativeWork
from contactlab.multibody.spatial.kernels import (
    add,
    copy,
    cross,
    dot,
    put,
    put_spatial,
    subtract,
    times,
    vector,
    vector_at,
)
from contactlab.simulation.stepping.kernels.arrays import Collision, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.layout import (
    BODY_B,
    CONTACT_ID,
    FEATURE_BITS,
    GAP,
    ID_BITS,
    LOWEST_ID,
    NORMAL,
    POINT,
    FloatArray,
    StepControl,
)
from lcp.kernels import kernel

#: Bits of a feature.
FEATURES: Final = (1 << FEATURE_BITS) - 1
#: Rotation [rad] of a displaced shape, and its shift relative to the distance from its origin to the contact.
STRIDE: Final = 1e-5
#: The same for pairs whose search ends at 1e-10 m, with differences of fourth order.
LONG_STRIDE: Final = 1e-3
#: Rounding of the slope of a gap by differences.
ROUNDING: Final = 1e-7
#: Difference of the one-sided slopes above which a contact is on a kink; per rotation, or per shift in levers.
KINK_SLOPE_DIFFERENCE: Final = 0.02


@kernel(inner=True)
def point_rates(radius: float, n: FloatArray, rates: FloatArray) -> None:
    """Fill the rates (7, 6) of the contact of a ball with a half-space: of point, normal and gap.

    The columns are turns about the contact point and shifts of the ball, which has the given radius.
    """
    rates[:] = 0.0
    for i in range(3):
        e = (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
        put_spatial(times(radius, cross(vector(n), e)), e, rates[i])
        rates[6, 3 + i] = n[i]


@kernel(inner=True)
def displaced(pose: FloatArray, p: FloatArray, axis: int, shift: float, out: FloatArray) -> None:
    """Fill out (12,) with the pose rotated about p (axes 0 to 2) or moved along an axis (3 to 5), by ``shift``."""
    # A translation.
    copy(pose, out)
    if axis >= 3:
        out[9 + axis - 3] += shift
        return
    # A rotation of the axes, and of the origin about p.
    i, j = (axis + 1) % 3, (axis + 2) % 3
    c, s = math.cos(shift), math.sin(shift)
    for k in range(3):
        out[3 * i + k] = c * pose[3 * i + k] - s * pose[3 * j + k]
        out[3 * j + k] = s * pose[3 * i + k] + c * pose[3 * j + k]
    x, y = pose[9 + i] - p[i], pose[9 + j] - p[j]
    out[9 + i] = p[i] + c * x - s * y
    out[9 + j] = p[j] + s * x + c * y


@kernel(inner=True)
def redetect_contacts(c: Collision, i: int, j: int, within: float) -> int:
    """Detect the contacts of a pair at its present poses, into c.points and c.features; return their number."""
    a = shapes.Posed(c.kind[i], c.size[i], c.poses[i], c.data, c.loops)
    b = shapes.Posed(c.kind[j], c.size[j], c.poses[j], c.data, c.loops)
    count = collide_pair(
        a, b, within, False, shapes.Workspace(c.work, c.ints), shapes.ContactBuffer(c.points, c.features)
    )
    return min(count, c.points.shape[0])


@kernel(inline=True)
def is_searched(a: int, b: int) -> bool:
    """Return True if contacts between shapes of these kinds come from a search, not from a formula."""
    low, high = min(a, b), max(a, b)
    if low in (shapes.HALF_SPACE, shapes.HEIGHT_FIELD, shapes.SPHERE):
        return high == shapes.CONVEX and low == shapes.SPHERE
    return not (low == high and low in (shapes.CAPSULE, shapes.BOX))


@kernel(inline=True)
def pair_of(contact: int) -> int:
    """Return the number of the pair of shapes of a contact id."""
    return (contact - LOWEST_ID) >> FEATURE_BITS


@kernel(inner=True)
def fill_difference_rates(
    work: StepWork, c: Collision, m: DerivativeWork, i: int, j: int, moved: int, stride: float, first: int, last: int
) -> bool:
    """Fill the rates of contacts ``first`` to ``last`` - 1 of the pair of shapes i, j by centred differences.

    Only contacts with m.on_kink[c, 0] = 1 are treated. Afterwards this mark means that the slopes on both sides
    differ, or the contact does not exist on both sides. Return True if any is marked. Shape ``moved`` (i or j) is
    displaced by ``stride`` [rad], and by ``stride`` times a lever [m], and has its pose again at the end.
    """
    # Memory that is free until kinematics at other velocities are computed.
    pose, own = m.V[:12], c.poses[moved]
    sign = 1.0 if moved == j else -1.0
    p = work.contact_float[first, POINT : POINT + 3]
    # Distance of the contact from the shape's origin: the length unit of shifts.
    copy(own, pose)
    arm = subtract(vector_at(own, 9), vector(p))
    lever = max(math.sqrt(dot(arm, arm)), 1e-6)
    within = 2.0 * (c.reach[i] + c.reach[j]) + 4.0 * stride * lever
    sides = 4 if stride > STRIDE else 2
    m.on_kink[first:last, 1] = 0
    # Detect at displaced poses, axis by axis, side by side.
    for axis in range(6):
        shift = stride if axis < 3 else stride * lever
        m.on_kink[first:last, 2] = 0
        for side in range(sides):
            # First two strides away: their difference removes the error of third order.
            strides = (1.0 if side % 2 == 0 else -1.0) * (2.0 if side < sides - 2 else 1.0)
            displaced(pose, p, axis, strides * shift, own)
            count = redetect_contacts(c, i, j, within)
            for contact in range(first, last):
                if m.on_kink[contact, 0] == 0:
                    continue
                # The same feature in the displaced pair.
                feature = (work.contact_int[contact, CONTACT_ID] - LOWEST_ID) & FEATURES
                floats, out = work.contact_float[contact], m.near[contact, side]
                for at in range(count):
                    if c.features[at] == feature:
                        near, n = c.points[at], times(sign, vector_at(c.points[at], shapes.NORMAL))
                        put(subtract(vector_at(near, shapes.POINT), vector_at(floats, POINT)), out)
                        put(subtract(n, vector_at(floats, NORMAL)), out[3:])
                        out[6] = near[shapes.GAP] - floats[GAP]
                        m.on_kink[contact, 2] += 1 + (8 << side)
                        break
        for contact in range(first, last):
            if m.on_kink[contact, 0] != 0 and not slopes(m, contact, axis, shift, stride, lever, sides):
                m.on_kink[contact, 1] = 1
    # Restore the pose; refer the rates to each contact's own point.
    bent = False
    copy(pose, own)
    for contact in range(first, last):
        if m.on_kink[contact, 0] != 0:
            move_reference_point(m.rates[contact], p, work.contact_float[contact, POINT : POINT + 3])
        m.on_kink[contact, 0] = m.on_kink[contact, 1]
        bent = bent or m.on_kink[contact, 1] != 0
    return bent


@kernel(inner=True)
def slopes(m: DerivativeWork, contact: int, axis: int, shift: float, stride: float, lever: float, sides: int) -> bool:
    """Fill column ``axis`` of a contact's rates by differences of the contact at displaced poses.

    m.near has the changes of point, normal and gap at these ``sides`` poses: +2 and -2 times ``shift`` [rad, m] (only
    if there are four), +1 and -1 times ``shift``. m.on_kink[contact, 2] has the number of poses with the contact's
    feature, and a bit for each of them. If some pose lacks the feature, a one-sided difference is used, or 0.

    Return True if all poses have the feature and the slopes on both sides agree. Lengths are compared relative to
    ``lever`` [m], the differences with ``stride`` [rad].
    """
    rates, there = m.rates[contact], m.on_kink[contact, 2]
    ahead, behind = m.near[contact, sides - 2], m.near[contact, sides - 1]
    # Centred differences if all sides have the feature, else from one side.
    whole = there & 7 == sides
    apart = 0.0
    for k in range(7):
        if whole:
            near = ahead[k] - behind[k]
            rates[k, axis] = near / (2.0 * shift)
            if sides == 4:
                far = m.near[contact, 0, k] - m.near[contact, 1, k]
                rates[k, axis] = (8.0 * near - far) / (12.0 * shift)
            apart += abs(ahead[k] + behind[k]) / (1.0 if 3 <= k < 6 else lever)
        elif there & (8 << (sides - 2)):
            rates[k, axis] = ahead[k] / shift
        elif there & (8 << (sides - 1)):
            rates[k, axis] = -behind[k] / shift
        else:
            rates[k, axis] = 0.0
    return whole and not apart > KINK_SLOPE_DIFFERENCE * stride


@kernel(inner=True)
def move_reference_point(rates: FloatArray, p: FloatArray, x: FloatArray) -> None:
    """Change the reference point of the turns, columns 3 to 5 of ``rates`` (7, 6), from p to x, in place.

    A turn e about x is a turn e about p and a shift e x (p - x).
    """
    shift = subtract(vector(p), vector(x))
    for k in range(7):
        put(add(vector(rates[k]), cross(shift, vector_at(rates[k], 3))), rates[k])


@kernel(inner=True)
def pair_rates(work: StepWork, c: Collision, m: DerivativeWork, first: int, last: int) -> None:
    """Fill ``m.rates`` of contacts ``first`` to ``last`` - 1, of one pair of shapes, by differences of detection.

    Mark contacts on a kink in ``m.on_kink``.
    """
    pair = pair_of(work.contact_int[first, CONTACT_ID])
    i = pair // c.kind.shape[0]
    j = pair - i * c.kind.shape[0]
    moved = j if c.link[j] >= 0 else i
    m.on_kink[first:last, 0] = 1
    if is_searched(c.kind[i], c.kind[j]) and not fill_difference_rates(
        work, c, m, i, j, moved, LONG_STRIDE, first, last
    ):
        return
    fill_difference_rates(work, c, m, i, j, moved, STRIDE, first, last)


@kernel(inner=True)
def use_normal_as_gap_gradient(n: FloatArray, rates: FloatArray) -> None:
    """Replace the gradient of the gap by the normal if they differ only by rounding.

    They differ by more if the faces of the two shapes are not parallel.
    """
    off = subtract(vector_at(rates[6], 3), vector(n))
    if max(abs(off[0]), abs(off[1]), abs(off[2])) <= ROUNDING:
        rates[6, :3] = 0.0
        copy(n, rates[6, 3:])


@kernel(inner=True)
def contact_motions(
    world: PackedWorld, work: StepWork, c: Collision | None, m: DerivativeWork, control: StepControl
) -> None:
    """Fill ``m.rates``, the derivatives of point, normal and gap of all contacts by a displacement of body B.

    Mark contacts on a kink of these functions in ``m.on_kink``.
    """
    number = 0
    while number < control.n_contacts:
        floats, contact, rates = work.contact_float[number], work.contact_int[number, CONTACT_ID], m.rates[number]
        m.on_kink[number, 0] = 0
        # A support point on a half-space: exact.
        if contact >= 0:
            first = world.point_start[work.contact_int[number, BODY_B]]
            point_rates(world.radii[first + (contact & ((1 << ID_BITS) - 1))], floats[NORMAL : NORMAL + 3], rates)
            number += 1
            continue
        # All contacts of one pair of shapes: by differences.
        last = number + 1
        while last < control.n_contacts and pair_of(work.contact_int[last, CONTACT_ID]) == pair_of(contact):
            last += 1
        if c is not None:
            pair_rates(work, c, m, number, last)
        for each in range(number, last):
            use_normal_as_gap_gradient(work.contact_float[each, NORMAL : NORMAL + 3], m.rates[each])
        number = last

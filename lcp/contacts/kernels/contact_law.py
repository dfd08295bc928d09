"""Contact law: force and force Jacobian of a contact as functions of its rates, over a friction polygon or disc.

With the previous force p0, the rates s of the rows and a compliance eps equal in every direction, the force of a
contact is

    p = P(p0 - s / eps),

where P sets negative normal forces to 0 and projects the tangential force to the polygon mu pN. A fixed point p = p0
solves the rigid law; p0 = 0 gives a contact of compliance eps. P is piecewise linear: open, sticking, at a corner of
the polygon, on one of its sides. The 2 r edges of a contact have the angles pi j / r from its first friction direction;
edge j + r is the negative of edge j. The `edge_directions` (2 r + 1, 2) are their cosines and sines. A tangential force
uses of the bound mu fN the sum of its components along the two edges that enclose it.

With Coulomb's exact cone a disc replaces the polygon, and each sliding contact has its own corner, which rotates. P is
not linear there, but homogeneous of degree one, so P(x) = P'(x) x. Along the corner the force responds as at a corner
of a polygon. Across it, because the corner rotates with the slip, the slope is 1 / (eps + give), with give the slip
speed over mu pN. Repeated with the new corner this is Newton's method.

Three rows of a contact are used: the normal, its first direction, and the direction most across it; the other rows
follow from these. The tangential plane has axes along the first direction and perpendicular to it.

A cone of moments (torsional and rolling friction) is a further contact after the others. Its three rows are its own and
the normal of its contact, whose force and rate it repeats; the repeated normal does not act a second time. Its bound is
a length rho times the normal force. Its variables are moments over rho and rates times rho, in newtons and metres per
second. So its law has mu = 1, and eps is the compliance of a contact at a distance of rho. A torsional cone has one
direction: its points have only the first axis of the plane.

A joint row, a limit or a boxed row, is one more contact after these, without friction. Its force has two bounds. Its
mode is STICK between them, and OPEN at a bound or if it moves nothing. The rest of its law is in `proximal_points`.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.contacts.kernels.contact_system import ContactSystem, row_dot, three_dots
from lcp.kernels import Floats, Ints, kernel

# Mode of a contact; a sliding one has ALONG + 2 j along edge j and BETWEEN + 2 j between the edges j and j + 1.
OPEN: Final = 0
STICK: Final = 1
SLIDE_EDGE: Final = 2
SLIDE_FACE: Final = 3
#: Rows of a contact that are used: normal, first direction, direction across it.
CONTACT_DIM: Final = 3


# Rotation of a disc's corner in the last step at which Newton's method has converged: the next error is its square.
DIRECTION_TOLERANCE: Final = 1e-7
# Columns of the slides: direction of friction, give [s/kg], and factor of a sticking contact's slope across it.
SLIP_COMPLIANCE: Final = 2
STICK_FRACTION: Final = 3
SLIDE_FLOATS: Final = 4


class FrictionCone(NamedTuple):
    """The friction polygon of all cones of a problem, or the disc that replaces it."""

    r: int  # directions, 0 without friction; a cone has this number, or one
    first: Ints  # (ncone,) the first row F of each cone
    second_direction: int  # number of the direction most across the first
    skew: float  # the second axis is skew times the first direction and stretch times the one across
    stretch: float
    edge_directions: Floats  # (2 r + 1, 2) corners
    exact: bool  # whether it is a disc; the mode of its sliding cone c is ALONG + 2 c
    slide_state: Floats  # (ncone, SLIDE_FLOATS) of a disc: slip state of each cone


class ContactState(NamedTuple):
    """State of the contacts of an island, its cones of moments, and its joint rows [L; B], n in all.

    Forces and rates are along normal and axes. A joint row has only the first of three.
    """

    mode: Ints  # (n,)
    p: Floats  # (n, 3) forces
    s: Floats  # (n, 3) rates
    B: Floats  # (n, 3, 3) negative force on each of the three rows for a unit of rate of each
    diagonal: Floats  # (m,) response of every row to its own force


@kernel(inner=True)
def fill_edge_directions(r: int, turns: Floats) -> None:
    """Fill ``turns`` for r directions."""
    for j in range(r):
        turns[j, 0] = math.cos(math.pi * j / r)
        turns[j, 1] = math.sin(math.pi * j / r)
        turns[j + r, 0] = -turns[j, 0]
        turns[j + r, 1] = -turns[j, 1]
    turns[2 * r, 0] = turns[0, 0]
    turns[2 * r, 1] = turns[0, 1]


@kernel(inner=True)
def enclosing_edge(r: int, turns: Floats, x: float, y: float) -> tuple[int, float, float]:
    """Return j with (x, y) between edges j and j + 1, and its components along these two edges, both >= 0.

    For r = 1 there is one tangent: j is 0 or 1 by the sign of x, the first component |x| and the second 0.
    """
    if r == 1:
        return (0, x, 0.0) if x >= 0.0 else (1, -x, 0.0)
    nearest = 0
    best = -1.0
    for j in range(2 * r):
        along = turns[j, 0] * x + turns[j, 1] * y
        if along > best:
            best = along
            nearest = j
    if turns[nearest, 0] * y - turns[nearest, 1] * x < 0.0:
        nearest = nearest - 1 if nearest > 0 else 2 * r - 1
    scale = 1.0 / turns[1, 1]
    first = (x * turns[nearest + 1, 1] - y * turns[nearest + 1, 0]) * scale
    second = (turns[nearest, 0] * y - turns[nearest, 1] * x) * scale
    return nearest, max(first, 0.0), max(second, 0.0)


@kernel(inner=True)
def sliding_mode(r: int, turns: Floats, j: int, x: float, y: float, bound: float) -> int:
    """Return the mode of the polygon's point nearest to (x, y), outside it between edges j and j + 1.

    The polygon has its corners at ``bound`` times the edges. The mode is a corner or the side between them.
    """
    if r == 1:
        return SLIDE_EDGE + 2 * j
    ex = turns[j + 1, 0] - turns[j, 0]
    ey = turns[j + 1, 1] - turns[j, 1]
    share = (x - bound * turns[j, 0]) * ex + (y - bound * turns[j, 1]) * ey
    if share <= 0.0:
        return SLIDE_EDGE + 2 * j
    if share >= bound * (ex * ex + ey * ey):
        return SLIDE_EDGE + 2 * ((j + 1) % (2 * r))
    return SLIDE_FACE + 2 * j


@kernel(inline=True)
def friction_bound(rows: ContactSystem, c: int) -> float:
    """Return the bound on tangential forces for a unit of normal force; a joint row has none."""
    if c < rows.nc:
        return rows.mu[c]
    return 1.0 if c < rows.r.shape[0] else 0.0


@kernel(inline=True)
def normal_row(rows: ContactSystem, c: int) -> int:
    """Return the row of the normal force of a contact or of a cone of moments, or the joint row."""
    ncone = rows.r.shape[0]
    return rows.cone_contacts[c] if c < ncone else rows.nc + rows.nr + c - ncone


@kernel(inner=True)
def contact_rates(rows: ContactSystem, polygon: FrictionCone, c: int, v: Floats, known: float, s: Floats) -> None:
    """Fill the rates s (3,) of one contact, of one cone of moments, or of a joint row."""
    # products of the rows with v, plus the known terms
    normal, ncone = normal_row(rows, c), rows.r.shape[0]
    s[1] = s[2] = 0.0
    if c < ncone and rows.r[c] > 1:
        first = polygon.first[c]
        across = first + polygon.second_direction
        x, y, z = three_dots(rows, normal, first, across, v)
        s[0] = x + known * rows.k[normal]
        s[1] = y + known * rows.k[first]
        s[2] = polygon.skew * s[1] + polygon.stretch * (z + known * rows.k[across])
    else:
        s[0] = row_dot(rows, normal, v) + known * rows.k[normal]
        if c < ncone and rows.r[c] == 1:
            first = polygon.first[c]
            s[1] = row_dot(rows, first, v) + known * rows.k[first]
    # the rates of a cone of moments are scaled by its length
    if rows.nc <= c < ncone:
        s[1] *= rows.mu[c]
        s[2] *= rows.mu[c]


@kernel(inner=True)
def fill_contact_rates(rows: ContactSystem, polygon: FrictionCone, v: Floats, known: float, s: Floats) -> None:
    """Fill the rates s (n, 3) of velocities v, with the rows' known terms times ``known``, without softness."""
    for c in range(s.shape[0]):
        contact_rates(rows, polygon, c, v, known, s[c])


@kernel(inner=True)
def mode_of(polygon: FrictionCone, mu: float, c: int, x: float, y: float, z: float) -> int:
    """Return the mode of the point (x; y, z) of contact c: x along the normal, y and z in the tangential plane."""
    # no normal force: open
    if not x > 0.0:
        return OPEN
    # no friction, or a friction force within the bound: stick
    if polygon.r == 0 or mu == 0.0:
        return STICK
    bound = mu * x
    # circular cone: compare with its radius
    if polygon.exact:
        return SLIDE_EDGE + 2 * c if y * y + z * z > bound * bound else STICK
    # polygon: the edge that encloses the point decides
    j, along, next_along = enclosing_edge(polygon.r, polygon.edge_directions, y, z)
    if along + next_along <= bound:
        return STICK
    return sliding_mode(polygon.r, polygon.edge_directions, j, y, z, bound)


@kernel(inner=True)
def project_sliding(
    polygon: FrictionCone, mu: float, c: int, slid: bool, soft: float, x: float, y: float, z: float, aim: Floats
) -> float:
    """Fill aim (3,) with the projection of (x; y, z) along the tangential plane to the circular cone, from outside it.

    Return by how much the sliding direction of contact c has rotated, or 2 if the contact did not slide before. If it
    is at most `DIRECTION_TOLERANCE`, return 0 and keep ``polygon.slide_state[c]``; otherwise store there the new
    direction and slip compliance. ``slid`` is True if contact c already slides; ``soft`` is the response, rate by
    force, by which (y, z) was reached.
    """
    # shorten the tangential part to the bound
    slide = polygon.slide_state[c]
    bound = mu * x
    size = math.sqrt(y * y + z * z)
    aim[0] = x
    aim[1] = bound * (y / size)
    aim[2] = bound * (z / size)
    # rotation of the sliding direction since it was stored
    turn = abs(y / size - slide[0]) + abs(z / size - slide[1]) if slid else 2.0
    if turn <= DIRECTION_TOLERANCE:
        return 0.0
    # store the new direction, and the slip compliance there
    slide[0] = y / size
    slide[1] = z / size
    slide[SLIP_COMPLIANCE] = soft * (size - bound) / bound
    if not slid:
        slide[STICK_FRACTION] = 0.0
    return turn


@kernel(inline=True)
def edge_vector(polygon: FrictionCone, mode: int) -> tuple[float, float]:
    """Return the vector from one corner to the next of the side on which a mode slides."""
    j = (mode - SLIDE_EDGE) // 2
    turns = polygon.edge_directions
    return turns[j + 1, 0] - turns[j, 0], turns[j + 1, 1] - turns[j, 1]


@kernel(inline=True)
def sliding_directions(polygon: FrictionCone, mode: int) -> tuple[float, float, float, float, float, float]:
    """Return (u, v, e, f, share, size) of a mode.

    Friction is (u, v) times its bound, plus share / size times (e, f) (e, f)' of a tangential point. A corner of a
    polygon has share 0. A side has its midpoint and its edge, a disc its direction and the one across. Forces are
    projected again and again, so their last digits count: a quotient is not replaced by a product with the inverse.
    """
    j = (mode - SLIDE_EDGE) // 2
    if polygon.exact:
        slide = polygon.slide_state[j]
        return slide[0], slide[1], -slide[1], slide[0], slide[STICK_FRACTION], 1.0
    corner = polygon.edge_directions[j]
    if (mode - SLIDE_EDGE) % 2 == 0:
        return corner[0], corner[1], 0.0, 0.0, 0.0, 1.0
    e, f = edge_vector(polygon, mode)
    after = polygon.edge_directions[j + 1]
    return 0.5 * (corner[0] + after[0]), 0.5 * (corner[1] + after[1]), e, f, 1.0, e * e + f * f


@kernel(inner=True)
def projected_force(polygon: FrictionCone, mu: float, mode: int, x: float, y: float, z: float, p: Floats) -> None:
    """Fill p (3,) with the projection of the point (x; y, z) by the linear map of the given mode.

    OPEN gives 0, STICK the point itself, and the modes of sliding the corner, side or direction they stand for, with
    normal force x. Whether the point belongs to the mode is not checked.
    """
    # open: no force
    p[0] = 0.0
    p[1] = 0.0
    p[2] = 0.0
    if mode == OPEN:
        return
    # the normal force is kept; without friction it is all
    p[0] = x
    if polygon.r == 0 or mu == 0.0:
        return
    # stick: the point itself
    if mode == STICK:
        p[1] = y
        p[2] = z
        return
    # slide: the bound is proportional to the normal force, and a share of the point along one direction is added
    u, v, e, f, share, size = sliding_directions(polygon, mode)
    along = share * (e * y + f * z) / size
    p[1] = mu * x * u + along * e
    p[2] = mu * x * v + along * f


@kernel(inner=True)
def proximal_response(
    rows: ContactSystem, polygon: FrictionCone, c: int, soft: float, x: float, y: float, z: float, p: Floats
) -> int:
    """Fill p (3,) with the projection of the point (x; y, z) to the cone of contact c; return the mode there.

    ``soft`` is the response by which the point was reached; a sliding disc needs it for its slope.
    """
    mu = friction_bound(rows, c)
    mode = mode_of(polygon, mu, c, x, y, z)
    if polygon.exact and mode >= SLIDE_EDGE:
        project_sliding(polygon, mu, c, False, soft, x, y, z, p)
    else:
        projected_force(polygon, mu, mode, x, y, z, p)
    return mode


@kernel(inner=True)
def fill_force_jacobian(
    rows: ContactSystem, polygon: FrictionCone, c: int, mode: int, normal: float, tangent: float, B: Floats
) -> None:
    """Fill B (3, 3) with minus the derivative of contact c's forces by the rates of its three rows, in the given mode.

    ``normal`` and ``tangent`` are 1 / eps along the normal and in the tangential plane.
    """
    # open: no stiffness; without friction only along the normal
    mu = friction_bound(rows, c)
    B[:] = 0.0
    if mode == OPEN:
        return
    B[0, 0] = normal
    if polygon.r == 0 or mu == 0.0:
        return
    # in the plane's axes: the friction that follows from the normal force, and the part that responds to the rates
    if mode == STICK:
        B[1, 1] = B[2, 2] = tangent
    else:
        if polygon.exact:
            slide = polygon.slide_state[(mode - SLIDE_EDGE) // 2]
            slide[STICK_FRACTION] = 1.0 / (1.0 + slide[SLIP_COMPLIANCE] * tangent)
        u, v, e, f, share, size = sliding_directions(polygon, mode)
        share *= tangent / size
        B[1, 0] = mu * normal * u
        B[2, 0] = mu * normal * v
        B[1, 1] = share * e * e
        B[1, 2] = B[2, 1] = share * e * f
        B[2, 2] = share * f * f
    # A torsional cone has only the first axis, also if the second direction of a contact is skew to the first.
    if rows.r[c] == 1:
        B[2, 0] = B[1, 2] = B[2, 1] = B[2, 2] = 0.0
    convert_stiffness(rows, polygon, c, B)


@kernel(inner=True)
def convert_stiffness(rows: ContactSystem, polygon: FrictionCone, c: int, B: Floats) -> None:
    """Convert B (3, 3) of contact c, in place, from the normal and orthogonal axes to its three rows.

    The rows of friction can be skew to the axes. B of a cone of moments is converted to moments.
    """
    skew, stretch = polygon.skew, polygon.stretch
    for i in range(CONTACT_DIM):
        B[i, 1] += skew * B[i, 2]
        B[i, 2] *= stretch
    for j in range(CONTACT_DIM):
        B[1, j] += skew * B[2, j]
        B[2, j] *= stretch
    if rows.r[c] == 1:
        for i in range(CONTACT_DIM):
            B[i, 2] = B[2, i] = 0.0
    # Moments are bounded by a length, and have no separate normal force.
    for i in range(CONTACT_DIM if c >= rows.nc else 0):
        for j in range(CONTACT_DIM):
            scale = rows.mu[c] if j == 0 else rows.mu[c] * rows.mu[c]
            B[i, j] *= scale if i > 0 else 0.0


@kernel(inline=True)
def tangential_response(rows: ContactSystem, polygon: FrictionCone, contacts: ContactState, c: int) -> float:
    """Return the larger tangential response of a contact, or the normal one if nothing moves along its tangents."""
    if polygon.r == 0 or c >= rows.r.shape[0]:
        return contacts.diagonal[normal_row(rows, c)]
    first = polygon.first[c]
    size = contacts.diagonal[first]
    if rows.r[c] > 1:
        size = max(size, contacts.diagonal[first + polygon.second_direction])
    if c >= rows.nc:
        size *= rows.mu[c] * rows.mu[c]
    return size if size > 0.0 else contacts.diagonal[rows.cone_contacts[c]]

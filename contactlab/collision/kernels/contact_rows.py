"""Terms of one contact: gap to a half-space, tangents, edges of the pyramid, Jacobian columns, restitution."""

from __future__ import annotations

import math
from typing import Final

from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.multibody.spatial.kernels import add, cross, dot, linear, norm, put, subtract, times, vector
from lcp.kernels import kernel


@kernel
def collide_point(center: FloatArray, radius: float, normal: FloatArray, offset: float, p_out: FloatArray) -> float:
    """Return the gap [m] between a support point and the half-space ``normal . y <= offset``; negative in an overlap.

    Parameters
    ----------
    center, radius
        The point (3,) in world axes [m], radius [m] (0 for a plain point).
    normal, offset
        Outward unit normal (3,) and its distance from the world origin [m].
    p_out
        (3,) filled with the body's point closest to, or deepest in, the half-space, world axes [m].
    """
    put(subtract(vector(center), times(radius, vector(normal))), p_out)
    return dot(vector(normal), vector(center)) - radius - offset


TIE: Final = 1e-9


@kernel
def tangents(n: FloatArray, t1: FloatArray, t2: FloatArray) -> None:
    """Fill t1, t2 (3,): unit vectors with t1 x t2 = n, a fixed function of the unit normal n.

    t1 is the normalised component, normal to n, of the world axis with the smallest |n_i|; t2 = n x t1. This |n_i| is
    at most 1/sqrt(3), so the component never vanishes. Entries within `TIE` of each other count as equal, and the
    lowest index is used. So forces carry over to the next step, whose normal can differ by rounding.
    """
    # the world axis
    axis = 0
    if abs(n[1]) < abs(n[axis]) - TIE:
        axis = 1
    if abs(n[2]) < abs(n[axis]) - TIE:
        axis = 2
    # its normalised component normal to n, and the second tangent
    put(times(-n[axis], vector(n)), t1)
    t1[axis] += 1.0
    put(times(1.0 / norm(vector(t1)), vector(t1)), t1)
    put(cross(vector(n), vector(t1)), t2)


@kernel
def planar_tangents(n: FloatArray, plane: FloatArray, t1: FloatArray, t2: FloatArray) -> None:
    """Fill the unit tangents t1 (3,), in the plane of motion with the unit normal ``plane``, and t2 = n x t1 (3,).

    t1 is plane x n, normalised. Without a plane (``plane`` = 0), or if n is nearly its normal, `tangents` fills both.
    """
    # the tangent in the plane
    put(cross(vector(plane), vector(n)), t1)
    size = norm(vector(t1))
    # the second tangent
    if size < 0.5:
        tangents(n, t1, t2)
    else:
        put((t1[0] / size, t1[1] / size, t1[2] / size), t1)
        put(cross(vector(n), vector(t1)), t2)


@kernel(inline=True)
def turn(j: int, k: int) -> tuple[float, float]:
    """Return cosine and sine of the angle 2 pi j/k of edge j of k, from t1 towards t2.

    j = 0 .. k/2 - 1 are the spanning directions; the other half are their negatives. k is even.
    """
    if 4 * j == k:
        # cos(pi/2) is 6e-17 in floating point; the exact value keeps zero entries of the rows zero
        return 0.0, 1.0
    angle = 2.0 * math.pi * j / k
    return math.cos(angle), math.sin(angle)


@kernel(inline=True)
def tangential(c: float, s: float, t1: FloatArray, t2: FloatArray, d_out: FloatArray) -> None:
    """Fill ``d_out`` (3,) with c t1 + s t2."""
    put(add(times(c, vector(t1)), times(s, vector(t2))), d_out)


@kernel
def edge(j: int, k: int, t1: FloatArray, t2: FloatArray, d_out: FloatArray) -> None:
    """Fill ``d_out`` (3,) with edge j of k: cos(2 pi j/k) t1 + sin(2 pi j/k) t2."""
    c, s = turn(j, k)
    tangential(c, s, t1, t2, d_out)


@kernel
def add_contact_columns(
    dof_parent: IntArray,
    S: FloatArray,
    last: int,
    o: FloatArray,
    x: FloatArray,
    sign: float,
    shift: int,
    P: FloatArray,
) -> None:
    """Add ``sign`` times the velocity of a body's point now at ``x`` to P, so that P v is that velocity.

    Column j is the velocity of motion column j at x: its linear part about o, plus its rotation times x - o. Only the
    degrees of freedom between the body and the root of its tree are visited, because the others do not move the point.

    Parameters
    ----------
    dof_parent, S
        (nv,) the next degree of freedom towards the root, -1 for none, and the motion columns (nv, 6).
    last
        The last degree of freedom before the body.
    o
        (3,) origin of the tree's root link, to which the columns refer.
    x
        (3,) world axes.
    shift
        Degree of freedom j is in column j + shift of P.
    P
        (3, n)
    """
    arm = subtract(vector(x), vector(o))
    j = last
    while j >= 0:
        velocity = times(sign, add(linear(S[j]), cross(vector(S[j]), arm)))
        P[0, j + shift] += velocity[0]
        P[1, j + shift] += velocity[1]
        P[2, j + shift] += velocity[2]
        j = dof_parent[j]


@kernel
def add_turning_columns(dof_parent: IntArray, S: FloatArray, last: int, sign: float, shift: int, P: FloatArray) -> None:
    """Add ``sign`` times a body's angular velocity to P, so that P v is that velocity; as `add_contact_columns`."""
    j = last
    while j >= 0:
        for i in range(3):
            P[i, j + shift] += sign * S[j, i]
        j = dof_parent[j]


# Indices of a law's numbers.
COEFFICIENT, SPEED, EXPONENT, THRESHOLD, LARGEST = range(5)


@kernel(inline=True)
def restitution_at(law: FloatArray, speed: float) -> float:
    """Return the coefficient of a law (5,) for a speed of approach [m/s]."""
    e = law[COEFFICIENT]
    if e == 0.0 or speed <= law[THRESHOLD]:
        return 0.0
    if law[EXPONENT] > 0.0:
        e *= (speed / law[SPEED]) ** -law[EXPONENT]
    return min(e, law[LARGEST])


@kernel(inner=True)
def pair_restitution(laws: FloatArray, a: int, b: int, speed: float) -> float:
    """Return the coefficient of a contact of two materials, by number among ``laws`` (m, 5): the larger of the two."""
    return max(restitution_at(laws[a], speed), restitution_at(laws[b], speed))

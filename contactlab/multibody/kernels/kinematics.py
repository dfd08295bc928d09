"""Poses and velocities of the links, and motion columns of each degree of freedom, in world axes.

Featherstone, Rigid Body Dynamics Algorithms (2008), section 4.4. All spatial vectors are about the origin of the root
link of their tree. Inertias and columns then add up along the tree without change of frame.

The helpers of rare joints are compiled once each, not inlined at every call. This shortens the first run and costs no
speed.

Most links of most robots are of this kind, so their poses are computed in scalars. Links of a branch depend on each
other, so the latency from the parent's rotation to the link's rotation counts, and intermediate memory adds to it.

A library's two calls per joint for sine and cosine take longer than all other parts of a link's pose. Here one loop
without branches and calls processes as many joints together as fit into the processor's vectors.

An angle is reduced to |y| <= pi/4 by subtracting a multiple of pi/2. pi/2 is known to 119 bits, in three parts whose
products are exact (Cody and Waite, Software Manual for the Elementary Functions, 1980, chapter 8). t carries the part
that y cannot hold. Then sin y = y + y^3 S(y^2) and cos y = 1 - y^2/2 + y^4 C(y^2), with the polynomials of degree 5
whose largest error is least (2^-58 of sin y, 2^-64). Results are within one unit in the last place, and the same bits
on every machine. Angles beyond `MAX_ANGLE`, and infinite ones, go to the library.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from contactlab.multibody.kernels import (
    CUSTOM,
    FLOATING,
    GOOD,
    POSES,
    PRISMATIC,
    REVOLUTE,
    REVOLUTE_X,
    REVOLUTE_Y,
    REVOLUTE_Z,
    SCREW,
    SPHERICAL,
    TRANSLATION,
    VECTOR_WIDTH,
    VELOCITIES,
)
from contactlab.multibody.kernels.layout import Frames, Tree, frames, model_and_workspace_views, tree
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    add_spatial,
    copy,
    cross,
    cross_linear,
    fill,
    linear,
    put,
    put_spatial,
    rotate,
    subtract,
    times,
    transform,
    vector,
    vector_at,
)
from lcp.compiler.views import view_1d
from lcp.kernels import kernel

#: Largest angle of the loop. The number of quarter turns must fit in the 20 bits that the parts of pi/2 leave free.
MAX_ANGLE: Final = 1e5

PER_QUARTER: Final = 2.0 / np.pi

# pi/2: 33 bits, 33 bits, and the remaining ones.
QUARTER_1: Final = float.fromhex("0x1.921fb544p+0")

QUARTER_2: Final = float.fromhex("0x1.0b4611a6p-34")

QUARTER_3: Final = float.fromhex("0x1.3198a2e037073p-69")

# Coefficients of S and C.
S0, S1, S2, S3, S4, S5 = (
    -0.16666666666666632, 0.008333333333322488, -0.00019841269829855645,
    2.755731370607659e-06, -2.5050760074953807e-08, 1.5896898535079153e-10,
)  # fmt: skip

C0, C1, C2, C3, C4, C5 = (
    0.0416666666666666, -0.0013888888888874472, 2.4801587289669294e-05,
    -2.755731440019599e-07, 2.0875729147986038e-09, -1.1359926502640998e-11,
)  # fmt: skip


@kernel
def sines_cosines(x: FloatArray, c: FloatArray) -> None:
    """Fill c, of the length of x, with the cosines of x, and overwrite x with its sines."""
    # large angles by the library
    large = 0
    for k in range(x.shape[0]):
        large += 0 if abs(x[k]) <= MAX_ANGLE else 1
    if large:
        for k in range(x.shape[0]):
            angle = x[k]
            c[k] = np.cos(angle)
            x[k] = np.sin(angle)
        return
    for k in range(x.shape[0]):
        # angle less a multiple of pi/2, in two parts
        angle = x[k]
        quarters = np.rint(angle * PER_QUARTER)
        first = angle - quarters * QUARTER_1
        part = quarters * QUARTER_2
        r = first - part
        part = quarters * QUARTER_3 - ((first - r) - part)
        y = r - part
        t = (r - y) - part
        # polynomials
        z = y * y
        half = 0.5 * z
        sine = y + (y * (z * (S0 + z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * S5)))))) + t * (1.0 - half))
        most = 1.0 - half
        cosine = most + (
            ((1.0 - most) - half) + (z * (z * (C0 + z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * C5)))))) - y * t)
        )
        # quarter turns exchange the two and change signs; in floating point, since integers of 64 bits are slow in
        # vectors
        turn = quarters - 4.0 * np.floor(0.25 * quarters)
        odd = (turn == 1.0) | (turn == 3.0)
        a = cosine if odd else sine
        b = sine if odd else cosine
        x[k] = -a if turn >= 2.0 else a
        c[k] = -b if (turn == 1.0) | (turn == 2.0) else b


@kernel(inline=True)
def joint_sines_cosines(t: Tree, q: FloatArray, out: FloatArray) -> int:
    """Fill ``out`` with sines and cosines of the joints that turn about an axis; return the place of the first cosine.

    In the order of the links. ``out`` has 2 nl places, rounded up so that whole vectors are filled.
    """
    # angles
    count = 0
    for i in range(t.parent.shape[0]):
        kind = t.kind[i]
        if kind <= REVOLUTE or kind == SCREW:
            out[count] = q[t.iq[i]]
            count += 1
    # zeros up to a whole vector
    full = (count + VECTOR_WIDTH - 1) // VECTOR_WIDTH * VECTOR_WIDTH
    for k in range(count, full):
        out[k] = 0.0
    sines_cosines(view_1d(out, 0, full), view_1d(out, full, full))
    return full


@kernel(inner=True)
def turned(c: float, s: float, a: Vec3, b: Vec3) -> tuple[Vec3, Vec3]:
    """Return two axes after a turn from the first to the second, by its cosine and sine."""
    return add(times(c, a), times(s, b)), subtract(times(c, b), times(s, a))


@kernel(inline=True)
def revolute_pose(
    kind: int,
    c: float,
    s: float,
    Ru: FloatArray,
    pu: FloatArray,
    X: FloatArray,
    x: FloatArray,
    about: FloatArray,
    R: FloatArray,
    p: FloatArray,
    column: FloatArray,
) -> None:
    """Fill the link's R (9,), p (3,) and motion column (6,) about the point ``about``, which may be p itself.

    ``Ru`` and ``pu`` are the parent's pose, ``X`` and ``x`` the joint's pose in the parent; c and s are cosine and sine
    of the joint's angle.
    """
    # origin, and the joint's axes in the world
    origin = transform(Ru, vector(pu), vector(x))
    put(origin, p)
    e0, e1, e2 = (rotate(Ru, (X[0], X[3], X[6])), rotate(Ru, (X[1], X[4], X[7])), rotate(Ru, (X[2], X[5], X[8])))
    # rotation about one of them
    axis = e0
    if kind == REVOLUTE_X:
        e1, e2 = turned(c, s, e1, e2)
    elif kind == REVOLUTE_Y:
        axis = e1
        e2, e0 = turned(c, s, e2, e0)
    else:
        axis = e2
        e0, e1 = turned(c, s, e0, e1)
    R[0], R[3], R[6] = e0
    R[1], R[4], R[7] = e1
    R[2], R[5], R[8] = e2
    # motion column
    put_spatial(axis, cross(subtract(origin, vector(about)), axis), column)


#: Largest deviation of the squared length of a quaternion from 1.
QUATERNION_TOLERANCE = 2e-6


@kernel
def quaternion_matrix(q: FloatArray, at: int, B: FloatArray) -> bool:
    """Fill B (9,) with the rotation matrix by rows of the quaternion q[at:at + 4]; return False for an invalid one.

    Its length is divided out.
    """
    # length
    w, x, y, z = q[at], q[at + 1], q[at + 2], q[at + 3]
    squared = w * w + x * x + y * y + z * z
    if not abs(squared - 1.0) <= QUATERNION_TOLERANCE:
        return False
    # rows
    s = 2.0 / squared
    B[0], B[1], B[2] = 1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)
    B[3], B[4], B[5] = s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)
    B[6], B[7], B[8] = s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)
    return True


@kernel
def axis_matrix(axis: Vec3, c: float, s: float, B: FloatArray) -> None:
    """Fill B (9,) with the rotation matrix by rows about a unit axis, from cosine and sine of the angle."""
    d, (x, y, z) = 1.0 - c, axis
    B[0], B[1], B[2] = c + d * x * x, d * x * y - s * z, d * x * z + s * y
    B[3], B[4], B[5] = d * x * y + s * z, c + d * y * y, d * y * z - s * x
    B[6], B[7], B[8] = d * x * z - s * y, d * y * z + s * x, c + d * z * z


@kernel
def matrix_product(A: FloatArray, B: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` with A B for flat matrices (9,); out is neither of them."""
    for row in range(0, 9, 3):
        x, y, z = vector_at(A, row)
        for k in range(3):
            out[row + k] = x * B[k] + y * B[3 + k] + z * B[6 + k]


@kernel
def poses(I: IntArray, F: FloatArray, q: FloatArray, custom: FloatArray, W: FloatArray) -> int:
    """Fill R, p and the motion columns S of a workspace; return `GOOD`, or the place in q of an invalid quaternion.

    ``custom`` (n, 54) holds the numbers of custom joints. The arguments are buffers, not views, because a
    call passes every field of every array as a word: 250 words for a `Tree`.
    """
    # views, and sines and cosines of all joints
    t = tree(I, F)
    R, p, S, _, _, scratch, angles, _ = frames(W, t.parent.shape[0], t.dof_parent.shape[0])
    A = view_1d(scratch, 0, 9)
    B = view_1d(scratch, 9, 9)
    cosines = joint_sines_cosines(t, q, angles)
    turning = 0
    # from the roots to the leaves
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        X = t.R[i]
        Ri = R[i]
        pi = p[i]
        kind = t.kind[i]
        iq = t.iq[i]
        iv = t.iv[i]
        root = t.root[i]
        # revolute joints about x, y or z, in scalars
        if kind <= REVOLUTE_Z:
            if up >= 0:
                Ru = R[up]
                pu = p[up]
            else:
                for k in range(9):
                    A[k] = 0.0 if k % 4 else 1.0
                    B[k] = 0.0
                Ru = A
                pu = B
            s = angles[turning]
            c = angles[cosines + turning]
            revolute_pose(kind, c, s, Ru, pu, X, t.p[i], p[root], Ri, pi, S[iv])
            turning += 1
            continue
        # A: the joint's axes in the world; then its origin
        here = vector(t.p[i])
        if up >= 0:
            matrix_product(R[up], X, A)
            here = transform(R[up], vector(p[up]), here)
        else:
            copy(X, A)
        # motion of the joint: shifts first
        if kind in (TRANSLATION, FLOATING):
            here = add(here, rotate(A, vector_at(q, iq)))
            for k in range(3):
                put_spatial((0.0, 0.0, 0.0), (A[k], A[3 + k], A[6 + k]), S[iv + k])
        elif kind in (PRISMATIC, SCREW):
            shift = rotate(A, linear(t.axis[i]))
            here = add(here, times(q[iq], shift))
            put_spatial((0.0, 0.0, 0.0), shift, S[iv])
        elif kind == CUSTOM:
            here = add(here, rotate(A, vector_at(custom[t.custom[i]], 9)))
        put(here, pi)
        # then rotations
        if kind in (PRISMATIC, TRANSLATION):
            copy(A, Ri)
        elif kind in (REVOLUTE, SCREW):
            w = vector(t.axis[i])
            axis_matrix(w, angles[cosines + turning], angles[turning], B)
            turning += 1
            matrix_product(A, B, Ri)
            w = rotate(A, w)
            if kind == SCREW:
                add_spatial(w, cross(subtract(here, vector(p[root])), w), S[iv])
            else:
                put_spatial(w, cross(subtract(here, vector(p[root])), w), S[iv])
        elif kind == CUSTOM:
            row = custom[t.custom[i]]
            matrix_product(A, row, Ri)
            for k in range(t.iv[i + 1] - iv):
                w, v = motion_in_world(Ri, pi, p[root], view_1d(row, 12 + 6 * k, 6))
                put_spatial(w, v, S[iv + k])
        else:
            # a quaternion, after the shift of a floating joint
            start = 3 if kind == FLOATING else 0
            if not quaternion_matrix(q, iq + start, B):
                return iq + start
            matrix_product(A, B, Ri)
            for k in range(3):
                w = (Ri[k], Ri[3 + k], Ri[6 + k])
                put_spatial(w, cross(subtract(here, vector(p[root])), w), S[iv + start + k])
    return GOOD


@kernel(inner=True)
def motion_in_world(R: FloatArray, at: FloatArray, about: FloatArray, s: FloatArray) -> tuple[Vec3, Vec3]:
    """Return the motion vector s of child axes at the child's origin, in world axes about the point ``about``."""
    w = rotate(R, vector(s))
    return w, add(rotate(R, linear(s)), cross(subtract(vector(at), vector(about)), w))


@kernel
def add_cross_motion(v: FloatArray, s: FloatArray, factor: float, out: FloatArray) -> None:
    """Add factor v x s to ``out`` for motion vectors (6,), angular part first (Featherstone 2008, equation 2.31)."""
    w, u = times(factor, vector(v)), times(factor, linear(v))
    add_spatial(cross(w, vector(s)), cross_linear(w, u, vector(s), linear(s)), out)


@kernel(inner=True)
def velocity_of_point(s: FloatArray, d: Vec3) -> Vec3:
    """Return the velocity at the point d from the origin of the spatial velocity s (6,)."""
    return add(linear(s), cross(vector(s), d))


@kernel(inner=True)
def screw_change(at: FloatArray, about: FloatArray, s: FloatArray) -> Vec3:
    """Return the linear part t x w of dS/dq of a screw; its column s has the shift t in addition to its rotation w."""
    w = vector(s)
    return cross(subtract(linear(s), cross(subtract(vector(at), vector(about)), w)), w)


@kernel(inline=True)
def velocities(t: Tree, v: FloatArray, custom: FloatArray, at: Frames) -> None:
    """Fill V (nl, 6) of ``at`` with the velocities of the links, and C (nl, 6) with their velocity products.

    The product of a link is the sum of (dS/dt) v over the degrees of freedom of its joint. Both are in world axes,
    about the origin of the tree's root link taken as a fixed point of space.
    """
    # from the roots to the leaves
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        Vi = at.V[i]
        Ci = at.C[i]
        first = t.iv[i]
        kind = t.kind[i]
        if up >= 0 and kind <= PRISMATIC:
            # by far the most frequent case, in scalars: v_i = v_up + s rate, c_i = v_up x s rate
            Vu, s = at.V[up], at.S[first]
            w, u = vector(Vu), linear(Vu)
            a, b = times(v[first], vector(s)), times(v[first], linear(s))
            put_spatial(add(w, a), add(u, b), Vi)
            put_spatial(cross(w, a), cross_linear(w, u, a, b), Ci)
            continue
        # velocity
        last = t.iv[i + 1]
        fill(0.0, Ci)
        fill(0.0, Vi)
        if up >= 0:
            copy(at.V[up], Vi)
        for j in range(first, last):
            add_spatial(times(v[j], vector(at.S[j])), times(v[j], linear(at.S[j])), Vi)
        # directions carried along by the parent come first, then those that turn with the link itself
        if kind in (SPHERICAL, CUSTOM):
            carried = first
        elif kind == FLOATING:
            carried = first + 3
        else:
            carried = last
        if up >= 0:
            for j in range(first, carried):
                add_cross_motion(at.V[up], at.S[j], v[j], Ci)
        for j in range(carried, last):
            add_cross_motion(Vi, at.S[j], v[j], Ci)
        # own velocity products
        if kind == SCREW:
            # the moving axis of a screw with the shift t gives t x w rate^2
            change = times(v[first] * v[first], screw_change(at.p[i], at.p[t.root[i]], at.S[first]))
            add_spatial((0.0, 0.0, 0.0), change, Ci)
        elif kind == CUSTOM:
            # S is constant in the axes of the child except for its own velocity product c
            product = view_1d(custom[t.custom[i]], 48, 6)
            a, b = motion_in_world(at.R[i], at.p[i], at.p[t.root[i]], product)
            add_spatial(a, b, Ci)


@kernel
def fill_frames(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, custom: FloatArray, ready: int, until: int, W: FloatArray
) -> int:
    """Fill the head of a workspace up to ``until``; return `GOOD`, or the place in q of an invalid quaternion.

    ``until`` is `POSES` or `VELOCITIES`. Levels up to ``ready`` are in the workspace already and stay.
    """
    t, f, _, _ = model_and_workspace_views(I, F, W)
    if ready < POSES:
        code = poses(I, F, q, custom, W)
        if code != GOOD:
            return code
    if ready < VELOCITIES and until >= VELOCITIES:
        velocities(t, v, custom, f)
    return GOOD

"""Poses and velocities of the links, and motion columns of each degree of freedom, in world axes.

Featherstone, Rigid Body Dynamics Algorithms (2008), section 4.4. All spatial vectors are about the origin of the root
link of their tree. Inertias and columns then add up along the tree without change of frame.

The helpers of rare joints are compiled once each, not inlined at every call. This shortens the first run and costs no
speed.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import (
    CUSTOM,
    FLOATING,
    GOOD,
    POSES,
    PRISMATIC,
    REVOLUTE,
    REVOLUTE_Z,
    SCREW,
    SPHERICAL,
    TRANSLATION,
    VELOCITIES,
)
from contactlab.multibody.kernels.layout import Frames, Tree, frames, model_and_workspace_views, tree
from contactlab.multibody.kernels.revolute import joint_sines_cosines, revolute_pose
from contactlab.spatial.arrays import FloatArray, IntArray, Vec3
from lcp.compiler.views import view_1d
from lcp.kernels import kernel

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
    B[0] = 1.0 - s * (y * y + z * z)
    B[1] = s * (x * y - w * z)
    B[2] = s * (x * z + w * y)
    B[3] = s * (x * y + w * z)
    B[4] = 1.0 - s * (x * x + z * z)
    B[5] = s * (y * z - w * x)
    B[6] = s * (x * z - w * y)
    B[7] = s * (y * z + w * x)
    B[8] = 1.0 - s * (x * x + y * y)
    return True


@kernel
def axis_matrix(x: float, y: float, z: float, c: float, s: float, B: FloatArray) -> None:
    """Fill B (9,) with the rotation matrix by rows about the unit axis (x, y, z), from cosine and sine of the angle."""
    d = 1.0 - c
    B[0] = c + d * x * x
    B[1] = d * x * y - s * z
    B[2] = d * x * z + s * y
    B[3] = d * x * y + s * z
    B[4] = c + d * y * y
    B[5] = d * y * z - s * x
    B[6] = d * x * z - s * y
    B[7] = d * y * z + s * x
    B[8] = c + d * z * z


@kernel
def matrix_product(A: FloatArray, B: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` with A B for flat matrices (9,); out is neither of them."""
    for row in range(0, 9, 3):
        x, y, z = A[row], A[row + 1], A[row + 2]
        out[row] = x * B[0] + y * B[3] + z * B[6]
        out[row + 1] = x * B[1] + y * B[4] + z * B[7]
        out[row + 2] = x * B[2] + y * B[5] + z * B[8]


@kernel
def poses(I: IntArray, F: FloatArray, q: FloatArray, custom: FloatArray, W: FloatArray) -> int:
    """Fill R, p and the motion columns S of a workspace; return `GOOD`, or the place in q of an invalid quaternion.

    ``custom`` (n, 54) holds the numbers of custom joints. The arguments are the buffers and not their views. Every
    field of every array argument of a compiled function is one more word to push, 250 of them for a `Tree`.
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
        # A: the joint's axes in the world; pi: its origin
        px, py, pz = t.p[i, 0], t.p[i, 1], t.p[i, 2]
        if up >= 0:
            Ru = R[up]
            matrix_product(Ru, X, A)
            pi[0] = p[up, 0] + Ru[0] * px + Ru[1] * py + Ru[2] * pz
            pi[1] = p[up, 1] + Ru[3] * px + Ru[4] * py + Ru[5] * pz
            pi[2] = p[up, 2] + Ru[6] * px + Ru[7] * py + Ru[8] * pz
        else:
            for k in range(9):
                A[k] = X[k]
            pi[0] = px
            pi[1] = py
            pi[2] = pz
        # motion of the joint
        if kind == PRISMATIC:
            for k in range(9):
                Ri[k] = A[k]
            x, y, z = t.axis[i, 3], t.axis[i, 4], t.axis[i, 5]
            translation_column(S[iv], A, x, y, z)
            for k in range(3):
                pi[k] += S[iv, 3 + k] * q[iq]
        elif kind in (REVOLUTE, SCREW):
            x, y, z = t.axis[i, 0], t.axis[i, 1], t.axis[i, 2]
            axis_matrix(x, y, z, angles[cosines + turning], angles[turning], B)
            turning += 1
            matrix_product(A, B, Ri)
            wx = A[0] * x + A[1] * y + A[2] * z
            wy = A[3] * x + A[4] * y + A[5] * z
            wz = A[6] * x + A[7] * y + A[8] * z
            if kind == SCREW:
                # a screw also shifts
                translation_column(S[iv], A, t.axis[i, 3], t.axis[i, 4], t.axis[i, 5])
                sx, sy, sz = S[iv, 3], S[iv, 4], S[iv, 5]
                pi[0] += sx * q[iq]
                pi[1] += sy * q[iq]
                pi[2] += sz * q[iq]
                rotation_column(S[iv], wx, wy, wz, pi, p[root])
                S[iv, 3] += sx
                S[iv, 4] += sy
                S[iv, 5] += sz
            else:
                rotation_column(S[iv], wx, wy, wz, pi, p[root])
        elif kind == SPHERICAL:
            if not quaternion_matrix(q, iq, B):
                return iq
            matrix_product(A, B, Ri)
            for k in range(3):
                rotation_column(S[iv + k], Ri[k], Ri[3 + k], Ri[6 + k], pi, p[root])
        elif kind == TRANSLATION:
            for k in range(9):
                Ri[k] = A[k]
            add_rotated(A, q, iq, pi)
            for k in range(3):
                translation_column(S[iv + k], A, 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        elif kind == FLOATING:
            if not quaternion_matrix(q, iq + 3, B):
                return iq + 3
            matrix_product(A, B, Ri)
            add_rotated(A, q, iq, pi)
            for k in range(3):
                translation_column(S[iv + k], A, 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
                rotation_column(S[iv + 3 + k], Ri[k], Ri[3 + k], Ri[6 + k], pi, p[root])
        elif kind == CUSTOM:
            # columns of a custom joint, from the axes of the child to the world
            row = custom[t.custom[i]]
            matrix_product(A, row[:9], Ri)
            add_rotated(A, row, 9, pi)
            for k in range(t.iv[i + 1] - iv):
                column = row[12 + 6 * k : 18 + 6 * k]
                turned = S[iv + k]
                for m in range(3):
                    turned[m] = Ri[3 * m] * column[0] + Ri[3 * m + 1] * column[1] + Ri[3 * m + 2] * column[2]
                rotation_column(turned, turned[0], turned[1], turned[2], pi, p[root])
                for m in range(3):
                    turned[3 + m] += Ri[3 * m] * column[3] + Ri[3 * m + 1] * column[4] + Ri[3 * m + 2] * column[5]
    return GOOD


@kernel
def add_rotated(A: FloatArray, d: FloatArray, at: int, pi: FloatArray) -> None:
    """Add A d[at:at + 3] to the vector pi (3,), for a matrix A (9,), row by row."""
    x, y, z = d[at], d[at + 1], d[at + 2]
    pi[0] += A[0] * x + A[1] * y + A[2] * z
    pi[1] += A[3] * x + A[4] * y + A[5] * z
    pi[2] += A[6] * x + A[7] * y + A[8] * z


@kernel
def rotation_column(column: FloatArray, x: float, y: float, z: float, at: FloatArray, about: FloatArray) -> None:
    """Fill the spatial velocity, about ``about``, of turning at unit rate about the axis (x, y, z) through ``at``."""
    dx = at[0] - about[0]
    dy = at[1] - about[1]
    dz = at[2] - about[2]
    column[0] = x
    column[1] = y
    column[2] = z
    column[3] = dy * z - dz * y
    column[4] = dz * x - dx * z
    column[5] = dx * y - dy * x


@kernel
def translation_column(column: FloatArray, A: FloatArray, x: float, y: float, z: float) -> None:
    """Fill the motion column (6,) of a shift along (x, y, z), a direction in the axes A (9,)."""
    column[0] = 0.0
    column[1] = 0.0
    column[2] = 0.0
    column[3] = A[0] * x + A[1] * y + A[2] * z
    column[4] = A[3] * x + A[4] * y + A[5] * z
    column[5] = A[6] * x + A[7] * y + A[8] * z


@kernel
def add_cross_motion(v: FloatArray, s: FloatArray, factor: float, out: FloatArray) -> None:
    """Add factor v x s to ``out`` for motion vectors (6,), angular part first (Featherstone 2008, equation 2.31)."""
    a, b, c = v[0] * factor, v[1] * factor, v[2] * factor
    d, e, f = v[3] * factor, v[4] * factor, v[5] * factor
    x, y, z = s[0], s[1], s[2]
    out[0] += b * z - c * y
    out[1] += c * x - a * z
    out[2] += a * y - b * x
    out[3] += b * s[5] - c * s[4] + e * z - f * y
    out[4] += c * s[3] - a * s[5] + f * x - d * z
    out[5] += a * s[4] - b * s[3] + d * y - e * x


@kernel(inline=True)
def linear_velocity(s: FloatArray, dx: float, dy: float, dz: float) -> Vec3:
    """Return the velocity at the point (dx, dy, dz) from the origin of the spatial velocity s (6,)."""
    return s[3] + (s[1] * dz - s[2] * dy), s[4] + (s[2] * dx - s[0] * dz), s[5] + (s[0] * dy - s[1] * dx)


@kernel(inline=True)
def screw_change(at: FloatArray, about: FloatArray, s: FloatArray) -> Vec3:
    """Return the linear part t x w of dS/dq of a screw; its column s has the shift t in addition to its rotation w."""
    dx, dy, dz = at[0] - about[0], at[1] - about[1], at[2] - about[2]
    x = s[3] - (dy * s[2] - dz * s[1])
    y = s[4] - (dz * s[0] - dx * s[2])
    z = s[5] - (dx * s[1] - dy * s[0])
    return y * s[2] - z * s[1], z * s[0] - x * s[2], x * s[1] - y * s[0]


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
            rate = v[first]
            s = at.S[first]
            a, b, c = s[0] * rate, s[1] * rate, s[2] * rate
            d, e, f = s[3] * rate, s[4] * rate, s[5] * rate
            Vu = at.V[up]
            x, y, z, l, m, n = Vu[0], Vu[1], Vu[2], Vu[3], Vu[4], Vu[5]
            Vi[0] = x + a
            Vi[1] = y + b
            Vi[2] = z + c
            Vi[3] = l + d
            Vi[4] = m + e
            Vi[5] = n + f
            Ci[0] = y * c - z * b
            Ci[1] = z * a - x * c
            Ci[2] = x * b - y * a
            Ci[3] = y * f - z * e + m * c - n * b
            Ci[4] = z * d - x * f + n * a - l * c
            Ci[5] = x * e - y * d + l * b - m * a
            continue
        # velocity
        for k in range(6):
            Vi[k] = at.V[up, k] if up >= 0 else 0.0
            Ci[k] = 0.0
        last = t.iv[i + 1]
        for j in range(first, last):
            for k in range(6):
                Vi[k] += at.S[j, k] * v[j]
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
            x, y, z = screw_change(at.p[i], at.p[t.root[i]], at.S[first])
            rate = v[first]
            Ci[3] += rate * rate * x
            Ci[4] += rate * rate * y
            Ci[5] += rate * rate * z
        elif kind == CUSTOM:
            # S is constant in the axes of the child except for its own velocity product c, which is turned to world
            # axes
            row = custom[t.custom[i]]
            Ri = at.R[i]
            root = at.p[t.root[i]]
            ax = Ri[0] * row[48] + Ri[1] * row[49] + Ri[2] * row[50]
            ay = Ri[3] * row[48] + Ri[4] * row[49] + Ri[5] * row[50]
            az = Ri[6] * row[48] + Ri[7] * row[49] + Ri[8] * row[50]
            dx = at.p[i, 0] - root[0]
            dy = at.p[i, 1] - root[1]
            dz = at.p[i, 2] - root[2]
            Ci[0] += ax
            Ci[1] += ay
            Ci[2] += az
            Ci[3] += Ri[0] * row[51] + Ri[1] * row[52] + Ri[2] * row[53] + dy * az - dz * ay
            Ci[4] += Ri[3] * row[51] + Ri[4] * row[52] + Ri[5] * row[53] + dz * ax - dx * az
            Ci[5] += Ri[6] * row[51] + Ri[7] * row[52] + Ri[8] * row[53] + dx * ay - dy * ax


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

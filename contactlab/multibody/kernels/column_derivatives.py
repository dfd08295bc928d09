"""Effect of a shift of one degree of freedom on the motion of the links beyond it, in world axes.

A displacement dq along column S of link i moves link k beyond it by S. Its velocity changes by S x V_k + P, and its
acceleration by S x A_k + P x V_k + Q. Here P = V_up x S and Q = A_up x S + V_up x P are the same for all k (Carpentier
and Mansard, "Analytical derivatives of rigid body dynamics algorithms", 2018; Singh, Russell, Wensing, "Efficient
analytical derivatives of rigid-body dynamics using spatial vector algebra", 2022). This holds if a displacement carries
the joint's whole motion along. A floating joint is a translation and then a ball joint, and both do.

The skew screw and user joints have columns that change in the child's axes, by e = dS/dq v, and a velocity product that
changes by c'. There P also has e, and Q also has V_i x e + c'.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import CUSTOM, FLOATING, SCREW, SPHERICAL
from contactlab.multibody.kernels.kinematics import add_cross_motion, add_rotated, screw_change
from contactlab.multibody.kernels.layout import Frames, Tree
from contactlab.spatial.arrays import FloatArray
from lcp.compiler.views import view_1d
from lcp.kernels import kernel


@kernel(inline=True)
def fill_column_derivatives(
    t: Tree, f: Frames, v: FloatArray, a: FloatArray, weight: float, A: FloatArray, rates: FloatArray, K: FloatArray
) -> None:
    """Fill K (nv, 18): P (6), Q (6), and P + dS/dt (6).

    ``A`` (nl, 6) are the accelerations of the links at ``a`` (nv,) and ``weight`` times g. ``rates`` (n, 252) are the
    derivatives of custom joints along their degrees of freedom, of S (6, 6, 6) and of c (6, 6), in child axes.
    """
    # motion of the base of each joint
    base = view_1d(f.scratch, 6, 6)
    push = view_1d(f.scratch, 12, 6)
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        kind = t.kind[i]
        first = t.iv[i]
        # velocity and acceleration of the joint's base
        if up >= 0:
            for k in range(6):
                base[k] = f.V[up, k]
                push[k] = A[up, k]
        else:
            for k in range(6):
                base[k] = 0.0
                push[k] = 0.0 if k < 3 else -weight * t.gravity[k - 3]
        # columns of the joint
        for j in range(first, t.iv[i + 1]):
            s = f.S[j]
            # the rotation of a floating joint follows its translation
            if kind == FLOATING and j == first + 3:
                for before in range(first, first + 3):
                    add_cross_motion(base, f.S[before], v[before], push)
                    for k in range(3, 6):
                        push[k] += f.S[before, k] * a[before]
                for before in range(first, first + 3):
                    for k in range(3, 6):
                        base[k] += f.S[before, k] * v[before]
            # P and Q
            row = K[j]
            for k in range(18):
                row[k] = 0.0
            P = view_1d(row, 0, 6)
            Q = view_1d(row, 6, 6)
            rest = view_1d(row, 12, 6)
            add_cross_motion(base, s, 1.0, P)
            add_cross_motion(push, s, 1.0, Q)
            add_cross_motion(base, P, 1.0, Q)
            # the column's own rate: it turns with the link, or with its base
            for k in range(6):
                rest[k] = P[k]
            if kind in (SPHERICAL, CUSTOM) or (kind == FLOATING and j >= first + 3):
                add_cross_motion(f.V[i], s, 1.0, rest)
            else:
                add_cross_motion(base, s, 1.0, rest)
        # columns that change in the axes of the child
        if kind == SCREW:
            screw_rates(t, f, i, v, a, K)
        elif kind == CUSTOM:
            custom_rates(t, f, i, v, a, rates[t.custom[i]], K)


@kernel
def column_rates(
    t: Tree, f: Frames, v: FloatArray, a: FloatArray, A: FloatArray, rates: FloatArray, K: FloatArray
) -> None:
    """Fill K by `fill_column_derivatives` without gravity; compiled once for several callers."""
    fill_column_derivatives(t, f, v, a, 0.0, A, rates, K)


@kernel
def screw_rates(t: Tree, f: Frames, i: int, v: FloatArray, a: FloatArray, K: FloatArray) -> None:
    """Add the terms of the change e = dS/dq of a skew screw's column to the row of K of joint i.

    They are e v in P, e a + 2 v V_up x e in Q, and 2 e v in P + dS/dt. e is zero if shift and axis are parallel.
    """
    # change of the column
    j = t.iv[i]
    e = view_1d(f.scratch, 6, 6)
    e[0] = e[1] = e[2] = 0.0
    e[3], e[4], e[5] = screw_change(f.p[i], f.p[t.root[i]], f.S[j])
    # its terms
    rate = v[j]
    row = K[j]
    for k in range(3, 6):
        row[k] += e[k] * rate
        row[6 + k] += e[k] * a[j]
        row[12 + k] += 2.0 * e[k] * rate
    if t.parent[i] >= 0:
        add_cross_motion(f.V[t.parent[i]], e, 2.0 * rate, view_1d(row, 6, 6))


@kernel
def motion_in_world(R: FloatArray, at: FloatArray, about: FloatArray, s: FloatArray, out: FloatArray) -> None:
    """Fill out (6,) with the motion vector s of child axes at the child's origin, in world axes about ``about``."""
    for k in range(6):
        out[k] = 0.0
    add_rotated(R, s, 0, out)
    add_rotated(R, s, 3, view_1d(out, 3, 3))
    dx = at[0] - about[0]
    dy = at[1] - about[1]
    dz = at[2] - about[2]
    out[3] += dy * out[2] - dz * out[1]
    out[4] += dz * out[0] - dx * out[2]
    out[5] += dx * out[1] - dy * out[0]


@kernel
def custom_rates(t: Tree, f: Frames, i: int, v: FloatArray, a: FloatArray, rates: FloatArray, K: FloatArray) -> None:
    """Add the terms of the changing columns of custom joint i to its rows of K, from its ``rates`` (252,)."""
    # memory
    first = t.iv[i]
    out = view_1d(f.scratch, 0, 6)
    e = view_1d(f.scratch, 6, 6)
    given = view_1d(f.scratch, 12, 6)
    # e = dS/dq v along degree of freedom l, in P and in the rate of the column
    for l in range(first, t.iv[i + 1]):
        row = K[l]
        for k in range(6):
            given[k] = 0.0
            for j in range(first, t.iv[i + 1]):
                given[k] += rates[36 * (l - first) + 6 * (j - first) + k] * v[j]
        motion_in_world(f.R[i], f.p[i], f.p[t.root[i]], given, e)
        for k in range(6):
            row[k] += e[k]
            row[12 + k] += e[k]
        # V_up x e within V_up x P, and V_i x e
        add_cross_motion(f.V[i], e, 1.0, view_1d(row, 6, 6))
        if t.parent[i] >= 0:
            add_cross_motion(f.V[t.parent[i]], e, 1.0, view_1d(row, 6, 6))
        # dS/dq a and c', in Q
        for k in range(6):
            given[k] = rates[216 + 6 * (l - first) + k]
            # change of column l along v
            for j in range(first, t.iv[i + 1]):
                given[k] += rates[36 * (l - first) + 6 * (j - first) + k] * a[j]
        motion_in_world(f.R[i], f.p[i], f.p[t.root[i]], given, out)
        for k in range(6):
            row[6 + k] += out[k]
            given[k] = 0.0
            for j in range(first, t.iv[i + 1]):
                given[k] += rates[36 * (j - first) + 6 * (l - first) + k] * v[j]
        motion_in_world(f.R[i], f.p[i], f.p[t.root[i]], given, out)
        for k in range(6):
            row[12 + k] += out[k]

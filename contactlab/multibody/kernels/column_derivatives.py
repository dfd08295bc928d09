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
from contactlab.multibody.kernels.kinematics import add_cross_motion, motion_in_world, screw_change
from contactlab.multibody.kernels.layout import Frames, Tree
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.kernels.vectors import add_spatial, add_to, copy, fill, put_pair, put_spatial, times, vector
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
    # velocity and acceleration of the base of each joint
    base = view_1d(f.scratch, 6, 6)
    push = view_1d(f.scratch, 12, 6)
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        kind = t.kind[i]
        first = t.iv[i]
        if up >= 0:
            copy(f.V[up], base)
            copy(A[up], push)
        else:
            put_spatial((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), base)
            put_spatial((0.0, 0.0, 0.0), times(-weight, vector(t.gravity)), push)
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
            fill(0.0, row)
            P, Q, rest = view_1d(row, 0, 6), view_1d(row, 6, 6), view_1d(row, 12, 6)
            add_cross_motion(base, s, 1.0, P)
            add_cross_motion(push, s, 1.0, Q)
            add_cross_motion(base, P, 1.0, Q)
            # the column's own rate: it turns with the link, or with its base
            copy(P, rest)
            turns = kind in (SPHERICAL, CUSTOM) or (kind == FLOATING and j >= first + 3)
            add_cross_motion(f.V[i] if turns else base, s, 1.0, rest)
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
    none, row, rate = (0.0, 0.0, 0.0), K[j], v[j]
    e = screw_change(f.p[i], f.p[t.root[i]], f.S[j])
    # its terms
    add_spatial(none, times(rate, e), view_1d(row, 0, 6))
    add_spatial(none, times(a[j], e), view_1d(row, 6, 6))
    add_spatial(none, times(2.0 * rate, e), view_1d(row, 12, 6))
    if t.parent[i] >= 0:
        change = view_1d(f.scratch, 6, 6)
        put_spatial(none, e, change)
        add_cross_motion(f.V[t.parent[i]], change, 2.0 * rate, view_1d(row, 6, 6))


@kernel
def custom_rates(t: Tree, f: Frames, i: int, v: FloatArray, a: FloatArray, rates: FloatArray, K: FloatArray) -> None:
    """Add the terms of the changing columns of custom joint i to its rows of K, from its ``rates`` (252,)."""
    # changes in child axes along v, of column l along v, and along a with c'
    first, last = t.iv[i], t.iv[i + 1]
    along, turned, pushed = view_1d(f.scratch, 0, 6), view_1d(f.scratch, 6, 6), view_1d(f.scratch, 12, 6)
    for l in range(first, last):
        for k in range(6):
            along[k] = turned[k] = 0.0
            pushed[k] = rates[216 + 6 * (l - first) + k]
            for j in range(first, last):
                change = rates[36 * (l - first) + 6 * (j - first) + k]
                along[k] += change * v[j]
                pushed[k] += change * a[j]
                turned[k] += rates[36 * (j - first) + 6 * (l - first) + k] * v[j]
        for e in (along, turned, pushed):
            put_pair(motion_in_world(f.R[i], f.p[i], f.p[t.root[i]], e), e)
        # e = dS/dq v in P and in the rate of the column; V_up x e within V_up x P, and V_i x e
        row = K[l]
        P, Q, rest = view_1d(row, 0, 6), view_1d(row, 6, 6), view_1d(row, 12, 6)
        add_to(along, P)
        add_to(along, rest)
        add_cross_motion(f.V[i], along, 1.0, Q)
        if t.parent[i] >= 0:
            add_cross_motion(f.V[t.parent[i]], along, 1.0, Q)
        # dS/dq a and c' in Q, the change of the column along v in its rate
        add_to(pushed, Q)
        add_to(turned, rest)

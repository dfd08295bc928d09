"""Spatial velocities of the links, and the accelerations that these alone give them; all kinematics of one instant."""

from __future__ import annotations

from contactlab.multibody.kernels.codes import CUSTOM, FLOATING, GOOD, PRISMATIC, SCREW, SPHERICAL
from contactlab.multibody.kernels.layout import Tree, model_and_workspace_views
from contactlab.multibody.kernels.poses import poses
from contactlab.multibody.kernels.sizes import POSES, VELOCITIES
from contactlab.multibody.kernels.workspace import Frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def add_cross_motion(v: FloatArray, s: FloatArray, factor: float, out: FloatArray) -> None:
    """out += factor v x s for motion vectors (6,), angular part first (Featherstone 2008, equation 2.31)."""
    a, b, c = v[0] * factor, v[1] * factor, v[2] * factor
    d, e, f = v[3] * factor, v[4] * factor, v[5] * factor
    x, y, z = s[0], s[1], s[2]
    out[0] += b * z - c * y
    out[1] += c * x - a * z
    out[2] += a * y - b * x
    out[3] += b * s[5] - c * s[4] + e * z - f * y
    out[4] += c * s[3] - a * s[5] + f * x - d * z
    out[5] += a * s[4] - b * s[3] + d * y - e * x


@kernel
def add_shift_of_axis(at: FloatArray, about: FloatArray, s: FloatArray, rate: float, out: FloatArray) -> None:
    """Add the effect of a screw's moving axis: its shift t (world axes) gives the linear term t x w rate^2."""
    dx = at[0] - about[0]
    dy = at[1] - about[1]
    dz = at[2] - about[2]
    tx = s[3] - (dy * s[2] - dz * s[1])
    ty = s[4] - (dz * s[0] - dx * s[2])
    tz = s[5] - (dx * s[1] - dy * s[0])
    out[3] += rate * rate * (ty * s[2] - tz * s[1])
    out[4] += rate * rate * (tz * s[0] - tx * s[2])
    out[5] += rate * rate * (tx * s[1] - ty * s[0])


@kernel(inline=True)
def velocities(t: Tree, v: FloatArray, custom: FloatArray, at: Frames) -> None:
    """Fill V (nl, 6) and C (nl, 6) of ``at``, the sum of (dS/dt) v over each link's own degrees of freedom.

    World axes, about the origin of the tree's root link taken as a fixed point of space.
    """
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        Vi = at.V[i]
        Ci = at.C[i]
        first = t.iv[i]
        kind = t.kind[i]
        if up >= 0 and kind <= PRISMATIC:
            # By far the most frequent case, in scalars: v_i = v_up + s rate, c_i = v_up x s rate.
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
        for k in range(6):
            Vi[k] = at.V[up, k] if up >= 0 else 0.0
            Ci[k] = 0.0
        last = t.iv[i + 1]
        for j in range(first, last):
            for k in range(6):
                Vi[k] += at.S[j, k] * v[j]
        # Directions carried along by the parent come first, those that turn with the link itself after them.
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
        if kind == SCREW:
            add_shift_of_axis(at.p[i], at.p[t.root[i]], at.S[first], v[first], Ci)
        elif kind == CUSTOM:
            # S is constant in the child's axes except for c, its own velocity product, which is turned to world axes.
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
    """Fill the head of a workspace up to ``until``.

    Return `GOOD`, or the place in q of a quaternion that is not one.
    """
    t, f, _, _ = model_and_workspace_views(I, F, W)
    if ready < POSES:
        code = poses(I, F, q, custom, W)
        if code != GOOD:
            return code
    if ready < VELOCITIES and until >= VELOCITIES:
        velocities(t, v, custom, f)
    return GOOD

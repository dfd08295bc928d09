"""How velocity and acceleration of a point of a body change with q and v; see `displaced` for the links' own.

With d from the origin of the spatial vectors to the point, which moves by e = s_lin + s_ang x d along a column s:

    u   = V_lin + w x d            du   = dV_lin + dV_ang x d + w x e
    acc = A_lin + A_ang x d + w x u    dacc = dA_lin + dA_ang x d + A_ang x e + dw x u + w x du
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE
from contactlab.multibody.kernels.displaced import column_rates
from contactlab.multibody.kernels.fill_frames import fill_frames
from contactlab.multibody.kernels.layout import Tree, tree
from contactlab.multibody.kernels.newton_euler import accelerations
from contactlab.multibody.kernels.points import body_pose, world_point
from contactlab.multibody.kernels.sizes import VELOCITIES
from contactlab.multibody.kernels.velocities import add_cross_motion
from contactlab.multibody.kernels.views import part_at, rows_at
from contactlab.multibody.kernels.workspace import Frames, frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def rates_at(t: Tree, f: Frames, A: FloatArray, K: FloatArray, link: int, x: FloatArray, out: FloatArray) -> None:
    """Fill out (4, 6, nv), zeroed by the caller, for the link's point that is at x; link -1 does not move.

    Velocity, angular part first, by q and by v, then acceleration by q and by v. ``A`` (nl, 6) are the accelerations of
    the links without gravity, ``K`` (nv, 18) the rates of columns at those.
    """
    if link < 0:
        return
    V, B = f.V[link], A[link]
    o = f.p[t.root[link]]
    dx, dy, dz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    wx, wy, wz = V[0], V[1], V[2]
    ux = V[3] + (wy * dz - wz * dy)
    uy = V[4] + (wz * dx - wx * dz)
    uz = V[5] + (wx * dy - wy * dx)
    dV = part_at(f.scratch, 0, 6)
    dA = part_at(f.scratch, 6, 6)
    j = t.iv[link + 1] - 1
    while j >= 0:
        s = f.S[j]
        row = K[j]
        ex = s[3] + (s[1] * dz - s[2] * dy)
        ey = s[4] + (s[2] * dx - s[0] * dz)
        ez = s[5] + (s[0] * dy - s[1] * dx)
        for k in range(6):
            dV[k] = row[k]
            dA[k] = row[6 + k]
        # V moves along with the column, s x V, and so does A.
        add_cross_motion(V, s, -1.0, dV)
        add_cross_motion(B, s, -1.0, dA)
        add_cross_motion(part_at(row, 0, 6), V, 1.0, dA)
        gx = dV[3] + (dV[1] * dz - dV[2] * dy) + (wy * ez - wz * ey)
        gy = dV[4] + (dV[2] * dx - dV[0] * dz) + (wz * ex - wx * ez)
        gz = dV[5] + (dV[0] * dy - dV[1] * dx) + (wx * ey - wy * ex)
        for k in range(3):
            out[0, k, j] = dV[k]
            out[1, k, j] = s[k]
            out[2, k, j] = dA[k]
        out[0, 3, j], out[0, 4, j], out[0, 5, j] = gx, gy, gz
        out[1, 3, j], out[1, 4, j], out[1, 5, j] = ex, ey, ez
        l, m, n = dA[1] * dz - dA[2] * dy, dA[2] * dx - dA[0] * dz, dA[0] * dy - dA[1] * dx
        out[2, 3, j] = dA[3] + l + (B[1] * ez - B[2] * ey) + (dV[1] * uz - dV[2] * uy) + (wy * gz - wz * gy)
        out[2, 4, j] = dA[4] + m + (B[2] * ex - B[0] * ez) + (dV[2] * ux - dV[0] * uz) + (wz * gx - wx * gz)
        out[2, 5, j] = dA[5] + n + (B[0] * ey - B[1] * ex) + (dV[0] * uy - dV[1] * ux) + (wx * gy - wy * gx)
        for k in range(6):
            dA[k] = row[12 + k]
        add_cross_motion(V, s, -1.0, dA)
        for k in range(3):
            out[3, k, j] = dA[k]
        l, m, n = dA[1] * dz - dA[2] * dy, dA[2] * dx - dA[0] * dz, dA[0] * dy - dA[1] * dx
        out[3, 3, j] = dA[3] + l + (s[1] * uz - s[2] * uy) + (wy * ez - wz * ey)
        out[3, 4, j] = dA[4] + m + (s[2] * ux - s[0] * uz) + (wz * ex - wx * ez)
        out[3, 5, j] = dA[5] + n + (s[0] * uy - s[1] * ux) + (wx * ey - wy * ex)
        j = t.dof_parent[j]


@kernel
def point_rates(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    custom: FloatArray,
    rates: FloatArray,
    W: FloatArray,
    ready: int,
    body: int,
    point: FloatArray,
    out: FloatArray,
) -> int:
    """`rates_at` of a point of an added body, -1 being the world; `GOOD`, or what stopped it."""
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = t.dof_parent.shape[0]
    f = frames(W, nl, nv)
    A = rows_at(W, f.start, nl, 6)
    K = rows_at(W, f.start + 6 * nl, nv, 18)
    pose = part_at(W, f.start + 6 * nl + 18 * nv, 12)
    x = part_at(W, f.start + 6 * nl + 18 * nv + 12, 3)
    body_pose(t, f.R, f.p, body, pose)
    world_point(pose, point, x)
    accelerations(t, f.S, f.C, a, 0.0, A)
    column_rates(t, f, v, a, A, rates, K)
    rates_at(t, f, A, K, t.body_link[body] if body >= 0 else -1, x, out)
    rest = 0.0
    for number in range(4):
        for k in range(6):
            for j in range(nv):
                rest += 0.0 * out[number, k, j]
    return GOOD if rest == 0.0 else NOT_FINITE

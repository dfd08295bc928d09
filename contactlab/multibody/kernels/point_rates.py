"""Derivatives by q and v of the motion of points, of momentum, and of its rate.

See `column_derivatives` for the derivatives of the links.

d is the vector from the origin of the spatial vectors to a point of a body. The point moves by e = s_lin + s_ang x d
along a column s. Then

    u   = V_lin + w x d            du   = dV_lin + dV_ang x d + w x e
    acc = A_lin + A_ang x d + w x u    dacc = dA_lin + dA_ang x d + A_ang x e + dw x u + w x du

A displacement along column s changes the momentum beyond by s x* H + I P and the force by s x* F + I Q + 2 B P. A
velocity along s changes them by I s, and by I (P + dS/dt) + 2 B s (see `column_derivatives` and `derivatives`). Both
moments refer to the centre of mass, which moves with the bodies.
"""

from __future__ import annotations

from contactlab.multibody.kernels.centroidal import sum_masses
from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE, VELOCITIES
from contactlab.multibody.kernels.column_derivatives import column_rates
from contactlab.multibody.kernels.crba import world_inertias
from contactlab.multibody.kernels.derivatives import cross_force, inertial, link_forces, momenta, twice_gain
from contactlab.multibody.kernels.kinematics import add_cross_motion, fill_frames, linear_velocity
from contactlab.multibody.kernels.layout import Frames, Tree, model_and_workspace_views
from contactlab.multibody.kernels.newton_euler import accelerations
from contactlab.multibody.kernels.points import body_pose, world_point
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import part_at, rows_at
from lcp.kernels import kernel


@kernel
def rates_at(t: Tree, f: Frames, A: FloatArray, K: FloatArray, link: int, x: FloatArray, out: FloatArray) -> None:
    """Fill out (4, 6, nv), zeroed by the caller, for the link's point at x; link -1 does not move.

    Velocity, angular part first, by q and by v, then acceleration by q and by v. ``A`` (nl, 6) are the accelerations of
    the links without gravity, ``K`` (nv, 18) the rates of the columns at these accelerations.
    """
    if link < 0:
        return
    # velocity of the point
    V, B = f.V[link], A[link]
    o = f.p[t.root[link]]
    dx, dy, dz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    wx, wy, wz = V[0], V[1], V[2]
    ux, uy, uz = linear_velocity(V, dx, dy, dz)
    dV = part_at(f.scratch, 0, 6)
    dA = part_at(f.scratch, 6, 6)
    j = t.iv[link + 1] - 1
    # columns from the link to the root
    while j >= 0:
        s = f.S[j]
        row = K[j]
        # displacement of the point along the column
        ex, ey, ez = linear_velocity(s, dx, dy, dz)
        # V and A are carried along by the column: s x V and s x A
        for k in range(6):
            dV[k] = row[k]
            dA[k] = row[6 + k]
        add_cross_motion(V, s, -1.0, dV)
        add_cross_motion(B, s, -1.0, dA)
        add_cross_motion(part_at(row, 0, 6), V, 1.0, dA)
        # velocity by q and by v
        gx, gy, gz = linear_velocity(dV, dx, dy, dz)
        gx += wy * ez - wz * ey
        gy += wz * ex - wx * ez
        gz += wx * ey - wy * ex
        for k in range(3):
            out[0, k, j] = dV[k]
            out[1, k, j] = s[k]
            out[2, k, j] = dA[k]
        out[0, 3, j], out[0, 4, j], out[0, 5, j] = gx, gy, gz
        out[1, 3, j], out[1, 4, j], out[1, 5, j] = ex, ey, ez
        # acceleration by q
        ax, ay, az = linear_velocity(dA, dx, dy, dz)
        out[2, 3, j] = ax + (B[1] * ez - B[2] * ey) + (dV[1] * uz - dV[2] * uy) + (wy * gz - wz * gy)
        out[2, 4, j] = ay + (B[2] * ex - B[0] * ez) + (dV[2] * ux - dV[0] * uz) + (wz * gx - wx * gz)
        out[2, 5, j] = az + (B[0] * ey - B[1] * ex) + (dV[0] * uy - dV[1] * ux) + (wx * gy - wy * gx)
        # acceleration by v
        for k in range(6):
            dA[k] = row[12 + k]
        add_cross_motion(V, s, -1.0, dA)
        for k in range(3):
            out[3, k, j] = dA[k]
        ax, ay, az = linear_velocity(dA, dx, dy, dz)
        out[3, 3, j] = ax + (s[1] * uz - s[2] * uy) + (wy * ez - wz * ey)
        out[3, 4, j] = ay + (s[2] * ux - s[0] * uz) + (wz * ex - wx * ez)
        out[3, 5, j] = az + (s[0] * uy - s[1] * ux) + (wx * ey - wy * ex)
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
    """Fill ``out`` by `rates_at` for a point of an added body, -1 for the world; return `GOOD` or the failure."""
    # kinematics and views
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    t, f, nl, nv = model_and_workspace_views(I, F, W)
    A = rows_at(W, f.start, nl, 6)
    K = rows_at(W, f.start + 6 * nl, nv, 18)
    pose = part_at(W, f.start + 6 * nl + 18 * nv, 12)
    x = part_at(W, f.start + 6 * nl + 18 * nv + 12, 3)
    # the point, accelerations, rates of columns, and the result
    body_pose(t, f.R, f.p, body, pose)
    world_point(pose, point, x)
    accelerations(t, f.S, f.C, a, 0.0, A)
    column_rates(t, f, v, a, A, rates, K)
    rates_at(t, f, A, K, t.body_link[body] if body >= 0 else -1, x, out)
    # a sum that is finite exactly if all results are
    rest = 0.0
    for number in range(4):
        for k in range(6):
            for j in range(nv):
                rest += 0.0 * out[number, k, j]
    return GOOD if rest == 0.0 else NOT_FINITE


@kernel
def centroidal_rates(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    fixed: FloatArray,
    custom: FloatArray,
    rates: FloatArray,
    W: FloatArray,
    ready: int,
    out: FloatArray,
) -> int:
    """Fill out (4, 6, nv); return `GOOD`, or the code of the failure.

    Momentum, angular part first, by q and by v, then its rate at the accelerations ``a`` by q and by v; ``fixed`` as
    for `body_sums`. The workspace is as long as for `dynamics_derivatives`.
    """
    # kinematics and views
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    t, f, nl, nv = model_and_workspace_views(I, F, W)
    A = rows_at(W, f.start, nl, 6)
    P = rows_at(W, f.start + 6 * nl, nl, 6)
    B = rows_at(W, f.start + 12 * nl, nl, 10)
    G = rows_at(W, f.start + 22 * nl, nl, 12)
    H = rows_at(W, f.start + 34 * nl, nl, 6)
    K = rows_at(W, f.start + 40 * nl, nv, 18)
    # accelerations, inertias, momenta and forces of the links
    accelerations(t, f.S, f.C, a, 0.0, A)
    world_inertias(t, f.R, f.p, B)
    momenta(t, f.V, B, G)
    link_forces(f.V, A, B, G, rows_at(W, f.start, 0, 6), P)
    for i in range(nl):
        H[i, 0], H[i, 1], H[i, 2], H[i, 3], H[i, 4], H[i, 5] = inertial(B[i], f.V[i])
    column_rates(t, f, v, a, A, rates, K)
    # mass, centre of mass, and sums of momenta and forces
    total = part_at(f.scratch, 0, 4)
    sums = part_at(f.scratch, 4, 6)
    sum_masses(t, f.R, f.p, fixed, total)
    for k in range(6):
        sums[k] = 0.0
    # composites from the leaves to the roots
    for i in range(nl - 1, -1, -1):
        root = t.root[i]
        x = f.p[root, 0] - total[1]
        y = f.p[root, 1] - total[2]
        z = f.p[root, 2] - total[3]
        # columns of the link, moved to the centre of mass
        for j in range(t.iv[i], t.iv[i + 1]):
            s = f.S[j]
            row = K[j]
            along = inertial(B[i], part_at(row, 0, 6))
            riding = cross_force(s, H[i])
            speed = inertial(B[i], s)
            pushed = inertial(B[i], part_at(row, 6, 6))
            turned = twice_gain(G[i], row[0], row[1], row[2])
            carried = cross_force(s, P[i])
            moving = inertial(B[i], part_at(row, 12, 6))
            gained = twice_gain(G[i], s[0], s[1], s[2])
            for k in range(6):
                out[0, k, j] = along[k] + riding[k]
                out[1, k, j] = speed[k]
                out[2, k, j] = pushed[k] + turned[k] + carried[k]
                out[3, k, j] = moving[k] + gained[k]
            for number in range(4):
                a3, a4, a5 = out[number, 3, j], out[number, 4, j], out[number, 5, j]
                out[number, 0, j] += y * a5 - z * a4
                out[number, 1, j] += z * a3 - x * a5
                out[number, 2, j] += x * a4 - y * a3
        # the composite joins its parent, or the sums over all trees
        up = t.parent[i]
        if up >= 0:
            for k in range(10):
                B[up, k] += B[i, k]
            for k in range(12):
                G[up, k] += G[i, k]
            for k in range(6):
                P[up, k] += P[i, k]
                H[up, k] += H[i, k]
        else:
            for k in range(3):
                sums[k] += H[i, 3 + k]
                sums[3 + k] += P[i, 3 + k]
    # the displacement of the centre of mass changes the moments
    rest = 0.0
    part = 1.0 / total[0] if total[0] > 0.0 else 0.0
    for j in range(nv):
        x, y, z = part * out[1, 3, j], part * out[1, 4, j], part * out[1, 5, j]
        for number in range(0, 4, 2):
            at = 3 * (number // 2)
            out[number, 0, j] -= y * sums[at + 2] - z * sums[at + 1]
            out[number, 1, j] -= z * sums[at] - x * sums[at + 2]
            out[number, 2, j] -= x * sums[at + 1] - y * sums[at]
        for number in range(4):
            for k in range(6):
                rest += 0.0 * out[number, k, j]
    return GOOD if rest == 0.0 else NOT_FINITE

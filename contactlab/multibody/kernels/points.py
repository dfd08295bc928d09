"""Points of bodies: positions, motion and Jacobians, and the derivatives of their motion by q and v.

See `column_derivatives` for the derivatives of the links. d is the vector from the origin of the spatial vectors to a
point of a body. The point moves by e = s_lin + s_ang x d along a column s. Then

    u   = V_lin + w x d            du   = dV_lin + dV_ang x d + w x e
    acc = A_lin + A_ang x d + w x u    dacc = dA_lin + dA_ang x d + A_ang x e + dw x u + w x du
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE, POSES, VELOCITIES
from contactlab.multibody.kernels.column_derivatives import column_rates
from contactlab.multibody.kernels.kinematics import add_cross_motion, fill_frames, linear_velocity
from contactlab.multibody.kernels.layout import Frames, Tree, model_and_workspace_views
from contactlab.multibody.kernels.newton_euler import accelerations
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel(inner=True)
def frame_at(
    R: FloatArray, p: FloatArray, link: int, X: FloatArray, o: FloatArray, out: FloatArray, x: FloatArray
) -> None:
    """Fill ``out`` (9,), rotation, and x (3,), origin in the world, for a frame (X, o) given in a link.

    Link -1 is the world.
    """
    # the world: the frame as it is
    if link < 0:
        for k in range(9):
            out[k] = X[k]
        for k in range(3):
            x[k] = o[k]
        return
    # rotation and origin, row by row
    A = R[link]
    for i in range(3):
        a = A[3 * i]
        b = A[3 * i + 1]
        c = A[3 * i + 2]
        out[3 * i] = a * X[0] + b * X[3] + c * X[6]
        out[3 * i + 1] = a * X[1] + b * X[4] + c * X[7]
        out[3 * i + 2] = a * X[2] + b * X[5] + c * X[8]
        x[i] = p[link, i] + (a * o[0] + b * o[1] + c * o[2])


@kernel(inner=True)
def body_pose(t: Tree, R: FloatArray, p: FloatArray, body: int, out: FloatArray) -> None:
    """Fill out (12,) with rotation by rows and origin of an added body in the world; body -1 is the world itself."""
    if body < 0:
        for k in range(12):
            out[k] = 1.0 if k in (0, 4, 8) else 0.0
        return
    frame_at(R, p, t.body_link[body], t.body_R[body], t.body_p[body], out[0:9], out[9:12])


@kernel
def world_point(pose: FloatArray, point: FloatArray, out: FloatArray) -> None:
    """Fill out (3,) with the point of a body in the world."""
    for row in range(3):
        out[row] = pose[9 + row] + (
            pose[3 * row] * point[0] + pose[3 * row + 1] * point[1] + pose[3 * row + 2] * point[2]
        )


@kernel(inner=True)
def jacobian_at(t: Tree, p: FloatArray, S: FloatArray, link: int, x: FloatArray, first: int, J: FloatArray) -> None:
    """Fill J with the Jacobian of the link's point at x (world): rows angular, then linear, in world axes.

    J (6 - first, nv) is zeroed by the caller, and stays zero for link -1, the world. ``first`` = 3 leaves the angular
    rows out.
    """
    if link < 0:
        return
    # vector from the origin of the columns to the point
    o = p[t.root[link]]
    dx, dy, dz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    # degrees of freedom from the link to the root
    j = t.iv[link + 1] - 1
    while j >= 0:
        s = S[j]
        if first == 0:
            J[0, j] = s[0]
            J[1, j] = s[1]
            J[2, j] = s[2]
        J[3 - first, j], J[4 - first, j], J[5 - first, j] = linear_velocity(s, dx, dy, dz)
        j = t.dof_parent[j]


@kernel(inner=True)
def velocity_at(t: Tree, p: FloatArray, V: FloatArray, link: int, x: FloatArray, out: FloatArray) -> None:
    """Fill out (6,) with the angular velocity of the link and the velocity of its point at x."""
    if link < 0:
        for k in range(6):
            out[k] = 0.0
        return
    field_at(V[link], p[t.root[link]], x, out)


@kernel(inner=True)
def field_at(s: FloatArray, o: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """Fill out (6,) with angular velocity, and velocity at the point x, of the spatial velocity s about o."""
    out[0], out[1], out[2] = s[0], s[1], s[2]
    out[3], out[4], out[5] = linear_velocity(s, x[0] - o[0], x[1] - o[1], x[2] - o[2])


@kernel(inner=True)
def velocity_of(
    dof_parent: IntArray, S: FloatArray, last: int, o: FloatArray, x: FloatArray, v: FloatArray, out: FloatArray
) -> None:
    """Fill out (3,) with the velocity, at joint velocities v (nv,), of a point at x, world axes.

    ``last`` is the last degree of freedom that moves the point, -1 for a fixed point. ``o`` is the origin of the tree's
    root link, to which the motion columns S (nv, 6) refer.
    """
    # vector from the origin of the columns to the point
    dx, dy, dz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    for k in range(3):
        out[k] = 0.0
    # degrees of freedom from the last one to the root
    j = last
    while j >= 0:
        ux, uy, uz = linear_velocity(S[j], dx, dy, dz)
        rate = v[j]
        out[0] += ux * rate
        out[1] += uy * rate
        out[2] += uz * rate
        j = dof_parent[j]


@kernel(inner=True)
def acceleration_at(
    t: Tree, p: FloatArray, V: FloatArray, A: FloatArray, link: int, x: FloatArray, out: FloatArray
) -> None:
    """Fill out (6,) with the angular acceleration of the link and the classical acceleration of its point at x.

    The spatial acceleration describes the velocity field at a fixed point of space. The material point that passes
    there has w x u more, with its velocity u (Featherstone 2008, section 2.11).
    """
    # velocity, then the spatial acceleration and its correction
    velocity_at(t, p, V, link, x, out)
    if link < 0:
        return
    ux, uy, uz = out[3], out[4], out[5]
    wx, wy, wz = out[0], out[1], out[2]
    velocity_at(t, p, A, link, x, out)
    out[3] += wy * uz - wz * uy
    out[4] += wz * ux - wx * uz
    out[5] += wx * uy - wy * ux


@kernel
def point_motion(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    body: int,
    point: FloatArray,
    order: int,
    out: FloatArray,
) -> int:
    """Fill ``out`` with the motion of one point; return `GOOD`, or the place in q of an invalid quaternion.

    Order 0: position, out (3,); 1: angular and linear velocity, out (6,); 2: accelerations, out (6,). ``a`` of length 0
    stands for no accelerations of the joints.
    """
    # kinematics and the point in the world
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES if order > 0 else POSES, W)
    if code != GOOD:
        return code
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    pose = W[f.start + 6 * nl : f.start + 6 * nl + 12]
    x = W[f.start + 6 * nl + 12 : f.start + 6 * nl + 15]
    body_pose(t, f.R, f.p, body, pose)
    world_point(pose, point, x)
    link = t.body_link[body] if body >= 0 else -1
    # result of the order
    if order == 0:
        for k in range(3):
            out[k] = x[k]
    elif order == 1:
        velocity_at(t, f.p, f.V, link, x, out)
    else:
        A = view_2d(W, f.start, nl, 6)
        accelerations(t, f.S, f.C, a, 0.0, A)
        acceleration_at(t, f.p, f.V, A, link, x, out)
    return GOOD


@kernel
def point_columns(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    body: int,
    point: FloatArray,
    first: int,
    pose: FloatArray,
    J: FloatArray,
) -> int:
    """Fill J, zeroed by the caller, with the Jacobian of one point, and ``pose`` (12,) with the body's pose.

    ``first`` as for `jacobian_at`. Return `GOOD`, or the place in q of an invalid quaternion.
    """
    code = fill_frames(I, F, q, q, custom, ready, POSES, W)
    if code != GOOD:
        return code
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    x = W[f.start + 6 * nl + 12 : f.start + 6 * nl + 15]
    body_pose(t, f.R, f.p, body, pose)
    world_point(pose, point, x)
    jacobian_at(t, f.p, f.S, t.body_link[body] if body >= 0 else -1, x, first, J)
    return GOOD


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
    dV = view_1d(f.scratch, 0, 6)
    dA = view_1d(f.scratch, 6, 6)
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
        add_cross_motion(view_1d(row, 0, 6), V, 1.0, dA)
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
    A = view_2d(W, f.start, nl, 6)
    K = view_2d(W, f.start + 6 * nl, nv, 18)
    pose = view_1d(W, f.start + 6 * nl + 18 * nv, 12)
    x = view_1d(W, f.start + 6 * nl + 18 * nv + 12, 3)
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

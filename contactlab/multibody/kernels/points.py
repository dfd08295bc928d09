"""Points of bodies: positions, motion and Jacobians, and the derivatives of their motion by q and v.

See `derivatives` for the derivatives of the links. d is the vector from the origin of the spatial vectors to a
point of a body. The point moves by e = s_lin + s_ang x d along a column s. Then

    u   = V_lin + w x d            du   = dV_lin + dV_ang x d + w x e
    acc = A_lin + A_ang x d + w x u    dacc = dA_lin + dA_ang x d + A_ang x e + dw x u + w x du
"""

from __future__ import annotations

from contactlab.multibody.kernels import GOOD, NOT_FINITE, POSES, VELOCITIES
from contactlab.multibody.kernels.derivatives import column_rates
from contactlab.multibody.kernels.dynamics import accelerations
from contactlab.multibody.kernels.kinematics import add_cross_motion, fill_frames, matrix_product, velocity_of_point
from contactlab.multibody.kernels.layout import Frames, Tree, model_and_workspace_views
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.multibody.spatial.kernels import (
    add,
    are_finite,
    copy,
    cross,
    fill,
    linear,
    put,
    put_spatial,
    rotate,
    subtract,
    times,
    vector,
    vector_at,
)
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
        copy(X, out)
        copy(o, x)
        return
    matrix_product(R[link], X, out)
    put(add(vector(p[link]), rotate(R[link], vector(o))), x)


@kernel(inner=True)
def body_pose(t: Tree, R: FloatArray, p: FloatArray, body: int, out: FloatArray) -> None:
    """Fill out (12,) with rotation by rows and origin of an added body in the world; body -1 is the world itself."""
    if body < 0:
        fill(0.0, out)
        out[0], out[4], out[8] = 1.0, 1.0, 1.0
        return
    frame_at(R, p, t.body_link[body], t.body_R[body], t.body_p[body], out[0:9], out[9:12])


@kernel
def world_point(pose: FloatArray, point: FloatArray, out: FloatArray) -> None:
    """Fill out (3,) with the point of a body in the world."""
    put(add(vector_at(pose, 9), rotate(pose, vector(point))), out)


@kernel(inner=True)
def jacobian_at(t: Tree, p: FloatArray, S: FloatArray, link: int, x: FloatArray, first: int, J: FloatArray) -> None:
    """Fill J with the Jacobian of the link's point at x (world): rows angular, then linear, in world axes.

    J (6 - first, nv) is zeroed by the caller, and stays zero for link -1, the world. ``first`` = 3 leaves the angular
    rows out.
    """
    if link < 0:
        return
    # vector from the origin of the columns to the point
    d = subtract(vector(x), vector(p[t.root[link]]))
    # degrees of freedom from the link to the root
    j = t.iv[link + 1] - 1
    while j >= 0:
        s = S[j]
        if first == 0:
            J[0, j], J[1, j], J[2, j] = s[0], s[1], s[2]
        J[3 - first, j], J[4 - first, j], J[5 - first, j] = velocity_of_point(s, d)
        j = t.dof_parent[j]


@kernel(inner=True)
def velocity_at(t: Tree, p: FloatArray, V: FloatArray, link: int, x: FloatArray, out: FloatArray) -> None:
    """Fill out (6,) with the angular velocity of the link and the velocity of its point at x."""
    if link < 0:
        put_spatial((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), out)
        return
    field_at(V[link], p[t.root[link]], x, out)


@kernel(inner=True)
def field_at(s: FloatArray, o: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """Fill out (6,) with angular velocity, and velocity at the point x, of the spatial velocity s about o."""
    put_spatial(vector(s), velocity_of_point(s, subtract(vector(x), vector(o))), out)


@kernel(inner=True)
def velocity_of(
    dof_parent: IntArray, S: FloatArray, last: int, o: FloatArray, x: FloatArray, v: FloatArray, out: FloatArray
) -> None:
    """Fill out (3,) with the velocity, at joint velocities v (nv,), of a point at x, world axes.

    ``last`` is the last degree of freedom that moves the point, -1 for a fixed point. ``o`` is the origin of the tree's
    root link, to which the motion columns S (nv, 6) refer.
    """
    d, velocity = subtract(vector(x), vector(o)), (0.0, 0.0, 0.0)
    # degrees of freedom from the last one to the root
    j = last
    while j >= 0:
        velocity = add(velocity, times(v[j], velocity_of_point(S[j], d)))
        j = dof_parent[j]
    put(velocity, out)


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
    correction = cross(vector(out), linear(out))
    velocity_at(t, p, A, link, x, out)
    put_spatial(vector(out), add(linear(out), correction), out)


@kernel
def point_motion(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    point: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    body: int,
    order: int,
    out: FloatArray,
) -> int:
    """Fill ``out`` with the motion of one point; return `GOOD`, or the code of the failure.

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
        copy(x, out)
    elif order == 1:
        velocity_at(t, f.p, f.V, link, x, out)
    else:
        A = view_2d(W, f.start, nl, 6)
        accelerations(t, f.S, f.C, a, 0.0, A)
        acceleration_at(t, f.p, f.V, A, link, x, out)
    return GOOD if are_finite(out) else NOT_FINITE


@kernel
def point_columns(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    point: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    body: int,
    first: int,
    pose: FloatArray,
    J: FloatArray,
) -> int:
    """Fill J, zeroed by the caller, with the Jacobian of one point, and ``pose`` (12,) with the body's pose.

    ``first`` as for `jacobian_at`. Return `GOOD`, or the code of the failure.
    """
    code = fill_frames(I, F, q, q, custom, ready, POSES, W)
    if code != GOOD:
        return code
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    x = W[f.start + 6 * nl + 12 : f.start + 6 * nl + 15]
    body_pose(t, f.R, f.p, body, pose)
    world_point(pose, point, x)
    jacobian_at(t, f.p, f.S, t.body_link[body] if body >= 0 else -1, x, first, J)
    return GOOD if are_finite(pose) and are_finite(x) else NOT_FINITE


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
    d = subtract(vector(x), vector(f.p[t.root[link]]))
    w, u = vector(V), velocity_of_point(V, d)
    dV = view_1d(f.scratch, 0, 6)
    dA = view_1d(f.scratch, 6, 6)
    j = t.iv[link + 1] - 1
    # columns from the link to the root
    while j >= 0:
        s = f.S[j]
        row = K[j]
        # displacement of the point along the column
        e = velocity_of_point(s, d)
        # V and A are carried along by the column: s x V and s x A
        copy(row, dV)
        copy(view_1d(row, 6, 6), dA)
        add_cross_motion(V, s, -1.0, dV)
        add_cross_motion(B, s, -1.0, dA)
        add_cross_motion(view_1d(row, 0, 6), V, 1.0, dA)
        # velocity by q and by v
        g = add(velocity_of_point(dV, d), cross(w, e))
        put_spatial(vector(dV), g, out[0, :, j])
        put_spatial(vector(s), e, out[1, :, j])
        # acceleration by q
        change = add(velocity_of_point(dA, d), cross(vector(B), e))
        put_spatial(vector(dA), add(add(change, cross(vector(dV), u)), cross(w, g)), out[2, :, j])
        # acceleration by v
        copy(view_1d(row, 12, 6), dA)
        add_cross_motion(V, s, -1.0, dA)
        change = add(velocity_of_point(dA, d), cross(vector(s), u))
        put_spatial(vector(dA), add(change, cross(w, e)), out[3, :, j])
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
    return GOOD if are_finite(view_1d(out, 0, out.size)) else NOT_FINITE

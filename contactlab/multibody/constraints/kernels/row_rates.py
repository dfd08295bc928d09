"""Analytical derivatives of the rows of contacts and loops by q and v, at fixed accelerations and forces.

Let a be the axis of a row, and u and c the relative velocity and acceleration of its two frames. c has the terms
omega_p x a of `multibody.constraints.kernels.rows` for an axis that turns. Then

    gamma - G a = wanted - a . c - 2 alpha a . u - beta^2 error.

Along a column the axis turns with the predecessor, or with the line of a distance, by phi: a . x changes by
a . (dx + x x phi), for both halves.
`multibody.kernels.point_rates` computes the motion of the frames' points. The wrench of the forces turns in the same
way, and moves with its points; a wrench that does not move acts like an external force (`wrenches`).
"""

from __future__ import annotations

from contactlab.multibody.constraints.kernels.layout import (
    ALPHA,
    BETA,
    CONTACT,
    DISTANCE,
    SLIDING_LOOP,
    add_cross,
    block_frames,
    block_of,
    dot6,
    line_between,
    line_turn,
    rotate,
    rows_view,
)
from contactlab.multibody.kernels.codes import GOOD, VELOCITIES
from contactlab.multibody.kernels.derivatives import column_rates
from contactlab.multibody.kernels.dynamics import accelerations
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import model_and_workspace_views
from contactlab.multibody.kernels.points import acceleration_at, rates_at, velocity_at
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel
def turn_error(Rs: FloatArray, Rp: FloatArray, turn: FloatArray, out: FloatArray) -> None:
    """Fill out[:3] with the change of sin(angle) axis of D = R_p^T R_s, in world axes, by a relative turn.

    With D' = [x] D the change is 1/2 ([x] D + D^T [x]), the matrix of 1/2 (tr D - D) x.
    """
    trace = 0.0
    for k in range(9):
        trace += Rs[k] * Rp[k]
    for i in range(3):
        value = trace * turn[i]
        for k in range(3):
            own = Rp[k] * turn[0] + Rp[3 + k] * turn[1] + Rp[6 + k] * turn[2]
            value -= Rs[3 * i + k] * own
        out[i] = 0.5 * value


@kernel
def row_rates(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    forces: FloatArray,
    custom: FloatArray,
    rates: FloatArray,
    W: FloatArray,
    points: FloatArray,
    ready: int,
    by_q: FloatArray,
    by_v: FloatArray,
    speed: FloatArray,
    errors: FloatArray,
    carried: FloatArray,
    wrenches: FloatArray,
) -> int:
    """Fill the outputs, zeroed by the caller; return `GOOD`, or the place in q of an invalid quaternion.

    by_q, by_v, speed, errors (n, nv): derivatives of gamma - G a by q and by v, of G v and of the position errors by q.
    carried (nv, nv): derivative of G^T forces by q, without the effect of the external forces ``wrenches`` (bodies, 6),
    moment about the world's origin first. ``points`` (2, 4, 6, nv) is scratch. Custom rows are not changed.
    """
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    # Views, accelerations of the links, and derivatives of the motion columns.
    t, f, nl, nv = model_and_workspace_views(I, F, W)
    r = rows_view(I, F)
    A = view_2d(W, f.start, nl, 6)
    K = view_2d(W, f.start + 6 * nl, nv, 18)
    w = view_1d(W, f.start + 6 * nl + 18 * nv, 102)
    E = view_2d(W, f.start + 6 * nl + 18 * nv + 102, nl, 6)  # wrenches on the links
    for i in range(nl):
        for k in range(6):
            E[i, k] = 0.0
    accelerations(t, f.S, f.C, a, 0.0, A)
    column_rates(t, f, v, a, A, rates, K)
    # Scratch of one block.
    axis = w[0:6]
    u = w[6:12]  # relative velocity
    c = w[12:18]  # relative acceleration, terms of the turning axis included
    base_u = w[18:24]  # of the predecessor, velocity and acceleration; of a distance the angular velocity of the line
    base_c = w[24:30]
    wrench = w[30:36]
    change = w[36:42]  # of the wrench: moment on one of the bodies, force
    du = w[42:48]  # change of u and c by q
    dc = w[48:54]
    moving = w[54:60]  # change of u and c by v
    gained = w[60:66]
    error = w[66:72]  # change of the errors
    phi = w[72:78]  # turn of the axis with its predecessor or line, change of its angular velocity
    Rs = w[78:87]
    Rp = w[87:96]
    xs = w[96:99]
    xp = w[99:102]
    one, two = points[0], points[1]
    for block in range(r.frame.shape[0]):
        kind, link, base, first, last = block_of(r, block)
        # Poses of both frames.
        block_frames(r, block, f, Rs, xs, Rp, xp)
        sliding = kind == SLIDING_LOOP
        for k in range(3):
            if sliding:
                xp[k] = xs[k]
        # Motion of both points, and its derivatives.
        for number in range(2):
            for part in range(4):
                for k in range(6):
                    for j in range(nv):
                        points[number, part, k, j] = 0.0
        rates_at(t, f, A, K, link, xs, one)
        rates_at(t, f, A, K, base, xp, two)
        velocity_at(t, f.p, f.V, link, xs, u)
        velocity_at(t, f.p, f.V, base, xp, base_u)
        acceleration_at(t, f.p, f.V, A, link, xs, c)
        acceleration_at(t, f.p, f.V, A, base, xp, base_c)
        # Relative motion, with the terms of an axis that turns.
        more = 2.0 if sliding else 1.0
        for k in range(6):
            u[k] -= base_u[k]
            c[k] -= base_c[k]
            wrench[k] = 0.0
        inverse = 0.0
        if kind == DISTANCE:
            # The axis is the line, and turns with it.
            length = line_between(xs, xp, axis)
            inverse = 1.0 / length if length > 0.0 else 0.0
            line_turn(axis, u, length, base_u)
        add_cross(u, 0, base_u, 0, 1.0, c, 0)
        add_cross(u, 3, base_u, 0, more, c, 3)
        # Wrench of the forces, added to both links.
        for place in range(first, last):
            i = r.order[place]
            if kind != DISTANCE:
                rotate(Rp, r.row[i], 0, axis)
                rotate(Rp, r.row[i], 3, axis)
            for k in range(6):
                wrench[k] += forces[i] * axis[k]
        for k in range(6):
            if link >= 0:
                E[link, k] += wrench[k]
            if base >= 0:
                E[base, k] -= wrench[k]
        if link >= 0:
            add_cross(xs, 0, wrench, 3, 1.0, E[link], 0)
        if base >= 0:
            add_cross(xp, 0, wrench, 3, -1.0, E[base], 0)
        # Column by column: changes of the relative motion by q and v.
        for j in range(nv):
            for k in range(3):
                phi[k] = two[1, k, j]
                phi[3 + k] = two[0, k, j]
            for k in range(6):
                du[k] = one[0, k, j] - two[0, k, j]
                dc[k] = one[2, k, j] - two[2, k, j]
                moving[k] = one[1, k, j] - two[1, k, j]
                gained[k] = one[3, k, j] - two[3, k, j]
                change[k] = 0.0
            if sliding:
                # The predecessor's point follows the successor's, and moves in its body by moving[3:6].
                add_cross(base_u, 0, moving, 3, 1.0, change, 0)
                add_cross(base_u, 0, change, 0, -1.0, dc, 3)
                add_cross(base_c, 0, moving, 3, -1.0, dc, 3)
                for k in range(3):
                    du[3 + k] -= change[k]
                    change[k] = 0.0
            if kind == DISTANCE:
                # Turn of the line, and change of its angular velocity n x u / length.
                line_turn(axis, moving, length, phi)
                for k in range(3):
                    phi[3 + k] = -inverse * dot6(axis, moving) * base_u[k]
                    error[k] = du[3 + k]
                add_cross(phi, 0, base_u, 0, 1.0, phi, 3)
                add_cross(u, 3, phi, 0, 1.0, error, 0)
                add_cross(axis, 3, error, 0, inverse, phi, 3)
            # The axis turns, and the wrench with it.
            for half in range(0, 6, 3):
                times = 1.0 if half == 0 else more
                add_cross(du, half, base_u, 0, times, dc, half)
                add_cross(u, half, phi, 3, times, dc, half)
                add_cross(c, half, phi, 0, 1.0, dc, half)
                add_cross(moving, half, base_u, 0, times, gained, half)
                add_cross(u, half, phi, 0, times, gained, half)
                add_cross(u, half, phi, 0, 1.0, du, half)
                add_cross(phi, 0, wrench, half, 1.0, change, half)
            # Rows of the block, with their stabilisation.
            turn_error(Rs, Rp, moving, error)
            for k in range(3):
                error[3 + k] = moving[3 + k] + ((xs[(k + 1) % 3] - xp[(k + 1) % 3]) * phi[(k + 2) % 3])
                error[3 + k] -= (xs[(k + 2) % 3] - xp[(k + 2) % 3]) * phi[(k + 1) % 3]
            for place in range(first, last):
                i = r.order[place]
                row = r.row[i]
                if kind != DISTANCE:
                    rotate(Rp, row, 0, axis)
                    rotate(Rp, row, 3, axis)
                errors[i, j] = 0.0 if kind == CONTACT else dot6(axis, error)
                speed[i, j] = dot6(axis, du)
                by_q[i, j] = -dot6(axis, dc) - 2.0 * row[ALPHA] * speed[i, j] - row[BETA] * row[BETA] * errors[i, j]
                by_v[i, j] = -dot6(axis, gained) - 2.0 * row[ALPHA] * dot6(axis, moving)
            # Change of the generalised forces of the wrench on both links.
            for number in range(2):
                # The wrench's point; for the predecessor too if the loop slides.
                source = one if number == 0 or sliding else two
                sign = 1.0 - 2.0 * number
                for k in range(3):
                    error[k] = change[k]
                    error[3 + k] = source[1, 3 + k, j]
                add_cross(error, 3, wrench, 3, 1.0, error, 0)
                for i in range(nv):
                    for k in range(3):
                        carried[i, j] += sign * points[number, 1, k, i] * error[k]
                        carried[i, j] += sign * points[number, 1, 3 + k, i] * change[3 + k]
    # Assign the wrench of a link to one of the bodies that are fixed to it.
    for body in range(wrenches.shape[0]):
        i = t.body_link[body]
        if i >= 0:
            for k in range(6):
                wrenches[body, k] = E[i, k]
                E[i, k] = 0.0
    return GOOD

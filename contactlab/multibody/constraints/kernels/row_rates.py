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

from contactlab.multibody.constraints.kernels import SCRATCH
from contactlab.multibody.constraints.kernels.layout import (
    ALPHA,
    BETA,
    CONTACT,
    DISTANCE,
    SLIDING_LOOP,
    axis_of_row,
    block_frames,
    block_of,
    line_between,
    line_turn,
    rows_view,
    turned,
)
from contactlab.multibody.kernels import GOOD, VELOCITIES
from contactlab.multibody.kernels.derivatives import column_rates
from contactlab.multibody.kernels.dynamics import accelerations
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import model_and_workspace_views
from contactlab.multibody.kernels.points import acceleration_at, rates_at, velocity_at
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    Pair,
    add,
    add_pairs,
    add_spatial,
    copy,
    cross,
    dot,
    dot_pairs,
    fill,
    opposite,
    pair_of,
    rotate,
    rotate_inverse,
    subtract,
    subtract_pairs,
    times,
    vector,
)
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel(inner=True)
def turn_error(Rs: FloatArray, Rp: FloatArray, turn: Vec3) -> Vec3:
    """Return the change of sin(angle) axis of D = R_p^T R_s, in world axes, by a relative turn.

    With D' = [x] D the change is 1/2 ([x] D + D^T [x]), the matrix of 1/2 (tr D - D) x.
    """
    trace = 0.0
    for k in range(9):
        trace += Rs[k] * Rp[k]
    return times(0.5, subtract(times(trace, turn), rotate(Rs, rotate_inverse(Rp, turn))))


@kernel(inner=True)
def column(M: FloatArray, j: int) -> Pair:
    """Return column j of a matrix of six rows."""
    return (M[0, j], M[1, j], M[2, j]), (M[3, j], M[4, j], M[5, j])


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
    w = view_1d(W, f.start + 6 * nl + 18 * nv, SCRATCH)
    E = view_2d(W, f.start + 6 * nl + 18 * nv + SCRATCH, nl, 6)  # wrenches on the links
    E[:] = 0.0
    accelerations(t, f.S, f.C, a, 0.0, A)
    column_rates(t, f, v, a, A, rates, K)
    # Scratch of one block.
    motion, other = w[0:6], w[6:12]
    Rs, Rp, xs, xp = w[12:21], w[21:30], w[30:33], w[33:36]
    one, two = points[0], points[1]
    for block in range(r.frame.shape[0]):
        kind, link, base, first, last = block_of(r, block)
        # Poses of both frames.
        block_frames(r, block, f, Rs, xs, Rp, xp)
        sliding, more = kind == SLIDING_LOOP, 1.0
        if sliding:
            copy(xs, xp)
            more = 2.0
        # Motion of both points, and its derivatives.
        points[:] = 0.0
        rates_at(t, f, A, K, link, xs, one)
        rates_at(t, f, A, K, base, xp, two)
        velocity_at(t, f.p, f.V, link, xs, motion)
        velocity_at(t, f.p, f.V, base, xp, other)
        u, base_w = subtract_pairs(pair_of(motion), pair_of(other)), vector(other)
        acceleration_at(t, f.p, f.V, A, link, xs, motion)
        acceleration_at(t, f.p, f.V, A, base, xp, other)
        c, base_a = subtract_pairs(pair_of(motion), pair_of(other)), vector(other)
        # The axis turns with the predecessor; of a distance it is the line, and turns with it.
        length, line = line_between(xs, xp)
        inverse = 1.0 / length if length > 0.0 else 0.0
        omega = line_turn(line, u[1], length) if kind == DISTANCE else base_w
        c = add_pairs(c, turned(u, omega, more))
        # Wrench of the forces, added to both links.
        zero = (0.0, 0.0, 0.0)
        wrench = zero, zero
        for place in range(first, last):
            i = r.order[place]
            axis = axis_of_row(r.row[i], kind, Rp, line)
            wrench = add_pairs(wrench, (times(forces[i], axis[0]), times(forces[i], axis[1])))
        if link >= 0:
            add_spatial(add(wrench[0], cross(vector(xs), wrench[1])), wrench[1], E[link])
        if base >= 0:
            add_spatial(opposite(add(wrench[0], cross(vector(xp), wrench[1]))), opposite(wrench[1]), E[base])
        # Column by column: changes of the relative motion by q (du, dc) and v (moving, gained).
        for j in range(nv):
            phi, phi_rate = column(two[1], j)[0], column(two[0], j)[0]
            du, dc = (
                subtract_pairs(column(one[0], j), column(two[0], j)),
                subtract_pairs(column(one[2], j), column(two[2], j)),
            )
            moving = subtract_pairs(column(one[1], j), column(two[1], j))
            gained = subtract_pairs(column(one[3], j), column(two[3], j))
            if sliding:
                # The predecessor's point follows the successor's, and moves in its body by the linear part of moving.
                carry = cross(base_w, moving[1])
                dc = dc[0], subtract(dc[1], add(cross(base_w, carry), cross(base_a, moving[1])))
                du = du[0], subtract(du[1], carry)
            if kind == DISTANCE:
                # Turn of the line, and change of its angular velocity n x u / length.
                phi = line_turn(line, moving[1], length)
                phi_rate = add(times(-inverse * dot(line, moving[1]), omega), cross(phi, omega))
                phi_rate = add(phi_rate, times(inverse, cross(line, add(du[1], cross(u[1], phi)))))
            # The axis turns, and the wrench with it.
            dc = add_pairs(dc, turned(du, omega, more))
            dc = add_pairs(add_pairs(dc, turned(u, phi_rate, more)), turned(c, phi, 1.0))
            gained = add_pairs(add_pairs(gained, turned(moving, omega, more)), turned(u, phi, more))
            du = add_pairs(du, turned(u, phi, 1.0))
            moment, force = cross(phi, wrench[0]), cross(phi, wrench[1])
            # Rows of the block, with their stabilisation.
            apart = subtract(vector(xs), vector(xp))
            error = turn_error(Rs, Rp, moving[0]), add(moving[1], cross(apart, phi))
            for place in range(first, last):
                i = r.order[place]
                row = r.row[i]
                axis = axis_of_row(row, kind, Rp, line)
                errors[i, j] = 0.0 if kind == CONTACT else dot_pairs(axis, error)
                speed[i, j] = dot_pairs(axis, du)
                by_q[i, j] = (
                    -dot_pairs(axis, dc) - 2.0 * row[ALPHA] * speed[i, j] - row[BETA] * row[BETA] * errors[i, j]
                )
                by_v[i, j] = -dot_pairs(axis, gained) - 2.0 * row[ALPHA] * dot_pairs(axis, moving)
            # Change of the generalised forces of the wrench on both links, at its point.
            on_one = add(moment, cross(column(one[1], j)[1], wrench[1])), force
            on_two = on_one
            if not sliding:
                on_two = add(moment, cross(column(two[1], j)[1], wrench[1])), force
            for i in range(nv):
                carried[i, j] += dot_pairs(column(one[1], i), on_one) - dot_pairs(column(two[1], i), on_two)
    # Assign the wrench of a link to one of the bodies that are fixed to it.
    for body in range(wrenches.shape[0]):
        i = t.body_link[body]
        if i >= 0:
            copy(E[i], wrenches[body])
            fill(0.0, E[i])
    return GOOD

"""How the axes of rolling friction turn with a state: the first is along the rolling that the step begins with."""

from __future__ import annotations

import math

from contactlab.linearization.kernels.contact_frames import axis, dot, fill_columns, relative_motion
from contactlab.linearization.kernels.contact_rates import add_change, moves, point_change, turn_axes
from contactlab.linearization.kernels.layout import ROLL, ROLLING, Memory
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.workspace import frames, rows_at
from contactlab.stepping.kernels.kinematic import motion_of
from contactlab.stepping.kernels.layout import BODY_A, BODY_B, POINT, Control, FloatArray, PackedWorld, Work
from contactlab.stepping.kernels.moments import STILL
from lcp.kernels import kernel


@kernel(inner=True)
def turn_rolling(own: FloatArray, w: FloatArray, speed: float, dw: FloatArray, dn: FloatArray, out: FloatArray) -> None:
    """Fill out (3,): the change of d = (w - (n . w) n) / speed as w changes by dw, the normal by dn."""
    n, d = axis(own, 0), axis(own, ROLL)
    spin, more = dot(n, w), dot(dn, w) + dot(n, dw)
    for k in range(3):
        out[k] = dw[k] - spin * dn[k] - more * n[k]
    along = dot(d, out)
    for k in range(3):
        out[k] = (out[k] - along * d[k]) / speed


@kernel
def rolling_rates(world: PackedWorld, work: Work, m: Memory, control: Control) -> None:
    """Fill how the first axes of rolling change; m.V has the velocity before the step, m.rates how contacts move."""
    t = tree(world.ints, world.floats)
    nl, nv = t.parent.shape[0], m.v.shape[0]
    f = frames(m.V, nl, nv)
    K = rows_at(m.V, f.start + 6 * nl, nv, 18)
    s = work.scratch
    u, du, six, dp, dn, d2 = s[0:6], s[6:12], s[12:18], s[18:21], s[21:24], s[24:27]
    planar = dot(world.plane, world.plane) > 0.0
    for c in range(control.n_contacts):
        ints, own, rolled = work.contact_int[c], m.contact[c], m.rolled[c]
        a, b, x, n = ints[BODY_A], ints[BODY_B], work.contact_float[c, POINT : POINT + 3], axis(own, 0)
        count = fill_columns(world, f, m, a, b, x)
        for j in range(2 * nv):
            for k in range(3):
                rolled[j, k] = 0.0
        relative_motion(world, work, f, t, a, b, x, motion_of(world, a), u)
        w, dw = u[3:6], du[3:6]
        own[ROLLING] = math.sqrt(max(0.0, dot(w, w) - dot(n, w) ** 2))
        if planar:
            # The axis is that of the plane.
            own[ROLLING] = math.inf
            continue
        for place in range(count):
            j = m.dofs[place]
            point_change(m, c, j, n, dp, dn)
            if own[ROLLING] <= STILL:
                turn_axes(n, axis(own, ROLL), world.plane, dn, rolled[j], d2)
                continue
            for k in range(6):
                du[k] = 0.0
            of_b, of_a = m.columns[0, j], m.columns[1, j]
            add_change(world, t, f, K, b, j, moves(of_b), x, dp, 1.0, six, du)
            add_change(world, t, f, K, a, j, moves(of_a), x, dp, -1.0, six, du)
            turn_rolling(own, w, own[ROLLING], dw, dn, rolled[j])
            for k in range(3):
                dn[k], dw[k] = 0.0, of_b[k] - of_a[k]
            turn_rolling(own, w, own[ROLLING], dw, dn, rolled[nv + j])

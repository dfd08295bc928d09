"""How the rows of contacts, and what their forces do, change with q: points, normals and axes move with the bodies.

A contact's relative velocity u at its point changes by what moves the bodies (`multibody.kernels.displaced`) and by
omega x dp as the point wanders; its parts along normal and tangents by these axes besides. A force held in them turns
with them, and moves with the point.
"""

from __future__ import annotations

import math

from contactlab.contact.kernels.friction_pyramid import planar_tangents
from contactlab.linearization.kernels.contact_motion import contact_motions
from contactlab.linearization.kernels.layout import (
    AXES,
    CONTACT,
    FAR,
    FEATURE,
    FORCE,
    NEIGHBOUR,
    RATE,
    ROW,
    WHY,
    Memory,
)
from contactlab.multibody.kernels.displaced import column_rates
from contactlab.multibody.kernels.fill_frames import fill_frames
from contactlab.multibody.kernels.layout import Tree, tree
from contactlab.multibody.kernels.sizes import CUSTOM_RATES, CUSTOM_ROW, VELOCITIES
from contactlab.multibody.kernels.velocities import add_cross_motion
from contactlab.multibody.kernels.views import part_at, rows_at
from contactlab.multibody.kernels.workspace import Frames, frames
from contactlab.stepping.kernels.collision import Collision
from contactlab.stepping.kernels.kinematic import carried, motion_of
from contactlab.stepping.kernels.layout import (
    BODY_A,
    BODY_B,
    BODY_DOF,
    BODY_ROOT,
    NORMAL,
    POINT,
    Control,
    FloatArray,
    IntArray,
    PackedWorld,
    Work,
)
from lcp.kernels import kernel


@kernel(inner=True)
def read_contacts(world: PackedWorld, work: Work, m: Memory, control: Control) -> None:
    """Fill force and axes of the contacts of the step, and the wrenches that they make on their bodies."""
    r = control.edges // 2
    for c in range(control.n_contacts):
        own, floats, z = m.contact[c], work.contact_float[c], work.contact_z[c]
        n, t1, t2 = own[AXES : AXES + 3], own[AXES + 3 : AXES + 6], own[AXES + 6 : AXES + 9]
        x, y = 0.0, 0.0
        for e in range(r):
            x += (z[1 + e] - z[1 + r + e]) * m.turns[e, 0]
            y += (z[1 + e] - z[1 + r + e]) * m.turns[e, 1]
        for k in range(3):
            n[k] = floats[NORMAL + k]
        planar_tangents(n, world.plane, t1, t2)
        own[FORCE], own[FORCE + 1], own[FORCE + 2] = z[0], x, y
        p, wrench = floats[POINT : POINT + 3], m.six
        for k in range(3):
            wrench[3 + k] = z[0] * n[k] + x * t1[k] + y * t2[k]
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            wrench[k] = p[i] * wrench[3 + j] - p[j] * wrench[3 + i]
        a, b = work.contact_int[c, BODY_A], work.contact_int[c, BODY_B]
        for k in range(6):
            m.wrenches[b, k] += wrench[k]
            if a >= 0:
                m.wrenches[a, k] -= wrench[k]


@kernel(inner=True)
def at_velocity(world: PackedWorld, m: Memory, v: FloatArray, ready: int) -> None:
    """Fill m.V with the kinematics at the start of the step and this velocity, and the rates of columns behind."""
    none, rates = rows_at(m.V, 0, 0, CUSTOM_ROW), rows_at(m.V, 0, 0, CUSTOM_RATES)
    fill_frames(world.ints, world.floats, m.q, v, none, ready, VELOCITIES, m.V)
    t = tree(world.ints, world.floats)
    nl, nv = t.parent.shape[0], v.shape[0]
    f = frames(m.V, nl, nv)
    A, K = rows_at(m.V, f.start, nl, 6), rows_at(m.V, f.start + 6 * nl, nv, 18)
    for i in range(nl):
        for k in range(6):
            A[i, k] = 0.0
    for j in range(nv):
        m.way[j] = 0.0
    column_rates(t, f, v, m.way[:nv], A, rates, K)


@kernel(inner=True)
def columns_at(world: PackedWorld, f: Frames, body: int, x: FloatArray, out: FloatArray) -> None:
    """Fill out (nv, 6), zeroed by the caller: turn and motion of the body's point at x, along its path to the root."""
    j = world.bodies[body, BODY_DOF] if body >= 0 else -1
    if j < 0:
        return
    o = f.p[world.bodies[body, BODY_ROOT]]
    dx, dy, dz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    while j >= 0:
        s, own = f.S[j], out[j]
        for k in range(3):
            own[k] = s[k]
        own[3] = s[3] + (s[1] * dz - s[2] * dy)
        own[4] = s[4] + (s[2] * dx - s[0] * dz)
        own[5] = s[5] + (s[0] * dy - s[1] * dx)
        j = world.dof_parent[j]


@kernel(inner=True)
def listed(world: PackedWorld, a: int, b: int, dofs: IntArray) -> int:
    """List, ascending, the degrees of freedom that move either body; return how many there are."""
    i = world.bodies[b, BODY_DOF]
    j = world.bodies[a, BODY_DOF] if a >= 0 else -1
    count = 0
    while i >= 0 or j >= 0:
        dofs[count] = max(i, j)
        at = dofs[count]
        i = world.dof_parent[i] if i == at else i
        j = world.dof_parent[j] if j == at else j
        count += 1
    for k in range(count // 2):
        dofs[k], dofs[count - 1 - k] = dofs[count - 1 - k], dofs[k]
    return count


@kernel(inner=True)
def add_change(
    world: PackedWorld,
    t: Tree,
    f: Frames,
    K: FloatArray,
    body: int,
    j: int,
    moves: bool,
    x: FloatArray,
    dp: FloatArray,
    sign: float,
    six: FloatArray,
    out: FloatArray,
) -> None:
    """out (3,) += sign times the change by q_j of the velocity of what of a body is at x, which wanders by dp."""
    link = t.body_link[body] if body >= 0 else -1
    if link < 0:
        return
    V = f.V[link]
    if moves:
        o = f.p[t.root[link]]
        dx, dy, dz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
        for k in range(6):
            six[k] = K[j, k]
        add_cross_motion(V, f.S[j], -1.0, six)
        out[0] += sign * (six[3] + (six[1] * dz - six[2] * dy))
        out[1] += sign * (six[4] + (six[2] * dx - six[0] * dz))
        out[2] += sign * (six[5] + (six[0] * dy - six[1] * dx))
    out[0] += sign * (V[1] * dp[2] - V[2] * dp[1])
    out[1] += sign * (V[2] * dp[0] - V[0] * dp[2])
    out[2] += sign * (V[0] * dp[1] - V[1] * dp[0])


@kernel(inner=True)
def add_velocity(f: Frames, t: Tree, body: int, x: FloatArray, sign: float, out: FloatArray) -> None:
    """out (3,) += sign times the velocity of what of a body is at x."""
    link = t.body_link[body] if body >= 0 else -1
    if link < 0:
        return
    V, o = f.V[link], f.p[t.root[link]]
    dx, dy, dz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    out[0] += sign * (V[3] + (V[1] * dz - V[2] * dy))
    out[1] += sign * (V[4] + (V[2] * dx - V[0] * dz))
    out[2] += sign * (V[5] + (V[0] * dy - V[1] * dx))


@kernel(inline=True)
def turn_axes(n: FloatArray, t1: FloatArray, plane: FloatArray, dn: FloatArray, d1: FloatArray, d2: FloatArray) -> None:
    """Fill d1, d2 (3,): how the tangents of `planar_tangents` change as n does by dn."""
    ux = plane[1] * n[2] - plane[2] * n[1]
    uy = plane[2] * n[0] - plane[0] * n[2]
    uz = plane[0] * n[1] - plane[1] * n[0]
    size = math.sqrt(ux * ux + uy * uy + uz * uz)
    if size < 0.5:
        axis = 0
        if abs(n[1]) < abs(n[axis]):
            axis = 1
        if abs(n[2]) < abs(n[axis]):
            axis = 2
        size = math.sqrt(1.0 - n[axis] * n[axis])
        for k in range(3):
            d1[k] = -(dn[axis] * n[k] + n[axis] * dn[k])
    else:
        d1[0] = plane[1] * dn[2] - plane[2] * dn[1]
        d1[1] = plane[2] * dn[0] - plane[0] * dn[2]
        d1[2] = plane[0] * dn[1] - plane[1] * dn[0]
    along = t1[0] * d1[0] + t1[1] * d1[1] + t1[2] * d1[2]
    for k in range(3):
        d1[k] = (d1[k] - along * t1[k]) / size
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        d2[k] = dn[i] * t1[j] - dn[j] * t1[i] + (n[i] * d1[j] - n[j] * d1[i])


@kernel(inline=True)
def dot(a: FloatArray, b: FloatArray) -> float:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def speed_rates(
    world: PackedWorld, work: Work, m: Memory, control: Control, before: bool, told_too: bool, out: FloatArray
) -> None:
    """Fill out (nc, 3, nv): the rates of all contacts by q at the velocity that m.V is filled for.

    ``before``: of the normal alone, into `m.before` instead. ``told_too``: kinematic bodies move as they are told.
    """
    t = tree(world.ints, world.floats)
    nl, nv = t.parent.shape[0], m.v.shape[0]
    f = frames(m.V, nl, nv)
    K = rows_at(m.V, f.start + 6 * nl, nv, 18)
    w = work.scratch
    dp, dn, d1, d2, du, u, six = w[0:3], w[3:6], w[6:9], w[9:12], w[12:15], w[15:18], w[18:24]
    told, shift = w[24:27], w[27:30]
    for c in range(control.n_contacts):
        ints, own = work.contact_int[c], m.contact[c]
        a, b, x = ints[BODY_A], ints[BODY_B], work.contact_float[c, POINT : POINT + 3]
        n, t1, t2 = own[AXES : AXES + 3], own[AXES + 3 : AXES + 6], own[AXES + 6 : AXES + 9]
        count = fill_columns(world, f, m, a, b, x)
        for k in range(3):
            u[k] = 0.0
            for j in range(nv):
                if before:
                    m.before[c, j] = 0.0
                else:
                    out[c, k, j] = 0.0
        add_velocity(f, t, b, x, 1.0, u)
        add_velocity(f, t, a, x, -1.0, u)
        driven = motion_of(world, a) if told_too else -1
        if driven >= 0:
            carried(work, driven, x, told)
            for k in range(3):
                u[k] -= told[k]
        for place in range(count):
            j = m.dofs[place]
            point_change(m, c, j, n, dp, dn)
            for k in range(3):
                du[k] = 0.0
            of_b, of_a = moves(m.columns[0, j]), moves(m.columns[1, j])
            add_change(world, t, f, K, b, j, of_b, x, dp, 1.0, six, du)
            add_change(world, t, f, K, a, j, of_a, x, dp, -1.0, six, du)
            if driven >= 0:
                for k in range(3):
                    shift[k] = x[k] + dp[k]
                carried(work, driven, shift, six)
                for k in range(3):
                    du[k] -= six[k] - told[k]
            if before:
                m.before[c, j] = dot(dn, u) + dot(n, du)
                continue
            turn_axes(n, t1, world.plane, dn, d1, d2)
            out[c, 0, j] = dot(dn, u) + dot(n, du)
            out[c, 1, j] = dot(d1, u) + dot(t1, du)
            out[c, 2, j] = dot(d2, u) + dot(t2, du)


@kernel(inline=True)
def moves(column: FloatArray) -> bool:
    """Whether a column is of a degree of freedom that moves the body."""
    total = 0.0
    for k in range(6):
        total += abs(column[k])
    return total > 0.0


@kernel(inner=True)
def fill_columns(world: PackedWorld, f: Frames, m: Memory, a: int, b: int, x: FloatArray) -> int:
    """Fill columns of both bodies at x, and list their degrees of freedom; how many these are."""
    count = listed(world, a, b, m.dofs)
    for place in range(count):
        for k in range(6):
            m.columns[0, m.dofs[place], k] = 0.0
            m.columns[1, m.dofs[place], k] = 0.0
    columns_at(world, f, b, x, m.columns[0])
    columns_at(world, f, a, x, m.columns[1])
    return count


@kernel(inner=True)
def point_change(m: Memory, c: int, j: int, n: FloatArray, dp: FloatArray, dn: FloatArray) -> None:
    """Fill dp, dn (3,): how point and normal of a contact move by q_j."""
    rates, of_b, of_a = m.rates[c], m.columns[0, j], m.columns[1, j]
    for k in range(3):
        dp[k] = of_a[3 + k]
        for i in range(6):
            dp[k] += rates[k, i] * (of_b[i] - of_a[i])
    dn[0] = of_a[1] * n[2] - of_a[2] * n[1]
    dn[1] = of_a[2] * n[0] - of_a[0] * n[2]
    dn[2] = of_a[0] * n[1] - of_a[1] * n[0]
    for k in range(3):
        for i in range(6):
            dn[k] += rates[3 + k, i] * (of_b[i] - of_a[i])


@kernel
def contact_frames(world: PackedWorld, work: Work, m: Memory, control: Control) -> None:
    """Fill the frames of all contacts, and their rates at the velocity that m.V is filled for."""
    t = tree(world.ints, world.floats)
    nl, nv = t.parent.shape[0], m.v.shape[0]
    f = frames(m.V, nl, nv)
    u, told = work.scratch[30:33], work.scratch[33:36]
    for number in range(control.n_contacts):
        ints, own = work.contact_int[number], m.contact[number]
        a, b, x = ints[BODY_A], ints[BODY_B], work.contact_float[number, POINT : POINT + 3]
        n, t1, t2 = own[AXES : AXES + 3], own[AXES + 3 : AXES + 6], own[AXES + 6 : AXES + 9]
        count = fill_columns(world, f, m, a, b, x)
        for k in range(3):
            u[k] = 0.0
            for j in range(nv):
                m.frame[number, k, j] = 0.0
        add_velocity(f, t, b, x, 1.0, u)
        add_velocity(f, t, a, x, -1.0, u)
        if motion_of(world, a) >= 0:
            carried(work, motion_of(world, a), x, told)
            for k in range(3):
                u[k] -= told[k]
        own[RATE], own[RATE + 1], own[RATE + 2] = dot(n, u), dot(t1, u), dot(t2, u)
        for place in range(count):
            j = m.dofs[place]
            of_b, of_a = m.columns[0, j], m.columns[1, j]
            for k in range(3):
                rate = of_b[3 + k] - of_a[3 + k]
                m.frame[number, 0, j] += n[k] * rate
                m.frame[number, 1, j] += t1[k] * rate
                m.frame[number, 2, j] += t2[k] * rate


@kernel
def contact_rates(
    world: PackedWorld, work: Work, c: Collision | None, m: Memory, control: Control, h: float, kinks: int
) -> int:
    """Fill the changes of forces, and add what forces that move with contacts do to X; kinks noted so far.

    The head of work.W holds the kinematics of the start, and m.V that with the velocity after the step.
    """
    t = tree(world.ints, world.floats)
    nl, nv = t.parent.shape[0], m.v.shape[0]
    f = frames(m.V, nl, nv)
    w = part_at(work.scratch, 30, 15)
    dp, dn, d1, d2, moment = w[0:3], w[3:6], w[6:9], w[9:12], w[12:15]
    contact_motions(world, work, c, m, control)
    for number in range(control.n_contacts):
        ints, own = work.contact_int[number], m.contact[number]
        a, b, x = ints[BODY_A], ints[BODY_B], work.contact_float[number, POINT : POINT + 3]
        n, t1, t2 = own[AXES : AXES + 3], own[AXES + 3 : AXES + 6], own[AXES + 6 : AXES + 9]
        if m.bent[number, 0] != 0 and own[FORCE] > 0.0:
            kinks = note(m, kinks, FEATURE, number, -1, 0.0, 0.0, 0.0, 0.0, -1)
        count = fill_columns(world, f, m, a, b, x)
        for j in range(nv):
            m.gaps[number, j] = 0.0
            for k in range(3):
                m.push[number, k, j] = 0.0
        for place in range(count):
            j = m.dofs[place]
            for k in range(6):
                m.gaps[number, j] += m.rates[number, 6, k] * (m.columns[0, j, k] - m.columns[1, j, k])
        fx = own[FORCE] * n[0] + own[FORCE + 1] * t1[0] + own[FORCE + 2] * t2[0]
        fy = own[FORCE] * n[1] + own[FORCE + 1] * t1[1] + own[FORCE + 2] * t2[1]
        fz = own[FORCE] * n[2] + own[FORCE + 1] * t1[2] + own[FORCE + 2] * t2[2]
        if fx == 0.0 and fy == 0.0 and fz == 0.0:
            continue
        for place in range(count):
            j = m.dofs[place]
            point_change(m, number, j, n, dp, dn)
            turn_axes(n, t1, world.plane, dn, d1, d2)
            for k in range(3):
                m.push[number, k, j] = own[FORCE] * dn[k] + own[FORCE + 1] * d1[k] + own[FORCE + 2] * d2[k]
            moment[0] = dp[1] * fz - dp[2] * fy
            moment[1] = dp[2] * fx - dp[0] * fz
            moment[2] = dp[0] * fy - dp[1] * fx
            sx, sy, sz = m.push[number, 0, j], m.push[number, 1, j], m.push[number, 2, j]
            for other in range(count):
                i = m.dofs[other]
                of_b, of_a = m.columns[0, i], m.columns[1, i]
                value = (of_b[0] - of_a[0]) * moment[0] + (of_b[1] - of_a[1]) * moment[1]
                value += (of_b[2] - of_a[2]) * moment[2] + (of_b[3] - of_a[3]) * sx
                value += (of_b[4] - of_a[4]) * sy + (of_b[5] - of_a[5]) * sz
                m.X[i, j] += h * value
    return kinks


@kernel(inner=True)
def note(
    m: Memory,
    kinks: int,
    why: int,
    contact: int,
    row: int,
    speed: float,
    way: float,
    slope: float,
    towards: float,
    neighbour: int,
) -> int:
    """Note a kink that is near; return how many there are."""
    if way > FAR or kinks >= m.kinks.shape[0]:
        return kinks
    own = m.kinks[kinks]
    own[WHY], own[CONTACT], own[ROW], own[NEIGHBOUR] = why, contact, row, neighbour
    m.how_far[kinks, 0], m.how_far[kinks, 1], m.how_far[kinks, 2] = speed, way, slope
    m.towards[kinks] = towards
    return kinks + 1

"""Kinks: changes of contacts and rows at which the linear piece of a step ends, with their distances.

A piece ends if a force or a rate that is positive on it reaches 0. There are two distances: the quantity as a velocity,
and the quantity over the length of its gradient by (dq, dv), the distance in the state. Redundant forces and their
gradients are the ones with the small compliance that selects them.
"""

from __future__ import annotations

import math

from contactlab.constraint_solver.kernels import LIMIT, LOOP, MIMIC, rigid_contact_law
from contactlab.derivatives.kernels import (
    AT_BOUND_OF_ROW,
    AT_CONE,
    BOUND,
    CLOSED_GAP,
    EPS,
    FORCE,
    FRICTION_RELEASED,
    GAP_AT_ZERO,
    IMPACT,
    KNOWN,
    MOVED,
    NEARLY_OPEN,
    NEARLY_REDUNDANT,
    NEARLY_STICKING,
    NEXT_EDGE,
    NOT_SELECTED,
    PER_GAP,
    PER_SPEED,
    PUSHED,
    RATE,
    ROLL,
    ROLLING,
    ROLLS_OFF,
    SLIDE,
    STAYS,
    TOUCHING_UNLOADED,
    DerivativeWork,
)
from contactlab.derivatives.kernels.contact_frames import axpy, dot
from contactlab.derivatives.kernels.contact_rates import append_kink
from contactlab.derivatives.kernels.linear_piece import (
    directions,
    is_circular,
    joint_row,
    polygon_corners,
    transverse_direction,
)
from contactlab.multibody.spatial.kernels import copy
from contactlab.simulation.stepping.kernels.arrays import Chunk, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import (
    PUSH_RATE,
    STOP_PUSH_RATE,
    compliance_of,
    fastest_of,
    fastest_of_stops,
)
from contactlab.simulation.stepping.kernels.joint_rows import joint_law
from contactlab.simulation.stepping.kernels.layout import (
    CHOICE_ANY,
    CHOICE_OTHER_SOLUTION,
    CHOICE_UNCERTIFIED,
    GAP,
    RESTITUTION,
    VN_MINUS,
    FloatArray,
    Parameters,
    StepControl,
)
from lcp.contacts.kernels.contact_law import OPEN, SLIDE_EDGE, SLIDE_FACE, STICK, enclosing_edge
from lcp.kernels import kernel


@kernel(inner=True)
def add_row_rate(m: DerivativeWork, J: FloatArray, times: float) -> None:
    """Add ``times`` the gradient of J v+ at constant J (nv,) to m.way."""
    for j in range(J.shape[0]):
        if J[j] != 0.0:
            axpy(m.way, times * J[j], m.moved[j])


@kernel(inner=True)
def add_rate(m: DerivativeWork, c: int, axis: int, times: float, eps: float) -> float:
    """Add ``times`` the gradient of a contact's rate along an axis to m.way; return ``times`` the rate.

    Both include the effect of compliance, except for the compliance of its own force.
    """
    frame = m.frame[c, axis]
    # At constant velocity after the step, and by the change of that velocity.
    axpy(m.way[: m.changes.shape[2]], times, m.changes[c, axis])
    add_row_rate(m, frame, times)
    return times * (m.contact[c, RATE + axis] + eps * dot(frame, m.compliance_velocity))


@kernel(inner=True)
def add_force(m: DerivativeWork, u: int, times: float) -> None:
    """Add ``times`` times the gradient of the unknown force of row u to ``m.way`` (columns,)."""
    axpy(m.way, times, m.solved[u])


@kernel(inner=True)
def add_slip(m: DerivativeWork, c: int, cone: int, x: float, y: float) -> float:
    """Add to m.way the gradient of a cone's slip along (x, y) in its axes; return this slip [m/s].

    The slip includes eps times the friction, the compliance of its force.
    """
    own, u, eps, i = m.contact[c], m.first[c, 1 + cone], m.contact[c, EPS], 2 * cone
    value = add_rate(m, c, 1 + i, x, eps)
    if y != 0.0:
        value += add_rate(m, c, 2 + i, y, eps)
    add_force(m, m.first[c, 0], eps * (x * own[SLIDE + i] + y * own[SLIDE + i + 1]))
    if m.first[c, 2 + cone] > u and m.mode[c, cone] != STICK:
        ex, ey = transverse_direction(m, c, cone)
        add_force(m, u, eps * (x * ex + y * ey))
    return value + eps * (x * own[FORCE + 1 + i] + y * own[FORCE + 2 + i])


@kernel(inner=True)
def record_kink(
    m: DerivativeWork, kinks: int, why: int, c: int, cone: int, row: int, value: float, per: float, neighbour: int
) -> int:
    """Append the kink at which ``value``, positive on the piece, becomes 0; return the number of kinks.

    m.way is the gradient of ``value``, and ``per`` converts it to m/s. The distance to the kink is |value| over the
    gradient's length in (q, v).
    """
    # Length of the gradient by (dq, dv), and change along the direction.
    state = m.way[: 2 * m.v.shape[0]]
    slope, along = math.sqrt(dot(state, state)), dot(m.direction, m.way)
    way = abs(value) / slope if slope > 0.0 else math.inf
    return append_kink(m, kinks, why, c, cone, row, abs(value) * per, way, slope, along, neighbour)


@kernel(inline=True)
def response_of(m: DerivativeWork, u: int, h: float) -> float:
    """Return the rate of row ``u`` per unit of its own unknown force: the magnitude of h H[u] Y[u]."""
    return h * abs(dot(m.H[u], m.Y[u]))


@kernel(inline=True)
def jump_of(gap: float, before: float, h: float, restitution: float, erp: float, fastest: float) -> float:
    """Return the jump of k of `rigid_contact_law` if a contact that would close becomes an impact."""
    slow = rigid_contact_law(gap, before, -math.inf, h, restitution, math.inf, erp, fastest)
    return abs(rigid_contact_law(gap, before, -math.inf, h, restitution, 0.0, erp, fastest) - slow)


@kernel(inner=True)
def push_kinks(
    m: DerivativeWork, c: int, e: float, gap: float, before: float, erp: float, h: float, cap: float, kinks: int
) -> int:
    """Record kinks of a rigid contact whose depth is corrected at most at the speed ``cap``; return the number."""
    nv, push = m.v.shape[0], erp * gap / h
    # The correction speed reaches its bound.
    m.way[:] = 0.0
    axpy(m.way[:nv], erp / h, m.gaps[c])
    kinks = record_kink(m, kinks, PUSHED, c, 0, -1, push + cap, 1.0, -1)
    # Restitution becomes as fast as the correction.
    if e > 0.0 and before < 0.0:
        for j in range(nv):
            m.way[j] = e * m.before[c, j] - (m.way[j] if push > -cap else 0.0)
            m.way[nv + j] = e * m.frame[c, 0, j]
        kinks = record_kink(m, kinks, PUSHED, c, 0, -1, e * before - max(push, -cap), 1.0, -1)
    return kinks


@kernel(inner=True)
def normal_kinks(
    world: PackedWorld, work: StepWork, m: DerivativeWork, c: int, p: Parameters, h: float, kinks: int
) -> int:
    """Append the kinks of the normal row of contact c to ``kinks`` kinks; return the new number."""
    nv = m.v.shape[0]
    own, floats = m.contact[c], work.contact_float[c]
    stiffness, dissipation = compliance_of(world, work.contact_int[c])
    response = h * stiffness + dissipation
    gap, before, e = floats[GAP], floats[VN_MINUS], floats[RESTITUTION]
    fastest = fastest_of(world, work.contact_int[c], p, PUSH_RATE)
    rigid = not 0.0 < response < math.inf
    # Open: the rate reaches 0. Closed: the force does.
    m.way[:] = 0.0
    if m.mode[c, 0] == OPEN:
        value = add_rate(m, c, 0, 1.0, own[EPS]) + own[KNOWN]
        axpy(m.way[:nv], own[PER_GAP], m.gaps[c])
        axpy(m.way[:nv], own[PER_SPEED], m.before[c])
        axpy(m.way[nv : 2 * nv], own[PER_SPEED], m.frame[c, 0])
        kinks = record_kink(m, kinks, TOUCHING_UNLOADED, c, 0, -1, value, 1.0, STICK)
    else:
        u = m.first[c, 0]
        add_force(m, u, 1.0)
        kinks = record_kink(m, kinks, NEARLY_OPEN, c, 0, -1, own[FORCE], response_of(m, u, h), OPEN)
        # The slope of the law changes at a gap of 0.
        bends = p.erp < 1.0 if rigid else dissipation > 0.0
        if bends and not (rigid and own[PER_GAP] == 0.0 and gap > -CLOSED_GAP):
            m.way[:] = 0.0
            copy(m.gaps[c], m.way[:nv])
            kinks = record_kink(m, kinks, GAP_AT_ZERO, c, 0, -1, gap, 1.0 / h, -1)
        # The correction of the depth.
        if rigid and gap < 0.0 and p.erp > 0.0 and fastest < math.inf:
            kinks = push_kinks(m, c, e, gap, before, p.erp, h, fastest, kinks)
        # An impact without restitution, differentiated by it.
        stays = rigid and gap > 0.0 and e == 0.0 and before < -p.restitution_threshold and fastest < math.inf
        if stays and dot(m.by_law[c, 0], m.by_law[c, 0]) > 0.0:
            kinks = append_kink(m, kinks, STAYS, c, 0, -1, 0.0, 0.0, 0.0, 0.0, -1)
    if rigid and gap < h * p.restitution_threshold + abs(h * before):
        # The rate k jumps at the speed above which a contact is an impact.
        m.way[:] = 0.0
        copy(m.before[c], m.way[:nv])
        copy(m.frame[c, 0], m.way[nv : 2 * nv])
        if jump_of(gap, before, h, e, p.erp, fastest) > 0.0:
            kinks = record_kink(m, kinks, IMPACT, c, 0, -1, before + p.restitution_threshold, 1.0, -1)
    return kinks


@kernel(inner=True)
def friction_kinks(m: DerivativeWork, c: int, cone: int, h: float, kinks: int) -> int:
    """Append the kinks of one friction cone of a loaded contact c to ``kinks`` kinks; return the new number."""
    own, mode, u, mu = m.contact[c], m.mode[c, cone], m.first[c, 0], m.contact[c, BOUND + cone]
    at, r, turns = m.first[c, 1 + cone], directions(m, cone), polygon_corners(m, cone)
    i = 2 * cone
    x, y, fN = own[FORCE + 1 + i], own[FORCE + 2 + i], own[FORCE]
    exact = is_circular(m, cone)
    if mu == 0.0:
        return kinks
    m.way[:] = 0.0
    # Sticking: the force reaches the cone.
    if mode == STICK:
        if not fN > 0.0:
            # The contact is loaded only along the direction, like its friction.
            x, y = dot(m.direction, m.solved[at]), dot(m.direction, m.solved[at + 1]) if r > 1 else 0.0
        ax, ay, size = 0.0, 0.0, math.sqrt(x * x + y * y)
        if exact:
            if size > 0.0:
                ax, ay = x / size, y / size
        else:
            j, _, _ = enclosing_edge(r, turns, x, y)
            ax, ay = turns[j, 0], 0.0
            if r > 1:
                ax = (turns[j + 1, 1] - turns[j, 1]) / turns[1, 1]
                ay = (turns[j, 0] - turns[j + 1, 0]) / turns[1, 1]
        add_force(m, u, mu)
        add_force(m, at, -ax)
        if r > 1:
            add_force(m, at + 1, -ay)
        value = mu * fN - ax * x - ay * y if fN > 0.0 else 0.0
        return record_kink(m, kinks, AT_CONE, c, cone, -1, value, response_of(m, u if cone == 0 else at, h), SLIDE_EDGE)
    # Rolling before the step stops, and its axes jump.
    if cone == 2:
        nv = m.v.shape[0]
        copy(m.frame[c, ROLL], m.way[nv : 2 * nv])
        kinks = record_kink(m, kinks, ROLLS_OFF, c, cone, -1, own[ROLLING], 1.0, -1)
        m.way[:] = 0.0
    # Sliding on the exact cone: the slip reaches 0.
    if exact:
        value = add_slip(m, c, cone, -own[SLIDE] / mu, -own[SLIDE + 1] / mu)
        return record_kink(m, kinks, NEARLY_STICKING, c, cone, -1, value, 1.0, STICK)
    # Sliding along a corner: the slip turns to a neighbouring side, or reaches 0.
    j = (mode - SLIDE_EDGE) // 2
    if (mode - SLIDE_EDGE) % 2 == 0:
        for side in range(2 if r > 1 else 1):
            other = (j + 1) % (2 * r) if side == 0 else (j + 2 * r - 1) % (2 * r)
            ex, ey = turns[other, 0] - turns[j, 0], turns[other, 1] - turns[j, 1]
            size = math.sqrt(ex * ex + ey * ey)
            m.way[:] = 0.0
            value = add_slip(m, c, cone, ex / size, ey / size)
            neighbour = STICK if r == 1 else SLIDE_FACE + 2 * (j if side == 0 else other)
            kinks = record_kink(m, kinks, NEXT_EDGE if r > 1 else NEARLY_STICKING, c, cone, -1, value, 1.0, neighbour)
        return kinks
    # Sliding between two corners: the slip reaches 0, or the force reaches a corner.
    ex, ey = transverse_direction(m, c, cone)
    value = add_slip(m, c, cone, -ey, ex)
    kinks = record_kink(m, kinks, NEARLY_STICKING, c, cone, -1, value, 1.0, STICK)
    reach = 0.5 * math.sqrt((turns[j + 1, 0] - turns[j, 0]) ** 2 + (turns[j + 1, 1] - turns[j, 1]) ** 2)
    for side in range(2):
        # Distance along the side to either corner.
        sign = 1.0 if side == 0 else -1.0
        m.way[:] = 0.0
        add_force(m, u, mu * reach)
        add_force(m, at, -sign)
        corner = (j + 1) % (2 * r) if side == 0 else j
        value = mu * reach * fN - sign * m.f[at]
        per = response_of(m, u if cone == 0 else at, h)
        kinks = record_kink(m, kinks, NEXT_EDGE, c, cone, -1, value, per, SLIDE_EDGE + 2 * corner)
    return kinks


@kernel(inner=True)
def joint_row_kinks(
    work: StepWork,
    joints: JointRows,
    m: DerivativeWork,
    record: int,
    u: int,
    chunk: Chunk,
    p: Parameters,
    h: float,
    kinks: int,
) -> int:
    """Append the kinks of joint row ``record`` of the chunk to ``kinks`` kinks; return the new number.

    u is the number of its unknown force, -1 if it has none or is at a bound. Equations have no kinks.
    """
    nv = m.v.shape[0]
    entry = chunk.joint[record]
    row = joints.rows[entry.row]
    kind, d = row.kind, row.drive
    if kind in (MIMIC, LOOP):
        return kinks
    per = response_of(m, u, h) if u >= 0 else 1.0
    # Limits: force or rate reaches 0, the gap passes 0, an impact begins.
    m.way[:] = 0.0
    k, gamma, _, _ = joint_law(work, joints, entry.row, p)
    if kind == LIMIT:
        if entry.projection_multiplier > 0.0:
            kinks = append_kink(m, kinks, MOVED, -1, 0, record, 0.0, 0.0, 0.0, 0.0, -1)
        erp = row.erp if row.erp >= 0.0 else p.erp
        response = h * row.stiffness + row.dissipation
        rigid = not 0.0 < response < math.inf
        if u >= 0:
            add_force(m, u, 1.0)
            kinks = record_kink(m, kinks, NEARLY_OPEN, -1, 0, record, entry.force, per, 0)
            if m.row_slope[record, 0] != 0.0 and (erp < 1.0 if rigid else row.dissipation > 0.0):
                m.way[:] = 0.0
                m.way[row.dof] = row.sign
                kinks = record_kink(m, kinks, GAP_AT_ZERO, -1, 0, record, entry.error, 1.0 / h, -1)
        else:
            axpy(m.way, row.sign, m.moved[row.dof])
            m.way[row.dof] += row.sign * m.row_slope[record, 0]
            m.way[nv + row.dof] += row.sign * m.row_slope[record, 1]
            kinks = record_kink(m, kinks, TOUCHING_UNLOADED, -1, 0, record, entry.rate + k, 1.0, 1)
        before = row.sign * m.v[row.dof]
        restitution_threshold = p.angle_restitution_threshold if row.angular != 0 else p.restitution_threshold
        jump = jump_of(entry.error, before, h, row.factor, erp, fastest_of_stops(p, STOP_PUSH_RATE))
        if rigid and jump > 0.0 and entry.error < h * restitution_threshold + abs(h * before):
            m.way[:] = 0.0
            m.way[nv + row.dof] = row.sign
            kinks = record_kink(m, kinks, IMPACT, -1, 0, record, before + restitution_threshold, 1.0, -1)
        return kinks
    # Rows with bounds: the force reaches its bound, or leaves it.
    to_high, to_low = row.bound - entry.force, entry.force - row.low
    distance = min(to_high, to_low)
    if not distance < math.inf:
        return kinks
    sign = 1.0 if to_high <= to_low else -1.0
    if u >= 0:
        add_force(m, u, -sign)
        return record_kink(m, kinks, AT_BOUND_OF_ROW, -1, 0, record, distance, per, 0)
    # At its upper bound a row has s + k + gamma f <= 0.
    J = m.points[0, 0, 0]
    joint_row(J, joints, entry.row)
    add_row_rate(m, J, -sign)
    if gamma > 0.0:
        axpy(m.way[:nv], -sign * gamma * row.stiffness, J)
        m.way[3 * nv + d] += sign * gamma * row.stiffness
    elif d >= 0:
        m.way[3 * nv + d] += sign
    return record_kink(m, kinks, AT_BOUND_OF_ROW, -1, 0, record, -sign * (entry.rate + k + gamma * entry.force), 1.0, 1)


@kernel(inner=True)
def joint_kinks(
    work: StepWork,
    joints: JointRows,
    m: DerivativeWork,
    chunk: Chunk,
    control: StepControl,
    p: Parameters,
    h: float,
    u: int,
    kinks: int,
) -> int:
    """Append the kinks of all joint rows to ``kinks`` kinks, with u unknown forces in all; return the new number."""
    at = 0
    for record in range(control.chunk_joints):
        while at < u and m.owner[at, 1] < record:
            at += 1
        mine = at if at < u and m.owner[at, 1] == record else -1
        kinks = joint_row_kinks(work, joints, m, record, mine, chunk, p, h, kinks)
    return kinks


@kernel
def contact_kinks(
    world: PackedWorld,
    work: StepWork,
    m: DerivativeWork,
    chunk: Chunk,
    control: StepControl,
    p: Parameters,
    h: float,
    kinks: int,
) -> int:
    """Append the kinks of all contacts of a step to the list of ``kinks`` kinks; return its new length.

    They are kinks of the normal rows and of the friction cones of loaded contacts. A contact also has a kink if the
    projection moved it. Kinks of an island, from the choice of its forces, are listed with its first contact.
    """
    for i in range(control.n_islands):
        if work.contact_start[i] == work.contact_start[i + 1]:
            continue
        first = work.island_contacts[work.contact_start[i]]
        choice = chunk.island[i].choice
        # A named solver returns any solution for redundant contacts.
        several = False
        for place in range(work.contact_start[i], work.contact_start[i + 1]):
            several = several or (choice == CHOICE_ANY and m.contact[work.island_contacts[place], EPS] > 0.0)
        if several or choice in (CHOICE_OTHER_SOLUTION, CHOICE_UNCERTIFIED):
            kinks = append_kink(m, kinks, NOT_SELECTED, first, 0, -1, 0.0, 0.0, 0.0, 0.0, -1)
        if m.nearly[i] != 0:
            kinks = append_kink(m, kinks, NEARLY_REDUNDANT, first, 0, -1, 0.0, 0.0, 0.0, 0.0, -1)
        if m.friction_released[i] != 0:
            kinks = append_kink(m, kinks, FRICTION_RELEASED, first, 0, -1, 0.0, 0.0, 0.0, 0.0, -1)
    for c in range(control.n_contacts):
        kinks = normal_kinks(world, work, m, c, p, h, kinks)
        if chunk.contact[c].projection_multiplier > 0.0:
            kinks = append_kink(m, kinks, MOVED, c, 0, -1, 0.0, 0.0, 0.0, 0.0, -1)
        if m.mode[c, 0] != OPEN:
            for cone in range(m.mode.shape[1]):
                kinks = friction_kinks(m, c, cone, h, kinks)
    return kinks

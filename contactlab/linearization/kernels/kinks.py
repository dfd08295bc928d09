"""Where the piece on which a step stands ends: what is how far from becoming something else, by contact and row.

A piece ends where a force or a rate that it has positive comes to 0. How far that is: the quantity, as a velocity, and
over the length of its gradient by (dq, dv), the way to the kink. Of redundant forces both are those of the small
compliance that selects them.
"""

from __future__ import annotations

import math

from contactlab.linearization.kernels.contact_rates import note
from contactlab.linearization.kernels.layout import (
    AT_BOUND_OF_ROW,
    AT_CONE,
    EPS,
    FORCE,
    GAP_AT_ZERO,
    HARDLY_LOADED,
    HARDLY_SLIDING,
    HELD,
    IMPACT,
    KNOWN,
    NEXT_EDGE,
    NOT_SELECTED,
    PER_GAP,
    PER_SPEED,
    RATE,
    SLIDE,
    UNLOADED,
    Memory,
)
from contactlab.linearization.kernels.pieces import across, joint_row
from contactlab.formulation.kernels.laws import FOLLOW, LOOP, STOP, holder, unilateral
from contactlab.stepping.kernels.blocks import compliance_of
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import (
    CHOICE_NOT_SELECTED,
    CHOICE_UNCERTIFIED,
    GAP,
    MU,
    VN_MINUS,
    Chunk,
    Control,
    FloatArray,
    PackedWorld,
    Parameters,
    Work,
)
from lcp.contacts.kernels.contact_modes import ALONG, OPEN, STICK, enclosing_edge
from lcp.kernels import kernel


@kernel(inner=True)
def length(way: FloatArray) -> float:
    """|way|."""
    total = 0.0
    for k in range(way.shape[0]):
        total += way[k] * way[k]
    return math.sqrt(total)


@kernel(inner=True)
def clear(way: FloatArray) -> None:
    """way := 0."""
    for k in range(way.shape[0]):
        way[k] = 0.0


@kernel(inner=True)
def add_rate(m: Memory, c: int, axis: int, times: float, eps: float) -> float:
    """Add to m.way times the gradient of a contact's rate along an axis; return times the rate.

    Both have what compliance makes of them, but for that of its own force.
    """
    nv = m.v.shape[0]
    frame = m.frame[c, axis]
    late = 0.0
    for j in range(nv):
        m.way[j] += times * m.changes[c, axis, j]
        late += frame[j] * m.lag[j]
        factor = times * frame[j]
        if factor != 0.0:
            moved = m.moved[0, j]
            for k in range(2 * nv):
                m.way[k] += factor * moved[k]
    return times * (m.contact[c, RATE + axis] + eps * late)


@kernel(inner=True)
def add_force(m: Memory, u: int, times: float) -> None:
    """Add to m.way times the gradient of an unknown force."""
    for k in range(m.way.shape[0]):
        m.way[k] += times * m.solved[0, u, k]


@kernel(inner=True)
def add_slip(m: Memory, control: Control, c: int, x: float, y: float, mu: float) -> float:
    """Add to m.way the gradient of the slip along (x, y), compliance of its force included; return that slip."""
    own, u, eps = m.contact[c], m.mode[c, 1], m.contact[c, EPS]
    value = add_rate(m, c, 1, x, eps)
    if y != 0.0:
        value += add_rate(m, c, 2, y, eps)
    add_force(m, u, eps * (x * own[SLIDE] + y * own[SLIDE + 1]))
    if m.mode[c, 2] > 1 and m.mode[c, 0] != STICK:
        ex, ey = across(m, control, c, mu)
        add_force(m, u + 1, eps * (x * ex + y * ey))
    return value + eps * (x * own[FORCE + 1] + y * own[FORCE + 2])


@kernel(inner=True)
def noted(m: Memory, kinks: int, why: int, c: int, row: int, value: float, per: float) -> int:
    """Note a quantity, ``per`` m/s of velocity each, that m.way is the gradient of."""
    slope = length(m.way)
    way = abs(value) / slope if slope > 0.0 else math.inf
    return note(m, kinks, why, c, row, abs(value) * per, way)


@kernel(inner=True)
def of_normal(world: PackedWorld, work: Work, m: Memory, c: int, p: Parameters, h: float, kinks: int) -> int:
    """Of the normal row of one contact."""
    nv = m.v.shape[0]
    own, floats = m.contact[c], work.contact_float[c]
    stiffness, dissipation = compliance_of(world, work.contact_int[c])
    response = h * stiffness + dissipation
    gap, before = floats[GAP], floats[VN_MINUS]
    rigid = not 0.0 < response < math.inf
    clear(m.way)
    if m.mode[c, 0] == OPEN:
        value = add_rate(m, c, 0, 1.0, own[EPS]) + own[KNOWN]
        for j in range(nv):
            m.way[j] += own[PER_GAP] * m.frame[c, 0, j] + own[PER_SPEED] * m.before[c, j]
            m.way[nv + j] += own[PER_SPEED] * m.frame[c, 0, j]
        kinks = noted(m, kinks, UNLOADED, c, -1, value, 1.0)
    else:
        u = m.mode[c, 1]
        per = 0.0
        for j in range(nv):
            per += h * m.H[u, j] * m.Y[u, j]
        add_force(m, u, 1.0)
        kinks = noted(m, kinks, HARDLY_LOADED, c, -1, own[FORCE], abs(per))
        bends = p.erp < 1.0 if rigid else dissipation > 0.0
        if bends and not (rigid and own[PER_GAP] == 0.0 and gap > -HELD):
            clear(m.way)
            for j in range(nv):
                m.way[j] = m.frame[c, 0, j]
            kinks = noted(m, kinks, GAP_AT_ZERO, c, -1, gap, 1.0 / h)
    if rigid and gap < h * p.v_min + abs(h * before):
        # At the speed from which an impact counts as one, the rate wanted jumps.
        clear(m.way)
        for j in range(nv):
            m.way[j] = m.before[c, j]
            m.way[nv + j] = m.frame[c, 0, j]
        jump = abs(own[KNOWN]) + abs(gap) / h
        if jump > 0.0:
            kinks = noted(m, kinks, IMPACT, c, -1, before + p.v_min, 1.0)
    return kinks


@kernel(inner=True)
def of_friction(work: Work, m: Memory, control: Control, c: int, h: float, kinks: int) -> int:
    """Of the friction of one contact that is loaded."""
    own, mode, u, mu = m.contact[c], m.mode[c, 0], m.mode[c, 1], work.contact_float[c, MU]
    r = control.edges // 2
    x, y, fN = own[FORCE + 1], own[FORCE + 2], own[FORCE]
    exact = control.cone != 0 and r > 1
    if mu == 0.0:
        return kinks
    per = 0.0
    for j in range(m.v.shape[0]):
        per += h * m.H[u, j] * m.Y[u, j]
    clear(m.way)
    if mode == STICK:
        ax, ay, size = 0.0, 0.0, math.sqrt(x * x + y * y)
        if exact:
            if size > 0.0:
                ax, ay = x / size, y / size
        else:
            j, _, _ = enclosing_edge(r, m.turns, x, y)
            ax, ay = m.turns[j, 0], 0.0
            if r > 1:
                ax = (m.turns[j + 1, 1] - m.turns[j, 1]) / m.turns[1, 1]
                ay = (m.turns[j, 0] - m.turns[j + 1, 0]) / m.turns[1, 1]
        add_force(m, u, mu)
        add_force(m, u + 1, -ax)
        if r > 1:
            add_force(m, u + 2, -ay)
        return noted(m, kinks, AT_CONE, c, -1, mu * fN - ax * x - ay * y, abs(per))
    if exact:
        value = add_slip(m, control, c, -own[SLIDE] / mu, -own[SLIDE + 1] / mu, mu)
        return noted(m, kinks, HARDLY_SLIDING, c, -1, value, 1.0)
    j = (mode - ALONG) // 2
    if (mode - ALONG) % 2 == 0:
        for side in range(2 if r > 1 else 1):
            other = (j + 1) % (2 * r) if side == 0 else (j + 2 * r - 1) % (2 * r)
            ex, ey = m.turns[other, 0] - m.turns[j, 0], m.turns[other, 1] - m.turns[j, 1]
            size = math.sqrt(ex * ex + ey * ey)
            clear(m.way)
            value = add_slip(m, control, c, ex / size, ey / size, mu)
            kinks = noted(m, kinks, NEXT_EDGE if r > 1 else HARDLY_SLIDING, c, -1, value, 1.0)
        return kinks
    ex, ey = across(m, control, c, mu)
    value = add_slip(m, control, c, -ey, ex, mu)
    kinks = noted(m, kinks, HARDLY_SLIDING, c, -1, value, 1.0)
    reach = 0.5 * math.sqrt((m.turns[j + 1, 0] - m.turns[j, 0]) ** 2 + (m.turns[j + 1, 1] - m.turns[j, 1]) ** 2)
    for side in range(2):
        # Way along the side to either corner.
        sign = 1.0 if side == 0 else -1.0
        clear(m.way)
        add_force(m, u, mu * reach)
        add_force(m, u + 1, -sign)
        kinks = noted(m, kinks, NEXT_EDGE, c, -1, mu * reach * fN - sign * m.f[u + 1], abs(per))
    return kinks


@kernel(inner=True)
def of_joint_row(
    world: PackedWorld,
    work: Work,
    joints: Joints,
    m: Memory,
    record: int,
    u: int,
    free: float,
    chunk: Chunk,
    p: Parameters,
    h: float,
    kinks: int,
) -> int:
    """Of one row of joints; u is its unknown force, -1 where it is at a bound."""
    nv = m.v.shape[0]
    entry = chunk.joint[record]
    row = joints.rows[entry.row]
    kind = row.kind
    if kind in (FOLLOW, LOOP):
        return kinks
    per = 1.0
    if u >= 0:
        per = 0.0
        for j in range(nv):
            per += h * m.H[u, j] * m.Y[u, j]
    clear(m.way)
    erp = row.erp if row.erp >= 0.0 else p.erp
    if kind == STOP:
        before = row.sign * m.v[row.dof]
        k, _ = unilateral(entry.error, before, free, h, row.factor, p.v_min, erp, p.cfm, row.stiffness, row.dissipation)
        response = h * row.stiffness + row.dissipation
        rigid = not 0.0 < response < math.inf
        if u >= 0:
            add_force(m, u, 1.0)
            kinks = noted(m, kinks, HARDLY_LOADED, -1, entry.row, entry.force, per)
            bends = erp < 1.0 if rigid else row.dissipation > 0.0
            if bends and not (entry.error + h * free <= 0.0 and before < -p.v_min):
                kinks = note(m, kinks, GAP_AT_ZERO, -1, entry.row, abs(entry.error) / h, abs(entry.error))
        else:
            for i in range(2 * nv):
                m.way[i] = row.sign * m.moved[0, row.dof, i]
            m.way[row.dof] += row.sign * ((1.0 if entry.error > 0.0 else erp) / h)
            kinks = noted(m, kinks, UNLOADED, -1, entry.row, entry.rate + k, 1.0)
        if rigid and entry.error < h * p.v_min + abs(h * before):
            kinks = note(m, kinks, IMPACT, -1, entry.row, abs(before + p.v_min), abs(before + p.v_min))
        return kinks
    if u >= 0:
        if row.bound < math.inf:
            add_force(m, u, 1.0)
            kinks = noted(m, kinks, AT_BOUND_OF_ROW, -1, entry.row, row.bound - abs(entry.force), per)
        return kinks
    d = row.drive
    stiffness, damping, wanted, target = row.stiffness, row.dissipation, 0.0, 0.0
    if d >= 0:
        stiffness, damping = joints.drives[d].stiffness, joints.drives[d].damping
        wanted, target = joints.drives[d].target_velocity, joints.target[d]
    k, gamma, _, _ = holder(kind, entry.error, target, row.bound, h, stiffness, damping, wanted)
    J = m.points[0, 0, 0]
    joint_row(J, joints, entry.row)
    for j in range(nv):
        if J[j] != 0.0:
            for i in range(2 * nv):
                m.way[i] += J[j] * m.moved[0, j, i]
            m.way[j] += gamma * stiffness * J[j]
    return noted(m, kinks, AT_BOUND_OF_ROW, -1, entry.row, entry.rate + k + gamma * entry.force, 1.0)


@kernel
def contact_kinks(
    world: PackedWorld, work: Work, m: Memory, chunk: Chunk, control: Control, p: Parameters, h: float, kinks: int
) -> int:
    """Note what is near of all contacts; how many kinks there are then."""
    for i in range(control.n_islands):
        choice = chunk.island[i].choice
        if choice in (CHOICE_NOT_SELECTED, CHOICE_UNCERTIFIED):
            kinks = note(m, kinks, NOT_SELECTED, work.island_contacts[work.contact_start[i]], -1, 0.0, 0.0)
    for c in range(control.n_contacts):
        kinks = of_normal(world, work, m, c, p, h, kinks)
        if m.mode[c, 0] != OPEN:
            kinks = of_friction(work, m, control, c, h, kinks)
    return kinks

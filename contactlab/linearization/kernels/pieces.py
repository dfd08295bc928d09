"""The linear piece on which a step stands: which forces are unknown, what their rows say, and how far off the next is.

Each unknown force acts along a row of G; its rate is that of a row of H, of which

    H dv+ + D df = right,      M^ dv+ = dr + h G^T df.

A contact that sticks has its three forces; one that slides along a corner of the polygon its normal force, which has
mu times the corner with it; between two corners a force along that side besides. On the exact cone the second force is
that across the slip: it turns with it, by the share mu fN / |slip|, which is a compliance. Modes are those of the
forces, friction at its bound slides, whatever its slip.
"""

from __future__ import annotations

import math

from contactlab.contact.kernels.restitution import pair_restitution
from contactlab.formulation.kernels.laws import FOLLOW, HOLD, LOOP, SERVO, SPEED, SPRING, STOP, unilateral
from contactlab.linearization.kernels.layout import (
    AT_BOUND,
    FORCE,
    GAMMA,
    HELD,
    KNOWN,
    NO_FORCE,
    PER_GAP,
    PER_SPEED,
    RATE,
    SLIDE,
    SLIPS,
    Memory,
)
from contactlab.stepping.kernels.blocks import compliance_of, materials_of
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.joint_rows import joint_law
from contactlab.stepping.kernels.layout import (
    GAP,
    MU,
    RESTITUTION,
    VN_MINUS,
    Chunk,
    Control,
    FloatArray,
    PackedWorld,
    Parameters,
    Work,
)
from lcp.contacts.kernels.contact_modes import ALONG, BETWEEN, OPEN, STICK, enclosing_edge
from lcp.kernels import kernel


@kernel(inline=True)
def slope(
    gap: float, before: float, free: float, h: float, restitution: float, steeper: float, p: Parameters, response: float
) -> tuple[float, float]:
    """How k of `unilateral` changes with gap and speed of approach.

    ``steeper`` is what the coefficient gains with ``before``, ``response`` h stiffness + dissipation. A gap that is
    closed, but for rounding, counts as held: what opens or closes it is made up for within the step.
    """
    if 0.0 < response < math.inf:
        return 0.0, 0.0
    if gap + h * free <= 0.0 and before < -p.v_min:
        return 0.0, restitution + steeper * before
    if gap > -HELD:
        return 1.0 / h, 0.0
    return p.erp / h, 0.0


@kernel(inner=True)
def state_laws(world: PackedWorld, work: Work, m: Memory, control: Control, p: Parameters, h: float) -> None:
    """Fill k, gamma and their slopes of the contacts' normal rows."""
    nv = m.v.shape[0]
    for c in range(control.n_contacts):
        own, floats, ints = m.contact[c], work.contact_float[c], work.contact_int[c]
        free = 0.0
        after = 0.0
        for j in range(nv):
            free += m.frame[c, 0, j] * work.v_free[j]
            after += m.frame[c, 0, j] * m.v_plus[j]
        # What a kinematic body adds is in the rate, not in the row.
        free += own[RATE] - after
        stiffness, dissipation = compliance_of(world, ints)
        gap, before, e = floats[GAP], floats[VN_MINUS], floats[RESTITUTION]
        k, gamma = unilateral(gap, before, free, h, e, p.v_min, p.erp, p.cfm, stiffness, dissipation)
        steeper = 0.0
        a, b = materials_of(world, ints)
        if a >= 0 and e > 0.0:
            way = 1e-6 * abs(before)
            steeper = pair_restitution(world.restitution, a, b, -before - way)
            steeper = (steeper - pair_restitution(world.restitution, a, b, -before + way)) / (2.0 * way)
        response = h * stiffness + dissipation
        per_gap, per_speed = slope(gap, before, free, h, e, steeper, p, response)
        if 0.0 < response < math.inf:
            per_gap = (1.0 if gap > 0.0 else h * stiffness / response) / h
        own[KNOWN], own[GAMMA], own[PER_GAP], own[PER_SPEED] = k, gamma, per_gap, per_speed


@kernel(inner=True)
def largest_force(m: Memory, contacts: int) -> float:
    """The largest normal force of all."""
    largest = 0.0
    for c in range(contacts):
        largest = max(largest, m.contact[c, FORCE])
    return largest


@kernel(inner=True)
def next_corner(m: Memory, r: int, x: float, y: float) -> int:
    """Number of the corner of the polygon whose direction is nearest to (x, y)."""
    best, most = 0, -math.inf
    for j in range(2 * r):
        along = m.turns[j, 0] * x + m.turns[j, 1] * y
        if along > most:
            best, most = j, along
    return best


@kernel(inner=True)
def along_friction(m: Memory, control: Control, c: int, mu: float) -> tuple[float, float]:
    """Direction of friction of a contact that slides, per mu; without any, where its first would be; 0 without slip."""
    own, r = m.contact[c], control.edges // 2
    if mu > 0.0:
        return own[SLIDE] / mu, own[SLIDE + 1] / mu
    x, y = -own[RATE + 1], -own[RATE + 2]
    size = math.sqrt(x * x + y * y)
    if size < SLIPS:
        return 0.0, 0.0
    if control.cone != 0 and r > 1:
        return x / size, y / size
    j = next_corner(m, r, x, y)
    return m.turns[j, 0], m.turns[j, 1]


@kernel(inner=True)
def set_slide(m: Memory, c: int, mu: float) -> None:
    """Fill mu times the corner along which a contact slides, or the middle of the side."""
    j, own = (m.mode[c, 0] - ALONG) // 2, m.contact[c]
    own[SLIDE], own[SLIDE + 1] = mu * m.turns[j, 0], mu * m.turns[j, 1]
    if (m.mode[c, 0] - ALONG) % 2 == 1:
        own[SLIDE] = 0.5 * mu * (m.turns[j, 0] + m.turns[j + 1, 0])
        own[SLIDE + 1] = 0.5 * mu * (m.turns[j, 1] + m.turns[j + 1, 1])


@kernel(inner=True)
def find_modes(work: Work, m: Memory, control: Control) -> None:
    """Fill the modes of the contacts, and the direction of friction, times mu, of those that slide."""
    r = control.edges // 2
    least = NO_FORCE * largest_force(m, control.n_contacts)
    exact = control.cone != 0 and r > 1
    for c in range(control.n_contacts):
        own, mu = m.contact[c], work.contact_float[c, MU]
        fN, x, y = own[FORCE], own[FORCE + 1], own[FORCE + 2]
        bound = mu * fN
        own[SLIDE], own[SLIDE + 1] = 0.0, 0.0
        mode = OPEN
        if fN > least:
            mode = STICK
            if bound == 0.0:
                mode = ALONG
            elif exact:
                size = math.sqrt(x * x + y * y)
                if size > bound * (1.0 - AT_BOUND):
                    mode = BETWEEN
                    own[SLIDE], own[SLIDE + 1] = mu * x / size, mu * y / size
            else:
                j, first, second = enclosing_edge(r, m.turns, x, y)
                if first + second > bound * (1.0 - AT_BOUND):
                    mode = BETWEEN + 2 * j
                    if second <= AT_BOUND * bound:
                        mode = ALONG + 2 * j
                    elif first <= AT_BOUND * bound:
                        mode = ALONG + 2 * ((j + 1) % (2 * r))
        m.mode[c, 0] = mode
        if mode not in (OPEN, STICK) and not exact and mu > 0.0:
            set_slide(m, c, mu)


@kernel(inline=True)
def across(m: Memory, control: Control, c: int, mu: float) -> tuple[float, float]:
    """Direction of the second force of a contact that slides between two corners, or on the exact cone."""
    own = m.contact[c]
    if control.cone != 0 and control.edges > 2:
        return -own[SLIDE + 1] / mu, own[SLIDE] / mu
    j = (m.mode[c, 0] - ALONG) // 2
    ex, ey = m.turns[j + 1, 0] - m.turns[j, 0], m.turns[j + 1, 1] - m.turns[j, 1]
    size = math.sqrt(ex * ex + ey * ey)
    return ex / size, ey / size


@kernel(inner=True)
def contact_unknowns(work: Work, m: Memory, control: Control, c: int, u: int) -> int:
    """Fill the rows of the forces of one contact from row u on; the next free one."""
    mode = m.mode[c, 0]
    m.mode[c, 1] = u
    m.mode[c, 2] = 0
    if mode == OPEN:
        return u
    nv = m.v.shape[0]
    own, frame, changes = m.contact[c], m.frame[c], m.changes[c]
    mu = work.contact_float[c, MU]
    gx, gy = own[SLIDE], own[SLIDE + 1]
    for j in range(nv):
        m.H[u, j] = frame[0, j]
        m.G[u, j] = frame[0, j] + gx * frame[1, j] + gy * frame[2, j]
        m.right[u, j] = -(changes[0, j] + own[PER_GAP] * m.gaps[c, j] + own[PER_SPEED] * m.before[c, j])
        m.right[u, nv + j] = -own[PER_SPEED] * frame[0, j]
    m.D[u] = own[GAMMA]
    m.f[u] = own[FORCE]
    u += 1
    if mode == STICK:
        for axis in range(1, 3 if control.edges > 2 else 2):
            u = tangential_unknown(m, c, 2.0 - axis, axis - 1.0, 0.0, own[FORCE + axis], u)
    elif mode != ALONG and (mode - ALONG) % 2 == 1:
        ex, ey = across(m, control, c, mu)
        give = 0.0
        if control.cone != 0:
            # A slip that is 0, or backwards, is one of redundant contacts, at the scale of the compliance.
            slip = -(own[RATE + 1] * gx + own[RATE + 2] * gy) / mu
            give = max(slip, 0.0) / (mu * own[FORCE])
        u = tangential_unknown(m, c, ex, ey, give, own[FORCE + 1] * ex + own[FORCE + 2] * ey, u)
    for row in range(m.mode[c, 1], u):
        m.owner[row, 0], m.owner[row, 1] = c, -1
    m.mode[c, 2] = u - m.mode[c, 1]
    return u


@kernel(inner=True)
def tangential_unknown(m: Memory, c: int, x: float, y: float, give: float, force: float, u: int) -> int:
    """Fill the row of a force of contact c along (x, y) of its tangents."""
    nv = m.v.shape[0]
    frame, changes = m.frame[c], m.changes[c]
    for j in range(nv):
        m.H[u, j] = x * frame[1, j] + y * frame[2, j]
        m.G[u, j] = m.H[u, j]
        m.right[u, j] = -(x * changes[1, j] + y * changes[2, j])
        m.right[u, nv + j] = 0.0
    m.D[u] = give
    m.f[u] = force
    return u + 1


@kernel(inner=True)
def clear_right(m: Memory, u: int) -> None:
    """Zero the columns of row u behind those by v."""
    for k in range(2 * m.v.shape[0], m.right.shape[1]):
        m.right[u, k] = 0.0


@kernel(inner=True)
def find_row_modes(
    work: Work, m: Memory, joints: Joints, chunk: Chunk, control: Control, p: Parameters, h: float
) -> None:
    """Fill which rows of joints have forces that are unknown, and the slopes of stops."""
    for record in range(control.chunk_joints):
        entry = chunk.joint[record]
        row = joints.rows[entry.row]
        m.row_mode[record] = 1
        m.row_slope[record, 0], m.row_slope[record, 1] = 0.0, 0.0
        if row.kind == STOP:
            m.row_mode[record] = 1 if entry.force > 0.0 else 0
            erp = row.erp if row.erp >= 0.0 else p.erp
            before, free = row.sign * m.v[row.dof], row.sign * work.v_free[row.dof]
            response = h * row.stiffness + row.dissipation
            per_gap, per_speed = erp / h, 0.0
            if 0.0 < response < math.inf:
                per_gap = (1.0 if entry.error > 0.0 else h * row.stiffness / response) / h
            elif entry.error + h * free <= 0.0 and before < -p.v_min:
                per_gap, per_speed = 0.0, row.factor
            elif entry.error > -HELD:
                per_gap = 1.0 / h
            m.row_slope[record, 0], m.row_slope[record, 1] = per_gap, per_speed
        elif row.kind not in (FOLLOW, LOOP) and abs(entry.force) >= row.bound * (1.0 - AT_BOUND):
            m.row_mode[record] = 0


@kernel(inner=True)
def joint_unknown(
    work: Work, m: Memory, joints: Joints, record: int, chunk: Chunk, p: Parameters, h: float, u: int
) -> int:
    """Fill the row of one row of joints from row u on, where its force is unknown; the next free one."""
    nv = m.v.shape[0]
    entry = chunk.joint[record]
    row = joints.rows[entry.row]
    kind, d = row.kind, row.drive
    if m.row_mode[record] == 0 or not joint_row(m.H[u], joints, entry.row):
        return u
    for j in range(2 * nv):
        m.right[u, j] = 0.0
    clear_right(m, u)
    erp = row.erp if row.erp >= 0.0 else p.erp
    _, gamma, _, _ = joint_law(work, joints, entry.row, p)
    if kind == STOP:
        m.right[u, row.dof] = -m.row_slope[record, 0] * row.sign
        m.right[u, nv + row.dof] = -m.row_slope[record, 1] * row.sign
    elif kind == FOLLOW:
        for j in range(nv):
            m.right[u, j] = -erp / h * m.H[u, j]
    elif kind == LOOP:
        for j in range(nv):
            m.right[u, j] = -(m.loops[2, row.loop_row, j] + erp / h * m.loops[3, row.loop_row, j])
    elif kind == SPRING:
        for j in range(nv):
            m.right[u, j] = -(m.loops[2, row.loop_row, j] + gamma * row.stiffness * m.loops[3, row.loop_row, j])
    elif kind == SERVO:
        for j in range(nv):
            m.right[u, j] = -gamma * joints.drives[d].stiffness * m.H[u, j]
        m.right[u, 3 * nv + d] = gamma * joints.drives[d].stiffness
    elif kind in (SPEED, HOLD):
        m.right[u, 3 * nv + d] = 1.0
    for j in range(nv):
        m.G[u, j] = m.H[u, j]
    m.D[u] = gamma
    m.f[u] = entry.force
    m.owner[u, 0], m.owner[u, 1] = -1, record
    return u + 1


@kernel(inner=True)
def joint_row(J: FloatArray, joints: Joints, number: int) -> bool:
    """Fill J (nv,) of a row of joints; False where nothing moves along it."""
    row = joints.rows[number]
    kind = row.kind
    size = 0.0
    for j in range(J.shape[0]):
        J[j] = 0.0
    if kind in (LOOP, SPRING):
        for j in range(J.shape[0]):
            J[j] = joints.loop_G[row.loop_row, j]
    else:
        J[row.dof] = row.sign if kind == STOP else 1.0
        if kind == FOLLOW:
            J[row.other] -= row.factor
    for j in range(J.shape[0]):
        size += abs(J[j])
    return size > 0.0

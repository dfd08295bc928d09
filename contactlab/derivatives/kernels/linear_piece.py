"""The linear piece of a step: which forces are unknown, and the equations of their rows.

Each unknown force acts along a row of G; its rate belongs to a row of H, with

    H dv+ + D df = right,      M^ dv+ = dr + h G^T df.

A sticking contact has three unknown forces. A contact that slides along a corner of the polygon has its normal force as
unknown, which contributes mu times the corner. Between two corners it also has a force along that side. On the exact
cone the second force is across the slip: it turns with the slip, by mu fN / |slip|, which acts as a compliance. Moments
are treated like forces, in separate cones, with a length in place of mu. Modes follow from the forces: friction at its
bound slides, for any slip.
"""

from __future__ import annotations

import math

from contactlab.collision.kernels.contact_rows import pair_restitution
from contactlab.constraint_solver.kernels import (
    LIMIT,
    LOOP,
    MIMIC,
    SPRING,
    unilateral_law,
)
from contactlab.derivatives.kernels import (
    AT_BOUND,
    BOUND,
    CLOSED_GAP,
    FASTEST,
    FORCE,
    GAMMA,
    KNOWN,
    NO_FORCE,
    PER_GAP,
    PER_SPEED,
    RATE,
    SLIDE,
    SLIPS,
    DerivativeWork,
)
from contactlab.derivatives.kernels.contact_frames import axpy, dot
from contactlab.multibody.spatial.kernels import copy
from contactlab.simulation.stepping.kernels.arrays import Chunk, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import (
    PROJECTION_RATE,
    PUSH_RATE,
    STOP_PUSH_RATE,
    compliance_of,
    fastest_of,
    fastest_of_stops,
    materials_of,
)
from contactlab.simulation.stepping.kernels.joint_rows import joint_law
from contactlab.simulation.stepping.kernels.layout import (
    GAP,
    RESTITUTION,
    VN_MINUS,
    FloatArray,
    Parameters,
    StepControl,
)
from lcp.contacts.kernels.contact_law import OPEN, SLIDE_EDGE, SLIDE_FACE, STICK, enclosing_edge
from lcp.kernels import kernel


@kernel(inline=True)
def slope(
    gap: float,
    before: float,
    free: float,
    h: float,
    restitution: float,
    steeper: float,
    restitution_threshold: float,
    erp: float,
    stiffness: float,
    dissipation: float,
    fastest: float,
) -> tuple[float, float]:
    """Return the derivatives of k of `unilateral_law` by the gap and by the normal velocity ``before``.

    ``steeper`` is the derivative of the coefficient by ``before``. A gap that is closed up to rounding stays closed:
    its change is removed within the step.
    """
    # A contact with stiffness and dissipation.
    response = h * stiffness + dissipation
    if 0.0 < response < math.inf:
        return (1.0 if gap > 0.0 else h * stiffness / response) / h, 0.0
    # A rigid contact: restitution, a closed gap, or correction of depth.
    push = max(erp * min(gap, 0.0) / h, -fastest)
    bounces = fastest == math.inf or (restitution > 0.0 and (gap > 0.0 or restitution * before < push))
    if bounces and gap + h * free <= 0.0 and before < -restitution_threshold:
        return 0.0, restitution + steeper * before
    if gap > -CLOSED_GAP:
        return 1.0 / h, 0.0
    return (0.0 if push == -fastest else erp / h), 0.0


@kernel(inner=True)
def fill_normal_laws(
    world: PackedWorld, work: StepWork, m: DerivativeWork, control: StepControl, p: Parameters, h: float
) -> None:
    """Fill k and gamma of the contacts' normal rows, and the derivatives of k by gap and by normal velocity."""
    for c in range(control.n_contacts):
        own, floats, ints = m.contact[c], work.contact_float[c], work.contact_int[c]
        # Rate without constraint forces.
        # The motion of a kinematic body is in the rate, but not in the row.
        free = dot(m.frame[c, 0], work.v_free) + own[RATE] - dot(m.frame[c, 0], m.v_plus)
        # The law, and the slope of a coefficient of restitution that depends on speed.
        stiffness, dissipation = compliance_of(world, ints)
        gap, before, e = floats[GAP], floats[VN_MINUS], floats[RESTITUTION]
        fastest = fastest_of(world, ints, p, PUSH_RATE)
        k, gamma = unilateral_law(
            gap, before, free, h, e, p.restitution_threshold, p.erp, p.cfm, stiffness, dissipation, fastest
        )
        steeper = 0.0
        a, b = materials_of(world, ints)
        if a >= 0 and e > 0.0:
            way = 1e-6 * abs(before)
            steeper = pair_restitution(world.restitution, a, b, -before - way)
            steeper = (steeper - pair_restitution(world.restitution, a, b, -before + way)) / (2.0 * way)
        per_gap, per_speed = slope(
            gap, before, free, h, e, steeper, p.restitution_threshold, p.erp, stiffness, dissipation, fastest
        )
        own[KNOWN], own[GAMMA], own[PER_GAP], own[PER_SPEED] = k, gamma, per_gap, per_speed
        own[FASTEST] = fastest_of(world, ints, p, PROJECTION_RATE)


@kernel(inner=True)
def largest_force(m: DerivativeWork, contacts: int) -> float:
    """Return the largest normal force of the first ``contacts`` contacts, or 0."""
    largest = 0.0
    for c in range(contacts):
        largest = max(largest, m.contact[c, FORCE])
    return largest


@kernel(inline=True)
def directions(m: DerivativeWork, cone: int) -> int:
    """Return half the number of corners of a cone's polygon; for spin it is a line."""
    return 1 if cone == 1 else m.turns.shape[0] // 2


@kernel(inline=True)
def polygon_corners(m: DerivativeWork, cone: int) -> FloatArray:
    """Return the unit directions (2 r, 2) of the corners of a cone's polygon, in its two axes."""
    return m.line if cone == 1 else m.turns


@kernel(inline=True)
def is_circular(m: DerivativeWork, cone: int) -> bool:
    """Return True if a cone is the exact one."""
    return m.exact[0] != 0 and directions(m, cone) > 1


@kernel(inner=True)
def next_corner(turns: FloatArray, r: int, x: float, y: float) -> int:
    """Return the number of the polygon's corner whose direction is nearest to (x, y)."""
    best, most = 0, -math.inf
    for j in range(2 * r):
        along = turns[j, 0] * x + turns[j, 1] * y
        if along > most:
            best, most = j, along
    return best


@kernel(inner=True)
def friction_direction(m: DerivativeWork, c: int, cone: int) -> tuple[float, float]:
    """Return the unit direction of friction at its bound; against the slip for a bound of 0, and 0 without slip."""
    own, r, bound = m.contact[c], directions(m, cone), m.contact[c, BOUND + cone]
    if bound > 0.0:
        return own[SLIDE + 2 * cone] / bound, own[SLIDE + 2 * cone + 1] / bound
    # Against the slip, on the circle or at the nearest corner.
    x, y = -own[RATE + 1 + 2 * cone], -own[RATE + 2 + 2 * cone]
    size = math.sqrt(x * x + y * y)
    if size < SLIPS:
        return 0.0, 0.0
    if is_circular(m, cone):
        return x / size, y / size
    turns = polygon_corners(m, cone)
    j = next_corner(turns, r, x, y)
    return turns[j, 0], turns[j, 1]


@kernel(inner=True)
def set_slide(m: DerivativeWork, c: int, cone: int) -> None:
    """Fill the friction force per unit of normal force of a sliding contact, as two components in its tangents.

    It is the bound (mu, or a length of moments) times a corner of the polygon, or times the middle of a side.
    """
    j, turns, bound = (m.mode[c, cone] - SLIDE_EDGE) // 2, polygon_corners(m, cone), m.contact[c, BOUND + cone]
    x, y = turns[j, 0], turns[j, 1]
    if (m.mode[c, cone] - SLIDE_EDGE) % 2 == 1:
        x, y = 0.5 * (x + turns[j + 1, 0]), 0.5 * (y + turns[j + 1, 1])
    m.contact[c, SLIDE + 2 * cone], m.contact[c, SLIDE + 2 * cone + 1] = bound * x, bound * y


@kernel(inner=True)
def polygon_mode(r: int, turns: FloatArray, x: float, y: float) -> tuple[int, float]:
    """Return the mode of friction along (x, y), along a corner of the polygon or between two, and its bound."""
    j, first, second = enclosing_edge(r, turns, x, y)
    total = first + second
    if r == 1 or second <= AT_BOUND * total:
        return SLIDE_EDGE + 2 * j, total
    if first <= AT_BOUND * total:
        return SLIDE_EDGE + 2 * ((j + 1) % (2 * r)), total
    return SLIDE_FACE + 2 * j, total


@kernel(inner=True)
def find_modes(m: DerivativeWork, control: StepControl) -> None:
    """Fill the mode of every cone of the contacts, and for a sliding one mu times the direction of friction.

    A contact with a negligible force is open.
    """
    least = NO_FORCE * largest_force(m, control.n_contacts)
    for c in range(control.n_contacts):
        for cone in range(m.mode.shape[1]):
            own, r, turns = m.contact[c], directions(m, cone), polygon_corners(m, cone)
            mu, x, y = own[BOUND + cone], own[FORCE + 1 + 2 * cone], own[FORCE + 2 + 2 * cone]
            bound, exact = mu * own[FORCE], is_circular(m, cone)
            own[SLIDE + 2 * cone], own[SLIDE + 2 * cone + 1] = 0.0, 0.0
            # Open, sticking, or at the bound: on the circle, along a corner or between two.
            mode = OPEN
            if own[FORCE] > least:
                mode = STICK
                if bound == 0.0:
                    mode = SLIDE_EDGE
                elif exact:
                    size = math.sqrt(x * x + y * y)
                    if size > bound * (1.0 - AT_BOUND):
                        mode = SLIDE_FACE
                        own[SLIDE + 2 * cone], own[SLIDE + 2 * cone + 1] = mu * x / size, mu * y / size
                else:
                    sliding, total = polygon_mode(r, turns, x, y)
                    if total > bound * (1.0 - AT_BOUND):
                        mode = sliding
            # Direction of sliding friction times its bound.
            m.mode[c, cone] = mode
            if mode not in (OPEN, STICK) and not exact and mu > 0.0:
                set_slide(m, c, cone)


@kernel(inline=True)
def transverse_direction(m: DerivativeWork, c: int, cone: int) -> tuple[float, float]:
    """Return the direction in the tangents (two components) of the second unknown force of a sliding contact.

    It is along the side of the polygon between two corners, or across the slip on the exact cone.
    """
    own, turns = m.contact[c], polygon_corners(m, cone)
    if is_circular(m, cone):
        mu = own[BOUND + cone]
        return -own[SLIDE + 2 * cone + 1] / mu, own[SLIDE + 2 * cone] / mu
    j = (m.mode[c, cone] - SLIDE_EDGE) // 2
    ex, ey = turns[j + 1, 0] - turns[j, 0], turns[j + 1, 1] - turns[j, 1]
    size = math.sqrt(ex * ex + ey * ey)
    return ex / size, ey / size


@kernel(inner=True)
def unknown_direction(m: DerivativeWork, c: int, cone: int, place: int) -> tuple[float, float]:
    """Return the direction of an unknown force of friction, in the axes of its cone."""
    if m.mode[c, cone] == STICK:
        return 1.0 - place, float(place)
    return transverse_direction(m, c, cone)


@kernel(inner=True)
def contact_unknowns(m: DerivativeWork, c: int, u: int) -> int:
    """Fill the rows of the forces of one contact from row u on; return the next free row."""
    cones = m.mode.shape[1]
    # An open contact has none.
    m.first[c, 0] = u
    if m.mode[c, 0] == OPEN:
        for cone in range(cones + 1):
            m.first[c, 1 + cone] = u
        return u
    nv = m.v.shape[0]
    # Normal force, with sliding friction in its row of G.
    own, frame, changes = m.contact[c], m.frame[c], m.changes[c]
    copy(frame[0], m.H[u])
    copy(frame[0], m.G[u])
    m.right[u] = 0.0
    for j in range(nv):
        m.right[u, j] = -(changes[0, j] + own[PER_GAP] * m.gaps[c, j] + own[PER_SPEED] * m.before[c, j])
        m.right[u, nv + j] = -own[PER_SPEED] * frame[0, j]
    for i in range(2 * cones):
        if own[SLIDE + i] != 0.0:
            axpy(m.G[u], own[SLIDE + i], frame[1 + i])
    m.D[u] = own[GAMMA]
    m.f[u] = own[FORCE]
    u += 1
    # Further forces of each cone, by its mode.
    for cone in range(cones):
        m.first[c, 1 + cone] = u
        mode, at, count, give = m.mode[c, cone], 1 + 2 * cone, 0, 0.0
        if mode == STICK:
            count = min(directions(m, cone), 2)
        elif mode != SLIDE_EDGE and (mode - SLIDE_EDGE) % 2 == 1:
            count = 1
            if is_circular(m, cone):
                # With redundant contacts a slip can be 0, or reversed, at the scale of the compliance.
                mu = own[BOUND + cone]
                slip = -(own[RATE + at] * own[SLIDE] + own[RATE + at + 1] * own[SLIDE + 1]) / mu
                give = max(slip, 0.0) / (mu * own[FORCE])
        for place in range(count):
            x, y = unknown_direction(m, c, cone, place)
            tangential_unknown(m, c, at, x, y, give, u)
            u += 1
    # Owner of the rows.
    m.first[c, 1 + cones] = u
    for row in range(m.first[c, 0], u):
        m.owner[row, 0], m.owner[row, 1] = c, -1
    return u


@kernel(inner=True)
def tangential_unknown(m: DerivativeWork, c: int, at: int, x: float, y: float, give: float, u: int) -> None:
    """Fill row u of a force of contact c along (x, y) of its axes ``at`` and the next."""
    frame, changes = m.frame[c], m.changes[c]
    for j in range(m.v.shape[0]):
        m.H[u, j] = x * frame[at, j] + y * frame[at + 1, j]
    copy(m.H[u], m.G[u])
    m.right[u] = 0.0
    for j in range(changes.shape[1]):
        m.right[u, j] = -(x * changes[at, j] + y * changes[at + 1, j])
    m.D[u] = give
    m.f[u] = m.contact[c, FORCE + at] * x + m.contact[c, FORCE + at + 1] * y


@kernel(inner=True)
def find_row_modes(
    work: StepWork, m: DerivativeWork, joints: JointRows, chunk: Chunk, control: StepControl, p: Parameters, h: float
) -> None:
    """Mark joint rows with an unknown force: row_mode 1, or 0 for a force that is zero or at a bound.

    For limits also fill the derivatives of k by position and velocity.
    """
    for record in range(control.chunk_joints):
        entry = chunk.joint[record]
        row = joints.rows[entry.row]
        m.row_mode[record] = 1
        m.row_slope[record, 0], m.row_slope[record, 1] = 0.0, 0.0
        # A limit: loaded or not, and the slope of its law.
        if row.kind == LIMIT:
            m.row_mode[record] = 1 if entry.force > 0.0 else 0
            erp = row.erp if row.erp >= 0.0 else p.erp
            before, free = row.sign * m.v[row.dof], row.sign * work.v_free[row.dof]
            restitution_threshold = p.angle_restitution_threshold if row.angular != 0 else p.restitution_threshold
            m.row_slope[record, 0], m.row_slope[record, 1] = slope(
                entry.error,
                before,
                free,
                h,
                row.factor,
                0.0,
                restitution_threshold,
                erp,
                row.stiffness,
                row.dissipation,
                fastest_of_stops(p, STOP_PUSH_RATE),
            )
        # A row with a bound: its force is known at the bound.
        elif entry.force >= row.bound * (1.0 - AT_BOUND) or entry.force <= row.low * (1.0 - AT_BOUND):
            m.row_mode[record] = 0


@kernel(inner=True)
def joint_unknown(
    work: StepWork, m: DerivativeWork, joints: JointRows, record: int, chunk: Chunk, p: Parameters, h: float, u: int
) -> int:
    """Fill row u of ``m.H`` and ``m.right`` for a joint row, and return u + 1; return u if its force is known."""
    nv = m.v.shape[0]
    entry = chunk.joint[record]
    row = joints.rows[entry.row]
    kind, d = row.kind, row.drive
    if m.row_mode[record] == 0 or not joint_row(m.H[u], joints, entry.row):
        return u
    # Right-hand side: the derivative of its law.
    m.right[u] = 0.0
    erp = row.erp if row.erp >= 0.0 else p.erp
    _, gamma, _, _ = joint_law(work, joints, entry.row, p)
    if kind == LIMIT:
        m.right[u, row.dof] = -m.row_slope[record, 0] * row.sign
        m.right[u, nv + row.dof] = -m.row_slope[record, 1] * row.sign
    elif kind == MIMIC:
        axpy(m.right[u, :nv], -erp / h, m.H[u])
    elif kind in (LOOP, SPRING):
        axpy(m.right[u, :nv], -1.0, m.loops[2, row.loop_row])
        by_error = erp / h if kind == LOOP else gamma * row.stiffness
        axpy(m.right[u, :nv], -by_error, m.loops[3, row.loop_row])
    elif gamma > 0.0:
        axpy(m.right[u, :nv], -gamma * row.stiffness, m.H[u])
        m.right[u, 3 * nv + d] = gamma * row.stiffness
    elif d >= 0:
        m.right[u, 3 * nv + d] = 1.0
    # Row of the force, compliance and owner.
    copy(m.H[u], m.G[u])
    m.D[u] = gamma
    m.f[u] = entry.force
    m.owner[u, 0], m.owner[u, 1] = -1, record
    return u + 1


@kernel(inner=True)
def joint_row(J: FloatArray, joints: JointRows, number: int) -> bool:
    """Fill J (nv,) with the Jacobian of a joint row; return False if all entries are zero."""
    row = joints.rows[number]
    kind = row.kind
    J[:] = 0.0
    # By kind: a loop's Jacobian, or entries at one or two coordinates.
    if kind in (LOOP, SPRING):
        copy(joints.loop_G[row.loop_row], J)
    else:
        J[row.dof] = row.sign if kind == LIMIT else 1.0
        if kind == MIMIC:
            J[row.other] -= row.factor
    return dot(J, J) > 0.0

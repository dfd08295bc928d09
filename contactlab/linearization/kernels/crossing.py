"""From the piece on which a step stands to the one it goes to along a direction: which of its kinks are crossed.

A quantity that is 0 and falls along the direction ends the piece at once: the contact goes to its neighbouring mode.
The small complementarity problem that this is, is solved by Murty's rule: of all that fall the first changes, until
none does. K. G. Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11 (1974).
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.formulation.kernels.laws import LIMIT
from contactlab.linearization.kernels.kinks import towards
from contactlab.linearization.kernels.layout import (
    AT_BOUND,
    AT_CONE,
    BOUND,
    CONE,
    CONTACT,
    CROSSED,
    FORCE,
    HARDLY_LOADED,
    HELD,
    NEIGHBOUR,
    PER_GAP,
    RATE,
    ROW,
    SLIDE,
    SLIPS,
    UNLOADED,
    WHY,
    Memory,
)
from contactlab.linearization.kernels.pieces import corners, directions, is_round, next_corner, set_slide
from contactlab.stepping.kernels.blocks import compliance_of
from contactlab.stepping.kernels.layout import GAP, Chunk, JointRows, PackedWorld, Parameters, StepControl, StepWork
from lcp.contacts.kernels.contact_modes import OPEN, SLIDE_EDGE, SLIDE_FACE, STICK, enclosing_edge
from lcp.kernels import kernel

#: Changes of modes after which a direction is given up.
MOST_TURNS: Final = 200
#: Share of the direction by which a quantity must fall to count.
FALLS: Final = 1e-9


@kernel(inner=True)
def take_sides(
    world: PackedWorld,
    work: StepWork,
    joints: JointRows | None,
    m: Memory,
    chunk: Chunk,
    control: StepControl,
    p: Parameters,
    h: float,
) -> None:
    """Of contacts and stops whose gap is closed, take the slope of the side to which the direction moves it."""
    for c in range(control.n_contacts):
        own, gaps = m.contact[c], m.gaps[c]
        size, opens = 0.0, 0.0
        for j in range(gaps.shape[0]):
            size += gaps[j] * gaps[j]
            opens += gaps[j] * m.direction[j]
        if own[PER_GAP] == 0.0 or abs(work.contact_float[c, GAP]) > HELD * math.sqrt(size):
            continue
        stiffness, dissipation = compliance_of(world, work.contact_int[c])
        own[PER_GAP] = (1.0 if opens > 0.0 else share_made_up(stiffness, dissipation, p.erp, h)) / h
    if joints is not None:
        for record in range(control.chunk_joints):
            row = joints.rows[chunk.joint[record].row]
            if row.kind != LIMIT or m.row_slope[record, 0] == 0.0 or abs(chunk.joint[record].error) > HELD:
                continue
            erp = row.erp if row.erp >= 0.0 else p.erp
            closed = share_made_up(row.stiffness, row.dissipation, erp, h)
            m.row_slope[record, 0] = (1.0 if row.sign * m.direction[row.dof] > 0.0 else closed) / h


@kernel(inline=True)
def share_made_up(stiffness: float, dissipation: float, erp: float, h: float) -> float:
    """Share of a penetration that the wanted velocity makes up for within a step."""
    response = h * stiffness + dissipation
    return h * stiffness / response if 0.0 < response < math.inf else erp


@kernel(inner=True)
def begin_to_slide(m: Memory, c: int, cone: int, x: float, y: float) -> None:
    """Let a contact slide, its friction along (x, y)."""
    own, r = m.contact[c], directions(m, cone)
    if is_round(m, cone):
        mu, size = own[BOUND + cone], math.sqrt(x * x + y * y)
        own[SLIDE + 2 * cone], own[SLIDE + 2 * cone + 1] = mu * x / size, mu * y / size
        # Without a force the slip's turn does nothing.
        m.mode[c, cone] = SLIDE_FACE if own[FORCE] > 0.0 else SLIDE_EDGE
        return
    j, first, second = enclosing_edge(r, corners(m, cone), x, y)
    mode = SLIDE_FACE + 2 * j
    if r == 1 or second <= AT_BOUND * first:
        mode = SLIDE_EDGE + 2 * j
    elif first <= AT_BOUND * second:
        mode = SLIDE_EDGE + 2 * ((j + 1) % (2 * r))
    m.mode[c, cone] = mode
    set_slide(m, c, cone)


@kernel(inner=True)
def load(m: Memory, c: int, cone: int) -> None:
    """Let the friction of a contact without force have some: against its slip, or sticking where it has none."""
    own, r = m.contact[c], directions(m, cone)
    mu, x, y = own[BOUND + cone], -own[RATE + 1 + 2 * cone], -own[RATE + 2 + 2 * cone]
    m.mode[c, cone] = STICK if mu > 0.0 else SLIDE_EDGE
    if mu == 0.0 or x * x + y * y < SLIPS * SLIPS:
        return
    if is_round(m, cone):
        begin_to_slide(m, c, cone, x, y)
        return
    m.mode[c, cone] = SLIDE_EDGE + 2 * next_corner(corners(m, cone), r, x, y)
    set_slide(m, c, cone)


@kernel(inner=True)
def go_to(m: Memory, c: int, cone: int, mode: int) -> None:
    """Let a friction cone have another mode."""
    m.mode[c, cone] = mode
    m.contact[c, SLIDE + 2 * cone], m.contact[c, SLIDE + 2 * cone + 1] = 0.0, 0.0
    if mode not in (OPEN, STICK):
        set_slide(m, c, cone)


@kernel(inner=True)
def cross(m: Memory, number: int) -> bool:
    """Go to the mode beyond a kink; False where there is none."""
    kink = m.kinks[number]
    why, c, row, cone, neighbour = kink[WHY], kink[CONTACT], kink[ROW], kink[CONE], kink[NEIGHBOUR]
    if neighbour < 0:
        return False
    if row >= 0:
        m.row_mode[row] = neighbour
        return True
    if why == UNLOADED:
        for each in range(m.mode.shape[1]):
            load(m, c, each)
    elif why == HARDLY_LOADED:
        for each in range(m.mode.shape[1]):
            go_to(m, c, each, OPEN)
    elif why == AT_CONE:
        u, x, y = m.first[c, 1 + cone], m.contact[c, FORCE + 1 + 2 * cone], m.contact[c, FORCE + 2 + 2 * cone]
        if not m.contact[c, FORCE] > 0.0:
            x = towards(m, u)
            y = towards(m, u + 1) if directions(m, cone) > 1 else 0.0
        begin_to_slide(m, c, cone, x, y)
    else:
        go_to(m, c, cone, neighbour)
    return True


@kernel(inner=True)
def cross_first(m: Memory, first: int, kinks: int) -> bool:
    """Cross the first kink that the direction crosses; whether there was one."""
    size = 0.0
    for k in range(m.direction.shape[0]):
        size += m.direction[k] * m.direction[k]
    for number in range(first, kinks):
        way, slope = m.how_far[number, 1], m.how_far[number, 2]
        if way <= CROSSED and m.towards[number] < -FALLS * slope * math.sqrt(size) and cross(m, number):
            return True
    return False

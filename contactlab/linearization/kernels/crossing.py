"""From the piece on which a step stands to the one it goes to along a direction: which of its kinks are crossed.

A quantity that is 0 and falls along the direction ends the piece at once: the contact goes to its neighbouring mode.
The small complementarity problem that this is, is solved by Murty's rule: of all that fall the first changes, until
none does. K. G. Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11 (1974).
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.formulation.kernels.laws import STOP
from contactlab.linearization.kernels.kinks import towards
from contactlab.linearization.kernels.layout import (
    AT_BOUND,
    AT_CONE,
    CONTACT,
    CROSSED,
    FORCE,
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
from contactlab.linearization.kernels.pieces import next_corner, set_slide
from contactlab.stepping.kernels.blocks import compliance_of
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import GAP, MU, Chunk, Control, PackedWorld, Parameters, Work
from lcp.contacts.kernels.contact_modes import ALONG, BETWEEN, OPEN, STICK, enclosing_edge
from lcp.kernels import kernel

#: Changes of modes after which a direction is given up.
MOST_TURNS: Final = 200
#: Share of the direction by which a quantity must fall to count.
FALLS: Final = 1e-9


@kernel(inner=True)
def take_sides(
    world: PackedWorld,
    work: Work,
    joints: Joints | None,
    m: Memory,
    chunk: Chunk,
    control: Control,
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
            if row.kind != STOP or m.row_slope[record, 0] == 0.0 or abs(chunk.joint[record].error) > HELD:
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
def begin_to_slide(m: Memory, control: Control, c: int, mu: float, x: float, y: float) -> None:
    """Let a contact slide, its friction along (x, y)."""
    own, r = m.contact[c], control.edges // 2
    if control.cone != 0 and r > 1:
        size = math.sqrt(x * x + y * y)
        own[SLIDE], own[SLIDE + 1] = mu * x / size, mu * y / size
        # Without a force the slip's turn does nothing.
        m.mode[c, 0] = BETWEEN if own[FORCE] > 0.0 else ALONG
        return
    j, first, second = enclosing_edge(r, m.turns, x, y)
    mode = BETWEEN + 2 * j
    if r == 1 or second <= AT_BOUND * first:
        mode = ALONG + 2 * j
    elif first <= AT_BOUND * second:
        mode = ALONG + 2 * ((j + 1) % (2 * r))
    m.mode[c, 0] = mode
    set_slide(m, c, mu)


@kernel(inner=True)
def load(m: Memory, control: Control, c: int, mu: float) -> None:
    """Let a contact without force have one: against its slip, or sticking where it has none."""
    own, r = m.contact[c], control.edges // 2
    x, y = -own[RATE + 1], -own[RATE + 2]
    m.mode[c, 0] = STICK if mu > 0.0 else ALONG
    if mu == 0.0 or x * x + y * y < SLIPS * SLIPS:
        return
    if control.cone != 0 and r > 1:
        begin_to_slide(m, control, c, mu, x, y)
        return
    m.mode[c, 0] = ALONG + 2 * next_corner(m, r, x, y)
    set_slide(m, c, mu)


@kernel(inner=True)
def cross(work: Work, m: Memory, control: Control, number: int) -> bool:
    """Go to the mode beyond a kink; False where there is none."""
    why, c, row, neighbour = (
        m.kinks[number, WHY],
        m.kinks[number, CONTACT],
        m.kinks[number, ROW],
        m.kinks[number, NEIGHBOUR],
    )
    if neighbour < 0:
        return False
    if row >= 0:
        m.row_mode[row] = neighbour
        return True
    mu, own = work.contact_float[c, MU], m.contact[c]
    if why == UNLOADED:
        load(m, control, c, mu)
    elif why == AT_CONE:
        u, x, y = m.mode[c, 1], own[FORCE + 1], own[FORCE + 2]
        if not own[FORCE] > 0.0:
            x = towards(m, u + 1)
            y = towards(m, u + 2) if m.mode[c, 2] > 2 else 0.0
        begin_to_slide(m, control, c, mu, x, y)
    else:
        m.mode[c, 0] = neighbour
        own[SLIDE], own[SLIDE + 1] = 0.0, 0.0
        if neighbour not in (OPEN, STICK):
            set_slide(m, c, mu)
    return True


@kernel(inner=True)
def cross_first(work: Work, m: Memory, control: Control, first: int, kinks: int) -> bool:
    """Cross the first kink that the direction crosses; whether there was one."""
    size = 0.0
    for k in range(m.direction.shape[0]):
        size += m.direction[k] * m.direction[k]
    for number in range(first, kinks):
        way, slope = m.how_far[number, 1], m.how_far[number, 2]
        if way <= CROSSED and m.towards[number] < -FALLS * slope * math.sqrt(size) and cross(work, m, control, number):
            return True
    return False

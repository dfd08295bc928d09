"""Changes of the linear piece along a direction: the kinks of a step that are crossed.

A quantity that is 0 and decreases along the direction ends the piece immediately: the contact changes to its
neighbouring mode. This is a small complementarity problem, solved by Murty's rule: the first decreasing quantity
changes, until no quantity decreases. K. G. Murty, Note on a Bard-type scheme for solving the complementarity
problem, Opsearch 11 (1974).
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.constraint_solver.kernels import LIMIT
from contactlab.derivatives.kernels import (
    AT_CONE,
    BOUND,
    CLOSED_GAP,
    CONE,
    CONTACT,
    CROSSED,
    FORCE,
    NEARLY_OPEN,
    NEIGHBOUR,
    PER_GAP,
    RATE,
    REASON,
    ROW,
    SLIDE,
    SLIPS,
    TOUCHING_UNLOADED,
    DerivativeWork,
)
from contactlab.derivatives.kernels.contact_frames import dot
from contactlab.derivatives.kernels.linear_piece import (
    directions,
    is_circular,
    next_corner,
    polygon_corners,
    polygon_mode,
    set_slide,
)
from contactlab.simulation.stepping.kernels.arrays import Chunk, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import compliance_of
from contactlab.simulation.stepping.kernels.layout import GAP, Parameters, StepControl
from lcp.contacts.kernels.contact_law import OPEN, SLIDE_EDGE, SLIDE_FACE, STICK
from lcp.kernels import kernel

#: Maximum number of mode changes along a direction.
MAX_TURNS: Final = 200
#: Minimum decrease of a quantity, as a fraction of the direction.
FALLS: Final = 1e-9


@kernel(inner=True)
def choose_gap_sides(
    world: PackedWorld,
    work: StepWork,
    joints: JointRows | None,
    m: DerivativeWork,
    chunk: Chunk,
    control: StepControl,
    p: Parameters,
    h: float,
) -> None:
    """Set dk/dgap [1/s] of contacts and limits whose gap is 0 up to rounding, for a motion along ``m.direction``.

    The slope of the law differs between opening and closing. It is 1/h if the direction opens the gap; otherwise it is
    the fraction of the depth that a step removes, over h.
    """
    # Contacts: the sign of the gap's change along the direction.
    for c in range(control.n_contacts):
        own, gaps = m.contact[c], m.gaps[c]
        size, opens = math.sqrt(dot(gaps, gaps)), dot(gaps, m.direction)
        if own[PER_GAP] == 0.0 or abs(work.contact_float[c, GAP]) > CLOSED_GAP * size:
            continue
        stiffness, dissipation = compliance_of(world, work.contact_int[c])
        own[PER_GAP] = (1.0 if opens > 0.0 else error_reduction(stiffness, dissipation, p.erp, h)) / h
    # Limits of joints.
    if joints is not None:
        for record in range(control.chunk_joints):
            row = joints.rows[chunk.joint[record].row]
            if row.kind != LIMIT or m.row_slope[record, 0] == 0.0 or abs(chunk.joint[record].error) > CLOSED_GAP:
                continue
            erp = row.erp if row.erp >= 0.0 else p.erp
            closed = error_reduction(row.stiffness, row.dissipation, erp, h)
            m.row_slope[record, 0] = (1.0 if row.sign * m.direction[row.dof] > 0.0 else closed) / h


@kernel(inline=True)
def error_reduction(stiffness: float, dissipation: float, erp: float, h: float) -> float:
    """Return the fraction of a penetration that is corrected within a step."""
    response = h * stiffness + dissipation
    return h * stiffness / response if 0.0 < response < math.inf else erp


@kernel(inner=True)
def begin_to_slide(m: DerivativeWork, c: int, cone: int, x: float, y: float) -> None:
    """Set the mode of a cone to sliding, with the friction along (x, y) in the tangents, at its bound."""
    own, r = m.contact[c], directions(m, cone)
    # The exact cone.
    if is_circular(m, cone):
        mu, size = own[BOUND + cone], math.sqrt(x * x + y * y)
        own[SLIDE + 2 * cone], own[SLIDE + 2 * cone + 1] = mu * x / size, mu * y / size
        # Without a force, rotation of the slip has no effect.
        m.mode[c, cone] = SLIDE_FACE if own[FORCE] > 0.0 else SLIDE_EDGE
        return
    # A polygon: along a corner, or between two.
    m.mode[c, cone], _ = polygon_mode(r, polygon_corners(m, cone), x, y)
    set_slide(m, c, cone)


@kernel(inner=True)
def activate_friction(m: DerivativeWork, c: int, cone: int) -> None:
    """Set the friction mode of an unloaded contact: sliding against its slip, or sticking without slip."""
    own, r = m.contact[c], directions(m, cone)
    mu, x, y = own[BOUND + cone], -own[RATE + 1 + 2 * cone], -own[RATE + 2 + 2 * cone]
    m.mode[c, cone] = STICK if mu > 0.0 else SLIDE_EDGE
    if mu == 0.0 or x * x + y * y < SLIPS * SLIPS:
        return
    # Against the slip: on the exact cone, or at the nearest corner.
    if is_circular(m, cone):
        begin_to_slide(m, c, cone, x, y)
        return
    m.mode[c, cone] = SLIDE_EDGE + 2 * next_corner(polygon_corners(m, cone), r, x, y)
    set_slide(m, c, cone)


@kernel(inner=True)
def set_cone_mode(m: DerivativeWork, c: int, cone: int, mode: int) -> None:
    """Set the mode of a friction cone, and the slip direction that belongs to it: zero for OPEN and STICK."""
    m.mode[c, cone] = mode
    m.contact[c, SLIDE + 2 * cone], m.contact[c, SLIDE + 2 * cone + 1] = 0.0, 0.0
    if mode not in (OPEN, STICK):
        set_slide(m, c, cone)


@kernel(inner=True)
def cross(m: DerivativeWork, number: int) -> bool:
    """Set the mode of the contact or joint row beyond kink ``number``; return False if the kink has no such mode."""
    kink = m.kinks[number]
    why, c, row, cone, neighbour = kink[REASON], kink[CONTACT], kink[ROW], kink[CONE], kink[NEIGHBOUR]
    if neighbour < 0:
        return False
    # A joint row.
    if row >= 0:
        m.row_mode[row] = neighbour
        return True
    # A contact: it is loaded or unloaded, begins to slide, or changes its mode of sliding.
    if why == TOUCHING_UNLOADED:
        for each in range(m.mode.shape[1]):
            activate_friction(m, c, each)
    elif why == NEARLY_OPEN:
        for each in range(m.mode.shape[1]):
            set_cone_mode(m, c, each, OPEN)
    elif why == AT_CONE:
        u, x, y = m.first[c, 1 + cone], m.contact[c, FORCE + 1 + 2 * cone], m.contact[c, FORCE + 2 + 2 * cone]
        if not m.contact[c, FORCE] > 0.0:
            x = dot(m.direction, m.solved[u])
            y = dot(m.direction, m.solved[u + 1]) if directions(m, cone) > 1 else 0.0
        begin_to_slide(m, c, cone, x, y)
    else:
        set_cone_mode(m, c, cone, neighbour)
    return True


@kernel(inner=True)
def cross_first(m: DerivativeWork, first: int, kinks: int) -> bool:
    """Find the first of the kinks ``first`` to ``kinks`` - 1 that the direction crosses; change the piece's mode there.

    Return False if there is none.
    """
    size = math.sqrt(dot(m.direction, m.direction))
    for number in range(first, kinks):
        way, slope = m.kink_distances[number, 1], m.kink_distances[number, 2]
        if way <= CROSSED and m.towards[number] < -FALLS * slope * size and cross(m, number):
            return True
    return False

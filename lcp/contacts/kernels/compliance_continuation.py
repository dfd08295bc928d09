"""The forces selected among those of redundant contacts: of contacts that give way, all alike, in the limit of none.

Where contacts are redundant many forces solve the rigid problem, and all but one are an accident of the method. With a
compliance eps of every contact, in every direction, rates s are answered by P(-s / eps) (`contact_law`), and the
velocities solve an equation without redundancy. It is solved from the modes that given forces show (`active_set`), for
the least eps at once or for ever smaller ones.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.views import view_2d
from lcp.contacts.kernels.active_set import iterate_active_set
from lcp.contacts.kernels.contact_law import CONTACT_DIM, FrictionCone
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.proximal_points import JOINT_COMPLIANCE
from lcp.contacts.kernels.solver_state import SolverState, copy_rows
from lcp.kernels import Floats, kernel

# Compliance of the end of the branch: this part of the least own response of a contact, at least that of the largest.
MIN_COMPLIANCE: Final = 1e-7
SMALLEST_COMPLIANCE: Final = 1e-9
# From one compliance of the branch to the next; Newton's steps for each; systems after which it is given up.
SHRINK: Final = 0.03
STEPS: Final = 8
MAX_SYSTEMS: Final = 150
# Contacts up to which forces are brought to the rigid problem in many points.
SMALL_ISLAND_CONTACTS: Final = 64
# Steps after which the next one is longer; the factor with which a branch that resists is given up.
FAST_STEP_ITERATIONS: Final = 3
MAX_SHRINK: Final = 0.9
# Forces are those selected if the rigid ones differ from those at the branch's end by this fraction of the largest at
# most: if gaps contradict one another, proximal points can lead to others.
SELECTED_WITHIN: Final = 1e-3


class ContinuationResult(NamedTuple):
    """How far the branch was followed: the compliance, 0 for nowhere, and systems solved."""

    eps: float
    systems: int


class SavedStep(NamedTuple):
    """Forces kept while others are looked for."""

    start: Floats  # (ncone, 3) forces from which the next compliance is tried
    fixed: Floats  # (ncone, 3)
    moving: Floats  # (ncone, 3)
    joined: Floats  # (2, nj) forces of rows of joints, and those from before


@kernel(inner=True)
def final_compliance(rows: ContactSystem, search: SolverState) -> float:
    """Return the compliance at which the continuation ends."""
    least = math.inf
    largest = 0.0
    for c in range(rows.nc):
        least = min(least, search.contacts.diagonal[c])
        largest = max(largest, search.contacts.diagonal[c])
    return max(MIN_COMPLIANCE * least, SMALLEST_COMPLIANCE * largest)


@kernel
def saved_step_float_size(ncone: int, nj: int) -> int:
    """Return the number of floats of `SavedStep`."""
    return 3 * CONTACT_DIM * ncone + 2 * nj


@kernel(inner=True)
def saved_step_views(ncone: int, nj: int, memory: Floats) -> SavedStep:
    """Cut it from its memory."""
    size = CONTACT_DIM * ncone
    return SavedStep(
        view_2d(memory, 0, ncone, CONTACT_DIM),
        view_2d(memory, size, ncone, CONTACT_DIM),
        view_2d(memory, 2 * size, ncone, CONTACT_DIM),
        view_2d(memory, 3 * size, 2, nj),
    )


@kernel(inner=True)
def continue_to_compliance(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, kept: SavedStep, eps: float, end: float
) -> ContinuationResult:
    """Reduce the compliance from eps, whose forces and modes are in the search, to ``end``."""
    contacts = search.contacts
    solved, shrink, last = 0, SHRINK, eps
    save_step(search, kept)
    while True:
        eps = max(end, shrink * last)
        more = iterate_active_set(rows, polygon, search, eps, STEPS)
        if more >= 0:
            solved += more
            save_step(search, kept)
            if eps == end:
                return ContinuationResult(eps, solved)
            last = eps
            if more <= FAST_STEP_ITERATIONS:
                shrink = max(SHRINK, shrink * shrink)
            continue
        # A shorter step from where the branch was left.
        solved += STEPS
        restore_step(search)
        shrink = math.sqrt(shrink)
        if shrink > MAX_SHRINK or solved > MAX_SYSTEMS:
            copy_rows(kept.start, contacts.p)
            return ContinuationResult(0.0, solved)


@kernel(inner=True)
def save_step(search: SolverState, kept: SavedStep) -> None:
    """Save the modes and forces from which the next step is made."""
    copy_rows(search.contacts.p, kept.start)
    for c in range(search.previous_modes.shape[0]):
        search.previous_modes[c] = search.contacts.mode[c]
    for i in range(search.joined.p.shape[0]):
        search.joined.previous_p[i] = search.joined.p[i]


@kernel(inner=True)
def restore_step(search: SolverState) -> None:
    """Take back the modes, and the forces of rows of joints."""
    joined = search.joined
    for c in range(search.previous_modes.shape[0]):
        search.contacts.mode[c] = search.previous_modes[c]
    for i in range(joined.p.shape[0]):
        joined.p[i] = joined.previous_p[i]
        free = joined.diagonal[i] > 0.0 and joined.lo[i] < joined.p[i] < joined.hi[i]
        joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.diagonal[i]) if free else 0.0

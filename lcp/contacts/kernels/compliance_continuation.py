"""Equal-compliance forces: the limit of forces as the common compliance of all contacts goes to zero.

With redundant contacts many forces solve the rigid problem, and a method returns an arbitrary one. If every contact has
the compliance eps in every direction, rates s give the forces P(-s / eps) (`contact_law`), and the velocities solve an
equation without redundancy. It is solved from the modes of given forces (`active_set`), for the final eps directly or
for decreasing ones.
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

# Final compliance: this fraction of the smallest diagonal response, at least this fraction of the largest.
MIN_COMPLIANCE: Final = 1e-7
SMALLEST_COMPLIANCE: Final = 1e-9
# Factor between two compliances; Newton steps for each; systems after which the continuation is given up.
SHRINK: Final = 0.03
STEPS: Final = 8
MAX_SYSTEMS: Final = 150
# Contacts up to which many proximal points are used to reach the rigid problem.
SMALL_ISLAND_CONTACTS: Final = 64
# Steps after which the next one is longer; factor at which the continuation is given up.
FAST_STEP_ITERATIONS: Final = 3
MAX_SHRINK: Final = 0.9
# The rigid forces are the selected ones if they differ from the forces at the path's end by at most this fraction of
# the largest. If gaps contradict one another, proximal points can lead to others.
SELECTED_WITHIN: Final = 1e-3


class ContinuationResult(NamedTuple):
    """Result of a continuation: the compliance reached, 0 if it failed, and the number of systems solved."""

    eps: float
    systems: int


class SavedStep(NamedTuple):
    """Forces of contacts and joint rows that a step saves in order to restore them."""

    start: Floats  # (ncone, 3) forces from which the next compliance is tried
    fixed: Floats  # (ncone, 3)
    moving: Floats  # (ncone, 3)
    joined: Floats  # (2, nj) forces of joint rows, and previous ones


@kernel(inner=True)
def range_of_responses(rows: ContactSystem, search: SolverState) -> tuple[float, float]:
    """Return the smallest and the largest response of a contact along its normal."""
    least = math.inf
    largest = 0.0
    for c in range(rows.nc):
        least = min(least, search.contacts.diagonal[c])
        largest = max(largest, search.contacts.diagonal[c])
    return least, largest


@kernel(inner=True)
def final_compliance(rows: ContactSystem, search: SolverState) -> float:
    """Return the compliance at which the continuation ends."""
    least, largest = range_of_responses(rows, search)
    return max(MIN_COMPLIANCE * least, SMALLEST_COMPLIANCE * largest)


@kernel
def saved_step_float_size(ncone: int, nj: int) -> int:
    """Return the number of floats of `SavedStep`."""
    return 3 * CONTACT_DIM * ncone + 2 * nj


@kernel(inner=True)
def saved_step_views(ncone: int, nj: int, memory: Floats) -> SavedStep:
    """Return views of ``memory``, of `saved_step_float_size` numbers, as a `SavedStep`."""
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
    """Reduce the compliance in steps from eps, whose forces and modes are in the state, to ``end``.

    A step whose modes do not converge is repeated with a shorter one. If steps become too short or systems too many,
    the state has the last accepted forces, and the compliance returned is 0.
    """
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
        # Make a shorter step from the last accepted compliance.
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
    """Restore the modes and the forces of joint rows that `save_step` saved, and the slopes of these forces."""
    joined = search.joined
    for c in range(search.previous_modes.shape[0]):
        search.contacts.mode[c] = search.previous_modes[c]
    for i in range(joined.p.shape[0]):
        joined.p[i] = joined.previous_p[i]
        free = joined.diagonal[i] > 0.0 and joined.lo[i] < joined.p[i] < joined.hi[i]
        joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.diagonal[i]) if free else 0.0

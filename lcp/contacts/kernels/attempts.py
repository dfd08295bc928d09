"""The strategies for an island's forces, and the one loop that walks them, judges, and keeps the best.

Forces are *selected* if contacts are redundant (`selection`): the forces of contacts of equal compliance, in the limit
of zero. Each strategy leads to forces; `judging` alone decides if they solve the problem::

    REUSE           forces of the step before that solve the problem still, or proximal points next to them
    ACTIVE_SET      selected forces from the modes of the step before, then of Gauss-Seidel sweeps at the end
                    compliance, of sweeps at a soft one, and of soft contacts                     (`active_set`)
    INTERIOR_POINT  selected forces by a path at small compliance; then any forces, by Mehrotra's method, then by a
                    homotopy through turning points from eight starts, of discs from three          (`interior_point`)
    POINTS          any forces, by proximal points from the best so far, each along the line from the one before,
                    through the changes of modes one by one                                        (`proximal_lines`)
    REST            if the forces found move bodies that were at rest: others that hold them        (`rest`)

The table `LATER` has their turns. Kernels are compiled when a run first needs them: `propose` (REUSE, and ACTIVE_SET
from the modes of before), `propose_nearer` (from sweeps), `propose_later` (the rest).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.contacts.kernels.boxed_rows import add_anchors
from lcp.contacts.kernels.contact_response import THREE, Polygon
from lcp.contacts.kernels.elimination import order_elimination
from lcp.contacts.kernels.few_contacts import are_few, keep_sticking
from lcp.contacts.kernels.held_forces import (
    DRIFT,
    KEPT,
    TAKEN_BACK,
    closest_at_once,
    harden_before,
    needs_no_force,
    note_spread,
    share_of_change,
    still_selected,
    with_own,
)
from lcp.contacts.kernels.judging import (
    AT_END,
    NEAREST,
    OF_CHANGE,
    SHARE,
    SOLVED,
    Answer,
    Case,
    certified,
    fill_loads,
    judge,
    may,
    measure,
    measure_recovered,
    strays,
)
from lcp.contacts.kernels.recover import recover
from lcp.contacts.kernels.rest import AT_REST, DRIFTING, is_still, lay_out_rest, try_rest
from lcp.contacts.kernels.rigid_forces import lead_back, lead_elsewhere, stay_selected, to_rigid
from lcp.contacts.kernels.search import (
    Search,
    as_before,
    fill_own,
    give_forces,
    is_for_attempts,
    lay_out,
    lend_responses,
    search_own,
    take_forces,
)
from lcp.contacts.kernels.selection import SMALL, end_of_branch, lay_out_kept
from lcp.contacts.kernels.ways import (
    ALL_WORK,
    beyond_search,
    loads_at,
    own_at,
    packed_case,
    polygon_at,
    select_centrally,
    systems_for,
    try_interior,
    try_modes,
    try_points,
    try_soft_sweeps,
    try_softest,
    try_sweeps,
)
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.residuals import is_solved

# The strategies, by the codes that records have; codes between belong to strategies of before.
REUSE: Final = 0
ACTIVE_SET: Final = 1
POINTS: Final = 7
INTERIOR_POINT: Final = 8
REST: Final = 9
#: Their names and codes, as `TimeStepping.strategies` and records have them.
NAMES: Final = ("reuse", "active_set", "interior_point", "points", "rest")
CODES: Final = (REUSE, ACTIVE_SET, INTERIOR_POINT, POINTS, REST)
#: No strategy: nothing was found.
NONE: Final = -1
#: All may be used.
EVERY: Final = 1 << REUSE | 1 << ACTIVE_SET | 1 << INTERIOR_POINT | 1 << POINTS | 1 << REST

# Turns of `propose_later`: forces of before that solve the problem as they are; selected ones; those next to the ones
# before; any, from one start of the homotopy after the other.
# Exact cones gain nothing from the later starts of the homotopy.
CONE_TURNS: Final = 5
LATER: Final = (REUSE, INTERIOR_POINT, REUSE, *(9 * (INTERIOR_POINT,)), POINTS, POINTS, POINTS)

# A run continues with forces that are off by less than this fraction of a condition's scale, though nothing is
# certified, and ends with others: for those an island has so many times the systems.
TAKEN: Final = 1e-4
MORE: Final = 3
# Rows of contacts for each velocity up to which sweeps at a soft compliance pay in islands of any size: spheres have
# about one. Boxes have two to four, and an interior point needs less work there.
LOOSE: Final = 1.2
# Whether the branch's end is known.
UNKNOWN_END: Final = 0.0
KNOWN_END: Final = 1.0

# Outcomes: no forces; forces that are not the selected ones; the selected ones; those of z0, which are.
NOTHING: Final = 0
OTHERS: Final = 1
SELECTED: Final = 2
BEFORE: Final = 3
# Nothing so far; `propose_nearer` continues.
UNFINISHED: Final = 4
MOVED: Final = 6  # others than at the branch's end; they may be the selected ones all the same, see `lead_back`

# Part of the tolerance within which forces from before still solve a problem: so far below that what is left over adds
# up to nothing. Of those next to them, where contacts of one body contradict one another by the rounding of their gaps.
STRICTNESS: Final = 1e-5
FLOOR: Final = 1e-2


class Made(NamedTuple):
    """The result of one turn."""

    outcome: int
    systems: int  # solved


class Found(NamedTuple):
    """The result of the loop."""

    attempt: int  # code of the strategy that answered; NONE
    outcome: int
    systems: int  # solved in all turns


@kernel(inner=True)
def take(
    case: Case, answer: Answer, polygon: Polygon, search: Search, strategy: int, made: Made, share: float, wf: Floats
) -> Found:
    """Judge the forces in the search, and keep the best; ``share`` is that of `share_of_change`."""
    rows, systems = case.rows, made.systems
    drifts = 0.0 < share < 1.0 and as_before(rows, polygon, search, case.z0, KEPT)
    give_forces(rows, polygon, search, answer.z)
    if drifts:
        for i in range(answer.z.shape[0]):
            before = max(case.z0[i], 0.0)
            answer.z[i] = before + share * (answer.z[i] - before)
        # Of an exact cone the signed force counts: one variable of each pair is 0, as in a record.
        for i in range(rows.nc, rows.nc + rows.nr if case.exact else rows.nc):
            signed = answer.z[i] - answer.z[i + rows.nr]
            answer.z[i], answer.z[i + rows.nr] = max(signed, 0.0), max(-signed, 0.0)
    if not judge(case, answer, search_own(rows, wf), loads_at(rows, wf)):
        return Found(NONE, NOTHING, systems)
    # Rows of joints are rigid along the branch. Where they share a load with contacts, a smaller compliance is asked.
    asked = made.outcome == SELECTED and rows.nc > 1 and search.joined.p.shape[0] > 0
    if not asked and made.outcome != MOVED:
        return Found(strategy, made.outcome, systems)
    kept = lay_out_kept(rows.r.shape[0], search.joined.p.shape[0], beyond_search(rows, search, wf))
    end = end_of_branch(rows, search)
    if asked:
        elsewhere, more = lead_elsewhere(rows, polygon, search, kept, end)
        return Found(strategy, OTHERS if elsewhere else SELECTED, systems + more)
    selected, more = lead_back(rows, polygon, search, kept, end)
    return Found(strategy, SELECTED if selected else OTHERS, systems + more)


@kernel(inner=True)
def to_selected(case: Case, answer: Answer, polygon: Polygon, search: Search, systems: int, wf: Floats) -> Made:
    """From the branch's end, in the search, to the rigid problem."""
    rows = case.rows
    answer.state[AT_END] = KNOWN_END
    kept = lay_out_kept(rows.r.shape[0], search.joined.p.shape[0], beyond_search(rows, search, wf))
    systems += to_rigid(rows, polygon, search, kept, end_of_branch(rows, search), case.tolerance)
    return Made(SELECTED if stay_selected(search, kept) else MOVED, systems)


@kernel(inner=True)
def near_before(case: Case, answer: Answer, polygon: Polygon, search: Search, wf: Floats) -> Found:
    """REUSE if any forces do: those next to the ones before."""
    rows, loads = case.rows, loads_at(case.rows, wf)
    systems = harden_before(case, polygon, search)
    give_forces(rows, polygon, search, answer.z)
    measure(case, answer, search_own(rows, wf), loads)
    solved = is_solved(answer.measures, FLOOR * case.tolerance)
    holds = solved and certified(case, answer, loads) <= SHARE * case.tolerance
    return Found(REUSE if holds else NONE, OTHERS if holds else NOTHING, systems)


@kernel(inner=True)
def stand_still(case: Case, answer: Answer, polygon: Polygon, search: Search, wf: Floats) -> tuple[bool, int]:
    """Reuse forces of the step before that hold the bodies at rest; whether they do, and systems."""
    rows, own, loads = case.rows, search_own(case.rows, wf), loads_at(case.rows, wf)
    for i in range(answer.z.shape[0]):
        answer.z[i] = max(case.z0[i], 0.0)
    if not judge(case, answer, own, loads) or not is_still(answer.v_plus, rows.v_free, DRIFTING):
        return False, 0
    if is_still(answer.v_plus, rows.v_free, AT_REST):
        return True, 0
    # Speeds that rounding has added up to are taken back in parts: see `share_of_change`.
    systems = harden_before(case, polygon, search)
    give_forces(rows, polygon, search, answer.z)
    for i in range(answer.z.shape[0]):
        before = max(case.z0[i], 0.0)
        answer.z[i] = before + TAKEN_BACK * (answer.z[i] - before)
    return judge(case, answer, own, loads), systems


@kernel(short_loops=True)
def propose(case: Case, answer: Answer, wf: Floats, wi: Ints) -> Found:
    """Reuse the forces of the step before, or find new ones from their modes.

    Parameters
    ----------
    case
        What is asked; at least one contact, a cone of sliding for each, and cones of moments behind these.
    answer
        Output. Where nothing was found, the kernels below go on from it and the workspaces.
    wf, wi
        Workspaces, of length `attempt_floats` and `search_ints`.
    """
    case = with_own(case, own_at(case.rows, wf))
    rows = case.rows
    own, loads = search_own(rows, wf), loads_at(rows, wf)
    fill_own(rows, own)
    for p in range(answer.v_plus.shape[0]):
        answer.v_plus[p] = rows.v_free[p]
    add_anchors(rows, answer.v_plus)
    fill_loads(rows, case.posed, answer.v_plus, own, answer.q, loads)
    answer.state[NEAREST] = math.inf
    answer.state[AT_END] = UNKNOWN_END
    share = 1.0
    if case.selected and may(case, REUSE) and needs_no_force(rows, answer.q, loads):
        for i in range(answer.z.shape[0]):
            answer.z[i] = 0.0
        measure(case, answer, own, loads)
        if is_solved(answer.measures, case.tolerance) and certified(case, answer, loads) <= SHARE * case.tolerance:
            return Found(REUSE, SELECTED, 0)
    if case.warm:
        for i in range(answer.z.shape[0]):
            answer.z[i] = max(case.z0[i], 0.0)
        if case.exact:
            measure(case, answer, own, loads)
            share = share_of_change(answer.measures, STRICTNESS * case.tolerance)
        else:
            recover(rows, answer.z, answer.f, answer.v_plus)
            if not strays(case, answer, loads, DRIFT * STRICTNESS * case.tolerance):
                measure_recovered(rows, case.posed, own, answer, loads)
                share = share_of_change(answer.measures, STRICTNESS * case.tolerance)
        # The rates y of boxed rows, which cones are not judged by, are those of the step before.
        holds = share < 1.0 and may(case, REUSE) and not (case.exact and rows.lo.shape[0] > 0)
        if not (holds and certified(case, answer, loads) <= SHARE * case.tolerance):
            share = 1.0
        # The forces of a single contact are unique: there is nothing to select.
        alone = rows.nc == 1 and rows.nl + rows.lo.shape[0] == 0
        if share == 0.0 and (alone or not case.selected):
            return Found(REUSE, SELECTED, 0)
    if not (case.warm or case.selected):
        return Found(NONE, NOTHING, 0)
    lend_responses(rows, own)
    case = packed_case(case, wf, wi, True)
    rows = case.rows
    search = lay_out(rows, case.starts, wf, wi)
    polygon = polygon_at(rows, case.exact, wf, wi)
    if case.allowed == 0 or not is_for_attempts(rows, polygon, search):
        answer.state[NEAREST] = -1.0
        return Found(NONE, NOTHING, 0)
    if share == 0.0 and may(case, ACTIVE_SET) and still_selected(case, answer, polygon, search):
        return Found(REUSE, SELECTED, 1)
    if case.warm:
        take_forces(rows, polygon, search, case.z0)
        if share == 1.0 and case.selected and may(case, ACTIVE_SET) and are_few(rows, polygon, search):
            eps, memory = end_of_branch(rows, search), beyond_search(rows, search, wf)
            if keep_sticking(rows, polygon, search, eps, answer.q, memory):
                give_forces(rows, polygon, search, answer.z)
                if judge(case, answer, own, loads):
                    return Found(ACTIVE_SET, SELECTED, 1)
                # As if it had not been tried.
                answer.state[NEAREST] = math.inf
                take_forces(rows, polygon, search, case.z0)
    order_elimination(search.trees, rows.spans)
    answer.state[OF_CHANGE] = share
    if not (case.selected and case.warm and may(case, ACTIVE_SET)):
        return Found(NONE, UNFINISHED, 0)
    reached = try_modes(rows, polygon, search)
    answer.state[SOLVED] = reached.systems
    if reached.eps == 0.0:
        if may(case, REUSE):
            stands, more = stand_still(case, answer, polygon, search, wf)
            if stands:
                return Found(REUSE, OTHERS, reached.systems + more)
        return Found(NONE, UNFINISHED, reached.systems)
    if share == 0.0 and as_before(rows, polygon, search, case.z0, KEPT):
        note_spread(case, answer, polygon, search, end_of_branch(rows, search))
        return Found(REUSE, SELECTED, reached.systems)
    made = to_selected(case, answer, polygon, search, reached.systems, wf)
    answer.state[SOLVED] = made.systems
    found = take(case, answer, polygon, search, ACTIVE_SET, made, share, wf)
    return found if found.attempt != NONE else Found(NONE, UNFINISHED, found.systems)


@kernel(short_loops=True)
def propose_nearer(case: Case, answer: Answer, wf: Floats, wi: Ints) -> Found:
    """Continue if `propose` is UNFINISHED, with its arguments and what it has left: ACTIVE_SET from sweeps."""
    case = packed_case(case, wf, wi, False)
    search = lay_out(case.rows, case.starts, wf, wi)
    polygon = polygon_at(case.rows, case.exact, wf, wi)
    if not case.selected:
        return near_before(case, answer, polygon, search, wf)
    if not may(case, ACTIVE_SET):
        return Found(NONE, NOTHING, 0)
    if answer.state[AT_END] == KNOWN_END:
        held, systems = closest_at_once(case, answer, polygon, search, wf)
        if systems > 0:
            # Held forces count as one system in all, as `still_selected` counts them.
            spent = 1 - int(answer.state[SOLVED])
            return Found(REUSE, SELECTED, spent) if held else Found(ACTIVE_SET, SELECTED, systems)
        if case.warm and may(case, REUSE):
            stands, systems = stand_still(case, answer, polygon, search, wf)
            if stands:
                return Found(REUSE, OTHERS, systems)
        return Found(NONE, NOTHING, systems)
    systems, share = 0, answer.state[OF_CHANGE]
    # Small islands have all three starts, large ones with few contacts for each body the first two. Islands with rows
    # of joints have no soft sweeps.
    rows = case.rows
    small, joined = rows.nc <= SMALL, search.joined.p.shape[0] > 0
    soft = not joined and (small or THREE * rows.nc <= LOOSE * rows.v_free.shape[0])
    for start in range(3):
        if start > 0 and answer.state[AT_END] == KNOWN_END:
            break
        if (start == 1 and not soft) or (start == 2 and not (small or joined)):
            continue
        if start == 0:
            reached = try_sweeps(case, polygon, search)
        elif start == 1:
            reached = try_soft_sweeps(case, polygon, search, wf)
        else:
            reached = try_softest(rows, polygon, search, wf)
        if reached.eps == 0.0:
            systems += reached.systems
            continue
        if share == 0.0 and as_before(case.rows, polygon, search, case.z0, KEPT):
            return Found(REUSE, SELECTED, systems + reached.systems)
        made = to_selected(case, answer, polygon, search, reached.systems, wf)
        found = take(case, answer, polygon, search, ACTIVE_SET, made, share, wf)
        systems += found.systems
        if found.attempt != NONE:
            return Found(ACTIVE_SET, found.outcome, systems)
    return Found(NONE, NOTHING, systems)


@kernel(inner=True)
def select_near(
    case: Case, answer: Answer, polygon: Polygon, search: Search, strategy: int, systems: int, wf: Floats
) -> Found:
    """From forces that solve the problem, in z and in the search, to the selected ones if their modes lead there."""
    for i in range(answer.z.shape[0]):
        answer.best[i] = answer.z[i]
    answer.state[NEAREST] = 0.0
    reached = try_modes(case.rows, polygon, search)
    systems += reached.systems
    if reached.eps > 0.0:
        made = to_selected(case, answer, polygon, search, 0, wf)
        found = take(case, answer, polygon, search, strategy, made, 1.0, wf)
        systems += found.systems
        if found.outcome == SELECTED:
            return Found(strategy, SELECTED, systems)
    for i in range(answer.z.shape[0]):
        answer.z[i] = answer.best[i]
    judge(case, answer, search_own(case.rows, wf), loads_at(case.rows, wf))
    return Found(strategy, OTHERS, systems)


@kernel(short_loops=True)
def propose_later(case: Case, answer: Answer, wf: Floats, wi: Ints) -> Found:
    """The turns of LATER if those before have found nothing, with their arguments and what they have left."""
    case = packed_case(case, wf, wi, False)
    search = lay_out(case.rows, case.starts, wf, wi)
    polygon = polygon_at(case.rows, case.exact, wf, wi)
    most, systems, turn, lines = systems_for(case.rows, search, ALL_WORK), 0, 0, 0
    for strategy in LATER:
        turn += 1 if strategy == INTERIOR_POINT else 0
        lines += 1 if strategy == POINTS else 0
        limit = most if answer.state[NEAREST] <= TAKEN else MORE * most
        spare = strategy == INTERIOR_POINT and polygon.exact and turn > CONE_TURNS
        if systems >= limit or not may(case, strategy) or spare:
            continue
        if strategy == POINTS and not answer.state[NEAREST] < math.inf:
            continue
        if strategy == REUSE:
            if not case.warm or (answer.state[OF_CHANGE] == 0.0) != (turn == 0):
                continue
            made = Made(OTHERS, harden_before(case, polygon, search))
        elif strategy == POINTS:
            made = Made(OTHERS, try_points(case, answer, polygon, search, lines - 1, wf))
        elif turn == 1:
            if answer.state[AT_END] == KNOWN_END or not may(case, ACTIVE_SET):
                continue
            reached = select_centrally(case, polygon, search, wf)
            made = Made(NOTHING, reached.systems)
            if reached.eps > 0.0:
                made = to_selected(case, answer, polygon, search, reached.systems, wf)
        else:
            made = Made(OTHERS, try_interior(case, answer, polygon, search, turn - 2, wf))
        systems += made.systems
        if made.outcome != NOTHING:
            found = take(case, answer, polygon, search, strategy, made, 1.0, wf)
            systems += found.systems - made.systems
            if found.attempt > REUSE and found.outcome == OTHERS and turn > 1 and may(case, ACTIVE_SET):
                return select_near(case, answer, polygon, search, strategy, systems, wf)
            if found.attempt != NONE:
                return Found(strategy, found.outcome, systems)
    return Found(NONE, NOTHING, systems)


@kernel(short_loops=True)
def propose_rest(case: Case, answer: Answer, wf: Floats, wi: Ints) -> Found:
    """Hold at rest an island that was at rest, in place of the moving forces in z; NONE where nothing holds it."""
    case = packed_case(case, wf, wi, False)
    rows, n = case.rows, answer.z.shape[0]
    search = lay_out(rows, case.starts, wf, wi)
    polygon = polygon_at(rows, case.exact, wf, wi)
    order_elimination(search.trees, rows.spans)
    memory = lay_out_rest(rows.nc, rows.nc + rows.nr, n, beyond_search(rows, search, wf))
    own, loads, spent = search_own(rows, wf), loads_at(rows, wf), 0
    for i in range(n):
        memory.moving[i] = answer.z[i]
    if case.warm and may(case, REUSE):
        stands, spent = stand_still(case, answer, polygon, search, wf)
        if stands:
            return Found(REUSE, OTHERS, spent)
    rests, systems = try_rest(case, answer, polygon, search, memory, own, loads)
    if rests:
        return Found(REST, OTHERS, spent + systems)
    # The forces found, with what belongs to them.
    for i in range(n):
        answer.z[i] = memory.moving[i]
    judge(case, answer, own, loads)
    return Found(NONE, NOTHING, spent + systems)

"""The attempts at an island's forces: what each is, and the one loop that walks them, judges, and keeps the best.

Forces are *selected* where contacts are redundant (`selection`): those of contacts that give way alike, in the limit of
none. Each attempt leads from what is at hand to forces; `judging` decides whether they solve the problem, whoever found
them. The table is walked from the top, and the first forces that hold end it::

    HELD      none where nothing approaches; forces of the step before that solve the problem still, unique or selected
    MODES     the branch's end, by an active set from the modes of the forces before        (`active_set`)
    SWEEPS    the same from what 20 sweeps of block Gauss-Seidel show                       (`block_gauss_seidel`)
    BRANCH    the branch from large compliance to its end, along lines where it turns       (`selection`, `katzenelson`)
    CLOSER    from the branch's end further, a decade a turn, and proximal points           (`proximal_newton`)
    PATH      the branch's end by an interior point of contacts that give way more; in turns
              after those, and of exact cones, any forces                                   (`central_path`)
    SHIFTS    De Saxce's fixed point: any forces that solve the problem                     (`convex_points`)
    POINTS    proximal points from the best forces so far, each along the line from the one
              before, through the changes of modes one by one                               (`proximal_lines`)

Where MODES to PATH have not found the forces selected, HELD comes once more: proximal points from the forces of the
step before. Where these hardly change they are kept before CLOSER, else behind it, before any others are looked for;
POINTS go on from them. A pile in which no forces are selected, at rest or nearly, has its own in a few systems where
others would take hundreds.

What follows a line is compiled when first asked for, with SWEEPS and CLOSER, and so is what begins with PATH, in most
worlds never. Where MODES or BRANCH come to a line they are made once more, with it. PATH, SHIFTS and POINTS take turns:
what one of them finds in a jam in ten systems takes another ten thousand, and nobody can say which. Each turn has other
numbers, and SHIFTS and POINTS go on from the best that the others have left.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.contacts.kernels.boxed_rows import add_anchors
from lcp.contacts.kernels.contact_response import Polygon
from lcp.contacts.kernels.elimination import order_elimination
from lcp.contacts.kernels.few_contacts import are_few, keep_sticking
from lcp.contacts.kernels.held_forces import (
    DRIFT,
    KEPT,
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
    REACHED,
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
from lcp.contacts.kernels.rigid_forces import lead_back, stay_selected, to_rigid
from lcp.contacts.kernels.search import (
    Search,
    as_before,
    copy_rows,
    fill_own,
    give_forces,
    is_for_attempts,
    lay_out,
    lend_responses,
    search_own,
    take_forces,
)
from lcp.contacts.kernels.selection import NEEDS_LINE, SMALL, Reached, end_of_branch, follow_branch
from lcp.contacts.kernels.ways import (
    ALL_WORK,
    CLOSER_TURNS,
    beyond_search,
    finds_any,
    loads_at,
    own_at,
    polygon_at,
    shifted_at,
    systems_for,
    try_closer,
    try_modes,
    try_path,
    try_points,
    try_shifts,
    try_sweeps,
)
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.residuals import is_solved

# The attempts, in order.
HELD: Final = 0
MODES: Final = 1
SWEEPS: Final = 2
BRANCH: Final = 3
CLOSER: Final = 4
PATH: Final = 5
SHIFTS: Final = 6
POINTS: Final = 7
#: Their names, as `TimeStepping.attempts` and records have them.
NAMES: Final = ("held", "modes", "sweeps", "branch", "closer", "path", "shifts", "points")
#: No attempt: nothing was found.
NONE: Final = -1
#: All may be made.
EVERY: Final = (1 << len(NAMES)) - 1

# In the order in which they are made: what most islands need, and what is compiled when first asked for. One that
# stands there again has other numbers, its turn.
FIRST: Final = (MODES, SWEEPS, BRANCH)
DECADES: Final = (CLOSER,) * CLOSER_TURNS
LATER: Final = (
    HELD, PATH, HELD, *DECADES, HELD, POINTS, PATH, *DECADES, PATH,
    POINTS, POINTS, POINTS, *(8 * (SHIFTS, POINTS, POINTS)),
)  # fmt: skip

# Where nothing is certified a run goes on with forces that are off by less than this part of a condition's scale, and
# ends with others: for those an island has so many times the systems.
TAKEN: Final = 1e-4
MORE: Final = 3
# Whether the branch's end is known, and has been left behind by CLOSER.
UNKNOWN_END: Final = 0.0
KNOWN_END: Final = 1.0
LEFT_END: Final = 2.0

NO_LIMIT: Final = 1 << 40  # on systems
# What an attempt comes to: no forces; forces that are not those selected; those selected; those of z0, which are.
NOTHING: Final = 0
OTHERS: Final = 1
SELECTED: Final = 2
BEFORE: Final = 3
# Nothing so far; `propose_closer` goes on, or `propose_along_lines` first.
UNFINISHED: Final = 4
NEEDS_LINES: Final = 5
MOVED: Final = 6  # others than at the branch's end; they may be those selected all the same, see `lead_back`

# Part of the tolerance within which forces from before still solve a problem: so far below that what is left over adds
# up to nothing. Of those next to them, where contacts of one body contradict one another by the rounding of their gaps.
STRICTNESS: Final = 1e-5
FLOOR: Final = 1e-2
# Forces that change by no more than this part of the largest are held before CLOSER is asked for those selected.
STEADY: Final = 1e-2


class Made(NamedTuple):
    """What one attempt has come to."""

    outcome: int
    systems: int  # solved


class Found(NamedTuple):
    """What the loop has found."""

    attempt: int  # that answered; NONE
    outcome: int
    systems: int  # solved in all attempts


@kernel(inner=True)
def is_next(case: Case, answer: Answer, polygon: Polygon, search: Search, attempt: int, turn: int) -> bool:
    """The condition of an attempt, in its turn."""
    if not case.selected or not may(case, attempt):
        return False
    if attempt == HELD:
        # Before whatever finds any forces, behind what leads to those selected, which of exact cones PATH does not.
        decades_made = turn < 2 or answer.state[AT_END] != UNKNOWN_END
        return case.warm and (turn == 0) == polygon.exact and decades_made
    at_end = answer.state[AT_END] != UNKNOWN_END
    plain = not polygon.exact and search.joined.p.shape[0] == 0
    if attempt == MODES:
        return case.warm
    if attempt == SWEEPS:
        return not at_end and (case.warm or case.rows.nc > SMALL)
    if attempt == BRANCH:
        # Of many contacts alone there is another way, which is faster.
        return not at_end and (case.rows.nc <= SMALL or not plain)
    if attempt == CLOSER:
        return answer.state[AT_END] == KNOWN_END
    if attempt == PATH:
        return search.joined.p.shape[0] == 0 and case.rows.nr > 0 and (finds_any(polygon, turn) or not at_end)
    if attempt == POINTS:
        # The first turn is for forces like those before.
        return answer.state[NEAREST] < math.inf and (turn > 0 or case.warm)
    return attempt == SHIFTS


@kernel(inner=True)
def attempt_forces(
    case: Case,
    answer: Answer,
    polygon: Polygon,
    search: Search,
    attempt: int,
    turn: int,
    share: float,
    lines: int | None,
    closer: int | None,
    later: int | None,
    wf: Floats,
) -> Made:
    """Make one attempt.

    What others need is not compiled: ``later`` is None of FIRST and DECADES, ``closer`` of FIRST.
    """
    rows, end = case.rows, end_of_branch(case.rows, search)
    shifted = shifted_at(rows, search, wf)
    reached = Reached(0.0, 0)
    if closer is None:
        if attempt == MODES:
            reached = try_modes(case, polygon, search, shifted, lines)
        elif attempt == BRANCH:
            reached = follow_branch(rows, polygon, search, shifted, end, lines)
        elif lines is not None:
            reached = try_sweeps(case, polygon, search, shifted)
        else:
            reached = Reached(NEEDS_LINE, 0)
        if lines is None and reached.eps == NEEDS_LINE:
            return Made(NEEDS_LINES, 0)
    elif attempt == CLOSER:
        reached = try_closer(case, answer, polygon, search, turn, wf)
        if reached.eps == 0.0:
            return Made(NOTHING, reached.systems)
        return Made(MOVED, reached.systems)
    if later is not None:
        if attempt == HELD:
            for i in range(answer.z.shape[0]):
                answer.z[i] = max(case.z0[i], 0.0)
            judge(case, answer, search_own(rows, wf), loads_at(rows, wf))
            copy_rows(search.contacts.p, shifted.fixed)
            systems = harden_before(case, polygon, search)
            moves = turn == 1 and answer.state[AT_END] == KNOWN_END
            moves = moves and not as_before(rows, polygon, search, case.z0, STEADY)
            if moves:
                # CLOSER goes on from the forces of the branch's end.
                copy_rows(shifted.fixed, search.contacts.p)
            return Made(NOTHING if moves else OTHERS, systems)
        if attempt == POINTS:
            return Made(OTHERS, try_points(case, answer, polygon, search, turn, wf))
        if attempt == SHIFTS:
            return Made(OTHERS, try_shifts(case, answer, polygon, search, turn, wf))
        reached = try_path(case, polygon, search, turn, wf)
        if finds_any(polygon, turn):
            return Made(OTHERS, reached.systems)
    if reached.eps == 0.0:
        return Made(NOTHING, reached.systems)
    if share == 0.0 and as_before(rows, polygon, search, case.z0, KEPT):
        return Made(BEFORE, reached.systems)
    systems = reached.systems + to_rigid(rows, polygon, search, shifted, reached.eps, case.tolerance, lines)
    if reached.eps != end:
        return Made(OTHERS, systems)
    return Made(SELECTED if stay_selected(search, shifted) else MOVED, systems)


@kernel(inner=True)
def walk(
    case: Case,
    answer: Answer,
    polygon: Polygon,
    search: Search,
    attempts: tuple[int, ...],
    lines: int | None,
    closer: int | None,
    later: int | None,
    share: float,
    most: int,
    wf: Floats,
) -> Found:
    """Make attempts, one after the other, until forces solve the problem; ``lines`` to ``later`` as of one.

    ``share`` is that of `share_of_change`. None is begun behind ``most`` systems, or MORE times as many: see TAKEN.
    """
    rows = case.rows
    own, loads, systems = search_own(rows, wf), loads_at(rows, wf), 0
    for place in range(len(attempts)):
        attempt = attempts[place]
        turn = 0
        for before in range(place):
            turn += 1 if attempts[before] == attempt else 0
        limit = most if answer.state[NEAREST] <= TAKEN else MORE * most
        if systems >= limit or not is_next(case, answer, polygon, search, attempt, turn):
            continue
        made = attempt_forces(case, answer, polygon, search, attempt, turn, share, lines, closer, later, wf)
        systems += made.systems
        if lines is None and made.outcome == NEEDS_LINES:
            return Found(NONE, NEEDS_LINES, 0)
        if made.outcome == BEFORE:
            note_spread(case, answer, polygon, search, end_of_branch(rows, search))
            return Found(HELD, SELECTED, systems)
        if attempt == CLOSER and turn % CLOSER_TURNS == CLOSER_TURNS - 1:
            answer.state[AT_END] = LEFT_END
        if made.outcome == NOTHING:
            continue
        if attempt != CLOSER and made.outcome in (SELECTED, MOVED):
            answer.state[AT_END] = KNOWN_END
        drifts = 0.0 < share < 1.0 and as_before(rows, polygon, search, case.z0, KEPT)
        give_forces(rows, polygon, search, answer.z)
        if drifts:
            for i in range(answer.z.shape[0]):
                before = max(case.z0[i], 0.0)
                answer.z[i] = before + share * (answer.z[i] - before)
        if judge(case, answer, own, loads):
            if made.outcome != MOVED:
                return Found(attempt, made.outcome, systems)
            eps = answer.state[REACHED] if attempt == CLOSER else end_of_branch(rows, search)
            selected, more = lead_back(rows, polygon, search, shifted_at(rows, search, wf), eps)
            return Found(attempt, SELECTED if selected else OTHERS, systems + more)
    return Found(NONE, NOTHING, systems)


@kernel(inner=True)
def near_before(case: Case, answer: Answer, polygon: Polygon, search: Search, wf: Floats) -> Found:
    """HELD where any forces do: those next to the ones before."""
    rows, loads = case.rows, loads_at(case.rows, wf)
    systems = harden_before(case, polygon, search)
    give_forces(rows, polygon, search, answer.z)
    measure(case, answer, search_own(rows, wf), loads)
    solved = is_solved(answer.measures, FLOOR * case.tolerance)
    holds = solved and certified(case, answer, loads) <= SHARE * case.tolerance
    return Found(HELD if holds else NONE, OTHERS if holds else NOTHING, systems)


@kernel(short_loops=True)
def propose(case: Case, answer: Answer, wf: Floats, wi: Ints) -> Found:
    """Make the attempts that most islands need.

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
    if case.selected and may(case, HELD) and needs_no_force(rows, answer.q, loads):
        for i in range(answer.z.shape[0]):
            answer.z[i] = 0.0
        measure(case, answer, own, loads)
        if is_solved(answer.measures, case.tolerance) and certified(case, answer, loads) <= SHARE * case.tolerance:
            return Found(HELD, SELECTED, 0)
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
        holds = share < 1.0 and may(case, HELD) and not (case.exact and rows.lo.shape[0] > 0)
        if not (holds and certified(case, answer, loads) <= SHARE * case.tolerance):
            share = 1.0
        # The forces of a single contact are unique: there is nothing to select.
        alone = rows.nc == 1 and rows.nl + rows.lo.shape[0] == 0
        if share == 0.0 and (alone or not case.selected):
            return Found(HELD, SELECTED, 0)
    if not (case.warm or case.selected):
        return Found(NONE, NOTHING, 0)
    lend_responses(rows, own)
    search = lay_out(rows, case.starts, wf, wi)
    polygon = polygon_at(rows, case.exact, wf, wi)
    if case.allowed == 0 or not is_for_attempts(rows, polygon, search):
        answer.state[NEAREST] = -1.0
        return Found(NONE, NOTHING, 0)
    if share == 0.0 and may(case, MODES) and still_selected(case, answer, polygon, search):
        return Found(HELD, SELECTED, 1)
    if case.warm:
        take_forces(rows, polygon, search, case.z0)
        if share == 1.0 and case.selected and may(case, MODES) and are_few(rows, polygon, search):
            eps, memory = end_of_branch(rows, search), beyond_search(rows, search, wf)
            if keep_sticking(rows, polygon, search, eps, answer.q, memory):
                give_forces(rows, polygon, search, answer.z)
                if judge(case, answer, own, loads):
                    return Found(MODES, SELECTED, 1)
                # As if it had not been tried.
                answer.state[NEAREST] = math.inf
                take_forces(rows, polygon, search, case.z0)
    order_elimination(search.trees, rows.spans)
    if not case.selected:
        return Found(NONE, UNFINISHED, 0)
    answer.state[OF_CHANGE] = share
    if rows.nc > SMALL:
        return Found(NONE, NEEDS_LINES, 0)
    return first_made(walk(case, answer, polygon, search, FIRST, None, None, None, share, NO_LIMIT, wf), answer)


@kernel(inline=True)
def first_made(found: Found, answer: Answer) -> Found:
    """What FIRST have come to."""
    answer.state[SOLVED] = found.systems
    unfinished = found.outcome == NOTHING and answer.state[AT_END] == KNOWN_END
    return Found(found.attempt, UNFINISHED if unfinished else found.outcome, found.systems)


@kernel(short_loops=True)
def propose_along_lines(case: Case, answer: Answer, wf: Floats, wi: Ints) -> Found:
    """Go on where `propose` NEEDS_LINES, with what it was given and has left: FIRST, from the beginning."""
    search = lay_out(case.rows, case.starts, wf, wi)
    polygon = polygon_at(case.rows, case.exact, wf, wi)
    if case.warm:
        take_forces(case.rows, polygon, search, case.z0)
    found = walk(case, answer, polygon, search, FIRST, 1, None, None, answer.state[OF_CHANGE], NO_LIMIT, wf)
    return first_made(found, answer)


@kernel(short_loops=True)
def propose_closer(case: Case, answer: Answer, wf: Floats, wi: Ints) -> Found:
    """Go on where `propose` is UNFINISHED, with what it was given and has left: CLOSER, or HELD where any forces do."""
    search = lay_out(case.rows, case.starts, wf, wi)
    polygon = polygon_at(case.rows, case.exact, wf, wi)
    if not case.selected:
        return near_before(case, answer, polygon, search, wf)
    held, systems = closest_at_once(case, answer, polygon, search, wf) if may(case, CLOSER) else (False, 0)
    if systems > 0:
        # Held forces count as one system in all, as `still_selected` counts them.
        return Found(HELD, SELECTED, 1 - int(answer.state[SOLVED])) if held else Found(CLOSER, SELECTED, systems)
    return walk(case, answer, polygon, search, DECADES, 1, 1, None, 1.0, NO_LIMIT, wf)


@kernel(short_loops=True)
def propose_later(case: Case, answer: Answer, wf: Floats, wi: Ints) -> Found:
    """Make the attempts from PATH on where those before have found nothing, with what they were given and have left."""
    search = lay_out(case.rows, case.starts, wf, wi)
    most = systems_for(case.rows, search, ALL_WORK)
    polygon = polygon_at(case.rows, case.exact, wf, wi)
    return walk(case, answer, polygon, search, LATER, 1, 1, 1, 1.0, most, wf)

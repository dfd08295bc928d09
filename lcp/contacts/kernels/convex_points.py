"""Forces by De Saxce's fixed point: convex problems with a shift, each of which brings the next shift.

Coulomb's law is not that of a convex problem: friction dissipates without pushing bodies apart. With the gaps shifted
by g = mu times the speed of slip it is (`associated`), and the problem of a given g, by proximal points, is solved
from anywhere by Newton's method with a line search. Its slips give the next g. So Acary, Cadoux, Lemarechal and Malick
(2011), who prove that the fixed point exists; that the sequence leads there is experience. It does so from any guess,
where Newton's method on Coulomb's law itself goes round in circles, and it gains a digit in some five problems: the
last ones are left to `proximal_newton`.

Moments are bounded by the normal forces of the point before, and shift nothing: their lengths are small against bodies.

Newton's method keeps forces ``held`` that belong to the velocities, v = v_free + h sum Y held. Their difference to the
forces p of the rates of v is its right-hand side and, times the change of the rates, the slope of its merit function
along a step.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.views import rows_at
from lcp.contacts.kernels.associated import nearest, nearest_moment, slip_speed, way_to_slip
from lcp.contacts.kernels.contact_response import THREE, Polygon, place_rates, tangential_response, width_of
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_panels, solve_panels
from lcp.contacts.kernels.mode_system import form_system, push, spread_slope
from lcp.contacts.kernels.proximal_newton import Approach, approach, natural_misfit, note_forces, put_forces
from lcp.contacts.kernels.search import Search, recover_velocity
from lcp.contacts.kernels.spans import add_within, columns, dot_within
from lcp.kernels import Floats, kernel

# Systems of one convex problem; how far forces held and those of the rates may be apart at its end, in parts of what
# the point moves them by and of the rounding of rates, times the weight.
INNER_SYSTEMS: Final = 30
INNER: Final = 1e-5
ROUNDED: Final = 2e-15
# Evaluations of a line search, and the part of the slope at its beginning that ends it.
LOOKS: Final = 12
FLAT: Final = 0.1
# Relaxation of the shifts.
LEAST_RELAXED: Final = 0.5
MOST_RELAXED: Final = 100.0
# Weight of the proximal points against the contacts' own responses; every so many of them Newton's method is tried on
# Coulomb's law, from misfits that are near, in so many systems.
# How far changes of the forces may turn, and by what part they may differ, that count as the same again.
SAME_WAY: Final = 0.99
SAME_SIZE: Final = 0.5
MOST_WEIGHT: Final = 1e6
TURN: Final = 5
NEAR: Final = 1e-2
NEARER: Final = 0.1
LAST_SYSTEMS: Final = 20
# Points in which the least misfit has to fall to this part of itself: what does not is begun again elsewhere.
PATIENCE: Final = 150
BETTER: Final = 0.7


class Convex(NamedTuple):
    """Memory of the method; forces along normal and axes."""

    base: Floats  # (ncone, 3) p0, as the softness of the normal row leaves it
    weight: Floats  # (ncone, 2) W along the normal and across it
    g: Floats  # (ncone,) shifts
    gain: Floats  # (ncone,) what the last point would have made of them, less them
    held: Floats  # (ncone, 3)
    moved: Floats  # (ncone, 3) what a whole step makes of them
    ds: Floats  # (ncone, 3) change of the rates
    best: Floats  # (ncone, 3)
    before: Floats  # (ncone, 3) p0
    drift: Floats  # (ncone, 3) what the last point has changed
    D: Floats  # (ncone, 3, 3) slopes
    joined: Floats  # (8, nj) the same of rows of joints: base, weight, held, moved, ds, best, before, drift
    x: Floats  # (9,) scratch


@kernel
def convex_floats(ncone: int, nj: int) -> int:
    """Numbers that it keeps."""
    return (3 * 7 + 2 + 2 + 9) * ncone + 8 * nj + 9


@kernel(inner=True)
def lay_out_convex(ncone: int, nj: int, memory: Floats) -> Convex:
    """Cut it from its memory."""
    size = THREE * ncone
    at = 7 * size
    D = memory[at : at + 3 * size].reshape(ncone, THREE, THREE)
    at += 3 * size
    weight = rows_at(memory, at, ncone, 2)
    g = memory[at + 2 * ncone : at + 3 * ncone]
    gain = memory[at + 3 * ncone : at + 4 * ncone]
    at += 4 * ncone
    return Convex(
        rows_at(memory, 0, ncone, THREE),
        weight,
        g,
        gain,
        rows_at(memory, size, ncone, THREE),
        rows_at(memory, 2 * size, ncone, THREE),
        rows_at(memory, 3 * size, ncone, THREE),
        rows_at(memory, 4 * size, ncone, THREE),
        rows_at(memory, 5 * size, ncone, THREE),
        rows_at(memory, 6 * size, ncone, THREE),
        D,
        rows_at(memory, at, 8, nj),
        memory[at + 8 * nj : at + 8 * nj + 9],
    )


@kernel(inner=True)
def begin_point(rows: ContactSystem, polygon: Polygon, search: Search, memory: Convex, rho: float) -> None:
    """Take the forces in the search as p0, of this weight."""
    contacts, joined = search.contacts, search.joined
    for c in range(contacts.p.shape[0]):
        normal = rows.cone_contacts[c]
        weight = rho / contacts.own[normal]
        memory.weight[c, 0] = weight / (1.0 + weight * rows.gamma[normal])
        # Moments move little, but bends as narrow as that are ones that Newton's method jumps over.
        own = tangential_response(rows, polygon, contacts, c) if c < rows.nc else contacts.own[normal]
        memory.weight[c, 1] = rho / own
        for i in range(THREE):
            memory.held[c, i] = contacts.p[c, i]
            memory.base[c, i] = contacts.p[c, i]
        if c < rows.nc:
            memory.base[c, 0] *= memory.weight[c, 0] * contacts.own[c] / rho
    base, weights, held = memory.joined[0], memory.joined[1], memory.joined[2]
    for i in range(joined.p.shape[0]):
        weights[i] = 0.0
        held[i] = joined.p[i]
        base[i] = joined.p[i]
        if joined.own[i] > 0.0:
            weight = rho / joined.own[i]
            weights[i] = weight / (1.0 + weight * joined.gamma[i])
            base[i] = joined.p[i] / (1.0 + weight * joined.gamma[i])
    note_forces(search, memory.before, memory.joined[6])
    recover_velocity(rows, polygon, search)


@kernel(inner=True)
def respond(rows: ContactSystem, polygon: Polygon, search: Search, memory: Convex, step: float) -> tuple[float, float]:
    """Fill the forces at the rates s + step ds, with their slopes; returns how far they are from those held, and slope.

    The first is a speed, the second that of the merit function along the step, times -1.
    """
    contacts, joined = search.contacts, search.joined
    x, a, b = memory.x[:3], memory.x[3:6], memory.x[6:9]
    off = 0.0
    slope = 0.0
    for c in range(contacts.p.shape[0]):
        s, ds, p = contacts.s[c], memory.ds[c], contacts.p[c]
        normal, tangent = memory.weight[c, 0], memory.weight[c, 1]
        x[0] = memory.base[c, 0]
        x[1] = memory.base[c, 1] - tangent * (s[1] + step * ds[1])
        x[2] = memory.base[c, 2] - tangent * (s[2] + step * ds[2])
        if c < rows.nc:
            own = contacts.own[c]
            x[0] -= normal * (s[0] + step * ds[0] + memory.g[c])
            nearest(polygon, rows.mu[c], normal, tangent, x, a, b, p, memory.D[c])
        else:
            own = tangential_response(rows, polygon, contacts, c)
            nearest_moment(polygon, rows.r[c], x, p, memory.D[c])
        for i in range(THREE):
            miss = p[i] - ((1.0 - step) * memory.held[c, i] + step * memory.moved[c, i])
            slope += ds[i] * miss
            off = max(off, own * abs(miss))
    base, weights, held, moved, ds_of = (
        memory.joined[0],
        memory.joined[1],
        memory.joined[2],
        memory.joined[3],
        memory.joined[4],
    )
    for i in range(joined.p.shape[0]):
        force = base[i] - weights[i] * (joined.s[i] + step * ds_of[i])
        joined.slope[i] = weights[i] if joined.lo[i] < force < joined.hi[i] else 0.0
        joined.p[i] = min(max(force, joined.lo[i]), joined.hi[i])
        miss = joined.p[i] - ((1.0 - step) * held[i] + step * moved[i])
        slope += ds_of[i] * miss
        off = max(off, joined.own[i] * abs(miss))
    return off, slope


@kernel(inner=True)
def stand_still(search: Search, memory: Convex) -> None:
    """No step yet: the rates do not change."""
    memory.ds[:] = 0.0
    memory.joined[4, :] = 0.0


@kernel(inner=True)
def newton_step(rows: ContactSystem, polygon: Polygon, search: Search, memory: Convex) -> bool:
    """Fill the changes of velocities, in trial, and of rates, and the forces moved; False without factors."""
    contacts, joined, dv = search.contacts, search.joined, search.trial
    nv = dv.shape[0]
    for i in range(nv):
        dv[i] = 0.0
    x = memory.x[:3]
    for c in range(contacts.p.shape[0]):
        D, B = memory.D[c], contacts.B[c]
        for i in range(THREE):
            D[i, 0] *= memory.weight[c, 0]
            D[i, 1] *= memory.weight[c, 1]
            D[i, 2] *= memory.weight[c, 1]
            x[i] = contacts.p[c, i] - memory.held[c, i]
        spread_slope(rows, polygon, c, D, B)
        push(rows, polygon, c, x, dv)
    first = rows.nc + rows.nr
    held, moved, ds = memory.joined[2], memory.joined[3], memory.joined[4]
    for i in range(joined.p.shape[0]):
        a, b, c, d = columns(rows.spans, first + i, nv)
        add_within(a, b, c, d, rows.h * (joined.p[i] - held[i]), rows.Y[first + i], dv)
    form_system(rows, polygon, contacts, joined.slope, search.trees, search.W, search.K)
    if not factor_panels(search.trees, search.K, search.W[0]):
        return False
    solve_panels(search.trees, search.K, dv)
    place_rates(rows, polygon, dv, 0.0, memory.ds)
    for c in range(contacts.p.shape[0]):
        for i in range(THREE):
            change = 0.0
            for j in range(THREE):
                change += memory.D[c, i, j] * memory.ds[c, j]
            memory.moved[c, i] = contacts.p[c, i] - change
    for i in range(joined.p.shape[0]):
        a, b, c, d = columns(rows.spans, first + i, nv)
        ds[i] = dot_within(a, b, c, d, rows.J[first + i], dv)
        moved[i] = joined.p[i] - joined.slope[i] * ds[i]
    return True


@kernel(inner=True)
def line_search(rows: ContactSystem, polygon: Polygon, search: Search, memory: Convex) -> float:
    """The share of the step at which the merit function is flat; forces are those at its end."""
    _, first = respond(rows, polygon, search, memory, 0.0)
    _, last = respond(rows, polygon, search, memory, 1.0)
    # The slope grows along the step, from below 0 (here times -1): a whole step where it is below 0 still.
    if not first > 0.0 or last >= -FLAT * first:
        return 1.0
    low, high = 0.0, 1.0
    at_low, at_high = first, last
    share = 1.0
    for _ in range(LOOKS):
        share = low + at_low * (high - low) / (at_low - at_high)
        share = min(max(share, low + 0.05 * (high - low)), high - 0.05 * (high - low))
        _, slope = respond(rows, polygon, search, memory, share)
        if abs(slope) <= FLAT * first:
            break
        if slope > 0.0:
            low, at_low = share, slope
        else:
            high, at_high = share, slope
    return share


@kernel(inner=True)
def solve_convex(rows: ContactSystem, polygon: Polygon, search: Search, memory: Convex, enough: float) -> int:
    """Newton's method on the convex problem of the shifts and p0 in memory; the systems solved."""
    contacts, joined, v = search.contacts, search.joined, search.v
    stand_still(search, memory)
    off, _ = respond(rows, polygon, search, memory, 0.0)
    solved = 0
    while off > enough and solved < INNER_SYSTEMS:
        solved += 1
        if not newton_step(rows, polygon, search, memory):
            return solved
        share = line_search(rows, polygon, search, memory)
        for i in range(v.shape[0]):
            v[i] += share * search.trial[i]
        for c in range(contacts.p.shape[0]):
            for i in range(THREE):
                contacts.s[c, i] += share * memory.ds[c, i]
                memory.held[c, i] += share * (memory.moved[c, i] - memory.held[c, i])
        for i in range(joined.p.shape[0]):
            joined.s[i] += share * memory.joined[4, i]
            memory.joined[2, i] += share * (memory.joined[3, i] - memory.joined[2, i])
        stand_still(search, memory)
        off, _ = respond(rows, polygon, search, memory, 0.0)
    return solved


@kernel(inner=True)
def begin_shifts(rows: ContactSystem, polygon: Polygon, search: Search, memory: Convex) -> None:
    """Fill the shifts of the slips in the search."""
    for c in range(rows.nc):
        memory.g[c] = rows.mu[c] * slip_speed(polygon, search.contacts.s[c])
        memory.gain[c] = 0.0


@kernel(inner=True)
def next_shifts(rows: ContactSystem, polygon: Polygon, search: Search, memory: Convex, relaxation: float) -> float:
    """Move the shifts towards those of the slips in the search, by Aitken's relaxation (Irons and Tuck 1969).

    Where bodies slide the sequence may creep for hundreds of points by the same little, until a contact opens or holds.
    Returns the relaxation, from the one before.
    """
    product = 0.0
    square = 0.0
    before = 0.0
    for c in range(rows.nc):
        gain = rows.mu[c] * slip_speed(polygon, search.contacts.s[c]) - memory.g[c]
        change = gain - memory.gain[c]
        product -= memory.gain[c] * change
        square += change * change
        before += memory.gain[c] * memory.gain[c]
        memory.moved[c, 0] = gain
    if before > 0.0:
        factor = product / square if square > 0.0 else MOST_RELAXED
        relaxation = min(max(relaxation * factor, LEAST_RELAXED), MOST_RELAXED)
    for c in range(rows.nc):
        memory.gain[c] = memory.moved[c, 0]
        memory.g[c] = max(0.0, memory.g[c] + relaxation * memory.gain[c])
    return relaxation


@kernel(inner=True)
def go_on_drifting(rows: ContactSystem, polygon: Polygon, search: Search, memory: Convex) -> bool:
    """Where a point has changed the forces as the one before did, go on to the first contact that opens or slips.

    Where gaps contradict one another, each point moves forces along the self-stress by what rates are off, for as long
    as nothing opens or slips. Returns whether they were moved.
    """
    contacts, joined = search.contacts, search.joined
    square = 0.0
    product = 0.0
    before = 0.0
    for c in range(contacts.p.shape[0]):
        own = contacts.own[rows.cone_contacts[c]]
        for i in range(THREE):
            change = contacts.p[c, i] - memory.before[c, i]
            square += own * change * change
            product += own * change * memory.drift[c, i]
            before += own * memory.drift[c, i] * memory.drift[c, i]
            memory.drift[c, i] = change
    for i in range(joined.p.shape[0]):
        change = joined.p[i] - memory.joined[6, i]
        square += joined.own[i] * change * change
        product += joined.own[i] * change * memory.joined[7, i]
        before += joined.own[i] * memory.joined[7, i] * memory.joined[7, i]
        memory.joined[7, i] = change
    if not (product > SAME_WAY * math.sqrt(square * before) and SAME_SIZE * before < square < before / SAME_SIZE):
        return False
    far = math.inf
    for c in range(contacts.p.shape[0]):
        if memory.drift[c, 0] < 0.0 and contacts.p[c, 0] > 0.0:
            far = min(far, -contacts.p[c, 0] / memory.drift[c, 0])
        far = min(far, way_to_slip(polygon, width_of(rows, c), contacts.p[c], memory.drift[c]))
    for i in range(joined.p.shape[0]):
        change = memory.joined[7, i]
        if change != 0.0 and joined.lo[i] < joined.p[i] < joined.hi[i]:
            far = min(far, ((joined.hi[i] if change > 0.0 else joined.lo[i]) - joined.p[i]) / change)
    if far == math.inf:
        return False
    for c in range(contacts.p.shape[0]):
        for i in range(THREE):
            contacts.p[c, i] += far * memory.drift[c, i]
            memory.drift[c, i] = 0.0
    for i in range(joined.p.shape[0]):
        joined.p[i] += far * memory.joined[7, i]
        memory.joined[7, i] = 0.0
    return True


@kernel(inner=True)
def follow_shifts(
    rows: ContactSystem,
    polygon: Polygon,
    search: Search,
    memory: Convex,
    near: Approach,
    most: int,
    enough: float,
    rho: float,
) -> tuple[int, float]:
    """From the forces in the search to some of the rigid problem; systems solved, and the misfit in parts of the speed.

    ``most`` systems, about; ``enough`` is the misfit that ends it.
    """
    spent = 0
    least = natural_misfit(rows, polygon, search) / search.speed
    if not least <= 1.0:
        search.contacts.p[:] = 0.0
        least = natural_misfit(rows, polygon, search) / search.speed
    note_forces(search, memory.best, memory.joined[5])
    misfit = least
    turn = 0
    memory.drift[:] = 0.0
    memory.joined[7, :] = 0.0
    relaxation = 1.0
    begin_shifts(rows, polygon, search, memory)
    progress, last = least, 0
    while least > enough and spent < most and turn - last < PATIENCE:
        turn += 1
        # The forces of the point before are p0, those best so far are kept aside.
        weight = min(MOST_WEIGHT, rho * max(1.0, 1e-3 / max(misfit, 1e-300)))
        begin_point(rows, polygon, search, memory, weight)
        near_enough = weight * search.speed * (INNER * min(misfit, 1.0) + ROUNDED)
        solved = solve_convex(rows, polygon, search, memory, near_enough)
        spent += 1 + solved
        # Of a point that is not there yet, the forces that belong to the velocities.
        put_forces(search, memory.held, memory.joined[2])
        for c in range(rows.nc, rows.r.shape[0]):
            search.contacts.p[c, 0] = search.contacts.p[rows.cone_contacts[c], 0]
        misfit = natural_misfit(rows, polygon, search) / search.speed
        relaxation = next_shifts(rows, polygon, search, memory, relaxation)
        if misfit < least:
            least = misfit
            note_forces(search, memory.best, memory.joined[5])
        if not go_on_drifting(rows, polygon, search, memory) and turn % TURN == 0 and misfit < NEAR:
            # The convex points go on from where they are, if Newton's method does not come much nearer.
            note_forces(search, memory.moved, memory.joined[3])
            more, newton = approach(rows, polygon, search, near, LAST_SYSTEMS)
            spent += more
            newton = newton / search.speed
            if newton < least:
                least = newton
                note_forces(search, memory.best, memory.joined[5])
            if newton < NEARER * misfit:
                misfit = newton
                begin_shifts(rows, polygon, search, memory)
            else:
                put_forces(search, memory.moved, memory.joined[3])
                recover_velocity(rows, polygon, search)
        if least < BETTER * progress:
            progress, last = least, turn
    put_forces(search, memory.best, memory.joined[5])
    recover_velocity(rows, polygon, search)
    return spent, least

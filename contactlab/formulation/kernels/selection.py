"""The forces selected among those of redundant contacts: of contacts that give way, all alike, in the limit of none.

Where contacts are redundant many forces solve the rigid problem, and all but one are an accident of the method. With a
compliance eps of every contact, in every direction, rates s are answered by P(-s / eps) (`contact_response`), and the
velocities solve an equation without redundancy. It is solved for ever smaller eps, or at once from the modes that given
forces show (semismooth Newton steps, as an active set). Rows of joints are rigid meanwhile: their forces are kept from
one eps to the next.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.formulation.kernels.block_gauss_seidel import sweep
from contactlab.formulation.kernels.contact_response import (
    THREE,
    Contacts,
    Polygon,
    fill_slope,
    force_of,
    place_rates,
)
from contactlab.formulation.kernels.elimination import factor_panels, solve_panels
from contactlab.formulation.kernels.mode_system import form_system, push
from contactlab.formulation.kernels.proximal_points import JOINT_COMPLIANCE, ROUNDING, choose
from contactlab.formulation.kernels.rows import Rows
from contactlab.formulation.kernels.search import UNKNOWN, Joined, Search, recover_velocity, take_forces
from contactlab.formulation.kernels.spans import add_within, dot_within
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# Compliance of the end of the branch: this part of the least own response of a contact, at least that of the largest.
LEAST_COMPLIANCE: Final = 1e-7
SMALLEST_COMPLIANCE: Final = 1e-9
# From one compliance of the branch to the next; Newton's steps for each, from its neighbour and from given modes.
SHRINK: Final = 0.03
STEPS: Final = 8
STEPS_AT_ONCE: Final = 6
# So few modes may change at any time.
FEW: Final = 8
# Sweeps to forces near those selected, and contacts up to which the branch is followed where these do not lead there.
SWEEPS: Final = 20
SMALL: Final = 32
# Steps after which the next one is longer; the factor, and the systems, with which a branch that resists is given up.
EASY: Final = 3
SHORTEST: Final = 0.9
# Of discs: this many times as many, since corners turn, and the misfit in parts of the speeds that ends them.
TURNING: Final = 2
SETTLED: Final = 1e-8
MOST_SYSTEMS: Final = 150
# Rounds in which the forces of rows of joints are kept.
JOINT_ROUNDS: Final = 3


@kernel(inner=True)
def answer(rows: Rows, polygon: Polygon, search: Search, eps: float) -> None:
    """Fill velocities and forces of contacts that give way by eps in given modes, and of rows of joints likewise."""
    contacts, joined, v = search.contacts, search.joined, search.v
    nv = v.shape[0]
    first = rows.nc + rows.nr
    # In given modes forces are linear in the rates: of no velocity, those of the known terms.
    for p in range(nv):
        search.trial[p] = 0.0
        v[p] = rows.v_free[p]
    place_rates(rows, polygon, search.trial, 1.0, contacts.s)
    for c in range(rows.nc):
        soft_force(rows, polygon, contacts, c, eps)
        push(rows, polygon, c, contacts.p[c], v)
    for i in range(joined.p.shape[0]):
        joined.s[i] = rows.k[first + i]
        stiff_force(joined, i)
        add_within(0, nv, nv, nv, rows.h * joined.p[i], rows.Y[first + i], v)


@kernel(inner=True)
def soft_force(rows: Rows, polygon: Polygon, contacts: Contacts, c: int, eps: float) -> None:
    """Fill the force of a contact that gives way by eps in its mode, for its rates."""
    s = contacts.s[c]
    x = -s[0] / (rows.gamma[c] + eps)
    force_of(polygon, rows.mu[c], contacts.mode[c], x, -s[1] / eps, -s[2] / eps, contacts.p[c])


@kernel(inner=True)
def stiff_force(joined: Joined, i: int) -> None:
    """Fill the force of a row of joints for its rate: at its bound, or between."""
    if joined.slope[i] > 0.0:
        joined.p[i] = (JOINT_COMPLIANCE * joined.own[i] * joined.base[i] - joined.s[i]) * joined.slope[i]


@kernel(inner=True)
def descend(rows: Rows, polygon: Polygon, search: Search, eps: float, most: int) -> int:
    """From the modes in the search to those of contacts that give way by eps; systems solved, -1 where they go on.

    A primal-dual active set method: modes give forces and rates, which give modes. Where many of these change at once,
    they are not about to settle.
    """
    contacts, joined, v = search.contacts, search.joined, search.v
    nv = v.shape[0]
    first = rows.nc + rows.nr
    # Of a contact that hardly carries the corner of a disc is rounding, and goes on turning.
    settled = (SETTLED if polygon.exact else ROUNDING) * search.speed
    found = False
    for step in range(TURNING * most if polygon.exact else most):
        for c in range(rows.nc):
            fill_slope(polygon, rows.mu[c], contacts.mode[c], 1.0 / (rows.gamma[c] + eps), 1.0 / eps, contacts.B[c])
        form_system(rows, polygon, contacts, joined.slope, search.trees, search.W, search.K)
        if not factor_panels(search.trees, search.K, search.W[0]):
            return -1
        if found:
            return step
        answer(rows, polygon, search, eps)
        solve_panels(search.trees, search.K, v)
        place_rates(rows, polygon, v, 1.0, contacts.s)
        for c in range(rows.nc):
            soft_force(rows, polygon, contacts, c, eps)
        for i in range(joined.p.shape[0]):
            joined.s[i] = dot_within(0, nv, nv, nv, rows.J[first + i], v) + rows.k[first + i]
            stiff_force(joined, i)
        changed, turned, misfit = choose(rows, polygon, search, eps, 1.0)
        if not turned or (misfit <= settled and not polygon.exact):
            return step + 1
        if step > 0 and changed > max(FEW, rows.nc // 4) and not polygon.exact:
            return -1
        found = misfit <= settled
    return -1


@kernel(inner=True)
def keep_joints(rows: Rows, polygon: Polygon, search: Search, eps: float) -> int:
    """Make the rows of joints rigid while contacts give way by eps; steps made, or -1."""
    joined = search.joined
    steps = 0
    for _ in range(JOINT_ROUNDS if joined.p.shape[0] > 0 else 0):
        for i in range(joined.p.shape[0]):
            joined.base[i] = joined.p[i]
        more = descend(rows, polygon, search, eps, STEPS_AT_ONCE)
        if more < 0:
            return -1
        steps += more
    return steps


@kernel(inner=True)
def end_of_branch(search: Search) -> float:
    """The least compliance."""
    least = math.inf
    largest = 0.0
    for c in range(search.contacts.mode.shape[0]):
        least = min(least, search.contacts.own[c])
        largest = max(largest, search.contacts.own[c])
    return max(LEAST_COMPLIANCE * least, SMALLEST_COMPLIANCE * largest)


@kernel(inner=True)
def select(rows: Rows, polygon: Polygon, search: Search, warm: bool, z0: FloatArray) -> int:
    """Find the forces at `end_of_branch`; the systems solved, 0 where that failed.

    ``warm``: the forces of z0 are in the search; their modes are tried first.
    """
    end = end_of_branch(search)
    if warm:
        recover_velocity(rows, polygon, search)
        choose(rows, polygon, search, 0.0, 1.0)
        solved = settle(rows, polygon, search, end, STEPS_AT_ONCE)
        if solved > 0:
            return solved
        take_forces(rows, polygon, search, z0)
    else:
        for c in range(rows.nc):
            search.contacts.mode[c] = UNKNOWN
            for i in range(THREE):
                search.contacts.p[c, i] = 0.0
        for i in range(search.joined.p.shape[0]):
            search.joined.p[i] = search.joined.base[i]
    if warm or rows.nc > SMALL:
        recover_velocity(rows, polygon, search)
        for _ in range(SWEEPS):
            sweep(rows, polygon, search, end)
        recover_velocity(rows, polygon, search)
        for i in range(search.joined.p.shape[0]):
            search.joined.base[i] = search.joined.p[i]
        choose(rows, polygon, search, end, 1.0)
        solved = settle(rows, polygon, search, end, STEPS)
        if solved > 0:
            return solved
    # Of contacts alone there is another way, which is faster where there are many.
    small = rows.nc <= SMALL or search.joined.p.shape[0] > 0 or polygon.exact
    return follow_branch(rows, polygon, search, end) if small else 0


@kernel(inner=True)
def settle(rows: Rows, polygon: Polygon, search: Search, eps: float, most: int) -> int:
    """From the modes in the search to forces at eps, rows of joints rigid; the systems solved, or 0."""
    solved = descend(rows, polygon, search, eps, most)
    if solved < 0:
        return 0
    more = keep_joints(rows, polygon, search, eps)
    return 0 if more < 0 else solved + more


@kernel(inner=True)
def follow_branch(rows: Rows, polygon: Polygon, search: Search, end: float) -> int:
    """Follow the forces from contacts that give way much to ``end``; the systems solved, 0 where the branch ends."""
    contacts, joined = search.contacts, search.joined
    nv = search.v.shape[0]
    for p in range(nv):
        search.v[p] = rows.v_free[p]
    place_rates(rows, polygon, search.v, 1.0, contacts.s)
    largest = 0.0
    for c in range(rows.nc):
        largest = max(largest, contacts.own[c])
        contacts.mode[c] = UNKNOWN
        for i in range(THREE):
            contacts.p[c, i] = 0.0
    first = rows.nc + rows.nr
    for i in range(joined.p.shape[0]):
        joined.base[i] = min(max(0.0, joined.lo[i]), joined.hi[i])
        joined.p[i] = joined.base[i]
        joined.s[i] = dot_within(0, nv, nv, nv, rows.J[first + i], search.v) + rows.k[first + i]
    eps = largest
    last = largest
    shrink = SHRINK
    solved = 0
    choose(rows, polygon, search, eps, 1.0)
    while True:
        for c in range(rows.nc):
            search.before[c] = contacts.mode[c]
        more = descend(rows, polygon, search, eps, STEPS)
        if more >= 0:
            solved += more
            for i in range(joined.p.shape[0]):
                joined.base[i] = joined.p[i]
            if eps == end:
                break
            last = eps
            if more <= EASY:
                shrink = max(SHRINK, shrink * shrink)
        else:
            # A shorter way from where the branch was left.
            solved += STEPS
            shrink = math.sqrt(shrink)
            if shrink > SHORTEST or solved > MOST_SYSTEMS:
                return 0
            for c in range(rows.nc):
                contacts.mode[c] = search.before[c]
            for i in range(joined.p.shape[0]):
                joined.p[i] = joined.base[i]
                free = joined.own[i] > 0.0 and joined.lo[i] < joined.p[i] < joined.hi[i]
                joined.slope[i] = 1.0 / (joined.gamma[i] + JOINT_COMPLIANCE * joined.own[i]) if free else 0.0
        eps = max(end, shrink * last)
    more = keep_joints(rows, polygon, search, end)
    return 0 if more < 0 else solved + more


@kernel(inner=True)
def follow(rows: Rows, polygon: Polygon, search: Search, eps: float) -> int:
    """From the modes in the search, on a branch, to a smaller compliance; the systems solved, 0 where that failed."""
    joined = search.joined
    for i in range(joined.p.shape[0]):
        joined.base[i] = joined.p[i]
    return settle(rows, polygon, search, eps, STEPS)

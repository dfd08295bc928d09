"""Modes of contacts that give way, by an interior point: where an active set method goes round in circles.

The central path (`interior_steps`) of the friction pyramids, each contact giving way by eps along
its normal and tangents, leads from any state of motion to one where modes show. A step of it is a system of
`mode_system`; the slopes are those of the barrier. A cone of moments repeats the normal's variables of the contact that
it leans on: they make the same steps.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.views import rows_at
from lcp.contacts.kernels.active_set import descend
from lcp.contacts.kernels.contact_response import THREE, Polygon, place_rates, tangential_response, width_of
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import factor_panels, solve_panels
from lcp.contacts.kernels.interior_steps import (
    BACK_OFF,
    CENTRE,
    CENTRING,
    FAILURES,
    LEAST_STEP,
    PREDICT,
    SHORT,
    InteriorWork,
    aim,
    fill_misses,
    fill_steps,
    impulses_of,
    linearise,
)
from lcp.contacts.kernels.katzenelson import Shifted
from lcp.contacts.kernels.mode_system import form_system, push, spread_slope
from lcp.contacts.kernels.proximal_newton import WORTH, Approach, go_on, natural_misfit
from lcp.contacts.kernels.proximal_points import choose
from lcp.contacts.kernels.search import Search
from lcp.contacts.kernels.selection import Reached, along_branch, end_of_branch
from lcp.kernels import Floats, kernel

# Means of z w, in units of the problem, at which modes are looked at; steps to each, and of the active set from there.
MEANS: Final = (1e-11, 1e-14)
PATH_STEPS: Final = 40
MODE_STEPS: Final = 8
# Power of the corrector on the way to modes.
POWER: Final = 3.0
# From one compliance to the next, from where modes were found on the way to the end of the branch.
SHRINK: Final = 0.1
# A force tells from a rate by this share of its row's own response.
SHARE: Final = 1e-5
# Edges of the pyramid in a cone's place; starts of its path in units of the problem, and powers of the corrector.
EDGES: Final = 16
STARTS: Final = (1.0, 10.0)
POWERS: Final = (2.0, 1.0)
# Means at which the cones are tried, each as long as a round of so many systems brings them ten times nearer.
TRIES: Final = (1e-6, 1e-7, 1e-8, 1e-11, 1e-14)
ROUNDS: Final = 3
ROUND: Final = 100
GAIN: Final = 0.1
# With less friction a pyramid has hardly an inside.
LEAST_MU: Final = 1e-3


class Path(NamedTuple):
    """A point of the central path, and memory for the next step."""

    mu: Floats  # (ncone,)
    edges: Floats  # (k, 2) of the pyramids
    z: Floats  # (ncone, k + 2) variables of each cone's LCP
    w: Floats
    work: InteriorWork


@kernel
def path_floats(nc: int, ncone: int, nr: int) -> int:
    """Numbers that the path keeps, of nr rows F of all cones."""
    # A cone of moments has as many edges as contacts do.
    edges = -(-nr // max(nc, 1))
    width = max(2 * (1 + edges), EDGES + 2)
    return (8 * width + 2 * THREE + THREE * THREE + 1) * ncone + 2 * EDGES


@kernel(inner=True)
def lay_out_path(polygon: Polygon, search: Search, memory: Floats) -> Path:
    """Cut it from its memory."""
    ncone = search.contacts.mode.shape[0]
    edges = polygon.turns[: 2 * polygon.r]
    if polygon.exact:
        edges = rows_at(memory, memory.shape[0] - 2 * EDGES, EDGES, 2)
        for j in range(EDGES):
            edges[j, 0] = math.cos(2.0 * math.pi * j / EDGES)
            edges[j, 1] = math.sin(2.0 * math.pi * j / EDGES)
    width = edges.shape[0] + 2
    size = ncone * width
    z = rows_at(memory, 0, ncone, width)
    w = rows_at(memory, size, ncone, width)
    dz = rows_at(memory, 2 * size, ncone, width)
    dw = rows_at(memory, 3 * size, ncone, width)
    second = rows_at(memory, 4 * size, ncone, width)
    miss = rows_at(memory, 5 * size, ncone, width)
    d = rows_at(memory, 6 * size, ncone, width)
    e = rows_at(memory, 7 * size, ncone, width)
    at = 8 * size
    g = rows_at(memory, at, ncone, THREE)
    du = rows_at(memory, at + 3 * ncone, ncone, THREE)
    D = memory[at + 6 * ncone : at + 15 * ncone].reshape(ncone, THREE, THREE)
    mu = memory[at + 15 * ncone : at + 16 * ncone]
    work = InteriorWork(dz, dw, second, miss, d, e, D, g, du)
    return Path(mu, edges, z, w, work)


@kernel(inner=True)
def give_way(gamma: float, eps: float, D: Floats, g: Floats) -> None:
    """Turn dp = g - D du, u = s + E p of a contact that gives way, into dp = g - D ds, in place.

    E has gamma + eps along the normal and eps across it; of D the first row has but its first entry.
    """
    normal = 1.0 / (1.0 + D[0, 0] * (gamma + eps))
    a = 1.0 + eps * D[1, 1]
    b = eps * D[1, 2]
    c = eps * D[2, 1]
    d = 1.0 + eps * D[2, 2]
    inverse = 1.0 / (a * d - b * c)
    D[0, 0] *= normal
    g[0] *= normal
    coupled = gamma + eps
    g1 = g[1] - coupled * D[1, 0] * g[0]
    g2 = g[2] - coupled * D[2, 0] * g[0]
    x1 = D[1, 0] * (1.0 - coupled * D[0, 0])
    x2 = D[2, 0] * (1.0 - coupled * D[0, 0])
    g[1] = inverse * (d * g1 - b * g2)
    g[2] = inverse * (a * g2 - c * g1)
    y1, z1, y2, z2 = D[1, 1], D[1, 2], D[2, 1], D[2, 2]
    D[1, 0] = inverse * (d * x1 - b * x2)
    D[2, 0] = inverse * (a * x2 - c * x1)
    D[1, 1] = inverse * (d * y1 - b * y2)
    D[2, 1] = inverse * (a * y2 - c * y1)
    D[1, 2] = inverse * (d * z1 - b * z2)
    D[2, 2] = inverse * (a * z2 - c * z1)


@kernel(inner=True)
def mean_product(rows: ContactSystem, polygon: Polygon, search: Search, path: Path, eps: float) -> float:
    """Fill p, v and s of z, and miss = w - (M z + q); the mean of z w is returned."""
    contacts, v = search.contacts, search.v
    impulses_of(path.edges, path.z, contacts.p)
    for i in range(v.shape[0]):
        v[i] = rows.v_free[i]
    for c in range(rows.r.shape[0]):
        push(rows, polygon, c, contacts.p[c], v)
    place_rates(rows, polygon, v, 1.0, contacts.s)
    u = path.work.du
    for c in range(rows.r.shape[0]):
        u[c, 0] = contacts.s[c, 0] + (rows.gamma[rows.cone_contacts[c]] + eps) * contacts.p[c, 0]
        u[c, 1] = contacts.s[c, 1] + eps * contacts.p[c, 1]
        u[c, 2] = contacts.s[c, 2] + eps * contacts.p[c, 2]
    return fill_misses(path.edges, path.mu, path.z, path.w, u, path.work.miss)


@kernel(inner=True)
def move(rows: ContactSystem, polygon: Polygon, search: Search, path: Path, eps: float, form: bool) -> bool:
    """Fill du of a step; the matrix is formed where asked. False where it has no factors."""
    contacts, work, dv = search.contacts, path.work, search.trial
    for i in range(dv.shape[0]):
        dv[i] = 0.0
    for c in range(rows.r.shape[0]):
        give_way(rows.gamma[rows.cone_contacts[c]], eps, work.D[c], work.g[c])
        push(rows, polygon, c, work.g[c], dv)
        if form:
            spread_slope(rows, polygon, c, work.D[c], contacts.B[c])
    if form:
        form_system(rows, polygon, contacts, search.joined.slope, search.trees, search.W, search.K)
        if not factor_panels(search.trees, search.K, search.W[0]):
            return False
    solve_panels(search.trees, search.K, dv)
    place_rates(rows, polygon, dv, 0.0, work.du)
    for c in range(rows.r.shape[0]):
        D = work.D[c]
        du = work.du[c]
        g = work.g[c]
        x = du[0]
        y = du[1]
        z = du[2]
        du[0] += (rows.gamma[rows.cone_contacts[c]] + eps) * (g[0] - D[0, 0] * x)
        du[1] += eps * (g[1] - D[1, 0] * x - D[1, 1] * y - D[1, 2] * z)
        du[2] += eps * (g[2] - D[2, 0] * x - D[2, 1] * y - D[2, 2] * z)
    return True


@kernel(inner=True)
def start_path(rows: ContactSystem, polygon: Polygon, search: Search, path: Path) -> float:
    """Fill z and w of a start, in units of the problem; the product z w in these units is returned."""
    contacts = search.contacts
    place_rates(rows, polygon, rows.v_free, 1.0, contacts.s)
    speed = 0.0
    for c in range(rows.r.shape[0]):
        for i in range(THREE):
            speed = max(speed, abs(contacts.s[c, i]))
    if speed == 0.0:
        speed = 1.0
    total = 0.0
    for c in range(rows.r.shape[0]):
        own = max(contacts.own[rows.cone_contacts[c]], tangential_response(rows, polygon, contacts, c))
        width = width_of(rows, c) if rows.r[c] > 0 else 0.0
        path.mu[c] = max(width, LEAST_MU) if width > 0.0 else 0.0
        last = path.z.shape[1] - 1
        for i in range(last):
            path.z[c, i] = speed / own
            path.w[c, i] = speed
        # Of one normal the variables begin alike.
        path.z[c, 0] = path.z[rows.cone_contacts[c], 0]
        path.z[c, last] = speed
        path.w[c, last] = speed / own
        if path.mu[c] == 0.0:
            for i in range(1, last + 1):
                path.z[c, i] = 0.0
                path.w[c, i] = 0.0
        total += speed * speed / own
    return total / rows.r.shape[0]


@kernel(inner=True)
def follow_path(
    rows: ContactSystem,
    polygon: Polygon,
    search: Search,
    path: Path,
    eps: float,
    power: float,
    target: float,
    budget: int,
) -> tuple[int, float]:
    """Move along the path until the mean of z w is ``target``; steps made, and that mean. p, v and s are those of z.

    The corrector aims at the predictor's share of the mean, to the ``power`` given.
    """
    z, w, work = path.z, path.w, path.work
    steps = 0
    failures = 0
    mean = mean_product(rows, polygon, search, path, eps)
    while mean > target and steps < budget and failures < FAILURES:
        steps += 1
        for c in range(rows.r.shape[0]):
            for i in range(z.shape[1]):
                work.second[c, i] = 0.0
        longest = 0.0
        goal = 0.0
        for stage in range(3):
            if stage == CENTRE:
                if longest >= LEAST_STEP:
                    break
                for c in range(rows.r.shape[0]):
                    for i in range(z.shape[1]):
                        work.second[c, i] = 0.0
                goal = CENTRING * mean
            linearise(path.edges, path.mu, z, w, goal, work)
            if not move(rows, polygon, search, path, eps, stage == PREDICT):
                return steps, mean
            longest = fill_steps(path.edges, path.mu, z, w, goal, work)
            if stage == PREDICT:
                goal = aim(z, w, longest, mean, power, work)
        step = min(1.0, BACK_OFF * longest)
        if step < SHORT:
            failures += 1
        if step == 0.0:
            break
        for c in range(rows.r.shape[0]):
            for i in range(z.shape[1]):
                z[c, i] += step * work.dz[c, i]
                w[c, i] += step * work.dw[c, i]
        mean = mean_product(rows, polygon, search, path, eps)
    return steps, mean


@kernel(inner=True)
def select_by_path(
    rows: ContactSystem, polygon: Polygon, search: Search, path: Path, shifted: Shifted, softer: float
) -> Reached:
    """Find the forces at `end_of_branch` by the path of contacts that give way ``softer`` times as much."""
    end = end_of_branch(rows, search)
    eps = softer * end
    unit = start_path(rows, polygon, search, path)
    solved = 0
    for share in MEANS:
        steps, mean = follow_path(rows, polygon, search, path, eps, POWER, share * unit, PATH_STEPS)
        solved += steps
        if mean > share * unit:
            break
        choose(rows, polygon, search, eps, SHARE)
        steps = descend(rows, polygon, search, eps, MODE_STEPS)
        if steps > 0:
            reached = along_branch(rows, polygon, search, shifted, eps, SHRINK * eps, end, SHRINK, 1)
            return Reached(reached.eps, solved + steps + reached.systems)
    return Reached(0.0, solved)


@kernel(inner=True)
def cones_by_path(
    rows: ContactSystem, polygon: Polygon, search: Search, path: Path, near: Approach, turn: int, most: int
) -> int:
    """Find forces of rigid contacts with exact cones by the path of pyramids in their place; systems solved.

    At some points of the path proximal points of the cones are tried from there. ``most`` systems, about.
    """
    unit = start_path(rows, polygon, search, path)
    for c in range(rows.r.shape[0]):
        for i in range(path.z.shape[1]):
            path.z[c, i] *= STARTS[turn]
            path.w[c, i] *= STARTS[turn]
    solved = 0
    for share in TRIES:
        budget = min(PATH_STEPS, most - solved)
        steps, mean = follow_path(rows, polygon, search, path, 0.0, POWERS[turn], share * unit, budget)
        solved += steps
        misfit = natural_misfit(rows, polygon, search)
        for _ in range(ROUNDS):
            last = misfit
            if not last > WORTH * search.speed or solved >= most:
                return solved
            steps, misfit = go_on(rows, polygon, search, near, last, min(ROUND, most - solved))
            solved += steps
            if misfit > GAIN * last:
                break
        if misfit <= WORTH * search.speed or mean > share * unit:
            return solved
    return solved

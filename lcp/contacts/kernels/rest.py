"""Rest: bodies at rest that can stay at rest do so.

Rigid contacts with friction may have several motions. A pile of logs can stand where friction holds it; by the forces
of contacts of equal compliance it falls. Both obey every law of contact. If the forces found move an island that was at
rest, forces that hold it are sought. They are the least forces of least motion::

    minimise  1/2 |v+|^2 + 1/2 eps |f|^2,     v+ = v_free + h M^-1 J' f,     f in the friction cones

with |v+| in the metric of M. This problem is convex. For eps towards 0 its least value is 0 if and only if forces in
the cones hold the bodies; no contact slips then, so that Coulomb's law holds too. Otherwise the bodies move.

The forces are f = P(p0 - s / eps) at the rates s = J v+, where P moves a point to the nearest one of its cone, and p0
is 0. Newton's method with a line search finds v+ for three values of eps, each from the velocities before. Proximal
points, with p0 the forces before, then take the rest of eps out (Rockafellar 1976).

Forces are sought only for contacts that press in the motion found, or would press without friction (the same problem
with mu = 0). A particle between two walls is not held by a force that the walls might exert on one another through it.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.views import view_2d
from lcp.contacts.kernels.active_set import final_compliance, range_of_responses
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    FrictionCone,
    convert_stiffness,
    enclosing_edge,
    fill_contact_rates,
)
from lcp.contacts.kernels.contact_system import ContactSystem, dot_of_row
from lcp.contacts.kernels.elimination import solve_panels
from lcp.contacts.kernels.island_acceptance import SAFETY_FACTOR, IslandProblem, IslandSolution, accept_or_keep_best
from lcp.contacts.kernels.mode_system import apply_contact_impulse
from lcp.contacts.kernels.solver_state import (
    SolverState,
    copy_rows,
    factor_system,
    load_forces,
    recover_velocity,
    store_forces,
)
from lcp.kernels import Floats, kernel

#: Rates, relative to the largest free rate, up to which a contact is at rest before the step.
STILL: Final = 1e-6
#: Velocities, relative to the free ones, that count as rest; and up to which rounding can add up during reuse.
AT_REST: Final = 1e-12
DRIFTING: Final = 1e-10
# Velocities, relative to the free ones, at the end compliance, above which there is no rest.
NO_REST: Final = 1e-3
# Compliances, relative to the smallest diagonal response: of the least forces, down to the end compliance, and of the
# following proximal points. With stiffer contacts a system loses more digits.
SOFT: Final = (1e-1, 1e-3)
NEARER: Final = (1e-5, 1e-5, 1e-4, 1e-4, 1e-3)
MAX_POINTS: Final = 12
# Systems of one convex problem; evaluations of a line search, and the fraction of its first slope at which it ends.
MAX_SYSTEMS: Final = 30
MAX_EVALUATIONS: Final = 12
FLAT: Final = 0.1
# Accuracy of a convex problem, relative to the speed; of a proximal point, relative to the remaining motion, and to
# rounding.
EXACT: Final = 1e-10
POINT_ACCURACY: Final = 1e-3
ROUNDED: Final = 2e-15
# Effect of a normal force on its contact's rate, relative to the free rates, from which on the contact presses.
PRESSING: Final = 1e-6


class Rest(NamedTuple):
    """Memory of the method; forces along normal and axes."""

    base: Floats  # (nc, 3) p0
    held: Floats  # (nc, 3) forces that belong to the velocities
    moved: Floats  # (nc, 3) the same after a whole step
    ds: Floats  # (nc, 3) change of the rates in a whole step
    D: Floats  # (nc, 3, 3) slopes of P
    presses: Floats  # (nc,) 1 for a contact that may have a force
    mu: Floats  # (nc,) coefficients: 0, or the contacts' own
    k: Floats  # (m,) terms of the rows
    moving: Floats  # (n,) the forces that move the island
    x: Floats  # (9,) scratch


@kernel
def rest_float_size(nc: int, m: int, n: int) -> int:
    """Return the number of floats of `Rest`, for m rows [N; F] and n LCP variables."""
    return 23 * nc + m + n + 9


@kernel(inner=True)
def rest_views(nc: int, m: int, n: int, memory: Floats) -> Rest:
    """Return views of ``memory``, of `rest_float_size` numbers, as a `Rest`."""
    size = CONTACT_DIM * nc
    at = 4 * size
    D = memory[at : at + CONTACT_DIM * size].reshape(nc, CONTACT_DIM, CONTACT_DIM)
    at += CONTACT_DIM * size
    presses, mu, at = memory[at : at + nc], memory[at + nc : at + 2 * nc], at + 2 * nc
    k, at = memory[at : at + m], at + m
    moving, at = memory[at : at + n], at + n
    return Rest(
        view_2d(memory, 0, nc, CONTACT_DIM),
        view_2d(memory, size, nc, CONTACT_DIM),
        view_2d(memory, 2 * size, nc, CONTACT_DIM),
        view_2d(memory, 3 * size, nc, CONTACT_DIM),
        D,
        presses,
        mu,
        k,
        moving,
        memory[at : at + 9],
    )


@kernel(inner=True)
def is_still(v: Floats, v_free: Floats, part: float) -> bool:
    """Return True if every velocity is at most the fraction ``part`` of the largest one without contact forces."""
    fastest, free = 0.0, 0.0
    for j in range(v.shape[0]):
        fastest, free = max(fastest, abs(v[j])), max(free, abs(v_free[j]))
    return fastest <= part * free


@kernel(inner=True)
def free_rate(rows: ContactSystem) -> float:
    """Return the largest rate of the rows [N; F] without contact forces."""
    speed = 0.0
    for i in range(rows.nc + rows.nr):
        speed = max(speed, abs(dot_of_row(rows, i, rows.J[i], rows.v_free)))
    return speed


@kernel(inner=True)
def may_rest(rows: ContactSystem, v: Floats, v_plus: Floats) -> bool:
    """Return True if an island of rigid contacts was at rest at v on still surfaces, and the found forces move it."""
    if rows.nc < 2 or rows.nb + rows.nl + rows.lo.shape[0] > 0 or rows.r.shape[0] != rows.nc:
        return False
    speed = free_rate(rows)
    moves = False
    for i in range(rows.nc + rows.nr):
        if abs(dot_of_row(rows, i, rows.J[i], v)) > STILL * speed or rows.gamma[i] > 0.0:
            return False
        if i >= rows.nc and abs(rows.k[i]) > STILL * speed:
            return False
        moves = moves or abs(dot_of_row(rows, i, rows.J[i], v_plus)) > STILL * speed
    return moves


@kernel(inner=True)
def with_terms(rows: ContactSystem, mu: Floats, k: Floats) -> ContactSystem:
    """Return the rows with other friction coefficients (nc,) and terms (m,)."""
    return ContactSystem(
        rows.h, rows.nc, rows.nr, rows.nl, rows.nb, rows.r, mu, rows.cone_contacts, rows.J, rows.Y, k, rows.gamma,
        rows.gammaE, rows.lo, rows.hi, rows.v_free, rows.Mv, rows.column_ranges, rows.diagonal,
        rows.J_entries, rows.Y_entries, rows.offsets,
    )  # fmt: skip


@kernel(inner=True)
def project_to_ray(x: Floats, a: Floats, p: Floats, D: Floats) -> None:
    """Fill p (3,) with the projection of x (3,) to the ray of a (3,), and add a a' / |a|^2 to D (3, 3).

    If x points away from the ray, p and D are left as they are.
    """
    square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
    share = (x[0] * a[0] + x[1] * a[1] + x[2] * a[2]) / square
    if share > 0.0:
        for i in range(CONTACT_DIM):
            p[i] = share * a[i]
            for j in range(CONTACT_DIM):
                D[i, j] += a[i] * a[j] / square


@kernel(inner=True)
def project_to_circular_cone(mu: float, x: Floats, a: Floats, p: Floats, D: Floats) -> None:
    """Fill p (3,) with the projection to the circular cone of an x (3,) outside it, and add dp / dx to D (3, 3).

    In the polar cone, where the projection is 0, p and D are left as they are. a (3,) is scratch.
    """
    size = math.sqrt(x[1] * x[1] + x[2] * x[2])
    if mu * size <= -x[0]:
        return
    a[0], a[1], a[2] = 1.0, mu * x[1] / size, mu * x[2] / size
    project_to_ray(x, a, p, D)
    # Across the ray the point rotates with x.
    y, z, turns = -x[2] / size, x[1] / size, mu * p[0] / size
    D[1, 1] += turns * y * y
    D[1, 2] += turns * y * z
    D[2, 1] += turns * y * z
    D[2, 2] += turns * z * z


@kernel(inner=True)
def project_to_pyramid(
    polygon: FrictionCone, mu: float, j: int, x: Floats, a: Floats, b: Floats, p: Floats, D: Floats
) -> None:
    """Fill p (3,) with the projection to the pyramid of an x (3,) outside it, and add dp / dx to D (3, 3).

    The edges j and j + 1 enclose the tangential part of x. In the polar cone, p and D are left as they are. a and b
    (3,) are scratch.
    """
    a[0], a[1], a[2] = (
        1.0,
        mu * polygon.edge_directions[j, 0],
        mu * polygon.edge_directions[j, 1] if polygon.r > 1 else 0.0,
    )
    if polygon.r == 1:
        project_to_ray(x, a, p, D)
        return
    b[0], b[1], b[2] = 1.0, mu * polygon.edge_directions[j + 1, 0], mu * polygon.edge_directions[j + 1, 1]
    # By symmetry the nearest point lies between the same two edges.
    square = 1.0 + mu * mu
    product = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    along = x[0] * a[0] + x[1] * a[1] + x[2] * a[2]
    next_along = x[0] * b[0] + x[1] * b[1] + x[2] * b[2]
    first, second = along * square - next_along * product, next_along * square - along * product
    if first < 0.0 or second < 0.0:
        project_to_ray(x, a if first >= second else b, p, D)
        return
    scale = 1.0 / (square * square - product * product)
    for i in range(CONTACT_DIM):
        p[i] = scale * (first * a[i] + second * b[i])
    # The plane of the side: remove the component along its normal a x b.
    n0, n1, n2 = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    size = n0 * n0 + n1 * n1 + n2 * n2
    a[0], a[1], a[2] = n0, n1, n2
    for i in range(CONTACT_DIM):
        D[i, i] += 1.0
        for k in range(CONTACT_DIM):
            D[i, k] -= a[i] * a[k] / size


@kernel(inner=True)
def project_to_cone(polygon: FrictionCone, mu: float, x: Floats, a: Floats, b: Floats, p: Floats, D: Floats) -> None:
    """Fill p (3,) with the point of the cone nearest to x (3,), and D (3, 3) = dp / dx; a, b (3,) are scratch."""
    # fewer than two directions: no third component
    p[:] = 0.0
    D[:] = 0.0
    if polygon.r < 2:
        x[2] = 0.0
    # without friction the cone is a half-line
    if polygon.r == 0 or mu == 0.0:
        p[0] = max(x[0], 0.0)
        D[0, 0] = 1.0 if x[0] > 0.0 else 0.0
        return
    # whether the point is inside the cone
    edge = 0
    if polygon.exact:
        inside = x[0] >= 0.0 and x[1] * x[1] + x[2] * x[2] <= mu * mu * x[0] * x[0]
    else:
        edge, along, next_along = enclosing_edge(polygon.r, polygon.edge_directions, x[1], x[2])
        inside = x[0] >= 0.0 and along + next_along <= mu * x[0]
    # inside: the point itself; outside: the nearest point of the boundary
    if inside:
        for i in range(min(CONTACT_DIM, 1 + polygon.r)):
            p[i] = x[i]
            D[i, i] = 1.0
    elif polygon.exact:
        project_to_circular_cone(mu, x, a, p, D)
    else:
        project_to_pyramid(polygon, mu, edge, x, a, b, p, D)


@kernel(inner=True)
def evaluate_forces(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, memory: Rest, eps: float, step: float
) -> tuple[float, float]:
    """Fill the forces P(p0 - (s + step ds) / eps) of pressing contacts, and their slopes D; return two measures.

    - The largest difference from the forces that belong to the velocities, times the diagonal response: a speed.
    - Minus the slope of the convex function along the step.
    """
    contacts, x, a, b = search.contacts, memory.x[:3], memory.x[3:6], memory.x[6:9]
    # pressing contacts
    off, slope = 0.0, 0.0
    for c in range(rows.nc):
        p, ds = contacts.p[c], memory.ds[c]
        if memory.presses[c] == 0.0:
            continue
        # proximal point of the force after the step, projected to the cone
        for i in range(CONTACT_DIM):
            x[i] = memory.base[c, i] - (contacts.s[c, i] + step * ds[i]) / eps
        project_to_cone(polygon, rows.mu[c], x, a, b, p, memory.D[c])
        # difference from the force that belongs to the velocities
        for i in range(CONTACT_DIM):
            miss = p[i] - ((1.0 - step) * memory.held[c, i] + step * memory.moved[c, i])
            slope += ds[i] * miss
            off = max(off, contacts.diagonal[c] * abs(miss))
    return off, slope


@kernel(inner=True)
def newton_step(rows: ContactSystem, polygon: FrictionCone, search: SolverState, memory: Rest, eps: float) -> bool:
    """Fill the Newton step: changes of velocities and rates, and the forces after a whole step.

    Return False if the matrix has no factors.
    """
    contacts, dv, x = search.contacts, search.trial_v, memory.x[:3]
    # The right-hand side: the difference of the forces at these rates from the held ones.
    dv[:] = 0.0
    for c in range(rows.nc):
        D = memory.D[c]
        for i in range(CONTACT_DIM):
            for j in range(CONTACT_DIM):
                D[i, j] = D[i, j] / eps if memory.presses[c] > 0.0 else 0.0
            x[i] = contacts.p[c, i] - memory.held[c, i]
        copy_rows(D, contacts.B[c])
        convert_stiffness(rows, polygon, c, contacts.B[c])
        apply_contact_impulse(rows, polygon, c, x, dv)
    # form and factor the matrix, then solve for the velocities
    if not factor_system(rows, polygon, search):
        return False
    solve_panels(search.trees, search.K, dv)
    # rates of the contacts, and their forces by the slopes
    fill_contact_rates(rows, polygon, dv, 0.0, memory.ds)
    for c in range(rows.nc):
        for i in range(CONTACT_DIM):
            change = 0.0
            for j in range(CONTACT_DIM):
                change += memory.D[c, i, j] * memory.ds[c, j]
            memory.moved[c, i] = contacts.p[c, i] - change
    return True


@kernel(inner=True)
def line_search(rows: ContactSystem, polygon: FrictionCone, search: SolverState, memory: Rest, eps: float) -> float:
    """Return the fraction of the Newton step, at most 1, at which the convex function is nearly flat along the step."""
    _, first = evaluate_forces(rows, polygon, search, memory, eps, 0.0)
    _, last = evaluate_forces(rows, polygon, search, memory, eps, 1.0)
    # The slope grows along the step, from below 0 (here times -1): use the whole step if it is still below 0.
    if not first > 0.0 or last >= -FLAT * first:
        return 1.0
    low, high, at_low, at_high, share = 0.0, 1.0, first, last, 1.0
    for _ in range(MAX_EVALUATIONS):
        share = low + at_low * (high - low) / (at_low - at_high)
        share = min(max(share, low + 0.05 * (high - low)), high - 0.05 * (high - low))
        _, slope = evaluate_forces(rows, polygon, search, memory, eps, share)
        if abs(slope) <= FLAT * first:
            break
        if slope > 0.0:
            low, at_low = share, slope
        else:
            high, at_high = share, slope
    return share


@kernel(inner=True)
def solve_convex(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, memory: Rest, eps: float, enough: float
) -> int:
    """Solve the convex problem at compliance eps by Newton's method; return the number of linear systems solved.

    Start from the velocities ``search.v`` and their forces ``memory.held``, with ``memory.base`` as p0. Stop if forces
    and rates agree to the speed ``enough``, after `MAX_SYSTEMS` systems, or if a matrix has no factors. The state then
    has the new forces, velocities and rates.
    """
    contacts, v = search.contacts, search.v
    memory.ds[:] = 0.0
    solved = 0
    off, _ = evaluate_forces(rows, polygon, search, memory, eps, 0.0)
    while off > enough and solved < MAX_SYSTEMS:
        solved += 1
        if not newton_step(rows, polygon, search, memory, eps):
            break
        share = line_search(rows, polygon, search, memory, eps)
        for i in range(v.shape[0]):
            v[i] += share * search.trial_v[i]
        for c in range(rows.nc):
            for i in range(CONTACT_DIM):
                contacts.s[c, i] += share * memory.ds[c, i]
                memory.held[c, i] += share * (memory.moved[c, i] - memory.held[c, i])
        memory.ds[:] = 0.0
        off, _ = evaluate_forces(rows, polygon, search, memory, eps, 0.0)
    # Forces of these velocities.
    copy_rows(memory.held, contacts.p)
    recover_velocity(rows, polygon, search)
    return solved


@kernel(inner=True)
def least_forces(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, memory: Rest, end: float
) -> tuple[bool, int]:
    """Compute the least forces of least motion for the contacts marked in ``memory.presses``.

    The state has the forces and velocities. Return whether they bring the bodies to rest, and the number of linear
    systems solved.
    """
    contacts, speed = search.contacts, free_rate(rows)
    free, moving, systems = 0.0, math.inf, 0
    least, _ = range_of_responses(rows, search)
    for j in range(search.v.shape[0]):
        free = max(free, abs(rows.v_free[j]))
    contacts.p[:] = 0.0
    recover_velocity(rows, polygon, search)
    for point in range(len(SOFT) + 1 + MAX_POINTS):
        # The compliance: softer values, the end value, the values of proximal points.
        after = point - len(SOFT) - 1
        eps = end
        if point < len(SOFT):
            eps = SOFT[point] * least
        elif after >= 0:
            eps = NEARER[min(after, len(NEARER) - 1)] * least
        # p0, and the forces of the present velocities.
        copy_rows(contacts.p, memory.held)
        copy_rows(contacts.p, memory.base)
        if after < 0:
            memory.base[:] = 0.0
        enough = EXACT if after < 0 else max(ROUNDED, POINT_ACCURACY * moving / free)
        systems += solve_convex(rows, polygon, search, memory, eps, speed * enough)
        # The remaining speed.
        before, moving = moving, 0.0
        for j in range(search.v.shape[0]):
            moving = max(moving, abs(search.v[j]))
        moves = after >= -1 and moving > NO_REST * free
        if moves or (after >= len(NEARER) and moving > 0.5 * before):
            break
    return moving <= DRIFTING * free, systems


@kernel(inline=True)
def presses(search: SolverState, c: int, speed: float) -> bool:
    """Return True if the normal force of contact c in the state changes its rate by more than rounding of ``speed``."""
    return search.contacts.diagonal[c] * search.contacts.p[c, 0] > PRESSING * speed


@kernel(inner=True)
def mark_pressing(rows: ContactSystem, search: SolverState, speed: float, marks: Floats) -> None:
    """Add 2 to the mark of each contact that has a nonzero mark and presses; ``marks`` (nc,) is changed."""
    for c in range(rows.nc):
        if marks[c] > 0.0 and presses(search, c, speed):
            marks[c] += 2.0


@kernel(inner=True)
def try_rest(
    case: IslandProblem,
    answer: IslandSolution,
    polygon: FrictionCone,
    search: SolverState,
    memory: Rest,
) -> tuple[bool, int]:
    """Look for forces that hold the bodies at rest; return whether they are accepted, and the number of systems solved.

    If there are any, ``answer.z`` has them. ``memory.moving`` are the forces found before, which move the bodies.
    """
    rows = case.rows
    end, speed = final_compliance(rows, search), free_rate(rows)
    # A gap within the tolerance counts as closed: gaps of one body contradict one another by rounding.
    tolerance = SAFETY_FACTOR * case.tolerance * speed
    memory.k[:] = 0.0
    memory.mu[:] = 0.0
    for c in range(rows.nc):
        memory.presses[c] = 1.0 if rows.k[c] <= tolerance else 0.0
        if rows.k[c] < -tolerance:
            return False, 0
    # Bodies that must close a gap in the step are not at rest.
    load_forces(rows, polygon, search, memory.moving)
    for c in range(rows.nc):
        if rows.k[c] > tolerance and presses(search, c, speed):
            return False, 0
    # Contacts that press in the found motion, or without friction, have a mark of 3 or more.
    mark_pressing(rows, search, speed, memory.presses)
    _, systems = least_forces(with_terms(rows, memory.mu, memory.k), polygon, search, memory, end)
    mark_pressing(rows, search, speed, memory.presses)
    for c in range(rows.nc):
        memory.presses[c] = 1.0 if memory.presses[c] >= 3.0 else 0.0
    # The holding forces.
    rests, more = least_forces(with_terms(rows, rows.mu, memory.k), polygon, search, memory, end)
    systems += more
    if not rests:
        return False, systems
    store_forces(rows, polygon, search, answer.z)
    return accept_or_keep_best(case, answer, search.contacts.diagonal, search.loads), systems

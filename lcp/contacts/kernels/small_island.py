"""Small islands whose contacts continue to stick, solved for the forces: for example a robot on its feet.

If contacts have fewer rows than there are velocities, a system of forces is smaller. Forces of sticking contacts with
compliance eps, along normal and axes, solve::

    (h J Y' + eps) p = -(J v_free + k)

symmetric and regular. The proximal points that make them rigid use the same factors (`proximal_points`). The modes must
be the first and last modes of `active_set`; otherwise there is no result. Velocities are not formed; the acceptance
test forms them.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.compiler.kernels import copy_array
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.active_set import SELECTED_WITHIN
from lcp.contacts.kernels.contact_law import CONTACT_DIM, STICK, FrictionCone, mode_of, tangential_response
from lcp.contacts.kernels.contact_system import ContactSystem, add_on
from lcp.contacts.kernels.mode_system import contact_row
from lcp.contacts.kernels.proximal_points import ROUNDING
from lcp.contacts.kernels.solver_state import SolverState
from lcp.kernels import Floats, kernel
from lcp.kernels.active_set_block import append, border, solve_factored

# Maximum number of proximal points: each leaves a fraction of the rates as small as eps.
MAX_POINTS: Final = 20


@kernel(inline=True)
def is_small_island(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> bool:
    """Return True if an island has few contacts, with polygons whose axes are friction directions, and one tree."""
    alone = search.trees.order.shape[0] == 1 and search.joined.lo.shape[0] == 0 and rows.r.shape[0] == rows.nc
    axes = polygon.r > 1 and polygon.r % 2 == 0 and not polygon.exact
    return alone and axes and CONTACT_DIM * rows.nc <= rows.v_free.shape[0]


@kernel(inner=True)
def all_stick(rows: ContactSystem, polygon: FrictionCone, search: SolverState, p: Floats, s: Floats) -> bool:
    """Return True if all contacts stick, judged by forces p that would cancel their rates -s (see `update_modes`)."""
    turns = polygon.edge_directions
    # A circle within the polygon, which contains most forces.
    x, y = 1.0 + turns[1, 0], turns[1, 1]
    within = 0.25 * (x * x + y * y)
    for c in range(rows.nc):
        i = CONTACT_DIM * c
        soft = tangential_response(rows, polygon, search.contacts, c)
        x = p[i] + s[i] / search.contacts.diagonal[c]
        y = p[i + 1] + s[i + 1] / soft
        z = p[i + 2] + s[i + 2] / soft
        bound = rows.mu[c] * x
        if not bound > 0.0:
            return False
        if y * y + z * z > within * bound * bound and mode_of(polygon, rows.mu[c], c, x, y, z) != STICK:
            return False
    return True


@kernel(inner=True)
def form_delassus(rows: ContactSystem, polygon: FrictionCone, columns: Floats, A: Floats) -> None:
    """Fill A = h J Y' (3 nc, 3 nc) of the contacts' rows along normal and axes; ``columns`` (nv, 3 nc) is scratch."""
    nv, m = columns.shape
    for i in range(m):
        Y = rows.Y[contact_row(rows, polygon, i // CONTACT_DIM, i % CONTACT_DIM)]
        for p in range(nv):
            columns[p, i] = rows.h * Y[p]
    A[:] = 0.0
    for i in range(m):
        J = rows.J[contact_row(rows, polygon, i // CONTACT_DIM, i % CONTACT_DIM)]
        for p in range(nv):
            # Most of a robot's joints do not move this foot.
            if J[p] != 0.0:
                add_on(0, m, J[p], columns[p], A[i])


@kernel(inner=True)
def take_rows(last: int, factors: Floats, A: Floats, begin: int, row: Floats) -> None:
    """Subtract sum_i factors_i A_i over i < last from ``row``, in its columns from ``begin`` on."""
    for i in range(last):
        add_on(begin, row.shape[0], -factors[i], A[i], row)


@kernel(inner=True)
def factor(F: Floats, pivots: Floats, column: Floats) -> bool:
    """Factor the symmetric F = L D L' in place, see `border`; False if F is not positive definite.

    Entries left of the diagonal are not used. ``column`` is scratch.
    """
    for k in range(F.shape[0]):
        for j in range(k):
            column[j] = F[j, k]
        pivot = border(F, F, pivots, k, True, column, column, F[k, k])
        if not pivot > 0.0:
            return False
        append(F, F, pivots, k, True, column, column, pivot)
    return True


@kernel(inner=True)
def place_rates_of(rows: ContactSystem, A: Floats, load: Floats, p: Floats, s: Floats) -> float:
    """Fill s (3 nc,) with -(load + A p), where the normals add their softness times p; return the largest |s_i|.

    A = h J Y' is symmetric except for rounding, so its rows are used as columns.
    """
    # rates without softness
    for i in range(s.shape[0]):
        s[i] = -load[i]
    take_rows(p.shape[0], p, A, 0, s)
    # softness of the normals, and the largest rate
    largest = 0.0
    for i in range(s.shape[0]):
        if i % CONTACT_DIM == 0:
            s[i] -= rows.gamma[i // CONTACT_DIM] * p[i]
        largest = max(largest, abs(s[i]))
    return largest


@kernel(inner=True)
def solve_all_sticking(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, eps: float, q: Floats, memory: Floats
) -> bool:
    """Solve for the equal-compliance forces in one system of the forces; return False if a contact does not stick.

    On True ``search.contacts.p`` has the rigid forces near the compliant ones. On False it is unchanged: a contact was
    open or slides, the matrix has no factors, or the rigid forces are too far from the compliant ones.

    Parameters
    ----------
    eps
        The compliance at the path's end.
    q
        Right-hand side of the LCP, which begins with the rates of the rows [N; F] without forces.
    memory
        Workspace, of nv^2 + 15 nc numbers.
    """
    # views of the workspace
    nv, m = rows.v_free.shape[0], CONTACT_DIM * rows.nc
    A, F, vectors = view_2d(search.K, 0, m, m), view_2d(memory, 0, m, m), view_2d(memory, nv * m, 5, m)
    load, p, s, change, pivots = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    forces = search.contacts.p
    # present forces and free rates; all contacts must press
    for i in range(m):
        load[i] = q[contact_row(rows, polygon, i // CONTACT_DIM, i % CONTACT_DIM)]
        p[i] = forces[i // CONTACT_DIM, i % CONTACT_DIM]
        if i % CONTACT_DIM == 0 and not p[i] > 0.0:
            return False
    # Delassus matrix, and a check that all contacts stick at the present forces
    form_delassus(rows, polygon, view_2d(memory, 0, nv, m), A)
    place_rates_of(rows, A, load, p, s)
    if not all_stick(rows, polygon, search, p, s):
        return False
    # forces of the sticking contacts with compliance eps
    for i in range(m):
        p[i] = -load[i]
        for j in range(m):
            F[i, j] = A[i, j]
        F[i, i] += eps + (rows.gamma[i // CONTACT_DIM] if i % CONTACT_DIM == 0 else 0.0)
    if not factor(F, pivots, change):
        return False
    solve_factored(F, F, pivots, m, p)
    # the compliant forces must stick too
    s[:] = 0.0
    if not all_stick(rows, polygon, search, p, s):
        return False
    # The rates of compliant contacts.
    for i in range(m):
        s[i] = eps * p[i]
    # proximal points: remove the compliance with the same factors
    last = math.inf
    moved = 0.0
    for _ in range(MAX_POINTS):
        copy_array(s, change)
        solve_factored(F, F, pivots, m, change)
        # step of the forces, and the total motion
        step = 0.0
        for i in range(m):
            p[i] += change[i]
            step = max(step, abs(change[i]))
        moved += step
        # stop at rounding, or if the residual no longer halves
        misfit = place_rates_of(rows, A, load, p, s)
        if misfit <= ROUNDING * search.speed or not misfit < 0.5 * last:
            break
        last = misfit
    if not all_stick(rows, polygon, search, p, s):
        return False
    largest = 0.0
    for i in range(0, m, CONTACT_DIM):
        largest = max(largest, p[i])
    if moved > SELECTED_WITHIN * largest:
        return False
    for i in range(m):
        forces[i // CONTACT_DIM, i % CONTACT_DIM] = p[i]
    return True

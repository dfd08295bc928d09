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

from lcp.compiler.kernels import copy_array, fill_array
from lcp.compiler.views import view_1d, view_2d
from lcp.contacts.kernels.active_set import SELECTED_WITHIN
from lcp.contacts.kernels.contact_law import CONTACT_DIM, STICK, FrictionCone, mode_of, tangential_response
from lcp.contacts.kernels.contact_system import ContactSystem, add_on, add_to_three
from lcp.contacts.kernels.mode_system import contact_row
from lcp.contacts.kernels.proximal_points import ROUNDING
from lcp.contacts.kernels.solver_state import SolverState
from lcp.kernels import Floats, kernel

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
    # h Y' by columns
    nv = columns.shape[0]
    for c in range(rows.nc):
        i = CONTACT_DIM * c
        first = contact_row(rows, polygon, c, 1)
        x, y, z = rows.Y[c], rows.Y[first], rows.Y[first + polygon.second_direction]
        for p in range(nv):
            columns[p, i], columns[p, i + 1], columns[p, i + 2] = rows.h * x[p], rows.h * y[p], rows.h * z[p]
    # three rows at a time
    for c in range(rows.nc):
        i = CONTACT_DIM * c
        first = contact_row(rows, polygon, c, 1)
        x, y, z = rows.J[c], rows.J[first], rows.J[first + polygon.second_direction]
        u, v, w = A[i], A[i + 1], A[i + 2]
        fill_array(u, 0.0)
        fill_array(v, 0.0)
        fill_array(w, 0.0)
        for p in range(nv):
            # Most of a robot's joints do not move this foot.
            if x[p] != 0.0 or y[p] != 0.0 or z[p] != 0.0:
                add_to_three(x[p], y[p], z[p], columns[p], u, v, w)


@kernel(inner=True, vectors=True)
def subtract_product(p: Floats, A: Floats, s: Floats) -> None:
    """Subtract sum_i p_i A_i from s, four columns at a time, which the compiler keeps in a vector."""
    m = s.shape[0]
    j = 0
    while j + 4 <= m:
        out = view_1d(s, j, 4)
        a, b, c, d = out[0], out[1], out[2], out[3]
        for i in range(m):
            row = view_1d(A[i], j, 4)
            a -= p[i] * row[0]
            b -= p[i] * row[1]
            c -= p[i] * row[2]
            d -= p[i] * row[3]
        out[0], out[1], out[2], out[3] = a, b, c, d
        j += 4
    while j < m:
        for i in range(m):
            s[j] -= p[i] * A[i, j]
        j += 1


@kernel(inner=True, vectors=True)
def add_from(begin: int, factor: float, x: Floats, y: Floats) -> None:
    """Add ``factor`` x to y in the columns from ``begin`` on, and in up to three before it: four at a time."""
    p = begin & -4
    while p + 4 <= x.shape[0]:
        a, b, c, d = x[p], x[p + 1], x[p + 2], x[p + 3]
        e, f, g, h = y[p], y[p + 1], y[p + 2], y[p + 3]
        y[p], y[p + 1], y[p + 2], y[p + 3] = e + factor * a, f + factor * b, g + factor * c, h + factor * d
        p += 4
    while p < x.shape[0]:
        y[p] += factor * x[p]
        p += 1


@kernel(inner=True)
def factor(F: Floats, inverses: Floats) -> bool:
    """Factor the symmetric F = L D L' in place; return False if F is not positive definite.

    Row k becomes row k of D L' from the diagonal on; entries left of it are overwritten and have no meaning.
    ``inverses`` (m,) gets 1 / D.
    """
    for k in range(F.shape[0]):
        row = F[k]
        pivot = row[k]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / pivot
        inverses[k] = inverse
        for i in range(k + 1, F.shape[0]):
            add_from(i, -row[i] * inverse, row, F[i])
    return True


@kernel(inner=True)
def apply_inverse(F: Floats, inverses: Floats, y: Floats) -> None:
    """Replace y (m,) by F^-1 y, with F factored by `factor`."""
    # D^-1 L^-1 y
    m = F.shape[0]
    for k in range(m):
        y[k] *= inverses[k]
        add_on(k + 1, m, -y[k], F[k], y)
    # L'^-1; from the last column on, because it is known first
    for k in range(m - 2, -1, -1):
        row, total = F[k], 0.0
        for i in range(m - 1, k, -1):
            total += row[i] * y[i]
        y[k] -= inverses[k] * total


@kernel(inner=True)
def place_rates_of(rows: ContactSystem, A: Floats, load: Floats, p: Floats, s: Floats) -> float:
    """Fill s (3 nc,) with -(load + A p), where the normals add their softness times p; return the largest |s_i|.

    A = h J Y' is symmetric except for rounding, so its rows are used as columns.
    """
    # rates without softness
    for i in range(s.shape[0]):
        s[i] = -load[i]
    subtract_product(p, A, s)
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
    load, p, s, change, inverses = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
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
        copy_array(A[i], F[i])
        F[i, i] += eps + (rows.gamma[i // CONTACT_DIM] if i % CONTACT_DIM == 0 else 0.0)
    if not factor(F, inverses):
        return False
    apply_inverse(F, inverses, p)
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
        apply_inverse(F, inverses, change)
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

"""Forward dynamics with constraints in one call: kinematics, forces, rows, factorisation, accelerations.

`full_mass_matrix` has the direct, range-space and null-space methods, and returns rank and residual.
`full_unit_forces`, for contacts only, uses the articulated bodies in one pass, without a mass matrix. It returns the
residual; the rank is the number of rows. Both return a code < 0 on failure
(`contactlab.constraints.kernels.kkt_codes`). `DEPENDENT` means that rows are linearly dependent, or that the free
motion is not defined: then call `full_mass_matrix`.
"""

from __future__ import annotations

from contactlab.constraints.kernels.factorizations import SMALL, factor, solve_lower, solve_small, solve_upper
from contactlab.constraints.kernels.kkt import solve_kkt
from contactlab.constraints.kernels.kkt_codes import (
    BAUMGARTE,
    CLEAR_PIVOT,
    DEPENDENT,
    GAMMA,
    JACOBIAN,
    MULTIBODY_CODE_OFFSET,
    NOT_FINITE_RESULT,
    POSITION_ERROR,
    RESIDUAL_FLOOR,
    SCRATCH,
    System,
)
from contactlab.constraints.kernels.layout import GROUP_INTS, SIZE, START, rows_view
from contactlab.constraints.kernels.rank import largest_entry, row_tolerances
from contactlab.constraints.kernels.rows import constraint_rows, contact_rows
from contactlab.constraints.kernels.unit_forces import add_contact_forces, contact_products, propagate_contacts
from contactlab.multibody.kernels.articulated import articulate, outward
from contactlab.multibody.kernels.codes import CUSTOM_ROW, GOOD, NEEDS_GENERAL_ENTRY, NOTHING, VELOCITIES
from contactlab.multibody.kernels.crba import crba, world_inertias
from contactlab.multibody.kernels.layout import NQ, NV, model_and_workspace_views, stack
from contactlab.multibody.kernels.newton_euler import newton_euler
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel
def constraint_residual(G: FloatArray, x: FloatArray, gamma: FloatArray, size: FloatArray, terms: FloatArray) -> float:
    """Return the largest |G_i x - gamma_i| / s_i over the rows; NaN if x has entries that are not finite.

    s_i = |gamma_i| + sum_j |G_ij| (|x_j| + size_j), but at least `RESIDUAL_FLOOR` times the largest of them. size (n,)
    are the terms that cancel in x; of a robot at rest, x is only their rounding. It is overwritten. Without the floor,
    rows of rounding only, such as rows out of the plane of a planar mechanism, would count as contradictions. ``terms``
    (2 m,) is scratch.
    """
    m, n = G.shape
    # Sizes of the terms of x.
    for j in range(n):
        size[j] += abs(x[j])
    # Error and size of the terms of each row, four sums at a time.
    largest = rest = 0.0
    for i in range(m):
        row = G[i]
        a = b = c = d = 0.0
        p = q = r = s = 0.0
        j = 0
        while j + 4 <= n:
            a += row[j] * x[j]
            b += row[j + 1] * x[j + 1]
            c += row[j + 2] * x[j + 2]
            d += row[j + 3] * x[j + 3]
            p += abs(row[j]) * size[j]
            q += abs(row[j + 1]) * size[j + 1]
            r += abs(row[j + 2]) * size[j + 2]
            s += abs(row[j + 3]) * size[j + 3]
            j += 4
        while j < n:
            a += row[j] * x[j]
            p += abs(row[j]) * size[j]
            j += 1
        error = ((a + b) + (c + d)) - gamma[i]
        terms[i] = abs(error)
        terms[m + i] = ((p + q) + (r + s)) + abs(gamma[i])
        largest = max(largest, terms[m + i])
        rest += 0.0 * error
    # Largest relative error.
    worst = 0.0
    for i in range(m):
        if terms[i] > 0.0:
            worst = max(worst, terms[i] / max(terms[m + i], RESIDUAL_FLOOR * largest))
    return worst + rest


@kernel(inline=True)
def checked(G: FloatArray, gamma: FloatArray, a: FloatArray, alone: FloatArray, terms: FloatArray) -> float:
    """Return the residual of a solution, or `NOT_FINITE_RESULT` if it or the residual is not finite.

    alone (nv,): sizes of the accelerations by the load if each degree of freedom moved alone.
    """
    residual = constraint_residual(G, a, gamma, alone, terms)
    rest = 0.0 * residual
    for j in range(a.shape[0]):
        rest += 0.0 * a[j]
    return residual if rest == 0.0 else float(NOT_FINITE_RESULT)


@kernel
def full_unit_forces(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    a: FloatArray,
    forces: FloatArray,
) -> float:
    """Fill a (nv,) and forces (m,); W of `unit_forces_size`. I and F hold the model and a set of contacts."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or tau.shape[0] != I[NV]:
        return float(NEEDS_GENERAL_ENTRY)
    code = newton_euler(I, F, q, v, a[:0], f_ext, custom, W, ready)
    if code != GOOD:
        return float(MULTIBODY_CODE_OFFSET - code)
    # Views: articulated bodies.
    t, f, nl, nv = model_and_workspace_views(I, F, W)
    r = rows_view(I, F)
    m = forces.shape[0]
    start = f.start
    P = view_2d(W, start + 6 * nl, nl, 6)
    B = view_2d(W, start + 12 * nl, nl, 10)
    U = view_2d(W, start + 45 * nl, nv, 6)
    D = view_1d(W, start + 45 * nl + 6 * nv, nv)
    # Inward sweep: articulated inertias, and u = E (tau - h) in a.
    world_inertias(t, f.R, f.p, B)
    for j in range(nv):
        a[j] = tau[j]
    if articulate(t, f.S, B, view_2d(W, start + 22 * nl, nl, 23), U, D, P, a) != GOOD:
        return float(DEPENDENT)
    # Rows of the contacts.
    b = start + 45 * nl + 7 * nv
    G = view_2d(W, b, m, nv)
    for k in range(m * nv):
        W[b + k] = 0.0
    b += m * nv
    gamma = view_1d(W, b, m)
    terms = view_1d(W, b + m, 2 * m)
    b += 3 * m
    contact_rows(I, F, W, 1.0, JACOBIAN | GAMMA | BAUMGARTE, G, gamma, terms, terms[:0])
    # Views: responses and the system of the forces.
    width = 4 * (r.group.shape[0] // GROUP_INTS)
    X = view_2d(W, b, nv, width)
    b += nv * width
    K = view_2d(W, b, m, m)
    b += m * m
    taken = view_1d(W, b, nv)
    four = view_1d(W, b + nv, 24)
    b += nv + 24
    free = view_1d(W, b, width)
    load = view_1d(W, b + width, m)
    least = view_1d(W, b + width + m, m)
    columns = view_1d(W, b + width + 2 * m, 4 * m)
    # K = X^T D^-1 X and gamma - X^T D^-1 u.
    propagate_contacts(t, r, f.S, U, D, G, a, four, X, free)
    contact_products(t.dof_parent, D, X, r.group, four, K)
    for group in range(width // 4):
        first = r.group[GROUP_INTS * group + START]
        for k in range(r.group[GROUP_INTS * group + SIZE]):
            load[first + k] = gamma[r.order[first + k]] - free[4 * group + k]
            least[first + k] = CLEAR_PIVOT * K[first + k, first + k]
    # Forces by Cholesky's method, if the pivots are clearly positive.
    if m <= SMALL:
        if solve_small(K, least, columns, load) >= 0:
            return float(DEPENDENT)
    elif factor(K, 0, m, least, columns) >= 0:
        return float(DEPENDENT)
    else:
        solve_lower(K, 0, m, load)
        solve_upper(K, 0, m, load)
    # Outward sweep with the forces added: accelerations.
    for j in range(nv):
        taken[j] = abs(a[j]) * D[j]
    add_contact_forces(t.dof_parent, X, r.group, load, a)
    for place in range(m):
        forces[r.order[place]] = load[place]
    outward(t, f.S, U, D, P, a)
    return checked(G, gamma, a, taken, terms)


@kernel
def fast_unit_forces(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    W: FloatArray,
    a: FloatArray,
    forces: FloatArray,
) -> float:
    """Call `full_unit_forces` without external forces and custom joints.

    With W of length 0 the workspace is on the stack, with `sizes.STACK` places.
    """
    work = W if W.shape[0] else stack()
    none = view_2d(W, 0, 0, 6)
    return full_unit_forces(I, F, q, v, tau, none, view_2d(W, 0, 0, CUSTOM_ROW), work, NOTHING, a, forces)


@kernel
def full_mass_matrix(
    I: IntArray,
    order: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    given: FloatArray,
    W: FloatArray,
    a: FloatArray,
    forces: FloatArray,
    ready: int,
    dense: int,
    method: int,
) -> tuple[int, float]:
    """Fill a (nv,) and forces (m,); W of `mass_matrix_size`, order (nv + m,), for the direct method only.

    ``given`` (m, nv + 2) has the rows of custom constraints, each followed by gamma and position error, or length 0.
    Return the rank of the rows and the residual, or a code < 0 (`contactlab.constraints.kernels.kkt_codes`).
    """
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or tau.shape[0] != I[NV]:
        return NEEDS_GENERAL_ENTRY, 0.0
    code = newton_euler(I, F, q, v, a[:0], f_ext, custom, W, ready)
    if code != GOOD:
        return MULTIBODY_CODE_OFFSET - code, 0.0
    # Views: forces on the links, rows and their terms.
    t, f, nl, nv = model_and_workspace_views(I, F, W)
    m = forces.shape[0]
    start = f.start
    P = view_2d(W, start + 6 * nl, nl, 6)
    b = start + 28 * nl + 8
    scratch = W[b : b + SCRATCH]
    G = view_2d(W, b + SCRATCH, m, nv)
    b += SCRATCH + m * nv
    gamma = W[b : b + m]
    errors = W[b + m : b + 3 * m]
    scale = W[b + 3 * m : b + 4 * m]
    tolerance = W[b + 4 * m : b + 5 * m]
    # Rows: custom ones as given, the others computed.
    for i in range(m):
        row = G[i]
        for j in range(nv):
            row[j] = given[i, j] if given.shape[0] > 0 else 0.0
        if given.shape[0] > 0:
            gamma[i] = given[i, nv]
            errors[i] = given[i, nv + 1]
            scale[i] = largest_entry(row)
    want = JACOBIAN | GAMMA | BAUMGARTE | POSITION_ERROR
    constraint_rows(I, F, W, 1.0, want, scratch, G, gamma, errors[:m], errors[m:], scale)
    row_tolerances(G, scale, errors[:m], tolerance)
    # Load c = tau - h, by summing the forces from the tips to the root.
    b += 5 * m
    H = view_2d(W, b, nv, nv)
    c = W[b + nv * nv : b + nv * nv + nv]
    for i in range(nl - 1, -1, -1):
        Pi = P[i]
        for j in range(t.iv[i], t.iv[i + 1]):
            s = f.S[j]
            c[j] = tau[j] - (s[0] * Pi[0] + s[1] * Pi[1] + s[2] * Pi[2] + s[3] * Pi[3] + s[4] * Pi[4] + s[5] * Pi[5])
        up = t.parent[i]
        if up >= 0:
            Pu = P[up]
            for k in range(6):
                Pu[k] += Pi[k]
    # Mass matrix; composite inertias overwrite accelerations and forces.
    for i in range(nv):
        row = H[i]
        for j in range(nv):
            row[j] = 0.0
    code = crba(I, F, q, custom, W, VELOCITIES, H)
    if code != GOOD:
        return NOT_FINITE_RESULT, 0.0
    # Solve by the method, and measure the residual.
    alone = W[b + nv * nv + nv : b + nv * nv + 2 * nv]
    for j in range(nv):
        alone[j] = abs(c[j]) / H[j, j] if H[j, j] > 0.0 else 0.0
    work = W[b + nv * nv + 2 * nv :]
    code = solve_kkt(method, t.dof_parent, dense, System(H, G, c, gamma), tolerance, work, order, a, forces)
    if code < 0:
        return code, 0.0
    residual = checked(G, gamma, a, alone, errors)
    return (code, residual) if residual >= 0.0 else (NOT_FINITE_RESULT, 0.0)


@kernel
def fast_mass_matrix(
    I: IntArray,
    order: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    W: FloatArray,
    a: FloatArray,
    forces: FloatArray,
    dense: int,
    method: int,
) -> tuple[int, float]:
    """Call `full_mass_matrix` without external forces, custom joints and custom constraints."""
    custom = view_2d(W, 0, 0, CUSTOM_ROW)
    none = view_2d(W, 0, 0, 6)
    return full_mass_matrix(I, order, F, q, v, tau, none, custom, none, W, a, forces, NOTHING, dense, method)

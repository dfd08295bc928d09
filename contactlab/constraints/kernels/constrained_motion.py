"""Forward dynamics with constraints in one call: kinematics, forces, rows, factorisation, accelerations.

`constrained_motion` has the direct, range-space and null-space methods with a mass matrix, and unit forces through the
articulated bodies without one. It returns rank and residual, or a code < 0 on failure
(`contactlab.constraints.kernels.kkt_codes`). `DEPENDENT` of unit forces means that rows are linearly dependent, or that
the free motion is not defined: then call it again with the null-space method.

Unit forces on rows are propagated through the articulated bodies to the root. The articulated-body factor is M^-1 = E^T
D^-1 E, with the inward sweep E. For a unit force on row i, x_i = E G_i^T is zero off the paths from its bodies to the
root. With the joint loads u = E (tau - h) of the free motion,

    (X^T D^-1 X) forces = gamma - X^T D^-1 u,      a = E^T D^-1 (u + X forces)

The cost is O(links) for the factor and for each row, and one outward sweep. Kokkevis and Metaxas (1998), "Efficient
dynamic constraints for animating articulated figures", call them test forces. For the sweeps see Featherstone (2008,
section 7.3).

With Y = D^-1/2 X the system is the one of the range-space method (`contactlab.constraints.kernels.kkt`), without M.
"""

from __future__ import annotations

import math

from contactlab.constraints.kernels.kkt import gram, solve_forces, solve_kkt
from contactlab.constraints.kernels.kkt_codes import (
    BAUMGARTE,
    CLEAR_ROW,
    DEPENDENT,
    GAMMA,
    JACOBIAN,
    MULTIBODY_CODE_OFFSET,
    NOT_FINITE_RESULT,
    POSITION_ERROR,
    RESIDUAL_FLOOR,
    SCRATCH,
    UNIT_FORCES,
    System,
)
from contactlab.constraints.kernels.rank import largest_entry, row_tolerances
from contactlab.constraints.kernels.rows import constraint_rows
from contactlab.multibody.kernels.codes import CUSTOM_ROW, GOOD, NEEDS_GENERAL_ENTRY, NOTHING, VELOCITIES
from contactlab.multibody.kernels.dynamics import articulate, newton_euler, outward
from contactlab.multibody.kernels.layout import NQ, NV, Frames, Tree, model_and_workspace_views, tree
from contactlab.multibody.kernels.mass_matrix import crba, world_inertias
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel
from lcp.kernels.reductions import dot


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
    # Error and size of the terms of each row.
    largest = rest = 0.0
    for i in range(m):
        row = G[i]
        error = dot(row, x, n) - gamma[i]
        total = abs(gamma[i])
        for j in range(n):
            total += abs(row[j]) * size[j]
        terms[i] = abs(error)
        terms[m + i] = total
        largest = max(largest, total)
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
def unit_responses(
    parents: IntArray,
    S: FloatArray,
    U: FloatArray,
    D: FloatArray,
    G: FloatArray,
    P: FloatArray,
    touched: FloatArray,
    Y: FloatArray,
) -> None:
    """Fill the first columns of Y (nv, m + 1) with D^-1/2 E G^T for rows G (m, nv); D holds the inverses.

    ``touched`` (nv,) is 0.0 where these columns are zero, and otherwise 1.0. P (6 nv, m) is scratch.
    """
    m, nv = G.shape
    for j in range(nv):
        touched[j] = 0.0
    for k in range(6 * nv):
        force = P[k]
        for i in range(m):
            force[i] = 0.0
    # From the tips to the roots, all rows together.
    for j in range(nv - 1, -1, -1):
        y = Y[j]
        s = S[j]
        u = U[j]
        root = math.sqrt(D[j])
        for i in range(m):
            y[i] = G[i, j]
            if y[i] != 0.0:
                touched[j] = 1.0
        if touched[j] == 0.0:
            continue
        # Entries less the work of the forces carried so far, in units of the root of the inertia.
        for k in range(6):
            force = P[6 * j + k]
            for i in range(m):
                y[i] -= s[k] * force[i]
        for i in range(m):
            y[i] *= root
        # Forces that continue inward.
        up = parents[j]
        if up >= 0:
            touched[up] = 1.0
            for k in range(6):
                force = P[6 * j + k]
                onward = P[6 * up + k]
                share = u[k] * root
                for i in range(m):
                    onward[i] += force[i] + share * y[i]


@kernel
def delassus_matrix(
    I: IntArray, F: FloatArray, articulated: FloatArray, G: FloatArray, W: FloatArray, K: FloatArray
) -> None:
    """Fill K (m, m) with G M^-1 G^T, without M and its inverse, for rows of any kind.

    ``articulated`` (13 nv,) is from `factor_inertia`, W has nv (7 m + 2) + (m + 1)^2 places.
    """
    m, nv = G.shape
    # Views into the factor and the workspace.
    S = view_2d(articulated, 0, nv, 6)
    U = view_2d(articulated, 6 * nv, nv, 6)
    D = articulated[12 * nv : 13 * nv]
    Y = view_2d(W, 0, nv, m + 1)
    P = view_2d(W, nv * (m + 1), 6 * nv, m)
    b = nv * (7 * m + 1)
    touched = W[b : b + nv]
    products = view_2d(W, b + nv, m + 1, m + 1)
    # K = Y^T Y, the lower triangle mirrored.
    unit_responses(tree(I, F).dof_parent, S, U, D, G, P, touched, Y)
    for j in range(nv):
        Y[j, m] = 0.0
    gram(Y, touched, products)
    for i in range(m):
        for j in range(i + 1):
            K[i, j] = products[i, j]
            K[j, i] = products[i, j]


@kernel
def motion_by_unit_forces(
    t: Tree,
    f: Frames,
    W: FloatArray,
    G: FloatArray,
    gamma: FloatArray,
    tau: FloatArray,
    work: FloatArray,
    a: FloatArray,
    forces: FloatArray,
    alone: FloatArray,
) -> int:
    """Fill a (nv,), forces (m,) and the sizes ``alone`` (nv,) of the free motion; return m, or `DEPENDENT`.

    W holds the accelerations and forces of Newton-Euler after the head of the workspace.
    """
    m, nv = G.shape
    nl = t.parent.shape[0]
    # Views: articulated bodies, responses, and the system of the forces.
    start = f.start
    P = view_2d(W, start + 6 * nl, nl, 6)
    B = view_2d(W, start + 12 * nl, nl, 10)
    U = view_2d(W, start + 45 * nl, nv, 6)
    D = view_1d(W, start + 45 * nl + 6 * nv, nv)
    Y = view_2d(work, 0, nv, m + 1)
    carried = view_2d(work, nv * (m + 1), 6 * nv, m)
    b = nv * (7 * m + 1)
    touched = view_1d(work, b, nv)
    K = view_2d(work, b + nv, m + 1, m + 1)
    b += nv + (m + 1) * (m + 1)
    # Inward sweep: articulated inertias, and u = E (tau - h) in a.
    world_inertias(t, f.R, f.p, B)
    for j in range(nv):
        a[j] = tau[j]
    if articulate(t, f.S, B, view_2d(W, start + 22 * nl, nl, 23), U, D, P, a) != GOOD:
        return DEPENDENT
    # Forces from the responses of the rows.
    unit_responses(t.dof_parent, f.S, U, D, G, carried, touched, Y)
    for j in range(nv):
        Y[j, m] = a[j] * math.sqrt(D[j])
        alone[j] = abs(a[j]) * D[j]
    if not solve_forces(Y, touched, gamma, K, work[b : b + m], forces):
        return DEPENDENT
    # Outward sweep with the forces added: accelerations.
    for j in range(nv):
        if touched[j] > 0.0:
            a[j] += dot(Y[j], forces, m) / math.sqrt(D[j])
    outward(t, f.S, U, D, P, a)
    return m


@kernel
def constrained_motion(
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
    method: int,
) -> tuple[int, float]:
    """Fill a (nv,) and forces (m,); W of `motion_size`, order (nv + m,), for the direct method only.

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
    b = start + 45 * nl + 7 * nv
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
    b += 5 * m
    H = view_2d(W, b, nv, nv)
    c = W[b + nv * nv : b + nv * nv + nv]
    alone = W[b + nv * nv + nv : b + nv * nv + 2 * nv]
    work = W[b + nv * nv + 2 * nv :]
    if method == UNIT_FORCES:
        # They cannot separate dependent rows.
        if m > nv:
            return DEPENDENT, 0.0
        for i in range(m):
            if tolerance[i] > CLEAR_ROW:
                return DEPENDENT, 0.0
        code = motion_by_unit_forces(t, f, W, G, gamma, tau, work, a, forces, alone)
    else:
        # Load c = tau - h, by summing the forces from the tips to the root.
        for i in range(nl - 1, -1, -1):
            Pi = P[i]
            for j in range(t.iv[i], t.iv[i + 1]):
                s = f.S[j]
                work_rate = s[0] * Pi[0] + s[1] * Pi[1] + s[2] * Pi[2] + s[3] * Pi[3] + s[4] * Pi[4] + s[5] * Pi[5]
                c[j] = tau[j] - work_rate
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
        if crba(I, F, q, custom, W, VELOCITIES, H) != GOOD:
            return NOT_FINITE_RESULT, 0.0
        # Solve by the method.
        for j in range(nv):
            alone[j] = abs(c[j]) / H[j, j] if H[j, j] > 0.0 else 0.0
        code = solve_kkt(method, t.dof_parent, System(H, G, c, gamma), tolerance, work, order, a, forces)
    if code < 0:
        return code, 0.0
    residual = checked(G, gamma, a, alone, errors)
    return (code, residual) if residual >= 0.0 else (NOT_FINITE_RESULT, 0.0)


@kernel
def fast_motion(
    I: IntArray,
    order: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    W: FloatArray,
    a: FloatArray,
    forces: FloatArray,
    method: int,
) -> tuple[int, float]:
    """Call `constrained_motion` without external forces, custom joints and custom constraints."""
    custom = view_2d(W, 0, 0, CUSTOM_ROW)
    none = view_2d(W, 0, 0, 6)
    return constrained_motion(I, order, F, q, v, tau, none, custom, none, W, a, forces, NOTHING, method)

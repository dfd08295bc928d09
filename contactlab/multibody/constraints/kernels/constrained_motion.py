"""Forward dynamics with constraints in one call: kinematics, forces, rows, factorisation, accelerations.

`constrained_motion` propagates unit forces through the articulated bodies, without a mass matrix. If rows are linearly
dependent, or the free motion is not defined, it uses the null-space method with the mass matrix. It returns rank and
residual, or a code < 0 on failure (`contactlab.multibody.constraints.kernels`).

Unit forces on rows are propagated through the articulated bodies to the root. The articulated-body factor is M^-1 = E^T
D^-1 E, with the inward sweep E. For a unit force on row i, x_i = E G_i^T is zero off the paths from its bodies to the
root. With the joint loads u = E (tau - h) of the free motion,

    (X^T D^-1 X) forces = gamma - X^T D^-1 u,      a = E^T D^-1 (u + X forces)

The cost is O(links) for the factor and for each row, and one outward sweep. Kokkevis and Metaxas (1998), "Efficient
dynamic constraints for animating articulated figures", call them test forces. For the sweeps see Featherstone (2008,
section 7.3).

With Y = D^-1/2 X the system is the one of `contactlab.multibody.constraints.kernels.kkt.solve_forces`.
"""

from __future__ import annotations

import math

from contactlab.multibody.constraints.kernels import (
    BAUMGARTE,
    CLEAR_INERTIA,
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
from contactlab.multibody.constraints.kernels.factorizations import largest_entry, row_tolerances
from contactlab.multibody.constraints.kernels.kkt import are_clear, gram, solve_forces, solve_null_space
from contactlab.multibody.constraints.kernels.rows import constraint_rows
from contactlab.multibody.kernels import CUSTOM_ROW, GOOD, NEEDS_GENERAL_ENTRY, NOTHING, VELOCITIES
from contactlab.multibody.kernels.dynamics import articulate, newton_euler, outward
from contactlab.multibody.kernels.layout import NQ, NV, Frames, Tree, model_and_workspace_views, tree
from contactlab.multibody.kernels.mass_matrix import crba, world_inertias
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.multibody.spatial.kernels import add_to, copy, dot_pairs, fill, linear, pair_of, vector
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel
from lcp.kernels.reductions import dot


@kernel
def constraint_residual(G: FloatArray, x: FloatArray, gamma: FloatArray, size: FloatArray, terms: FloatArray) -> float:
    """Return the largest |G_i x - gamma_i| / s_i over the rows; NaN if it or an entry of x is not finite.

    s_i = |gamma_i| + sum_j |G_ij| (|x_j| + size_j), but at least `RESIDUAL_FLOOR` times the largest of them. size (n,)
    are the terms that cancel in x; of a robot at rest, x is only their rounding. It is overwritten. Without the floor,
    rows of rounding only, such as rows out of the plane of a planar mechanism, would count as contradictions. ``terms``
    (2 m,) is scratch.
    """
    m, n = G.shape
    largest = rest = 0.0
    # Sizes of the terms of x.
    for j in range(n):
        size[j] += abs(x[j])
        rest += 0.0 * x[j]
    # Error and size of the terms of each row.
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


@kernel(inner=True, vectors=True)
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
    """Fill the first m columns of Y (nv, `lanes(m)`) with D^-1/2 E G^T for rows G (m, nv); D holds the inverses.

    ``touched`` (nv,) is 0.0 where these columns are zero, and otherwise positive. P (24 (nv + 1),) is scratch.
    """
    m, nv = G.shape
    w = Y.shape[1]
    fill(0.0, P)
    fill(0.0, touched)
    for j in range(nv):
        fill(0.0, Y[j])
    # Four rows at a time; in the last group the last row is repeated.
    for first in range(0, m, 4):
        one, two = G[first], G[min(first + 1, m - 1)]
        three, four = G[min(first + 2, m - 1)], G[min(first + 3, m - 1)]
        mark = first + 1.0
        # From the tips to the roots.
        for j in range(nv - 1, -1, -1):
            a, b, c, d = one[j], two[j], three[j], four[j]
            if touched[j] != mark and a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
                continue
            # Entries less the work of the forces carried so far, in units of the root of the inertia.
            s, u = view_1d(S, 6 * j, 6), view_1d(U, 6 * j, 6)
            for k in range(6):
                p = view_1d(P, 24 * j + 4 * k, 4)
                a, b, c, d = a - s[k] * p[0], b - s[k] * p[1], c - s[k] * p[2], d - s[k] * p[3]
            root = math.sqrt(D[j])
            a, b, c, d = a * root, b * root, c * root, d * root
            y = view_1d(Y, j * w + first, 4)
            y[0], y[1], y[2], y[3] = a, b, c, d
            touched[j] = mark
            # Forces that continue inward; forces at a root are not used.
            up = parents[j]
            if up >= 0:
                touched[up] = mark
            else:
                up = nv
            for k in range(6):
                e = u[k] * root
                p, o = view_1d(P, 24 * j + 4 * k, 4), view_1d(P, 24 * up + 4 * k, 4)
                q, r, t, v = p[0] + e * a, p[1] + e * b, p[2] + e * c, p[3] + e * d
                o[0], o[1], o[2], o[3] = o[0] + q, o[1] + r, o[2] + t, o[3] + v
                p[0], p[1], p[2], p[3] = 0.0, 0.0, 0.0, 0.0


@kernel(inline=True)
def unit_force_views(
    W: FloatArray, nv: int, m: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the views Y (nv, w), carried forces, touched (nv,), K (m + 1, w) and a vector (m,), w = `lanes(m)`."""
    w = (m + 4) // 4 * 4
    b = nv * w + 24 * (nv + 1)
    c = b + nv + (m + 1) * w
    return (
        view_2d(W, 0, nv, w), view_1d(W, nv * w, 24 * (nv + 1)), view_1d(W, b, nv), view_2d(W, b + nv, m + 1, w),
        view_1d(W, c, m),
    )  # fmt: skip


@kernel
def delassus_matrix(
    I: IntArray, F: FloatArray, articulated: FloatArray, G: FloatArray, W: FloatArray, K: FloatArray
) -> None:
    """Fill K (m, m) with G M^-1 G^T, without M and its inverse, for rows of any kind.

    ``articulated`` (13 nv,) is from `factor_inertia`, W has `unit_forces_size(nv, m)` places.
    """
    m, nv = G.shape
    # Views into the factor and the workspace.
    S = view_2d(articulated, 0, nv, 6)
    U = view_2d(articulated, 6 * nv, nv, 6)
    D = articulated[12 * nv : 13 * nv]
    Y, P, touched, products, _ = unit_force_views(W, nv, m)
    # K = Y^T Y, the lower triangle mirrored.
    unit_responses(tree(I, F).dof_parent, S, U, D, G, P, touched, Y)
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
    Y, carried, touched, K, least = unit_force_views(work, nv, m)
    # Inward sweep: articulated inertias, and u = E (tau - h) in a.
    world_inertias(t, f.R, f.p, B)
    copy(tau, a)
    K23 = view_2d(W, start + 22 * nl, nl, 23)
    if articulate(t, f.S, B, K23, U, D, P, a) != GOOD:
        return DEPENDENT
    # A joint with almost no inertia, as near gimbal lock: its free acceleration would cover the digits of the others.
    for i in range(nl):
        for j in range(t.iv[i], t.iv[i + 1]):
            w, v = vector(f.S[j]), linear(f.S[j])
            rigid = K23[i, 21] * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
            rigid += K23[i, 22] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
            if not CLEAR_INERTIA * rigid * D[j] < 1.0:
                return DEPENDENT
    # Forces from the responses of the rows.
    unit_responses(t.dof_parent, f.S, U, D, G, carried, touched, Y)
    for j in range(nv):
        Y[j, m] = a[j] * math.sqrt(D[j])
        alone[j] = abs(a[j]) * D[j]
    if not solve_forces(Y, touched, gamma, K, least, forces):
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
    """Fill a (nv,) and forces (m,); W of `motion_size`.

    ``given`` (m, nv + 2) has the rows of custom constraints, each followed by gamma and position error, or length 0.
    Return the rank of the rows and the residual, or a code < 0 (`contactlab.multibody.constraints.kernels`).
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
    # Load c = tau - h, by summing a copy of the forces from the tips to the root.
    sums = view_2d(W, start + 22 * nl, nl, 6)
    for i in range(nl):
        copy(P[i], sums[i])
    for i in range(nl - 1, -1, -1):
        Pi = sums[i]
        for j in range(t.iv[i], t.iv[i + 1]):
            c[j] = tau[j] - dot_pairs(pair_of(f.S[j]), pair_of(Pi))
        up = t.parent[i]
        if up >= 0:
            add_to(Pi, sums[up])
    code = DEPENDENT
    if method == UNIT_FORCES and are_clear(tolerance, nv):
        code = motion_by_unit_forces(t, f, W, G, gamma, tau, work, a, forces, alone)
    if code == DEPENDENT:
        # Mass matrix; composite inertias overwrite accelerations and forces.
        H[:] = 0.0
        if crba(I, F, q, custom, W, VELOCITIES, H) != GOOD:
            return NOT_FINITE_RESULT, 0.0
        # Solve by the null-space method.
        for j in range(nv):
            alone[j] = abs(c[j]) / H[j, j] if H[j, j] > 0.0 else 0.0
        code = solve_null_space(System(H, G, c, gamma), tolerance, work, a, forces)
    if code < 0:
        return code, 0.0
    residual = constraint_residual(G, a, gamma, alone, errors)
    return (code, residual) if residual >= 0.0 else (NOT_FINITE_RESULT, 0.0)


@kernel
def fast_motion(
    I: IntArray,
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
    return constrained_motion(I, F, q, v, tau, none, custom, none, W, a, forces, NOTHING, method)

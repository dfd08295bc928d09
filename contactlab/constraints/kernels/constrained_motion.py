"""Forward dynamics with constraints in one call: kinematics, forces, rows, factorisation, accelerations.

Two ways: by the mass matrix (direct, range-space and null-space methods), and by test forces without it. Both return
the rank of the rows and the residual, or a code < 0 (`contactlab.constraints.kernels.kkt_codes`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.constraints.kernels.cholesky import factor, solve_lower, solve_upper
from contactlab.constraints.kernels.constraint_residual import constraint_residual
from contactlab.constraints.kernels.kkt import solve_kkt
from contactlab.constraints.kernels.kkt_codes import BROKEN, CLEAR_PIVOT, DEPENDENT, ELSEWHERE, RANK_TOLERANCE
from contactlab.constraints.kernels.rows import constraint_rows
from contactlab.constraints.kernels.test_forces import contact_tips, inward, outward, responses_of, test_forces
from contactlab.constraints.kernels.wanted import BAUMGARTE, GAMMA, JACOBIAN
from contactlab.constraints.kernels.wanted import SCRATCH as OF_ROWS
from contactlab.multibody.kernels.articulated import articulate
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.crba import crba
from contactlab.multibody.kernels.inertias import world_inertias
from contactlab.multibody.kernels.layout import NQ, NV, Tree, tree
from contactlab.multibody.kernels.newton_euler import newton_euler
from contactlab.multibody.kernels.outcomes import UNUSUAL
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, PER_DOF, PER_LINK, SCRATCH, VELOCITIES
from contactlab.multibody.kernels.views import rows_at
from contactlab.multibody.kernels.workspace import Frames, frames
from lcp.kernels import kernel
from lcp.kernels.reductions import dot


@kernel
def constraint_data(
    t: Tree,
    f: Frames,
    CI: NDArray[np.int64],
    CF: NDArray[np.float64],
    given: NDArray[np.float64],
    A: NDArray[np.float64],
    scratch: NDArray[np.float64],
    G: NDArray[np.float64],
    gamma: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> None:
    """G (m, nv) and gamma (m,), stabilisation included, the links' accelerations A holding the weights.

    ``given`` (m, nv + 1): rows of custom constraints with their gamma in the last column; length 0 stands for none.
    """
    m, nv = G.shape
    for i in range(m):
        row = G[i]
        if given.shape[0] > 0:
            own = given[i]
            for j in range(nv):
                row[j] = own[j]
            gamma[i] = own[nv]
        else:
            for j in range(nv):
                row[j] = 0.0
    want = JACOBIAN | GAMMA | BAUMGARTE
    constraint_rows(t, f, CI, CF, A, 1.0, want, scratch, G, gamma, errors[:m], errors[m:])


@kernel
def checked(
    G: NDArray[np.float64],
    gamma: NDArray[np.float64],
    a: NDArray[np.float64],
    alone: NDArray[np.float64],
    terms: NDArray[np.float64],
    code: int,
) -> tuple[int, float]:
    """The result of a solve that went through, unless it is not finite.

    alone (nv,): sizes of the accelerations that the load would give each degree of freedom by itself.
    """
    residual = constraint_residual(G, a, gamma, alone, terms)
    rest = 0.0 * residual
    for j in range(a.shape[0]):
        rest += 0.0 * a[j]
    if rest != 0.0:
        return BROKEN, 0.0
    return code, residual


@kernel
def by_mass_matrix(
    I: NDArray[np.int64],
    CI: NDArray[np.int64],
    order: NDArray[np.int64],
    F: NDArray[np.float64],
    CF: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    tau: NDArray[np.float64],
    f_ext: NDArray[np.float64],
    custom: NDArray[np.float64],
    given: NDArray[np.float64],
    W: NDArray[np.float64],
    a: NDArray[np.float64],
    forces: NDArray[np.float64],
    ready: int,
    dense: int,
    method: int,
) -> tuple[int, float]:
    """Fill a (nv,) and forces (m,); W of `mass_matrix_size`, order (nv + m,), for the direct method alone."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or tau.shape[0] != I[NV]:
        return UNUSUAL, 0.0
    code = newton_euler(I, F, q, v, a[:0], f_ext, custom, W, ready)
    if code != GOOD:
        return ELSEWHERE - code, 0.0
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = a.shape[0]
    m = forces.shape[0]
    f = frames(W, nl, nv)
    start = SCRATCH + PER_LINK * nl + PER_DOF * nv
    P = rows_at(W, start + 6 * nl, nl, 6)
    b = start + 28 * nl + 8
    scratch = W[b : b + OF_ROWS]
    G = rows_at(W, b + OF_ROWS, m, nv)
    b += OF_ROWS + m * nv
    gamma = W[b : b + m]
    errors = W[b + m : b + 3 * m]
    constraint_data(t, f, CI, CF, given, rows_at(W, start, nl, 6), scratch, G, gamma, errors)
    b += 3 * m
    H = rows_at(W, b, nv, nv)
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
    for i in range(nv):
        row = H[i]
        for j in range(nv):
            row[j] = 0.0
    # Composite inertias take the place of accelerations and forces.
    code = crba(I, F, q, custom, W, VELOCITIES, H)
    if code != GOOD:
        return BROKEN, 0.0
    alone = W[b + nv * nv + nv : b + nv * nv + 2 * nv]
    for j in range(nv):
        alone[j] = abs(c[j]) / H[j, j] if H[j, j] > 0.0 else 0.0
    work = W[b + nv * nv + 2 * nv :]
    code = solve_kkt(method, t.dof_parent, dense, H, G, c, gamma, RANK_TOLERANCE, work, order, a, forces)
    if code < 0:
        return code, 0.0
    return checked(G, gamma, a, alone, errors, code)


@kernel(inline=True)
def by_test_forces(
    I: NDArray[np.int64],
    CI: NDArray[np.int64],
    F: NDArray[np.float64],
    CF: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    tau: NDArray[np.float64],
    f_ext: NDArray[np.float64],
    custom: NDArray[np.float64],
    W: NDArray[np.float64],
    ready: int,
    a: NDArray[np.float64],
    forces: NDArray[np.float64],
) -> tuple[int, float]:
    """The same through the articulated bodies; W of `test_forces_size`.

    `DEPENDENT` where rows depend on each other or there is no free motion to start from: a job for `by_mass_matrix`.
    """
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or tau.shape[0] != I[NV]:
        return UNUSUAL, 0.0
    if forces.shape[0] > a.shape[0]:
        return DEPENDENT, 0.0
    code = newton_euler(I, F, q, v, a[:0], f_ext, custom, W, ready)
    if code != GOOD:
        return ELSEWHERE - code, 0.0
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = a.shape[0]
    m = forces.shape[0]
    f = frames(W, nl, nv)
    start = SCRATCH + PER_LINK * nl + PER_DOF * nv
    P = rows_at(W, start + 6 * nl, nl, 6)
    B = rows_at(W, start + 12 * nl, nl, 10)
    U = rows_at(W, start + 45 * nl, nv, 6)
    D = W[start + 45 * nl + 6 * nv : start + 45 * nl + 7 * nv]
    world_inertias(t, f.R, f.p, B)
    if articulate(t, f.S, B, rows_at(W, start + 22 * nl, nl, 23), U, D) != GOOD:
        return DEPENDENT, 0.0
    b = start + 45 * nl + 7 * nv
    scratch = W[b : b + OF_ROWS]
    G = rows_at(W, b + OF_ROWS, m, nv)
    b += OF_ROWS + m * nv
    gamma = W[b : b + m]
    errors = W[b + m : b + 3 * m]
    constraint_data(t, f, CI, CF, rows_at(W, 0, 0, 6), rows_at(W, start, nl, 6), scratch, G, gamma, errors)
    b += 3 * m
    X = rows_at(W, b, nv, m + 3)
    b += nv * (m + 3)
    K = rows_at(W, b, m, m)
    b += m * m
    reached = W[b : b + nv]
    taken = W[b + nv : b + 2 * nv]
    force = W[b + 2 * nv : b + 2 * nv + 24]
    b += 2 * nv + 24
    tips = W[b : b + m]
    least = W[b + m : b + 2 * m]
    columns = W[b + 2 * m : b + 6 * m]
    for j in range(nv):
        a[j] = tau[j]
    inward(t, f.S, U, D, P, a)
    contact_tips(t, CI, CF, tips)
    test_forces(t, f.S, U, D, G, tips, 1, X, reached, taken, force)
    for i in range(m):
        forces[i] = gamma[i]
    responses_of(D, X, reached, a, K, forces)
    for i in range(m):
        least[i] = CLEAR_PIVOT * K[i, i]
    if factor(K, 0, m, least, columns) >= 0:
        return DEPENDENT, 0.0
    solve_lower(K, 0, m, forces)
    solve_upper(K, 0, m, forces)
    for j in range(nv):
        taken[j] = abs(a[j]) * D[j]
        if reached[j] > 0.0:
            a[j] += dot(X[j], forces, m)
    outward(t, f.S, U, D, P, a)
    return checked(G, gamma, a, taken, errors, m)


@kernel
def quick_test_forces(
    I: NDArray[np.int64],
    CI: NDArray[np.int64],
    F: NDArray[np.float64],
    CF: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    tau: NDArray[np.float64],
    W: NDArray[np.float64],
    a: NDArray[np.float64],
    forces: NDArray[np.float64],
) -> tuple[int, float]:
    """`by_test_forces` in as few arguments as the usual call needs: no external forces, no joints of the user's own."""
    none = rows_at(W, 0, 0, 6)
    return by_test_forces(I, CI, F, CF, q, v, tau, none, rows_at(W, 0, 0, CUSTOM_ROW), W, NOTHING, a, forces)


@kernel
def full_test_forces(
    I: NDArray[np.int64],
    CI: NDArray[np.int64],
    F: NDArray[np.float64],
    CF: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    tau: NDArray[np.float64],
    f_ext: NDArray[np.float64],
    custom: NDArray[np.float64],
    W: NDArray[np.float64],
    ready: int,
    a: NDArray[np.float64],
    forces: NDArray[np.float64],
) -> tuple[int, float]:
    """`by_test_forces` in all arguments."""
    return by_test_forces(I, CI, F, CF, q, v, tau, f_ext, custom, W, ready, a, forces)

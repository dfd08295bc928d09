"""Forward dynamics with constraints in one call: kinematics, forces, rows, factorisation, accelerations.

By the mass matrix (direct, range-space and null-space methods); without it see `contact_motion`.
"""

from __future__ import annotations

from contactlab.constraints.kernels.constraint_residual import checked
from contactlab.constraints.kernels.kkt import solve_kkt
from contactlab.constraints.kernels.kkt_codes import BROKEN, ELSEWHERE, RANK_TOLERANCE, System
from contactlab.constraints.kernels.rows import constraint_rows
from contactlab.constraints.kernels.wanted import BAUMGARTE, GAMMA, JACOBIAN
from contactlab.constraints.kernels.wanted import SCRATCH as OF_ROWS
from contactlab.multibody.kernels.codes import GOOD, UNUSUAL
from contactlab.multibody.kernels.crba import crba
from contactlab.multibody.kernels.layout import NQ, NV, tree
from contactlab.multibody.kernels.newton_euler import newton_euler
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, PER_DOF, PER_LINK, SCRATCH, VELOCITIES
from contactlab.multibody.kernels.views import rows_at
from contactlab.multibody.kernels.workspace import frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


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
    """Fill a (nv,) and forces (m,); W of `mass_matrix_size`, order (nv + m,), for the direct method alone.

    ``given`` (m, nv + 1): rows of custom constraints with their gamma in the last column; length 0 stands for none.
    Returns the rank of the rows and the residual, or a code < 0 (`contactlab.constraints.kernels.kkt_codes`).
    """
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
    for i in range(m):
        row = G[i]
        for j in range(nv):
            row[j] = given[i, j] if given.shape[0] > 0 else 0.0
        if given.shape[0] > 0:
            gamma[i] = given[i, nv]
    constraint_rows(I, F, W, 1.0, JACOBIAN | GAMMA | BAUMGARTE, scratch, G, gamma, errors[:m], errors[m:])
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
    code = solve_kkt(method, t.dof_parent, dense, System(H, G, c, gamma), RANK_TOLERANCE, work, order, a, forces)
    if code < 0:
        return code, 0.0
    residual = checked(G, gamma, a, alone, errors)
    return (code, residual) if residual >= 0.0 else (BROKEN, 0.0)


@kernel
def quick_mass_matrix(
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
    """`full_mass_matrix` in as few arguments as the usual call needs: no external forces, nothing of the user's own."""
    custom = rows_at(W, 0, 0, CUSTOM_ROW)
    none = rows_at(W, 0, 0, 6)
    return full_mass_matrix(I, order, F, q, v, tau, none, custom, none, W, a, forces, NOTHING, dense, method)

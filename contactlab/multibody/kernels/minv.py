"""M^-1 without M: the articulated inertias once, then two sweeps per right-hand side, O(nv) each."""

from __future__ import annotations

from contactlab.multibody.kernels.articulated import articulate
from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE
from contactlab.multibody.kernels.inertias import world_inertias
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.poses import poses
from contactlab.multibody.kernels.sizes import POSES
from contactlab.multibody.kernels.sweeps import inward, outward
from contactlab.multibody.kernels.views import rows_at
from contactlab.multibody.kernels.workspace import frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def factor_inertia(
    I: IntArray, F: FloatArray, q: FloatArray, custom: FloatArray, W: FloatArray, ready: int, factor: FloatArray
) -> int:
    """Fill factor (13 nv,): S (nv, 6), U (nv, 6) and 1 / D (nv,) of `articulate`; `GOOD`, or what stopped it."""
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = t.dof_parent.shape[0]
    f = frames(W, nl, nv)
    if ready < POSES:
        code = poses(I, F, q, custom, W)
        if code != GOOD:
            return code
    B = rows_at(W, f.start, nl, 10)
    K = rows_at(W, f.start + 10 * nl, nl, 23)
    S = rows_at(factor, 0, nv, 6)
    for j in range(nv):
        for k in range(6):
            S[j, k] = f.S[j, k]
    world_inertias(t, f.R, f.p, B)
    D = factor[12 * nv : 13 * nv]
    return articulate(t, S, B, K, rows_at(factor, 6 * nv, nv, 6), D, rows_at(W, 0, 0, 6), D)


@kernel
def solve_inertia(I: IntArray, F: FloatArray, factor: FloatArray, P: FloatArray, x: FloatArray) -> int:
    """x := M^-1 x for every row of x (m, nv), P (nl, 6) being scratch; `GOOD` or `NOT_FINITE`."""
    t = tree(I, F)
    nv = t.dof_parent.shape[0]
    S = rows_at(factor, 0, nv, 6)
    U = rows_at(factor, 6 * nv, nv, 6)
    D = factor[12 * nv : 13 * nv]
    rest = 0.0
    for number in range(x.shape[0]):
        for i in range(P.shape[0]):
            for k in range(6):
                P[i, k] = 0.0
        row = x[number]
        inward(t, S, U, D, P, row)
        outward(t, S, U, D, P, row)
        for j in range(nv):
            rest += 0.0 * row[j]
    return GOOD if rest == 0.0 else NOT_FINITE

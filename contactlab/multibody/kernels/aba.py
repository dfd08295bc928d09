"""The articulated-body algorithm: accelerations from forces (Featherstone 2008, section 7.3), in world axes.

The forces that leave the joints without acceleration are collected first, outward; what remains is M^-1 applied to the
rest. Velocities then no longer appear in the inward pass, which saves a product with the articulated inertia per link.
"""

from __future__ import annotations

from contactlab.multibody.kernels.articulated import articulate
from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE
from contactlab.multibody.kernels.inertias import world_inertias
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.newton_euler import newton_euler
from contactlab.multibody.kernels.sweeps import outward
from contactlab.multibody.kernels.views import part_at, rows_at
from contactlab.multibody.kernels.workspace import frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def aba(
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
) -> int:
    """Fill a (nv,) with M^-1 (tau - h + J^T f_ext); `GOOD`, or what stopped it.

    ``f_ext`` of length 0 stands for no external forces.
    """
    code = newton_euler(I, F, q, v, a[:0], f_ext, custom, W, ready)
    if code != GOOD:
        return code
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = a.shape[0]
    f = frames(W, nl, nv)
    P = rows_at(W, f.start + 6 * nl, nl, 6)
    B = rows_at(W, f.start + 12 * nl, nl, 10)
    K = rows_at(W, f.start + 22 * nl, nl, 23)
    U = rows_at(W, f.start + 45 * nl, nv, 6)
    D = part_at(W, f.start + 45 * nl + 6 * nv, nv)
    world_inertias(t, f.R, f.p, B)
    for j in range(nv):
        a[j] = tau[j]
    code = articulate(t, f.S, B, K, U, D, P, a)
    if code != GOOD:
        return code
    outward(t, f.S, U, D, P, a)
    rest = 0.0
    for j in range(nv):
        rest += 0.0 * a[j]
    return GOOD if rest == 0.0 else NOT_FINITE

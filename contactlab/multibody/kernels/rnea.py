"""The recursive Newton-Euler algorithm: forces from accelerations (Featherstone 2008, section 5.3), in world axes."""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE
from contactlab.multibody.kernels.layout import HEAD, LINKS, NV, tree
from contactlab.multibody.kernels.newton_euler import newton_euler
from contactlab.multibody.kernels.sizes import PER_DOF, PER_LINK, SCRATCH
from contactlab.multibody.kernels.views import part_at, rows_at
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def rnea(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    tau: FloatArray,
) -> int:
    """Fill tau (nv,) with M a + h - J^T f_ext; `GOOD`, or what stopped it.

    ``a`` of length 0 stands for no accelerations, ``f_ext`` of length 0 for no external forces.
    """
    code = newton_euler(I, F, q, v, a, f_ext, custom, W, ready)
    if code != GOOD:
        return code
    code = joint_forces(I, W, tau)
    if a.shape[0] > 0:
        armature = tree(I, F).armature
        for j in range(tau.shape[0]):
            tau[j] += armature[j] * a[j]
    return code


@kernel(inner=True)
def joint_forces(I: IntArray, W: FloatArray, tau: FloatArray) -> int:
    """Inward: each joint bears what its link and everything beyond needs. The forces in W become those sums."""
    nl = I[LINKS]
    nv = I[NV]
    parent = part_at(I, HEAD, nl)
    iv = part_at(I, HEAD + 4 * nl + 1, nl + 1)
    S = rows_at(W, SCRATCH + 2 * nl, nv, 6)
    B = rows_at(W, SCRATCH + (PER_LINK + 6) * nl + PER_DOF * nv, nl, 6)
    rest = 0.0
    for i in range(nl - 1, -1, -1):
        Bi = B[i]
        for j in range(iv[i], iv[i + 1]):
            s = S[j]
            tau[j] = s[0] * Bi[0] + s[1] * Bi[1] + s[2] * Bi[2] + s[3] * Bi[3] + s[4] * Bi[4] + s[5] * Bi[5]
            rest += 0.0 * tau[j]
        up = parent[i]
        if up >= 0:
            Bu = B[up]
            for k in range(6):
                Bu[k] += Bi[k]
    # Whatever is not finite among the arguments ends up in some joint's force.
    return GOOD if rest == 0.0 else NOT_FINITE

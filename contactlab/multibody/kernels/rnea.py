"""The recursive Newton-Euler algorithm: forces from accelerations (Featherstone 2008, section 5.3), in world axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.kernels.accelerations import accelerations
from contactlab.multibody.kernels.body_forces import body_forces, subtract_external
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.outcomes import NOT_FINITE
from contactlab.multibody.kernels.poses import poses
from contactlab.multibody.kernels.sizes import PER_DOF, PER_LINK, POSES, SCRATCH, VELOCITIES
from contactlab.multibody.kernels.velocities import velocities
from contactlab.multibody.kernels.views import rows_at
from contactlab.multibody.kernels.workspace import frames
from lcp.kernels import kernel


@kernel
def rnea(
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    a: NDArray[np.float64],
    f_ext: NDArray[np.float64],
    custom: NDArray[np.float64],
    W: NDArray[np.float64],
    ready: int,
    tau: NDArray[np.float64],
) -> int:
    """Fill tau (nv,) with M a + h - J^T f_ext; `GOOD`, or what stopped it.

    ``a`` of length 0 stands for no accelerations, ``f_ext`` of length 0 for no external forces.
    """
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = tau.shape[0]
    f = frames(W, nl, nv)
    start = SCRATCH + PER_LINK * nl + PER_DOF * nv
    if ready < POSES:
        code = poses(t, q, custom, f.R, f.p, f.S, f.scratch)
        if code != GOOD:
            return code
    if ready < VELOCITIES:
        velocities(t, v, custom, f.R, f.p, f.S, f.V, f.C)
    A = rows_at(W, start, nl, 6)
    B = rows_at(W, start + 6 * nl, nl, 6)
    accelerations(t, f.S, f.C, a, 1.0, A)
    body_forces(t, f.R, f.p, f.V, A, B)
    if f_ext.shape[0] > 0:
        subtract_external(t, f.p, f_ext, B)
    # Inward: each joint bears what its link and everything beyond needs.
    rest = 0.0
    for i in range(nl - 1, -1, -1):
        Bi = B[i]
        for j in range(t.iv[i], t.iv[i + 1]):
            s = f.S[j]
            tau[j] = s[0] * Bi[0] + s[1] * Bi[1] + s[2] * Bi[2] + s[3] * Bi[3] + s[4] * Bi[4] + s[5] * Bi[5]
            rest += 0.0 * tau[j]
        up = t.parent[i]
        if up >= 0:
            Bu = B[up]
            for k in range(6):
                Bu[k] += Bi[k]
    # Whatever is not finite among the arguments ends up in some joint's force.
    return GOOD if rest == 0.0 else NOT_FINITE

"""The composite-rigid-body algorithm: the mass matrix (Featherstone 2008, section 6.2), in world axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.inertias import inertia_times, world_inertias
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.outcomes import NOT_FINITE
from contactlab.multibody.kernels.poses import poses
from contactlab.multibody.kernels.sizes import PER_DOF, PER_LINK, POSES, SCRATCH
from contactlab.multibody.kernels.views import rows_at
from contactlab.multibody.kernels.workspace import frames
from lcp.kernels import kernel


@kernel
def crba(
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    custom: NDArray[np.float64],
    W: NDArray[np.float64],
    ready: int,
    M: NDArray[np.float64],
) -> int:
    """Fill M (nv, nv), zeroed by the caller; `GOOD`, or what stopped it.

    Only entries between degrees of freedom of one branch are written: the others are zero in every configuration.
    """
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = M.shape[0]
    f = frames(W, nl, nv)
    start = SCRATCH + PER_LINK * nl + PER_DOF * nv
    if ready < POSES:
        code = poses(t, q, custom, f.R, f.p, f.S, f.scratch)
        if code != GOOD:
            return code
    B = rows_at(W, start, nl, 10)
    out = W[start + 10 * nl : start + 10 * nl + 6]
    world_inertias(t, f.R, f.p, B)
    rest = 0.0
    for i in range(nl - 1, -1, -1):
        Bi = B[i]
        up = t.parent[i]
        if up >= 0:
            Bu = B[up]
            for k in range(10):
                Bu[k] += Bi[k]
        for j in range(t.iv[i + 1] - 1, t.iv[i] - 1, -1):
            # The force that moves everything beyond joint j at unit acceleration, felt by each joint on the way.
            inertia_times(Bi, f.S[j], out)
            a = out[0]
            b = out[1]
            c = out[2]
            d = out[3]
            e = out[4]
            g = out[5]
            rest += 0.0 * (a + b + c + d + e + g)
            k = j
            while k >= 0:
                s = f.S[k]
                value = s[0] * a + s[1] * b + s[2] * c + s[3] * d + s[4] * e + s[5] * g
                M[j, k] = value
                M[k, j] = value
                k = t.dof_parent[k]
    return GOOD if rest == 0.0 else NOT_FINITE

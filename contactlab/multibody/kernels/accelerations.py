"""Spatial accelerations of the links, outward along the tree (Featherstone 2008, equation 5.13)."""

from __future__ import annotations

from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inner=True)
def accelerations(t: Tree, S: FloatArray, C: FloatArray, a: FloatArray, g: float, A: FloatArray) -> None:
    """A_i = A_parent + C_i + S_i a, (nl, 6); the world accelerates by -g times gravity, so g = 1 adds the weights.

    ``a`` of length 0 stands for zero accelerations.
    """
    moving = a.shape[0] > 0
    x = -g * t.gravity[0]
    y = -g * t.gravity[1]
    z = -g * t.gravity[2]
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        Ai = A[i]
        Ci = C[i]
        if up >= 0:
            Au = A[up]
            for k in range(6):
                Ai[k] = Au[k] + Ci[k]
        else:
            Ai[0] = Ci[0]
            Ai[1] = Ci[1]
            Ai[2] = Ci[2]
            Ai[3] = Ci[3] + x
            Ai[4] = Ci[4] + y
            Ai[5] = Ci[5] + z
        if moving:
            for j in range(t.iv[i], t.iv[i + 1]):
                Sj = S[j]
                rate = a[j]
                for k in range(6):
                    Ai[k] += Sj[k] * rate

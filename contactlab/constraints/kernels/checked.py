"""The last look at what a solve of constrained forward dynamics found."""

from __future__ import annotations

from contactlab.constraints.kernels.constraint_residual import constraint_residual
from contactlab.constraints.kernels.kkt_codes import BROKEN
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inline=True)
def checked(G: FloatArray, gamma: FloatArray, a: FloatArray, alone: FloatArray, terms: FloatArray) -> float:
    """The residual of a solve that went through, `BROKEN` where it is not finite.

    alone (nv,): sizes of the accelerations that the load would give each degree of freedom by itself.
    """
    residual = constraint_residual(G, a, gamma, alone, terms)
    rest = 0.0 * residual
    for j in range(a.shape[0]):
        rest += 0.0 * a[j]
    return residual if rest == 0.0 else float(BROKEN)

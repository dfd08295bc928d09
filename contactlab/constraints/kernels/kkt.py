"""One constrained system by one of three methods, and by the rank-revealing one where that one must give up."""

from __future__ import annotations

from contactlab.constraints.kernels.direct import solve_direct
from contactlab.constraints.kernels.kkt_codes import DEPENDENT, DIRECT, RANGE_SPACE, System
from contactlab.constraints.kernels.null_space import solve_null_space
from contactlab.constraints.kernels.range_space import restored, solve_range_space
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel(inline=True)
def solve_kkt(
    method: int,
    parents: IntArray,
    dense: int,
    system: System,
    tolerance: float,
    W: FloatArray,
    order: IntArray,
    x: FloatArray,
    forces: FloatArray,
) -> int:
    """Fill x (n,) and forces (m,) with H x - G^T forces = c, G x = gamma; the rank of G, or `LOOSE` - k.

    H is overwritten. Redundant rows make the matrices of the other methods singular: the null-space method, which finds
    the rank first, then answers for them.
    """
    m, n = system.G.shape
    code = DEPENDENT
    if m <= n:
        if method == DIRECT:
            code = solve_direct(system, W, order, x, forces)
        elif method == RANGE_SPACE:
            code = solve_range_space(parents, dense, system, W, x, forces)
            if code == DEPENDENT:
                start = (n + m + 1) * (m + 1)
                restored(system.H, W[start : start + n])
    if code == DEPENDENT:
        code = solve_null_space(system, tolerance, W, x, forces)
    return code

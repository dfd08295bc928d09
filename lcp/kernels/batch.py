"""Many small LCPs one after another, without returning to Python in between."""

from __future__ import annotations

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.codes import SOLVED, STALLED
from lcp.kernels.final_basis import plain_error
from lcp.kernels.lemke import PIVOTS, lemke
from lcp.kernels.residuals import GAP, lcp_residuals


@kernel
def lemke_batch(
    M: Floats,
    q: Floats,
    z0: Floats,
    has_z0: bool,
    options: Floats,
    tolerance: float,
    start: int,
    stop: int,
    wf: Floats,
    wi: Ints,
    info: Ints,
    z: Floats,
    w: Floats,
    codes: Ints,
    pivots: Ints,
    measures: Floats,
) -> None:
    """Solve problems ``start`` to ``stop`` of M (B or 1, n, n), q (B, n), each measured on its data.

    A row of measures is that of `lcp.Residuals`: those of `lcp_residuals` up to the gap, and the backward error.
    ``wf``, ``wi`` and ``info`` are the workspaces of `lcp.kernels.lemke`; the other arrays have one row per problem.
    """
    shared = M.shape[0] == 1
    for b in range(start, stop):
        matrix = M[0] if shared else M[b]
        code = lemke(matrix, q[b], z0[b] if has_z0 else z[b], has_z0, options, wf, wi, z[b], info)
        lcp_residuals(matrix, q[b], z[b], w[b], measures[b])
        # The verdict is that of the residuals, in both directions.
        measures[b, GAP + 1] = plain_error(matrix, q[b], z[b], w[b], wf)
        if measures[b, GAP + 1] <= tolerance:
            code = SOLVED
        elif code == SOLVED:
            code = STALLED
        codes[b] = code
        pivots[b] = info[PIVOTS]

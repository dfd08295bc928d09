"""The acceleration-level LCP: the rows of `discretized_lcp` at h = 1, with the friction of sliding contacts.

The normal force of a sliding contact acts along its row of R' = (N - mu_s Q)', not along N', so that its column of the
matrix is J C R' in every row, limits included. Only contacts at tangential rest have a cone. The whole matrix is at the
head of `contactlab.formulation.acceleration`.
"""

from __future__ import annotations

from contactlab.formulation.kernels.discretized_lcp import fill_cones, fill_rows
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.contacts.kernels.boxed_rows import first_limit
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.kernels import kernel


@kernel(inner=True)
def _fill_sliding_column(rows: ContactSystem, c: int, response: FloatArray, M: FloatArray) -> None:
    """Replace column c of M by J response, rows F also negated."""
    nc = rows.nc
    nr = rows.nr
    J = rows.J
    for i in range(nc + nr + rows.nl):
        friction = nc <= i < nc + nr
        a = i if i < nc + nr else first_limit(rows) + i - nc - nr
        w = 0.0
        for p in range(response.shape[0]):
            w += J[i, p] * response[p]
        M[a, c] = w
        if friction:
            M[a + nr, c] = 0.0 - w


@kernel
def assemble_acceleration_lcp(
    rows: ContactSystem, sliding: IntArray, responses: FloatArray, M: FloatArray, q: FloatArray
) -> None:
    """Fill M and q of the acceleration-level LCP.

    Parameters
    ----------
    rows
        [N; F; L], with h = 1, no softening, and the cones of the contacts that do not slide.
    sliding
        (ns,) the others.
    responses
        (>= nc, nv) row i is C R_i: the acceleration by a unit of normal force at contact i.
    M, q
        (n, n) and (n,), n = nc + 2 nr + nns + nl: output.
    """
    fill_rows(rows, M, q)
    for s in range(sliding.shape[0]):
        c = sliding[s]
        _fill_sliding_column(rows, c, responses[c], M)
    fill_cones(rows, M)

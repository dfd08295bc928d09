"""The Delassus matrix G M^-1 G^T from the articulated bodies, without M and without its inverse."""

from __future__ import annotations

from contactlab.constraints.kernels.test_forces import last_entries, responses_of, test_forces
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.views import rows_at
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def delassus_matrix(
    I: IntArray, F: FloatArray, articulated: FloatArray, G: FloatArray, W: FloatArray, K: FloatArray
) -> None:
    """Fill K (m, m); ``articulated`` (13 nv,) is from `factor_inertia`, W has nv (m + 6) + 2 m + 24 places."""
    t = tree(I, F)
    m, nv = G.shape
    S = rows_at(articulated, 0, nv, 6)
    U = rows_at(articulated, 6 * nv, nv, 6)
    D = articulated[12 * nv : 13 * nv]
    X = rows_at(W, 0, nv, m + 3)
    b = nv * (m + 3)
    reached = W[b : b + nv]
    taken = W[b + nv : b + 2 * nv]
    zero = W[b + 2 * nv : b + 3 * nv]
    b += 3 * nv
    tips = W[b : b + m]
    unused = W[b + m : b + 2 * m]
    force = W[b + 2 * m : b + 2 * m + 24]
    for j in range(nv):
        zero[j] = 0.0
    last_entries(G, tips)
    test_forces(t, S, U, D, G, tips, 0, X, reached, taken, force)
    responses_of(D, X, reached, zero, K, unused)
    for i in range(m):
        row = K[i]
        for j in range(i):
            K[j, i] = row[j]

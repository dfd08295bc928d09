"""A = L Q by Householder reflections of the rows, with row pivoting: the rank of A shows in the diagonal of L.

Golub and Van Loan, Matrix Computations (2013), sections 5.1 and 5.4.2, for the transpose: a row is contiguous.
"""

from __future__ import annotations

import numpy as np

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel
from lcp.kernels.reductions import dot


@kernel
def factor_rows(A: FloatArray, order: FloatArray, tau: FloatArray, length: FloatArray, floor: float) -> int:
    """Factorise A (m, n) in place; returns the rank r, that is how many rows were longer than ``floor`` in their turn.

    With a negative ``floor`` rows are taken as they come. On return row i of A holds row order[i] of L in its first
    min(i + 1, r) entries; beside L_kk stands the reflection 1 - tau_k v v^T, v_k = 1. ``length`` (m,) is scratch.
    """
    m, n = A.shape
    for i in range(m):
        order[i] = i
        length[i] = dot(A[i], A[i], n)
    for k in range(min(m, n)):
        if floor >= 0.0:
            best = k
            for i in range(k + 1, m):
                if length[i] > length[best]:
                    best = i
            if not length[best] > floor * floor:
                return k
            if best != k:
                upper = A[k]
                lower = A[best]
                for j in range(n):
                    upper[j], lower[j] = lower[j], upper[j]
                order[k], order[best] = order[best], order[k]
                length[k], length[best] = length[best], length[k]
        row = A[k]
        tail = row[k + 1 :]
        head = row[k]
        rest = dot(tail, tail, tail.shape[0])
        if rest == 0.0:
            tau[k] = 0.0
        else:
            # Away from the entry that is there, so that nothing cancels.
            size = np.sqrt(head * head + rest)
            diagonal = -size if head >= 0.0 else size
            tau[k] = (diagonal - head) / diagonal
            inverse = 1.0 / (head - diagonal)
            for j in range(tail.shape[0]):
                tail[j] *= inverse
            row[k] = diagonal
        for i in range(k + 1, m):
            below = A[i]
            other = below[k + 1 :]
            shift = tau[k] * (below[k] + dot(other, tail, tail.shape[0]))
            below[k] -= shift
            for j in range(other.shape[0]):
                other[j] -= shift * tail[j]
            length[i] = dot(other, other, other.shape[0])
    return min(m, n)


@kernel
def reflect(A: FloatArray, tau: FloatArray, k: int, x: FloatArray) -> None:
    """x := the k-th reflection of x (n,)."""
    row = A[k]
    tail = row[k + 1 :]
    rest = x[k + 1 :]
    shift = tau[k] * (x[k] + dot(rest, tail, tail.shape[0]))
    x[k] -= shift
    for j in range(rest.shape[0]):
        rest[j] -= shift * tail[j]


@kernel
def reflect_both(A: FloatArray, tau: FloatArray, k: int, v: FloatArray, w: FloatArray, H: FloatArray) -> None:
    """H := P H P for the symmetric H (n, n) and the k-th reflection P, as an update of rank two; v, w are scratch (n,).

    With w = tau H v and w -= (tau / 2) (w.v) v it is H - v w^T - w v^T (Golub and Van Loan 2013, section 8.3.1).
    """
    n = H.shape[0]
    if tau[k] == 0.0:
        return
    for j in range(n):
        v[j] = 0.0 if j < k else A[k, j]
        w[j] = 0.0
    v[k] = 1.0
    for i in range(k, n):
        factor = tau[k] * v[i]
        row = H[i]
        for j in range(n):
            w[j] += factor * row[j]
    half = 0.5 * tau[k] * dot(w, v, n)
    for j in range(n):
        w[j] -= half * v[j]
    for i in range(n):
        a = v[i]
        b = w[i]
        row = H[i]
        for j in range(n):
            row[j] -= a * w[j] + b * v[j]

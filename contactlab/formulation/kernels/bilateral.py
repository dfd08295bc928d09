"""Elimination of bilateral rows, for the public path and the compiled step alike: `contactlab.formulation.blocks`.

With W = G Y', Y_i = M^-1 G_i, everything is expressed through the pseudo-inverse W+. Each projection is done twice: the
second pass removes the rounding of the first.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.contacts.kernels.condition_scales import keep_worst, least_rate
from lcp.contacts.kernels.spans import columns, dot_within
from lcp.kernels import kernel

_EPS: Final = float(np.finfo(np.float64).eps)

# C J_i is zero to rounding where J_i C J_i falls below this share of J_i M^-1 J_i (an angle of 3e-7 rad).
_LOCKED: Final = 1e-13
# Rate of a locked row, relative to the sum of its terms before cancellation, that rounding explains.
_ROUNDING: Final = 1e-12


@kernel
def bilateral_work_size(nb: int) -> int:
    """Floats that `factor_bilateral` needs as workspace, and more than any other function here does."""
    return 3 * nb * nb + 3 * nb


@kernel
def factor_bilateral(G: FloatArray, Y: FloatArray, P: FloatArray, work: FloatArray) -> int:
    """Fill P (nb, nb), the pseudo-inverse of W = G Y', and return the rank of G.

    Parameters
    ----------
    G, Y
        (nb, nv) bilateral rows, and M^-1 G_i row by row.
    P
        Output.
    work
        (>= bilateral_work_size(nb),) scratch.

    Notes
    -----
    Rows are scaled to W_ii = 1 before the rank is decided, by a Cholesky factorisation with pivoting: W = Q Q', Q of
    full column rank. The pseudo-inverse is that of the unscaled W, by Q = U R with orthonormal U: P = U R^-T R^-1 U',
    so that multipliers have minimum norm in the units of the rows as given.
    """
    nb, nv = G.shape
    A = work[: nb * nb].reshape((nb, nb))
    U = work[nb * nb : 2 * nb * nb].reshape((nb, nb))
    R = work[2 * nb * nb : 3 * nb * nb].reshape((nb, nb))
    scale = work[3 * nb * nb : 3 * nb * nb + nb]
    order = work[3 * nb * nb + nb : 3 * nb * nb + 2 * nb]
    for i in range(nb):
        order[i] = i
        for j in range(nb):
            w = 0.0
            for p in range(nv):
                w += G[i, p] * Y[j, p]
            A[i, j] = w
    for i in range(nb):
        scale[i] = 1.0 / math.sqrt(A[i, i]) if A[i, i] > 0.0 else 1.0
    # The inertia solve makes W unsymmetric by as much as it is inaccurate: no smaller pivot means anything.
    noise = 0.0
    for i in range(nb):
        for j in range(i + 1):
            a = scale[i] * A[i, j] * scale[j]
            b = scale[i] * A[j, i] * scale[j]
            noise = max(noise, abs(a - b))
            A[i, j] = 0.5 * (a + b)
            A[j, i] = 0.5 * (a + b)
    floor = nb * (32.0 * _EPS + noise)

    rank = nb
    for k in range(nb):
        best = k
        for i in range(k + 1, nb):
            if A[i, i] > A[best, best]:
                best = i
        if not A[best, best] > floor:
            rank = k
            break
        if best != k:
            order[k], order[best] = order[best], order[k]
            for j in range(nb):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            for i in range(nb):
                A[i, k], A[i, best] = A[i, best], A[i, k]
        pivot = math.sqrt(A[k, k])
        A[k, k] = pivot
        for i in range(k + 1, nb):
            A[i, k] /= pivot
        for i in range(k + 1, nb):
            for j in range(k + 1, i + 1):
                A[i, j] -= A[i, k] * A[j, k]
                A[j, i] = A[i, j]

    # H by rows in R: W+ = H' H.
    if rank == nb:
        # H = L^-1 of the scaled rows in their pivoted order, scaled back.
        for i in range(nb):
            for j in range(i):
                w = 0.0
                for k in range(j, i):
                    w += A[i, k] * U[k, j]
                U[i, j] = -w / A[i, i]
            U[i, i] = 1.0 / A[i, i]
        for i in range(nb):
            for j in range(nb):
                R[i, int(order[j])] = U[i, j] * scale[int(order[j])] if j <= i else 0.0
    else:
        _pseudo_factor(A, U, R, scale, order, rank)
    for i in range(nb):
        for j in range(i + 1):
            w = 0.0
            for k in range(rank):
                w += R[k, i] * R[k, j]
            P[i, j] = w
            P[j, i] = w
    return rank


@kernel(inner=True)
def _pseudo_factor(
    A: FloatArray, U: FloatArray, R: FloatArray, scale: FloatArray, order: FloatArray, rank: int
) -> None:
    """Rows of R := R_q^-1 U' for Q = U R_q, Q the unscaled pivoted factor in A; U and A are used up."""
    nb = A.shape[0]
    # Columns of Q as rows of U, by Gram and Schmidt twice; the coefficients go to the upper triangle of A.
    for k in range(rank):
        row = U[k]
        for i in range(nb):
            row[int(order[i])] = A[i, k] / scale[int(order[i])] if i >= k else 0.0
    for k in range(rank):
        for i in range(k):
            A[i, k] = 0.0
        for _ in range(2):
            for i in range(k):
                w = 0.0
                for p in range(nb):
                    w += U[i, p] * U[k, p]
                A[i, k] += w
                for p in range(nb):
                    U[k, p] -= w * U[i, p]
        w = 0.0
        for p in range(nb):
            w += U[k, p] * U[k, p]
        w = math.sqrt(w)
        A[k, k] = w
        for p in range(nb):
            U[k, p] /= w
    for k in range(rank - 1, -1, -1):
        for p in range(nb):
            w = U[k, p]
            for i in range(k + 1, rank):
                w -= A[k, i] * R[i, p]
            R[k, p] = w / A[k, k]


@kernel
def add_bilateral_impulses(
    G: FloatArray, Y: FloatArray, P: FloatArray, k: FloatArray, v: FloatArray, impulses: FloatArray, work: FloatArray
) -> None:
    """Fill the impulses (nb,) of minimum norm that make G v + k = 0 and add what they do to v (nv,).

    ``work`` (>= nb,) is scratch.
    """
    nb, nv = G.shape
    for i in range(nb):
        impulses[i] = 0.0
    for _ in range(2):
        for i in range(nb):
            rate = k[i]
            for p in range(nv):
                rate += G[i, p] * v[p]
            work[i] = rate
        for i in range(nb):
            impulse = 0.0
            for j in range(nb):
                impulse -= P[i, j] * work[j]
            impulses[i] += impulse
            if impulse != 0.0:
                for p in range(nv):
                    v[p] += impulse * Y[i, p]


@kernel
def project_rows(
    G: FloatArray,
    Y: FloatArray,
    P: FloatArray,
    rows: FloatArray,
    responses: FloatArray,
    spans: IntArray,
    locked: IntArray,
    work: FloatArray,
) -> None:
    """From responses M^-1 d_i of rows d_i to C d_i, in place; ``locked`` (m,) is 1 where d_i C d_i is rounding.

    Of such a response only what is more than rounding is kept.

    Rows and responses, before and after, have columns in ``spans`` alone: the others are not read, and become 0 where
    G changes a response. ``work`` (>= 3 nb,) is scratch.
    """
    nb = G.shape[0]
    m, nv = rows.shape
    zero = work[nb : 2 * nb]
    impulses = work[2 * nb : 3 * nb]
    for i in range(nb):
        zero[i] = 0.0
    for i in range(m):
        locked[i] = 0
        a, b, c, d = columns(spans, i, nv)
        moved = False
        for j in range(nb):
            moved = moved or dot_within(a, b, c, d, G[j], responses[i]) != 0.0
        if not moved:
            continue
        for p in range(nv):
            if not (a <= p < b or c <= p < d):
                responses[i, p] = 0.0
        before = dot_within(a, b, c, d, rows[i], responses[i])
        largest = 0.0
        for p in range(nv):
            largest = max(largest, abs(responses[i, p]))
        add_bilateral_impulses(G, Y, P, zero, responses[i], impulses, work)
        after = dot_within(a, b, c, d, rows[i], responses[i])
        locked[i] = 1 if after <= _LOCKED * before and before > 0.0 else 0
        if locked[i] != 0:
            # A row at an angle of 1e-8 to those that hold it moves no more, but its force does what it does.
            for p in range(nv):
                if abs(responses[i, p]) <= _ROUNDING * largest:
                    responses[i, p] = 0.0


@kernel
def fill_posed(
    J: FloatArray,
    Y: FloatArray,
    k: FloatArray,
    v_free: FloatArray,
    spans: IntArray,
    nu: int,
    nb: int,
    posed: FloatArray,
) -> None:
    """Fill what judges ask of the rows [N; F; L; B] as they were, of [N; F; L; G; B]: see `Case.posed`.

    ``spans`` are those of [N; F; L; B], of which nu are [N; F; L].
    """
    m = k.shape[0] - nb
    for row in range(m):
        place = row if row < nu else row + nb
        a, b, c, d = columns(spans, row, v_free.shape[0])
        posed[row] = dot_within(a, b, c, d, J[place], Y[place])
        posed[m + row] = abs(dot_within(a, b, c, d, J[place], v_free) + k[place])


@kernel
def lock_terms(
    locked: IntArray, J: FloatArray, spans: IntArray, v0: FloatArray, v_free: FloatArray, k: FloatArray
) -> None:
    """A locked row is a number, not an equation: its rate joins k, and a zero that came out as -1e-17 is one.

    ``J`` (m, nv) holds the rows as they were, in ``spans``; v0 (nv,) is v_free after `add_bilateral_impulses`.
    """
    for i in range(locked.shape[0]):
        if locked[i] != 0:
            rate = k[i]
            size = abs(k[i])
            a, b, c, d = columns(spans, i, v0.shape[0])
            for p in range(a, b):
                rate += J[i, p] * v0[p]
                size += abs(J[i, p]) * (abs(v0[p]) + abs(v_free[p]))
            for p in range(c, d):
                rate += J[i, p] * v0[p]
                size += abs(J[i, p]) * (abs(v0[p]) + abs(v_free[p]))
            k[i] = 0.0 if abs(rate) <= _ROUNDING * size else rate


@kernel
def certify_bilateral(
    G: FloatArray, Y: FloatArray, k: FloatArray, v_plus: FloatArray, u: FloatArray, cert: FloatArray
) -> None:
    """Fill cert (2,) with |G v+ + k| and its scale for the row where their ratio is largest.

    ``Y`` has rows M^-1 G_i; ``u`` (nv + 1,) is the size of each velocity before cancellation, and of all, as `certify`
    leaves it.
    """
    cert[0] = 0.0
    cert[1] = 0.0
    for i in range(G.shape[0]):
        rate = k[i]
        scale = abs(k[i])
        own = 0.0
        for p in range(v_plus.shape[0]):
            rate += G[i, p] * v_plus[p]
            scale += abs(G[i, p]) * u[p]
            own += G[i, p] * Y[i, p]
        scale = max(scale, least_rate(own, float(u[v_plus.shape[0]])))
        if not abs(rate) < float("inf"):
            cert[0] = float("inf")
            cert[1] = 1.0
            return
        keep_worst(cert, 0, abs(rate), scale)

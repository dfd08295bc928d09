"""Conjugate directions on the residual of projected Gauss-Seidel.

M. Silcowitz-Hansen, S. Niebe, K. Erleben, The Visual Computer 26 (2010): with P one projected sweep,
r = P(y) - y plays the negative gradient; y <- y + p, p = r + beta p of before, beta = |r|^2 / |r of before|^2
(Fletcher and Reeves 1964), and a restart where beta > 1. Lengths are taken in the metric of the diagonal of M, so that
units of the unknowns do not matter.

The safeguards are not theirs, see `lcp.solvers.nonsmooth_nonlinear_cg`. The one that needs no symmetry stands here: the
smallest |r|^2 so far has to be quartered again and again; if that takes too long, plain sweeps go on until it is.
Either |r| tends to zero, or from some iteration on there are plain sweeps only: what is proven of them carries over.
"""

from __future__ import annotations

from typing import Final

from lcp.kernels import Floats, kernel
from lcp.kernels.affine import Matrix, columns_product
from lcp.kernels.projected_gauss_seidel import REFRESH, sweep

# Places in the vector of state, which lives from call to call.
LENGTH: Final = 0  # |r|^2 of the iteration before; zero for a fresh start
LEAST: Final = 1  # smallest |r|^2 that counted as progress
SINCE: Final = 2  # iterations since
PLAIN: Final = 3  # whether plain sweeps are under way
SPENT: Final = 4
PLAIN_SPENT: Final = 5
WATCHED: Final = 6  # whether |r|^2 has to be quartered in time
STATE_SIZE: Final = 7

# Iterations that the conjugate directions have, at least, to quarter |r|^2; as many as were spent so far, if more.
PATIENCE: Final = 32


@kernel
def nonsmooth_nonlinear_cg(
    matrix: Matrix,
    q: Floats,
    diagonal: Floats,
    step: Floats,
    lo: Floats,
    hi: Floats,
    order: int,
    count: int,
    z: Floats,
    y: Floats,
    p: Floats,
    work: Floats,
    state: Floats,
) -> None:
    """Run ``count`` iterations; z becomes P(y) of the last, which lies between the bounds, y the point after it.

    ``work`` (3, n) holds w at y, M p and w at the former y; the last two are kept from call to call.
    """
    n = z.shape[0]
    dense = matrix[0].shape[0] > 0
    w = work[0]
    along = work[1]
    before = work[2]
    for k in range(count):
        if dense:
            if k % REFRESH == 0:
                columns_product(matrix[0], q, y, w)
            for i in range(n):
                before[i] = w[i]
        for i in range(n):
            z[i] = y[i]
        sweep(matrix, q, diagonal, step, lo, hi, y, w, order)
        # Now y is P(y), and z the point it came from.
        length = 0.0
        for i in range(n):
            length += diagonal[i] * (y[i] - z[i]) * (y[i] - z[i])
        state[SPENT] += 1.0
        if state[WATCHED] == 0.0:
            pass
        elif length < 0.25 * state[LEAST]:
            state[LEAST] = length
            state[SINCE] = 0.0
            state[PLAIN] = 0.0
        else:
            state[SINCE] += 1.0
            if state[SINCE] > max(1.0 * PATIENCE, state[SPENT] - state[SINCE]):
                state[PLAIN] = 1.0
        beta = length / state[LENGTH] if state[LENGTH] > 0.0 else 0.0
        if not beta <= 1.0 or state[PLAIN] != 0.0:
            beta = 0.0
        state[PLAIN_SPENT] += state[PLAIN]
        state[LENGTH] = length
        for i in range(n):
            swept = y[i]
            direction = (swept - z[i]) + beta * p[i]
            y[i] = swept + beta * p[i]
            p[i] = direction
            z[i] = swept
        if dense:
            # w is affine: its change along p need not be formed with M.
            for i in range(n):
                w[i] += beta * along[i]
                along[i] = w[i] - before[i]

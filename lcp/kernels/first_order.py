"""The iterations of the first-order solvers: projected Gauss-Seidel, conjugate directions on it, projected gradients.

A `Matrix` has ``C`` (n, n), the columns of M as rows, or the columns as ``indptr``, ``indices``, ``data``; the other
ones are empty. One type has both, so that every method is compiled once.

Projected Gauss-Seidel (C. W. Cryer, SIAM J. Control 9 (1971); Cottle, Pang and Stone (1992), section 5.2) makes steps
z_i <- clip(z_i - omega w_i / M_ii, lo_i, hi_i), with w at the newest z. After a step d, w is updated by d M_{.i}, so no
sum delays the next step, and an unknown that stays at its bound costs nothing.

Nonsmooth nonlinear conjugate gradients (M. Silcowitz-Hansen, S. Niebe, K. Erleben, The Visual Computer 26 (2010)): with
P one projected sweep, r = P(y) - y replaces the negative gradient; y <- y + p, p = r + beta p_before, beta = |r|^2 /
|r_before|^2 (Fletcher and Reeves 1964), and beta > 1 is a restart. Lengths are in the metric of the diagonal of M, so
that they do not depend on units. The safeguard is not from these papers: the smallest |r|^2 so far must be quartered
repeatedly; if this takes too long, plain sweeps follow until it is. Either |r| tends to zero, or from some iteration on
all sweeps are plain, and their proofs apply.

Accelerated projected gradient descent (H. Mazhar, T. Heyn, D. Negrut, A. Tasora, ACM Transactions on Graphics 34
(2015), after Y. Nesterov, Soviet Mathematics Doklady 27 (1983)): x = clip(y - g(y) / L), then y = x + beta (x - z). L
is raised until it bounds the curvature along the step (A. Beck, M. Teboulle, SIAM J. Imaging Sciences 2 (2009), section
4). The momentum is dropped if it points uphill (B. O'Donoghue, E. Candes, Found. Comput. Math. 15 (2015)), and a step
that raises the objective z . M z / 2 + q . z is replaced by a plain one. Hence the objective never rises, and each
restart begins with a step of plain projected descent. For a quadratic objective all of this follows from w = M z + q at
z, x and y; only w at x is computed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, Ints, kernel

Matrix = tuple[Floats, Ints, Ints, Floats]


@kernel(inner=True)
def add_column(matrix: Matrix, i: int, factor: float, w: Floats) -> None:
    """Add a multiple of column i of M to w."""
    C, indptr, indices, data = matrix
    if C.shape[0] > 0:
        column = C[i]
        for j in range(w.shape[0]):
            w[j] += factor * column[j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            w[indices[k]] += factor * data[k]


@kernel
def affine(matrix: Matrix, q: Floats, z: Floats, w: Floats) -> None:
    """Fill w = M z + q."""
    for j in range(q.shape[0]):
        w[j] = q[j]
    for i in range(q.shape[0]):
        if z[i] != 0.0:
            add_column(matrix, i, z[i], w)


# Sweeps after which w is computed again, because rounding of the updates adds up.
REFRESH: Final = 64

FORWARD: Final = 0
SYMMETRIC: Final = 1


@kernel(inner=True)
def sweep(matrix: Matrix, step: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, order: int) -> None:
    """Make a forward sweep, and a backward one if ``order`` is `SYMMETRIC`, and update w = M z + q.

    ``step`` is omega / M_ii.
    """
    n = z.shape[0]
    for k in range(n * (1 + order)):
        i = k if k < n else 2 * n - 1 - k
        # A projected step of one unknown.
        new = min(max(z[i] - step[i] * w[i], lo[i]), hi[i])
        d = new - z[i]
        # Update w by its column.
        if d != 0.0:
            z[i] = new
            add_column(matrix, i, d, w)


@kernel
def projected_gauss_seidel(
    matrix: Matrix, q: Floats, step: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, order: int, count: int
) -> None:
    """Make ``count`` sweeps of z."""
    for k in range(count):
        if k % REFRESH == 0:
            affine(matrix, q, z, w)
        sweep(matrix, step, lo, hi, z, w, order)


# Indices in the vector of state, which is kept from call to call.
# LENGTH: |r|^2 of the previous iteration; zero for a fresh start.
# LEAST: smallest |r|^2 that counted as progress.
# SINCE: iterations since.
# PLAIN: whether plain sweeps are in progress.
LENGTH, LEAST, SINCE, PLAIN, SPENT, PLAIN_SPENT, CG_STATE_SIZE = range(7)

# Minimum number of iterations in which conjugate directions must quarter |r|^2; as many as were made so far, if more.
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
    """Make ``count`` conjugate gradient steps over projected sweeps P, see the module; update z, y, p and ``state``.

    On return z = P(y before the last step), which is between the bounds, and y is the next point. ``work`` (3, n) has
    w at y, M p, and w at the previous y; M p is kept from call to call.
    """
    n = z.shape[0]
    w = work[0]
    along = work[1]
    before = work[2]
    for k in range(count):
        # Refresh w, and keep it.
        if k % REFRESH == 0:
            affine(matrix, q, y, w)
        for i in range(n):
            before[i] = w[i]
            z[i] = y[i]
        # One sweep.
        sweep(matrix, step, lo, hi, y, w, order)
        # Now y is P(y), and z the point before.
        # Its squared length.
        length = 0.0
        for i in range(n):
            length += diagonal[i] * (y[i] - z[i]) * (y[i] - z[i])
        # Check whether the length was quartered in time.
        state[SPENT] += 1.0
        if length < 0.25 * state[LEAST]:
            state[LEAST] = length
            state[SINCE] = 0.0
            state[PLAIN] = 0.0
        else:
            state[SINCE] += 1.0
            if state[SINCE] > max(1.0 * PATIENCE, state[SPENT] - state[SINCE]):
                state[PLAIN] = 1.0
        # The factor of Fletcher and Reeves.
        beta = length / state[LENGTH] if state[LENGTH] > 0.0 else 0.0
        if not beta <= 1.0 or state[PLAIN] != 0.0:
            beta = 0.0
        state[PLAIN_SPENT] += state[PLAIN]
        state[LENGTH] = length
        # The step along the direction.
        for i in range(n):
            swept = y[i]
            direction = (swept - z[i]) + beta * p[i]
            y[i] = swept + beta * p[i]
            p[i] = direction
            z[i] = swept
            # w is affine: its change along p needs no product with M.
            w[i] += beta * along[i]
            along[i] = w[i] - before[i]


# Indices in the vector of state, which is kept from call to call.
# CURVATURE: L.
# LARGEST: a bound of every curvature, so L need not exceed it.
# THETA: Nesterov's sequence, 1 after a restart.
CURVATURE, LARGEST, THETA, PRODUCTS, RESTARTS, APGD_STATE_SIZE = range(6)

# L can decrease at a restart: the curvature in the next face may be smaller.
RELIEF: Final = 0.5


@kernel
def apgd(
    matrix: Matrix,
    q: Floats,
    metric: Floats,
    lo: Floats,
    hi: Floats,
    count: int,
    z: Floats,
    work: Floats,
    state: Floats,
) -> None:
    """Make ``count`` iterations of accelerated projected gradients on z, and update ``work`` and ``state``.

    ``metric`` (n,) is about 1 / M_ii. ``work`` (5, n) has y, w at y, w at z, and scratch x, w at x. A first call has
    y = z and both w in place.
    """
    # Views of the workspace.
    n = z.shape[0]
    y = work[0]
    w_y = work[1]
    w_z = work[2]
    x = work[3]
    w_x = work[4]
    for _ in range(count):
        # A projected gradient step from y.
        while True:
            inverse = 1.0 / state[CURVATURE]
            for i in range(n):
                x[i] = min(max(y[i] - inverse * metric[i] * w_y[i], lo[i]), hi[i])
            affine(matrix, q, x, w_x)
            state[PRODUCTS] += 1.0
            # Curvature along the step, and whether the objective rises.
            curvature = 0.0
            length = 0.0
            rise = 0.0
            uphill = 0.0
            for i in range(n):
                d = x[i] - y[i]
                curvature += d * (w_x[i] - w_y[i])
                length += d * d / metric[i]
                rise += (x[i] - z[i]) * (w_x[i] + w_z[i])
                uphill += w_y[i] * (x[i] - z[i])
            # Raise L until it bounds the curvature.
            if curvature > state[CURVATURE] * length and state[CURVATURE] < state[LARGEST]:
                state[CURVATURE] = min(max(2.0 * state[CURVATURE], curvature / length), state[LARGEST])
                continue
            # Replace a step that raises the objective by a plain one.
            if rise > 0.0 and state[THETA] > 1.0:
                state[THETA] = 1.0
                state[RESTARTS] += 1.0
                for i in range(n):
                    y[i] = z[i]
                    w_y[i] = w_z[i]
                continue
            break
        # Nesterov's factor; momentum that points uphill is dropped.
        theta = state[THETA]
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * theta * theta))
        beta = (theta - 1.0) / following
        state[THETA] = following
        if uphill > 0.0:
            beta = 0.0
            state[THETA] = 1.0
            state[RESTARTS] += 1.0
            state[CURVATURE] *= RELIEF
        # The next y, and w there by linearity.
        for i in range(n):
            y[i] = x[i] + beta * (x[i] - z[i])
            w_y[i] = w_x[i] + beta * (w_x[i] - w_z[i])
            z[i] = x[i]
            w_z[i] = w_x[i]

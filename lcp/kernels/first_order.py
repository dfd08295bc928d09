"""The iterations of the first-order solvers: projected Gauss-Seidel, conjugate directions on it, projected gradients.

A `Matrix` has ``C`` (n, n), the columns of M as rows, or ``indptr``, ``indices``, ``data``; the other ones are empty.
One type has both, so that every method is compiled once.

Projected Gauss-Seidel (C. W. Cryer, SIAM J. Control 9 (1971); Cottle, Pang and Stone (1992), section 5.2) makes steps
z_i <- clip(z_i - omega w_i / M_ii, lo_i, hi_i), with w at the newest z. With dense columns w is updated by d M_{.i}
after a step d, so no sum delays the next step, and an unknown that stays at its bound costs nothing. With sparse rows
w_i is computed when it is needed. The neighbours that moved last enter the sum last, so that the processor waits as
little as possible for them.

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
def columns_product(C: Floats, q: Floats, z: Floats, w: Floats) -> None:
    """Fill w from dense columns, four at a time; columns for which all four z are zero are skipped."""
    # w = q.
    n = q.shape[0]
    for j in range(n):
        w[j] = q[j]
    # Columns by fours.
    i = 0
    while i + 4 <= n:
        a = z[i]
        b = z[i + 1]
        c = z[i + 2]
        d = z[i + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            first = C[i]
            second = C[i + 1]
            third = C[i + 2]
            fourth = C[i + 3]
            for j in range(n):
                w[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])
        i += 4
    # The remaining columns.
    while i < n:
        a = z[i]
        first = C[i]
        for j in range(n):
            w[j] += a * first[j]
        i += 1


@kernel(inner=True)
def rows_product(matrix: Matrix, q: Floats, z: Floats, w: Floats) -> None:
    """Fill w from compressed sparse rows."""
    _, indptr, indices, data = matrix
    for i in range(q.shape[0]):
        total = q[i]
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * z[indices[k]]
        w[i] = total


@kernel
def affine(matrix: Matrix, q: Floats, z: Floats, w: Floats) -> None:
    """Fill w = M z + q."""
    if matrix[0].shape[0] > 0:
        columns_product(matrix[0], q, z, w)
    else:
        rows_product(matrix, q, z, w)


# Sweeps after which w is computed again from dense columns, because rounding of the updates adds up.
REFRESH: Final = 64

FORWARD, SYMMETRIC = range(2)


@kernel(inner=True)
def columns_sweep(
    C: Floats, diagonal: Floats, step: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, backward: bool
) -> float:
    """Make one sweep and update w = M z + q; return the sum of M_ii d_i^2 over steps d. ``step`` = omega / M_ii."""
    n = z.shape[0]
    moved = 0.0
    for k in range(n):
        i = n - 1 - k if backward else k
        # A projected step of one unknown.
        old = z[i]
        new = min(max(old - step[i] * w[i], lo[i]), hi[i])
        d = new - old
        # Update w by its column.
        if d != 0.0:
            z[i] = new
            column = C[i]
            for j in range(n):
                w[j] += d * column[j]
            moved += diagonal[i] * d * d
    return moved


@kernel(inner=True)
def rows_sweep(
    matrix: Matrix, q: Floats, diagonal: Floats, step: Floats, lo: Floats, hi: Floats, z: Floats, backward: bool
) -> float:
    """Make one sweep from sparse rows, columns ascending; return the sum of M_ii d_i^2 over its steps d."""
    _, indptr, indices, data = matrix
    n = z.shape[0]
    moved = 0.0
    for k in range(n):
        i = n - 1 - k if backward else k
        # w_i, summed in the direction of the sweep.
        total = q[i]
        if backward:
            for at in range(indptr[i], indptr[i + 1]):
                total += data[at] * z[indices[at]]
        else:
            last = indptr[i + 1] - 1
            for at in range(last - indptr[i] + 1):
                total += data[last - at] * z[indices[last - at]]
        # A projected step of one unknown.
        old = z[i]
        new = min(max(old - step[i] * total, lo[i]), hi[i])
        z[i] = new
        moved += diagonal[i] * (new - old) * (new - old)
    return moved


@kernel(inner=True)
def sweep(
    matrix: Matrix, q: Floats, diagonal: Floats, step: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, order: int
) -> float:
    """Make a forward sweep, and a backward one if ``order`` is `SYMMETRIC`; return the squared length of the steps.

    For dense M ``w`` is M z + q at entry and at exit; for sparse M it is not used.
    """
    moved = 0.0
    for backward in range(1 + order):
        if matrix[0].shape[0] > 0:
            moved += columns_sweep(matrix[0], diagonal, step, lo, hi, z, w, backward == 1)
        else:
            moved += rows_sweep(matrix, q, diagonal, step, lo, hi, z, backward == 1)
    return moved


@kernel
def projected_gauss_seidel(
    matrix: Matrix, q: Floats, diagonal: Floats, step: Floats, lo: Floats, hi: Floats, z: Floats, w: Floats, order: int,
    moved: Floats,
) -> None:  # fmt: skip
    """Make as many sweeps of z as ``moved`` has entries, which become the squared lengths of their steps."""
    dense = matrix[0].shape[0] > 0
    for k in range(moved.shape[0]):
        if dense and k % REFRESH == 0:
            columns_product(matrix[0], q, z, w)
        moved[k] = sweep(matrix, q, diagonal, step, lo, hi, z, w, order)


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
    dense = matrix[0].shape[0] > 0
    w = work[0]
    along = work[1]
    before = work[2]
    for k in range(count):
        # Refresh w, and keep it.
        if dense:
            if k % REFRESH == 0:
                columns_product(matrix[0], q, y, w)
            for i in range(n):
                before[i] = w[i]
        for i in range(n):
            z[i] = y[i]
        # One sweep.
        sweep(matrix, q, diagonal, step, lo, hi, y, w, order)
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
        if dense:
            # w is affine: its change along p needs no product with M.
            for i in range(n):
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

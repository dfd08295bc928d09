"""Accelerated projected gradient descent in the metric of the diagonal, with restarts.

H. Mazhar, T. Heyn, D. Negrut, A. Tasora, ACM Transactions on Graphics 34 (2015), after Y. Nesterov, Soviet Mathematics
Doklady 27 (1983): x = clip(y - g(y) / L), then y = x + beta (x - z). L is raised until it bounds the curvature met
along the step (A. Beck, M. Teboulle, SIAM J. Imaging Sciences 2 (2009), section 4). The momentum is dropped where it
points uphill (B. O'Donoghue, E. Candes, Found. Comput. Math. 15 (2015)), and a step that raises the objective
z . M z / 2 + q . z is replaced by a plain one. Hence the objective never rises, and each restart begins with a step of
plain projected descent.

For a quadratic all of this follows from w = M z + q at z, x and y, of which only that at x is formed anew.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lcp.kernels import Floats, kernel
from lcp.kernels.affine import Matrix, affine

# Places in the vector of state, which lives from call to call.
CURVATURE: Final = 0  # L
LARGEST: Final = 1  # a bound of every curvature, beyond which L need not grow
THETA: Final = 2  # Nesterov's sequence, 1 after a restart
PRODUCTS: Final = 3
RESTARTS: Final = 4
STATE_SIZE: Final = 5

# L may fall at a restart: the curvature in the next face may be smaller.
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
    """Run ``count`` iterations on z. ``metric`` is about 1 / M_ii; ``work`` (5, n) holds y, w at y, w at z, x, w at x.

    A first call has y = z and both w in place.
    """
    n = z.shape[0]
    y = work[0]
    w_y = work[1]
    w_z = work[2]
    x = work[3]
    w_x = work[4]
    for _ in range(count):
        while True:
            inverse = 1.0 / state[CURVATURE]
            for i in range(n):
                x[i] = min(max(y[i] - inverse * metric[i] * w_y[i], lo[i]), hi[i])
            affine(matrix, q, x, w_x)
            state[PRODUCTS] += 1.0
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
            if curvature > state[CURVATURE] * length and state[CURVATURE] < state[LARGEST]:
                state[CURVATURE] = min(max(2.0 * state[CURVATURE], curvature / length), state[LARGEST])
                continue
            if rise > 0.0 and state[THETA] > 1.0:
                state[THETA] = 1.0
                state[RESTARTS] += 1.0
                for i in range(n):
                    y[i] = z[i]
                    w_y[i] = w_z[i]
                continue
            break
        theta = state[THETA]
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * theta * theta))
        beta = (theta - 1.0) / following
        state[THETA] = following
        if uphill > 0.0:
            beta = 0.0
            state[THETA] = 1.0
            state[RESTARTS] += 1.0
            state[CURVATURE] *= RELIEF
        for i in range(n):
            y[i] = x[i] + beta * (x[i] - z[i])
            w_y[i] = w_x[i] + beta * (w_x[i] - w_z[i])
            z[i] = x[i]
            w_z[i] = w_x[i]

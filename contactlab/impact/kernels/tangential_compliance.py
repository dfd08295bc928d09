"""One contact as two springs: a normal one that gives back e^2 of its work, and a tangential one that friction holds.

Time is in units in which the normal compression has the frequency 1 of a contact whose tangents move nothing:
d' = -u_n, F_n = d / W_nn; as the bodies part d' = -u_n / e^2, by which F_n does e^2 of the work. The tangential spring
is 1 / eta^2 as stiff, moves with the slip, and slides where it would pull by more than mu F_n.
"""

from __future__ import annotations

import math

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

NOTHING = 1e-6


@kernel
def solve_two_springs(
    W: FloatArray,
    mu: float,
    e: FloatArray,
    eta2: float,
    resolution: float,
    most: int,
    u: FloatArray,
    p: FloatArray,
    work: FloatArray,
) -> int:
    """Follow n separate contacts from u (n, 3) to their end; how many came to none.

    W (n, 3, 3) is the response, e (n,) restitution; p (n, 3) the impulses, work (n,) the work of the normal ones.
    ``resolution`` is a step in units of the fastest of both springs.
    """
    lost = 0
    for i in range(u.shape[0]):
        if u[i, 0] >= 0.0:
            continue
        stiff = 1.0 / W[i, 0, 0]
        shear = stiff / eta2
        fast = 1.0 + (W[i, 1, 1] + W[i, 2, 2]) * shear
        d, x, y, parts = 0.0, 0.0, 0.0, False
        lost += 1
        for _ in range(most):
            parts = u[i, 0] > 0.0
            if (parts and d <= 0.0) or (e[i] <= NOTHING and u[i, 0] >= 0.0):
                lost -= 1
                break
            h = resolution / math.sqrt(fast / (e[i] * e[i]) if parts else fast)
            d -= 0.5 * h * (u[i, 0] / (e[i] * e[i]) if parts else u[i, 0])
            push = d * stiff if d > 0.0 else 0.0
            x += 0.5 * h * u[i, 1]
            y += 0.5 * h * u[i, 2]
            pull, bound = shear * math.sqrt(x * x + y * y), mu * push
            if pull > bound:
                x, y = x * bound / pull, y * bound / pull
            a, b, c = h * push, -h * shear * x, -h * shear * y
            before, change = u[i, 0], W[i, 0, 0] * a + W[i, 0, 1] * b + W[i, 0, 2] * c
            if e[i] <= NOTHING and before + change >= 0.0:  # without restitution the impact ends with the approach
                share = -before / change
                a, b, c = share * a, share * b, share * c
            for j in range(3):
                u[i, j] += W[i, j, 0] * a + W[i, j, 1] * b + W[i, j, 2] * c
            if e[i] <= NOTHING and before + change >= 0.0:
                u[i, 0] = 0.0
            work[i] += 0.5 * a * (before + u[i, 0])
            p[i, 0] += a
            p[i, 1] += b
            p[i, 2] += c
            d -= 0.5 * h * (u[i, 0] / (e[i] * e[i]) if u[i, 0] > 0.0 and e[i] > 0.0 else u[i, 0])
            x += 0.5 * h * u[i, 1]
            y += 0.5 * h * u[i, 2]
    return lost

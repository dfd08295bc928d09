"""A damped least-squares step between bounds."""

from __future__ import annotations

import numpy as np

from contactlab.spatial.arrays import FloatArray

__all__ = ["damped_step"]


def damped_step(J: FloatArray, e: FloatArray, damping: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The x (n,) between the bounds that minimises |J x - e|^2 + damping |x|^2.

    Entries beyond a bound are put on it and those that want to leave it are freed, all at once while that may still
    help, then one by one (Murty's rule), which ends because the problem is strictly convex: block principal pivoting
    (Portugal, Judice, Vicente, "A comparison of block pivoting and interior-point algorithms for linear least squares
    problems with nonnegative variables", Mathematics of Computation 63, 1994), with two bounds.

    Parameters
    ----------
    J, e
        (m, n) and (m,).
    damping
        Positive.
    lower, upper
        (n,), lower <= 0 <= upper, infinite where there is no bound.
    """
    n = J.shape[1]
    side = np.zeros(n, dtype=np.int8)  # -1, 1: on the lower, upper bound
    x = np.zeros(n)
    slack = 1e-13 * (float(np.max(np.abs(J.T @ e), initial=0.0)) + np.finfo(np.float64).tiny)
    for number in range(20 + 10 * n):
        free = side == 0
        x[side < 0], x[side > 0] = lower[side < 0], upper[side > 0]
        x[free] = _damped_solution(J[:, free], e - J[:, ~free] @ x[~free], damping)
        pull = J.T @ (e - J @ x) - damping * x
        to_lower, to_upper = free & (x < lower), free & (x > upper)
        released = ((side < 0) & (pull > slack)) | ((side > 0) & (pull < -slack))
        wrong = np.flatnonzero(to_lower | to_upper | released)
        if wrong.shape[0] == 0:
            return x
        changed = wrong if number < 10 else wrong[:1]
        side[changed] = np.where(to_upper[changed], 1, np.where(to_lower[changed], -1, 0))
    # Only rounding keeps it from ending; inside the bounds any step is as good as the error it leads to.
    return np.clip(x, lower, upper)


def _damped_solution(J: FloatArray, e: FloatArray, damping: float) -> FloatArray:
    """(J^T J + damping)^-1 J^T e by singular values: directions that J does not see stay exactly still."""
    if J.shape[1] == 0:
        return np.zeros(0)
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    return np.asarray((s / (s * s + damping) * (e @ U)) @ Vt)

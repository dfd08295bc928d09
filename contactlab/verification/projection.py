"""The position projection of a recorded step, in plain numpy."""

from __future__ import annotations

import numpy as np

from contactlab.spatial.arrays import FloatArray

__all__ = ["projection_measure"]

SOFTENING = 1e-8  # of W's diagonal: what a body that has no room is given


def projection_measure(
    N: FloatArray, Y: FloatArray, gap: FloatArray, p: FloatArray, v_plus: FloatArray, drive: FloatArray, h: float
) -> tuple[int, float]:
    """Return the contact and the worst of |min(p, w)|, w = W p + gap + h N v+, each over its scale.

    Parameters
    ----------
    N, Y
        (nc, nv) normal rows of rigid contacts, and M^-1 applied to each; W is N Y^T, softened.
    gap, p
        (nc,) at the start of the step [m], as recorded [kg m].
    v_plus
        (nv,) velocity after the step.
    drive
        (nc,) what kinematic bodies bring to N v+ [m/s].
    h
        Step [s].
    """
    W = N @ Y.T
    W[np.diag_indices_from(W)] *= 1.0 + SOFTENING
    w = W @ p + gap + h * (N @ v_plus + drive)
    largest = float(np.abs(p).max(initial=0.0))
    scale = np.abs(W).max(axis=1) * largest + np.abs(gap) + h * (np.abs(N) @ np.abs(v_plus) + np.abs(drive))
    tiny = np.finfo(float).tiny
    off = np.abs(np.minimum(p / max(largest, tiny), w / np.maximum(scale, tiny)))
    worst = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
    return worst, float(off[worst])

"""Which states of a recording are shown."""

from __future__ import annotations

import numpy as np

from contactlab.spatial.arrays import FloatArray

__all__ = ["shown_steps", "state_at"]


def shown_steps(time: FloatArray, fps: float) -> list[int]:
    """Return the indices shown: the first state at or after each frame time, each once, the last state included.

    Parameters
    ----------
    time
        (n,) ascending times of the states [s].
    fps
        Frames per second of simulated time, at most.
    """
    # Times are sums of h: a length that is a whole number of frames up to rounding means that number.
    count = max(1, int(np.ceil((time[-1] - time[0]) * fps * (1.0 - 1e-9))))
    wanted = np.linspace(time[0], time[-1], count + 1)
    # Frame times are sums of h only up to rounding: half a step of slack.
    slack = 0.5 * float(np.diff(time).min()) if time.size > 1 else 0.0
    indices = np.searchsorted(time, wanted - slack)
    return [int(i) for i in np.unique(np.minimum(indices, time.size - 1))]


def state_at(time: FloatArray, when: float) -> int:
    """Return the number of the state nearest in time to ``when`` [s]."""
    return int(np.argmin(np.abs(time - when)))

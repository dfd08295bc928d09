"""What becomes of many runs under given controls."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from contactlab.recording.plausibility import Notice
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.kernels.slot_layout import Slots
from contactlab.stepping.slots import read_slot
from contactlab.world.state import StepperState


@dataclass(frozen=True, eq=False)
class Rollout:
    """What became of B runs.

    Attributes
    ----------
    q, v
        (B, steps + 1, nq) and (B, steps + 1, nv): the states, that at the start first. After a step that failed, NaN.
    failed
        (B,) whether a run stopped early.
    errors
        Why, for each run; None for those that ended well. The record of a `SimulationError` is of no step: it holds the
        state at which the failed one began.
    notices
        What no certificate says (`Recording.notices`), the worst of each kind over all runs; the text says where.
    """

    q: FloatArray
    v: FloatArray
    failed: NDArray[np.bool_]
    errors: tuple[Exception | None, ...]
    notices: tuple[Notice, ...]
    _ends: Slots = field(repr=False)

    @functools.cached_property
    def states(self) -> tuple[StepperState, ...]:
        """Where each run ended, with all that the next step starts from: there one long run goes on, bit for bit."""
        return tuple(read_slot(self._ends, i) for i in range(self.failed.size))

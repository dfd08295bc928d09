"""What an iterative solver recorded on its way."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector


@dataclass(frozen=True, eq=False)
class Trace:
    """One number per recorded iteration of a solve.

    Attributes
    ----------
    iterations
        Iteration (pivot, sweep) after which each number was taken, ascending.
    seconds
        Time since the solver began.
    values
        The numbers.
    quantity
        What they are: "natural map" or "scaled residual" on the problem's own data, "artificial variable" of Lemke's
        path.
    """

    iterations: NDArray[np.int64]
    seconds: Vector
    values: Vector
    quantity: str

    def __len__(self) -> int:
        return int(self.values.shape[0])


@dataclass(eq=False)
class TraceRecorder:
    """Collects a `Trace` during one solve; with ``wanted`` False it does nothing and gives None."""

    wanted: bool
    quantity: str = "natural map"
    _rows: list[tuple[int, float, float]] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)

    def add(self, iteration: int, value: float) -> None:
        """Keep one number."""
        if self.wanted:
            self._rows.append((iteration, time.perf_counter() - self._start, value))

    def trace(self) -> Trace | None:
        """What was collected."""
        if not self.wanted:
            return None
        rows = np.array(self._rows, dtype=np.float64).reshape((-1, 3))
        return Trace(rows[:, 0].astype(np.int64), rows[:, 1].copy(), rows[:, 2].copy(), self.quantity)

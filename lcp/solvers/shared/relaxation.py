"""The relaxation factor of Gauss-Seidel sweeps, found while they run."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# Sweeps of the shortest window over which a rate is measured.
_SHORTEST = 16
# A rate that reduces the steps a hundredfold within such a window needs no help.
_FAST = math.log(100.0) / _SHORTEST


class Relaxation:
    """Tries relaxation factors on windows of sweeps and keeps those that do better.

    For symmetric matrices sweeps with any sequence of factors within [1, 2 - e] converge (Mangasarian 1977), so that
    nothing can be lost but time. The step up comes from the rate lambda at which the steps shrink at omega: for
    consistently ordered matrices mu^2 = (lambda + omega - 1)^2 / (lambda omega^2) is the squared radius of Jacobi's
    iteration, and 2 / (1 + sqrt(1 - mu^2)) the best factor (Young 1971; Hageman and Young 1981, chapter 9). That
    model is not believed: a factor that does not do clearly better than the former is compared with it once more, and
    given up if it does worse; the other direction is tried next, after a wait that grows with the sweeps done.

    ``omega`` is the factor for the next sweeps, ``left`` the number of sweeps after which it may change.
    """

    def __init__(self) -> None:
        self.omega = 1.0
        self.left = _SHORTEST
        self._kept = 1.0
        self._rate = 0.0
        self._trial = 1.0
        self._trial_rate = 0.0
        self._stage = "kept"
        self._upwards = True
        self._sweeps = 0
        self._wait_until = 0
        self._moved: list[float] = []

    def record(self, moved: NDArray[np.float64]) -> None:
        """Take note of the squared lengths of the steps of so many sweeps, no more than ``left``."""
        self._moved.extend(moved.tolist())
        self._sweeps += moved.shape[0]
        self.left -= moved.shape[0]
        if self.left <= 0:
            self._decide(self._window_rate())
            self._moved.clear()
            self.left = max(_SHORTEST, math.ceil(3.0 / (2.0 - self.omega)), self._sweeps // 8)

    def _window_rate(self) -> float:
        """Decay of the step lengths per sweep over the second half of the window: a new factor stirs the first."""
        steps = self._moved
        half = len(steps) // 2
        early, late = steps[half - 1], steps[-1]
        if late == 0.0:
            return math.inf
        if not (0.0 < early < math.inf and late < math.inf):
            return 0.0
        return 0.5 * (math.log(early) - math.log(late)) / (len(steps) - half)

    def _decide(self, rate: float) -> None:
        if self._stage == "kept":
            self._rate = rate
            if rate < _FAST and self._sweeps >= self._wait_until:
                self._try()
        elif self._stage == "trial":
            if rate > 1.2 * self._rate:
                self._keep(self._trial, rate)
                self._try()
            else:
                self._trial_rate = rate
                self._stage, self.omega = "again", self._kept
        elif self._trial_rate >= 0.5 * (rate + self._rate):
            self._keep(self._trial, self._trial_rate)
            self._upwards = not self._upwards
        else:
            self._keep(self._kept, rate)
            self._upwards = not self._upwards
            self._wait_until = 2 * self._sweeps

    def _keep(self, omega: float, rate: float) -> None:
        self._kept, self._rate, self._stage, self.omega = omega, rate, "kept", omega

    def _try(self) -> None:
        """Set out for the next factor, unless none can be clearly better."""
        omega = self._kept
        if omega <= 1.0:
            self._upwards = True
        if self._upwards:
            decay = math.exp(-min(max(self._rate, 1e-12), 30.0))
            radius = min((decay + omega - 1.0) ** 2 / (decay * omega**2), 1.0)
            model = 2.0 - 2.0 / (1.0 + math.sqrt(1.0 - radius))
            room = max(min(max(model, 0.25 * (2.0 - omega)), 0.7 * (2.0 - omega)), 1e-6)
            self._trial = 2.0 - room
            if self._rate > 0.7 * -math.log(self._trial - 1.0):
                self._upwards = False
                self._wait_until = 2 * self._sweeps
                return
        else:
            self._trial = max(1.0, 2.0 - 2.0 * (2.0 - omega))
        self._stage, self.omega = "trial", self._trial

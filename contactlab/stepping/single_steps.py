"""Single steps of a driver: what `Simulation.step` does beside its arithmetic."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from contactlab.stepping.kernels import layout

if TYPE_CHECKING:
    from contactlab.stepping.driver import Driver
    from lcp.compiler.held import HeldCall

# Seconds between two looks whether Ctrl-C has come.
BRIEF = 0.05


class SingleSteps:
    """Makes steps of a driver whose chunk has room for one, each alone in it.

    Parameters
    ----------
    driver
        Of no limit of its own.

    Attributes
    ----------
    q, v
        Configuration (nq,) and velocity (nv,) before the last step.
    looks
        (2,) when to look: at the first step, at steps beyond ``looks[0]``, and at one that leaves more than
        ``looks[1]`` islands unsolved.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.q, self.v = np.empty_like(driver.work.q), np.empty_like(driver.work.v)
        self.looks = np.zeros(2, dtype=np.int64)
        # The call of the loop, and the one that makes single steps through it; None without the compiler, and where
        # user code is asked about every step.
        self._entered: HeldCall | None = None
        self._held: HeldCall | None = None
        # Steps of a call, as many as take a moment.
        self._portion = 1

    def make(self, end: int) -> bool:
        """Step until ``end`` steps are made, or to one that is to be looked at or failed; whether there is one."""
        driver = self._driver
        first = driver.step
        while first < end:
            count = end - first
            if count > 1:
                count, clock = min(count, self._portion), time.perf_counter()
            reason = self._call(first + count)
            if reason == layout.GO_ON:
                return True
            if reason != layout.DONE:
                driver.advance(1, reason)
                if driver.failed or self._to_look():
                    return True
            now = driver.step
            if count > 1:
                seconds = (time.perf_counter() - clock) / (now - first)
                self._portion = max(1, min(2 * self._portion, int(BRIEF / max(seconds, 1e-9))))
            first = now
        return False

    def _call(self, target: int) -> int:
        """Enter the loop, and return what it asks for."""
        driver = self._driver
        self.compile()
        held = self._held
        if held is None:
            driver.empty()
            self.q[:], self.v[:] = driver.work.q, driver.work.v
            driver.advance(1)
            return layout.GO_ON if driver.failed or self._to_look() else layout.DONE
        try:
            driver.aim(target)
            reason: int = held()
        except BaseException:
            # As in `Driver`: Ctrl-C in the midst of a step.
            driver.begin_again()
            raise
        return reason

    def compile(self) -> None:
        """Hold what the loop is entered with, compiled or found on disk, where it is not held."""
        entered = self._driver.entered()
        if entered is self._entered:
            return
        from contactlab.stepping.kernels.parts import enter_single
        from lcp.compiler.held import HeldCall, available

        self._held = None
        if available() and not self._driver.asks:
            work, (control, parts) = self._driver.work, entered.arguments
            given = control, parts, self.looks, work.q, work.v, self.q, self.v
            self._held = HeldCall(enter_single, enter_single, given)
        self._entered = entered

    def _to_look(self) -> bool:
        """Whether the step just made is to be looked at."""
        step = self._driver.step
        return step == 1 or step > self.looks[0] or self._driver.uncertified > self.looks[1]

"""The driver of the last run of each thread, for the next one: its memory takes as long to make as a hundred steps."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from contactlab.stepping.driver import Driver, Targets, Tau
from contactlab.stepping.external_contacts import Supply
from contactlab.stepping.memory import LITTLE
from contactlab.stepping.user_code import UserCode
from contactlab.world.state import StepperState

if TYPE_CHECKING:
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World

_LAST = threading.local()


def taken(
    world: World,
    stepper: TimeStepping,
    state: StepperState,
    *,
    first: int,
    steps: int | None,
    end: float | None,
    tau: Tau,
    supply: Supply | None,
    targets: Targets,
    chunk_steps: int,
) -> Driver:
    """Return a driver that stands at a state (see `Driver`): the last, nobody else's any more, or another."""
    last: Driver | None = getattr(_LAST, "driver", None)
    _LAST.driver = None
    if last is None or last.prepared.world is not world or last.prepared.stepper is not stepper or supply is not None:
        return Driver(
            world, stepper, state, first=first, steps=steps, end=end, tau=tau, supply=supply, targets=targets,
            chunk_steps=chunk_steps, aside=True,
        )  # fmt: skip
    last.serve(UserCode(world, tau, targets, None, last.prepared.motions), chunk_steps, steps, end)
    last.restart(state, first=first)
    return last


def given_back(driver: Driver) -> None:
    """Keep a driver whose run came to its end, without its rows and the user's code, unless it holds much."""
    if driver.control.ask_contacts or sum(array.nbytes for array in (*driver.work, *driver.island)) > LITTLE:
        return
    prepared = driver.prepared
    driver.serve(UserCode(prepared.world, None, None, None, prepared.motions), 1, None, None)
    _LAST.driver = driver

"""When bodies at rest are left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contactlab.spatial.arrays import finite_number
from contactlab.world.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World


@dataclass(frozen=True)
class Sleep:
    """Islands at rest sleep: neither solved nor moved, until something wakes them.

    An island falls asleep when every velocity of all its trees has stayed below ``speed`` for ``time``: its velocities
    are set to 0, and its configuration keeps its bits. It wakes when it touches what is awake (a body that moves, or
    has not yet rested as long), a kinematic body that moves, or a contact from outside the loop, when what it lies on
    is gone, and when the applied force on it changes. Where rows of joints take part, nothing sleeps. Contacts within a
    sleeping island are not in the record.

    Parameters
    ----------
    speed
        Bound on each entry of v [m/s, rad/s].
    time
        How long it must hold [s].
    """

    speed: float = 1e-3
    time: float = 0.5

    def __post_init__(self) -> None:
        for name in ("speed", "time"):
            object.__setattr__(
                self, name, finite_number(getattr(self, name), name, SimulationConfigError, positive=True)
            )


def sleepers(world: World, stepper: TimeStepping) -> int:
    """Return how many trees may sleep: all of them, or none."""
    return 0 if stepper.sleep is None else world.tree_starts.size - 1

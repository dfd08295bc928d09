"""Defaults of a stepper's margins and impact speeds, which depend on the world.

Each follows from the size of the smallest body that moves, the weight and the step. So a world in other units, or at
another scale (lengths s, times sqrt(s)), has the same contacts and the same impacts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from contactlab.spatial.arrays import finite_number
from contactlab.world.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World

#: Bounds of the margin as fractions of the size, and the size if no moving body has a shape [m].
MIN_MARGIN, LARGEST_MARGIN, NO_SHAPE = 0.01, 0.1, 0.1
#: Margin of stops of angles [rad].
ANGLE_MARGIN = 1e-3
#: Minimum impact speed, in multiples of |g| h: above the speed that a falling body gains in one step.
FALLING = 1.02
#: Minimum impact speed in a world without weight, as a fraction of the size per step.
WEIGHTLESS = 1e-4
#: Arm, in sizes, that converts an impact speed to an angular speed.
ARM = 10.0


class Thresholds(NamedTuple):
    """Margins and minimum impact speeds of a step, for lengths and for angles."""

    margin: float  # [m]
    restitution_threshold: float  # [m/s]
    angle_margin: float  # [rad]
    angle_restitution_threshold: float  # [rad/s]

    def of(self, angular: int) -> tuple[float, float]:
        """Return the margin and the impact speed of a stop of an angle, or of a length."""
        return (
            (self.angle_margin, self.angle_restitution_threshold)
            if angular
            else (self.margin, self.restitution_threshold)
        )


# The last stepper of each world, and the stepper with its numbers there.
_LAST: WeakKeyDictionary[World, tuple[TimeStepping, TimeStepping]] = WeakKeyDictionary()


def in_world(stepper: TimeStepping, world: World) -> TimeStepping:
    """Return the stepper with all thresholds that it leaves to the world, computed from size and gravity of the world.

    It is the stepper itself if no threshold is missing. The result for each world's last stepper is stored.
    """
    if stepper.margin is not None and stepper.restitution_threshold is not None:
        return stepper
    last = _LAST.get(world)
    if last is not None and last[0] is stepper:
        return last[1]
    size = size_of(world)
    weight = float(np.linalg.norm(world.model.gravity))
    numbers: dict[str, Any] = {}
    if stepper.margin is None:
        margin = min(max(MIN_MARGIN * size, weight * stepper.h**2), LARGEST_MARGIN * size)
        numbers = {"margin": margin, "angle_margin": ANGLE_MARGIN}
    if stepper.restitution_threshold is None:
        speed = FALLING * weight * stepper.h if weight > 0.0 else WEIGHTLESS * size / stepper.h
        numbers |= {"restitution_threshold": speed, "angle_restitution_threshold": speed / (ARM * size)}
    found = replace(stepper, **{name: value for name, value in numbers.items() if getattr(stepper, name) is None})
    _LAST[world] = stepper, found
    return found


def size_of(world: World) -> float:
    """Return the thickness of the thinnest shape of a body that moves [m]."""
    moves = np.array([world.body_trees[body] >= 0 for body in world.surface_bodies], dtype=bool)
    thick = world.extents.min_width[moves]
    thick = thick[np.isfinite(thick)]
    return float(thick.min()) if thick.size else NO_SHAPE


@dataclass(frozen=True)
class Sleep:
    """Conditions under which islands at rest sleep: they are neither solved nor moved until something wakes them.

    An island falls asleep when every velocity of all its trees has stayed below ``speed`` for ``time``. Its velocities
    are set to 0, and its configuration is kept bit for bit. It wakes if it touches an awake body, a moving kinematic
    body or an external contact, if its support is gone, or if the applied force on it changes. Awake bodies include
    those that have rested for a shorter time. If joint rows take part, no island sleeps. Contacts within a sleeping
    island are not in the record.

    Parameters
    ----------
    speed
        Bound on each entry of v [m/s, rad/s].
    time
        Time for which it must be satisfied [s].
    """

    speed: float = 1e-3
    time: float = 0.5

    def __post_init__(self) -> None:
        for name in ("speed", "time"):
            self.__dict__[name] = finite_number(getattr(self, name), name, SimulationConfigError, positive=True)


def sleeping_tree_count(world: World, stepper: TimeStepping) -> int:
    """Return the number of trees that may sleep: all of them, or none."""
    return 0 if stepper.sleep is None else world.tree_starts.size - 1

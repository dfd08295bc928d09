"""Learning tasks as frozen values, the arguments of their functions, and the starts of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from contactlab.learning.actions import ActionMap, LearningError
from contactlab.multibody import integrate
from contactlab.spatial.arrays import FloatArray, finite_number
from contactlab.stepping.time_stepping import TimeStepping
from contactlab.world.errors import whole_number
from contactlab.world.sensors import Sensor
from contactlab.world.state import StepperState
from contactlab.world.world import World


@dataclass(frozen=True)
class Noise:
    """Random change of the world's initial state; first all of q is drawn, then all of v.

    Parameters
    ----------
    q
        Largest change of each coordinate [rad or m], for orientations of the rotation vector; uniform. Joints stay
        within their ranges, at the stop if necessary. Contacts are not considered: see `docs/learning.md` for standing
        robots.
    v
        The same for velocities [rad/s or m/s].
    v_law
        ``"uniform"``, within these bounds; ``"normal"``, with these standard deviations.

    Raises
    ------
    LearningError
        The text names the field and the value.
    """

    q: float = 0.0
    v: float = 0.0
    v_law: Literal["uniform", "normal"] = "uniform"

    def __post_init__(self) -> None:
        for name in ("q", "v"):
            finite_number(getattr(self, name), name, LearningError, least=0.0)
        if self.v_law not in ("uniform", "normal"):
            raise LearningError("v_law", f"must be 'uniform' or 'normal', got {self.v_law!r}")

    def __call__(self, world: World, rng: np.random.Generator) -> StepperState:
        """Return the start of a run."""
        moved = rng.uniform(-self.q, self.q, world.nv)
        law = rng.standard_normal if self.v_law == "normal" else lambda n: rng.uniform(-1.0, 1.0, n)
        q = integrate(world.model, world.initial_q, moved, 1.0) if self.q else world.initial_q
        if self.q:
            _clip_to_limits(world, q)
        return world.initial_state(q=q, v=world.initial_v + self.v * law(world.nv))


def _clip_to_limits(world: World, q: FloatArray) -> None:
    """Move joints beyond a stop back to it; joints whose initial state is beyond a stop move no further."""
    for limit in world.joint_actions.limits:
        _, at = world.place_of(limit.joint, limit.coordinate)
        begins = world.initial_q[at]
        q[at] = min(max(q[at], min(limit.lower, begins)), max(limit.upper, begins))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """B runs at one instant; arrays have a leading axis of runs, with length 1 in an `Env`.

    Attributes
    ----------
    q, v
        Configurations (B, nq) and velocities (B, nv).
    time
        (B,) time since the start of each run [s].
    readings
        Readings of the task's sensors by name, (B, d) each. Sensors that need a step (forces, accelerations) read 0 at
        a start.
    """

    q: FloatArray
    v: FloatArray
    time: FloatArray
    readings: Mapping[str, FloatArray]

    def flatten(self) -> FloatArray:
        """Return q, v and the readings as one array, which is the default observation of a task."""
        return np.concatenate((self.q, self.v, *self.readings.values()), axis=1)


Mask = NDArray[np.bool_]
Terms = Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Task:
    """Task of `Env` and `VectorEnv`: a world, actions, observations and rewards.

    Its functions use NumPy arrays with a leading axis of runs.

    Parameters
    ----------
    world, stepper
        The world, and its stepper.
    actions
        The effect of an action: `Torques`, `Targets`, `Controls`, or a custom `ActionMap`.
    reward
        Function of the runs before an action, the action (B, n) as given, and the runs after it. It returns rewards
        (B,), or terms by name, (B,) each. The reward is then their sum, and the terms are in the info.
    observe
        The observation (B, m); by default `Snapshot.flatten`.
    terminated
        Function of the runs after an action that returns a mask (B,) of ended runs; None: only failed steps end a run.
    start
        Function of the world and a random generator that returns the start of a run.
    sensors
        Sensors that are read for the functions, by names of your choice.
    frame_skip
        Steps of the stepper for each action.
    delay
        Delay of the effect of an action, in actions. Before the first effect, the action nearest to 0 is applied. With
        two numbers, each run draws a delay between them, both included, when it begins.
    max_steps
        Number of actions after which a run is truncated; None: never.

    Raises
    ------
    SimulationConfigError
        The text names the field and the value.
    """

    world: World
    stepper: TimeStepping
    actions: ActionMap
    reward: Callable[[Snapshot, FloatArray, Snapshot], FloatArray | Terms]
    observe: Callable[[Snapshot], FloatArray] = Snapshot.flatten
    terminated: Callable[[Snapshot], Mask] | None = None
    start: Callable[[World, np.random.Generator], StepperState] = field(default_factory=Noise)
    sensors: Mapping[str, Sensor] = field(default_factory=dict)
    frame_skip: int = 1
    max_steps: int | None = None
    delay: int | tuple[int, int] = 0

    def __post_init__(self) -> None:
        for name, kind in (("world", World), ("stepper", TimeStepping), ("sensors", Mapping)):
            if not isinstance(given := getattr(self, name), kind):
                raise LearningError(name, f"must be a {kind.__name__}, got {given!r}")
        for name in ("reward", "observe", "start", "terminated"):
            given = getattr(self, name)
            if not callable(given) and not (name == "terminated" and given is None):
                raise LearningError(name, f"must be a function, got {given!r}")
        for name, sensor in self.sensors.items():
            if not callable(getattr(sensor, "measure", None)):
                raise LearningError(f"sensors[{name!r}]", f"must be a sensor, got {sensor!r}")
        _check_actions(self.actions)
        whole_number("frame_skip", self.frame_skip, 1)
        delays: tuple[int, ...] = self.delays
        for one in delays:
            whole_number("delay", one, 0)
        if len(delays) != 2 or delays[1] < delays[0]:
            raise LearningError("delay", f"must be a number or two that ascend, got {self.delay}")
        if self.max_steps is not None:
            whole_number("max_steps", self.max_steps, 1)

    @property
    def delays(self) -> tuple[int, int]:
        """Smallest and largest delay, in actions."""
        return self.delay if isinstance(self.delay, tuple) else (self.delay, self.delay)

    @property
    def dt(self) -> float:
        """Time from one action to the next [s]."""
        return self.stepper.h * self.frame_skip


def _check_actions(actions: Any) -> None:
    """Raise a `LearningError` unless the object is a map of actions with low < high."""
    missing = [name for name in ("low", "high", "depends_on_state", "inputs") if not hasattr(actions, name)]
    if missing:
        raise LearningError("actions", f"must be an action map, got {actions!r} without {missing[0]}")
    low, high = np.asarray(actions.low), np.asarray(actions.high)
    if low.ndim != 1 or low.shape != high.shape or not (low < high).all():
        raise LearningError("actions", f"low and high must be (n,) with low < high, got {low} and {high}")

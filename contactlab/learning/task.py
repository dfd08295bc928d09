"""Learning tasks as frozen values: maps from actions to forces and targets, functions of a task, and starts of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.constraint_solver.model_problem.drives import Drive
from contactlab.constraint_solver.model_problem.options import JointLimit
from contactlab.multibody import integrate
from contactlab.multibody.spatial.arrays import (
    FloatArray,
    IntArray,
    close_names,
    finite_array,
    finite_number,
    read_only,
)
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.world.errors import SimulationConfigError, whole_number
from contactlab.simulation.world.mjcf import MjcfRobot
from contactlab.simulation.world.sensors import Sensor
from contactlab.simulation.world.world import StepperState, World

T = TypeVar("T")


class LearningError(SimulationConfigError):
    """A task, an action or a result of a task's function is invalid; the text names it and its value."""


class ActionMap(Protocol):
    """Map from actions to inputs. The maps of this module act entry by entry, so runs have the same bits in any batch.

    Attributes
    ----------
    low, high
        (n,) range of each entry of an action; values outside are clipped.
    depends_on_state
        Whether forces or targets depend on q and v. They are then computed in every step of the stepper, otherwise once
        per action.
    """

    @property
    def low(self) -> FloatArray: ...  # noqa: D102

    @property
    def high(self) -> FloatArray: ...  # noqa: D102

    @property
    def depends_on_state(self) -> bool: ...  # noqa: D102

    def inputs(self, actions: FloatArray, q: FloatArray, v: FloatArray) -> tuple[FloatArray | None, FloatArray | None]:
        """Return forces (B, nv) or None, and targets of drives (B, nd) or None (the world's), for actions (B, n)."""
        ...


class Torques:
    """Joint forces: one entry of the action, from -1 to 1, for each coordinate, times the largest force.

    Parameters
    ----------
    world
        World in which they act.
    joints
        Names of the joints; None: all joints with an effort limit.
    limit
        Largest force [N m or N], one number or one for each coordinate; None: the effort limits of the model.

    Raises
    ------
    LearningError
        A joint is unknown, or a limit is invalid.
    """

    depends_on_state = False

    def __init__(self, world: World, joints: Sequence[str] | None = None, limit: ArrayLike | None = None) -> None:
        model, effort = world.model, np.asarray(world.model.limits.effort, dtype=np.float64)
        known = {one: np.r_[model.joint_v(one)] for one in model.joint_names}
        if joints is None:
            joints = [one for one, dofs in known.items() if np.isfinite(effort[dofs]).any()]
            if not joints:
                raise LearningError("joints", "none of the world has a limit of effort: name those that are to move")
        self._dofs: IntArray = np.concatenate([np.arange(0), *_chosen("joints", joints, known)])
        largest = effort[self._dofs] if limit is None else _broadcast("limit", limit, self._dofs.size)
        if not (largest.size and np.isfinite(largest).all() and (largest > 0.0).all()):
            raise LearningError("limit", f"must be finite and positive for each of {list(joints)}, got {largest}")
        self.limit = read_only(largest)
        self.low, self.high = _unit(largest.size)
        self._nv = world.nv

    def inputs(self, actions: FloatArray, q: FloatArray, v: FloatArray) -> tuple[FloatArray, None]:
        """Return the forces (B, nv): ``limit`` times the actions for the chosen joints, zero for others."""
        taus = np.zeros((len(actions), self._nv))
        taus[:, self._dofs] = self.limit * actions
        return taus, None


class Targets:
    """Targets of drives: one entry of the action, from -1 to 1, for each, over the range of its targets.

    Parameters
    ----------
    world
        World of the drives.
    drives
        Names of the drives; None: all drives of the world.
    least, most
        Range of the targets [rad or m, of velocity drives rad/s or m/s], one number or one for each drive; None: the
        range of the joint of a position drive.

    Raises
    ------
    LearningError
        A drive is unknown, or a range is invalid.
    """

    depends_on_state = False

    def __init__(
        self,
        world: World,
        drives: Sequence[str] | None = None,
        least: ArrayLike | None = None,
        most: ArrayLike | None = None,
    ) -> None:
        actions = world.joint_actions
        known = {str(one.name): i for i, one in enumerate(actions.drives)}
        chosen = list(known) if drives is None else drives
        self._places = np.array(_chosen("drives", chosen, known), dtype=np.int64)
        ranges = np.array([_range(actions.drives[i], actions.limits) for i in self._places])
        given = [
            ranges[:, k] if ends is None else _broadcast(name, ends, len(chosen))
            for k, (name, ends) in enumerate((("least", least), ("most", most)))
        ]
        for name, a, b in zip(chosen, *given, strict=True):
            if not (math.isfinite(a) and math.isfinite(b) and a < b):
                raise LearningError("least", f"the range of {name!r} must be finite and not empty, got {a} to {b}")
        self.least, self.most = (read_only(one.copy()) for one in given)
        self.low, self.high = _unit(len(chosen))
        self._held = np.array([one.target for one in actions.drives])

    def inputs(self, actions: FloatArray, q: FloatArray, v: FloatArray) -> tuple[None, FloatArray]:
        """Return the targets (B, nd) of all drives: actions from -1 to 1 map linearly to ``least`` to ``most``.

        Drives that are not named keep the world's targets.
        """
        targets = np.tile(self._held, (len(actions), 1))
        targets[:, self._places] = self.least + 0.5 * (actions + 1.0) * (self.most - self.least)
        return None, targets


def _chosen(field: str, names: Sequence[str], known: Mapping[str, T]) -> list[T]:
    """Return the values of some names, each once; an unknown name, or none, raises."""
    if isinstance(names, str):
        raise LearningError(field, f"must be a sequence of names, got {names!r}")
    for i, name in enumerate(names):
        if name not in known:
            raise LearningError(f"{field}[{i}]", f"there is no {name!r}{close_names(name, known)}")
    if not names or len(set(names)) < len(names):
        raise LearningError(field, f"must be some {field} of the world, each once, got {list(names)}")
    return [known[name] for name in names]


def _range(drive: Drive, limits: Iterable[JointLimit]) -> tuple[float, float]:
    """Return the range of the coordinate that a drive moves; infinite without a limit, or for a velocity drive."""
    ends = [one for one in limits if (one.joint, one.coordinate) == (drive.joint, drive.coordinate)]
    if not drive.needs_position or not ends:
        return -math.inf, math.inf
    return max(one.lower for one in ends), min(one.upper for one in ends)


def _unit(n: int) -> tuple[FloatArray, FloatArray]:
    """Return the range of n entries of actions, -1 and 1 (n,) each, which learners expect."""
    return read_only(-np.ones(n)), read_only(np.ones(n))


def _broadcast(name: str, value: ArrayLike, n: int) -> FloatArray:
    """Return n numbers, from one number or n of them."""
    return (
        np.full(n, finite_array(value, name, (), LearningError))
        if np.ndim(value) == 0
        else finite_array(value, name, (n,), LearningError).copy()
    )


class Controls:
    """Controls of a robot's actuators, in the order and the ranges of its file.

    Servos of joints are drives of the world, other actuators are forces: `MjcfRobot.tau`.

    Parameters
    ----------
    world
        World of the robot.
    robot
        The robot, with the inputs defined by the file.

    Raises
    ------
    LearningError
        There are no actuators, or one has no range or has an internal state.
    """

    def __init__(self, world: World, robot: MjcfRobot) -> None:
        if robot.na or not robot.actuators:
            raise LearningError(
                "robot", f"{robot.na} actuators have a state of their own" if robot.na else "it has no actuators"
            )
        endless = [one.name for one in robot.actuators if not np.isfinite(one.ctrl_range).all()]
        if endless:
            raise LearningError("robot", f"the control of {endless[0]!r} has no range: an action needs one")
        self.low, self.high = (read_only(np.ascontiguousarray(ends)) for ends in robot.ctrl_range.T)
        # Forces of motors depend only on the control.
        self.depends_on_state = any(
            one.drive is None and (any(one.gain[1:]) or any(one.bias)) for one in robot.actuators
        )
        numbers = {str(one.name): i for i, one in enumerate(world.joint_actions.drives)}
        missing = [one.name for one in robot.actuators if one.drive is not None and one.name not in numbers]
        if missing:
            raise LearningError("world", f"has no drive {missing[0]!r}: the robot is in another")
        self._servos = [
            (numbers[one.name], a, one.offset, one.terms[0].gear)
            for a, one in enumerate(robot.actuators)
            if one.drive is not None and one.drive.stiffness > 0.0
        ]
        self._held = np.array([one.target for one in world.joint_actions.drives])
        self._world, self._robot = world, robot

    def inputs(self, actions: FloatArray, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the forces (B, nv) of the file's actuators, and the targets of drives, None without servos."""
        taus = self._robot.tau(self._world, actions, q, v)
        if not self._servos:
            return taus, None
        targets = np.tile(self._held, (len(actions), 1))
        for place, a, offset, gear in self._servos:
            targets[:, place] = (actions[:, a] - offset) / gear
        return taus, targets


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

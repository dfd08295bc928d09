"""Maps from actions, including controls of a MuJoCo file, to forces and targets of drives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from contactlab.formulation.model_problem import JointLimit, PositionDrive, VelocityDrive
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array, read_only
from contactlab.spatial.errors import close_names
from contactlab.world.errors import SimulationConfigError
from contactlab.world.mjcf import MjcfRobot
from contactlab.world.world import World

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


def _range(drive: PositionDrive | VelocityDrive, limits: Iterable[JointLimit]) -> tuple[float, float]:
    """Return the range of the coordinate that a drive moves; infinite without a limit, or for a velocity drive."""
    ends = [one for one in limits if (one.joint, one.coordinate) == (drive.joint, drive.coordinate)]
    if isinstance(drive, VelocityDrive) or not ends:
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
            detail = f"{robot.na} actuators have a state of their own" if robot.na else "it has no actuators"
            raise LearningError("robot", detail)
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

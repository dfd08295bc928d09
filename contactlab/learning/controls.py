"""The controls of a robot from a MuJoCo file, as actions."""

from __future__ import annotations

import numpy as np

from contactlab.learning.errors import LearningError
from contactlab.spatial.arrays import FloatArray, read_only
from contactlab.world.mjcf import MjcfRobot
from contactlab.world.world import World


class Controls:
    """Controls of a robot's actuators, in the order and the ranges of its file.

    Servos of joints are drives of the world, the others forces: `MjcfRobot.tau`.

    Parameters
    ----------
    world
        In which the robot is.
    robot
        What the file brought into it.

    Raises
    ------
    LearningError
        No actuators, one without a range, one with a state of its own.
    """

    def __init__(self, world: World, robot: MjcfRobot) -> None:
        if robot.na or not robot.actuators:
            detail = f"{robot.na} actuators have a state of their own" if robot.na else "it has no actuators"
            raise LearningError("robot", detail)
        endless = [one.name for one in robot.actuators if not np.isfinite(one.ctrl_range).all()]
        if endless:
            raise LearningError("robot", f"the control of {endless[0]!r} has no range: an action needs one")
        self.low, self.high = (read_only(np.ascontiguousarray(ends)) for ends in robot.ctrl_range.T)
        # Forces of motors depend on the control alone.
        self.by_state = any(one.drive is None and (any(one.gain[1:]) or any(one.bias)) for one in robot.actuators)
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
        """Return forces and targets."""
        taus = self._robot.tau(self._world, actions, q, v)
        if not self._servos:
            return taus, None
        targets = np.tile(self._held, (len(actions), 1))
        for place, a, offset, gear in self._servos:
            targets[:, place] = (actions[:, a] - offset) / gear
        return taus, targets

"""Data of one step, or of many steps, that sensors read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody import body_poses, point_acceleration_6d, point_velocity_6d
from contactlab.multibody.points import ORIGIN, columns
from contactlab.spatial import Transform
from contactlab.spatial.arrays import FloatArray
from contactlab.world.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.world.world import World


class Sensor(Protocol):
    """Argument of `Simulation.read` and `Recording.read`."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading (d,) of one step, (n, d) of n steps."""


@dataclass(frozen=True, eq=False)
class StepView:
    """A step, or n steps at once: arrays then have a leading axis of that length.

    `Simulation.read` and `Recording.read` make them. Of states alone, such as those of a `Rollout`, sensors of motion
    read ``StepView(world, q[1:], v[1:], (q[:-1], v[:-1]), h)``.

    Attributes
    ----------
    world
        World that was stepped.
    q, v
        State after the step, (nq,) and (nv,).
    start
        q and v before it; None if no step has been made, which sensors of states can read all the same.
    h
        Size of the step [s], (n,) of n steps that differ.
    contacts
        Function that returns the `ContactTable` of the steps; None if contacts are not known.
    kinematic_poses
        Poses of the kinematic bodies before and after the step, (number of motions, 12) each: rotation by rows, origin.
    asleep
        Which bodies slept through the step (nb,); None if none can.
    time
        At which the step ended [s], (n,) of n steps; None if it is not known.
    """

    world: World
    q: FloatArray
    v: FloatArray
    start: tuple[FloatArray, FloatArray] | None = None
    h: FloatArray | float = 0.0
    contacts: Callable[[], Any] | None = None
    kinematic_poses: tuple[FloatArray, FloatArray] | None = None
    asleep: NDArray[np.bool_] | None = None
    time: FloatArray | float | None = None

    def read(self, sensor: Sensor) -> FloatArray:
        """Return the reading of a sensor: (d,), or (n, d)."""
        # Not `isinstance`, which takes longer with a protocol than many a reading.
        if not callable(getattr(sensor, "measure", None)):
            raise SimulationConfigError("sensor", f"must offer measure(view), got {type(sensor).__name__}")
        return sensor.measure(self)

    @property
    def start_state(self) -> tuple[FloatArray, FloatArray]:
        """State (q, v) before the step."""
        if self.start is None:
            raise SimulationConfigError(
                "sensor", "reads what happens in a step, and none has been made: call step first"
            )
        return self.start

    def pose(self, body: str, placement: Transform, *, before: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return rotation (3, 3) and origin (3,) in the world of a frame on a body, after the step or before it."""
        row = self._told_row(body)  # an unknown name is told before that there is not a step
        q = self.start_state[0] if before else self.q
        if row is not None:
            if self.kinematic_poses is None:
                raise SimulationConfigError("sensor", f"is on {body!r}, whose motion is not known here")
            R, p = _split(self.kinematic_poses[0 if before else 1][..., row, :])
        elif q.ndim == 1:
            R, p = _split(columns(self.world.model, q, body, ORIGIN, 3)[1])
        else:
            R, p = body_poses(self.world.model, q, body)
        return R @ placement.R, p + R @ placement.p

    def poses(self) -> tuple[FloatArray, FloatArray]:
        """Return rotations (nb, 3, 3) and origins (nb, 3) of all bodies after the step."""
        R, p = body_poses(self.world.model, self.q)
        for row, (body, _) in enumerate(self.world.motions):
            if self.kinematic_poses is None:
                raise SimulationConfigError("sensor", "sees bodies whose motion is not known here")
            R[..., body, :, :], p[..., body, :] = _split(self.kinematic_poses[1][..., row, :])
        return R, p

    def velocity(self, body: str, point: FloatArray) -> FloatArray:
        """Return angular velocity of a body and velocity of its point (3,), after the step, (6,) world axes."""
        self._free(body)
        return point_velocity_6d(self.world.model, self.q, self.v, body, point)

    def acceleration(self, body: str, point: FloatArray) -> FloatArray:
        """Return angular acceleration of a body and acceleration of its point (3,) in the step, (6,) world axes.

        v changes by a constant rate over the step; it counts at the state before it, where the step's equations hold.
        """
        self._free(body)
        (q, v), h = self.start_state, np.asarray(self.h)[..., None]
        return point_acceleration_6d(self.world.model, q, v, (self.v - v) / h, body, point)

    def contact_table(self, body: str) -> Any:
        """Return the contacts of the steps, to be asked about a body."""
        if self.contacts is None:
            raise SimulationConfigError("sensor", "reads contacts, which are not known of states alone")
        number, _ = self.world.model.index_or_world(body), self.start_state
        if self.asleep is not None and number >= 0 and self.asleep[..., number].any():
            detail = f"reads contacts of {body!r}, which sleeps: they are not computed then; step without Sleep"
            raise SimulationConfigError("sensor", detail)
        return self.contacts()

    def _told_row(self, body: str) -> int | None:
        number = self.world.model.index_or_world(body)
        return next((row for row, (one, _) in enumerate(self.world.motions) if one == number), None)

    def _free(self, body: str) -> None:
        if self._told_row(body) is not None:
            detail = f"is on {body!r}, which moves as it is told: its motion has the velocity"
            raise SimulationConfigError("sensor", detail)


def _split(pose: FloatArray) -> tuple[FloatArray, FloatArray]:
    return pose[..., :9].reshape(*pose.shape[:-1], 3, 3), pose[..., 9:]

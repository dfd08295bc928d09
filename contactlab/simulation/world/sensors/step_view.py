"""Data of one step, or of many steps, for sensors; errors of a measuring device: noise, and a range."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from contactlab.multibody import body_poses, point_acceleration_6d, point_velocity_6d
from contactlab.multibody.points import ORIGIN, columns
from contactlab.multibody.spatial import Transform
from contactlab.multibody.spatial.arrays import BoolArray, FloatArray, finite_array, read_only, set_fields
from contactlab.simulation.world.errors import SimulationConfigError, whole_number
from contactlab.simulation.world.world import World


class Sensor(Protocol):
    """Sensor for `Simulation.read` and `Recording.read`."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading (d,) of one step, (n, d) of n steps."""


@dataclass(frozen=True, eq=False)
class StepView:
    """A step, or n steps together, with a leading axis of length n in all arrays.

    `Simulation.read` and `Recording.read` make them. For states only, such as states of a `Rollout`, sensors of motion
    read ``StepView(world, q[1:], v[1:], (q[:-1], v[:-1]), h)``.

    Attributes
    ----------
    world
        World that was stepped.
    q, v
        State after the step, (nq,) and (nv,).
    start
        q and v before it; None before the first step, when only sensors of states can be read.
    h
        Size of the step [s], (n,) for n steps of different sizes.
    contacts
        Function that returns the `ContactTable` of the steps; None if contacts are not known.
    kinematic_poses
        Poses of the kinematic bodies before and after the step, (number of motions, 12) each: rotation by rows, origin.
    asleep
        Which bodies slept through the step (nb,); None if none can.
    time
        Time at the end of the step [s], (n,) for n steps; None if it is not known.
    """

    world: World
    q: FloatArray
    v: FloatArray
    start: tuple[FloatArray, FloatArray] | None = None
    h: FloatArray | float = 0.0
    contacts: Callable[[], Any] | None = None
    kinematic_poses: tuple[FloatArray, FloatArray] | None = None
    asleep: BoolArray | None = None
    time: FloatArray | float | None = None

    def read(self, sensor: Sensor) -> FloatArray:
        """Return ``sensor.measure(self)``: (d,) for one step, (n, d) for n steps."""
        _check_sensor(sensor)
        return sensor.measure(self)

    @property
    def start_state(self) -> tuple[FloatArray, FloatArray]:
        """State (q, v) before the step."""
        if self.start is None:
            raise SimulationConfigError("sensor", "reads a step, and none has been made: call step first")
        return self.start

    def pose(self, body: str, placement: Transform, *, before: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return rotation (3, 3) and origin (3,) in the world of a frame on a body, after the step or before it."""
        row = self._told_row(body)  # an unknown name is reported before a missing step
        q = self.start_state[0] if before else self.q
        if row is not None:
            if self.kinematic_poses is None:
                raise SimulationConfigError("sensor", f"is on {body!r}, whose motion is not known here")
            R, p = _split(self.kinematic_poses[0 if before else 1][..., row, :])
        elif q.ndim == 1:
            R, p, _ = columns(self.world.model, q, body, ORIGIN, 3)
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

        v changes at a constant rate over the step; it is evaluated at the state before it, where the step's equations
        hold.
        """
        self._free(body)
        (q, v), h = self.start_state, np.asarray(self.h)[..., None]
        return point_acceleration_6d(self.world.model, q, v, (self.v - v) / h, body, point)

    def contact_table(self, body: str) -> Any:
        """Return the contacts of the steps; raise if they are not known, or the body sleeps."""
        if self.contacts is None:
            raise SimulationConfigError("sensor", "reads contacts, which are not known of states alone")
        number, _ = self.world.model.index_or_world(body), self.start_state
        if self.asleep is not None and number >= 0 and self.asleep[..., number].any():
            raise SimulationConfigError(
                "sensor", f"reads contacts of {body!r}, which sleeps: they are not computed then; step without Sleep"
            )
        return self.contacts()

    def _told_row(self, body: str) -> int | None:
        number = self.world.model.index_or_world(body)
        return next((row for row, (one, _) in enumerate(self.world.motions) if one == number), None)

    def _free(self, body: str) -> None:
        if self._told_row(body) is not None:
            raise SimulationConfigError(
                "sensor", f"is on {body!r}, which is kinematic: read the velocity from its motion"
            )


def _split(pose: FloatArray) -> tuple[FloatArray, FloatArray]:
    return pose[..., :9].reshape(*pose.shape[:-1], 3, 3), pose[..., 9:]


def _spread(name: str, value: object) -> FloatArray:
    """Return one number for all entries of a reading, or one for each, as an array."""
    shape = (None,) if np.ndim(value) == 1 else ()  # type: ignore[arg-type]
    return read_only(finite_array(value, name, shape, SimulationConfigError))  # type: ignore[arg-type]


def _check_sensor(sensor: object) -> None:
    # Not `isinstance`, which for a protocol takes longer than many a reading.
    if not callable(getattr(sensor, "measure", None)):
        raise SimulationConfigError("sensor", f"must offer measure(view), got {type(sensor).__name__}")


@dataclass(frozen=True, eq=False)
class Noisy:
    """Readings of another sensor with normal noise, independent from step to step.

    The noise is a function of the seed, the time and the state. So a run, its record and a run of a batch give the same
    readings, on any number of threads and for any number of calls. Runs that differ have independent noise.

    Parameters
    ----------
    sensor
        Sensor that is read.
    std
        Standard deviation in the units of the reading: one number, or (d,).
    seed
        At least 0. Two devices with one seed have the same noise: use different seeds.

    Raises
    ------
    SimulationConfigError
        A value is invalid; the error names the field and the value.
    """

    sensor: Sensor
    std: FloatArray | float
    seed: int = 0

    def __post_init__(self) -> None:
        _check_sensor(self.sensor)
        std = _spread("std", self.std)
        if np.any(std < 0.0):
            raise SimulationConfigError("std", f"must not be negative, got {std}")
        set_fields(self, std=std)
        whole_number("seed", self.seed, 0)

    def measure(self, view: StepView) -> FloatArray:
        """Return the other sensor's reading with noise, the same in the same state; raise if the time is unknown."""
        if view.time is None:
            raise SimulationConfigError("sensor", "has noise, which depends on the time: StepView(..., time=)")
        reading = self.sensor.measure(view)
        when = np.broadcast_to(np.asarray(view.time, dtype=np.float64), view.q.shape[:-1])[..., None]
        # Adding 0 makes zeros of either sign one state.
        rows = (np.concatenate((when, view.q, view.v), axis=-1) + 0.0).reshape(
            -1, 1 + view.q.shape[-1] + view.v.shape[-1]
        )
        noise = np.array([self._draw(row.tobytes(), reading.shape[-1]) for row in rows])
        return np.asarray(reading + self.std * noise.reshape(reading.shape))

    def _draw(self, state: bytes, size: int) -> FloatArray:
        """Return ``size`` normally distributed numbers, a function of the seed and the state's bytes."""
        digest = hashlib.blake2b(state, digest_size=16, key=str(self.seed).encode()[:64])
        key = int.from_bytes(digest.digest(), "little")
        return np.random.Generator(np.random.Philox(key=key)).standard_normal(size)


@dataclass(frozen=True, eq=False)
class Clipped:
    """Readings of another sensor, clipped to a range.

    Parameters
    ----------
    sensor
        Sensor that is read; its noise is clipped, too.
    low, high
        Ends in the units of the reading: one number, or (d,); low <= high.

    Raises
    ------
    SimulationConfigError
        A value is invalid; the error names the field and the value.
    """

    sensor: Sensor
    low: FloatArray | float
    high: FloatArray | float

    def __post_init__(self) -> None:
        _check_sensor(self.sensor)
        set_fields(self, low=_spread("low", self.low), high=_spread("high", self.high))
        if np.any(self.low > self.high):
            raise SimulationConfigError("low", f"must not exceed high, got {self.low} and {self.high}")

    def measure(self, view: StepView) -> FloatArray:
        """Return the other sensor's reading, clipped to the range."""
        return np.clip(self.sensor.measure(view), self.low, self.high)

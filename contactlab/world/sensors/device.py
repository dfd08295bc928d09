"""Errors of a measuring device: noise, and a range."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.world.errors import SimulationConfigError, whole_number
from contactlab.world.sensors.step_view import Sensor, StepView


def _spread(name: str, value: object) -> FloatArray:
    """One number for all entries of a reading, or one for each."""
    shape = (None,) if np.ndim(value) == 1 else ()  # type: ignore[arg-type]
    return read_only(finite_array(value, name, shape, SimulationConfigError))  # type: ignore[arg-type]


def _check_sensor(sensor: object) -> None:
    if not callable(getattr(sensor, "measure", None)):
        raise SimulationConfigError("sensor", f"must offer measure(view), got {type(sensor).__name__}")


@dataclass(frozen=True, eq=False)
class Noisy:
    """Readings of another sensor with normal noise, independent from step to step.

    The noise is a function of the seed, the time and the state: a run, its record and a run of a batch read the same,
    on any number of threads and however often they are asked, and runs that differ anywhere err independently.

    Parameters
    ----------
    sensor
        Sensor that is read.
    std
        Standard deviation in the units of the reading: one number, or (d,).
    seed
        At least 0. Two devices with one seed err alike: give each its own.

    Raises
    ------
    SimulationConfigError
        Naming the field and the value.
    """

    sensor: Sensor
    std: FloatArray | float
    seed: int = 0

    def __post_init__(self) -> None:
        _check_sensor(self.sensor)
        std = _spread("std", self.std)
        if np.any(std < 0.0):
            raise SimulationConfigError("std", f"must not be negative, got {std}")
        object.__setattr__(self, "std", std)
        whole_number("seed", self.seed, 0)

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        if view.time is None:
            raise SimulationConfigError("sensor", "has noise, which depends on the time: StepView(..., time=)")
        reading = self.sensor.measure(view)
        lead = view.q.shape[:-1]
        when = np.broadcast_to(np.asarray(view.time, dtype=np.float64), lead)[..., None]
        # Plus 0: zeros of either sign are one state.
        rows = (np.concatenate((when, view.q, view.v), axis=-1) + 0.0).reshape(
            -1, 1 + view.q.shape[-1] + view.v.shape[-1]
        )
        noise = np.array([self._draw(row.tobytes(), reading.shape[-1]) for row in rows])
        return np.asarray(reading + self.std * noise.reshape(reading.shape))

    def _draw(self, state: bytes, size: int) -> FloatArray:
        """Return normal numbers that belong to a state."""
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
        Naming the field and the value.
    """

    sensor: Sensor
    low: FloatArray | float
    high: FloatArray | float

    def __post_init__(self) -> None:
        _check_sensor(self.sensor)
        for name in ("low", "high"):
            object.__setattr__(self, name, _spread(name, getattr(self, name)))
        if np.any(self.low > self.high):
            raise SimulationConfigError("low", f"must not exceed high, got {self.low} and {self.high}")

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return np.clip(self.sensor.measure(view), self.low, self.high)

"""Numbers of small scenes: nominal ones, or random ones near these, in sizes, masses, friction, units and steps."""

from __future__ import annotations

import numpy as np


class Draw:
    """Quantities of a scene stated at 9.81 m/s^2; ``seed`` 0 leaves them unchanged.

    Other seeds draw lengths 0.1 to 30 times as long (0.01 to 10 m for nominal 0.1 to 0.3 m), masses 1e-3 to 1e4 times
    as large, friction of 0 to 2, steps of 0.5 to 10 ms, and metres, centimetres or millimetres as the unit. Each
    quantity gets a factor of 0.6 to 1.6, each mass one of about 1/3 to 3. Speeds, torques and stiffness scale with
    lengths and masses, so that the motion is similar.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed) if seed else None
        self.length, self.weight, self.unit, self.h = 1.0, 1.0, 1.0, 2e-3
        if self.rng is not None:
            self.length, self.weight = 10.0 ** self.rng.uniform(-1.0, 1.5), 10.0 ** self.rng.uniform(-3.0, 4.0)
            self.unit = float(self.rng.choice([1.0, 1.0, 1e2, 1e3]))
            self.h = 10.0 ** self.rng.uniform(-3.3, -2.0)
        self.time = self.length**0.5

    def near(self, x: float) -> float:
        """A number of no unit, an angle."""
        return x if self.rng is None else x * float(np.exp(self.rng.uniform(-0.5, 0.5)))

    def size(self, x: float) -> float:
        """A length."""
        return self.near(x) * self.length * self.unit

    def mass(self, x: float) -> float:
        """A mass, which can be much larger than another."""
        return x if self.rng is None else self.near(x) * self.weight * 3.0 ** float(self.rng.normal())

    def speed(self, x: float) -> float:
        """A velocity."""
        return self.size(x) / self.time

    def spin(self, x: float) -> float:
        """An angular velocity."""
        return self.near(x) / self.time

    def force(self, x: float) -> float:
        """A force."""
        return self.near(x) * self.weight * self.unit

    def torque(self, x: float) -> float:
        """A torque, or a torque per radian."""
        return self.size(x) * self.weight * self.unit

    def damping(self, x: float) -> float:
        """A torque per radian per second."""
        return self.torque(x) * self.time

    def inertia(self, x: float) -> float:
        """A moment of inertia."""
        return self.size(x) * self.weight * self.length * self.unit

    def friction(self, x: float) -> float:
        """A coefficient of friction."""
        return x if self.rng is None else float(self.rng.uniform(0.0, 2.0))

"""A case: one question, its source, and figures with limits; what is made of them is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contactlab.conformance.engine import Contacts, Engine, Run
from contactlab.conformance.scene import Scene
from contactlab.spatial.arrays import FloatArray


class NotToldError(Exception):
    """The engine does not tell what the case needs."""


@dataclass(frozen=True)
class Measure:
    """A figure that must not exceed its limit; ``what`` begins a sentence: "crept", "missed 2 m by"."""

    what: str
    value: float
    limit: float
    unit: str = ""

    @property
    def passed(self) -> bool:
        """Whether it keeps the limit; what is not a number does not."""
        return self.value <= self.limit

    @property
    def times(self) -> float:
        """The figure over its limit: how far an engine is from keeping it."""
        return self.value / self.limit if self.limit > 0.0 else (0.0 if self.value <= 0.0 else math.inf)

    def as_data(self) -> dict[str, str | float | None]:
        """Plain data, for JSON, which knows no infinity."""
        value = self.value if math.isfinite(self.value) else None
        return {"what": self.what, "value": value, "limit": self.limit, "unit": self.unit}

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.what} {self.value:.2g}{unit} (limit {self.limit:.2g}{unit})"


@dataclass(frozen=True)
class Case:
    """A case.

    Attributes
    ----------
    name, question, source
        What is asked, in a sentence, and where the answer and its limit come from.
    measure
        From an engine to the figures.
    """

    name: str
    question: str
    source: str
    measure: Callable[[Engine], list[Measure]]


@dataclass(frozen=True)
class Path:
    """A run, step by step: times (k,), poses (k, n, 7), velocities (k, n, 6), the start first; and where it stands."""

    times: FloatArray
    poses: FloatArray
    velocities: FloatArray
    run: Run

    def contacts(self) -> Contacts:
        """Contacts of the last step; raises `NotToldError`."""
        contacts = self.run.contacts()
        if contacts is None:
            raise NotToldError("tells no contact forces")
        return contacts

    def energy(self, scene: Scene) -> FloatArray:
        """Kinetic and potential energy (k,) of all bodies [J]."""
        total = np.zeros(self.times.size)
        for i, body in enumerate(scene.bodies):
            total += body.mass * (
                0.5 * np.sum(self.velocities[:, i, :3] ** 2, 1) - self.poses[:, i, :3] @ scene.gravity
            )
            total += 0.5 * np.sum(np.array(body.inertia) * self.spin(i) ** 2, 1)
        return total

    def spin(self, i: int) -> FloatArray:
        """Angular velocity (k, 3) of a body in its own axes."""
        w, u, spin = self.poses[:, i, 3:4], -self.poses[:, i, 4:], self.velocities[:, i, 3:]
        turned: FloatArray = spin + 2.0 * np.cross(u, np.cross(u, spin) + w * spin)
        return turned


def path(engine: Engine, scene: Scene, h: float, seconds: float) -> Path:
    """Run a scene and keep every step."""
    run = engine.load(scene, h)
    poses, velocities = [run.poses()], [run.velocities()]
    for _ in range(round(seconds / h)):
        run.step()
        poses.append(run.poses())
        velocities.append(run.velocities())
    return Path(np.arange(len(poses)) * np.float64(h), np.array(poses), np.array(velocities), run)


def load_on(contacts: Contacts, body: int) -> FloatArray:
    """Sum of the contact forces (3,) on a body."""
    pushed = np.array(contacts.body) == body
    pushes = np.array(contacts.other) == body
    total: FloatArray = contacts.force[pushed].sum(0) - contacts.force[pushes].sum(0)
    return total

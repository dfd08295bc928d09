"""A case: one question, its source, and figures with limits; a row is what became of it on one engine, computed."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from contactlab.conformance.scene import Engine, EngineContacts, NotSupportedError, Run, Scene
from contactlab.spatial.arrays import FloatArray


class NotReportedError(Exception):
    """The engine does not tell what the case needs."""


@dataclass(frozen=True)
class Measure:
    """A figure that must not exceed its limit; ``description`` begins a sentence: "crept", "missed 2 m by"."""

    description: str
    value: float
    limit: float
    unit: str = ""

    @property
    def passed(self) -> bool:
        """Whether the figure is within its limit; NaN is not."""
        return self.value <= self.limit

    @property
    def ratio(self) -> float:
        """The figure over its limit: how far an engine is from keeping it."""
        return self.value / self.limit if self.limit > 0.0 else (0.0 if self.value <= 0.0 else math.inf)

    def as_data(self) -> dict[str, str | float | None]:
        """Plain data, for JSON, which knows no infinity."""
        value = self.value if math.isfinite(self.value) else None
        return {"what": self.description, "value": value, "limit": self.limit, "unit": self.unit}

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.description} {self.value:.2g}{unit} (limit {self.limit:.2g}{unit})"


@dataclass(frozen=True)
class Case:
    """A case.

    Attributes
    ----------
    name, question, source
        The question, in a sentence, and the source of the answer and of its limit.
    measure
        From an engine to the figures.
    """

    name: str
    question: str
    source: str
    measure: Callable[[Engine], list[Measure]]


@dataclass(frozen=True)
class Trajectory:
    """A run, step by step: times (k,), poses (k, n, 7), velocities (k, n, 6), the start first; and where it stands."""

    times: FloatArray
    poses: FloatArray
    velocities: FloatArray
    run: Run

    def contacts(self) -> EngineContacts:
        """Contacts of the last step; raises `NotReportedError`."""
        contacts = self.run.contacts()
        if contacts is None:
            raise NotReportedError("tells no contact forces")
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


def path(engine: Engine, scene: Scene, h: float, seconds: float) -> Trajectory:
    """Run a scene and keep every step."""
    run = engine.load(scene, h)
    poses, velocities = [run.poses()], [run.velocities()]
    for _ in range(round(seconds / h)):
        run.step()
        poses.append(run.poses())
        velocities.append(run.velocities())
    return Trajectory(np.arange(len(poses)) * np.float64(h), np.array(poses), np.array(velocities), run)


def net_contact_force(contacts: EngineContacts, body: int) -> FloatArray:
    """Sum of the contact forces (3,) on a body."""
    pushed = np.array(contacts.body) == body
    pushes = np.array(contacts.other) == body
    total: FloatArray = contacts.force[pushed].sum(0) - contacts.force[pushes].sum(0)
    return total


class CaseVerdict(enum.Enum):
    """Outcome of a case."""

    PASSED = "kept"
    FAILED = "lost"
    NOT_REPORTED = "not told"
    NOT_SUPPORTED = "not offered"
    CRASHED = "crashed"
    TIMED_OUT = "out of time"
    MISSING = "missing"


@dataclass(frozen=True)
class CaseResult:
    """One case on one engine."""

    engine: str
    version: str
    case: str
    verdict: CaseVerdict
    measures: tuple[Measure, ...] = ()
    detail: str = ""

    @property
    def times(self) -> float:
        """The worst figure over its limit."""
        return max((one.ratio for one in self.measures), default=0.0)

    @property
    def lost(self) -> bool:
        """Whether the engine failed the case, crashed or ran out of time."""
        return self.verdict in (CaseVerdict.FAILED, CaseVerdict.CRASHED, CaseVerdict.TIMED_OUT)

    @property
    def reason(self) -> str:
        """For a loss the figures that missed their limits; else what there is to say."""
        if self.verdict is CaseVerdict.PASSED:
            return "; ".join(map(str, self.measures))
        return self.detail or "; ".join(str(one) for one in self.measures if not one.passed)


def run_case(engine: Engine, case: Case) -> CaseResult:
    """Hold an engine to a case."""

    def row(verdict: CaseVerdict, measures: Sequence[Measure] = (), detail: str = "") -> CaseResult:
        return CaseResult(engine.name, engine.version, case.name, verdict, tuple(measures), detail)

    try:
        measures = case.measure(engine)
    except NotReportedError as error:
        return row(CaseVerdict.NOT_REPORTED, (), str(error))
    except NotSupportedError as error:
        return row(CaseVerdict.NOT_SUPPORTED, (), str(error))
    except Exception as error:  # noqa: BLE001  whatever an engine raises is a finding
        return row(CaseVerdict.CRASHED, (), f"{type(error).__name__}: {error}")
    return row(CaseVerdict.PASSED if all(one.passed for one in measures) else CaseVerdict.FAILED, measures)


def missing(name: str, case: Case, detail: str) -> CaseResult:
    """Return the row of an engine that could not be made."""
    return CaseResult(name, "", case.name, CaseVerdict.MISSING, (), detail)

"""Scenes, engines and cases of the suite.

A scene does not refer to any engine. It has SI units, z up, and frames of bodies at the centre of mass. An engine
returns poses, velocities and optionally contacts. A case is one question, its source, and figures with limits; a row is
the result of a case on one engine.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import FloatArray

Numbers = tuple[float, ...]
UNTURNED: Numbers = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ShapeSpec:
    """``kind`` and ``size``: "sphere" (radius,), "box" (half extents), "capsule" (radius, half length, along z)."""

    kind: str
    size: Numbers


@dataclass(frozen=True)
class HalfSpaceSpec:
    """A half-space, fixed: the points with normal . x >= offset are free."""

    normal: Numbers = (0.0, 0.0, 1.0)
    offset: float = 0.0


@dataclass(frozen=True)
class Body:
    """A free body, or one attached by a `Joint`.

    Attributes
    ----------
    shape, mass, inertia
        Shape (None for a body without contact, attached by a joint), mass, and three moments of inertia about the
        body's axes [kg m^2].
    position, turn
        Centre of mass [m]; unit quaternion (w, x, y, z).
    velocity, spin
        Velocity of the centre [m/s], and angular velocity, both in world axes.
    force
        Constant force at the centre, in world axes [N].
    """

    shape: ShapeSpec | None
    mass: float
    inertia: Numbers
    position: Numbers
    turn: Numbers = UNTURNED
    velocity: Numbers = (0.0, 0.0, 0.0)
    spin: Numbers = (0.0, 0.0, 0.0)
    force: Numbers = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Joint:
    """Joint between two bodies: "revolute" about an axis through a point, or "prismatic" along an axis.

    Attributes
    ----------
    kind
        "revolute" or "prismatic".
    body, other
        Indices in the scene of the attached body, and of a body before it; -1 for the world.
    point, axis
        Point and unit axis at the start, in world axes [m]. Each body has at most one joint, and bodies with joints
        start at rest.
    """

    kind: str
    body: int
    other: int
    point: Numbers
    axis: Numbers


@dataclass(frozen=True)
class Pin:
    """Closure of a loop of joints: two bodies share the point that is here at the start, in world axes [m]."""

    body: int
    other: int
    point: Numbers


@dataclass(frozen=True)
class Scene:
    """Bodies between walls, all of one material, because engines combine materials differently."""

    bodies: tuple[Body, ...]
    walls: tuple[HalfSpaceSpec, ...] = (HalfSpaceSpec(),)
    mu: float = 0.5
    restitution: float = 0.0
    gravity: Numbers = (0.0, 0.0, -9.81)
    joints: tuple[Joint, ...] = ()
    pins: tuple[Pin, ...] = ()

    def joint_of(self, body: int) -> Joint | None:
        """Return the joint that attaches a body, or None."""
        return next((joint for joint in self.joints if joint.body == body), None)

    def local(self, body: int, vector: Numbers, *, point: bool = True) -> Numbers:
        """Return a point or direction of the world in a body's axes at the start, points relative to its centre.

        Body -1 is the world, for which the vector is returned unchanged.
        """
        if body < 0:
            return vector
        one, x = self.bodies[body], np.array(vector, dtype=float)
        x = x - one.position if point else x
        return tuple((quaternion.to_matrix(np.array(one.turn, dtype=float)).T @ x).tolist())


def box(half: Numbers, mass: float, position: Numbers, turn: Numbers = UNTURNED, velocity: Numbers = (0, 0, 0),
        spin: Numbers = (0, 0, 0), force: Numbers = (0, 0, 0)) -> Body:  # fmt: skip
    """Return a solid box of uniform density."""
    x, y, z = (a * a for a in half)
    inertia = tuple(mass / 3.0 * s for s in (y + z, x + z, x + y))
    return Body(ShapeSpec("box", half), mass, inertia, position, turn, velocity, spin, force)


def ball(radius: float, mass: float, position: Numbers, velocity: Numbers = (0, 0, 0)) -> Body:
    """Return a solid ball of uniform density."""
    return Body(ShapeSpec("sphere", (radius,)), mass, (0.4 * mass * radius**2,) * 3, position, UNTURNED, velocity)


class NotSupportedError(Exception):
    """The engine does not support a feature, named in the text. The case is then neither passed nor lost."""


@dataclass(frozen=True)
class EngineContacts:
    """Contacts of the last step: normals into the pushed body, forces on this body, world axes.

    Attributes
    ----------
    body, other
        Indices of bodies in the scene; -1 for a wall.
    point, normal, force
        (n, 3) [m], [1], [N].
    """

    body: tuple[int, ...]
    other: tuple[int, ...]
    point: FloatArray
    normal: FloatArray
    force: FloatArray


class Run(Protocol):
    """One run of a scene, which begins at its start."""

    def step(self) -> None:
        """Make one step of h."""

    def poses(self) -> FloatArray:
        """Return (n, 7): centre of mass and unit quaternion (w, x, y, z) of each body, in the scene's order."""

    def velocities(self) -> FloatArray:
        """Return (n, 6): velocity of the centre and angular velocity, world axes."""

    def contacts(self) -> EngineContacts | None:
        """Return the contacts of the last step; None if the engine does not report them."""


class Engine(Protocol):
    """An engine: a name, a version, and runs."""

    name: str
    version: str

    def load(self, scene: Scene, h: float) -> Run:
        """Return a run of the scene with steps of h [s]; raise `NotSupportedError` if the engine cannot run it."""


class NotReportedError(Exception):
    """The engine does not report a quantity that the case needs."""


@dataclass(frozen=True)
class Measure:
    """A figure with its limit; ``description`` is the beginning of a sentence: "crept", "missed 2 m by"."""

    description: str
    value: float
    limit: float
    unit: str = ""

    @property
    def passed(self) -> bool:
        """Whether the figure is within its limit; False for NaN."""
        return self.value <= self.limit

    @property
    def ratio(self) -> float:
        """The figure divided by its limit."""
        return self.value / self.limit if self.limit > 0.0 else (0.0 if self.value <= 0.0 else math.inf)

    def as_data(self) -> dict[str, str | float | None]:
        """Return description, value, limit and unit as plain data for JSON; a value that is not finite becomes None."""
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
        Name, question as a sentence, and source of the expected result and of its limit.
    measure
        Function of an engine that returns the figures.
    """

    name: str
    question: str
    source: str
    measure: Callable[[Engine], list[Measure]]


@dataclass(frozen=True)
class Trajectory:
    """Recorded run: times (k,), poses (k, n, 7), velocities (k, n, 6), from the start on; and its final state."""

    times: FloatArray
    poses: FloatArray
    velocities: FloatArray
    run: Run

    def contacts(self) -> EngineContacts:
        """Return the contacts of the last step; raise `NotReportedError` if they are not reported."""
        contacts = self.run.contacts()
        if contacts is None:
            raise NotReportedError("reports no contact forces")
        return contacts

    def energy(self, scene: Scene) -> FloatArray:
        """Return the kinetic and potential energy (k,) of all bodies [J]."""
        total = np.zeros(self.times.size)
        for i, body in enumerate(scene.bodies):
            total += body.mass * (
                0.5 * np.sum(self.velocities[:, i, :3] ** 2, 1) - self.poses[:, i, :3] @ scene.gravity
            )
            total += 0.5 * np.sum(np.array(body.inertia) * self.spin(i) ** 2, 1)
        return total

    def spin(self, i: int) -> FloatArray:
        """Return the angular velocity (k, 3) of a body in its axes."""
        turns = quaternion.to_matrix(self.poses[:, i, 3:])
        return np.asarray((self.velocities[:, i, None, 3:] @ turns)[:, 0])


def path(engine: Engine, scene: Scene, h: float, seconds: float) -> Trajectory:
    """Run a scene and return all steps."""
    run = engine.load(scene, h)
    poses, velocities = [run.poses()], [run.velocities()]
    for _ in range(round(seconds / h)):
        run.step()
        poses.append(run.poses())
        velocities.append(run.velocities())
    return Trajectory(np.arange(len(poses)) * np.float64(h), np.array(poses), np.array(velocities), run)


def net_contact_force(contacts: EngineContacts, body: int) -> FloatArray:
    """Return the sum of the contact forces (3,) on a body."""
    pushed = np.array(contacts.body) == body
    total: FloatArray = contacts.force[pushed].sum(0) - contacts.force[np.array(contacts.other) == body].sum(0)
    return total


class CaseVerdict(enum.StrEnum):
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
    """Result of one case on one engine."""

    engine: str
    version: str
    case: str
    verdict: CaseVerdict
    measures: tuple[Measure, ...] = ()
    detail: str = ""

    @property
    def times(self) -> float:
        """Largest ratio of a figure to its limit."""
        return max((one.ratio for one in self.measures), default=0.0)

    @property
    def lost(self) -> bool:
        """Whether the engine failed the case, crashed or exceeded the time."""
        return self.verdict in (CaseVerdict.FAILED, CaseVerdict.CRASHED, CaseVerdict.TIMED_OUT)

    @property
    def reason(self) -> str:
        """All figures of a passed case; otherwise the detail, or without one the figures beyond their limits."""
        if self.verdict is CaseVerdict.PASSED:
            return "; ".join(map(str, self.measures))
        return self.detail or "; ".join(str(one) for one in self.measures if not one.passed)


def run_case(engine: Engine, case: Case) -> CaseResult:
    """Run a case on an engine and return its result."""

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

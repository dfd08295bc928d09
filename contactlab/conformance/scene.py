"""Scenes told without reference to any engine, and what one has to answer of them, or may leave untold.

SI units, z up, bodies with their frames at the centre of mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from contactlab.spatial import quaternion
from contactlab.spatial.arrays import FloatArray

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
    """A body, free or held by a `Joint`.

    Attributes
    ----------
    shape, mass, inertia
        None: one that touches nothing, held by a joint. Inertia: the three moments about the body's axes [kg m^2].
    position, turn
        Centre of mass [m]; unit quaternion (w, x, y, z).
    velocity, spin
        Of the centre [m/s], and angular [rad/s], both in world axes.
    force
        Constant, at the centre, in world axes [N].
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
    """Holds a body to another: "revolute" about an axis through a point, or "prismatic" along it.

    Attributes
    ----------
    kind
        "revolute" or "prismatic".
    body, other
        Numbers in the scene: of the one held, and of one before it; -1 for the world.
    point, axis
        As they are at the start, in world axes [m]; the axis of unit length. No more than one joint holds a body, and
        the bodies of joints start at rest.
    """

    kind: str
    body: int
    other: int
    point: Numbers
    axis: Numbers


@dataclass(frozen=True)
class Pin:
    """Closes a loop of joints: two bodies keep the point in common that is here at the start, in world axes [m]."""

    body: int
    other: int
    point: Numbers


@dataclass(frozen=True)
class Scene:
    """Bodies between walls, all of one material, since engines combine materials differently."""

    bodies: tuple[Body, ...]
    walls: tuple[HalfSpaceSpec, ...] = (HalfSpaceSpec(),)
    mu: float = 0.5
    restitution: float = 0.0
    gravity: Numbers = (0.0, 0.0, -9.81)
    joints: tuple[Joint, ...] = ()
    pins: tuple[Pin, ...] = ()

    def joint_of(self, body: int) -> Joint | None:
        """Return the joint that holds a body."""
        return next((joint for joint in self.joints if joint.body == body), None)

    def local(self, body: int, vector: Numbers, *, point: bool = True) -> Numbers:
        """Return a point, or a direction, in a body's own axes from its centre, at the start.

        The world's own for -1.
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
    """The engine has no such thing; the text says what. The case is then neither won nor lost."""


@dataclass(frozen=True)
class EngineContacts:
    """Contacts of the last step: normals out of the other body into the one pushed, forces on that one, world axes.

    Attributes
    ----------
    body, other
        Numbers of bodies in the scene; -1 for a wall.
    point, normal, force
        (n, 3) [m], [1], [N].
    """

    body: tuple[int, ...]
    other: tuple[int, ...]
    point: FloatArray
    normal: FloatArray
    force: FloatArray


class Run(Protocol):
    """One run of a scene, standing at its start."""

    def step(self) -> None:
        """Go on by h."""

    def poses(self) -> FloatArray:
        """(n, 7): centre of mass and unit quaternion (w, x, y, z) of each body, in the scene's order."""

    def velocities(self) -> FloatArray:
        """(n, 6): velocity of the centre and angular velocity, world axes."""

    def contacts(self) -> EngineContacts | None:
        """Contacts of the last step; None for an engine that does not tell them."""


class Engine(Protocol):
    """An engine: a name, a version, and runs."""

    name: str
    version: str

    def load(self, scene: Scene, h: float) -> Run:
        """Return a run of the scene with steps of h [s]; raises `NotSupportedError` where it cannot be told so."""

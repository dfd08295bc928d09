"""What an engine has to answer, and what it may leave untold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from contactlab.conformance.scene import Scene
from contactlab.spatial.arrays import FloatArray


class NotOfferedError(Exception):
    """The engine has no such thing; the text says what. The case is then neither won nor lost."""


@dataclass(frozen=True)
class Contacts:
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

    def contacts(self) -> Contacts | None:
        """Contacts of the last step; None for an engine that does not tell them."""


class Engine(Protocol):
    """An engine: a name, a version, and runs."""

    name: str
    version: str

    def load(self, scene: Scene, h: float) -> Run:
        """Return a run of the scene with steps of h [s]; raises `NotOfferedError` where it cannot be told so."""

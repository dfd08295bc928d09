"""What every shape offers, and what one of a user's own must offer to touch a half-space."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from contactlab.contact.errors import ContactError
from contactlab.contact.shapes.solid import Solid
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray, IntArray, finite_number

# Fields of shapes: files are read by them.
Vector: TypeAlias = FloatArray  # (3,)
Points: TypeAlias = FloatArray  # (n, 3)
Grid: TypeAlias = FloatArray  # (n, m)


@runtime_checkable
class BodyShape(Protocol):
    """A convex shape fixed to a body, as points with a radius: its deepest point is always that of one of them."""

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """New arrays: points (n, 3) [m] in body axes, radii (n,) [m]; their fixed order numbers the contacts."""
        ...


class Packed(NamedTuple):
    """A shape as the kernels take it; `contactlab.contact.kernels.layout` says what the columns hold."""

    #: kind, sizes: Its code and its row of sizes.
    kind: int
    sizes: Sequence[float]
    #: data, loops: What does not fit the row.
    data: FloatArray = np.zeros(0)
    loops: Sequence[int] | IntArray = ()
    center: FloatArray | None = None  # where its own axes begin, where that is not the origin
    #: in_data, in_loops: Columns of ``sizes`` that are places in ``data`` and ``loops``, counted from where these
    #: begin.
    in_data: tuple[int, ...] = ()
    in_loops: tuple[int, ...] = ()


class Shape(ABC):
    """A shape of the library: a frozen dataclass whose fields are all that a record or a scene file keeps of it."""

    @abstractmethod
    def packed(self, *, faces: bool = True) -> Packed:
        """What the kernels take; of a hull with its faces, unless only half-spaces and terrain meet it."""

    @abstractmethod
    def solid(self) -> Solid:
        """The surface in the shape's axes, to be drawn."""

    def inertia(self) -> RigidInertia | None:
        """The inertia about the shape's axes at a density of 1 kg/m^3; None where no volume is known."""
        return None


@dataclass(frozen=True)
class Tube(Shape):
    """What capsules and cylinders share: a radius [m] about the z axis, and half a length [m] along it."""

    radius: float
    half_length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, "radius"))
        object.__setattr__(self, "half_length", positive_number(self.half_length, "half_length"))


def positive_number(value: float, field: str) -> float:
    """``value`` as a float; a `ContactError` names the field where it is not one finite positive number."""
    return finite_number(value, field, ContactError, positive=True)


def ball_volume(radius: float) -> float:
    """Volume of a ball."""
    return 4.0 / 3.0 * float(np.pi) * radius**3

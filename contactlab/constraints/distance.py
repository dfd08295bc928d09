"""Rows along the line between two points, and a rod: the one of them that holds the points' distance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from numpy.typing import ArrayLike

from contactlab.constraints.baumgarte import Baumgarte, baumgarte_of
from contactlab.constraints.contact import check_body, check_label
from contactlab.constraints.errors import ConstraintError
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only
from contactlab.spatial.errors import FieldError


@dataclass(frozen=True, eq=False)
class PointPair(ABC):
    """Two points of two bodies with one row along the line between them: what sets of constraints take of such rows."""

    body_a: str
    point_a: FloatArray
    body_b: str
    point_b: FloatArray

    @property
    @abstractmethod
    def zero(self) -> float:
        """Distance of the points [m] at which the row's position error is zero."""

    def check_points(self, error: type[FieldError]) -> None:
        """Keep the points as read-only arrays; raise ``error`` for what are no points of two bodies."""
        for field in ("point_a", "point_b"):
            object.__setattr__(self, field, read_only(finite_array(getattr(self, field), field, (3,), error)))
        if self.body_a == self.body_b:
            raise error("body_b", f"is body_a too, {self.body_a!r}: the line joins two bodies")


@dataclass(frozen=True, eq=False, init=False)
class DistanceConstraint(PointPair):
    """A rod without mass: a point of one body keeps its distance from a point of another.

    With the points x_a, x_b, their Jacobians J_a, J_b (3, nv), relative velocity u and acceleration at zero joint
    accelerations c (b less a), the distance d and n = (x_b - x_a) / d::

        G              = n^T (J_b - J_a)
        gamma          = -n^T c - |u - (n . u) n|^2 / d
        position error = d - length
        velocity error = G v

    The force is positive where it pushes the points apart. Points that coincide have no line, and a row of zeros.

    Parameters
    ----------
    body_a, body_b
        Names of bodies, fixed ones and "world" included.
    point_a, point_b
        (3,) [m] in body coordinates.
    length
        [m], > 0; three rows of a `LoopConstraint` hold points together.
    baumgarte
        None, a time constant [s], or a `Baumgarte` pair.
    name, id
        As for `ContactConstraint`.

    Raises
    ------
    ConstraintError
        One body twice, a length or time constant that is not > 0, an entry that is not finite.
    """

    length: float
    baumgarte: Baumgarte | None
    name: str | None
    id: int | None

    def __init__(
        self,
        body_a: str,
        point_a: ArrayLike,
        body_b: str,
        point_b: ArrayLike,
        length: float,
        baumgarte: float | Baumgarte | None = None,
        *,
        name: str | None = None,
        id: int | None = None,
    ) -> None:
        check_body("body_a", body_a)
        check_body("body_b", body_b)
        check_label(name, id)
        span = finite_number(length, "length", ConstraintError)
        if span <= 0.0:
            raise ConstraintError(
                "length", f"must be > 0, got {span:g}; three LoopConstraint rows hold points together"
            )
        values = (body_a, point_a, body_b, point_b, span, baumgarte_of(baumgarte), name, id)
        for field, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, field, value)
        self.check_points(ConstraintError)

    @property
    def zero(self) -> float:
        """The length."""
        return self.length

"""Rows of contacts, of closed loops and along the line between two points, with their stabilisation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial.arrays import FieldError, FloatArray, finite_array, finite_number, set_fields
from contactlab.multibody.spatial.transform import Transform


class ConstraintError(FieldError):
    """A constraint that cannot be built, a group that does not exist, or an argument that does not match the set."""


@dataclass(frozen=True)
class Baumgarte:
    """Stabilisation after Baumgarte (1972), which adds -2 alpha phid - beta^2 phi to gamma.

    The error then satisfies phi'' + 2 alpha phi' + beta^2 phi = 0. With alpha = beta = 1 / T it is critically damped
    and decays within a few T. The default is RBDL's, T = 0.1 s.

    Parameters
    ----------
    alpha
        [1/s], >= 0, on the velocity error.
    beta
        [1/s], >= 0, on the position error: with 0 a drift is stopped but not removed. alpha and beta must not both be
        0.

    Examples
    --------
    >>> Baumgarte()
    Baumgarte(alpha=10.0, beta=10.0)
    >>> Baumgarte(10.0, 0.0).term([0.3], [0.01])
    array([-0.2])
    """

    alpha: float = 10.0
    beta: float = 10.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            value = finite_number(getattr(self, name), name, ConstraintError)
            if value < 0.0:
                raise ConstraintError(name, f"must be >= 0, got {value:g}")
            object.__setattr__(self, name, value)
        if self.alpha == self.beta == 0.0:
            raise ConstraintError("alpha", "is 0, and beta too: no stabilisation is baumgarte=None")

    @classmethod
    def from_time_constant(cls, T: float = 0.1) -> Baumgarte:
        """Return the pair alpha = beta = 1 / T for a time constant T > 0 [s]; RBDL's T_stab."""
        time = finite_number(T, "baumgarte", ConstraintError)
        if time <= 0.0:
            raise ConstraintError("baumgarte", f"the time constant must be > 0, got {time:g}; None switches it off")
        return cls(1.0 / time, 1.0 / time)

    def term(self, position_error: ArrayLike, velocity_error: ArrayLike) -> FloatArray:
        """Return -2 alpha velocity_error - beta^2 position_error, the term added to gamma, for errors (n,) of rows.

        This is RBDL's calcBaumgarteStabilizationForces; `baumgarte_term` also computes the errors of a set.
        """
        position = finite_array(position_error, "position_error", (None,), ConstraintError)
        velocity = finite_array(velocity_error, "velocity_error", position.shape, ConstraintError)
        return np.asarray(-(2.0 * self.alpha * velocity + self.beta**2 * position))


def baumgarte_of(value: float | Baumgarte | bool | None) -> Baumgarte | None:
    """Return the `Baumgarte` pair for a pair, a time constant T [s], or True (the default pair).

    None and False mean no stabilisation and give None.
    """
    if value is None or value is False:
        return None
    if isinstance(value, Baumgarte):
        return value
    return Baumgarte() if value is True else Baumgarte.from_time_constant(value)


# Largest deviation of the length of a normal from 1, sufficient for normals typed by hand.
UNIT = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class ContactConstraint:
    """The velocity of a body's point along a fixed direction of the world is constant.

    With the point's Jacobian J (3, nv): G = n^T J, gamma = acceleration - n^T (dJ/dt) v, velocity error n^T J v. The
    position error is 0, because there is no reference position. A positive force pushes the body along +n. The force
    can be negative, because the row is an equation.

    Parameters
    ----------
    body
        Name of a body, fixed ones included; "world" is refused, because it does not move.
    point
        (3,) [m] in body coordinates.
    normal
        (3,) unit vector, world axes. Three rows with independent directions fix the point completely.
    name
        Group of the row. Rows that share a name form a group, and so do contact rows of one point of one body.
    id
        Number by which the group can also be found. Rows of one point with different numbers are different groups.
    acceleration
        Wanted acceleration along the normal [m/s^2].

    Raises
    ------
    ConstraintError
        A normal whose length is not 1 (to 1e-6), the body "world", an entry that is not finite.
    """

    body: str
    point: FloatArray
    normal: FloatArray
    name: str | None
    id: int | None
    acceleration: float

    def __init__(
        self,
        body: str,
        point: ArrayLike,
        normal: ArrayLike,
        *,
        name: str | None = None,
        id: int | None = None,
        acceleration: float = 0.0,
    ) -> None:
        check_body("body", body)
        if body == WORLD:
            raise ConstraintError("body", "a contact needs a body that can move, got 'world'")
        check_label(name, id)
        direction = finite_array(normal, "normal", (3,), ConstraintError)
        length = float(np.linalg.norm(direction))
        if abs(length - 1.0) > UNIT:
            raise ConstraintError("normal", f"must be a unit vector, has length {length:.9g}")
        place = finite_array(point, "point", (3,), ConstraintError)
        wanted = finite_number(acceleration, "acceleration", ConstraintError)
        set_fields(self, body=body, point=place, normal=direction, name=name, id=id, acceleration=wanted)


def check_body(field: str, body: object) -> None:
    """Raise unless a body is named by a string; the constraint set checks that the model has it."""
    if not isinstance(body, str) or not body:
        raise ConstraintError(field, f"must be the name of a body, got {body!r}")


def check_label(name: object, id: object) -> None:
    """Raise unless a name is a non-empty string or None, and an id a number or None."""
    if name is not None and (not isinstance(name, str) or not name):
        raise ConstraintError("name", f"must be a non-empty string or None, got {name!r}")
    if id is not None and (isinstance(id, bool) or not isinstance(id, int | np.integer)):
        raise ConstraintError("id", f"must be an integer or None, got {id!r}")


@dataclass(frozen=True, eq=False, init=False)
class LoopConstraint:
    """Two frames on two bodies have no relative velocity along one axis.

    R_p is the orientation of the predecessor's frame in the world, and x_p, x_s are the origins of the frames. J_p, J_s
    (6, nv) are the point Jacobians there, u_p, u_s the velocities, and c_p, c_s the accelerations at zero joint
    accelerations (angular first). With A = (R_p w, R_p t) for the axis (w, t)::

        G              = A^T (J_s - J_p)
        gamma          = -A^T (c_s - c_p) - (omega_p x A)^T (u_s - u_p)
        position error = w . e + t . R_p^T (x_s - x_p),  e = sin(angle) times the axis of the turn R_p^T R_s
        velocity error = G v

    A positive force pushes (turns) the successor along +axis, and the predecessor in the opposite direction.

    Notes
    -----
    The rotation error is zero at 180 degrees too: frames in opposite directions are kept there.

    By default, the motion of each body is taken at the origin of its frame. If the origins coincide, as in hinges and
    ball joints, G v is the derivative of the translation errors. If the loop allows them to separate (a slider) and the
    predecessor turns, it is not. With ``sliding=True`` the predecessor's motion is taken at the successor's origin.
    Then translation rows are derivatives of their errors, and the forces on both bodies are along one line.

    The bodies of a loop may be fixed to each other (frames on one body, or on bodies fixed to the world). Its rows are
    then zero, except for translation rows of separate origins on a rotating body, if not ``sliding``.

    Parameters
    ----------
    predecessor, successor
        Names of bodies, fixed ones and "world" included.
    X_p, X_s
        Pose of the constraint frame in each body: R maps constraint-frame axes to body axes. Identity by default.
    axis
        (6,) direction in the predecessor's frame, rotation (w) first. Its length scales the row; not all zero.
    baumgarte
        None, a time constant [s], a `Baumgarte` pair, or True for the default pair (0.1 s).
    name, id
        As for `ContactConstraint`.
    sliding
        Whether translation is measured at the successor's origin on both bodies.

    Raises
    ------
    ConstraintError
        A zero axis, a time constant that is not > 0, an entry that is not finite.
    """

    predecessor: str
    successor: str
    X_p: Transform
    X_s: Transform
    axis: FloatArray
    baumgarte: Baumgarte | None
    name: str | None
    id: int | None
    sliding: bool

    def __init__(
        self,
        predecessor: str,
        successor: str,
        X_p: Transform | None = None,
        X_s: Transform | None = None,
        axis: ArrayLike | None = None,
        baumgarte: float | Baumgarte | bool | None = None,
        *,
        name: str | None = None,
        id: int | None = None,
        sliding: bool = False,
    ) -> None:
        check_body("predecessor", predecessor)
        check_body("successor", successor)
        for field, pose in (("X_p", X_p), ("X_s", X_s)):
            if pose is not None and not isinstance(pose, Transform):
                raise ConstraintError(field, f"must be a Transform, got {pose!r}")
        if axis is None:
            raise ConstraintError("axis", "is needed: six numbers, rotation first")
        direction = finite_array(axis, "axis", (6,), ConstraintError)
        if not np.any(direction):
            raise ConstraintError("axis", "has no direction: all six entries are zero")
        check_label(name, id)
        own, other = (Transform() if X is None else X for X in (X_p, X_s))
        set_fields(self, predecessor=predecessor, successor=successor, X_p=own, X_s=other, axis=direction)
        set_fields(self, baumgarte=baumgarte_of(baumgarte), name=name, id=id, sliding=bool(sliding))


@dataclass(frozen=True, eq=False)
class PointPair(ABC):
    """Two points of two bodies with one row along the line between them."""

    body_a: str
    point_a: FloatArray
    body_b: str
    point_b: FloatArray

    @property
    @abstractmethod
    def zero(self) -> float:
        """Distance of the points [m] with position error zero."""

    def check_points(self, error: type[FieldError]) -> None:
        """Store the points as read-only arrays; raise ``error`` unless they are points of two bodies."""
        points = {field: finite_array(getattr(self, field), field, (3,), error) for field in ("point_a", "point_b")}
        set_fields(self, **points)
        if self.body_a == self.body_b:
            raise error("body_b", f"is body_a too, {self.body_a!r}: the line joins two bodies")


@dataclass(frozen=True, eq=False, init=False)
class DistanceConstraint(PointPair):
    """A rod without mass: two points of two bodies keep their distance.

    The points are x_a, x_b, with Jacobians J_a, J_b (3, nv), relative velocity u and relative acceleration c at zero
    joint accelerations (b less a). With the distance d and n = (x_b - x_a) / d::

        G              = n^T (J_b - J_a)
        gamma          = -n^T c - |u - (n . u) n|^2 / d
        position error = d - length
        velocity error = G v

    A positive force pushes the points apart. Points that coincide have no line, and their row is zero.

    Parameters
    ----------
    body_a, point_a
        Name of a body, fixed ones and "world" included, and a point (3,) [m] in its coordinates.
    body_b, point_b
        Another body, and its point.
    length
        [m], > 0; for distance zero use three rows of a `LoopConstraint`.
    baumgarte
        None, a time constant [s], a `Baumgarte` pair, or True for the default pair (0.1 s).
    name, id
        As for `ContactConstraint`.

    Raises
    ------
    ConstraintError
        The bodies are equal, a length or time constant is not > 0, or an entry is not finite.
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
        baumgarte: float | Baumgarte | bool | None = None,
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
        set_fields(self, body_a=body_a, point_a=point_a, body_b=body_b, point_b=point_b, length=span)
        set_fields(self, baumgarte=baumgarte_of(baumgarte), name=name, id=id)
        self.check_points(ConstraintError)

    @property
    def zero(self) -> float:
        """Length of the rod."""
        return self.length

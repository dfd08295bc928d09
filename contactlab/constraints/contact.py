"""One row of a contact: a point of a body that does not move along a direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.errors import ConstraintError
from contactlab.multibody.model import WORLD
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only

# How far the length of a normal may be from 1: normals typed by hand pass.
UNIT = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class ContactConstraint:
    """A body's point neither gains nor loses speed along a fixed direction of the world.

    With the point's Jacobian J (3, nv): G = n^T J, gamma = acceleration - n^T (dJ/dt) v, position error 0 (there is no
    ground to measure from), velocity error n^T J v. The force is positive where it pushes the body along +n; it may be
    negative, for the row holds both ways.

    Parameters
    ----------
    body
        Name of a body, fixed ones included; "world" does not move and is refused.
    point
        (3,) [m] in body coordinates.
    normal
        (3,) unit vector, world axes. Three rows with three directions hold the point altogether.
    name
        Group of the row: rows that share a name belong together. Without one the row is a group of its own.
    id
        Number by which the group can also be looked up.
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
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "point", read_only(finite_array(point, "point", (3,), ConstraintError)))
        object.__setattr__(self, "normal", read_only(direction))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "acceleration", finite_number(acceleration, "acceleration", ConstraintError))


def check_body(field: str, body: object) -> None:
    """A body is named by a string; whether the model has it, the set finds out."""
    if not isinstance(body, str) or not body:
        raise ConstraintError(field, f"must be the name of a body, got {body!r}")


def check_label(name: object, id: object) -> None:
    """A name is a non-empty string or None, an id a number or None."""
    if name is not None and (not isinstance(name, str) or not name):
        raise ConstraintError("name", f"must be a non-empty string or None, got {name!r}")
    if id is not None and (isinstance(id, bool) or not isinstance(id, int | np.integer)):
        raise ConstraintError("id", f"must be an integer or None, got {id!r}")

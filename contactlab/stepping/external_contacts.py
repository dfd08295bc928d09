"""External contacts: the caller's description, and the rows that the compiled step reads."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.contact import ContactError, Material, PowerLaw
from contactlab.contact.material import unit_vector
from contactlab.multibody.model import WORLD
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only
from contactlab.stepping.kernels import layout
from contactlab.world.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.world.world import World

#: Contacts of a step: a function of (time, q, v), called once per step.
Contacts = Callable[[float, FloatArray, FloatArray], Iterable["ExternalContact"]] | None

#: The same as rows of `layout`, CONTACT_INTS and CONTACT_FLOATS, in ascending order of id.
Supply = Callable[[float, FloatArray, FloatArray], tuple[NDArray[np.int64], FloatArray]]

EXTERNAL_ID = layout.EXTERNAL_ID
LARGEST_ID = EXTERNAL_ID - 1


@dataclass(frozen=True, eq=False, init=False)
class ExternalContact:
    """A contact that the caller found, between two bodies or between a body and the world.

    Parameters
    ----------
    body_a, body_b
        Names of the bodies; "world" for the world itself.
    point
        (3,) [m], world axes.
    normal
        (3,) world axes, from A into B, of any nonzero length; it is normalised.
    gap
        Distance along the normal [m], negative in an overlap.
    material
        Friction and restitution of the pair, used without combination; a number is only the coefficient of friction.
        The contact is rigid: a material with a stiffness or a law of restitution raises an error.
    id
        Number of the contact for the warm start, the same in every step: 0 to 2^62 - 1, unique in a step. None: its
        index in the sequence.

    Raises
    ------
    SimulationConfigError
        A field is invalid; the error names the field and the value.
    """

    body_a: str
    body_b: str
    point: FloatArray
    normal: FloatArray
    gap: float
    material: Material
    id: int | None

    def __init__(
        self,
        body_a: str,
        body_b: str,
        point: ArrayLike,
        normal: ArrayLike,
        gap: float,
        material: Material | float,
        *,
        id: int | None = None,
    ) -> None:
        for field, name in (("body_a", body_a), ("body_b", body_b)):
            if not isinstance(name, str):
                raise SimulationConfigError(field, f"must be the name of a body or {WORLD!r}, got {name!r}")
        try:
            direction = unit_vector(normal, "normal")
            own = material if isinstance(material, Material) else Material(material)
        except ContactError as error:
            raise SimulationConfigError(error.field, error.detail) from error
        if not math.isinf(own.stiffness):
            raise SimulationConfigError("material", f"must be rigid, got a stiffness of {own.stiffness} N/m")
        if own.torsional > 0.0 or own.rolling > 0.0:
            raise SimulationConfigError("material", "must be without torsional and rolling friction")
        if isinstance(own.restitution, PowerLaw):
            detail = f"must have a number for its restitution, that of its speed, got {own.restitution}"
            raise SimulationConfigError("material", detail)
        self.__dict__.update(
            body_a=body_a,
            body_b=body_b,
            point=read_only(finite_array(point, "point", (3,), SimulationConfigError)),
            normal=read_only(direction),
            gap=finite_number(gap, "gap", SimulationConfigError),
            material=own,
            id=None if id is None else _checked_id(id),
        )


def _checked_id(value: int) -> int:
    """Return a contact's id as an int; raise `SimulationConfigError` unless it is a whole number in 0 .. LARGEST_ID."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise SimulationConfigError("id", f"must be a whole number, got {value!r}") from error
    if not 0 <= number <= LARGEST_ID:
        raise SimulationConfigError("id", f"must lie between 0 and {LARGEST_ID}, got {number}")
    return number


def contact_supplier(world: World, contacts: Contacts) -> Supply | None:
    """Return a function that gives checked rows of the user's contacts, or None if ``contacts`` is None."""
    if contacts is None:
        return None
    if not callable(contacts):
        detail = f"must be a function of (time, q, v), got {type(contacts).__name__}"
        raise SimulationConfigError("contacts", detail)
    numbers = {WORLD: -1, **{name: i for i, name in enumerate(world.model.names)}}
    # Bodies fixed to the world do not move either.
    moves = {name: number >= 0 and world.body_trees[number] >= 0 for name, number in numbers.items()}

    def supply(time: float, q: FloatArray, v: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        found: dict[int, ExternalContact] = {}
        for place, contact in enumerate(contacts(time, q, v)):
            field = f"contacts at time {time:.9g}"
            if not isinstance(contact, ExternalContact):
                detail = f"entry [{place}] must be an ExternalContact, got {type(contact).__name__}"
                raise SimulationConfigError(field, detail)
            for name in (contact.body_a, contact.body_b):
                if name not in numbers:
                    raise SimulationConfigError(field, f"entry [{place}]: no body is called {name!r}")
            pair = f"{contact.body_a!r} and {contact.body_b!r}"
            if contact.body_a == contact.body_b or not (moves[contact.body_a] or moves[contact.body_b]):
                raise SimulationConfigError(field, f"entry [{place}]: {pair} cannot move against each other")
            number = place if contact.id is None else contact.id
            if number in found:
                raise SimulationConfigError(field, f"entry [{place}]: the id {number} is there twice")
            found[number] = contact
        ints = np.full((len(found), layout.CONTACT_INTS), -1, dtype=np.int64)
        floats = np.zeros((len(found), layout.CONTACT_FLOATS))
        for row, number in enumerate(sorted(found)):
            contact = found[number]
            # The loop requires that B moves.
            turned = not moves[contact.body_b]
            a, b = (contact.body_b, contact.body_a) if turned else (contact.body_a, contact.body_b)
            ints[row, [layout.BODY_A, layout.BODY_B]] = numbers[a], numbers[b]
            ints[row, layout.CONTACT_ID] = EXTERNAL_ID + number
            floats[row, layout.POINT : layout.POINT + 3] = contact.point
            floats[row, layout.NORMAL : layout.NORMAL + 3] = 0.0 - contact.normal if turned else contact.normal
            law: Any = contact.gap, contact.material.mu, contact.material.restitution
            floats[row, [layout.GAP, layout.MU, layout.RESTITUTION]] = law
        return ints, floats

    return supply

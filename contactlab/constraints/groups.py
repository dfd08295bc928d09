"""Rows that belong together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from contactlab.constraints.baumgarte import Baumgarte, baumgarte_of
from contactlab.constraints.contact import ContactConstraint
from contactlab.constraints.distance import PointPair
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.loop import LoopConstraint
from contactlab.spatial.arrays import IntArray
from contactlab.spatial.errors import close_names

Kind: TypeAlias = Literal["contact", "loop", "distance", "custom"]


@dataclass(frozen=True, eq=False)
class ConstraintGroup:
    """Rows of one name.

    Attributes
    ----------
    name
        Given, or made of the kind and the first row where none was.
    rows
        Indices of its rows in the set, ascending; ``forces[group.rows]`` are its forces.
    kind
        "contact", "loop", "distance" or "custom".
    id
        The first number given to one of its rows, or None.
    baumgarte
        How drift off its rows is pulled back, or None.
    """

    name: str
    rows: IntArray
    kind: Kind
    id: int | None
    baumgarte: Baumgarte | None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def slice(self) -> slice | IntArray:
        """The rows as a slice where they stand together, else ``rows``."""
        first, last = int(self.rows[0]), int(self.rows[-1])
        return slice(first, last + 1) if last - first + 1 == len(self) else self.rows


def kind_of(constraint: object) -> Kind:
    """Contact, loop, distance, or else custom."""
    if isinstance(constraint, ContactConstraint):
        return "contact"
    if isinstance(constraint, PointPair):
        return "distance"
    return "loop" if isinstance(constraint, LoopConstraint) else "custom"


def grouped(
    constraints: Sequence[Any], places: Sequence[slice]
) -> tuple[tuple[ConstraintGroup, ...], dict[Hashable, int]]:
    """The groups in the order of their first rows, and which of them each name and number stands for."""
    members: dict[str, list[int]] = {}
    taken = {c.name for c in constraints if getattr(c, "name", None) is not None}
    for number, (constraint, place) in enumerate(zip(constraints, places, strict=True)):
        name = getattr(constraint, "name", None)
        if name is None:
            name = f"{kind_of(constraint)}{place.start}"
            while name in taken:
                name = f"{name}_"
            taken.add(name)
        members.setdefault(name, []).append(number)
    groups: list[ConstraintGroup] = []
    keys: dict[Hashable, int] = {}
    for index, (name, numbers) in enumerate(members.items()):
        members_of = [constraints[number] for number in numbers]
        kinds = {kind_of(constraint): number for constraint, number in zip(members_of, numbers, strict=True)}
        if len(kinds) > 1:
            raise ConstraintError("name", f"rows of the group {name!r} must be of one kind, they are {sorted(kinds)}")
        pull = {baumgarte_of(getattr(constraint, "baumgarte", None)) for constraint in members_of}
        if len(pull) > 1:
            raise ConstraintError("baumgarte", f"must be the same for all rows of the group {name!r}")
        ids = [constraint.id for constraint in members_of if getattr(constraint, "id", None) is not None]
        for id in ids:
            if keys.setdefault(int(id), index) != index:
                raise ConstraintError("id", f"{id} stands for both {groups[keys[int(id)]].name!r} and {name!r}")
        keys[name] = index
        rows = np.concatenate(
            [np.arange(places[number].start, places[number].stop, dtype=np.int64) for number in numbers]
        )
        rows.flags.writeable = False
        groups.append(ConstraintGroup(name, rows, next(iter(kinds)), int(ids[0]) if ids else None, pull.pop()))
    return tuple(groups), keys


def find_group(keys: dict[Hashable, int], key: object) -> int:
    """Place of the group that a name or number stands for; an unknown one raises, with the close ones."""
    place = keys.get(key) if isinstance(key, str | int | np.integer) and not isinstance(key, bool) else None
    if place is not None:
        return place
    names = [known for known in keys if isinstance(known, str)]
    raise ConstraintError("group", f"no group is called {key!r}{close_names(key, names)}")

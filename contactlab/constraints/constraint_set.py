"""Constraints of one model, put together once and never changed; those that share a name are a group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from contactlab.constraints.custom import CustomConstraint, CustomRows, read_custom
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.packing import PackedConstraints, pack_rows
from contactlab.constraints.rows import (
    Baumgarte,
    ContactConstraint,
    DistanceConstraint,
    LoopConstraint,
    PointPair,
    baumgarte_of,
)
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, IntArray
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


#: What a set is made of; objects that only behave like a `CustomConstraint` are taken too.
AnyConstraint: TypeAlias = ContactConstraint | LoopConstraint | DistanceConstraint | CustomConstraint


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ConstraintSet:
    """Rows G a = gamma for one model: a description without workspace, shared and kept without care.

    Rows stand in the order of the constraints, those of a custom one together. Rows that share a name are a group, in
    whatever order they stand; what belongs to a point or a pair of frames is computed once for all of its rows.

    Parameters
    ----------
    model
        The model.
    constraints
        `ContactConstraint`, `LoopConstraint`, `DistanceConstraint` and `CustomConstraint` values; none is allowed.

    Attributes
    ----------
    model
        The model.
    constraints
        The constraints, in their order.
    n_rows
        Number of rows (nc); ``len(cs)`` too.
    groups
        `ConstraintGroup` values in the order of their first rows.
    labels
        What each row is called: its group, and its number therein where there are several.
    packed
        What the kernels take.

    Raises
    ------
    ConstraintError
        An unknown body (close names are suggested), rows of different kinds or with different stabilisation under one
        name, a number that stands for two groups, an object that is no constraint.

    Examples
    --------
    >>> foot = [ContactConstraint("foot", (0, 0, 0), n, name="foot") for n in np.eye(3)]
    >>> cs = ConstraintSet(model, foot)
    >>> motion = forward_dynamics_constraints(model, q, v, tau, cs)
    >>> motion.forces[cs.rows("foot")]
    """

    model: Model
    constraints: tuple[Any, ...]
    n_rows: int
    groups: tuple[ConstraintGroup, ...]
    labels: tuple[str, ...]
    packed: PackedConstraints = field(repr=False)
    _keys: dict[Hashable, int] = field(repr=False)
    _places: tuple[slice, ...] = field(repr=False)
    # For the usual calls, in one look-up: the model (None where there is something of the user's own), its buffers with
    # the set's behind, nv, number of rows, and the length of unit forces' workspace as in `packed`.
    _quick: tuple[Model | None, IntArray, FloatArray, int, int, int] = field(repr=False)

    def __init__(self, model: Model, constraints: Iterable[AnyConstraint | Any]) -> None:
        if not isinstance(model, Model):
            raise ConstraintError("model", f"must be a Model, got {type(model).__name__}")
        if not isinstance(constraints, Iterable):
            raise ConstraintError("constraints", f"must be several, in a list, got {type(constraints).__name__}")
        listed = tuple(constraints)
        custom: list[CustomRows] = []
        places: list[slice] = []
        start = 0
        for number, constraint in enumerate(listed):
            if isinstance(constraint, ContactConstraint | LoopConstraint | PointPair):
                places.append(slice(start, start + 1))
            else:
                custom.append(read_custom(constraint, number, start))
                places.append(custom[-1].rows)
            start = places[-1].stop
        groups, keys = grouped(listed, places)
        self._fill(model, listed, tuple(places), tuple(custom), groups, keys)

    def _fill(
        self,
        model: Model,
        constraints: tuple[Any, ...],
        places: tuple[slice, ...],
        custom: tuple[CustomRows, ...],
        groups: tuple[ConstraintGroup, ...],
        keys: dict[Hashable, int],
    ) -> None:
        n = places[-1].stop if places else 0
        labels = [""] * n
        pull: list[Baumgarte | None] = [None] * n
        for group in groups:
            for number, row in enumerate(group.rows):
                labels[row] = group.name if len(group) == 1 else f"{group.name}[{number}]"
                pull[row] = group.baumgarte
        packed = pack_rows(model, constraints, places, custom, pull)
        owner = None if custom or model.packed.custom else model
        quick = (owner, packed.model_ints, packed.model_floats, model.nv, n, packed.work)
        values = (model, constraints, n, groups, tuple(labels), packed, keys, places, quick)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        kinds = ", ".join(f"{group.name}: {len(group)} {group.kind}" for group in self.groups)
        return f"ConstraintSet({self.n_rows} rows{'; ' if kinds else ''}{kinds})"

    def group(self, key: str | int) -> ConstraintGroup:
        """The group of a name or of a row's id; an unknown one raises, with the close ones."""
        return self.groups[find_group(self._keys, key)]

    def rows(self, key: str | int) -> slice | IntArray:
        """Rows of a group: a slice where they stand together, else their indices; either picks from any (nc,) array."""
        return self.group(key).slice

    @property
    def accelerations(self) -> FloatArray:
        """(nc,) wanted accelerations of the rows [m/s^2]: what the contacts were given, zero elsewhere."""
        wanted = np.zeros(self.n_rows)
        for constraint, place in zip(self.constraints, self._places, strict=True):
            if isinstance(constraint, ContactConstraint):
                wanted[place] = constraint.acceleration
        return wanted

    def with_baumgarte(self, group: str | int, value: float | Baumgarte | None) -> ConstraintSet:
        """Copy of the set with another stabilisation of one group: None, a time constant [s] or a `Baumgarte` pair.

        A contact's position error is zero, so that only the velocity term acts there.
        """
        index = find_group(self._keys, group)
        groups = list(self.groups)
        groups[index] = replace(groups[index], baumgarte=baumgarte_of(value))
        other = object.__new__(ConstraintSet)
        other._fill(self.model, self.constraints, self._places, self.packed.custom, tuple(groups), self._keys)
        return other

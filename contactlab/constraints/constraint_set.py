"""Constraints of one model, put together once and never changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from contactlab.constraints.baumgarte import Baumgarte, baumgarte_of
from contactlab.constraints.contact import ContactConstraint
from contactlab.constraints.custom import CustomConstraint
from contactlab.constraints.custom_values import CustomRows, read_custom
from contactlab.constraints.distance import DistanceConstraint, PointPair
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.groups import ConstraintGroup, find_group, grouped
from contactlab.constraints.loop import LoopConstraint
from contactlab.constraints.packing import PackedConstraints, pack_rows
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, IntArray

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

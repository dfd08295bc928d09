"""Constraint sets of one model, which never change: their groups, and their buffers for the kernels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from contactlab.multibody.constraints.custom import CustomConstraint, CustomRows, read_custom
from contactlab.multibody.constraints.kernels import motion_size
from contactlab.multibody.constraints.rows import (
    Baumgarte,
    ConstraintError,
    ContactConstraint,
    DistanceConstraint,
    LoopConstraint,
    PointPair,
    baumgarte_of,
)
from contactlab.multibody.model import Model, body_frames, structure
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, MultibodyError, close_names, read_only

# Head and codes of `contactlab.multibody.constraints.kernels.layout`, which is not imported here because it imports the
# compiler.
_CONTACT, _LOOP, _SLIDING_LOOP, _DISTANCE = 0, 1, 2, 3
_ALPHA, _BETA = 7, 8


@dataclass(frozen=True, eq=False)
class PackedConstraints:
    """Buffers of a set; see `contactlab.multibody.constraints.kernels.layout`. Not to be modified."""

    #: model_ints, model_floats: The model's buffers, followed by blocks and rows.
    model_ints: IntArray
    model_floats: FloatArray
    n: int  # number of rows
    baumgarte: FloatArray  # (n, 2) alpha and beta of each row [1/s], zero without stabilisation
    custom: tuple[CustomRows, ...]  # the custom constraints with their rows


def pack_rows(
    model: Model,
    constraints: Sequence[Any],
    places: Sequence[slice],
    custom: Sequence[CustomRows],
    baumgarte: Sequence[Baumgarte | None],
) -> PackedConstraints:
    """Return the buffers of ``constraints``, with rows at ``places`` and stabilisation ``baumgarte`` (one per row)."""
    n = len(baumgarte)
    row = np.zeros((n, 9))
    for i, pull in enumerate(baumgarte):
        if pull is not None:
            row[i, _ALPHA], row[i, _BETA] = pull.alpha, pull.beta
    blocks: dict[tuple[int, int, int, bytes], tuple[FloatArray, list[int]]] = {}
    for number, (constraint, place) in enumerate(zip(constraints, places, strict=True)):
        i = place.start
        # Kind, numbers of the row, and the frames of the predecessor, if any, and the successor.
        if isinstance(constraint, ContactConstraint):
            kind, row[i, 3:6], row[i, 6] = _CONTACT, constraint.normal, constraint.acceleration
            # Its axes are not used: points with equal places are equal.
            ends = [("body", np.zeros((3, 3)), constraint.point)]
        elif isinstance(constraint, LoopConstraint):
            kind, row[i, :6] = _SLIDING_LOOP if constraint.sliding else _LOOP, constraint.axis
            X_p, X_s = constraint.X_p, constraint.X_s
            ends = [("predecessor", X_p.R, X_p.p), ("successor", X_s.R, X_s.p)]
        elif isinstance(constraint, PointPair):
            kind, row[i, 0] = _DISTANCE, constraint.zero
            ends = [("body_a", np.eye(3), constraint.point_a), ("body_b", np.eye(3), constraint.point_b)]
        else:
            continue
        placed = [_in_link(model, number, field, getattr(constraint, field), R, p) for field, R, p in ends]
        (p, frame_p), (s, frame_s) = [(-1, np.zeros(12)), *placed][-2:]
        both = np.concatenate([frame_s, frame_p])
        blocks.setdefault((kind, s, p, both.tobytes()), (both, []))[1].append(i)
    ints: list[int] = [n, len(blocks), sum(len(rows) for _, rows in blocks.values())]
    order: list[int] = []
    for (kind, s, p, _), (_, rows) in blocks.items():
        ints += [kind, s, p, len(order), len(rows)]
        order += rows
    return PackedConstraints(
        np.concatenate([model.packed.ints, np.array(ints + order, dtype=np.int64)]),
        np.concatenate([model.packed.floats, *(both for both, _ in blocks.values()), row.ravel()]),
        n,
        read_only(row[:, _ALPHA : _BETA + 1]),
        tuple(custom),
    )


def _in_link(model: Model, number: int, field: str, body: str, R: FloatArray, p: FloatArray) -> tuple[int, FloatArray]:
    """Return the link a body is fixed to (-1: none), and the pose (12,) in it of a frame given in the body."""
    try:
        index = model.index_or_world(body)
    except MultibodyError as error:
        raise ConstraintError(f"constraints[{number}].{field}", error.detail) from None
    if index < 0:
        return -1, np.concatenate([R.ravel(), p])
    own_R, own_p = (part[index] for part in body_frames(model))
    return int(structure(model).body_link[index]), np.concatenate([(own_R @ R).ravel(), own_R @ p + own_p])


Kind: TypeAlias = Literal["contact", "loop", "distance", "custom"]


@dataclass(frozen=True, eq=False)
class ConstraintGroup:
    """Rows that share a name, or contact rows of one point of one body.

    Attributes
    ----------
    name
        The first name given to its rows; without one, a name made of the kind and the first row.
    rows
        Indices of its rows in the set, ascending; ``forces[group.rows]`` are its forces.
    kind
        "contact", "loop", "distance" or "custom".
    id
        The first ``id`` given to one of its rows, or None.
    baumgarte
        Stabilisation of its rows, or None.
    coefficients
        Its last `Baumgarte` pair, kept while stabilisation is off; RBDL's default if none was given.
    names
        All names of its rows. Each of them finds the group; the first is ``name``.
    """

    name: str
    rows: IntArray
    kind: Kind
    id: int | None
    baumgarte: Baumgarte | None
    coefficients: Baumgarte
    names: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def assigned_id(self) -> int:
        """Number of its first row, RBDL's assigned id; `ConstraintSet.group_of_row` finds the group by it."""
        return int(self.rows[0])

    @property
    def slice(self) -> slice | IntArray:
        """Rows as a slice if they are consecutive, else ``rows``."""
        first, last = int(self.rows[0]), int(self.rows[-1])
        return slice(first, last + 1) if last - first + 1 == len(self) else self.rows


def kind_of(constraint: object) -> Kind:
    """Return the kind: contact, loop, distance, or otherwise custom."""
    if isinstance(constraint, ContactConstraint):
        return "contact"
    if isinstance(constraint, PointPair):
        return "distance"
    return "loop" if isinstance(constraint, LoopConstraint) else "custom"


def grouped(
    constraints: Sequence[Any], places: Sequence[slice]
) -> tuple[tuple[ConstraintGroup, ...], dict[Hashable, int]]:
    """Return the groups in the order of their first rows, and the group of each name and number."""
    taken = {c.name for c in constraints if getattr(c, "name", None) is not None}
    groups: list[ConstraintGroup] = []
    keys: dict[Hashable, int] = {}
    for index, numbers in enumerate(_members(constraints)):
        members_of = [constraints[number] for number in numbers]
        names = tuple(dict.fromkeys(c.name for c in members_of if getattr(c, "name", None) is not None))
        if not names:
            name = f"{kind_of(members_of[0])}{places[numbers[0]].start}"
            while name in taken:
                name = f"{name}_"
            taken.add(name)
            names = (name,)
        kinds = sorted({kind_of(constraint) for constraint in members_of})
        if len(kinds) > 1:
            raise ConstraintError("name", f"rows of the group {names[0]!r} must be of one kind, they are {kinds}")
        pull = {baumgarte_of(getattr(constraint, "baumgarte", None)) for constraint in members_of}
        if len(pull) > 1:
            raise ConstraintError("baumgarte", f"must be the same for all rows of the group {names[0]!r}")
        ids = [constraint.id for constraint in members_of if getattr(constraint, "id", None) is not None]
        for id in ids:
            if keys.setdefault(int(id), index) != index:
                raise ConstraintError("id", f"{id} stands for both {groups[keys[int(id)]].name!r} and {names[0]!r}")
        keys |= dict.fromkeys(names, index)
        rows = np.concatenate(
            [np.arange(places[number].start, places[number].stop, dtype=np.int64) for number in numbers]
        )
        rows.flags.writeable = False
        (held,) = pull
        coefficients = Baumgarte() if held is None else held
        groups.append(
            ConstraintGroup(names[0], rows, kinds[0], int(ids[0]) if ids else None, held, coefficients, names)
        )
    return tuple(groups), keys


def _members(constraints: Sequence[Any]) -> list[list[int]]:
    """Return the constraints of each group, by number: linked by a name, or as contacts by body, point and id."""
    groups: list[tuple[set[Hashable], list[int]]] = []
    for number, constraint in enumerate(constraints):
        links: set[Hashable] = {("row", number)}
        if getattr(constraint, "name", None) is not None:
            links.add(constraint.name)
        if isinstance(constraint, ContactConstraint):
            links.add((constraint.body, *constraint.point.tolist(), constraint.id))
        # A row can link two groups, one by its name and one by its point.
        linked = [group for group in groups if links & group[0]]
        groups = [group for group in groups if not links & group[0]]
        numbers = [number, *(other for _, others in linked for other in others)]
        groups.append((links.union(*(keys for keys, _ in linked)), sorted(numbers)))
    return sorted(numbers for _, numbers in groups)


def find_group(keys: dict[Hashable, int], key: object) -> int:
    """Return the index of the group of a name or id; an unknown one raises an error that suggests close names."""
    place = keys.get(key) if isinstance(key, str | int | np.integer) and not isinstance(key, bool) else None
    if place is not None:
        return place
    names = [known for known in keys if isinstance(known, str)]
    raise ConstraintError("group", f"no group is called {key!r}{close_names(key, names)}")


#: Constraints of a set; objects that only behave like a `CustomConstraint` are accepted too.
AnyConstraint: TypeAlias = ContactConstraint | LoopConstraint | DistanceConstraint | CustomConstraint


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ConstraintSet:
    """Rows G a = gamma for one model, without workspace; a set can be shared freely.

    Rows have the order of the constraints; rows of one custom constraint are consecutive. Rows that share a name are a
    group, in any order. Contact rows of one point of one body are a group too, under any names, and each of the names
    finds all of them. As in RBDL, rows with different ``id`` are separate. Terms of a point or a pair of frames are
    computed once for all of its rows.

    Parameters
    ----------
    model
        The model.
    constraints
        `ContactConstraint`, `LoopConstraint`, `DistanceConstraint` and `CustomConstraint` values; the sequence can be
        empty.

    Attributes
    ----------
    model
        The model.
    constraints
        The constraints, in their order.
    n_rows
        Number of rows (nc), also ``len(cs)``.
    groups
        `ConstraintGroup` values in the order of their first rows.
    labels
        Label of each row: the name of the row or its group, and its number in the group if the name is not unique;
        ``labels.index("tangent")`` is the row of that name.
    packed
        The buffers for the kernels.

    Raises
    ------
    ConstraintError
        A body is unknown (the text suggests close names); rows under one name differ in kind or stabilisation; two
        groups have the same id; or an object is not a constraint.

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
    # Arguments of the usual calls, together to save look-ups: the model (None if it or the set has custom parts), its
    # buffers followed by the set's, number of rows, and length of the workspace.
    _quick: tuple[Model | None, IntArray, FloatArray, int, int] = field(repr=False)

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
        """Set all fields of the set: labels of rows, packed rows, and the arrays for fast calls."""
        n = places[-1].stop if places else 0
        labels = [""] * n
        pull: list[Baumgarte | None] = [None] * n
        for group in groups:
            for row in group.rows:
                labels[row] = group.name
                pull[row] = group.baumgarte
        for constraint, place in zip(constraints, places, strict=True):
            if getattr(constraint, "name", None) is not None:
                labels[place] = [constraint.name] * (place.stop - place.start)
        for group in groups:
            called = [labels[row] for row in group.rows]
            for number, row in enumerate(group.rows):
                if called.count(called[number]) > 1:
                    labels[row] = f"{called[number]}[{number}]"
        packed = pack_rows(model, constraints, places, custom, pull)
        owner = None if custom or model.packed.custom else model
        quick = (owner, packed.model_ints, packed.model_floats, n, motion_size(model.packed.nl, model.nv, n))
        values = (model, constraints, n, groups, tuple(labels), packed, keys, places, quick)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        kinds = ", ".join(f"{group.name}: {len(group)} {group.kind}" for group in self.groups)
        return f"ConstraintSet({self.n_rows} rows{'; ' if kinds else ''}{kinds})"

    def group(self, key: str | int) -> ConstraintGroup:
        """Return the group of a name or of a row's id; an unknown one raises an error that suggests close names."""
        return self.groups[find_group(self._keys, key)]

    def group_of_row(self, row: int) -> ConstraintGroup:
        """Return the group of a row by its number in the set, which RBDL calls its assigned id."""
        whole = np.asarray(row)
        if whole.shape != () or whole.dtype.kind not in "iu" or not 0 <= row < self.n_rows:
            raise ConstraintError("row", f"must be a row of the set, 0 to {self.n_rows - 1}, got {row!r}")
        return next(group for group in self.groups if row in group.rows)

    def rows(self, key: str | int) -> slice | IntArray:
        """Return the rows of a group, a slice if they are consecutive, else an index array, to index (nc,) arrays."""
        return self.group(key).slice

    @property
    def accelerations(self) -> FloatArray:
        """Return the wanted accelerations (nc,) of the rows [m/s^2]: given values for contacts, zero for other rows."""
        wanted = np.zeros(self.n_rows)
        for constraint, place in zip(self.constraints, self._places, strict=True):
            if isinstance(constraint, ContactConstraint):
                wanted[place] = constraint.acceleration
        return wanted

    def with_baumgarte(self, group: str | int, value: float | Baumgarte | bool | None) -> ConstraintSet:
        """Return a copy of the set with another stabilisation of one group.

        Parameters
        ----------
        group
            Name or id of the group.
        value
            A time constant [s] or a `Baumgarte` pair; None or False switches stabilisation off, True switches it on
            with the ``coefficients`` that the group had last.

        Notes
        -----
        A contact's position error is zero, so only the velocity term has an effect on it.
        """
        index = find_group(self._keys, group)
        groups = list(self.groups)
        old = groups[index]
        pull = old.coefficients if value is True else baumgarte_of(value)
        groups[index] = replace(old, baumgarte=pull, coefficients=old.coefficients if pull is None else pull)
        other = object.__new__(ConstraintSet)
        other._fill(self.model, self.constraints, self._places, self.packed.custom, tuple(groups), self._keys)
        return other

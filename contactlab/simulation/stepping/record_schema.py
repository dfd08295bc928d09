"""The arrays of a record: their names, types and shapes, and the conversion of chunks and runs to them.

A record is a set of arrays that grow along their first axis, so pieces of one run are joined field by field. A piece
has any number of states and steps; the first has only the start (one state, no step). ``h`` has the size of each step.
``start_h`` is the size of the step that led to the start, on which an adaptive stepper's first step depends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody import workspace
from contactlab.multibody.kernels import CUSTOM_ROW, NOTHING, VELOCITIES
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import motion_poses
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.kernels.arrays import Arrays, Chunk, floats, ints
from contactlab.simulation.stepping.prepared import lcp_variables_per_contact, sleeping_tree_count, world_arrays
from contactlab.simulation.world.world import StepperState, World

SCHEMA = 11
#: Older schemas that can be read: their records lack the fields of `LATER`, which are read as 0.
READABLE = (5, 6, 7, 8, 9, 10, SCHEMA)
LATER = (
    "contact_moment",
    "contact_projection_multiplier_tangential",
    "contact_gap_correction",
    "joint_projection_multiplier",
    "island_choice",
    "island_attempt",
    "island_systems",
)
#: Names of arrays before schema 11, and their present names.
RENAMED = {
    "contact_push": "contact_projection_multiplier",
    "contact_push_tangential": "contact_projection_multiplier_tangential",
    "joint_push": "joint_projection_multiplier",
}

Rows = Mapping[str, NDArray[Any]]


class StepTable:
    """Base of the tables of a record: dataclasses of columns (n, ...), one of them ``step``."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Any]]
        step: NDArray[np.int64]

    def __len__(self) -> int:
        return self.step.size

    def rows(self, selection: slice | NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        """Return the table of the selected rows."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(self, **{name: one[selection] for name, one in values.items() if isinstance(one, np.ndarray)})


class Field(NamedTuple):
    """One array of a record."""

    axis: str  # the meaning of the first axis
    dtype: type
    tail: tuple[int | str, ...]  # further axes; names are lengths that depend on the world and the stepper


#: Columns of contacts, joints and islands: the loop writes them as records, a record has an array for each.
TABLES: dict[str, Arrays] = {
    "contact": {
        **dict.fromkeys(
            ("step", "island", "body_a", "body_b", "half_space", "id", "mode", "shape_a", "shape_b"), ints()
        ),
        "point": floats(3),
        "normal": floats(3),
        "gap": floats(),
        "mu": floats(),
        "impulse": floats(3),
        "impulse_normal": floats(),
        "impulse_tangential": floats(2),
        "slip": floats(),
        "restitution": floats(),
        "projection_multiplier": floats(),
        "projection_multiplier_tangential": floats(2),
        "gap_correction": floats(),
        "moment": floats(3),
    },
    "joint": {
        **dict.fromkeys(("step", "island", "row"), ints()),
        **dict.fromkeys(("error", "force", "rate", "projection_multiplier"), floats()),
        "z": floats(2),
    },
    "island": {
        **dict.fromkeys(("step", "index", "contacts", "joints", "pivots", "warm", "choice"), ints()),
        **dict.fromkeys(("attempt", "systems"), ints()),
        "measures": floats(layout.MEASURES),
        "certificate": floats(layout.CERTIFICATE),
    },
}
_ROW_TYPES: dict[str, np.dtype[np.void]] = {
    table: np.dtype((np.record, [(name, kind, tuple(axes)) for name, (kind, *axes) in columns.items()]))
    for table, columns in TABLES.items()
}


def _columns(table: str) -> dict[str, Field]:
    columns = TABLES[table].items()
    return {f"{table}_{name}": Field(f"{table}s", kind, tuple(tail)) for name, (kind, *tail) in columns}


FIELDS: dict[str, Field] = {
    "time": Field("states", np.float64, ()),
    "q": Field("states", np.float64, ("nq",)),
    "v": Field("states", np.float64, ("nv",)),
    "kinetic": Field("states", np.float64, ()),
    "potential": Field("states", np.float64, ()),
    "h": Field("steps", np.float64, ()),
    "motion_pose": Field("states", np.float64, ("motions", 12)),
    "motion_twist": Field("steps", np.float64, ("motions", 6)),
    "asleep": Field("steps", np.int64, ("sleepers",)),
    "rest": Field("states", np.float64, ("sleepers",)),
    "start_tau": Field("origins", np.float64, ("sleeping_nv",)),
    "tau": Field("taus", np.float64, ("nv",)),
    **_columns("contact"),
    "contact_z": Field("contacts", np.float64, ("w",)),
    **_columns("joint"),
    "drive_target": Field("steps", np.float64, ("drives",)),
    **_columns("island"),
    "start_h": Field("origins", np.float64, ()),
    "start_contact_ids": Field("start", np.int64, ()),
    "start_z": Field("start", np.float64, ("w",)),
    "start_row_ids": Field("start_rows", np.int64, ()),
    "start_row_z": Field("start_rows", np.float64, (2,)),
}

#: The table of each column.
TABLE_OF = {f"{table}_{name}": table for table, columns in TABLES.items() for name in columns}

# Timings of a run by portion: its last step (exclusive), and its seconds. They are stored next to the arrays above, not
# among them, because those are equal for every run of the same input.
TIMINGS: dict[str, Field] = {
    "timing_step": Field("timings", np.int64, ()),
    "timing_seconds": Field("timings", np.float64, ()),
}


def row_lengths(world: World, stepper: TimeStepping) -> dict[str, int]:
    """Return the lengths of a record's arrays that depend on the world and the stepper, by the names of `FIELDS`."""
    return {
        "nq": world.nq,
        "nv": world.nv,
        "w": lcp_variables_per_contact(stepper.edges_in(world), world.has_moment_friction),
        "drives": len(world.joint_actions.drives),
        "motions": len(world.motions),
        "sleepers": sleeping_tree_count(world, stepper),
        "sleeping_nv": 0 if stepper.sleep is None else world.nv,
    }


#: Contacts per step for which a chunk has capacity by default, and the maximum of its rows by this rule.
CONTACTS_PER_STEP, MAX_ROWS = 8, 1 << 16


def new_chunk(
    world: World, stepper: TimeStepping, steps: int, contacts: int, *, with_tau: bool, crowd: int = CONTACTS_PER_STEP
) -> Chunk:
    """Allocate a chunk for ``steps`` steps.

    It has contact rows for ``contacts`` contacts in each of at most 16 steps, or for min(``contacts``, ``crowd``) in
    each step if these are more, up to MAX_ROWS or CONTACTS_PER_STEP for each step. Any one step fits with all trees as
    islands and all joint rows; several steps with 8 islands and 48 joint rows each. ``with_tau``: whether it also has
    the applied forces. Rows of tables are uninitialised. A one-step chunk is in one buffer.
    """
    trees, joints = world.tree_starts.size - 1, len(world.joint_rows)
    of_contacts = max(
        min(steps, 16) * contacts, min(steps * min(contacts, crowd), max(MAX_ROWS, steps * CONTACTS_PER_STEP))
    )
    counts = {"steps": steps, "taus": steps if with_tau else 0, "contacts": of_contacts}
    arrays = Chunk.zeros(row_lengths(world, stepper) | counts)
    # Only written rows of a table are read.
    rows = of_contacts, max(joints, steps * min(joints, 48)), max(trees, steps * min(trees, 8))
    arrays |= {name: np.empty(n, dtype=_ROW_TYPES[name]) for name, n in zip(TABLES, rows, strict=True)}
    return Chunk(**arrays) if steps > 1 else _together(Chunk(**arrays))


def _together(chunk: Chunk) -> Chunk:
    """Return a chunk with all arrays in one buffer, so that a copy of all takes as long as a copy of one."""
    ends = np.cumsum([array.nbytes for array in chunk]).tolist()
    whole = np.zeros(ends[-1], dtype=np.uint8)
    return Chunk(
        *(
            whole[end - array.nbytes : end].view(array.dtype).reshape(array.shape)
            for array, end in zip(chunk, ends, strict=True)
        )
    )


def new_rows(table: str, *shape: int) -> NDArray[Any]:
    """Return records of a table ("contact", "joint", "island"), all zero."""
    return np.zeros(shape, dtype=_ROW_TYPES[table])


def columns_of(table: str, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Copy each field of a table's records into an array named ``<table>_<field>``."""
    return {f"{table}_{column}": np.array(rows[column], order="C") for column in TABLES[table]}


#: The row counts of a chunk.
USED = ("steps", "contacts", "islands", "joints")
# Row count of each array of a chunk.
_USED_BY = [USED.index(f"{table}s") if (table := name.partition("_")[0]) in TABLES else 0 for name in Chunk._fields]


def used_of_chunk(chunk: Chunk, used: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Return views of the used rows of a chunk; ``used``: number of rows for each of `USED`."""
    rows = zip(Chunk._fields, chunk, _USED_BY, strict=True)
    return {name: array[: used[axis]] for name, array, axis in rows}


def array_offsets(chunk: Chunk) -> dict[str, tuple[int, Any, tuple[int, ...], int]]:
    """Return for each array of a one-step chunk its offset, its type, its rows' shape, and its entry of `USED`."""
    begins = np.cumsum([0, *(array.nbytes for array in chunk)]).tolist()
    parts = zip(Chunk._fields, chunk, begins[:-1], _USED_BY, strict=True)
    return {name: (begin, array.dtype, array.shape[1:], axis) for name, array, begin, axis in parts}


class StepRows(Mapping[str, NDArray[Any]]):
    """The rows of a one-step chunk: copied together, and converted to arrays when they are read.

    ``places`` are its `array_offsets`, ``used`` the number of rows for each of `USED`.
    """

    def __init__(self, chunk: Chunk, places: Mapping[str, Any], used: Sequence[int]) -> None:
        whole = chunk.time.base
        assert whole is not None
        self._copy, self._places, self._used = whole.copy(), places, used

    def __getitem__(self, name: str) -> NDArray[Any]:
        start, kind, shape, axis = self._places[name]
        return np.ndarray((self._used[axis], *shape), kind, self._copy, start)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def rows_of_chunks(copies: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return the rows of consecutive chunks as named arrays."""
    rows: dict[str, NDArray[Any]] = {}
    for name in Chunk._fields:
        parts = [copy[name] for copy in copies]
        if name in TABLES:
            rows |= columns_of_parts(name, parts)
        else:
            rows[name] = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return rows


# Records per block; parts with fewer records, on average, are joined first.
AT_ONCE, FEW = 1024, 64


def columns_of_parts(table: str, parts: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Join records of a table and copy each field into an array named ``<table>_<field>``.

    Copies are made in blocks that fit the cache.
    """
    if sum(part.size for part in parts) < FEW * len(parts):
        # As bytes, because numpy takes 25 us for each array to compare the record types.
        parts = [np.concatenate([part.view(np.uint8) for part in parts]).view(_ROW_TYPES[table])]
    parts = [part[first : first + AT_ONCE] for part in parts for first in range(0, max(part.size, 1), AT_ONCE)]
    ends = np.cumsum([part.size for part in parts]).tolist()
    columns = {}
    for column in TABLES[table]:
        kind = _ROW_TYPES[table][column]
        columns[column] = np.empty((ends[-1], *kind.shape), dtype=kind.base)
    for part, end in zip(parts, ends, strict=True):
        for column, array in columns.items():
            array[end - part.size : end] = part[column]
    return {f"{table}_{column}": array for column, array in columns.items()}


def start_rows(world: World, state: StepperState, lengths: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """Return the first piece of a record: the start and its warm start."""
    from contactlab.multibody.kernels.kinematics import fill_frames
    from contactlab.simulation.stepping.kernels.free_motion import compute_energies

    packed, W, energy = world_arrays(world).packed, workspace(world.model), np.zeros(2)
    q, v = state.q.copy(), state.v.copy()
    fill_frames(packed.ints, packed.floats, q, v, np.zeros((0, CUSTOM_ROW)), NOTHING, VELOCITIES, W)
    compute_energies(packed, W, q, v, energy)
    ids = np.array(state.contact_ids)
    return {
        "time": np.array([state.time]),
        "q": np.array([state.q]),
        "v": np.array([state.v]),
        "kinetic": energy[:1].copy(),
        "potential": energy[1:].copy(),
        "motion_pose": motion_poses(world, state.time)[None],
        "start_h": np.array([state.h]),
        "start_contact_ids": ids,
        "start_z": np.array(state.z) if ids.size else np.zeros((0, lengths["w"])),
        "start_row_ids": np.array(state.row_ids),
        "start_row_z": np.array(state.row_z),
        "rest": _or_zeros(state.rest, lengths["sleepers"]),
        "start_tau": _or_zeros(state.tau, lengths["sleeping_nv"]),
    }


def _or_zeros(values: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Return one row of values, zeros if there are none."""
    return np.array([values]) if length and values.size else np.zeros((1, length))


def join_rows(
    pieces: Sequence[Rows], lengths: Mapping[str, int], wanted: Mapping[str, Field] = FIELDS
) -> dict[str, NDArray[Any]]:
    """Join the pieces of a record; a field in no piece is empty. ``lengths``: nq, nv, w, drives.

    Arrays of a single piece are not copied.
    """
    joined = {}
    for name, field in wanted.items():
        parts = [piece[name] for piece in pieces if name in piece]
        if len(parts) == 1:
            joined[name] = parts[0]
        elif parts:
            joined[name] = np.concatenate(parts)
        else:
            joined[name] = np.zeros((0, *field_tail(field, lengths)), dtype=field.dtype)
    return joined


def field_tail(field: Field, lengths: Mapping[str, int]) -> tuple[int, ...]:
    """Return the lengths of a field's axes after the first, with named ones taken from ``lengths``."""
    return tuple(length if isinstance(length, int) else lengths[length] for length in field.tail)


class RunRows(Mapping[str, NDArray[Any]]):
    """The arrays of `record_schema.FIELDS`, made when they are read, because most are never read.

    Parameters
    ----------
    pieces
        Pieces of one run, in order: rows by name, or tables as records (`used_of_chunk`). This object owns them, and
        drops them as their arrays are made.
    lengths
        See `record_schema.row_lengths`.
    """

    def __init__(self, pieces: Sequence[Rows], lengths: Mapping[str, int]) -> None:
        self._pieces = [dict(piece) for piece in pieces]
        self._lengths = dict(lengths)
        self._made: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._made:
            self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)

    def __or__(self, other: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return {**self, **other}

    def read_column(self, name: str) -> NDArray[Any]:
        """Return one column of a table without making the others."""
        table = TABLE_OF[name]
        parts = self._parts(table)
        if name in self._made or not parts:
            return self[name]
        return np.concatenate([part[name.removeprefix(f"{table}_")] for part in parts])

    def _parts(self, name: str) -> list[NDArray[Any]]:
        return [part for piece in self._pieces if (part := piece.get(name)) is not None]

    def _make(self, name: str) -> None:
        """Store the joined array of a name, or of all columns of its table, and drop the pieces it was made of."""
        held = TABLE_OF.get(name, name)
        parts = self._parts(held) if held != name else []
        own = {name: FIELDS[name]}
        made = columns_of_parts(held, parts) if parts else join_rows(self._pieces, self._lengths, own)
        for array in made.values():
            array.flags.writeable = False
        if name in self._made:
            # Another thread was faster, and may have dropped the pieces read here.
            return
        self._made |= made
        for piece in self._pieces:
            piece.pop(held if parts else name, None)


def read_column(rows: Rows, name: str) -> NDArray[Any]:
    """Return one column of a table of a record, without making the other columns."""
    return rows.read_column(name) if isinstance(rows, RunRows) else rows[name]

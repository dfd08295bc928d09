"""The arrays of a record: their names, types and shapes, and how a chunk is turned into them.

A record is a set of arrays that grow along their first axis, so two pieces of one run are joined field by field. A
piece may hold any number of states and steps; the first holds the start (one state, no step). ``h`` is the step used,
one per step; ``start_h`` the one that led to the start, on which an adaptive stepper's first step depends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody import workspace
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, VELOCITIES
from contactlab.stepping.kernels import joint_layout, layout
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kinematic import motion_poses
from contactlab.stepping.prepared import arrays_of
from contactlab.world.state import StepperState

if TYPE_CHECKING:
    from contactlab.world.world import World

__all__ = ["FIELDS", "SCHEMA", "TIMINGS", "Field", "Rows", "chunk_rows", "field_tail", "join_rows", "start_rows"]

SCHEMA = 5

Rows = Mapping[str, NDArray[Any]]


class Field(NamedTuple):
    """One array of a record."""

    axis: str  # what the first axis counts
    dtype: type
    tail: tuple[int | str, ...]  # further axes; names are lengths given by the world and the stepper


def _columns(axis: str, dtype: type, **tails: tuple[int | str, ...]) -> dict[str, Field]:
    return {f"{axis}_{name}": Field(f"{axis}s", dtype, tail) for name, tail in tails.items()}


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
    **_columns("contact", np.int64, step=(), island=(), body_a=(), body_b=(), half_space=(), id=(), mode=()),
    **_columns("contact", np.int64, shape_a=(), shape_b=()),
    **_columns("contact", np.float64, point=(3,), normal=(3,), gap=(), mu=(), impulse=(3,), impulse_normal=()),
    **_columns("contact", np.float64, impulse_tangential=(2,), slip=(), restitution=(), push=(), z=("w",)),
    **_columns("joint", np.int64, step=(), island=(), row=()),
    **_columns("joint", np.float64, error=(), force=(), rate=(), z=(2,)),
    "drive_target": Field("steps", np.float64, ("drives",)),
    **_columns("island", np.int64, step=(), index=(), contacts=(), joints=(), pivots=(), warm=()),
    **_columns("island", np.float64, measures=(layout.MEASURES,), certificate=(layout.CERTIFICATE,)),
    "start_h": Field("origins", np.float64, ()),
    "start_contact_ids": Field("start", np.int64, ()),
    "start_z": Field("start", np.float64, ("w",)),
    "start_row_ids": Field("start_rows", np.int64, ()),
    "start_row_z": Field("start_rows", np.float64, (2,)),
}

# How long the run took, portion by portion: the last step of each (exclusive), and its seconds. They stand beside the
# arrays above, never among them: those are the same for every run of the same input.
TIMINGS: dict[str, Field] = {
    "timing_step": Field("timings", np.int64, ()),
    "timing_seconds": Field("timings", np.float64, ()),
}


def chunk_rows(chunk: layout.Chunk, joints: Joints | None, control: layout.Control) -> dict[str, NDArray[Any]]:
    """Copy the used rows of a chunk into named arrays."""
    steps, contacts, islands = int(control.chunk_steps), int(control.chunk_contacts), int(control.chunk_islands)
    scalars = chunk.scalars[:steps]
    ints, floats = chunk.contact_int[:contacts], chunk.contact_float[:contacts]
    island_ints = chunk.island_int[:islands]
    tangential = layout.ROW_IMPULSE_TANGENTIAL
    rows = {
        "time": scalars[:, layout.SCALAR_TIME],
        "q": chunk.q[:steps],
        "v": chunk.v[:steps],
        "kinetic": scalars[:, layout.SCALAR_KINETIC],
        "potential": scalars[:, layout.SCALAR_POTENTIAL],
        "h": scalars[:, layout.SCALAR_H],
        "tau": chunk.tau[:steps],
        "motion_pose": chunk.motion_pose[:steps],
        "motion_twist": chunk.motion_twist[:steps],
        "asleep": chunk.asleep[:steps],
        "rest": chunk.rest[:steps],
        "contact_step": ints[:, layout.ROW_STEP],
        "contact_island": ints[:, layout.ROW_ISLAND],
        "contact_body_a": ints[:, layout.ROW_BODY_A],
        "contact_body_b": ints[:, layout.ROW_BODY_B],
        "contact_half_space": ints[:, layout.ROW_HALF_SPACE],
        "contact_id": ints[:, layout.ROW_ID],
        "contact_mode": ints[:, layout.ROW_MODE],
        "contact_shape_a": ints[:, layout.ROW_SHAPE_A],
        "contact_shape_b": ints[:, layout.ROW_SHAPE_B],
        "contact_point": floats[:, layout.ROW_POINT : layout.ROW_POINT + 3],
        "contact_normal": floats[:, layout.ROW_NORMAL : layout.ROW_NORMAL + 3],
        "contact_gap": floats[:, layout.ROW_GAP],
        "contact_mu": floats[:, layout.ROW_MU],
        "contact_impulse": floats[:, layout.ROW_IMPULSE : layout.ROW_IMPULSE + 3],
        "contact_impulse_normal": floats[:, layout.ROW_IMPULSE_NORMAL],
        "contact_impulse_tangential": floats[:, tangential : tangential + 2],
        "contact_slip": floats[:, layout.ROW_SLIP],
        "contact_restitution": floats[:, layout.ROW_RESTITUTION],
        "contact_push": floats[:, layout.ROW_PUSH],
        "contact_z": chunk.contact_z[:contacts],
        "island_step": island_ints[:, layout.ISLAND_ROW_STEP],
        "island_index": island_ints[:, layout.ISLAND_ROW_INDEX],
        "island_contacts": island_ints[:, layout.ISLAND_ROW_CONTACTS],
        "island_joints": island_ints[:, layout.ISLAND_ROW_JOINTS],
        "island_pivots": island_ints[:, layout.ISLAND_ROW_PIVOTS],
        "island_warm": island_ints[:, layout.ISLAND_ROW_WARM],
        "island_measures": chunk.island_measures[:islands],
        "island_certificate": chunk.island_certificate[:islands],
    }
    of_joints = int(control.chunk_joints)
    width = joint_layout.JOINT_ROW_INTS, joint_layout.JOINT_ROW_FLOATS
    ints, floats, targets = np.zeros((0, width[0]), dtype=np.int64), np.zeros((0, width[1])), np.zeros((steps, 0))
    if joints is not None:
        ints, floats = joints.chunk_int[:of_joints], joints.chunk_float[:of_joints]
        targets = joints.chunk_target[:steps]
    rows |= {
        "joint_step": ints[:, joint_layout.JOINT_ROW_STEP],
        "joint_island": ints[:, joint_layout.JOINT_ROW_ISLAND],
        "joint_row": ints[:, joint_layout.JOINT_ROW_NUMBER],
        "joint_error": floats[:, joint_layout.JOINT_ROW_ERROR],
        "joint_force": floats[:, joint_layout.JOINT_ROW_FORCE],
        "joint_rate": floats[:, joint_layout.JOINT_ROW_RATE],
        "joint_z": floats[:, joint_layout.JOINT_ROW_Z : joint_layout.JOINT_ROW_Z + 2],
        "drive_target": targets,
    }
    return {name: np.array(array, order="C") for name, array in rows.items()}


def start_rows(world: World, state: StepperState, lengths: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """Return the first piece of a record: the start and its warm basis."""
    from contactlab.multibody.kernels.fill_frames import fill_frames
    from contactlab.stepping.kernels.finish import measure

    packed, W, energy = arrays_of(world).packed, workspace(world.model), np.zeros(2)
    q, v = state.q.copy(), state.v.copy()
    fill_frames(packed.ints, packed.floats, q, v, np.zeros((0, CUSTOM_ROW)), NOTHING, VELOCITIES, W)
    measure(packed, W, q, np.zeros(11), energy)
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
    """Return one row of values, zeros where there are none."""
    return np.array([values]) if length and values.size else np.zeros((1, length))


def join_rows(
    pieces: Sequence[Rows], lengths: Mapping[str, int], fields: Mapping[str, Field] = FIELDS
) -> dict[str, NDArray[Any]]:
    """Join the pieces of a record; a field no piece holds is empty. ``lengths``: nq, nv, w, drives."""
    joined = {}
    for name, field in fields.items():
        parts = [piece[name] for piece in pieces if name in piece]
        if parts:
            joined[name] = np.concatenate(parts)
        else:
            joined[name] = np.zeros((0, *field_tail(field, lengths)), dtype=field.dtype)
    return joined


def field_tail(field: Field, lengths: Mapping[str, int]) -> tuple[int, ...]:
    """Return a field's axes after the first as numbers."""
    return tuple(length if isinstance(length, int) else lengths[length] for length in field.tail)

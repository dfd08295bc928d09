"""Memory for the states of many runs side by side; its meaning is in `kernels.slot_layout`."""

from __future__ import annotations

import numpy as np

from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.kernels.slot_layout import Slots
from contactlab.stepping.prepared import Prepared, lcp_width
from contactlab.stepping.record_schema import new_rows
from contactlab.world.state import StepperState

__all__ = ["copy_of_states", "grow_slots", "new_slots", "read_slot", "write_slot"]

_BY_CONTACT = ("contact_id", "contact_z", "contact")
_OF_STATE = ("q", "v", "time", "last_h", "contacts", "contact_id", "contact_z", "was", "row_z", "rest", "tau_before")
# Room for contacts at first.
FIRST_CONTACTS = 8


def new_slots(prepared: Prepared, runs: int) -> Slots:
    """Slots for so many runs of a world, or of others of its layout."""
    world, arrays = prepared.world, prepared.arrays
    rows = 0 if arrays.joints is None else len(world.joint_rows)
    sleepers = prepared.sleepers
    width = lcp_width(prepared.edges, arrays.moments is not None)
    return Slots(
        q=np.zeros((runs, world.nq)),
        v=np.zeros((runs, world.nv)),
        time=np.zeros(runs),
        last_h=np.zeros(runs),
        contacts=np.zeros(runs, dtype=np.int64),
        contact_id=np.zeros((runs, FIRST_CONTACTS), dtype=np.int64),
        contact_z=np.zeros((runs, FIRST_CONTACTS, width)),
        was=np.zeros((runs, rows), dtype=np.int64),
        row_z=np.zeros((runs, rows, 2)),
        rest=np.zeros((runs, sleepers)),
        tau_before=np.zeros((runs, world.nv if sleepers else 0)),
        tau=np.zeros((runs, world.nv)),
        target=np.zeros((runs, len(world.joint_actions.drives))),
        q_before=np.zeros((runs, world.nq)),
        v_before=np.zeros((runs, world.nv)),
        time_before=np.zeros(runs),
        energy=np.full((runs, 2), np.inf),
        asleep=np.zeros((runs, sleepers), dtype=np.int64),
        steps=np.zeros(runs, dtype=np.int64),
        contact_rows=np.zeros(runs, dtype=np.int64),
        contact=new_rows("contact", runs, FIRST_CONTACTS),
        joint_rows=np.zeros(runs, dtype=np.int64),
        joint=new_rows("joint", runs, rows),
    )


def grow_slots(slots: Slots, contacts: int) -> Slots:
    """Room for so many contacts of every run, by half as many again at least; what is held is kept."""
    held = slots.contact_id.shape[1]
    room = max(contacts, held * 3 // 2)
    grown = {}
    for name in _BY_CONTACT:
        old = getattr(slots, name)
        grown[name] = np.zeros((old.shape[0], room, *old.shape[2:]), dtype=old.dtype)
        grown[name][:, :held] = old
    return slots._replace(**grown)


def write_slot(slots: Slots, i: int, state: StepperState, q: FloatArray, v: FloatArray) -> Slots:
    """Begin run i at a state, as if nothing had run before; q and v are those that `checked_state` gave for it.

    The slots, which may have grown, are returned.
    """
    count = state.contact_ids.size
    if count > slots.contact_id.shape[1]:
        slots = grow_slots(slots, count)
    slots.q[i], slots.v[i], slots.time[i], slots.last_h[i] = q, v, state.time, state.h
    slots.contacts[i] = count
    if count:
        slots.contact_id[i, :count], slots.contact_z[i, :count] = state.contact_ids, state.z
    slots.was[i], slots.row_z[i] = 0, 0.0
    if slots.was.shape[1]:
        slots.was[i, state.row_ids], slots.row_z[i, state.row_ids] = 1, state.row_z
    if slots.rest.shape[1]:
        slots.rest[i] = state.rest if state.rest.size else 0.0
        slots.tau_before[i] = state.tau if state.tau.size else 0.0
    slots.energy[i], slots.asleep[i] = np.inf, 0
    slots.steps[i] = slots.contact_rows[i] = slots.joint_rows[i] = 0
    return slots


def copy_of_states(slots: Slots) -> Slots:
    """Return slots whose states stay as they are now, for `read_slot`; the rest they have in common."""
    return slots._replace(**{name: getattr(slots, name).copy() for name in _OF_STATE})


def read_slot(slots: Slots, i: int) -> StepperState:
    """Return the state of run i."""
    count, row_ids = int(slots.contacts[i]), np.flatnonzero(slots.was[i])
    return StepperState.of_run(
        float(slots.time[i]),
        float(slots.last_h[i]),
        q=slots.q[i],
        v=slots.v[i],
        contact_ids=slots.contact_id[i, :count],
        z=slots.contact_z[i, :count],
        row_ids=row_ids,
        row_z=slots.row_z[i, row_ids],
        rest=slots.rest[i],
        tau=slots.tau_before[i],
    )

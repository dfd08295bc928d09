"""What is read of the runs of a batch: rows of their last steps, and sensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from contactlab.simulation.batch_worlds import BatchWorlds
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.stepping.contact_table import ContactTable
from contactlab.stepping.kernels.slot_layout import Slots
from contactlab.stepping.kinematic import poses_at
from contactlab.stepping.record_schema import Rows, columns_of
from contactlab.stepping.time_stepping import TimeStepping
from contactlab.world.sensors import Sensor, StepView
from contactlab.world.world import World


def last_rows(slots: Slots, table: str) -> Rows:
    """Return the rows of a table ("contact", "joint") of every run's last step, numbered by run in place of steps."""
    held, counts = getattr(slots, table), getattr(slots, f"{table}_rows")
    rows = columns_of(table, held[np.arange(held.shape[1]) < counts[:, None]])
    rows[f"{table}_step"] = np.repeat(np.arange(counts.size), counts)
    return rows


def last_h(slots: Slots, stepper: TimeStepping) -> FloatArray:
    """Return the size of every run's last step [s], (B,); of one that has made none the stepper's."""
    return np.where(slots.steps > 0, slots.last_h, stepper.h)


def read_runs(
    worlds: BatchWorlds,
    slots: Slots,
    stepper: TimeStepping,
    sensor: Sensor,
    runs: IntArray,
    contacts: Callable[[], ContactTable],
) -> FloatArray:
    """Return the readings (n, d) of n runs, all of which or none have made steps."""
    parts: list[tuple[IntArray, FloatArray]] = []
    for world, places in worlds.parts(runs):
        own = runs[places]

        def of_them(own: IntArray = own) -> ContactTable:
            table, number = contacts(), np.full(slots.steps.size, -1)
            number[own] = np.arange(own.size)
            held = table.rows(number[table.step] >= 0)
            return replace(held, step=number[held.step], scope=replace(table.scope, h=table.scope.h[own]))

        view = StepView(
            world,
            slots.q[own],
            slots.v[own],
            (slots.q_before[own], slots.v_before[own]) if slots.steps[own].all() else None,
            last_h(slots, stepper)[own],
            of_them,
            (poses_at(world, slots.time_before[own]), poses_at(world, slots.time[own])),
            None if stepper.sleep is None else _asleep(world, slots, own),
            slots.time[own],
        )
        parts.append((places, view.read(sensor)))
    found = np.empty((runs.size, *parts[0][1].shape[1:]))
    for places, reading in parts:
        found[places] = reading
    return found


def _asleep(world: World, slots: Slots, runs: IntArray) -> NDArray[np.bool_]:
    """Which bodies slept through the last step of each run."""
    trees = world.body_trees
    found: NDArray[np.bool_] = (trees >= 0) & (slots.asleep[runs][:, trees] != 0)
    return found

"""The work of what acts on joints, step by step: force times mean velocity, as the energy ledger has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contactlab.spatial.arrays import FloatArray
from contactlab.world.joint_rows import RowKind

if TYPE_CHECKING:
    from contactlab.recording.record import Record
    from contactlab.world.world import World

#: Entries of the ledger that this module computes.
JOINT_ENTRIES = ("limits", "joint_friction", "joint_damping", "drives", "loops")


def joint_entries(recording: Record) -> dict[str, FloatArray]:
    """Return the entries (n_steps,) [J] of what acts on joints."""
    n, world = recording.n_steps, recording.world
    entries = {name: np.zeros(n) for name in JOINT_ENTRIES}
    if world.joint_actions.none:
        return entries
    mean, h = 0.5 * (recording.v[:-1] + recording.v[1:]), recording.h
    damping, drives = implicit_forces(world, recording.q[:-1], recording.v[1:], recording.rows["drive_target"], h)
    entries["joint_damping"] += h * np.einsum("ij,ij->i", damping, mean)
    entries["drives"] += h * np.einsum("ij,ij->i", drives, mean)
    table = recording.joint_rows
    loop_rates = _loop_rates(recording, mean)
    for number, row in enumerate(world.joint_rows):
        chosen = np.flatnonzero(table.row == number)
        step = table.step[chosen]
        if row.kind in (RowKind.LOOP, RowKind.SPRING):
            rate = loop_rates[step, row.loop_row]
        else:
            rate = (row.sign if row.kind == RowKind.STOP else 1.0) * mean[step, row.dof]
            if row.kind == RowKind.FOLLOW:
                rate = rate - row.factor * mean[step, row.other]
        np.add.at(entries[row.kind.work], step, h[step] * table.force[chosen] * rate)
    return entries


def implicit_forces(
    world: World, q: FloatArray, v_plus: FloatArray, targets: FloatArray, h: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the forces (n, nv) of damping, and of drives without a bound, over n steps from q (n, nq) to v+ (n, nv).

    ``targets`` (n, drives), ``h`` (n,).
    """
    damping, drives = np.zeros_like(v_plus), np.zeros_like(v_plus)
    for one in world.joint_actions.damping:
        j = world.model.v_slice(one.body).start + one.coordinate
        damping[:, j] -= one.value * v_plus[:, j]
    for number, drive in world.joint_actions.springs.items():
        j, place = world.place_of(drive.joint, drive.coordinate)
        error = q[:, place] + h * v_plus[:, j] - targets[:, number]
        drives[:, j] -= drive.stiffness * error + drive.damping * (v_plus[:, j] - drive.target_velocity)
    return damping, drives


def _loop_rates(recording: Record, mean: FloatArray) -> FloatArray:
    """Return the mean rates (n_steps, nloop) of the loops' rows."""
    from contactlab.constraints.evaluation import evaluated
    from contactlab.constraints.kernels.wanted import JACOBIAN

    world = recording.world
    rates: FloatArray = np.zeros((recording.n_steps, len(world.loops)))
    if len(world.loops):
        for i in range(recording.n_steps):
            q, v, t = recording.q[i], recording.v[i], float(recording.time[i])
            rates[i] = evaluated(world.model, q, v, world.loops, JACOBIAN, t).G @ mean[i]
    return rates

"""The compiled loop: many steps in one call, resumable at every point where Python is needed.

One step from (q, v) over h, with the applied force tau::

    begin         stop at the target, or with a full chunk; read tau and targets from tables
    detect        M, M^-1, v_free = M^-1 (M v + h (tau - bias)); contacts that may close within h
    label         rows of joints that take part; islands of trees
    make_room     all rows of the step in one chunk
    per island
      next_island   rows J = [N; F; L; G; B], Y = M^-1 J', k, gamma; of joints in `pose`
      attempt       forces that may be found without a solver
      form          where none are: the LCP (M, q)
      solve         0 <= z _|_ M z + q >= 0 by Lemke's method, unless a solver outside is asked
      verdict       residuals of z; forces f and v+ = v_free + h Y f; their certificate; the rows of the record
      project       where anything is too deep: the displacement that ends penetrations
    finish        q+ along v+; energies; the state and the basis of the next step

User code is asked about a step before the loop makes it (`Driver`). The place in it, the island in progress and every
intermediate value live in the arrays and records of `layout`, so returning and entering again continues in mid-step.
A solver outside this loop (UNSOLVED) and the one inside write the same z to the same place, and the same residual
kernel is the judge of both.

Nothing of the state changes before `finish`. A step that failed can therefore be tried again at another h from `detect`
on: contacts, kN, M and q are formed anew for it, and the rows of islands solved already are overwritten.
"""

from __future__ import annotations

from contactlab.stepping.kernels.detection import detect, label
from contactlab.stepping.kernels.finish import finish
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.joint_rows import evaluate_loops
from contactlab.stepping.kernels.layout import (
    BEGIN,
    CHUNK_FULL,
    DETECT,
    DONE,
    FINISH,
    GO_ON,
    ISLANDS,
    LABEL,
    ROOM,
    VERDICT,
    Chunk,
    Collision,
    Control,
    Island,
    Moments,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.next_island import next_island
from contactlab.stepping.kernels.verdict import verdict
from lcp.kernels import kernel


@kernel(short_loops=True)
def move(
    world: PackedWorld,
    work: Work,
    chunk: Chunk,
    control: Control,
    parameters: Parameters,
    collision: Collision | None,
    joints: Joints | None,
) -> int:
    """The stages of every step: from its begin to the islands, and its end."""
    while True:
        place = control.place
        if place == BEGIN:
            reason = begin(work, joints, chunk, control, parameters)
        elif place == DETECT:
            reason = detect(world, work, collision, joints, control, parameters)
        elif place == LABEL:
            reason = label(world, work, joints, control, parameters)
        elif place == ROOM:
            reason = make_room(chunk, joints, control)
        elif place == FINISH:
            reason = finish(world, work, joints, collision, chunk, control, parameters)
        else:
            return GO_ON
        if reason != GO_ON:
            return reason


@kernel(short_loops=True)
def treat(
    world: PackedWorld,
    work: Work,
    island: Island,
    joints: Joints | None,
    moments: Moments | None,
    chunk: Chunk,
    control: Control,
    parameters: Parameters,
) -> int:
    """The stages of every island: its rows, and the verdict on its forces."""
    while True:
        place = control.place
        if place == ISLANDS:
            reason = next_island(world, work, island, joints, moments, control, parameters)
        elif place == VERDICT:
            reason = verdict(world, work, island, joints, moments, chunk, control, parameters, None)
        else:
            return GO_ON
        if reason != GO_ON:
            return reason


@kernel(short_loops=True)
def close_loops(work: Work, control: Control, joints: Joints | None) -> int:
    """Rows of loops, and of the user's own."""
    if joints is not None:
        evaluate_loops(joints, work.W)
    control.place = LABEL
    return GO_ON


@kernel(short_loops=True)
def judge(
    world: PackedWorld,
    work: Work,
    island: Island,
    joints: Joints | None,
    moments: Moments | None,
    chunk: Chunk,
    control: Control,
    parameters: Parameters,
) -> int:
    """The verdict on forces that attempts have not answered, or not certified."""
    return verdict(world, work, island, joints, moments, chunk, control, parameters, 1)


@kernel(inline=True)
def begin(work: Work, joints: Joints | None, chunk: Chunk, control: Control, parameters: Parameters) -> int:
    """Stop where the run or the chunk ends; otherwise read what tables say about the step."""
    if control.step >= control.target or parameters.time >= parameters.end:
        return DONE
    if control.chunk_steps >= chunk.time.shape[0]:
        return CHUNK_FULL
    control.place = DETECT
    control.again = 0
    if work.tau_table.shape[0] > 0:
        for i in range(work.tau.shape[0]):
            work.tau[i] = work.tau_table[control.step, i]
    if joints is not None and joints.target_table.shape[0] > 0:
        for i in range(joints.target.shape[0]):
            joints.target[i] = joints.target_table[control.step, i]
    return GO_ON


@kernel(inline=True)
def make_room(chunk: Chunk, joints: Joints | None, control: Control) -> int:
    """Make sure that all rows of the step go into one chunk."""
    contacts = control.chunk_contacts + control.n_contacts
    islands = control.chunk_islands + control.n_islands
    if contacts > chunk.contact.shape[0] or islands > chunk.island.shape[0]:
        return CHUNK_FULL
    if joints is not None:
        of_joints = control.chunk_joints + joints.row_start[control.n_islands]
        if of_joints > chunk.joint.shape[0]:
            return CHUNK_FULL
    control.place = ISLANDS if control.n_islands > 0 else FINISH
    return GO_ON

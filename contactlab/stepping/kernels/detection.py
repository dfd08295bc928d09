"""The stages `detect` and `label`: free motion, contacts and where they stood in the previous step; islands."""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, VELOCITIES
from contactlab.multibody.kernels.velocities import fill_frames
from contactlab.multibody.kernels.workspace import rows_at
from contactlab.stepping.kernels.blocks import allowance_of
from contactlab.stepping.kernels.contacts import add_given, half_space_contacts, match_previous, move_contact
from contactlab.stepping.kernels.free_motion import free_motion
from contactlab.stepping.kernels.islands import label_islands
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.joint_rows import beyond_stops, find_joint_rows
from contactlab.stepping.kernels.layout import (
    CONTACT_ID,
    FAILED,
    FAILURE_NONE,
    FAILURE_NOT_FINITE,
    FINISH,
    GAP,
    GAP_CORRECTION,
    GO_ON,
    LABEL,
    LOOPS,
    NEED_SPACE,
    ROOM,
    SHORT_OF_CONTACTS,
    Collision,
    Control,
    FloatArray,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.pairs import pair_contacts
from contactlab.stepping.kernels.predicted_poses import predict_poses, turns_far
from contactlab.stepping.kernels.sleeping import put_to_sleep
from lcp.kernels import kernel


@kernel(inner=True)
def is_state(work: Work, q: FloatArray, v: FloatArray) -> bool:
    """Whether this is the state."""
    same = True
    for j in range(q.shape[0]):
        same = same and work.q[j] == q[j]
    for j in range(v.shape[0]):
        same = same and work.v[j] == v[j]
    return same


@kernel(inner=True)
def too_deep(world: PackedWorld, work: Work, n_contacts: int, parameters: Parameters) -> bool:
    """Whether any contact is deeper than is left alone."""
    for i in range(n_contacts):
        gap = work.contact_float[i, GAP]
        if work.contact_float[i, GAP_CORRECTION] < 0.0:
            return True
        if gap < 0.0 and gap < -allowance_of(world, work.contact_int[i], parameters):
            return True
    return False


@kernel(inner=True)
def has_corrections(work: Work, n_contacts: int) -> bool:
    """Whether turning takes anything off the gap of any contact."""
    least = 0.0
    for i in range(n_contacts):
        least = min(least, work.contact_float[i, GAP_CORRECTION])
    return least < 0.0


@kernel(inner=True)
def keep_listed(work: Work, n_contacts: int) -> int:
    """Leave the contacts whose ids are listed; return how many there are."""
    left = 0
    for c in range(n_contacts):
        listed = False
        for i in range(work.listed.shape[0]):
            listed = listed or work.listed[i] == work.contact_int[c, CONTACT_ID]
        if not listed:
            continue
        if left < c:
            move_contact(work, c, left)
        left += 1
    return left


@kernel(inline=True)
def move_freely(world: PackedWorld, work: Work, joints: Joints | None, control: Control, parameters: Parameters) -> int:
    """Fill the kinematics and the free motion; FAILURE_NONE, or why there is none."""
    W = work.W
    # Mostly those that the step before has ended with.
    ready = VELOCITIES if control.filled != 0 and is_state(work, work.q_plus, work.v_plus) else NOTHING
    control.filled = 0
    code = fill_frames(world.ints, world.floats, work.q, work.v, rows_at(W, 0, 0, CUSTOM_ROW), ready, VELOCITIES, W)
    if code != GOOD:
        return FAILURE_NOT_FINITE
    return free_motion(world, work, joints, parameters.h, control)


@kernel(inline=True)
def detect(
    world: PackedWorld,
    work: Work,
    collision: Collision | None,
    joints: Joints | None,
    control: Control,
    parameters: Parameters,
) -> int:
    """Find free motion, and contacts with their rows in the previous step."""
    if control.again == 0:
        failure = move_freely(world, work, joints, control, parameters)
        if failure != FAILURE_NONE:
            control.failure = failure
            return FAILED
    h, margin = parameters.h, parameters.margin + parameters.more
    # By the velocities seen at the end of the step as well, where there are any.
    looks = control.again if work.listed.shape[0] == 0 else 1
    predicted = work.v_free[:0]
    if control.projection != 0 and work.listed.shape[0] == 0 and (control.again > 0 or turns_far(world, work, h)):
        predicted = work.v_free if control.again == 0 else work.v_seen[control.again - 1]
        predict_poses(world, work, predicted, h)
    count = pair_contacts(world, work, collision, h, margin, looks, predicted, control)
    if count < 0:
        return NEED_SPACE
    count = half_space_contacts(world, work, h, margin, control.reduce != 0, looks, count)
    count = add_given(world, work, h, margin, count)
    if count > work.contact_int.shape[0]:
        control.short, control.wanted = SHORT_OF_CONTACTS, count
        return NEED_SPACE
    if work.listed.shape[0] > 0:
        count = keep_listed(work, count)
    if (
        control.again != 0
        and control.missed == 0
        and control.sleep == 0
        and count == control.n_found
        and not has_corrections(work, count)
    ):
        # Nothing was left out: what was found holds.
        control.place = FINISH
        return GO_ON
    control.n_contacts = count
    control.n_found = count
    control.deep = 1 if control.projection != 0 and too_deep(world, work, count, parameters) else 0
    for j in range(work.shift.shape[0]):
        work.shift[j] = 0.0
        # A contact of the look before may be gone.
        work.v_plus[j] = work.v_free[j]
    match_previous(work, count, control.n_previous)
    control.place = LABEL
    if control.again == 0 and joints is not None and joints.loop_G.shape[0] > 0:
        control.place = LOOPS
    return GO_ON


@kernel(inline=True)
def label(world: PackedWorld, work: Work, joints: Joints | None, control: Control, parameters: Parameters) -> int:
    """Find rows of joints, and islands."""
    count = control.n_contacts
    if joints is not None:
        find_joint_rows(work, joints, parameters)
        if control.projection != 0 and beyond_stops(joints):
            control.deep = 1
    control.n_islands = label_islands(world, work, joints, count)
    if control.sleep != 0:
        left = put_to_sleep(world, work, joints, count, control.n_islands, parameters)
        if left < count:
            control.n_contacts = left
            control.n_islands = label_islands(world, work, joints, left)
    control.island = 0
    control.place = ROOM
    return GO_ON

"""The stages `detect` and `find_islands`: free motion, contacts matched with the previous step's; islands.

An island is a set of kinematic trees connected by contacts, joint rows and loops. The world is not a tree: contacts
with it connect nothing. Islands are numbered in ascending order of their lowest tree; trees and contacts keep their
order within an island. Islands at rest sleep through a step; for each tree the time for which it has rested is counted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.kernels import CUSTOM_ROW, GOOD, NOTHING, VELOCITIES
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import tree
from contactlab.simulation.stepping.kernels.arrays import Collision, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import allowance_of
from contactlab.simulation.stepping.kernels.contacts import (
    add_external_contacts,
    half_space_contacts,
    match_previous,
    move_contact,
)
from contactlab.simulation.stepping.kernels.free_motion import free_motion
from contactlab.simulation.stepping.kernels.joint_rows import exceeds_stops, find_joint_rows
from contactlab.simulation.stepping.kernels.kinematic import kinematic_index, predict_poses, turns_far
from contactlab.simulation.stepping.kernels.layout import (
    ASLEEP,
    AWAKE,
    BODY_A,
    BODY_B,
    BODY_TREE,
    CONTACT_ID,
    EXTERNAL_ID,
    FAILURE_NONE,
    FAILURE_NOT_FINITE,
    FAILURE_SINGULAR,
    FIND_ISLANDS,
    GAP,
    GAP_CORRECTION,
    INTEGRATE,
    LOOPS,
    NEED_SPACE,
    RESERVE,
    SHORT_OF_CONTACTS,
    TREE_DOF,
    TREE_LINK,
    UNSOLVED,
    WOKEN,
    FloatArray,
    IntArray,
    Parameters,
    StepControl,
)
from contactlab.simulation.stepping.kernels.pairs import pair_contacts
from lcp.compiler.kernels import copy_array, fill_array
from lcp.compiler.views import view_2d
from lcp.kernels import kernel


@kernel(inner=True)
def state_equals(work: StepWork, q: FloatArray, v: FloatArray) -> bool:
    """Return True if the current state is (q, v)."""
    same = True
    for j in range(q.shape[0]):
        same = same and work.q[j] == q[j]
    for j in range(v.shape[0]):
        same = same and work.v[j] == v[j]
    return same


@kernel(inner=True)
def too_deep(world: PackedWorld, work: StepWork, n_contacts: int, parameters: Parameters) -> bool:
    """Return True if a contact is deeper than allowed, or if rotation in the step reduces the gap of a contact."""
    for i in range(n_contacts):
        gap = work.contact_float[i, GAP]
        if work.contact_float[i, GAP_CORRECTION] < 0.0:
            return True
        if gap < 0.0 and gap < -allowance_of(world, work.contact_int[i], parameters):
            return True
    return False


@kernel(inner=True)
def has_corrections(work: StepWork, n_contacts: int) -> bool:
    """Return True if rotation reduces the gap of any contact."""
    least = 0.0
    for i in range(n_contacts):
        least = min(least, work.contact_float[i, GAP_CORRECTION])
    return least < 0.0


@kernel(inner=True)
def keep_listed(work: StepWork, n_contacts: int) -> int:
    """Remove the contacts whose ids are not listed; return the number left."""
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
def move_freely(
    world: PackedWorld, work: StepWork, joints: JointRows | None, control: StepControl, parameters: Parameters
) -> int:
    """Fill the kinematics and the free motion; return FAILURE_NONE or a failure code."""
    W = work.W
    # The kinematics at the end of the previous step are reused if the state is still the same.
    ready = VELOCITIES if control.kinematics_valid != 0 and state_equals(work, work.q_plus, work.v_plus) else NOTHING
    control.kinematics_valid = 0
    code = fill_frames(world.ints, world.floats, work.q, work.v, view_2d(W, 0, 0, CUSTOM_ROW), ready, VELOCITIES, W)
    if code != GOOD:
        return FAILURE_NOT_FINITE
    return free_motion(world, work, joints, parameters.h, parameters)


@kernel(inline=True)
def detect(
    world: PackedWorld,
    work: StepWork,
    collision: Collision | None,
    joints: JointRows | None,
    control: StepControl,
    parameters: Parameters,
) -> int:
    """Compute the free motion, find the contacts, match them with the previous step; return the next stage."""
    # free motion
    if control.again == 0:
        failure = move_freely(world, work, joints, control, parameters)
        if failure != FAILURE_NONE:
            control.failure, control.wanted = min(failure, FAILURE_SINGULAR), failure - FAILURE_SINGULAR
            return UNSOLVED
    # velocities used in the search for contacts, and the poses that they predict
    h, margin = parameters.h, parameters.margin + parameters.more
    # After a repeated search, use the velocities seen at the end of the step as well.
    looks = control.again if work.listed.shape[0] == 0 else 1
    predicted = work.v_free[:0]
    if parameters.projection != 0 and work.listed.shape[0] == 0 and (control.again > 0 or turns_far(world, work, h)):
        predicted = work.v_free if control.again == 0 else work.v_seen[control.again - 1]
        predict_poses(world, work, predicted, h)
    # contacts of pairs of bodies, with half-spaces, and from the caller
    count = pair_contacts(world, work, collision, h, margin, parameters.reduce != 0, looks, predicted, control)
    if count < 0:
        return NEED_SPACE
    count = half_space_contacts(world, work, h, margin, parameters.reduce != 0, looks, count)
    count = add_external_contacts(world, work, h, margin, count)
    if count > work.contact_int.shape[0]:
        control.short, control.wanted = SHORT_OF_CONTACTS, count
        return NEED_SPACE
    if work.listed.shape[0] > 0:
        count = keep_listed(work, count)
    # a repeated search without new contacts ends the step as it is
    if control.again != 0 and parameters.sleep == 0 and count == control.n_found and not has_corrections(work, count):
        # No contact was missed: the forces found are valid.
        return INTEGRATE
    # depth, free velocity along the normals, matching with the previous step
    control.n_contacts = count
    control.n_found = count
    control.deep = 1 if parameters.projection != 0 and too_deep(world, work, count, parameters) else 0
    for j in range(work.projection_displacement.shape[0]):
        work.projection_displacement[j] = 0.0
        # A contact of the previous search may have disappeared.
        work.v_plus[j] = work.v_free[j]
    match_previous(work, count, control.n_previous)
    if control.again == 0 and joints is not None and joints.loop_G.shape[0] > 0:
        return LOOPS
    return FIND_ISLANDS


@kernel(inline=True)
def find_islands(
    world: PackedWorld, work: StepWork, joints: JointRows | None, control: StepControl, parameters: Parameters
) -> int:
    """Find the joint rows that take part, and the islands; return the next stage."""
    count = control.n_contacts
    if joints is not None:
        find_joint_rows(work, joints, parameters)
        if parameters.projection != 0 and exceeds_stops(joints):
            control.deep = 1
    control.n_islands = label_islands(world, work, joints, count)
    if parameters.sleep != 0:
        left = put_to_sleep(world, work, joints, count, control.n_islands, parameters)
        if left < count:
            control.n_contacts = left
            control.n_islands = label_islands(world, work, joints, left)
    control.island = 0
    return RESERVE


@kernel
def find(parent: NDArray[np.int64], i: int) -> int:
    """Return the lowest member of the set of i, halving the paths on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def label_islands(world: PackedWorld, work: StepWork, joints: JointRows | None, n_contacts: int) -> int:
    """Fill island_of, local, island_nv and the lists of trees, contacts and rows by island; return their number."""
    # union-find over the trees connected by contacts
    nt = work.union_find_parent.shape[0]
    for k in range(nt):
        work.union_find_parent[k] = k
        work.island_of[k] = -1
    for i in range(n_contacts):
        k = world.bodies[work.contact_int[i, BODY_B], BODY_TREE]
        work.island_of[k] = 0
        other = work.contact_int[i, BODY_A]
        if other >= 0 and world.bodies[other, BODY_TREE] >= 0:
            m = world.bodies[other, BODY_TREE]
            work.island_of[m] = 0
            a = find(work.union_find_parent, m)
            b = find(work.union_find_parent, k)
            # The lower tree becomes the root: an island is then met first at its lowest tree.
            work.union_find_parent[max(a, b)] = min(a, b)
    if joints is not None:
        join_trees(work, joints)

    # islands in ascending order of their lowest tree
    n_islands = 0
    for k in range(nt):
        if work.island_of[k] < 0:
            continue
        root = find(work.union_find_parent, k)
        if root == k:
            work.island_of[k] = n_islands
            n_islands += 1
        else:
            work.island_of[k] = work.island_of[root]

    # trees, contacts and rows of each island
    list_by_island(work.island_of, nt, n_islands, work.tree_start, work.island_trees)
    for i in range(n_islands):
        work.island_nv[i] = 0
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            k = work.island_trees[n]
            work.tree_offset[k] = work.island_nv[i]
            work.island_nv[i] += world.trees[k + 1, TREE_DOF] - world.trees[k, TREE_DOF]
    for c in range(n_contacts):
        work.contact_island[c] = work.island_of[world.bodies[work.contact_int[c, BODY_B], BODY_TREE]]
    list_by_island(work.contact_island, n_contacts, n_islands, work.contact_start, work.island_contacts)
    if joints is not None:
        count = joints.active.shape[0]
        for row in range(count):
            tree = joints.trees[joints.row_trees[row]]
            joints.row_island[row] = work.island_of[tree] if joints.active[row] != 0 else -1
        list_by_island(joints.row_island, count, n_islands, joints.row_start, joints.island_rows)
    return n_islands


@kernel(inner=True)
def list_by_island(island_of: IntArray, count: int, n_islands: int, start: IntArray, out: IntArray) -> None:
    """Fill ``out`` with the numbers of ``count`` items by island, ascending, and their starts in ``start``.

    ``island_of`` has the island of each item, -1 for none.
    """
    for i in range(n_islands + 1):
        start[i] = 0
    for item in range(count):
        if island_of[item] >= 0:
            start[island_of[item] + 1] += 1
    for i in range(n_islands):
        start[i + 1] += start[i]
    # start[i] runs through the entries of island i, and one shift restores it afterwards.
    for item in range(count):
        i = island_of[item]
        if i >= 0:
            out[start[i]] = item
            start[i] += 1
    for i in range(n_islands, 0, -1):
        start[i] = start[i - 1]
    start[0] = 0


@kernel(inner=True)
def join_trees(work: StepWork, joints: JointRows) -> None:
    """Mark the trees with joint rows that take part, and join the trees on which one row acts."""
    for i in range(joints.active.shape[0]):
        if joints.active[i] == 0:
            continue
        first = joints.row_trees[i]
        for n in range(first, joints.row_trees[i + 1]):
            k = joints.trees[n]
            work.island_of[k] = 0
            if n > first:
                a = find(work.union_find_parent, joints.trees[first])
                b = find(work.union_find_parent, k)
                work.union_find_parent[max(a, b)] = min(a, b)


@kernel(inner=True)
def has_new_force(world: PackedWorld, work: StepWork, k: int) -> bool:
    """Return True if the applied force on tree ``k`` differs from the previous step."""
    changed = False
    for j in range(world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]):
        changed = changed or work.tau[j] != work.previous_tau[j]
    return changed


@kernel(inner=True)
def put_to_sleep(
    world: PackedWorld,
    work: StepWork,
    joints: JointRows | None,
    n_contacts: int,
    n_islands: int,
    parameters: Parameters,
) -> int:
    """Mark the trees of islands that sleep through the step, and remove their contacts; return the number left.

    `label_islands` has found the islands; it must run again if contacts are removed. If joint rows take part, no island
    sleeps.
    """
    # all trees are awake at first
    nt = work.union_find_parent.shape[0]
    for k in range(nt):
        work.asleep[k] = AWAKE
    # an island sleeps if all its trees have rested long enough
    for i in range(n_islands):
        mark = ASLEEP
        if joints is not None and joints.row_start[i + 1] > joints.row_start[i]:
            mark = AWAKE
        # a new applied force wakes it
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            k = work.island_trees[n]
            if work.rest[k] < parameters.sleep_time and mark == ASLEEP:
                mark = AWAKE
            if has_new_force(world, work, k):
                mark = WOKEN
        # contacts with moving kinematic bodies or from outside wake it
        for n in range(work.contact_start[i], work.contact_start[i + 1]):
            ints = work.contact_int[work.island_contacts[n]]
            kinematic_row = kinematic_index(world, ints[BODY_A])
            if kinematic_row >= 0:
                for j in range(6):
                    if work.motion_twist[kinematic_row, j] != 0.0:
                        mark = WOKEN
            if ints[CONTACT_ID] >= EXTERNAL_ID:
                mark = WOKEN
        # all trees of the island get the same mark
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            work.asleep[work.island_trees[n]] = mark
    # remove contacts of sleeping trees
    left = 0
    for c in range(n_contacts):
        if work.asleep[world.bodies[work.contact_int[c, BODY_B], BODY_TREE]] == ASLEEP:
            continue
        if left < c:
            move_contact(work, c, left)
        left += 1
    # sleeping trees have no velocity
    for k in range(nt):
        if work.asleep[k] == ASLEEP:
            fill_array(work.v_plus[world.trees[k, TREE_DOF] : world.trees[k + 1, TREE_DOF]], 0.0)
    return left


@kernel(inner=True)
def keep_asleep(world: PackedWorld, work: StepWork) -> None:
    """Copy q to q_plus for sleeping trees, because integration of a zero velocity can round q."""
    t = tree(world.ints, world.floats)
    for k in range(work.asleep.shape[0]):
        if work.asleep[k] == ASLEEP:
            for j in range(t.iq[world.trees[k, TREE_LINK]], t.iq[world.trees[k + 1, TREE_LINK]]):
                work.q_plus[j] = work.q[j]


@kernel(inner=True)
def count_rest(world: PackedWorld, work: StepWork, n_islands: int, parameters: Parameters, h: float) -> None:
    """Add the step to the time for which each tree has rested, or reset it; store the applied force.

    A tree rests if all trees of its island are slow. A tree without contacts does not rest, at any speed.
    """
    # trees without contacts do not rest
    for k in range(work.asleep.shape[0]):
        if work.asleep[k] != ASLEEP and work.island_of[k] < 0:
            work.rest[k] = 0.0
    # an island is quiet if each velocity is small and no position was corrected
    for i in range(n_islands):
        quiet = True
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            k = work.island_trees[n]
            for j in range(world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]):
                if not abs(work.v_plus[j]) < parameters.sleep_speed or work.projection_displacement[j] != 0.0:
                    quiet = False
        # quiet trees rest one step longer; woken ones start again
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            k = work.island_trees[n]
            if work.asleep[k] == WOKEN:
                work.rest[k] = 0.0
            work.rest[k] = work.rest[k] + h if quiet else 0.0
    # applied force, to recognise a new one
    copy_array(work.tau, work.previous_tau)

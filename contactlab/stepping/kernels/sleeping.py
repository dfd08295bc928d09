"""Islands at rest: which of them sleep through a step, and for how long each tree has rested after it."""

from __future__ import annotations

from contactlab.multibody.kernels.layout import tree
from contactlab.stepping.kernels.contacts import move_contact
from contactlab.stepping.kernels.kinematic import kinematic_index
from contactlab.stepping.kernels.layout import (
    ASLEEP,
    AWAKE,
    BODY_A,
    BODY_B,
    BODY_TREE,
    CONTACT_ID,
    EXTERNAL_ID,
    TREE_DOF,
    TREE_LINK,
    WOKEN,
    JointRows,
    PackedWorld,
    Parameters,
    StepWork,
)
from lcp.compiler.kernels import copy_array, fill_array
from lcp.kernels import kernel


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
    nt = work.union_find_parent.shape[0]
    for k in range(nt):
        work.asleep[k] = AWAKE
    for i in range(n_islands):
        mark = ASLEEP
        if joints is not None and joints.row_start[i + 1] > joints.row_start[i]:
            mark = AWAKE
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            k = work.island_trees[n]
            if work.rest[k] < parameters.sleep_time and mark == ASLEEP:
                mark = AWAKE
            if has_new_force(world, work, k):
                mark = WOKEN
        for n in range(work.contact_start[i], work.contact_start[i + 1]):
            ints = work.contact_int[work.island_contacts[n]]
            kinematic_row = kinematic_index(world, ints[BODY_A])
            if kinematic_row >= 0:
                for j in range(6):
                    if work.motion_twist[kinematic_row, j] != 0.0:
                        mark = WOKEN
            if ints[CONTACT_ID] >= EXTERNAL_ID:
                mark = WOKEN
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            work.asleep[work.island_trees[n]] = mark
    left = 0
    for c in range(n_contacts):
        if work.asleep[world.bodies[work.contact_int[c, BODY_B], BODY_TREE]] == ASLEEP:
            continue
        if left < c:
            move_contact(work, c, left)
        left += 1
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
    for k in range(work.asleep.shape[0]):
        if work.asleep[k] != ASLEEP and work.island_of[k] < 0:
            work.rest[k] = 0.0
    for i in range(n_islands):
        quiet = True
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            k = work.island_trees[n]
            for j in range(world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]):
                if not abs(work.v_plus[j]) < parameters.sleep_speed or work.projection_displacement[j] != 0.0:
                    quiet = False
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            k = work.island_trees[n]
            if work.asleep[k] == WOKEN:
                work.rest[k] = 0.0
            work.rest[k] = work.rest[k] + h if quiet else 0.0
    copy_array(work.tau, work.previous_tau)

"""Of `detect`: sets of kinematic trees joined by contacts, and by rows of joints and loops.

The world is no tree: a contact with it joins nothing.

Islands are numbered in ascending order of their lowest tree; trees and contacts keep their order within one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import BODY_A, BODY_B, BODY_TREE, TREE_DOF, PackedWorld, Work
from lcp.kernels import kernel


@kernel
def find(parent: NDArray[np.int64], i: int) -> int:
    """Lowest member of the set of i; halves the paths it walks."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def label_islands(world: PackedWorld, work: Work, joints: Joints | None, n_contacts: int) -> int:
    """Fill island_of, local, island_nv and the lists of trees, contacts and rows by island; return their number."""
    nt = work.parent.shape[0]
    for k in range(nt):
        work.parent[k] = k
        work.island_of[k] = -1
    for i in range(n_contacts):
        k = world.bodies[work.contact_int[i, BODY_B], BODY_TREE]
        work.island_of[k] = 0
        other = work.contact_int[i, BODY_A]
        if other >= 0 and world.bodies[other, BODY_TREE] >= 0:
            m = world.bodies[other, BODY_TREE]
            work.island_of[m] = 0
            a = find(work.parent, m)
            b = find(work.parent, k)
            # The lower tree becomes the root: an island is then met first at its lowest tree.
            work.parent[max(a, b)] = min(a, b)
    if joints is not None:
        join_trees(work, joints)

    n_islands = 0
    for k in range(nt):
        if work.island_of[k] < 0:
            continue
        root = find(work.parent, k)
        if root == k:
            work.island_of[k] = n_islands
            n_islands += 1
        else:
            work.island_of[k] = work.island_of[root]

    for i in range(n_islands + 1):
        work.tree_start[i] = 0
        work.contact_start[i] = 0
    for i in range(n_islands):
        work.island_nv[i] = 0
    for k in range(nt):
        if work.island_of[k] >= 0:
            work.tree_start[work.island_of[k] + 1] += 1
    for i in range(n_contacts):
        work.contact_start[work.island_of[world.bodies[work.contact_int[i, BODY_B], BODY_TREE]] + 1] += 1
    for i in range(n_islands):
        work.tree_start[i + 1] += work.tree_start[i]
        work.contact_start[i + 1] += work.contact_start[i]
    # Lists: start[i] runs through island i's places, and both are put back by one shift afterwards.
    for k in range(nt):
        i = work.island_of[k]
        if i >= 0:
            work.island_trees[work.tree_start[i]] = k
            work.tree_start[i] += 1
            work.local[k] = work.island_nv[i]
            work.island_nv[i] += world.trees[k + 1, TREE_DOF] - world.trees[k, TREE_DOF]
    for c in range(n_contacts):
        i = work.island_of[world.bodies[work.contact_int[c, BODY_B], BODY_TREE]]
        work.island_contacts[work.contact_start[i]] = c
        work.contact_start[i] += 1
    for i in range(n_islands, 0, -1):
        work.tree_start[i] = work.tree_start[i - 1]
        work.contact_start[i] = work.contact_start[i - 1]
    work.tree_start[0] = 0
    work.contact_start[0] = 0
    if joints is not None:
        list_joint_rows(work, joints, n_islands)
    return n_islands


@kernel(inner=True)
def join_trees(work: Work, joints: Joints) -> None:
    """Mark the trees with rows that take part and join those that one row acts on."""
    for i in range(joints.active.shape[0]):
        if joints.active[i] == 0:
            continue
        first = joints.row_trees[i]
        for n in range(first, joints.row_trees[i + 1]):
            k = joints.trees[n]
            work.island_of[k] = 0
            if n > first:
                a = find(work.parent, joints.trees[first])
                b = find(work.parent, k)
                work.parent[max(a, b)] = min(a, b)


@kernel(inner=True)
def list_joint_rows(work: Work, joints: Joints, n_islands: int) -> None:
    """Fill the lists of rows by island, ascending within each."""
    start = joints.row_start
    for i in range(n_islands + 1):
        start[i] = 0
    for row in range(joints.active.shape[0]):
        if joints.active[row] != 0:
            start[work.island_of[joints.trees[joints.row_trees[row]]] + 1] += 1
    for i in range(n_islands):
        start[i + 1] += start[i]
    # As in `label_islands`: start[i] runs through island i's places and is put back by one shift.
    for row in range(joints.active.shape[0]):
        if joints.active[row] != 0:
            i = work.island_of[joints.trees[joints.row_trees[row]]]
            joints.island_rows[start[i]] = row
            start[i] += 1
    for i in range(n_islands, 0, -1):
        start[i] = start[i - 1]
    start[0] = 0

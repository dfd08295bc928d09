"""Stage 3: sets of kinematic trees joined by contacts. The world is no tree: a contact with it joins nothing.

Islands are numbered in ascending order of their lowest tree; trees and contacts keep their order within one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.simulation.kernels.layout import BODY_A, BODY_B, BODY_TREE, TREE_DOF, PackedWorld, Work
from lcp.kernels import kernel


@kernel
def find(parent: NDArray[np.int64], i: int) -> int:
    """Lowest member of the set of i; halves the paths it walks."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def label_islands(world: PackedWorld, work: Work, n_contacts: int) -> int:
    """Fill island_of, local, island_nv and the lists of trees and contacts by island; return the number of islands."""
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
    return n_islands

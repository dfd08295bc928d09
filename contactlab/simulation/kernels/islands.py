"""Stage 2: sets of bodies joined by contacts. The world is no body: a contact with it joins nothing.

Islands are numbered in ascending order of their lowest body; bodies and contacts keep their order within one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.simulation.kernels.layout import BODY_A, BODY_B, Work
from lcp.kernels import kernel


@kernel
def find(parent: NDArray[np.int64], i: int) -> int:
    """Lowest body of the set of body i; halves the paths it walks."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def label_islands(work: Work, n_contacts: int) -> int:
    """Fill island_of, local, and the lists of bodies and contacts by island; return the number of islands."""
    nb = work.parent.shape[0]
    for b in range(nb):
        work.parent[b] = b
        work.island_of[b] = -1
    for i in range(n_contacts):
        work.island_of[work.contact_int[i, BODY_B]] = 0
        if work.contact_int[i, BODY_A] >= 0:
            work.island_of[work.contact_int[i, BODY_A]] = 0
            a = find(work.parent, work.contact_int[i, BODY_A])
            b = find(work.parent, work.contact_int[i, BODY_B])
            # The lower body becomes the root: an island is then met first at its lowest body.
            work.parent[max(a, b)] = min(a, b)

    n_islands = 0
    for b in range(nb):
        if work.island_of[b] < 0:
            continue
        root = find(work.parent, b)
        if root == b:
            work.island_of[b] = n_islands
            n_islands += 1
        else:
            work.island_of[b] = work.island_of[root]

    for i in range(n_islands + 1):
        work.body_start[i] = 0
        work.contact_start[i] = 0
    for b in range(nb):
        if work.island_of[b] >= 0:
            work.local[b] = work.body_start[work.island_of[b] + 1]
            work.body_start[work.island_of[b] + 1] += 1
    for i in range(n_contacts):
        work.contact_start[work.island_of[work.contact_int[i, BODY_B]] + 1] += 1
    for i in range(n_islands):
        work.body_start[i + 1] += work.body_start[i]
        work.contact_start[i + 1] += work.contact_start[i]
    for b in range(nb):
        if work.island_of[b] >= 0:
            work.island_bodies[work.body_start[work.island_of[b]] + work.local[b]] = b
    # Contacts: contact_start[i] runs through island i's places, and is put back by one shift afterwards.
    for i in range(n_contacts):
        island = work.island_of[work.contact_int[i, BODY_B]]
        work.island_contacts[work.contact_start[island]] = i
        work.contact_start[island] += 1
    for i in range(n_islands, 0, -1):
        work.contact_start[i] = work.contact_start[i - 1]
    work.contact_start[0] = 0
    return n_islands

"""The islands of a portion: their rows as sparse matrices over the velocities of their trees, island after island.

Islands share no column, so that what one matrix says of many islands it says of each. W = J M^-1 J^T has an entry only
where two rows act on one tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse

from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.verification.dynamics import Blocks
from contactlab.verification.portion import StepSlice, TreeRows, distinct, rows_of, tree_columns

#: A sparse matrix of scipy, by rows.
Matrix = Any


@dataclass(frozen=True, eq=False)
class Islands:
    """The islands that anything of a record speaks of."""

    # (ni,) step in the portion, number within the step, and the row of the record's table; -1: without one.
    at: IntArray
    label: IntArray
    row: IntArray
    of_contacts: IntArray  # (nc,), (nj,) the island of each
    of_joints: IntArray

    @staticmethod
    def of(portion: StepSlice) -> Islands:
        """Return the islands of a portion."""
        rows = portion.recording.rows
        own, steps = rows_of(rows["island_step"], portion.steps)
        labels = (portion.numbers("island"), rows["joint_island"][portion.joints], rows["island_index"][own])
        found, number = distinct([np.concatenate((portion.at, portion.joint_at, steps)), np.concatenate(labels)])
        contacts, joints, table = np.split(number, np.cumsum([one.size for one in labels[:2]]))
        row = np.full(found.shape[0], -1)
        row[table] = own
        return Islands(found[:, 0], found[:, 1], row, contacts, joints)


@dataclass(frozen=True, eq=False)
class IslandSystem:
    """Rows on the columns of islands; column j is a velocity of one tree in one step."""

    J: Matrix
    Y: Matrix  # row i is M^-1 applied to row i of J
    # (n,) of each column: step in the portion, place in v, island.
    at: IntArray
    dof: IntArray
    island: IntArray
    blocks: tuple[tuple[FloatArray, IntArray], ...]  # matrices (m, n, n) of M, and the columns (m, n) that they are of

    @staticmethod
    def of(portion: StepSlice, rows: tuple[TreeRows, ...], at: IntArray, island: IntArray, M: Blocks) -> IslandSystem:
        """Join the rows; ``at`` and ``island`` (m,) belong to every row."""
        world = portion.recording.world
        trees = world.tree_starts.size - 1
        keys = np.concatenate([np.zeros(0, dtype=np.int64), *(island[one.of[:, 0]] * trees + one.tree for one in rows)])
        pairs, place = np.unique(keys, return_inverse=True)
        sizes = np.diff(world.tree_starts)[pairs % trees]
        first = np.cumsum(sizes) - sizes
        steps = np.zeros(pairs.size, dtype=np.int64)
        parts = np.split(place, np.cumsum([one.of.shape[0] for one in rows])[:-1])[: len(rows)]
        entries: list[list[Any]] = [[np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], [], []]
        for one, own in zip(rows, parts, strict=True):
            steps[own] = at[one.of[:, 0]]
            columns = np.broadcast_to((first[own][:, None] + np.arange(one.J.shape[2]))[:, None], one.J.shape)
            Y = np.swapaxes(np.linalg.solve(M[one.tree][steps[own]], np.swapaxes(one.J, 1, 2)), 1, 2)
            for kept, value in zip(entries, (np.repeat(one.of, one.J.shape[2]), columns, one.J, Y), strict=True):
                kept.append(value.ravel())
        rows_of, columns_of = (np.concatenate(part) for part in entries[:2])
        shape = (island.size, int(sizes.sum()))
        matrices: list[Matrix] = [
            sparse.csr_matrix((np.concatenate([np.zeros(0), *values]), (rows_of, columns_of)), shape=shape)
            for values in entries[2:]
        ]
        blocks, dof = [], np.zeros(shape[1], dtype=np.int64)
        for tree in np.unique(pairs % trees):
            own = np.flatnonzero(pairs % trees == tree)
            columns = first[own][:, None] + np.arange(sizes[own[0]])
            dof[columns] = tree_columns(world, tree)
            blocks.append((M[tree][steps[own]], columns))
        repeated = np.repeat(np.arange(pairs.size), sizes)
        return IslandSystem(matrices[0], matrices[1], steps[repeated], dof, (pairs // trees)[repeated], tuple(blocks))

    def of_columns(self, v: FloatArray) -> FloatArray:
        """Return velocities (ns, nv) on the columns."""
        return np.asarray(v[self.at, self.dof])

    def liveliness(self, v: FloatArray, count: int) -> FloatArray:
        """Return sqrt(v' M v) of every island (count,) of velocities v (n,).

        A row's rate is at most sqrt(J_i M^-1 J_i') of it: what is far below that is the rounding of the whole motion.
        """
        energy = np.zeros(count)
        for M, columns in self.blocks:
            part = v[columns]
            np.add.at(energy, self.island[columns[:, 0]], np.einsum("mi,mij,mj->m", part, M, part))
        return np.sqrt(np.maximum(0.0, energy))


def largest_of(values: FloatArray, island: IntArray, count: int) -> FloatArray:
    """Return the largest of the nonnegative values (m,) of every island (count,); 0 for islands without values."""
    out = np.zeros(count)
    np.maximum.at(out, island, values)
    return out


def worst_of(values: FloatArray, island: IntArray) -> tuple[IntArray, IntArray]:
    """Return the islands with values (m,), and the index of the largest of each; NaN counts as largest."""
    order = np.lexsort((np.where(np.isnan(values), np.inf, values), island))
    found, first = np.unique(island[order], return_index=True)
    last = np.append(first[1:], order.size) - 1
    return found, order[last] if order.size else order


def largest_entry(W: Matrix) -> FloatArray:
    """Return the largest magnitude of every row."""
    count = W.shape[0]
    return largest_of(np.abs(W.data), np.repeat(np.arange(count), np.diff(W.indptr)), count)

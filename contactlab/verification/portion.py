"""A portion of the steps of a record: states, contacts and Jacobians, and its islands as sparse matrices.

All steps of a portion are checked together, because checks of small single steps spend most of their time in calls. The
rows of all islands are one sparse matrix over the velocities of their trees, island after island; islands share no
column. W = J M^-1 J^T has an entry only if two rows act on one tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.stepping.world_numbers import ARM, size_of
from contactlab.verification.dynamics import Blocks, Dynamics, dynamics
from contactlab.verification.motion import BodyKinematics

if TYPE_CHECKING:
    from contactlab.recording.recording import Recording
    from contactlab.world.world import World


TINY = float(np.finfo(float).tiny)

#: Condition, steps in the slice, islands, rows of the contact table, values (n,); -1 if there is none.
Found = tuple[str, Any, Any, Any, FloatArray]


def max_relative(off: FloatArray, size: FloatArray) -> FloatArray:
    """Return max |off| / size (n,) of rows (n, m); 0 / 0 counts as 0."""
    return np.asarray(np.max(np.abs(off) / np.maximum(size, TINY), axis=1, initial=0.0))


def length_of(world: World) -> float:
    """Return a length proportional to the world's bodies [m]: 1 if the thinnest moving body has 0.1 m."""
    return ARM * size_of(world)


LONGEST = 128  # steps
ENTRIES = 2_000_000  # maximum number of entries in the largest arrays of a portion


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Rows (m, q, n) on the velocities of one tree, q for each of m contacts or joint rows."""

    tree: int
    of: IntArray  # (m,) contact or joint row of each, or (m, q) the number of each row
    J: FloatArray


@dataclass(frozen=True, eq=False)
class StepSlice:
    """Steps and quantities computed from them; ``at`` indexes the steps of the slice."""

    recording: Recording
    steps: IntArray  # (ns,)
    state: Dynamics
    energies: FloatArray  # (ns, 2, 2) kinetic and potential [J] before and after
    # (ns, nv) velocities before and after, and applied forces; (ns,) [s].
    v: FloatArray
    v_plus: FloatArray
    tau: FloatArray
    h: FloatArray
    # (nc,) rows of the contact table and their step; (nj,) the same for the table of joint rows.
    contacts: IntArray
    at: IntArray
    joints: IntArray
    joint_at: IntArray
    points: tuple[TreeRows, ...]  # six for each contact: velocity of its point and angular velocity, B relative to A

    @staticmethod
    def of(recording: Recording, steps: IntArray) -> StepSlice:
        """Return the given steps of a record: states, dynamics, applied forces, contacts and joint rows."""
        world, rows = recording.world, recording.rows
        states = np.union1d(steps, steps + 1)
        whole = dynamics(world, recording.q[states], recording.v[states])
        before, after = np.searchsorted(states, steps), np.searchsorted(states, steps + 1)
        energies = np.stack([np.stack((one[before], one[after]), axis=1) for one in (whole.kinetic, whole.potential)])
        state = whole.at(slice(steps.size) if before[-1] == steps.size - 1 else before)
        contacts, at = rows_of(rows["contact_step"], steps)
        joints, joint_at = rows_of(rows["joint_step"], steps)
        tau = rows["tau"][steps] if rows["tau"].shape[0] else np.zeros((steps.size, world.nv))
        moves = np.moveaxis(energies, 0, 2), recording.v[steps], recording.v[steps + 1], tau, rows["h"][steps]
        points = _points(recording, contacts, at, state.bodies)
        return StepSlice(recording, steps, state, *moves, contacts, at, joints, joint_at, points)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the contact table."""
        return np.asarray(self.recording.rows[f"contact_{name}"][self.contacts])

    def scattered(self, rows: tuple[TreeRows, ...], at: IntArray, force: FloatArray) -> FloatArray:
        """Return J^T force (ns, nv), summed over the rows of each step, for rows with forces (m, q).

        ``at`` (m,) has the step of every row.
        """
        starts, out = self.recording.world.tree_starts, np.zeros(self.v.shape)
        for one in rows:
            own = slice(starts[one.tree], starts[one.tree + 1])
            np.add.at(out[:, own], at[one.of], np.einsum("mqn,mq->mn", one.J, force[one.of]))
        return out


def rows_of(column: IntArray, steps: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of ``steps`` in an ascending column, and the index of each row's step in ``steps``."""
    first, last = np.searchsorted(column, steps), np.searchsorted(column, steps + 1)
    counts = last - first
    at = np.repeat(np.arange(steps.size), counts)
    return np.arange(counts.sum()) - (np.cumsum(counts) - counts)[at] + first[at], at


def _points(
    recording: Recording, contacts: IntArray, at: IntArray, bodies: dict[str, BodyKinematics]
) -> tuple[TreeRows, ...]:
    """Return Jacobians of the relative motion at the contacts, in world axes, by tree."""
    world, rows = recording.world, recording.rows
    names, point = world.model.names, rows["contact_point"][contacts]
    of_trees: dict[int, list[tuple[IntArray, FloatArray]]] = {}
    for side, sign in (("contact_body_b", 1.0), ("contact_body_a", -1.0)):
        for number, chosen in groups(rows[side][contacts]):
            tree = world.body_trees[number] if number >= 0 else -1
            if tree < 0:
                continue
            body = bodies[names[number]].at(at[chosen])
            J = sign * np.concatenate((body.point_jacobian(point[chosen]), body.Jw), axis=1)
            of_trees.setdefault(int(tree), []).append((chosen, J))
    found = []
    for tree, parts in sorted(of_trees.items()):
        chosen, J = (np.concatenate(part) for part in zip(*parts, strict=True))
        own, place = np.unique(chosen, return_inverse=True)
        if own.size < chosen.size:  # both bodies of a contact may belong to one tree
            summed = np.zeros((own.size, *J.shape[1:]))
            np.add.at(summed, place, J)
            chosen, J = own, summed
        found.append(TreeRows(tree, chosen, J))
    return tuple(found)


def groups(numbers: IntArray) -> list[tuple[int, IntArray]]:
    """Return each distinct number of (n,) with its indices, both ascending."""
    if not numbers.size:
        return []
    order = np.argsort(numbers, kind="stable")
    found, first = np.unique(numbers[order], return_index=True)
    return list(zip(map(int, found), np.split(order, first[1:]), strict=True))


def distinct(columns: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the distinct rows (m, k) of k columns (n,), in order, and the index of each row among them."""
    key = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        values, rank = np.unique(column, return_inverse=True)
        key = key * max(values.size, 1) + rank
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return np.stack([column[first] for column in columns], axis=1), number


def portions(recording: Recording, steps: IntArray, pairs: int) -> Iterator[IntArray]:
    """Yield the steps in portions, as large as memory allows."""
    world, rows = recording.world, recording.rows
    trees, sizes = world.body_trees, np.diff(world.tree_starts)
    directions = 1 + recording.stepper.edges_in(world) // 2
    fixed = pairs + int((sizes**2).sum()) + (len(world.joint_rows) + 60) * world.nv
    for begin in range(0, steps.size, LONGEST):
        window = steps[begin : begin + LONGEST]
        contacts, at = rows_of(rows["contact_step"], window)
        # Two contacts on one tree have an entry in W.
        touched = np.zeros((window.size, 1 + sizes.size), dtype=np.int64)
        for side in ("contact_body_a", "contact_body_b"):
            number = rows[side][contacts]
            known = (number >= 0) & (number < trees.size)
            np.add.at(touched, (at[known], trees[number[known]]), 1)
        entries = fixed + directions**2 * (touched[:, :-1] ** 2).sum(axis=1)
        start = 0
        for n in range(1, window.size + 1):
            if n == window.size or entries[start : n + 1].sum() > ENTRIES:
                yield window[start:n]
                start = n


def tree_columns(world: World, tree: int) -> IntArray:
    """Return the indices in v of a tree's velocities."""
    return np.arange(world.tree_starts[tree], world.tree_starts[tree + 1])


#: A sparse matrix of scipy, by rows.
Matrix = Any


@dataclass(frozen=True, eq=False)
class Islands:
    """The islands in the tables of a record."""

    # (ni,) step in the portion, number within the step, and the row of the record's table; -1: without one.
    at: IntArray
    label: IntArray
    row: IntArray
    of_contacts: IntArray  # (nc,), (nj,) island of each contact and joint row
    of_joints: IntArray

    @staticmethod
    def of(portion: StepSlice) -> Islands:
        """Collect the islands that contacts, joint rows or the island table of a portion name, by step and label."""
        rows = portion.recording.rows
        own, steps = rows_of(rows["island_step"], portion.steps)
        labels = (portion.column("island"), rows["joint_island"][portion.joints], rows["island_index"][own])
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
    blocks: tuple[tuple[FloatArray, IntArray], ...]  # blocks (m, n, n) of M, and their columns (m, n)

    @staticmethod
    def of(portion: StepSlice, rows: tuple[TreeRows, ...], at: IntArray, island: IntArray, M: Blocks) -> IslandSystem:
        """Return the sparse J and Y of rows given by tree, with one column block for each tree of each island.

        ``at`` and ``island`` (m,) have the step and the island of every row. M has the blocks of the steps, by tree.
        """
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
        """Return the entries of velocities (ns, nv) by column."""
        return np.asarray(v[self.at, self.dof])

    def kinetic_norm(self, v: FloatArray, count: int) -> FloatArray:
        """Return sqrt(v' M v) of every island (count,) for velocities v (n,).

        A row's rate is at most sqrt(J_i M^-1 J_i') times it: a much smaller rate is rounding of the whole motion.
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
    """Return the largest magnitude (m,) in every row of a sparse matrix."""
    count = W.shape[0]
    return largest_of(np.abs(W.data), np.repeat(np.arange(count), np.diff(W.indptr)), count)

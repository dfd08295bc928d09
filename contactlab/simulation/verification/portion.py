"""A portion of the steps of a record: states, contacts and Jacobians, and its islands as sparse matrices.

All steps of a portion are checked together, because checks of small single steps spend most of their time in calls. The
rows of all islands are one sparse matrix over the velocities of all steps; islands share no column. W = J M^-1 J^T has
an entry only if two rows act on one tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.recording import Recording
from contactlab.simulation.recording.record import surface_velocities
from contactlab.simulation.stepping import ARM, size_of
from contactlab.simulation.verification.dynamics import Blocks, Dynamics, dynamics, mass_times
from contactlab.simulation.verification.motion import BodyKinematics
from contactlab.simulation.world.world import World

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
COUPLED = 24  # contacts that share a tree with a contact, on average: they have entries in W


#: A sparse matrix of scipy, by rows.
Matrix = Any


def sparse_rows(parts: list[tuple[Any, Any, Any]], shape: tuple[int, int]) -> Matrix:
    """Return the sum of dense parts (m, q, n), each with the numbers of its rows (m, q) and columns (m, n)."""
    none = np.zeros(0, dtype=np.int64)
    rows = [np.broadcast_to(rows[..., None], part.shape).ravel() for rows, _, part in parts]
    columns = [np.broadcast_to(columns[:, None], part.shape).ravel() for _, columns, part in parts]
    values = np.concatenate([np.zeros(0), *(part.ravel() for *_, part in parts)])
    return sparse.csr_matrix((values, (np.concatenate([none, *rows]), np.concatenate([none, *columns]))), shape=shape)


def inverse(M: Blocks) -> Matrix:
    """Return M^-1 of all steps as one sparse matrix (ns nv, ns nv)."""
    nv, ns, first, parts = sum(block.shape[1] for block in M), len(M[0]) if M else 0, 0, []
    for block in M:
        places = np.arange(ns)[:, None] * nv + first + np.arange(block.shape[1])
        parts.append((places, places, np.linalg.inv(block)))
        first += block.shape[1]
    return sparse_rows(parts, (ns * nv, ns * nv))


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
    # Sparse (6 nc, ns nv), for each contact: velocity of its point and angular velocity, of B relative to A; and the
    # shares of the bodies B and A, if these are in different trees.
    points: Matrix
    sides: tuple[Matrix, Matrix]

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
        b, a = (_points(recording, side, contacts, at, state.bodies) for side in "ba")
        trees = np.append(world.body_trees, -1)
        together = trees[rows["contact_body_a"][contacts]] == trees[rows["contact_body_b"][contacts]]
        apart = sparse.diags(np.repeat(np.where(together, 0.0, 1.0), 6))
        sides = (b - a) - apart @ (b - a) + apart @ b, apart @ a
        return StepSlice(recording, steps, state, *moves, contacts, at, joints, joint_at, b - a, sides)

    def column(self, name: str) -> Any:
        """Return a column of the contact table."""
        return np.asarray(self.recording.rows[f"contact_{name}"][self.contacts])

    @cached_property
    def surfaces(self) -> FloatArray:
        """Velocity and angular velocity (nc, 6) of body A's surface at the contacts, 0 if A is not kinematic."""
        columns = {name: self.column(name) for name in ("body_a", "step", "point", "normal")}
        return surface_velocities(self.recording, SimpleNamespace(**columns))

    def speeds(self, v: FloatArray) -> FloatArray:
        """Return the relative velocities and angular velocities (nc, 6) at the contacts for velocities v (ns, nv)."""
        return np.asarray(self.points @ v.ravel()).reshape(-1, 6)

    def effect(self, impulses: FloatArray) -> FloatArray:
        """Return the sum of J^T p (ns, nv) over the contacts of each step, for impulses and moments p (nc, 6)."""
        return np.asarray(self.points.T @ impulses.ravel()).reshape(self.v.shape)


def rows_of(column: IntArray, steps: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of ``steps`` in an ascending column, and the index of each row's step in ``steps``."""
    first, last = np.searchsorted(column, steps), np.searchsorted(column, steps + 1)
    counts = last - first
    at = np.repeat(np.arange(steps.size), counts)
    return np.arange(counts.sum()) - (np.cumsum(counts) - counts)[at] + first[at], at


def _points(
    recording: Recording, side: str, contacts: IntArray, at: IntArray, bodies: dict[str, BodyKinematics]
) -> Matrix:
    """Return the velocities of the contact points, and the angular velocities, of one body of each contact."""
    world, rows = recording.world, recording.rows
    names, point, parts = world.model.names, rows["contact_point"][contacts], []
    for number, chosen in groups(rows[f"contact_body_{side}"][contacts]):
        if number < 0 or world.body_trees[number] < 0:
            continue
        body = bodies[names[number]].at(at[chosen])
        J = np.concatenate((body.point_jacobian(point[chosen]), body.Jw), axis=1)
        columns = at[chosen, None] * world.nv + np.arange(body.own.start, body.own.stop)
        parts.append((6 * chosen[:, None] + np.arange(6), columns, J))
    return sparse_rows(parts, (6 * contacts.size, bodies[WORLD].p.shape[0] * world.nv))


def groups(numbers: IntArray) -> list[tuple[int, IntArray]]:
    """Return each distinct number of (n,) with its indices, both ascending."""
    order = np.argsort(numbers, kind="stable")
    found, first = np.unique(numbers[order], return_index=True)
    return list(zip(found.tolist(), np.split(order, first)[1:], strict=True))


def distinct(columns: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the distinct rows (m, k) of k columns (n,), in order, and the index of each row among them."""
    found, number = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return found, number.ravel()


def portions(recording: Recording, steps: IntArray, pairs: int) -> Iterator[IntArray]:
    """Yield the steps in portions, as large as memory allows."""
    world, directions = recording.world, 1 + recording.stepper.edges_in(recording.world) // 2
    fixed = pairs + int((np.diff(world.tree_starts) ** 2).sum()) + (len(world.joint_rows) + 60) * world.nv
    for begin in range(0, steps.size, LONGEST):
        window = steps[begin : begin + LONGEST]
        _, at = rows_of(recording.rows["contact_step"], window)
        entries = fixed + COUPLED * directions**2 * np.bincount(at, minlength=window.size)
        yield from np.split(window, np.flatnonzero(np.diff(np.cumsum(entries) // ENTRIES)) + 1)


@dataclass(frozen=True, eq=False)
class Islands:
    """The islands in the tables of a record."""

    # (ni,) step in the portion, number within the step, and the row of the record's table; -1: without one.
    at: IntArray
    label: IntArray
    row: IntArray
    of_contacts: IntArray  # (nc,), (nj,) island of each contact and joint row
    of_joints: IntArray
    of_trees: IntArray  # (ns, nt) island of each tree, -1 without one

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
        world, trees = portion.recording.world, np.append(portion.recording.world.body_trees, -1)
        of_trees = np.full((portion.steps.size, world.tree_starts.size), -1)
        for side in "ab":
            of_trees[portion.at, trees[portion.column(f"body_{side}")]] = contacts
        for one, island, at in zip(rows["joint_row"][portion.joints], joints, portion.joint_at, strict=True):
            of_trees[at, list(world.joint_rows[one].trees)] = island
        return Islands(found[:, 0], found[:, 1], row, contacts, joints, of_trees[:, :-1])

    def kinetic_norm(self, M: Blocks, v: FloatArray) -> FloatArray:
        """Return sqrt(v' M v) of every island for velocities v (ns, nv).

        A row's rate is at most sqrt(J_i M^-1 J_i') times it: a much smaller rate is rounding of the whole motion.
        """
        energy, first = np.zeros(self.at.size), 0
        products = v * mass_times(M, v)
        for block, island in zip(M, self.of_trees.T, strict=True):
            own, first = slice(first, first + block.shape[1]), first + block.shape[1]
            np.add.at(energy, island[island >= 0], products[island >= 0, own].sum(axis=1))
        return np.sqrt(np.maximum(0.0, energy))


def largest_of(values: FloatArray, island: IntArray, count: int) -> FloatArray:
    """Return the largest of the nonnegative values (m,) of every island (count,); 0 for islands without values."""
    out = np.zeros(count)
    np.maximum.at(out, island, values)
    return out


def worst_of(values: FloatArray, island: IntArray) -> tuple[IntArray, IntArray]:
    """Return the islands with values (m,), and the index of the largest of each; NaN counts as largest."""
    order = np.lexsort((np.where(np.isnan(values), np.inf, values), island))
    last = np.flatnonzero(np.diff(island[order], append=-1))
    return island[order[last]], order[last]

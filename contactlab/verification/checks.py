"""What is asked of every step of a portion: its motion, its tables, and its islands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from contactlab.contact import BodyShape
from contactlab.recording.codecs import ForgottenMotion
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.verification.contacts import ContactRows, contact_rows, frames_of, pairs_of
from contactlab.verification.coverage import uncovered
from contactlab.verification.dynamics import free_momentum, solved, times
from contactlab.verification.island import ContactProblem, JointProblem
from contactlab.verification.islands import Islands, System, largest_entry, largest_of, worst_of
from contactlab.verification.joints import JointLaws, joint_jacobian, joint_laws, loops_of, row_forces
from contactlab.verification.motion import moved
from contactlab.verification.pair_coverage import PairCoverage
from contactlab.verification.portion import Portion, Rows, rows_of, tree_columns
from contactlab.verification.selection import Selections

SOFTENING = 1e-8  # of W's diagonal: what a body that has no room is given
ROUNDING = 1e-12  # of the time that a tree has rested
TINY = float(np.finfo(float).tiny)

#: Condition, steps in the portion, islands, rows of the contact table, values; -1 where it is of none.
Found = tuple[str, Any, Any, Any, FloatArray]


def findings(portion: Portion, pairs: PairCoverage, selections: Selections | None) -> Iterator[Found]:
    """Yield all that is said of the steps of a portion."""
    everywhere = np.arange(portion.steps.size)
    yield "form", everywhere, -1, -1, np.zeros(everywhere.size)
    yield "energy", np.repeat(everywhere, 2), -1, -1, _energies(portion).ravel()
    if portion.recording.stepper.sleep is not None:
        rightly = np.array([_sleeps_rightly(portion, s) for s in everywhere])
        yield "sleep", everywhere, -1, -1, np.where(rightly, 0.0, np.inf)
    yield from _kinematic(portion)
    yield "coverage", everywhere, -1, -1, uncovered(portion)
    yield "coverage", everywhere, -1, -1, pairs.uncovered(portion)
    recording, h = portion.recording, portion.h
    frames = frames_of(portion.column("normal"), recording.stepper.edges_in(recording.world), recording.world.plane)
    yield from _table(portion, frames)
    impulses = np.hstack((portion.column("impulse"), portion.column("moment")))
    push = portion.scattered(portion.points, portion.at, impulses)
    forces = row_forces(portion)
    # What the impulses did taken off again: near v_free, whose midpoint is looked for.
    momentum, laws, push = _free(portion, push, forces)
    M = laws.inertia(portion.state.M, h)
    yield "integration", everywhere, -1, -1, _integration(portion, M)
    yield "motion", everywhere, -1, -1, _motion(portion, laws, momentum, push, impulses, forces)
    v_free = solved(M, momentum + h[:, None] * laws.push)
    yield from _islands(portion, frames, laws, forces, v_free, M, selections)


def _free(portion: Portion, push: FloatArray, forces: FloatArray) -> tuple[FloatArray, JointLaws, FloatArray]:
    """Return M v_free (ns, nv) without what acts on joints, their laws, and what all impulses did."""
    recording, state, h = portion.recording, portion.state, portion.h
    loops = loops_of(portion)
    J = joint_jacobian(recording.world, loops)
    push = push + h[:, None] * np.einsum("sn,snv->sv", forces, J)
    guess = portion.v_plus - solved(state.M, push)
    args = (portion.v, portion.tau, h, guess, recording.stepper.gyroscopic)
    momentum = free_momentum(recording.world, state, *args)
    return momentum, joint_laws(portion, loops, J, momentum), push


def _motion(
    portion: Portion, laws: JointLaws, momentum: FloatArray, push: FloatArray, impulses: FloatArray, forces: FloatArray
) -> FloatArray:
    """Return by how much the equations of motion (ns,) are off."""
    state, v_plus, h = portion.state, portion.v_plus, portion.h[:, None]
    within = laws.within(portion.h)
    off = np.abs(times(state.M, v_plus) + within * v_plus - momentum - h * laws.push - push)
    asleep = _asleep(portion)
    # What sleeps is held: the equation is not asked of it.
    off[asleep] = 0.0
    laid = np.einsum("sn,snv->sv", np.abs(forces), np.abs(laws.J))
    size = state.momentum_size(portion.v) + state.momentum_size(v_plus)
    size += h * (np.abs(portion.tau) + state.force_size + laid)
    lengths = np.stack([np.linalg.norm(impulses[:, part], axis=1) for part in (slice(0, 3), slice(3, 6))], axis=1)
    columns = [np.stack([np.linalg.norm(one.J[:, part], axis=1) for part in (slice(0, 3), slice(3, 6))], axis=1)
               for one in portion.points]  # fmt: skip
    sizes = tuple(Rows(one.tree, one.of, J) for one, J in zip(portion.points, columns, strict=True))
    size += portion.scattered(sizes, portion.at, lengths)
    size += within * np.abs(v_plus) + h * np.abs(laws.push)
    return _largest(off, size)


def _islands(
    portion: Portion,
    frames: FloatArray,
    laws: JointLaws,
    forces: FloatArray,
    v_free: FloatArray,
    M: tuple[FloatArray, ...],
    selections: Selections | None,
) -> Iterator[Found]:
    """Yield the conditions of the islands, and whether the record has a certificate for each."""
    recording, rows, ns = portion.recording, portion.recording.rows, portion.steps.size
    numbers = rows["joint_row"][portion.joints]
    listed = np.zeros((ns, laws.lo.size), dtype=bool)
    listed[portion.joint_at, numbers] = True
    yield "rows", np.arange(ns), -1, -1, laws.unlisted(listed)
    islands = Islands.of(portion)
    count = islands.at.size
    sizes = [np.bincount(of, minlength=count) for of in (islands.of_contacts, islands.of_joints)]
    said = [np.where(islands.row >= 0, rows[f"island_{name}"][islands.row], -1) for name in ("contacts", "joints")]
    sound = (sizes[0] == said[0]) & (sizes[1] == said[1]) & (sizes[0] + sizes[1] > 0) if count else np.zeros(0, bool)
    claimed = np.abs(rows["island_measures"][islands.row, 1]) if count else np.zeros(0)
    yield "solved", islands.at, islands.label, -1, np.where(sound, claimed, np.inf)
    contacts, contact_rows_of = contact_rows(portion, v_free, frames)
    nc, n = contacts.at.size, contacts.cone.size + contacts.at.size
    members = sound[islands.of_contacts], sound[islands.of_joints]
    at = np.concatenate((contacts.at[contacts.row_contact], portion.joint_at))
    island = np.concatenate((islands.of_contacts[contacts.row_contact], islands.of_joints))
    joint_rows = _joint_rows(portion, laws, numbers, n)
    system = System.of(portion, (*contact_rows_of, *joint_rows), at, island, M)
    J, Y = (matrix[:n] for matrix in (system.J, system.Y))
    J_joints, Y_joints = (matrix[n:] for matrix in (system.J, system.Y))
    free, v_plus = system.of_columns(v_free), system.of_columns(portion.v_plus)
    lively = system.liveliness(free, count)
    # What the rows of joints do is given for the contacts, and the other way round.
    given = portion.h[portion.joint_at] * forces[portion.joint_at, numbers]
    speed = np.abs(free) + abs(Y_joints).T @ np.abs(given)
    h, z = portion.h[contacts.at], rows["contact_z"][portion.contacts]
    answers = contacts.solution(z)
    off = portion.column("moment") - h[:, None] * contacts.moments(answers[1] - answers[2])
    of_cones = islands.of_contacts[contacts.leans]
    of_rows = islands.of_contacts[contacts.row_contact]
    size = np.maximum(
        largest_of(np.abs(np.concatenate(answers[:2])), of_rows, count),
        np.maximum(
            largest_of(np.abs(answers[2]), of_rows[nc:], count), largest_of(np.abs(answers[3]), of_cones, count)
        ),
    )  # fmt: skip
    moments = _largest(off, (h * size[islands.of_contacts])[:, None] * np.ones(3))
    found, worst = worst_of(moments[members[0]], islands.of_contacts[members[0]])
    yield "impulse", islands.at[found], islands.label[found], -1, moments[members[0]][worst]
    problem = ContactProblem(
        contacts,
        islands.of_contacts,
        count,
        h,
        J,
        Y,
        J @ Y.T,
        *answers,
        free + Y_joints.T @ given,
        v_plus,
        lively,
        recording.stepper.friction == "cone",
    )
    whole = problem if members[0].all() else problem.part(members[0])
    kept = np.flatnonzero(members[0])
    for condition, own, values in whole.measures():
        own = kept[own]
        yield condition, contacts.at[own], islands.label[islands.of_contacts[own]], portion.contacts[own], values
    for condition, own, values in _projection(portion, whole, kept):
        own = kept[own]
        yield condition, contacts.at[own], islands.label[islands.of_contacts[own]], portion.contacts[own], values
    change = h[contacts.row_contact] * np.concatenate((np.abs(answers[0]), np.abs(answers[1]) + np.abs(answers[2])))
    chosen = np.flatnonzero(members[1])
    in_table = portion.joints[chosen]
    joined = JointProblem(
        numbers[chosen],
        portion.joint_at[chosen],
        islands.of_joints[chosen],
        rows["joint_force"][in_table],
        rows["joint_error"][in_table],
        rows["joint_rate"][in_table],
        J_joints[chosen],
        Y_joints[chosen],
        v_plus,
        speed + abs(Y).T @ change,
        lively[islands.of_joints[chosen]],
        portion.h[portion.joint_at[chosen]],
    )
    if selections is not None:
        selections.take(portion, whole, joined, laws, islands)
    for condition, own, values in joined.measures(laws):
        own = chosen[own]
        yield condition, portion.joint_at[own], islands.label[islands.of_joints[own]], -1, values


def _joint_rows(portion: Portion, laws: JointLaws, numbers: IntArray, first: int) -> list[Rows]:
    """Return the rows of joints of the record's table by trees, numbered from ``first`` on."""
    world = portion.recording.world
    found: dict[int, list[IntArray]] = {}
    for number in np.unique(numbers):
        own = np.flatnonzero(numbers == number)
        for tree in world.joint_rows[number].trees:
            if tree >= 0:
                found.setdefault(tree, []).append(own)
    rows = []
    for tree, parts in sorted(found.items()):
        of = np.concatenate(parts)
        J = laws.J[portion.joint_at[of], numbers[of]][:, tree_columns(world, tree)]
        rows.append(Rows(tree, first + of[:, None], J[:, None]))
    return rows


def _projection(portion: Portion, problem: ContactProblem, kept: IntArray) -> Iterator[tuple[str, IntArray, FloatArray]]:
    """Yield whether the positions of islands were projected as they should have been, or not at all.

    The worst of |min(p, w)|, w = W p + gap + h N v+, each over its scale.
    """
    contacts: ContactRows = problem.rows
    rigid = contacts.rigid & portion.recording.stepper.projection
    push = portion.column("push")[kept]
    others = np.flatnonzero((push != 0.0) & ~rigid)
    found, first = np.unique(problem.island[others], return_index=True)
    yield "projection", others[first], np.full(found.size, np.inf)
    own = np.flatnonzero(rigid)
    if not own.size:
        return
    W = problem.W[own][:, own]
    W.setdiag((1.0 + SOFTENING) * W.diagonal())
    p, gap, island, N = push[own], portion.column("gap")[kept][own], problem.island[own], problem.J[own]
    h, drive = problem.h[own], contacts.drive[own]
    w = W @ p + gap + h * (N @ problem.v_plus + drive)
    largest = largest_of(np.abs(p), island, problem.count)[island]
    scale = largest_entry(W) * largest + np.abs(gap) + h * (abs(N) @ np.abs(problem.v_plus) + np.abs(drive))
    off = np.abs(np.minimum(p / np.maximum(largest, TINY), w / np.maximum(scale, TINY)))
    _, worst = worst_of(off, island)
    yield "projection", own[worst], off[worst]


def _displacement(portion: Portion, M: tuple[FloatArray, ...]) -> FloatArray:
    """Return M^-1 N^T p (ns, nv), by which steps moved q besides."""
    push = portion.column("push")
    if not push.any():
        return np.zeros(portion.v.shape)
    shoved = push[:, None] * portion.column("normal")
    points = tuple(Rows(one.tree, one.of, one.J[:, :3]) for one in portion.points)
    return solved(M, portion.scattered(points, portion.at, shoved))


def _table(portion: Portion, frames: FloatArray) -> Iterator[Found]:
    """Yield what the contact table says twice: impulses and forces, gap and place."""
    world, rows = portion.recording.world, portion.recording.rows
    r, h, z = frames.shape[1] - 1, portion.h[portion.at][:, None], portion.column("z")
    normal, point, island = portion.column("normal"), portion.column("point"), portion.numbers("island")
    wanted = h * (z[:, :1] * normal + np.einsum("nr,nri->ni", z[:, 1 : 1 + r] - z[:, 1 + r : 1 + 2 * r], frames[:, 1:]))
    t1 = frames[:, 1]
    along = np.stack([np.sum(wanted * axis, axis=1) for axis in (normal, t1, np.cross(normal, t1))], axis=1)
    said = np.hstack((portion.column("impulse_normal")[:, None], portion.column("impulse_tangential")))
    size = h * np.abs(z[:, : 1 + 2 * r]).sum(axis=1, keepdims=True) * np.ones(6)
    off = np.hstack((portion.column("impulse") - wanted, said - along))
    yield "impulse", portion.at, island, portion.contacts, _largest(off, size)
    mu, restitution = pairs_of(world, rows, portion.contacts)
    worst = np.maximum(np.abs(portion.column("mu") - mu), np.abs(portion.column("restitution") - restitution))
    half_space = portion.numbers("half_space")
    # Points of shapes touch with themselves; of a cylinder, whose rim has none, the point is midway to the plane.
    midway = np.array([not isinstance(surface.shape, BodyShape) for surface in world.surfaces] or [False])
    own = portion.numbers("shape_b")
    whole = np.where(midway[np.clip(own, 0, midway.size - 1)] & (own >= 0) & (own < midway.size), 2.0, 1.0)
    on = half_space >= 0
    if np.any(half_space >= len(world.half_spaces)):
        raise IndexError("half-space")
    normals = np.array([plane.normal for plane in world.half_spaces]).reshape(-1, 3)
    offsets = np.array([plane.offset for plane in world.half_spaces])
    n, offset = normals[half_space[on]], offsets[half_space[on]]
    height = whole[on] * (np.sum(n * point[on], axis=1) - offset)
    scale = 1.0 + np.abs(point[on]).sum(axis=1) + np.abs(offset)
    off_plane = np.maximum(np.abs(normal[on] - n).max(axis=1, initial=0.0), np.abs(portion.column("gap")[on] - height) / scale)
    worst[on] = np.maximum(worst[on], off_plane)
    worst[~on] = np.maximum(worst[~on], np.abs(np.linalg.norm(normal[~on], axis=1) - 1.0))
    yield "geometry", portion.at, island, portion.contacts, worst


def _integration(portion: Portion, M: tuple[FloatArray, ...]) -> FloatArray:
    recording, steps, h, time = portion.recording, portion.steps, portion.h, portion.recording.time
    v_plus = portion.v_plus + _displacement(portion, M) / h[:, None]
    q = recording.q[steps]
    wanted = moved(recording.world.model, q, v_plus, h)
    # A quaternion of either sign is the same turn, but the record goes on from where it was.
    size = 1.0 + np.abs(q) + (h * np.abs(v_plus).max(axis=1, initial=0.0))[:, None]
    off = _largest(recording.q[steps + 1] - wanted, size)
    return np.maximum(off, np.abs(time[steps + 1] - time[steps] - h) / (np.abs(time[steps + 1]) + h))


def _kinematic(portion: Portion) -> Iterator[Found]:
    """Yield how far pose and twist of each kinematic body are from its motion, where the record knows it."""
    rows = portion.recording.rows
    for row, (_, motion) in enumerate(portion.recording.world.motions):
        if isinstance(motion, ForgottenMotion):
            continue
        for s, (i, h) in enumerate(zip(portion.steps, portion.h, strict=True)):
            time = float(portion.recording.time[i])
            off = []
            for state, t in ((i, time), (i + 1, time + h)):
                pose = motion.pose(t)
                wanted = np.append(pose.R.ravel(), pose.p)
                off.append((rows["motion_pose"][state, row] - wanted, wanted))
            twist = motion.twist(time + 0.5 * h)
            off.append((rows["motion_twist"][i, row] - twist, twist))
            values = [np.max(np.abs(one) / (1.0 + np.abs(wanted))) for one, wanted in off]
            yield "kinematic", np.full(len(off), s), -1, -1, np.array(values)


def _energies(portion: Portion) -> FloatArray:
    recording, (kinetic, potential) = portion.recording, np.moveaxis(portion.energies, 2, 0)
    size = np.abs(kinetic) + np.abs(potential) + 1e-3
    states = np.stack((portion.steps, portion.steps + 1), axis=1)
    off = (recording.kinetic[states] - kinetic, recording.potential[states] - potential)
    return np.maximum(*(np.abs(one) / size for one in off))


def _largest(off: FloatArray, size: FloatArray) -> FloatArray:
    """Return max |off| / size (n,) of rows (n, m); what is 0 out of nothing holds."""
    return np.asarray(np.max(np.abs(off) / np.maximum(size, TINY), axis=1, initial=0.0))


def _asleep(portion: Portion) -> Any:
    """Return which velocities (ns, nv) were held at 0."""
    asleep, starts = portion.recording.rows["asleep"][portion.steps] != 0, portion.recording.world.tree_starts
    if not asleep.shape[1]:
        return np.zeros(portion.v.shape, dtype=bool)
    return np.repeat(asleep, np.diff(starts), axis=1)


def _sleeps_rightly(portion: Portion, s: int) -> bool:
    """Return whether sleeping trees have rested, keep their bits and have no contact, and the others' rest adds up."""
    recording, i = portion.recording, int(portion.steps[s])
    world, rows, sleep = recording.world, recording.rows, recording.stepper.sleep
    if sleep is None:
        return True
    asleep, before, after = rows["asleep"][i] != 0, rows["rest"][i], rows["rest"][i + 1]
    if np.any(asleep & (before < sleep.time)) or np.any(after[asleep] != before[asleep]):
        return False
    if np.any(after[~asleep] > (before[~asleep] + portion.h[s]) * (1.0 + ROUNDING)):
        return False
    fastest = np.maximum.reduceat(np.abs(portion.v_plus[s]), world.tree_starts[:-1])
    if np.any((after > 0.0) & (fastest >= sleep.speed)) or np.any(portion.v_plus[s, _asleep(portion)[s]] != 0.0):
        return False
    chosen = rows_of(rows["contact_step"], np.array([i]))[0]
    touching = np.concatenate([rows[name][chosen] for name in ("contact_body_a", "contact_body_b")])
    bodies = np.flatnonzero(recording.asleep[i])
    if np.isin(touching, bodies).any():
        return False
    where = [world.model.q_slice(world.model.names[b]) for b in bodies]
    return all(np.array_equal(recording.q[i][own], recording.q[i + 1][own]) for own in where)

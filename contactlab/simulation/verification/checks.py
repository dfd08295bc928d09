"""Checks of every step of a slice: motion, tables, completeness of the contacts, islands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sparse

from contactlab.collision import BodyShape
from contactlab.constraint_solver.model_problem.drives import RowKind
from contactlab.multibody.spatial.arrays import BoolArray, FloatArray, IntArray
from contactlab.simulation.recording.record import asleep_dofs
from contactlab.simulation.recording.world_io import RecordedMotion
from contactlab.simulation.stepping import Sleep
from contactlab.simulation.stepping.contact_table import OPEN, SLIDE, STICK
from contactlab.simulation.verification.contacts import ContactRows, contact_rows, frames_of, pairs_of
from contactlab.simulation.verification.dynamics import (
    Blocks,
    by_tree,
    free_momentum,
    mass_solve,
    mass_times,
    solved_where_regular,
)
from contactlab.simulation.verification.equal_compliance_check import EqualComplianceCheck
from contactlab.simulation.verification.island import FAINT, NOTHING, ContactProblem, JointProblem
from contactlab.simulation.verification.joints import JointLaws, joint_jacobian, joint_laws, loops_of, row_forces
from contactlab.simulation.verification.motion import cross, integrate, rotate, shifting
from contactlab.simulation.verification.motion_checks import displacement, free_motion, projection_findings
from contactlab.simulation.verification.pair_coverage import PairCoverage, uncovered_points
from contactlab.simulation.verification.portion import (
    TINY,
    Found,
    Islands,
    StepSlice,
    inverse,
    largest_of,
    length_of,
    max_relative,
    rows_of,
    sparse_rows,
)

ROUNDING = 1e-12  # relative to the time for which a tree has rested
HEIGHT = 1e-4  # relative to the size of a world: a lift by this distance changes energies by their accuracy
WHOLE = 1e-7  # fraction of a tree's largest momentum that is rounding of its other momenta, over the tolerance


def findings(portion: StepSlice, pairs: PairCoverage, selections: EqualComplianceCheck | None) -> Iterator[Found]:
    """Check the steps of a portion, and yield a finding for each condition: its name, rows and violations.

    Findings hold all checked values, not only violations that are too large.
    """
    everywhere: IntArray = np.arange(portion.steps.size)
    yield "form", everywhere, -1, -1, np.zeros(everywhere.size)
    yield "energy", np.repeat(everywhere, 2), -1, -1, _energies(portion).ravel()
    sleep = portion.recording.stepper.sleep
    if sleep is not None:
        rightly = np.array([_check_sleep(portion, sleep, s) for s in range(everywhere.size)])
        yield "sleep", everywhere, -1, -1, np.where(rightly, 0.0, np.inf)
    yield from _kinematic(portion)
    yield "coverage", everywhere, -1, -1, uncovered_points(portion)
    yield "coverage", everywhere, -1, -1, pairs.uncovered(portion)
    recording, h = portion.recording, portion.h
    frames = frames_of(portion.column("normal"), recording.stepper.edges_in(recording.world), recording.world.plane)
    yield from table_findings(portion, frames)
    shown, wrong = pairs.wrong_contacts(portion)
    yield "geometry", portion.at[shown], portion.column("island")[shown], portion.contacts[shown], wrong
    impulses = np.hstack((portion.column("impulse"), portion.column("moment")))
    push = portion.effect(impulses)
    forces = row_forces(portion)
    loops = loops_of(portion)
    J = joint_jacobian(recording.world, loops)
    push = push + h[:, None] * np.einsum("sn,snv->sv", forces, J)
    # Subtract the effect of the impulses: the result is near v_free, where the search for its midpoint begins.
    guess = portion.v_plus - solved_where_regular(portion.state.M, push)
    args = (recording.q[portion.steps], portion.v, portion.tau, h, guess, recording.stepper.gyroscopic)
    momentum = free_momentum(recording.world, portion.state, *args)
    laws = joint_laws(portion, loops, J, momentum)
    M, islands = laws.inertia(portion.state.M, h), Islands.of(portion)
    is_free, v_end, at_free, q_end = free_motion(portion, islands, laws, M)
    momentum = np.where(is_free, mass_times(M, v_end) - h[:, None] * laws.push, momentum)
    dq = displacement(portion, islands, M, laws, frames)
    yield "integration", everywhere, -1, -1, _integration(portion, dq, at_free, q_end)
    yield from projection_findings(portion, islands, laws, dq, frames)
    yield "motion", everywhere, -1, -1, _motion(portion, laws, momentum, push, impulses, forces)
    v_free = mass_solve(M, momentum + h[:, None] * laws.push)
    yield from slip_findings(portion, frames, v_free)
    yield from island_findings(portion, islands, frames, laws, forces, v_free, M, selections)


def _motion(
    portion: StepSlice,
    laws: JointLaws,
    momentum: FloatArray,
    push: FloatArray,
    impulses: FloatArray,
    forces: FloatArray,
) -> FloatArray:
    """Return the largest residual (ns,) of M v+ = momentum + impulses, relative to the sizes of its terms.

    ``momentum`` (ns, nv) is M v_free without joint actions, ``push`` (ns, nv) the effect of all impulses, ``impulses``
    (contacts, 6) of contacts, ``forces`` (ns, n) of joint rows. Sleeping velocities are left out.
    """
    state, v_plus, h = portion.state, portion.v_plus, portion.h[:, None]
    within = laws.within(portion.h)
    off = np.abs(mass_times(state.M, v_plus) + within * v_plus - momentum - h * laws.push - push)
    # Sleeping trees do not move, so the equation does not apply to them.
    off[asleep_dofs(portion.recording, portion.steps)] = 0.0
    laid = np.einsum("sn,snv->sv", np.abs(forces), np.abs(laws.J))
    size = state.momentum_size(portion.v) + state.momentum_size(v_plus)
    lengths = np.linalg.norm(impulses.reshape(-1, 3), axis=1)
    axes = sparse.kron(sparse.eye(lengths.size), np.ones((1, 3)))
    columns = (axes @ portion.points.power(2)).sqrt()
    size += (columns.T @ lengths).reshape(size.shape)
    least = WHOLE * _momentum_scale(state.M, size)
    size += h * (np.abs(portion.tau) + state.force_size + laid) + within * np.abs(v_plus) + h * np.abs(laws.push)
    return max_relative(off, np.maximum(size, least))


def _momentum_scale(M: Blocks, size: FloatArray) -> FloatArray:
    """Return for each momentum (ns, nv) its maximum over motions of its tree with the same energy.

    |M_i v| <= sqrt(M_ii v' M v): a much smaller momentum is rounding of the whole, for example of a needle's spin.
    """

    def largest(block: FloatArray, part: FloatArray) -> FloatArray:
        own = np.sqrt(np.maximum(np.einsum("nii->ni", block), 0.0))
        speed = np.divide(part, own, out=np.zeros_like(part), where=own > 0.0)
        return np.asarray(own * speed.max(axis=1, keepdims=True, initial=0.0))

    return by_tree(largest, M, size)


def _integration(portion: StepSlice, dq: FloatArray, at_free: BoolArray, q_end: FloatArray) -> FloatArray:
    """Return the relative error (ns,) of the recorded q+ and times against an integration along v+.

    The coordinates ``at_free`` (ns, nq) of free trees end at ``q_end``.
    """
    recording, steps, h, time = portion.recording, portion.steps, portion.h, portion.recording.time
    v_plus = portion.v_plus + dq / h[:, None]
    q = recording.q[steps]
    wanted = np.where(at_free, q_end, integrate(recording.world.model, q, v_plus, h))
    # Quaternions of either sign are the same rotation, but the record continues with the same sign.
    model, length = recording.world.model, length_of(recording.world)
    shifts, moving = shifting(model)
    way = [(h * np.abs(v_plus[:, own]).max(axis=1, initial=0.0))[:, None] for own in (moving, ~moving)]
    size = np.abs(q) + np.where(shifts, length + way[0], 1.0 + way[1])
    off = max_relative(recording.q[steps + 1] - wanted, size)
    return np.maximum(off, np.abs(time[steps + 1] - time[steps] - h) / (np.abs(time[steps + 1]) + h))


def _kinematic(portion: StepSlice) -> Iterator[Found]:
    """Yield the distance of pose and twist of each kinematic body from its motion, if the record has the motion."""
    rows, length = portion.recording.rows, length_of(portion.recording.world)
    steps, begins, everywhere = portion.steps, portion.recording.time[portion.steps], np.arange(portion.steps.size)
    # A pose has rotation, then position; a twist has angular, then linear velocity.
    pose_unit, twist_unit = np.repeat((1.0, length), (9, 3)), np.repeat((1.0, length), 3)
    for row, (_, motion) in enumerate(portion.recording.world.motions):
        if isinstance(motion, RecordedMotion):
            continue
        for end, times in enumerate((begins, begins + portion.h)):
            poses = [motion.pose(float(t)) for t in times]
            wanted = np.array([np.append(pose.R.ravel(), pose.p) for pose in poses])
            off = np.abs(rows["motion_pose"][steps + end, row] - wanted)
            yield "kinematic", everywhere, -1, -1, np.max(off / (pose_unit + np.abs(wanted)), axis=1)
        twists = np.array([motion.twist(float(t)) for t in begins + 0.5 * portion.h])
        off = np.abs(rows["motion_twist"][steps, row] - twists)
        yield "kinematic", everywhere, -1, -1, np.max(off / (twist_unit + np.abs(twists)), axis=1)


def _energies(portion: StepSlice) -> FloatArray:
    """Return the relative error (ns, 2) of the recorded kinetic and potential energies at both ends of a step."""
    recording, (kinetic, potential) = portion.recording, np.moveaxis(portion.energies, 2, 0)
    world = recording.world
    mass = sum(body.inertia.mass for body in world.model.bodies if body.inertia is not None)
    lifted = mass * float(np.linalg.norm(world.model.gravity)) * length_of(world)
    size = np.maximum(np.abs(kinetic) + np.abs(potential) + HEIGHT * lifted, TINY)
    states = np.stack((portion.steps, portion.steps + 1), axis=1)
    off = (recording.kinetic[states] - kinetic, recording.potential[states] - potential)
    return np.asarray(np.maximum(*(np.abs(one) / size for one in off)))


def _check_sleep(portion: StepSlice, sleep: Sleep, s: int) -> bool:
    """Return True if the sleep of step ``s`` of the portion is right.

    Trees fall asleep only after ``sleep.time`` at rest. Sleeping ones keep q, have v_plus = 0, and no contact. Rest
    times grow by at most h per step, and only below ``sleep.speed``.
    """
    recording, i = portion.recording, int(portion.steps[s])
    world, rows = recording.world, recording.rows
    asleep, before, after = rows["asleep"][i] != 0, rows["rest"][i], rows["rest"][i + 1]
    fastest = np.maximum.reduceat(np.abs(portion.v_plus[s]), world.tree_starts[:-1])
    chosen, bodies = rows_of(rows["contact_step"], np.array([i]))[0], np.flatnonzero(recording.asleep[i])
    touching = np.concatenate([rows[name][chosen] for name in ("contact_body_a", "contact_body_b")])
    where = [world.model.q_slice(world.model.names[b]) for b in bodies]
    return not (
        np.any(asleep & (before < sleep.time))
        or np.any(after[asleep] != before[asleep])
        or np.any(after[~asleep] > (before[~asleep] + portion.h[s]) * (1.0 + ROUNDING))
        or np.any((after > 0.0) & (fastest >= sleep.speed))
        or np.any(portion.v_plus[s, asleep_dofs(recording, slice(i, i + 1))[0]] != 0.0)
        or np.isin(touching, bodies).any()
        or any(np.any(recording.q[i][own] != recording.q[i + 1][own]) for own in where)
    )


# Slip of a sliding contact, relative to the speeds without contacts, and the uncertainty of this limit by rounding.
SLIDING, EDGE = 1e-8, 1e-6


def table_findings(portion: StepSlice, frames: FloatArray) -> Iterator[Found]:
    """Check friction, gap, normal and position of the contact table against the world."""
    world = portion.recording.world
    normal, point, island = portion.column("normal"), portion.column("point"), portion.column("island")
    mu, restitution = pairs_of(portion, frames[:, 0])
    worst = np.maximum(np.abs(portion.column("mu") - mu), np.abs(portion.column("restitution") - restitution))
    half_space, own = portion.column("half_space"), portion.column("shape_b")
    # Points of shapes are the contact points; for a cylinder's rim the point is midway to the plane.
    midway = np.array([not isinstance(surface.shape, BodyShape) for surface in world.surfaces] or [False])
    whole = np.where(midway[np.clip(own, 0, midway.size - 1)] & (own >= 0) & (own < midway.size), 2.0, 1.0)
    on = half_space >= 0
    if np.any(half_space >= len(world.half_spaces)):
        raise IndexError("half-space")
    normals = np.array([plane.normal for plane in world.half_spaces]).reshape(-1, 3)
    offsets = np.array([plane.offset for plane in world.half_spaces])
    n, offset = normals[half_space[on]], offsets[half_space[on]]
    height = whole[on] * (np.sum(n * point[on], axis=1) - offset)
    scale = length_of(world) + np.abs(point[on]).sum(axis=1) + np.abs(offset)
    off_plane = np.maximum(
        np.abs(normal[on] - n).max(axis=1, initial=0.0), np.abs(portion.column("gap")[on] - height) / scale
    )
    worst[on] = np.maximum(worst[on], off_plane)
    worst[~on] = np.maximum(worst[~on], np.abs(np.linalg.norm(normal[~on], axis=1) - 1.0))
    yield "geometry", portion.at, island, portion.contacts, worst


def slip_findings(portion: StepSlice, frames: FloatArray, v_free: FloatArray) -> Iterator[Found]:
    """Check slips and modes against the velocities, v_free (ns, nv) without contacts, and fN."""
    surface_velocity = portion.surfaces[:, :3]
    after = portion.speeds(portion.v_plus)[:, :3]
    size = (abs(portion.points) @ np.abs(portion.v_plus).ravel()).reshape(-1, 6)[:, :3]
    world, free = portion.recording.world, np.linalg.norm(surface_velocity, axis=1)
    trees = np.append(world.body_trees, -1)
    speeds = np.sqrt(np.add.reduceat(portion.v_plus**2, world.tree_starts[:-1], axis=1))
    speeds = np.hstack((speeds, np.zeros((portion.steps.size, 1))))
    for side, J in zip("ba", portion.sides, strict=True):
        free += np.linalg.norm((J @ v_free.ravel()).reshape(-1, 6)[:, :3], axis=1)
        # Points on a body's axis of rotation are on it only up to rounding.
        whole = np.linalg.norm(np.sqrt(np.asarray(J.power(2).sum(axis=1))).reshape(-1, 6)[:, :3], axis=1)
        size += FAINT / 3.0 * (whole * speeds[portion.at, trees[portion.column(f"body_{side}")]])[:, None]
    normal = frames[:, 0]
    after = after - surface_velocity
    slip = np.linalg.norm(after - np.sum(after * normal, axis=1, keepdims=True) * normal, axis=1)
    if world.plane is not None:
        slip = np.linalg.norm(cross(normal, after), axis=1)
    off = max_relative((portion.column("slip") - slip)[:, None], (size + np.abs(surface_velocity)).sum(axis=1)[:, None])
    mode, edge = portion.column("mode"), SLIDING * free
    closed = portion.column("z")[:, 0] > 0.0
    near = np.abs(slip - edge) <= EDGE * (edge + size.sum(axis=1))
    wanted = np.where(closed, np.where(slip > edge, SLIDE, STICK), OPEN)
    right = (mode == wanted) | (closed & near & ((mode == SLIDE) | (mode == STICK)))
    yield "slip", portion.at, portion.column("island"), portion.contacts, np.where(right, off, np.inf)


def island_findings(
    portion: StepSlice,
    islands: Islands,
    frames: FloatArray,
    laws: JointLaws,
    forces: FloatArray,
    v_free: FloatArray,
    M: Blocks,
    selections: EqualComplianceCheck | None,
) -> Iterator[Found]:
    """Yield the conditions of the islands, and whether each has a certificate in the record."""
    recording, rows, ns = portion.recording, portion.recording.rows, portion.steps.size
    numbers = rows["joint_row"][portion.joints]
    listed = np.zeros((ns, laws.lo.size), dtype=bool)
    listed[portion.joint_at, numbers] = True
    yield "rows", np.arange(ns), -1, -1, laws.missing_rows(listed)
    count = islands.at.size
    sizes = [np.bincount(of, minlength=count) for of in (islands.of_contacts, islands.of_joints)]
    said = [np.where(islands.row >= 0, rows[f"island_{name}"][islands.row], -1) for name in ("contacts", "joints")]
    sound = (sizes[0] == said[0]) & (sizes[1] == said[1]) & (sizes[0] + sizes[1] > 0) if count else np.zeros(0, bool)
    claimed = np.abs(rows["island_measures"][islands.row, 1]) if count else np.zeros(0)
    yield "solved", islands.at, islands.label, -1, np.where(sound, claimed, np.inf)
    contacts, J = contact_rows(portion, v_free, frames)
    n = contacts.cone.size + contacts.at.size
    members = sound[islands.of_contacts], sound[islands.of_joints]
    places = portion.joint_at[:, None] * recording.world.nv + np.arange(recording.world.nv)
    of_rows = laws.J[portion.joint_at, numbers][:, None]
    J_joints = sparse_rows([(np.arange(numbers.size)[:, None], places, of_rows)], (numbers.size, J.shape[1]))
    J_joints.eliminate_zeros()
    M_inverse = inverse(M)
    Y, Y_joints = (sparse.csr_matrix(rows_of @ M_inverse) for rows_of in (J, J_joints))
    free, v_plus, lively = v_free.ravel(), portion.v_plus.ravel(), islands.kinetic_norm(M, v_free)
    # The effects of joint rows are given data for the contacts, and vice versa.
    pushing = forces[portion.joint_at, numbers]
    given = portion.h[portion.joint_at] * pushing
    h, answers = portion.h[contacts.at], contacts.solution(portion.column("z"))
    pressed = np.concatenate((answers[0], answers[1] - answers[2]))
    wanted = h[:, None] * (contacts.along.T @ pressed).reshape(-1, 6)
    axes = np.stack((frames[:, 0], frames[:, 1], cross(frames[:, 0], frames[:, 1])), axis=1)
    names = ("impulse_normal", "impulse_tangential", "impulse", "moment")
    listed_values = np.column_stack([portion.column(name) for name in names])
    off = listed_values - np.hstack((rotate(axes, wanted[:, :3]), wanted))
    z = np.abs(portion.column("z"))[:, : 2 * frames.shape[1] - 1].sum(axis=1)
    whole = largest_of(np.abs(np.concatenate(answers)), islands.of_contacts[contacts.owners], count)
    size = h[:, None] * np.repeat(np.stack((z, whole[islands.of_contacts]), axis=1), (6, 3), axis=1)
    label = islands.label[islands.of_contacts]
    yield "impulse", contacts.at, label, portion.contacts, max_relative(off, size)
    diagonal = np.concatenate(
        [np.asarray(one.multiply(other).sum(axis=1)).ravel() for one, other in ((J, Y), (J_joints, Y_joints))]
    )
    impulse, of_joints = _rated(portion, laws, contacts, islands, diagonal, answers, pushing, numbers)
    speed = np.abs(free) + abs(Y).T @ impulse[:n] + abs(Y_joints).T @ impulse[n:]
    stepper, velocities = recording.stepper, (free, Y_joints.T @ given, v_plus, speed, lively, of_joints)
    law = stepper.friction == "cone", stepper.law if stepper.asks_backend else None
    problem = ContactProblem(contacts, islands.of_contacts, count, h, J, J @ Y.T, *answers, *velocities, *law)
    for condition, own, values in problem.measures():
        own, values = own[members[0][own]], values[members[0][own]]
        yield condition, contacts.at[own], label[own], portion.contacts[own], values
    force, error, rate = (rows[f"joint_{name}"][portion.joints] for name in ("force", "error", "rate"))
    moves = J_joints, Y_joints, v_plus, speed, lively[islands.of_joints], portion.h[portion.joint_at]
    joined = JointProblem(numbers, portion.joint_at, islands.of_joints, force, error, rate, *moves)
    for condition, own, values in joined.measures(laws):
        own, values = own[members[1][own]], values[members[1][own]]
        yield condition, portion.joint_at[own], islands.label[islands.of_joints[own]], -1, values
    if selections is not None:
        yield selections.take(portion, problem, joined, laws, islands, sound)


def _rated(
    portion: StepSlice,
    laws: JointLaws,
    contacts: ContactRows,
    islands: Islands,
    own: FloatArray,
    answers: tuple[FloatArray, ...],
    pushing: FloatArray,
    numbers: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the sizes of the impulses (m,) of all rows, and by island the largest balanced force of compliant joints.

    A smaller force is rounding of the whole. ``own`` (m,) is the diagonal of J M^-1 J^T. Rows are [N; F] of contacts,
    then joint rows. ``pushing`` are the forces of the joint rows, ``numbers`` their indices in ``world.joint_rows``. A
    unilateral force counts with at least NOTHING of the island's largest. With moments, from active limits or from
    friction, balanced forces f sqrt(h W_ii + gamma) are compared.
    """
    fN, plus, minus = answers[:3]
    n, count = fN.size + plus.size, islands.at.size
    h = np.concatenate((portion.h[contacts.at[contacts.row_contact]], portion.h[portion.joint_at]))
    island = np.concatenate((islands.of_contacts[contacts.row_contact], islands.of_joints))
    soft = laws.gamma[portion.joint_at, numbers]
    gamma = np.concatenate((contacts.gamma, np.zeros(plus.size), soft))
    force = np.abs(np.concatenate((fN, plus - minus, pushing)))
    root = np.sqrt(np.maximum(0.0, h * own + gamma))
    kinds = [row.kind for row in portion.recording.world.joint_rows]
    stops = np.array([kind == RowKind.LIMIT for kind in kinds] or [False])[numbers]
    unilateral = np.concatenate((np.ones(n, dtype=bool), stops))
    # An island with moment rows has more friction rows than sliding friction.
    turning = np.zeros(island.size, dtype=bool)
    turning[fN.size : n] = contacts.cone >= fN.size
    turning[n:] = stops
    mixed = np.bincount(island[turning], minlength=count)[island] > 0
    unit = np.where(mixed, root, 1.0)
    largest = largest_of(np.where(unilateral, unit * force, 0.0), island, count)[island]
    least = np.divide(NOTHING * largest, unit, out=np.zeros_like(unit), where=unilateral & (unit > 0.0))
    # A force between bounds has the rounding of its bounds.
    ends = [np.where(np.isfinite(end), np.abs(end), 0.0)[numbers] for end in (laws.lo, laws.hi)]
    pressed = np.where(stops, force[n:], np.maximum(force[n:], FAINT * np.maximum(*ends)))
    gives = ~laws.equation[numbers]
    of_joints = largest_of(np.where(gives, root[n:] * pressed, 0.0), islands.of_joints, count)
    return h * np.maximum(force, least), of_joints

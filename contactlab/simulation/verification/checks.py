"""Checks of every step of a slice: motion, tables, completeness of the contacts, islands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from contactlab.collision import BodyShape
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.recording.record import asleep_dofs
from contactlab.simulation.recording.world_io import RecordedMotion
from contactlab.simulation.stepping.contact_table import OPEN, SLIDE, STICK
from contactlab.simulation.verification.contacts import admits, frames_of, pairs_of
from contactlab.simulation.verification.dynamics import (
    Blocks,
    by_tree,
    free_momentum,
    mass_solve,
    mass_times,
    solved_where_regular,
)
from contactlab.simulation.verification.equal_compliance_check import EqualComplianceCheck
from contactlab.simulation.verification.island import FAINT
from contactlab.simulation.verification.island_checks import island_findings
from contactlab.simulation.verification.joints import JointLaws, joint_jacobian, joint_laws, loops_of, row_forces
from contactlab.simulation.verification.motion import cross, integrate, rotate, shifting
from contactlab.simulation.verification.motion_checks import displacement, free_motion, projection_findings
from contactlab.simulation.verification.pair_coverage import PairCoverage
from contactlab.simulation.verification.portion import (
    TINY,
    Found,
    Islands,
    StepSlice,
    groups,
    length_of,
    max_relative,
    rows_of,
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
    if portion.recording.stepper.sleep is not None:
        rightly = np.array([_check_sleep(portion, s) for s in range(everywhere.size)])
        yield "sleep", everywhere, -1, -1, np.where(rightly, 0.0, np.inf)
    yield from _kinematic(portion)
    yield "coverage", everywhere, -1, -1, uncovered(portion)
    yield "coverage", everywhere, -1, -1, pairs.uncovered(portion)
    recording, h = portion.recording, portion.h
    frames = frames_of(portion.column("normal"), recording.stepper.edges_in(recording.world), recording.world.plane)
    yield from table_findings(portion, frames)
    shown, wrong = pairs.wrong_contacts(portion)
    yield "geometry", portion.at[shown], portion.column("island")[shown], portion.contacts[shown], wrong
    impulses = np.hstack((portion.column("impulse"), portion.column("moment")))
    push = portion.effect(impulses)
    forces = row_forces(portion)
    # Subtract the effect of the impulses: the result is near v_free, where the search for its midpoint begins.
    momentum, laws, push = _free(portion, push, forces)
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


def _free(portion: StepSlice, push: FloatArray, forces: FloatArray) -> tuple[FloatArray, JointLaws, FloatArray]:
    """Return M v_free (ns, nv) without joint actions, the joint laws, and the effect of all impulses (ns, nv).

    ``push`` (ns, nv) is the effect of the contact impulses, ``forces`` (ns, n) are the forces of joint rows.
    """
    recording, state, h = portion.recording, portion.state, portion.h
    loops = loops_of(portion)
    J = joint_jacobian(recording.world, loops)
    push = push + h[:, None] * np.einsum("sn,snv->sv", forces, J)
    guess = portion.v_plus - solved_where_regular(state.M, push)
    args = (recording.q[portion.steps], portion.v, portion.tau, h, guess, recording.stepper.gyroscopic)
    momentum = free_momentum(recording.world, state, *args)
    return momentum, joint_laws(portion, loops, J, momentum), push


def _motion(
    portion: StepSlice,
    laws: JointLaws,
    momentum: FloatArray,
    push: FloatArray,
    impulses: FloatArray,
    forces: FloatArray,
) -> FloatArray:
    """Return the largest residual (ns,) of M v+ = momentum + impulses, relative to the sizes of its terms.

    ``momentum`` and ``push`` (ns, nv) are from `_free`, ``impulses`` (contacts, 6) of contacts, ``forces`` (ns, n) of
    joint rows. Sleeping velocities are left out.
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


def _integration(portion: StepSlice, dq: FloatArray, at_free: NDArray[np.bool_], q_end: FloatArray) -> FloatArray:
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


def _check_sleep(portion: StepSlice, s: int) -> bool:
    """Return True if the sleep of step ``s`` of the portion is right, or the stepper has no sleep.

    Trees fall asleep only after ``sleep.time`` at rest. Sleeping ones keep q, have v_plus = 0, and no contact. Rest
    times grow by at most h per step, and only below ``sleep.speed``.
    """
    recording, i = portion.recording, int(portion.steps[s])
    world, rows, sleep = recording.world, recording.rows, recording.stepper.sleep
    if sleep is None:
        return True
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


NEAR = 1e-9  # tolerance of a listed point, relative to its distance from the origin
SLACK = 1e-5  # fraction of a shape's size by which a point must be deeper to be the deepest


def uncovered(portion: StepSlice) -> FloatArray:
    """Return for each step (ns,) the maximum of margin + h max(0, -N v) - gap over unlisted points on half-spaces.

    A support point with a positive value, in reach, must be listed as a contact; 0: all are. Values are relative to the
    world's length plus the point's coordinates. Sleeping bodies have no contacts. If contacts are reduced to four of a
    shape, points that are not deeper than all of these can be unlisted.
    """
    recording = portion.recording
    world, margin, worst = recording.world, recording.stepper.thresholds.margin, np.zeros(portion.steps.size)
    ground, shape, listed = portion.column("half_space"), portion.column("shape_b"), portion.column("point")
    names, asleep, length = world.model.names, recording.asleep[portion.steps], length_of(world)
    depth = portion.column("gap")
    of_shapes = dict(groups(np.where(ground >= 0, shape, -1)))
    none = np.zeros(0, dtype=np.int64)
    for number, (surface, index) in enumerate(zip(world.surfaces, world.surface_bodies, strict=True)):
        if world.body_trees[index] < 0 or not isinstance(surface.shape, BodyShape):
            continue
        body = portion.state.bodies[names[index]]
        points, radii = surface.support_points()
        arms = points @ np.swapaxes(body.R, 1, 2)
        v = portion.v[:, body.own]
        origin_velocity, turning = rotate(body.Jv, v), rotate(body.Jw, v)
        own = of_shapes.get(number, none)
        for s, plane in enumerate(world.half_spaces):
            if not admits(world, s, surface):
                continue
            gap = (body.p @ plane.normal - plane.offset)[:, None] + arms @ plane.normal - radii
            # The normal speed of rotation: (w x arm) . n = (n x w) . arm.
            speed = (origin_velocity @ plane.normal)[:, None] + rotate(arms, cross(plane.normal, turning))
            excess = margin + portion.h[:, None] * np.maximum(0.0, -speed) - gap
            near = (excess > 0.0) & ~asleep[:, index, None]
            mine = own[ground[own] == s]
            if recording.stepper.reduce_contacts:
                deepest = np.full(near.shape[0], np.inf)
                np.minimum.at(deepest, portion.at[mine], depth[mine])
                slack = SLACK * np.ptp(points, axis=0).max()
                near &= (near.sum(axis=1) <= 4)[:, None] | (gap < deepest[:, None] - slack)
            at, n = np.nonzero(near)
            places = body.p[at] + arms[at, n] - radii[n, None] * plane.normal
            size = length + np.abs(places).sum(axis=1)
            found = _is_listed(at, places, NEAR * size, portion.at[mine], listed[mine])
            np.maximum.at(worst, at[~found], (excess[at, n] / size)[~found])
    return worst


def _is_listed(at: IntArray, places: FloatArray, slack: FloatArray, steps: IntArray, listed: FloatArray) -> Any:
    """Return a mask (n,) of the places (n, 3) in steps ``at`` (n,) that are in the table ``listed`` (m, 3).

    ``steps`` (m,) are the steps of the table, ascending. Coordinates may differ by ``slack`` (n,).
    """
    first, last = np.searchsorted(steps, at), np.searchsorted(steps, at, side="right")
    found = np.zeros(at.size, dtype=bool)
    for k in range(int((last - first).max(initial=0))):
        own = np.flatnonzero(first + k < last)
        found[own] |= np.abs(listed[first[own] + k] - places[own]).max(axis=1) <= slack[own]
    return found


# Slip of a sliding contact, relative to the speeds without contacts, and the uncertainty of this limit by rounding.
SLIDING, EDGE = 1e-8, 1e-6


def table_findings(portion: StepSlice, frames: FloatArray) -> Iterator[Found]:
    """Check values that the contact table contains twice: impulses and forces, gap and position."""
    world = portion.recording.world
    r, h, z = frames.shape[1] - 1, portion.h[portion.at][:, None], portion.column("z")
    normal, point, island = portion.column("normal"), portion.column("point"), portion.column("island")
    wanted = h * (z[:, :1] * normal + np.einsum("nr,nri->ni", z[:, 1 : 1 + r] - z[:, 1 + r : 1 + 2 * r], frames[:, 1:]))
    t1 = frames[:, 1]
    along = np.stack([np.sum(wanted * axis, axis=1) for axis in (normal, t1, cross(normal, t1))], axis=1)
    said = np.hstack((portion.column("impulse_normal")[:, None], portion.column("impulse_tangential")))
    size = h * np.abs(z[:, : 1 + 2 * r]).sum(axis=1, keepdims=True) * np.ones(6)
    off = np.hstack((portion.column("impulse") - wanted, said - along))
    yield "impulse", portion.at, island, portion.contacts, max_relative(off, size)
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

"""The displacements by which steps undo depth in the positions, and whether their law holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from contactlab.spatial.arrays import FloatArray
from contactlab.verification.contacts import extent_of, fastest_of, normal_rates, rigid_contacts, surface_motion
from contactlab.verification.dynamics import Blocks, mass_solve
from contactlab.verification.joints import JointLaws
from contactlab.verification.motion import cross, shifting
from contactlab.verification.portion import Found, StepSlice, TreeRows

#: Depth that is left alone, by the smallest extent of the smaller body; of stops in rad or m.
ALLOWED_DEPTH, STOP_DEPTH = 1e-4, 1e-5
#: Share of these depths that is left.
LEFT = 0.9
#: Largest extents, and rad or m of stops, by which depth is undone in a second, by default.
RATE, STOP_RATE = 10.0, 100.0
#: What rounding and the part of an allowance to which depth is undone may make of a depth, by the allowance.
ROUNDING = 1e-6
#: Of the friction that a contact can bear: by how much a polygon or a certificate may be off.
COARSE = 1e-6
#: Fraction of the largest multiplier of a step that is rounding.
FAINT = 1e-9
#: Fraction of the smaller body that is the scale of depths if no depth is allowed.
LEAST_UNIT = 1e-6


def displacement(portion: StepSlice, M: Blocks, laws: JointLaws, frames: FloatArray) -> FloatArray:
    """Return M^-1 (N' p + T' s + L' p + G' y), G dq = 0, (ns, nv): by which steps moved q besides."""
    push, sideways = portion.column("push"), portion.column("push_tangential")
    of_stops = portion.recording.rows["joint_push"][portion.joints]
    if not (push.any() or sideways.any() or of_stops.any()):
        return np.zeros(portion.v.shape)
    normal, t1 = frames[:, 0], frames[:, 1]
    shoved = push[:, None] * normal + sideways[:, :1] * t1 + sideways[:, 1:] * cross(normal, t1)
    points = tuple(TreeRows(one.tree, one.of, one.J[:, :3]) for one in portion.points)
    force = portion.scattered(points, portion.at, shoved)
    numbers = portion.recording.rows["joint_row"][portion.joints]
    np.add.at(force, portion.joint_at, of_stops[:, None] * laws.J[portion.joint_at, numbers])
    dq = mass_solve(M, force)
    shifted = _shifted(portion)
    alone = shifted != 0.0
    dq[alone] = (np.maximum(shifted, 0.0) * force)[alone]
    if laws.equation.any():
        for s in np.flatnonzero(force.any(axis=1)):
            G = laws.J[s][laws.equation]
            own = tuple(block[s : s + 1] for block in M)
            Y = np.concatenate([mass_solve(own, row[None]) for row in G])
            dq[s] -= np.linalg.lstsq(G @ Y.T, G @ dq[s], rcond=1e-12)[0] @ Y
    return dq


def _shifted(portion: StepSlice) -> FloatArray:
    """Return by what share of a force (ns, nv) bodies that are free by themselves are shifted: 1 / m, -1 of turns.

    0 of all else, and of islands with rows of joints.
    """
    world, rows = portion.recording.world, portion.recording.rows
    share = np.zeros(world.nv)
    shifts = shifting(world.model)[1]
    for spec, tree in zip(world.model.bodies, world.body_trees, strict=True):
        if tree < 0 or np.count_nonzero(world.body_trees == tree) > 1 or spec.inertia is None:
            continue
        own = slice(*world.tree_starts[tree : tree + 2])
        if np.count_nonzero(shifts[own]) == (3 if world.plane is None else 2):
            share[own] = np.where(shifts[own], 1.0 / spec.inertia.mass, -1.0)
    out = np.tile(share, (portion.steps.size, 1))
    if not portion.joints.size:
        return out
    starts, trees = world.tree_starts, world.body_trees
    joined = {(int(s), int(i)) for s, i in zip(portion.joint_at, rows["joint_island"][portion.joints], strict=True)}
    of_contacts = zip(
        portion.at, portion.numbers("island"), portion.numbers("body_a"), portion.numbers("body_b"), strict=True
    )
    for s, i, a, b in of_contacts:
        if (int(s), int(i)) in joined:
            for body in (a, b):
                if body >= 0 and trees[body] >= 0:
                    out[s, starts[trees[body]] : starts[trees[body] + 1]] = 0.0
    return out


def projection_findings(portion: StepSlice, laws: JointLaws, dq: FloatArray, frames: FloatArray) -> Iterator[Found]:
    """Check that only admissible rows push, within their bounds, and that no depth exceeds the previous maximum."""
    recording, stepper = portion.recording, portion.recording.stepper
    rows, h, at, island = recording.rows, portion.h[portion.at], portion.at, portion.numbers("island")
    push, sideways = portion.column("push"), portion.column("push_tangential")
    numbers, joint_at = rows["joint_row"][portion.joints], portion.joint_at
    of_stops = rows["joint_push"][portion.joints]
    stops = np.array([row.kind.name == "STOP" and row.stiffness == row.dissipation == 0.0 for row in
                      recording.world.joint_rows] or [False])[numbers]  # fmt: skip
    rigid = rigid_contacts(portion)
    # Signs, cones, and who pushes at all.
    mu = portion.column("mu")
    # Friction forces count, to their own rounding.
    whole = np.hypot(*(sideways + h[:, None] * portion.column("impulse_tangential")).T)
    borne = push + h * portion.column("impulse_normal")
    largest_of_step = np.zeros(portion.steps.size)
    np.maximum.at(largest_of_step, at, borne)
    most = (1.0 + COARSE) * mu * np.maximum(borne, 0.0) + FAINT * largest_of_step[at]
    slides = (np.hypot(*sideways.T) > 0.0) & (whole > most)
    correction = portion.column("gap_correction")
    wrong = (push < 0.0) | ((push != 0.0) & ~rigid) | slides | ~(correction <= 0.0)
    yield "projection", at, island, portion.contacts, np.where(wrong, np.inf, 0.0)
    yield "projection", joint_at, -1, -1, np.where((of_stops < 0.0) | ((of_stops != 0.0) & ~stops), np.inf, 0.0)
    if not stepper.projection:
        off = np.where((push != 0.0).any() | (of_stops != 0.0).any(), np.inf, 0.0)
        yield "projection", np.arange(portion.steps.size), -1, -1, np.full(portion.steps.size, off)
        return
    normals = frames[:, 0]
    drive = -np.einsum("nj,nj->n", normals, surface_motion(portion, normals)[:, :3])
    given = stepper.penetration_allowance
    extent = extent_of(portion, recording.world.extents.min_width)
    allowed = ALLOWED_DEPTH * extent if given is None else np.full(at.size, given)
    gap = portion.column("gap") + h * (normal_rates(portion, normals, portion.v_plus) + drive)
    own = rigid & (stepper.max_depenetration_velocity is None or np.isfinite(stepper.max_depenetration_velocity))
    # The record has the gap corrections: they depend on velocities of the step that are not kept.
    e = np.maximum(gap + LEFT * allowed, -h * fastest_of(portion, RATE)) + correction
    gap = gap + correction
    left = e + normal_rates(portion, normals, dq)
    J = laws.J[joint_at, numbers]
    stop_gap = rows["joint_error"][portion.joints] + portion.h[joint_at] * np.einsum(
        "nv,nv->n", J, portion.v_plus[joint_at]
    )
    stop_e = np.maximum(stop_gap + LEFT * STOP_DEPTH, -portion.h[joint_at] * STOP_RATE)
    stop_left = stop_e + np.einsum("nv,nv->n", J, dq[joint_at])
    # By island: the deepest before and after, in allowances, and whether anything was too deep.
    label = np.concatenate((island, rows["joint_island"][portion.joints]))
    places = np.concatenate((at, joint_at))
    keys, key = np.unique(places * (label.max(initial=0) + 1) + label, return_inverse=True)
    unit = np.concatenate((np.maximum(allowed, LEAST_UNIT * extent), np.full(stops.size, STOP_DEPTH)))
    chosen = np.concatenate((own, stops))
    before, after, pushed = (np.zeros(keys.size) for _ in range(3))
    worst = np.full(keys.size, -np.inf)
    np.maximum.at(before, key[chosen], -(np.concatenate((e, stop_e)) / unit)[chosen])
    np.maximum.at(after, key[chosen], -(np.concatenate((left, stop_left)) / unit)[chosen])
    beyond = -np.concatenate((gap + allowed, stop_gap + STOP_DEPTH)) / unit
    np.maximum.at(worst, key[chosen], beyond[chosen])
    np.maximum.at(pushed, key[chosen], np.abs(np.concatenate((push, of_stops)))[chosen])
    step = np.zeros(keys.size, dtype=np.int64)
    step[key] = places
    idle = (pushed > 0.0) & ~(worst > -ROUNDING)
    worse = (pushed > 0.0) & (after > before * (1.0 + ROUNDING) + ROUNDING)
    yield "projection", step, keys % (label.max(initial=0) + 1), -1, np.where(idle | worse, np.inf, 0.0)

"""Checks of motion in plain numpy: free trees of several links, and displacements of the position projection.

Free trees without active rows are integrated again by the Runge-Kutta method. Displacements of the positions are
computed from a step's states, and their law is checked.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from contactlab.constraint_solver.model_problem.drives import RowKind
from contactlab.multibody.spatial.arrays import BoolArray, FloatArray
from contactlab.simulation.stepping.packing import FREE_ALONE, FREE_EULER, free_kinds
from contactlab.simulation.verification.contacts import extent_of, fastest_of, normal_rates, rigid_contacts
from contactlab.simulation.verification.dynamics import Blocks, dynamics, mass_solve, mass_times, solved_where_regular
from contactlab.simulation.verification.joints import JointLaws
from contactlab.simulation.verification.motion import cross, integrate, motions_of, shifting
from contactlab.simulation.verification.portion import Found, Islands, StepSlice, largest_of
from contactlab.simulation.world.world import World

SLOW = 1e-3  # rotation in a step [rad] below which kicked trees move by Euler's rule, as in the stepper
MAX_PARTS = 128
WILD = 0.5  # rotation in a step [rad] above which the stepper may use Euler's rule instead of the method
NEAR = 1e-6
CLOSE = 1e-10  # relative to the speeds: distance to the record at which the number of parts is found


def free_motion(
    portion: StepSlice, islands: Islands, laws: JointLaws, M: Blocks
) -> tuple[BoolArray, FloatArray, BoolArray, FloatArray]:
    """Return the motion of free trees of several links by the integration method.

    The values are a mask (ns, nv) of their velocities, the final velocities, a mask (ns, nq) of their coordinates, and
    the final coordinates, each 0 for other trees.

    M includes the implicit terms. The number of parts is not recorded: 1, 2, 4, ... are tried, until the motion equals
    the recorded one; otherwise the closest motion is returned. Fast trees whose closest motion is not near are left
    out, because the stepper may have used Euler's rule for them.
    """
    recording, world, h = portion.recording, portion.recording.world, portion.h
    out_v, out_q = np.zeros(portion.v.shape), np.zeros((len(h), world.nq))
    is_free, at_free = np.zeros(out_v.shape, dtype=bool), np.zeros(out_q.shape, dtype=bool)
    kinds = free_kinds(world) if recording.stepper.moves_accurately else np.full(len(world.tree_starts) - 1, FREE_EULER)
    free = _free_trees(portion, islands, kinds)
    chosen = np.flatnonzero(free.any(axis=1))
    if not chosen.size:
        return is_free, out_v, at_free, out_q
    starts, step = world.tree_starts, h[chosen, None]
    dofs = np.repeat(free, np.diff(starts), axis=1)[chosen]
    alone = np.repeat(kinds == FREE_ALONE, np.diff(starts))
    q, v, state = recording.q[portion.steps[chosen]], portion.v[chosen], portion.state.at(chosen)
    tau, push = portion.tau[chosen], laws.push[chosen]
    kick = mass_times(state.M, v) + step * (tau - state.weight + push)
    begin = np.where(alone, v, solved_where_regular([block[chosen] for block in M], kick)) * dofs
    wanted = portion.v_plus[chosen]
    best, q_best, off = np.zeros_like(v), np.array(q), np.full(free[chosen].shape, np.inf)
    force, left, parts = tau * alone, np.arange(chosen.size), 1
    while left.size and parts <= MAX_PARTS:
        with np.errstate(all="ignore"):  # too few parts for fast rotation
            v_end, q_end = _moved(world, q[left], begin[left], force[left], h[chosen[left]], dofs[left], alone, parts)
        gap = np.abs(v_end - wanted[left]) * dofs[left]
        by_tree = np.maximum.reduceat(gap, starts[:-1], axis=1)
        nearer = by_tree < off[left]
        own = np.repeat(nearer, np.diff(starts), axis=1)
        best[left] = np.where(own, v_end, best[left])
        q_best[left] = np.where(_places(world, nearer), q_end, q_best[left])
        off[left] = np.where(nearer, by_tree, off[left])
        size = np.abs(wanted[left] * dofs[left]).max(axis=1) + np.abs(begin[left]).max(axis=1)
        bad = np.where(free[chosen[left]], off[left], 0.0).max(axis=1) > CLOSE * size
        left, parts = left[bad], 2 * parts
    # If no motion is close, the body rotates too fast for the method.
    fast = h[chosen, None] * np.maximum.reduceat(np.abs(begin), starts[:-1], axis=1) > WILD
    size = np.maximum.reduceat(np.abs(wanted) + np.abs(begin), starts[:-1], axis=1)
    given_up = fast & (off > NEAR * size)
    free[chosen] &= ~given_up
    dofs &= ~np.repeat(given_up, np.diff(starts), axis=1)
    best *= dofs
    is_free[chosen], out_v[chosen], out_q[chosen] = dofs, best, q_best
    return is_free, out_v, _places(world, free), out_q


def _free_trees(portion: StepSlice, islands: Islands, kinds: NDArray[np.int64]) -> BoolArray:
    """Return a mask (ns, nt) of the trees that the method moves: no active rows, awake, and fast enough to need it."""
    free, asleep = (islands.of_trees < 0) & (kinds != FREE_EULER), portion.recording.rows["asleep"]
    if asleep.shape[1]:
        free &= asleep[portion.steps] == 0
    return np.asarray(free & ((kinds == FREE_ALONE) | (portion.h[:, None] * portion.state.fastest > SLOW)))


def _places(world: World, trees: BoolArray) -> BoolArray:
    """Return a mask (ns, nq) of the coordinates of the trees marked in ``trees`` (ns, nt)."""
    out = np.zeros((trees.shape[0], world.nq), dtype=bool)
    for spec, tree in zip(world.model.bodies, world.body_trees, strict=True):
        if tree >= 0:
            out[:, world.model.q_slice(spec.name)] = trees[:, [tree]]
    return out


def _moved(
    world: World,
    q: FloatArray,
    v: FloatArray,
    force: FloatArray,
    h: FloatArray,
    dofs: BoolArray,
    alone: BoolArray,
    parts: int,
) -> tuple[FloatArray, FloatArray]:
    """Return velocities (ns, nv) and configurations (ns, nq) after h (ns,), in ``parts`` Runge-Kutta steps.

    M a = force - bias for the velocities in ``dofs`` (ns, nv); a = 0 for all others, which move at constant v. Weights
    are part of the bias only for the velocities in ``alone`` (nv,). For others v must include their impulse already.
    """
    model, part, one = world.model, h[:, None] / parts, np.ones(h.size)

    def rates(d: FloatArray, v: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        state = dynamics(world, at, v)
        needed = state.bias - np.where(alone, 0.0, state.weight)
        return _displacement_rate(world, d, v), solved_where_regular(state.M, (force - needed) * dofs) * dofs

    for _ in range(parts):
        d, a = np.zeros_like(v), np.zeros_like(v)
        gone, gained, at, speed = np.zeros_like(v), np.zeros_like(v), q, v
        for share, way in ((1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)):
            r, a = rates(d, speed, at)
            gone, gained = gone + share * r, gained + share * a
            d, speed = way * part * r, v + way * part * a
            at = integrate(model, q, d, one)
        q, v = integrate(model, q, part / 6.0 * gone, one), v + part / 6.0 * gained
    return v, q


def _displacement_rate(world: World, d: FloatArray, v: FloatArray) -> FloatArray:
    """Return the rates (ns, nv) of displacements d (ns, nv) from a fixed configuration, at velocities v (ns, nv).

    A rate is v, except for rotation vectors in body axes: v + d x v / 2 + d x (d x v) / 12, to third order in d.
    """
    out = np.array(v)
    for motion, _, at in motions_of(world.model):
        if motion.nq in (4, 7):
            own = slice(at.stop - 3, at.stop)
            turn = cross(d[:, own], v[:, own])
            out[:, own] += 0.5 * turn + cross(d[:, own], turn) / 12.0
    return out


#: Allowed depth, relative to the smallest extent of the smaller body; for stops in rad or m.
ALLOWED_DEPTH, STOP_DEPTH = 1e-4, 1e-5
#: Fraction of these depths that is left.
LEFT = 0.9
#: Default correction speeds: in largest extents per second, and for stops in rad/s or m/s.
RATE, STOP_RATE = 10.0, 100.0
#: Change of a depth by rounding and by the allowed remainder, relative to the allowance.
ROUNDING = 1e-6
#: Tolerance of friction bounds for polygons and for the certificate, relative to the bound.
COARSE = 1e-6
#: Fraction of the largest multiplier of a step that is rounding.
FAINT = 1e-9
#: Fraction of the smaller body that is the scale of depths if no depth is allowed.
MIN_UNIT = 1e-6


def displacement(portion: StepSlice, islands: Islands, M: Blocks, laws: JointLaws, frames: FloatArray) -> FloatArray:
    """Return the projection's displacement M^-1 (N' p + T' s + L' p + G' y), G dq = 0, (ns, nv)."""
    push, sideways = portion.column("projection_multiplier"), portion.column("projection_multiplier_tangential")
    of_stops = portion.recording.rows["joint_projection_multiplier"][portion.joints]
    if not (push.any() or sideways.any() or of_stops.any()):
        return np.zeros(portion.v.shape)
    normal, t1 = frames[:, 0], frames[:, 1]
    shoved = push[:, None] * normal + sideways[:, :1] * t1 + sideways[:, 1:] * cross(normal, t1)
    force = portion.effect(np.hstack((shoved, np.zeros_like(shoved))))
    numbers = portion.recording.rows["joint_row"][portion.joints]
    np.add.at(force, portion.joint_at, of_stops[:, None] * laws.J[portion.joint_at, numbers])
    dq = mass_solve(M, force)
    shifted = _shifted(portion, islands)
    alone = shifted != 0.0
    dq[alone] = (np.maximum(shifted, 0.0) * force)[alone]
    if laws.equation.any():
        for s in np.flatnonzero(force.any(axis=1)):
            G = laws.J[s][laws.equation]
            own = tuple(block[s : s + 1] for block in M)
            Y = np.concatenate([mass_solve(own, row[None]) for row in G])
            dq[s] -= np.linalg.lstsq(G @ Y.T, G @ dq[s], rcond=1e-12)[0] @ Y
    return dq


def _shifted(portion: StepSlice, islands: Islands) -> FloatArray:
    """Return the shift of free bodies per force (ns, nv): 1 / m, -1 for turns.

    It is 0 for all other velocities, and in islands with joint rows.
    """
    world = portion.recording.world
    share, shifts = np.zeros(world.nv), shifting(world.model)[1]
    for spec, tree in zip(world.model.bodies, world.body_trees, strict=True):
        if tree < 0 or np.count_nonzero(world.body_trees == tree) > 1 or spec.inertia is None:
            continue
        own = slice(*world.tree_starts[tree : tree + 2])
        if np.count_nonzero(shifts[own]) == (3 if world.plane is None else 2):
            share[own] = np.where(shifts[own], 1.0 / spec.inertia.mass, -1.0)
    joined = np.isin(islands.of_trees, islands.of_joints)
    return np.where(np.repeat(joined, np.diff(world.tree_starts), axis=1), 0.0, share)


def projection_findings(
    portion: StepSlice, islands: Islands, laws: JointLaws, dq: FloatArray, frames: FloatArray
) -> Iterator[Found]:
    """Check that only admissible rows have multipliers, within their bounds, and no depth exceeds the old maximum."""
    recording, stepper = portion.recording, portion.recording.stepper
    rows, h, at, island = recording.rows, portion.h[portion.at], portion.at, portion.column("island")
    push, sideways = portion.column("projection_multiplier"), portion.column("projection_multiplier_tangential")
    numbers, joint_at = rows["joint_row"][portion.joints], portion.joint_at
    of_stops = rows["joint_projection_multiplier"][portion.joints]
    stops = np.array([row.kind is RowKind.LIMIT and row.stiffness == row.dissipation == 0.0 for row in
                      recording.world.joint_rows] or [False])[numbers]  # fmt: skip
    rigid = rigid_contacts(portion)
    # Signs, cones, and the contacts that may have multipliers.
    # Friction forces matter, up to their rounding.
    whole = np.hypot(*(sideways + h[:, None] * portion.column("impulse_tangential")).T)
    borne = push + h * portion.column("impulse_normal")
    rounding = FAINT * largest_of(borne, at, portion.steps.size)[at]
    most = (1.0 + COARSE) * portion.column("mu") * np.maximum(borne, 0.0) + rounding
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
    drive = -np.einsum("nj,nj->n", normals, portion.surfaces[:, :3])
    given = stepper.penetration_allowance
    extent = extent_of(portion, recording.world.extents.min_width)
    allowed = ALLOWED_DEPTH * extent if given is None else np.full(at.size, given)
    gap = portion.column("gap") + h * (normal_rates(portion, normals, portion.v_plus) + drive)
    own = rigid & (stepper.max_depenetration_velocity is None or np.isfinite(stepper.max_depenetration_velocity))
    # The gap corrections are taken from the record, because they depend on velocities that are not recorded.
    e = np.maximum(gap + LEFT * allowed, -h * fastest_of(portion, RATE)) + correction
    gap = gap + correction
    left = e + normal_rates(portion, normals, dq)
    J = laws.J[joint_at, numbers]
    stop_gap = rows["joint_error"][portion.joints] + portion.h[joint_at] * np.einsum(
        "nv,nv->n", J, portion.v_plus[joint_at]
    )
    stop_e = np.maximum(stop_gap + LEFT * STOP_DEPTH, -portion.h[joint_at] * STOP_RATE)
    stop_left = stop_e + np.einsum("nv,nv->n", J, dq[joint_at])
    # By island: the largest depth before and after, relative to the allowed depth, and whether any row was too deep.
    key, count = np.concatenate((islands.of_contacts, islands.of_joints)), islands.at.size
    unit = np.concatenate((np.maximum(allowed, MIN_UNIT * extent), np.full(stops.size, STOP_DEPTH)))
    chosen = np.concatenate((own, stops))
    beyond = ROUNDING - np.concatenate((gap + allowed, stop_gap + STOP_DEPTH)) / unit
    depths = (-np.concatenate((e, stop_e)) / unit, -np.concatenate((left, stop_left)) / unit)
    measures = (*depths, beyond, np.abs(np.concatenate((push, of_stops))))
    before, after, worst, pushed = (largest_of(one[chosen], key[chosen], count) for one in measures)
    wrong = ~(worst > 0.0) | (after > before * (1.0 + ROUNDING) + ROUNDING)
    yield "projection", islands.at, islands.label, -1, np.where((pushed > 0.0) & wrong, np.inf, 0.0)

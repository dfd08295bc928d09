"""Trees of several links in steps in which no row acts on them: the Runge-Kutta method once more, in plain numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.packing import FREE_ALONE, FREE_EULER, free_kinds, moves_accurately
from contactlab.verification.dynamics import Blocks, dynamics, mass_times, solved_where_regular, weights
from contactlab.verification.motion import cross, integrate

if TYPE_CHECKING:
    from contactlab.verification.joints import JointLaws
    from contactlab.verification.portion import StepSlice
    from contactlab.world.world import World

SLOW = 1e-3  # radians in a step below which trees on which other things may act move by Euler's rule, as in the stepper
MOST_PARTS = 128
WILD = 0.5  # radians in a step from which on the method may be given up, for Euler's rule
NEAR = 1e-6
CLOSE = 1e-10  # of the speeds: how near the record a motion in so many parts has to be to be the one


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """End states of the free trees of a slice by the integration method."""

    dofs: NDArray[np.bool_]  # (ns, nv) velocities of such trees
    places: NDArray[np.bool_]  # (ns, nq) and their coordinates
    v: FloatArray  # (ns, nv) at the end, elsewhere 0
    q: FloatArray  # (ns, nq)


def free_motion(portion: StepSlice, laws: JointLaws, M: Blocks) -> FreeMotion | None:
    """Return the motion of free trees of several links; None without any.

    M has in it what acts within the mass matrix. In how many parts the method has gone is not on record: 1, 2, 4, ...
    are tried, until the motion is that of the record, or the nearest.
    """
    recording, world, h = portion.recording, portion.recording.world, portion.h
    kinds = free_kinds(world) if moves_accurately(recording.stepper) else np.zeros(0, dtype=np.int64)
    if not np.any(kinds != FREE_EULER):
        return None
    free = _free_trees(portion, kinds)
    chosen = np.flatnonzero(free.any(axis=1))
    if not chosen.size:
        return None
    starts, step = world.tree_starts, h[chosen, None]
    dofs = np.repeat(free, np.diff(starts), axis=1)[chosen]
    alone = np.repeat(kinds == FREE_ALONE, np.diff(starts))
    q, v, state = recording.q[portion.steps[chosen]], portion.v[chosen], portion.state.at(chosen)
    tau, push = portion.tau[chosen], laws.push[chosen]
    kick = mass_times(state.M, v) + step * (tau - weights(world, state.bodies) + push)
    begin = np.where(alone, v, solved_where_regular([block[chosen] for block in M], kick)) * dofs
    wanted = portion.v_plus[chosen]
    best, q_best, off = np.zeros_like(v), np.array(q), np.full(free[chosen].shape, np.inf)
    force, left, parts = tau * alone, np.arange(chosen.size), 1
    while left.size and parts <= MOST_PARTS:
        with np.errstate(all="ignore"):  # too few parts for what turns fast
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
    # Without a solution nearby the body rotates too fast for the method.
    fast = h[chosen, None] * np.maximum.reduceat(np.abs(begin), starts[:-1], axis=1) > WILD
    size = np.maximum.reduceat(np.abs(wanted) + np.abs(begin), starts[:-1], axis=1)
    given_up = fast & (off > NEAR * size)
    free[chosen] &= ~given_up
    dofs &= ~np.repeat(given_up, np.diff(starts), axis=1)
    best *= dofs
    out = FreeMotion(
        np.zeros(portion.v.shape, dtype=bool),
        _places(world, free),
        np.zeros(portion.v.shape),
        np.zeros((len(h), world.nq)),
    )
    out.dofs[chosen], out.v[chosen], out.q[chosen] = dofs, best, q_best
    return out


def _free_trees(portion: StepSlice, kinds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which trees (ns, nt) move by the method: on which no row acts, awake, and fast enough to need it."""
    recording, world = portion.recording, portion.recording.world
    rows, trees = recording.rows, world.body_trees
    free = np.tile(kinds != FREE_EULER, (portion.steps.size, 1))
    for side in "ab":
        body = portion.numbers(f"body_{side}")
        known = (body >= 0) & (trees[np.maximum(body, 0)] >= 0)
        free[portion.at[known], trees[body[known]]] = False
    for number, at in zip(rows["joint_row"][portion.joints], portion.joint_at, strict=True):
        free[at, list(world.joint_rows[number].trees)] = False
    if rows["asleep"].shape[1]:
        free &= rows["asleep"][portion.steps] == 0
    fastest = np.zeros(free.shape)
    for spec, tree in zip(world.model.bodies, trees, strict=True):
        if tree >= 0 and spec.inertia is not None and spec.inertia.mass > 0.0:
            speed = np.linalg.norm(portion.state.bodies[spec.name].w, axis=1)
            fastest[:, tree] = np.maximum(fastest[:, tree], speed)
    return np.asarray(free & ((kinds == FREE_ALONE) | (portion.h[:, None] * fastest > SLOW)))


def _places(world: World, trees: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which coordinates (ns, nq) are of the trees (ns, nt) marked."""
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
    dofs: NDArray[np.bool_],
    alone: NDArray[np.bool_],
    parts: int,
) -> tuple[FloatArray, FloatArray]:
    """Return velocities (ns, nv) and configurations (ns, nq) after h (ns,), in so many parts."""
    model, part, one = world.model, h[:, None] / parts, np.ones(h.size)

    def rates(d: FloatArray, v: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        state = dynamics(world, at, v)
        needed = state.bias - np.where(alone, 0.0, weights(world, state.bodies))
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
    """Return the rates of displacements d (ns, nv): v, except for rotation vectors, in body axes."""
    out = np.array(v)
    for spec in world.model.bodies:
        at = world.model.v_slice(spec.name).start
        for motion in spec.joint.chain():
            if motion.nq in (4, 7):
                own = slice(at + motion.nv - 3, at + motion.nv)
                turn = cross(d[:, own], v[:, own])
                out[:, own] += 0.5 * turn + cross(d[:, own], turn) / 12.0
            at += motion.nv
    return out

"""Steps too long for the motion: a step sees contacts at its start, as planes with a depth.

A body that only shifts, however far, meets a half-space correctly, because the plane is the same everywhere. For any
other shape it may miss a contact, or be stopped where it would have passed. The same is true for rotating bodies, whose
points leave their tangents. So no motion is too long by itself, only relative to nearby shapes. A step is too long if a
shape passes another by more than its own length, by the step or at the velocity before it. It is also too long if a
surface turns by more than a radian near another shape, or if a shape ends inside a half-space. Rotation about an axis
of symmetry moves no surface.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from contactlab.multibody import body_poses, point_velocity_6d
from contactlab.multibody.bodies import WORLD, joint_axes
from contactlab.multibody.joints import FloatingBase
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.stepping.prepared import world_arrays
from contactlab.simulation.world.collision_filter import build_collision_filter
from contactlab.simulation.world.world import World

#: Distance past another shape in a step, in own lengths; angle by which a surface turns near another shape [rad].
WAY, TURN = 1.0, 1.0
#: Lateral distance, in own lengths, within which a passed shape counts.
BESIDE = 0.5
#: Final depth in a half-space, relative to the thickness, above which it is not rounding of the geometry.
DEPTH = 0.1
# Limits: steps inspected closely, the longest first; shapes in all of them together; motions of these shapes.
LOOK, SHAPES, CLOSE = 1000, 200_000, 20_000
# Bound of all steps together below which no step is suspected; below 1, because of rounding.
SURELY = 0.9
# Maximum speed whose square is finite.
FASTEST = 1e100


@dataclass(frozen=True, eq=False)
class StepMotions:
    """n steps of a world, not necessarily consecutive."""

    world: World
    q: FloatArray  # (n, nq) start of each step
    v: FloatArray  # (n, nv)
    q_next: FloatArray
    v_next: FloatArray
    h: FloatArray  # (n,) [s]
    # (n, motions, 12) poses of kinematic bodies: rotation and origin.
    pose: FloatArray
    pose_next: FloatArray
    # The name of a step.
    name: Callable[[int], str] = "step {}".format

    def of(self, steps: IntArray) -> StepMotions:
        """Return the motions of the steps with the indices ``steps``."""
        states = {part: getattr(self, part)[steps] for part in ("q", "v", "q_next", "v_next", "h", "pose", "pose_next")}
        return replace(self, **states)


def long_steps(moves: StepMotions) -> tuple[int, int, float, str] | None:
    """Return the number of too long steps, the worst one, its ratio, and a text about it; None without any."""
    world = moves.world
    if not len(moves.h) or not world.surfaces or len(world.surfaces) + len(world.half_spaces) < 2:
        return None
    with np.errstate(all="ignore"):  # diverging motion
        if not world.motions and np.max(_bounds(_fastest(moves))) <= SURELY:
            return None
        bounds = _bounds(moves)
        suspects = np.flatnonzero(~(bounds <= 1.0))
        if not suspects.size:
            return None
        look = min(LOOK, max(1, SHAPES // len(world.surfaces)))
        steps = np.sort(suspects[np.argsort(-bounds[suspects])[:look]])
        step, shape, ratio, text = _inspect_motions(moves.of(steps))
    if not step.size:
        return None
    i, k = steps[step[0]], shape[0]
    who, when = world.model.names[world.surface_bodies[k]], moves.name(int(i))
    h, count = float(moves.h[i]), np.unique(step).size
    least = "at least " if suspects.size > look else ""
    text = (
        f"'{who}' {text}, in {when} of h = {h:g} s ({least}{count} such steps): contacts are found at the "
        f"start of a step; h = {0.5 * h / ratio[0]:.1g} s would do"
    )
    return count, int(i), float(ratio[0]), text


def _fastest(moves: StepMotions) -> StepMotions:
    """Return one step with the largest motion in every coordinate: its bound covers all steps."""
    speeds = np.maximum(np.max(np.abs(moves.v), axis=0), np.max(np.abs(moves.v_next), axis=0))[None]
    q, ways = np.max(np.abs(moves.q), axis=0)[None], np.max(np.abs(moves.q_next - moves.q), axis=0)[None]
    return replace(moves, q=q, v=speeds, q_next=q + ways, v_next=speeds, h=np.max(moves.h, keepdims=True))


def _bounds(moves: StepMotions) -> FloatArray:
    """Return an upper bound (n,) of each step's motion over the allowed motion; it needs no poses of bodies.

    The axes of a joint move by the rotation of the joints before it, times a lever. The lever is the placement of the
    joint plus the distance that it has slid. Free bodies move by q too, because a projection shifts them without
    velocity.
    """
    world, extents, owners = moves.world, moves.world.extents, list(moves.world.surface_bodies)
    members, turns, shifts, slides, turning, placed, free = _chains_of(world)
    ways = (moves.h[:, None] * np.maximum(np.abs(moves.v), np.abs(moves.v_next))).T
    angle = turning @ ways
    lever = placed + slides @ np.abs(moves.q.T)
    shifted = shifts @ ways
    if free.size:
        jumps = (moves.q_next - moves.q)[:, free[:, 1:] + np.arange(3)]
        shifted[free[:, 0]] = np.maximum(shifted[free[:, 0]], np.linalg.norm(jumps, axis=2).T)
    way = members @ (shifted + lever * (angle - turns @ ways))
    for row, (body, _) in enumerate(world.motions):
        pose, after = moves.pose[:, row], moves.pose_next[:, row]
        way[body], angle[body] = np.linalg.norm(after[:, 9:] - pose[:, 9:], axis=1), _angle(pose[:, :9], after[:, :9])
    far = np.linalg.norm(extents.center, axis=1)[:, None]
    ratio = (way[owners] + angle[owners] * far) / (WAY * extents.max_length[:, None])
    sweeps = np.asarray(extents.rotation_to_motion.any(axis=(1, 2)))[:, None] & (angle[owners] > TURN)
    return np.asarray(np.maximum(ratio, np.where(sweeps, angle[owners] / TURN, 0.0)).max(axis=0))


# A world never changes.
_CHAINS: WeakKeyDictionary[World, tuple[Any, ...]] = WeakKeyDictionary()


def _chains_of(world: World) -> tuple[Any, ...]:
    """Return sparse matrices with a row for each body, with entries of 1; cached by world.

    Their columns are the bodies between it and the world, itself included; the coordinates v of its joint that rotate,
    and that shift; the coordinates q of a joint that shifts; and all coordinates v that rotate the body. Further the
    distances (nb, 1) of joints from their parents, and (k, 2) the free bodies: number, first q.
    """
    if world not in _CHAINS:
        model = world.model
        sizes = (model.nb, model.nv, model.nv, model.nq)
        found: list[Any] = [sparse.lil_matrix((model.nb, size)) for size in sizes]
        members, turns, shifts, slides = found
        for i, spec in enumerate(model.bodies):
            if spec.parent != WORLD:
                members[i] = members[model.index(spec.parent)]
            members[i, i] = 1.0
            for k, axis in enumerate(joint_axes(spec.joint), start=model.v_slice(spec.name).start):
                turns[i, k], shifts[i, k] = "R" in axis, "T" in axis
                if "T" in axis:
                    slides[i, model.q_slice(spec.name)] = 1.0
        bodies = enumerate(model.bodies)
        free = [(i, model.q_slice(one.name).start) for i, one in bodies if isinstance(one.joint, FloatingBase)]
        rows = [matrix.tocsr() for matrix in found]
        placed = np.array([[np.linalg.norm(one.placement.p)] for one in model.bodies])
        _CHAINS[world] = *rows, rows[0] @ rows[1], placed, np.array(free, dtype=np.int64).reshape(-1, 2)
    return _CHAINS[world]


def _angle(R: FloatArray, after: FloatArray) -> FloatArray:
    """Return the angles (n,) between rotations given as rows (n, 9)."""
    return np.asarray(np.arccos(np.clip(0.5 * (np.sum(R * after, axis=1) - 1.0), -1.0, 1.0)))


def _inspect_motions(moves: StepMotions) -> tuple[IntArray, IntArray, FloatArray, str]:
    """Return steps, shapes and ratios of the motions that are too long, the worst first, and a text about the first."""
    world, n = moves.world, len(moves.h)
    extents, bodies = world.extents, np.array(world.surface_bodies)
    R, p = body_poses(world.model, np.concatenate((moves.q, moves.q_next)))
    for row, (body, _) in enumerate(world.motions):
        pose_values = np.concatenate((moves.pose[:, row], moves.pose_next[:, row]))
        R[:, body], p[:, body] = pose_values[:, :9].reshape(-1, 3, 3), pose_values[:, 9:]
    middle = p[:, bodies] + np.einsum("nkij,kj->nki", R[:, bodies], extents.center)
    frames = np.einsum("nkij,kjl->nkil", R[:n, bodies], extents.axes)
    at, way = middle[:n], middle[n:] - middle[:n]
    meant, turned = _rates(moves, R)
    stopped = np.linalg.norm(meant, axis=2) > np.linalg.norm(way, axis=2)
    way = np.where(stopped[..., None], meant, way)
    moved = np.linalg.norm(way, axis=2) / (WAY * extents.max_length)
    ratio = np.maximum(moved, turned)
    step, shape = np.nonzero(ratio > 1.0)
    worst = np.argsort(-ratio[step, shape], kind="stable")[:CLOSE]
    step, shape = step[worst], shape[worst]
    may = _may_touch(world)
    past = np.full(step.size, -1)
    portion = max(1, 200_000 // len(bodies))
    for first in range(0, step.size, portion):
        rows = slice(first, first + portion)
        i, k = step[rows], shape[rows]
        # A ball around the first shape moves relative to the second: does it come near the second's box?
        apart, shift = at[i, k][:, None] - at[i], way[i, k][:, None] - way[i]
        long = np.linalg.norm(shift, axis=2) > WAY * extents.max_length[k][:, None]
        doubtful = may[k] & (long & np.isfinite(extents.reach) | (turned[i, k] > 1.0)[:, None])
        apart, shift = (np.einsum("nkji,nkj->nki", frames[i], part) for part in (apart, shift))
        room = extents.half + (extents.reach[k] + BESIDE * extents.max_length[k])[:, None, None]
        enters, leaves = np.sort(((-room - apart) / shift, (room - apart) / shift), axis=0)
        # Axes without relative motion.
        still = shift == 0.0
        enters[still], leaves[still] = -np.inf, np.where(np.abs(apart[still]) <= room[still], np.inf, -np.inf)
        when = np.maximum(np.max(enters, axis=2), 0.0)
        when[~(doubtful & (when <= np.minimum(np.min(leaves, axis=2), 1.0)))] = np.inf
        near = np.argmin(when, axis=1)
        past[rows] = np.where(np.isfinite(when[np.arange(near.size), near]), near, -1)
    planes, deep = _planes(moves, R[n:], p[n:], middle, turned, step, shape)
    keep = np.flatnonzero((past >= 0) | (planes >= 0))
    if not keep.size:
        return step[keep], shape[keep], np.zeros(0), ""
    a, i, k = keep[0], step[keep[0]], shape[keep[0]]
    name = repr(world.model.names[bodies[past[a]]] if past[a] >= 0 else world.half_space_names[planes[a]])
    if deep[a] > 0.0 or moved[i, k] >= turned[i, k]:
        text = f"moves {np.linalg.norm(way[i, k]):.3g} m, {moved[i, k]:.2g} times its length, "
        onwards = f"{'towards' if stopped[i, k] else 'past'} {name}"
        text += onwards if past[a] >= 0 else f"and ends {deep[a]:.3g} m inside {name}"
    else:
        text = f"turns by {turned[i, k]:.2g} rad beside {name}"
    return step[keep], shape[keep], ratio[step[keep], shape[keep]], text


def _rates(moves: StepMotions, R: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return motions (n, k, 3) of shapes' middles at the initial velocity [m], and angles (n, k) of surfaces."""
    world, n = moves.world, len(moves.h)
    ways, angles = np.zeros((n, len(world.surfaces), 3)), np.zeros((n, len(world.surfaces)))
    kinematic = {body for body, _ in world.motions}
    for body in sorted(set(world.surface_bodies)):
        shapes = np.flatnonzero(np.array(world.surface_bodies) == body)
        if body in kinematic:
            angles[:, shapes] = _angle(R[:n, body].reshape(n, 9), R[n:, body].reshape(n, 9))[:, None]
        elif moves.v.size:
            name, parts = world.model.names[body], world.extents.rotation_to_motion[shapes]
            v, after = (np.clip(one, -FASTEST, FASTEST) for one in (moves.v, moves.v_next))
            for k in shapes:
                at = point_velocity_6d(world.model, moves.q, v, name, world.extents.center[k])
                ways[:, k] = at[:, 3:] * moves.h[:, None]
            for speed in (v, after) if parts.any() else ():
                w = point_velocity_6d(world.model, moves.q, speed, name, (0.0, 0.0, 0.0))[:, :3]
                own = np.einsum("kij,nlj,nl->nki", parts, R[:n, body], w * moves.h[:, None])
                angles[:, shapes] = np.maximum(angles[:, shapes], np.linalg.norm(own, axis=2) / TURN)
    return ways, angles


def _planes(
    moves: StepMotions,
    R: FloatArray,
    p: FloatArray,
    middle: FloatArray,
    turned: FloatArray,
    step: IntArray,
    shape: IntArray,
) -> tuple[IntArray, FloatArray]:
    """Return a half-space and a depth for m motions, of shapes ``shape`` (m,) in steps ``step`` (m,).

    If the shape ends deeper than DEPTH times its thickness, the half-space is the one with the largest depth [m].
    Otherwise it is one next to which the shape turns too far, or -1, and the depth is 0. R (n, nb, 3, 3) and p (n, nb,
    3) have the poses at the end of all n steps, ``middle`` (2 n, k, 3) the shapes' middles at all starts, then at all
    ends. ``turned`` (n, k) are the angles over the allowed one.
    """
    world, n = moves.world, len(moves.h)
    extents, out, deep = world.extents, np.full(step.size, -1), np.zeros(step.size)
    bodies, may = np.array(world.surface_bodies), world_arrays(world).packed.pair_mu
    for s, plane in enumerate(world.half_spaces):
        heights = middle @ plane.normal - plane.offset
        start, end = heights[:n][step, shape], heights[n:][step, shape]
        meets = (np.minimum(start, end) <= extents.reach[shape]) & (may[shape, s] >= 0.0)
        out[meets & (turned[step, shape] > 1.0)] = s
        for a in np.flatnonzero(meets & (end <= extents.reach[shape])):
            points, radii = extents.outlines[shape[a]]
            body = bodies[shape[a]]
            normal = plane.normal @ R[step[a], body]
            low = float(np.min(points @ normal - radii)) + float(plane.normal @ p[step[a], body]) - plane.offset
            if -low > max(DEPTH * extents.min_width[shape[a]], deep[a]):
                out[a], deep[a] = s, -low
    return out, deep


def _may_touch(world: World) -> NDArray[np.bool_]:
    """Return a mask (n, n) of the pairs of shapes of bodies that can touch."""
    touching, n = build_collision_filter(world), len(world.surfaces)
    may = np.zeros((n, n), dtype=bool)
    if touching is None:
        return may
    category, mask, link = touching.category[:n], touching.mask[:n], touching.link[:n]
    may |= (category[:, None] & mask != 0) & (category & mask[:, None] != 0) & (link[:, None] != link)
    i, j = np.divmod(touching.excluded, touching.body.size)
    own = (i < n) & (j < n)
    may[i[own], j[own]] = may[j[own], i[own]] = False
    return may

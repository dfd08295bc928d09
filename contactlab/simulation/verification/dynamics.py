"""The equations of motion of steps without contacts, in plain numpy: M, M v_free, and the energies.

M is stored tree by tree; arrays of many states have the states as first axis, as in `motion`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from contactlab.multibody import Model
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.verification.motion import (
    BodyKinematics,
    cross,
    integrate,
    moving_bodies,
    rotate,
    skew,
    tree_roots,
)
from contactlab.simulation.world.world import World

#: Matrices (ns, n, n) of every tree, in the order of its velocities.
Blocks = tuple[FloatArray, ...]

ITERATIONS = 30
SHORTEST = 1e-9  # minimum fraction of a Newton step
PARTS = 1024
# Rotation in a step [rad] above which fewer parts are tried, and their maximum number: each part takes as long.
WILD, TRIED = 4096.0, 32
FEW = 0.5  # rotation in a step [rad] below which its equation is always solved in one part
CLOSE = 1e-9  # relative
# Rotations in a step [rad] between which the limit of velocity products of fast trees begins, as in the stepper.
BEGINS, WHOLE = 0.1, 0.2
SETTLED = 1e-14  # change of a Newton step, relative to the speeds, that is rounding


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Quantities of steps that depend only on their initial states."""

    bodies: dict[str, BodyKinematics]  # frames by the bodies' names
    M: Blocks  # mass matrix
    bias: FloatArray  # (ns, nv) generalised force of weight and velocity products, on the left-hand side
    weight: FloatArray  # (ns, nv) the part of the weight
    fastest: FloatArray  # (ns, nt) largest angular speed of a heavy body in each tree [rad/s]
    # (ns, nv) the sum of the magnitudes of ``bias``'s terms: the scale of its rounding. Magnitudes are lengths of
    # vectors, not of entries, because an entry that vanishes for the chosen axes is rounded like the whole vector.
    force_size: FloatArray
    # For each heavy body: the slice of its tree in v, the Jacobians (2, ns, 3, n) of its centre of mass and its
    # rotation, and the lengths of their columns (2, ns, n) times its mass and its largest moment of inertia.
    spread: tuple[tuple[slice, FloatArray, FloatArray], ...]
    # (ns,) energies [J].
    kinetic: FloatArray
    potential: FloatArray

    def at(self, states: Any) -> Dynamics:
        """Return the quantities of the selected states."""
        return Dynamics(
            {name: body.at(states) for name, body in self.bodies.items()},
            tuple(block[states] for block in self.M),
            self.bias[states],
            self.weight[states],
            self.fastest[states],
            self.force_size[states],
            tuple((own, J[:, states], size[:, states]) for own, J, size in self.spread),
            self.kinetic[states],
            self.potential[states],
        )

    def momentum_size(self, v: FloatArray) -> FloatArray:
        """Return the sum of the magnitudes (ns, nv) of the terms of M v, before any cancellation."""
        size = mass_times([np.abs(block) for block in self.M], np.abs(v))
        for own, J, lengths in self.spread:
            speeds = np.linalg.norm(rotate(J, v[:, own]), axis=2, keepdims=True)
            size[:, own] += (lengths * speeds).sum(axis=0)
        return size


def by_tree(change: Callable[[FloatArray, FloatArray], FloatArray], M: Any, v: FloatArray) -> FloatArray:
    """Return a vector (ns, nv) whose part of every tree is a function of its block of M and of its part of v."""
    if not M:
        return np.zeros_like(v)
    ends = np.cumsum([block.shape[1] for block in M])
    parts = np.split(v, ends[:-1], axis=1)
    return np.concatenate([change(block, part) for block, part in zip(M, parts, strict=True)], axis=1)


def mass_times(M: Any, v: FloatArray) -> FloatArray:
    """Return M v (ns, nv), tree by tree."""
    return by_tree(rotate, M, v)


def mass_solve(M: Any, momentum: FloatArray) -> FloatArray:
    """Return M^-1 p (ns, nv), tree by tree."""
    return by_tree(_solved, M, momentum)


def solved_where_regular(M: Any, momentum: FloatArray) -> FloatArray:
    """Return M^-1 p (ns, nv), zero for trees whose M is singular without damping and drives."""

    def solved(block: FloatArray, part: FloatArray) -> FloatArray:
        with contextlib.suppress(np.linalg.LinAlgError):
            return _solved(block, part)
        return np.zeros_like(part)

    return by_tree(solved, M, momentum)


def _solved(M: FloatArray, p: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(M, p[..., None])[..., 0])


def dynamics(world: World, q: FloatArray, v: FloatArray) -> Dynamics:
    """Return the dynamics at states q (ns, nq), v (ns, nv), with all velocity products evaluated there."""
    bodies, ns, gravity = moving_bodies(world, q, v), q.shape[0], world.model.gravity
    M = tuple(np.zeros((ns, n, n)) for n in np.diff(world.tree_starts))
    bias, weight, size = np.zeros((3, ns, world.nv))
    potential, fastest, spread = np.zeros(ns), np.zeros((ns, len(M))), []
    for spec, tree in zip(world.model.bodies, world.body_trees, strict=True):
        own = spec.inertia
        if own is None:
            continue
        body = bodies[spec.name]
        com = body.p + rotate(body.R, own.com)
        potential -= own.mass * (com @ gravity)
        if tree < 0:
            continue
        inertia = body.R @ own.inertia @ np.swapaxes(body.R, 1, 2)
        J, Jw = body.point_jacobian(com), body.Jw
        Jt, Jwt = np.swapaxes(J, 1, 2), np.swapaxes(Jw, 1, 2)
        M[tree][...] += own.mass * Jt @ J + Jwt @ inertia @ Jw
        acceleration = body.point_acceleration(com)
        bias[:, body.own] += rotate(Jt, own.mass * (acceleration - gravity))
        weight[:, body.own] -= own.mass * (Jt @ gravity)
        if own.mass > 0.0:
            fastest[:, tree] = np.maximum(fastest[:, tree], np.linalg.norm(body.w, axis=1))
        bias[:, body.own] += rotate(Jwt, rotate(inertia, body.alpha) + cross(body.w, rotate(inertia, body.w)))
        moment = float(np.abs(np.linalg.eigvalsh(own.inertia)).max())
        both = np.stack((J, Jw))
        lengths = np.linalg.norm(both, axis=2) * np.array([own.mass, moment]).reshape(2, 1, 1)
        spread.append((body.own, both, lengths))
        pull = np.linalg.norm(acceleration, axis=1) + np.linalg.norm(gravity)
        turn = np.linalg.norm(body.alpha, axis=1) + np.sum(body.w**2, axis=1)
        size[:, body.own] += lengths[0] * pull[:, None] + lengths[1] * turn[:, None]
    for spec in world.model.bodies:
        rotors, place = spec.armature, world.model.v_slice(spec.name)
        if rotors.any():
            tree = world.body_trees[world.model.index(spec.name)]
            at = np.arange(place.start, place.stop) - world.tree_starts[tree]
            M[tree][:, at, at] += rotors
    kinetic = 0.5 * np.sum(v * mass_times(M, v), axis=1)
    return Dynamics(bodies, M, bias, weight, fastest, size, tuple(spread), kinetic, potential)


def free_momentum(
    world: World,
    state: Dynamics,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    h: FloatArray,
    guess: FloatArray,
    gyroscopic: str,
) -> FloatArray:
    """Return M v_free (ns, nv): M v + h (tau - bias), with the stepper's rule for the torque of single free links.

    ``guess`` (ns, nv), near v_free, is the start of the search for the midpoint. ``h`` (ns,) [s].
    """
    momentum = mass_times(state.M, v) + h[:, None] * (tau - state.bias)
    if gyroscopic == "explicit":
        return momentum
    model, step = world.model, h[:, None]
    _limit_gyroscopic_energy(world, state, q, v, h, momentum)
    for names in _single_links(model):
        tree, part = world.body_trees[model.index(names[0])], model.v_slice(names[0])
        M, own = state.M[tree], slice(part.stop - 3, part.stop)
        # In the body's axes, about the joint, or about the centre of mass of a free body.
        I, coupling = M[:, -3:, -3:], M[:, :-3, -3:]
        if coupling.size:
            I = I - np.swapaxes(coupling, 1, 2) @ coupling / M[:, :1, :1]
        w = v[:, own]
        turning = cross(w, rotate(I, w))
        if gyroscopic == "off":
            momentum[:, own] += step * turning
            continue
        # The torque without gyroscopic terms gives the explicit motion I dw/dt = rest - w x I w.
        rates = _solved(M, (tau - state.bias)[:, part])[:, -3:]
        rest = rotate(I, rates) + turning
        d = _spins(I, w, h, rest, guess[:, own] - w)
        momentum[:, own] += rotate(I, d) - step * (rest - turning)
    return momentum


def _limit_gyroscopic_energy(
    world: World, state: Dynamics, q: FloatArray, v: FloatArray, h: FloatArray, momentum: FloatArray
) -> None:
    """Change ``momentum`` (ns, nv), which is M v_free, so that velocity products add no energy to trees that turn fast.

    The stepper does the same.

    See `contactlab.multibody.kernels.velocity_products`.
    """
    model, roots = world.model, tree_roots(world.model)
    alone = [world.body_trees[model.index(names[0])] for names in _single_links(model)]
    free = {
        tree
        for spec, tree in zip(model.bodies, world.body_trees, strict=True)
        if roots.get(spec.name) == spec.name and spec.joint.chain()[0].nq == 7
    }
    share = np.clip((h[:, None] * state.fastest - BEGINS) / (WHOLE - BEGINS), 0.0, 1.0)
    share[:, alone] = 0.0
    fast = np.flatnonzero(share.any(axis=1))
    if not fast.size:
        return
    share, step = share[fast], h[fast, None]
    behind = dynamics(world, integrate(model, q[fast], v[fast], -h[fast]), v[fast])
    for tree, block in enumerate(state.M):
        part = slice(world.tree_starts[tree], world.tree_starts[tree + 1])
        rate, M, before = v[fast, part], block[fast], behind.M[tree]
        left = rotate(M, rate) - step * (state.bias[fast, part] - state.weight[fast, part])
        drift, come = np.zeros_like(rate), np.zeros_like(rate)
        if tree in free:
            drift[:, :3] = left[:, :3] / M[:, :1, 0]
            come[:, :3] = rotate(before, rate)[:, :3] / M[:, :1, 0]
        inner = left - rotate(M, drift)
        most = 0.5 * np.sum((rate - come) * rotate(before, rate - come), axis=1)
        # Trees whose M is singular without damping have no rotation.
        ours = share[:, tree] > 0.0
        after = np.zeros(len(fast))
        after[ours] = 0.5 * np.sum(_solved(M[ours], left[ours]) * inner[ours], axis=1)
        limited = after > most
        less = np.zeros(len(fast))
        less[limited] = np.sqrt(np.maximum(most[limited], 0.0) / after[limited]) - 1.0
        momentum[fast, part] += share[:, [tree]] * (less[:, None] * inner + rotate(M, come - drift))


def _single_links(model: Model) -> list[list[str]]:
    """Return the trees of one free or spherical joint: the body with the joint, then the bodies fixed to it.

    Trees with rotors are excluded: the stepper evaluates their torque at the start of the step.
    """
    trees: dict[str, list[str]] = {}
    for name, root in tree_roots(model).items():
        trees.setdefault(root, []).append(name)
    chains = {spec.name: spec.joint.chain() for spec in model.bodies}
    lengths = {root: [motion.nq for name in names for motion in chains[name]] for root, names in trees.items()}
    driven = {spec.name for spec in model.bodies if spec.armature.any()}
    return [names for root, names in trees.items() if lengths[root] in ([7], [4]) and not driven & set(names)]


def _spins(I: FloatArray, w: FloatArray, h: FloatArray, torque: FloatArray, guess: FloatArray) -> FloatArray:
    """Return the changes (ns, 3) of w over steps by the midpoint rule.

    A step that turns the body by a radian or more may be split into 2, 4, ... equal parts if one part is not solved.
    The number is not recorded: the result closest to ``guess`` is returned, and the equation of motion then checks it.
    """
    best, size = _midpoints(I, w, h, torque, guess), np.abs(w).max(axis=1) + np.abs(guess).max(axis=1)
    most, parts = np.where(h * size <= WILD, PARTS, TRIED), 1
    while True:
        parts *= 2
        off = np.abs(best - guess).max(axis=1)
        left = np.flatnonzero((h * size > FEW) & (parts <= most) & ~(off <= CLOSE * size))
        if not left.size:
            return best
        d = np.zeros((left.size, 3))
        for _ in range(parts):
            d = d + _midpoints(I[left], w[left] + d, h[left] / parts, torque[left], np.zeros(d.shape))
        nearer = ~(off[left] <= np.abs(d - guess[left]).max(axis=1))
        best[left[nearer]] = d[nearer]


def _midpoints(I: FloatArray, w: FloatArray, h: FloatArray, torque: FloatArray, d: FloatArray) -> FloatArray:
    """Solve I d = h torque - h (w + d/2) x I (w + d/2) for each step by Newton's method from d (ns, 3)."""
    step = h[:, None]

    def residual(d: FloatArray) -> FloatArray:
        middle = w + 0.5 * d
        return rotate(I, d) + step * (cross(middle, rotate(I, middle)) - torque)

    left = np.full(h.size, True)
    for _ in range(ITERATIONS):
        middle = w + 0.5 * d
        slope = I + 0.5 * step[..., None] * (skew(middle) @ I - skew(rotate(I, middle)))
        change = _solved(slope, -residual(d))
        left &= ~(np.abs(change).max(axis=1) <= SETTLED * np.maximum(np.abs(w), np.abs(d)).max(axis=1))
        # A full step may jump to another root, because a fast spin has several.
        share, size = left.astype(np.float64), np.linalg.norm(residual(d), axis=1)
        while (worse := (share > 0.0) & ~(np.linalg.norm(residual(d + share[:, None] * change), axis=1) < size)).any():
            share[worse] = np.where(share[worse] > SHORTEST, 0.5 * share[worse], 0.0)
        d = d + share[:, None] * change
        left &= share > 0.0
        if not left.any():
            break
    return d

"""Kinematics of a world at many states at once, in plain numpy, from the joints' definitions.

This is a deliberate second implementation: it calls no kernel of the package, and derives all formulas independently.
Velocities, accelerations and body Jacobians are propagated from body to body in world axes, over the velocities of the
body's tree. The first axis of every array counts states: one operation replaces a loop over steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from contactlab.multibody import Model
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.joints import Elementary
from contactlab.multibody.spatial.arrays import BoolArray, FloatArray
from contactlab.simulation.world.world import World


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a x b (..., 3); for few rows numpy's function takes several times as long."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., i] = a[..., j] * b[..., k] - a[..., k] * b[..., j]
    return out


def rotate(R: FloatArray, x: FloatArray) -> FloatArray:
    """Return R x (..., 3) of matrices (..., 3, n) and vectors (n,) or (..., n)."""
    return np.asarray((R @ x[..., None])[..., 0])


def skew(x: FloatArray) -> FloatArray:
    """Return the matrices (..., 3, 3) of x cross."""
    out = np.zeros((*x.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., i, j], out[..., j, i] = -x[..., k], x[..., k]
    return out


@dataclass
class BodyKinematics:
    """A body's frame, propagated along the chain of its joint; world axes, velocities of the frame's origin."""

    # Rotation (ns, 3, 3) and origin (ns, 3) [m].
    R: FloatArray
    p: FloatArray
    # (ns, 3, n) angular velocity and velocity of the origin per unit of each of the n velocities of its tree.
    Jw: FloatArray
    Jv: FloatArray
    # (ns, 3) angular velocity, and the accelerations of origin and frame under constant generalised velocities.
    w: FloatArray
    a: FloatArray
    alpha: FloatArray
    own: slice  # the velocities of its tree in v

    def at(self, states: Any) -> BodyKinematics:
        """Return the frame at the states ``states``: a copy for an index array, views for a slice of the first axis."""
        R, p, Jw, Jv = self.R[states], self.p[states], self.Jw[states], self.Jv[states]
        return BodyKinematics(R, p, Jw, Jv, self.w[states], self.a[states], self.alpha[states], self.own)

    def point_jacobian(self, x: FloatArray) -> FloatArray:
        """Return the (ns, 3, n) velocity of the body's point at x (ns, 3) in world axes per unit of each velocity."""
        return self.Jv - skew(x - self.p) @ self.Jw

    def point_acceleration(self, x: FloatArray) -> FloatArray:
        """Return the acceleration of the body's point at x under constant generalised velocities, (ns, 3) [m/s^2]."""
        d = x - self.p
        return np.asarray(self.a + cross(self.alpha, d) + cross(self.w, cross(self.w, d)))

    def carry(self, d: FloatArray) -> None:
        """Move the frame's origin by d (ns, 3), in world axes; the new origin is a point fixed to the body."""
        x = self.p + d
        self.Jv, self.a, self.p = self.point_jacobian(x), self.point_acceleration(x), x

    def slide(self, columns: FloatArray, at: int, rate: FloatArray) -> None:
        """Add to the frame's Jacobian and acceleration a shift of the origin along ``columns`` (ns, 3, n).

        ``rate`` (ns, n) are its velocities, the entries of v from ``at`` on. The origin itself is not moved.
        """
        at -= self.own.start
        self.Jv[..., at : at + rate.shape[-1]] += columns
        self.a += 2.0 * cross(self.w, rotate(columns, rate))

    def spin(self, columns: FloatArray, at: int, rate: FloatArray) -> None:
        """Add to the frame's Jacobian and rates a rotation about ``columns`` (ns, 3, n), axes that turn with the frame.

        ``rate`` (ns, n) are its velocities, the entries of v from ``at`` on. The rotation matrix is not changed.
        """
        at -= self.own.start
        self.Jw[..., at : at + rate.shape[-1]] += columns
        relative = rotate(columns, rate)
        self.alpha += cross(self.w, relative)
        self.w += relative


def moving_bodies(world: World, q: FloatArray, v: FloatArray) -> dict[str, BodyKinematics]:
    """Return every body's frames at the states q (ns, nq), v (ns, nv), by name."""
    model, starts = world.model, world.tree_starts
    zero, none = np.zeros((q.shape[0], 3)), np.zeros((q.shape[0], 3, 0))
    frames = {
        WORLD: BodyKinematics(np.tile(np.eye(3), (q.shape[0], 1, 1)), zero, none, none, zero, zero, zero, slice(0, 0))
    }
    for spec, tree in zip(model.bodies, world.body_trees, strict=True):
        frame = frames[spec.parent].at(np.arange(q.shape[0]))
        if tree >= 0 and frame.own.stop == 0:
            frame.own = slice(int(starts[tree]), int(starts[tree + 1]))
            frame.Jw, frame.Jv = np.zeros((2, q.shape[0], 3, frame.own.stop - frame.own.start))
        if np.any(spec.placement.p):
            frame.carry(frame.R @ spec.placement.p)
        frame.R = frame.R @ spec.placement.R
        at_q, at_v = model.q_slice(spec.name).start, model.v_slice(spec.name).start
        for motion in spec.joint.chain():
            own_q, own_v = q[:, at_q : at_q + motion.nq], v[:, at_v : at_v + motion.nv]
            _step_along(frame, motion.w, motion.t, own_q, own_v, at_v)
            at_q, at_v = at_q + motion.nq, at_v + motion.nv
        frames[spec.name] = frame
    return frames


def _step_along(frame: BodyKinematics, w: FloatArray, t: FloatArray, q: FloatArray, v: FloatArray, at: int) -> None:
    """Move ``frame``, with its Jacobians and rates, through one elementary motion with q (ns, k), v (ns, n).

    Its kind follows from k: 3 for a shift, 4 for a quaternion, 7 for both; else 1, along t and about w (3,). ``at`` is
    the index in v of its first velocity.
    """
    kind = q.shape[1]
    if kind in (3, 7):
        frame.carry(rotate(frame.R, q[:, :3]))
        frame.slide(frame.R, at, v[:, :3])
    if kind in (4, 7):
        frame.R = frame.R @ rotation(q[:, -4:])
        frame.spin(frame.R, at + v.shape[1] - 3, v[:, -3:])
    if kind == 1 and t.any():
        frame.carry(frame.R @ t * q)
        frame.slide((frame.R @ t)[..., None], at, v)
    if kind == 1 and w.any():
        frame.spin((frame.R @ w)[..., None], at, v)
        frame.R = frame.R @ rotation(np.hstack((np.cos(0.5 * q), np.sin(0.5 * q) * w)))


def rotation(quaternion: FloatArray) -> FloatArray:
    """Return the (ns, 3, 3) rotations of quaternions (ns, 4), (w, x, y, z) of any length."""
    unit = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    K = skew(unit[:, 1:])
    return np.asarray(np.eye(3) + 2.0 * (unit[:, :1, None] * K + K @ K))


def motions_of(model: Model) -> Iterator[tuple[Elementary, slice, slice]]:
    """Yield the elementary motions of all joints, with their places in q and in v."""
    for spec in model.bodies:
        i, j = model.q_slice(spec.name).start, model.v_slice(spec.name).start
        for motion in spec.joint.chain():
            yield motion, slice(i, i + motion.nq), slice(j, j + motion.nv)
            i, j = i + motion.nq, j + motion.nv


def tree_roots(model: Model) -> dict[str, str]:
    """Return for each moving body the root body of its tree: the first with a joint, seen from the world."""
    roots: dict[str, str] = {}
    for spec in model.bodies:
        if spec.parent in roots:
            roots[spec.name] = roots[spec.parent]
        elif spec.joint.nv:
            roots[spec.name] = spec.name
    return roots


def integrate(model: Model, q: FloatArray, v: FloatArray, h: FloatArray) -> FloatArray:
    """Return the configurations (ns, nq) after moving from q along constant v for h (ns,) [s]."""
    out, along = np.array(q), h[:, None] * v
    for motion, at_q, at_v in motions_of(model):
        own, way = out[:, at_q], along[:, at_v]
        if motion.nq in (4, 7):
            own[:, :-4] += way[:, :-3]
            own[:, -4:] = _turned(own[:, -4:], way[:, -3:])
        else:
            own += way
    return out


def shifting(model: Model) -> tuple[BoolArray, BoolArray]:
    """Return masks of the entries of q (nq,) and v (nv,) that are lengths and linear velocities, not rotations."""
    of_q, of_v = np.zeros(model.nq, dtype=bool), np.zeros(model.nv, dtype=bool)
    for motion, at_q, at_v in motions_of(model):
        straight = motion.nv - 3 if motion.nq in (4, 7) else motion.nv
        # A pure shift has no rotation; a screw's coordinate is an angle.
        if motion.nq in (3, 7) or (motion.t.any() and not motion.w.any()):
            of_q[at_q][:straight] = of_v[at_v][:straight] = True
    return of_q, of_v


def _turned(quaternion: FloatArray, turn: FloatArray) -> FloatArray:
    """Return unit quaternions (ns, 4) times the rotations by the vectors ``turn`` (ns, 3) in body axes."""
    half = 0.5 * np.linalg.norm(turn, axis=1, keepdims=True)
    # numpy's sinc is sin(pi x) / (pi x), also exact at 0.
    s, u = np.cos(half), 0.5 * np.sinc(half / np.pi) * turn
    w, x = quaternion[:, :1], quaternion[:, 1:]
    out = np.hstack((w * s - np.sum(x * u, axis=1, keepdims=True), w * u + s * x + cross(x, u)))
    return np.asarray(out / np.linalg.norm(out, axis=1, keepdims=True))

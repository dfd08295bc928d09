"""Kinematics and dynamics of a world at one state, in plain numpy, from the joints' definitions.

Written a second time on purpose: no kernel of the package is called, and nothing is taken from its formulas. Velocities
and accelerations are carried from body to body in world axes, body Jacobians beside them; the mass matrix is the sum of
J^T I J over the bodies, not the composite-rigid-body algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contactlab.multibody.model import WORLD
from contactlab.spatial.arrays import FloatArray

if TYPE_CHECKING:
    from contactlab.multibody import Model


@dataclass
class Body:
    """A body's frame on its way along the chain of its joint; world axes, velocities of the frame's origin."""

    # Rotation (3, 3) and origin (3,) [m].
    R: FloatArray
    p: FloatArray
    # (3, nv) angular velocity and velocity of the origin by unit of each generalised velocity.
    Jw: FloatArray
    Jv: FloatArray
    # (3,) angular velocity, and the accelerations of origin and frame that constant generalised velocities cause.
    w: FloatArray
    a: FloatArray
    alpha: FloatArray

    def copy(self) -> Body:
        """Return a frame of its own, at the same place."""
        return Body(*(np.array(value) for value in vars(self).values()))

    def point_jacobian(self, x: FloatArray) -> FloatArray:
        """Return the (3, nv) velocity of the body's point at x (3,) in world axes by unit of each velocity."""
        return self.Jv + np.cross(self.Jw.T, x - self.p).T

    def point_acceleration(self, x: FloatArray) -> FloatArray:
        """Return what constant generalised velocities give the body's point at x, (3,) [m/s^2]."""
        d = x - self.p
        return np.asarray(self.a + np.cross(self.alpha, d) + np.cross(self.w, np.cross(self.w, d)))

    def carry(self, d: FloatArray) -> None:
        """Move the frame's origin by d (3,), fixed to the body."""
        x = self.p + d
        self.Jv, self.a, self.p = self.point_jacobian(x), self.point_acceleration(x), x

    def slide(self, columns: FloatArray, at: int, rate: FloatArray) -> None:
        """Let the origin move relative to the frame along the columns (3, n) at the velocities v[at:at + n]."""
        self.Jv[:, at : at + rate.size] += columns
        self.a += 2.0 * np.cross(self.w, columns @ rate)

    def spin(self, columns: FloatArray, at: int, rate: FloatArray) -> None:
        """Let the frame turn about the columns (3, n), which turn with it, at the velocities v[at:at + n]."""
        self.Jw[:, at : at + rate.size] += columns
        relative = columns @ rate
        self.alpha += np.cross(self.w, relative)
        self.w += relative


def moving_bodies(model: Model, q: FloatArray, v: FloatArray) -> dict[str, Body]:
    """Return every body's frame at the state q (nq,), v (nv,), by name."""
    zero, still = np.zeros(3), np.zeros((3, model.nv))
    frames = {WORLD: Body(np.eye(3), zero.copy(), still.copy(), still.copy(), zero.copy(), zero.copy(), zero.copy())}
    for spec in model.bodies:
        frame = frames[spec.parent].copy()
        frame.carry(frame.R @ spec.placement.p)
        frame.R = frame.R @ spec.placement.R
        at_q, at_v = model.q_slice(spec.name).start, model.v_slice(spec.name).start
        for motion in spec.joint.chain():
            own_q, own_v = q[at_q : at_q + motion.nq], v[at_v : at_v + motion.nv]
            _step_along(frame, motion.w, motion.t, own_q, own_v, at_v)
            at_q, at_v = at_q + motion.nq, at_v + motion.nv
        frames[spec.name] = frame
    return frames


def _step_along(frame: Body, w: FloatArray, t: FloatArray, q: FloatArray, v: FloatArray, at: int) -> None:
    """Take a frame through one elementary motion.

    The length of q tells which: 3 for a shift, 4 for a quaternion, 7 for both; else 1, along t and about w.
    """
    if q.size in (3, 7):
        frame.carry(frame.R @ q[:3])
        frame.slide(frame.R, at, v[:3])
    if q.size in (4, 7):
        frame.R = frame.R @ rotation(q[-4:])
        frame.spin(frame.R, at + v.size - 3, v[-3:])
    if q.size == 1 and t.any():
        frame.carry(frame.R @ t * q[0])
        frame.slide((frame.R @ t)[:, None], at, v)
    if q.size == 1 and w.any():
        frame.spin((frame.R @ w)[:, None], at, v)
        frame.R = frame.R @ rotation(np.append(np.cos(0.5 * q[0]), np.sin(0.5 * q[0]) * w))


def rotation(quaternion: FloatArray) -> FloatArray:
    """Return the (3, 3) rotation of a quaternion (w, x, y, z) of any length."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + 2.0 * (w * K + K @ K))


def tree_roots(model: Model) -> dict[str, str]:
    """Return for each body that moves the one its tree hangs by: the first with a joint, seen from the world."""
    roots: dict[str, str] = {}
    for spec in model.bodies:
        if spec.parent in roots:
            roots[spec.name] = roots[spec.parent]
        elif spec.joint.nv:
            roots[spec.name] = spec.name
    return roots


def moved(model: Model, q: FloatArray, v: FloatArray, h: float) -> FloatArray:
    """Return the configuration (nq,) after moving from q along constant v for h [s]."""
    out = np.array(q)
    for spec in model.bodies:
        i, j = model.q_slice(spec.name).start, model.v_slice(spec.name).start
        for motion in spec.joint.chain():
            turning = motion.nq in (4, 7)
            straight = motion.nv - 3 if turning else motion.nv
            out[i : i + straight] += h * v[j : j + straight]
            if turning:
                out[i + straight : i + straight + 4] = _turned(
                    q[i + straight : i + straight + 4], h * v[j + straight : j + motion.nv]
                )
            i, j = i + motion.nq, j + motion.nv
    return out


def _turned(quaternion: FloatArray, turn: FloatArray) -> FloatArray:
    """Return the quaternion times that of the rotation vector ``turn`` (3,) in body axes, of length 1."""
    half = 0.5 * float(np.linalg.norm(turn))
    # numpy's sinc is sin(pi x) / (pi x): exact at 0 as well.
    s, u = np.cos(half), 0.5 * np.sinc(half / np.pi) * turn
    w, x = quaternion[0], quaternion[1:]
    out = np.append(w * s - x @ u, w * u + s * x + np.cross(x, u))
    return np.asarray(out / np.linalg.norm(out))

"""How a pair of an event-driven run changes with the state: its gap, velocities, their rates, and the work of forces.

All in the pair's own frame (n, t1, t2), which turns as the axes of `tangent_frame` do. With ends i of centre velocity
v_i, angular velocity w_i and arm r_i n (r_i = -radius of B, +radius of A; signs of B less A)::

    u = frame . sum +-(v_i + r_i w_i x n)
    rate of u_n = n . sum +-a_i + n' . sum +-v_i        rate of u_t = T . sum +-(a_i + r_i (alpha_i x n + w_i x n'))

where n' = 0 over a half-space, and the part across n of the relative velocity of centres over their distance for balls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.contact import tangent_frame
from contactlab.event_driven.candidates import BallOnBall, Candidate
from contactlab.multibody import (
    Kinematics,
    Model,
    point_acceleration_6d,
    point_acceleration_derivatives,
    point_position,
    point_velocity_6d,
    point_velocity_derivatives,
)
from contactlab.multibody.derivatives import STENCIL, STEP
from contactlab.spatial.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class _End:
    """One body of a pair: its centre's motion and how this changes, (3, nv) each; by q, by v, position by q."""

    body: str
    sign: float
    radius: float  # of the arm along n, negative where it points against n
    x: FloatArray
    v: FloatArray
    w: FloatArray
    a: FloatArray
    alpha: FloatArray
    Jv: FloatArray
    Jw: FloatArray
    v_q: FloatArray
    w_q: FloatArray
    a_q: FloatArray
    alpha_q: FloatArray
    a_v: FloatArray
    alpha_v: FloatArray


@dataclass(frozen=True, eq=False)
class ContactRates:
    """A pair at one instant and acceleration: rows are those of (n, t1, t2)."""

    L: FloatArray  # (3, nv): u = L v
    u: FloatArray  # (3,)
    u_q: FloatArray  # (3, nv)
    # (3,) rate of u at the acceleration given, and (3, nv) each; by the acceleration it is L.
    rate: FloatArray
    rate_q: FloatArray
    rate_v: FloatArray
    frame: FloatArray  # (3, 3)
    frame_q: FloatArray  # (3, 3, nv)
    n: FloatArray
    ends: tuple[_End, ...]

    def wrenches(self, model: Model, force: FloatArray) -> FloatArray:
        """Wrenches (nb, 6) about the world's origin of a force (3,) in the frame, on B and against A."""
        F = force @ self.frame
        found = np.zeros((model.nb, 6))
        for end in self.ends:
            at = end.x + end.radius * self.n
            found[model.index(end.body)] += end.sign * np.concatenate((skew(at) @ F, F))
        return found

    def carried(self, force: FloatArray) -> FloatArray:
        """What (nv, nv) the generalized force gains by q as point and frame of a force (3,) move with the bodies."""
        F = force @ self.frame
        F_q = np.einsum("i,ijk->jk", force, self.frame_q)
        n_q = self.frame_q[0]
        total = np.zeros((self.L.shape[1],) * 2)
        for end in self.ends:
            moment = -skew(F) @ (end.Jv + end.radius * n_q) + end.radius * skew(self.n) @ F_q
            total += end.sign * (end.Jw.T @ moment + end.Jv.T @ F_q)
        return total


def skew(x: FloatArray) -> FloatArray:
    """The matrix of x cross."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def contact_rates(model: Model, kin: Kinematics, a: FloatArray, candidate: Candidate) -> ContactRates:
    """The rates of one pair at the acceleration a (nv,)."""
    end = _end(model, kin, a, candidate.body, candidate.center, 1.0, -candidate.radius)
    if isinstance(candidate, BallOnBall):
        other = _end(model, kin, a, candidate.body_a, candidate.center_a, -1.0, candidate.radius_a)
        return _assembled((end, other), *_line_of_centres(end, other))
    n = candidate.half_space.normal
    nv = model.nv
    still = np.zeros((3, nv))
    return _assembled((end,), np.vstack((n, tangent_frame(n))), np.zeros((3, 3, nv)), np.zeros(3), still, still)


def _end(
    model: Model, kin: Kinematics, a: FloatArray, body: str, point: FloatArray, sign: float, radius: float
) -> _End:
    velocity = point_velocity_6d(model, kin, None, body, point)
    acceleration = point_acceleration_6d(model, kin, None, a, body, point)
    v_q, J = point_velocity_derivatives(model, kin, None, body, point)
    a_q, a_v, _ = point_acceleration_derivatives(model, kin, None, a, body, point)
    x = point_position(model, kin, body, point)
    (w, v), (alpha, lin) = np.split(velocity, 2), np.split(acceleration, 2)
    return _End(
        body, sign, radius, x, v, w, lin, alpha, J[3:], J[:3], v_q[3:], v_q[:3], a_q[3:], a_q[:3], a_v[3:], a_v[:3]
    )


def _line_of_centres(b: _End, a: _End) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """The frame of two balls, how it changes by q, n', and how n' changes by q and v."""
    across = b.x - a.x
    distance = float(np.linalg.norm(across))
    n = across / distance
    P = (np.eye(3) - np.outer(n, n)) / distance
    J, rel, rel_q = b.Jv - a.Jv, b.v - a.v, b.v_q - a.v_q
    n_q = P @ J
    turning = P @ rel
    turning_q = P @ rel_q - (float(n @ rel) * n_q + np.outer(n, rel @ n_q) + np.outer(turning, n @ J)) / distance
    frame = np.vstack((n, tangent_frame(n)))
    frame_q = np.concatenate((n_q[None], np.einsum("ijk,kl->ijl", _turns(n), n_q)))
    return frame, frame_q, turning, turning_q, P @ J


def _turns(n: FloatArray) -> FloatArray:
    """How the tangents change with n, (2, 3, 3): by fourth-order differences, the axes being a convention."""
    total = np.zeros((2, 3, 3))
    for place, weight in STENCIL:
        for k, way in enumerate(place * STEP * np.eye(3)):
            moved = n + way
            total[:, :, k] += weight / (12.0 * STEP) * np.array(tangent_frame(moved / np.linalg.norm(moved)))
    return total


def _assembled(
    ends: tuple[_End, ...],
    frame: FloatArray,
    frame_q: FloatArray,
    turning: FloatArray,
    turning_q: FloatArray,
    turning_v: FloatArray,
) -> ContactRates:
    n, n_q = frame[0], frame_q[0]
    nv = n_q.shape[1]
    slip, slipping, v, a = np.zeros((4, 3))
    slip_q, slip_v, slipping_q, slipping_v, v_q, J, a_q, a_v = np.zeros((8, 3, nv))
    across = skew(n)
    for end in ends:
        s, r, spin = end.sign, end.radius, skew(end.w)
        v, a = v + s * end.v, a + s * end.a
        v_q, J = v_q + s * end.v_q, J + s * end.Jv
        a_q, a_v = a_q + s * end.a_q, a_v + s * end.a_v
        slip = slip + s * (end.v + r * spin @ n)
        slip_q = slip_q + s * (end.v_q + r * (spin @ n_q - across @ end.w_q))
        slip_v = slip_v + s * (end.Jv - r * across @ end.Jw)
        slipping = slipping + s * (end.a + r * (skew(end.alpha) @ n + spin @ turning))
        turned = skew(end.alpha) @ n_q - across @ end.alpha_q + spin @ turning_q - skew(turning) @ end.w_q
        slipping_q = slipping_q + s * (end.a_q + r * turned)
        turned = spin @ turning_v - across @ end.alpha_v - skew(turning) @ end.Jw
        slipping_v = slipping_v + s * (end.a_v + r * turned)
    rate, rate_q, rate_v = frame @ slipping, frame @ slipping_q, frame @ slipping_v
    rate_q = rate_q + np.einsum("ijk,j->ik", frame_q, slipping)
    rate[0] = n @ a + turning @ v
    rate_q[0] = n @ a_q + a @ n_q + turning @ v_q + v @ turning_q
    rate_v[0] = n @ a_v + turning @ J + v @ turning_v
    u_q = frame @ slip_q + np.einsum("ijk,j->ik", frame_q, slip)
    return ContactRates(frame @ slip_v, frame @ slip, u_q, rate, rate_q, rate_v, frame, frame_q, n, ends)

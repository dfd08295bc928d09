"""Derivatives of acceleration and contact forces of a phase by state, time and parameters, and of pairs by the state.

They follow from the differentiated equations of `phase`, with the contact forces x::

    M da - R' dx = d(tau) - d(inverse dynamics at a) + (dR)' x        J da = d(wanted) - (dJ) a

A pair's gap, velocities, their rates, and the work of forces are expressed in its frame (n, t1, t2), which turns as the
axes of `tangent_frame` do. Let the ends i have centre velocity v_i, angular velocity w_i and arm r_i n (r_i = -radius
of B, +radius of A; positive sign for B, negative for A)::

    u = frame . sum +-(v_i + r_i w_i x n)
    rate of u_n = n . sum +-a_i + n' . sum +-v_i        rate of u_t = T . sum +-(a_i + r_i (alpha_i x n + w_i x n'))

where n' = 0 over a half-space. For balls n' is the relative velocity of the centres across n over their distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from contactlab.contact import tangent_frame
from contactlab.event_driven.candidates import BallBallPair, Candidate
from contactlab.event_driven.phase import SLOW, ContactMode, Mode, Phase, RunTrace
from contactlab.multibody import (
    Kinematics,
    Model,
    center_of_mass_jacobian,
    integrate,
    inverse_dynamics_derivatives,
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
    """One body of a pair: motion of its centre, and derivatives (3, nv) each: by q, by v, position by q."""

    body: str
    sign: float
    radius: float  # length of the arm along n, negative if it points against n
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
    """A pair at one instant and acceleration, with the rows of (n, t1, t2)."""

    L: FloatArray  # (3, nv): u = L v
    u: FloatArray  # (3,)
    u_q: FloatArray  # (3, nv)
    # (3,) rate of u at the given acceleration, and its derivatives (3, nv) by q and v; by the acceleration it is L.
    rate: FloatArray
    rate_q: FloatArray
    rate_v: FloatArray
    frame: FloatArray  # (3, 3)
    frame_q: FloatArray  # (3, 3, nv)
    n: FloatArray
    ends: tuple[_End, ...]

    def wrenches(self, model: Model, force: FloatArray) -> FloatArray:
        """Return the wrenches (nb, 6) about the world's origin of a force (3,) in the frame, on B and against A."""
        F = force @ self.frame
        found = np.zeros((model.nb, 6))
        for end in self.ends:
            at = end.x + end.radius * self.n
            found[model.index(end.body)] += end.sign * np.concatenate((skew(at) @ F, F))
        return found

    def force_derivative(self, force: FloatArray) -> FloatArray:
        """Return the derivative (nv, nv) by q of L' force, for a force (3,) that is constant in the contact's frame."""
        F = force @ self.frame
        F_q = np.einsum("i,ijk->jk", force, self.frame_q)
        n_q = self.frame_q[0]
        total = np.zeros((self.L.shape[1],) * 2)
        for end in self.ends:
            moment = -skew(F) @ (end.Jv + end.radius * n_q) + end.radius * skew(self.n) @ F_q
            total += end.sign * (end.Jw.T @ moment + end.Jv.T @ F_q)
        return total


def skew(x: FloatArray) -> FloatArray:
    """Return the matrix of x cross."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def contact_rates(model: Model, kin: Kinematics, a: FloatArray, candidate: Candidate) -> ContactRates:
    """Return the rows of one pair, and their derivatives by q and v, at the acceleration a (nv,)."""
    end = _end(model, kin, a, candidate.body, candidate.center, 1.0, -candidate.radius)
    if isinstance(candidate, BallBallPair):
        other = _end(model, kin, a, candidate.body_a, candidate.center_a, -1.0, candidate.radius_a)
        return _assembled((end, other), *_line_of_centres(end, other))
    n = candidate.half_space.normal
    nv = model.nv
    still = np.zeros((3, nv))
    return _assembled((end,), np.vstack((n, tangent_frame(n))), np.zeros((3, 3, nv)), np.zeros(3), still, still)


def _end(
    model: Model, kin: Kinematics, a: FloatArray, body: str, point: FloatArray, sign: float, radius: float
) -> _End:
    """Return position, motion and derivatives of one body's point, at the acceleration a (nv,); ``sign`` is 1 for B."""
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
    """Return the frame of two balls, its derivative by q, n', and the derivatives of n' by q and v."""
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
    """Return the derivatives of the tangents by n, (2, 3, 3), by fourth-order differences."""
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
    """Return a pair's rates from its ends; ``turning`` is n', with its derivatives by q and v."""
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


# Indeterminate parts of redundant contact forces move the bodies if their effect is larger than this.
_SHARED = 1e-9


@dataclass(frozen=True, eq=False)
class Layout:
    """Columns: q and v (nv each), time, parameters, and two for the slip direction of every side of a phase."""

    model: Model
    candidates: tuple[Candidate, ...]
    wrt: tuple[str, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """Number of columns of each parameter."""
        nk = len(self.candidates)
        known = {"tau": self.model.nv, "gravity": 3, "mu": nk, "restitution": nk}
        return {name: known[name] for name in self.wrt}

    @property
    def time(self) -> int:
        """Column of the time; parameters follow."""
        return 2 * self.model.nv

    @property
    def width(self) -> int:
        """Number of columns, without the columns of directions."""
        return self.time + 1 + sum(self.sizes.values())

    def of(self, name: str) -> slice:
        """Return the columns of a parameter; none if it is not differentiated by."""
        at = self.time + 1
        for other, size in self.sizes.items():
            if other == name:
                return slice(at, at + size)
            at += size
        return slice(at, at)

    def column(self, name: str, contact: int) -> list[int]:
        """Return the column of a contact's parameter; none if it is not differentiated by."""
        return [self.of(name).start + contact] if name in self.wrt else []


@dataclass(frozen=True, eq=False)
class SmoothRates:
    """One instant of a phase; derivatives have ``layout.width`` columns and two for each side."""

    a: FloatArray  # (nv,)
    v: FloatArray
    M: FloatArray
    by: FloatArray  # (nv, width) of a
    fN: FloatArray
    fN_by: FloatArray
    fT: FloatArray  # (n, 2)
    fT_by: FloatArray  # (n, 2, width)
    rates: tuple[ContactRates, ...]
    sides: tuple[ContactMode, ...]
    shared: bool  # whether indeterminate forces of redundant contacts move the bodies
    slow: float

    @property
    def flow(self) -> FloatArray:
        """d(dq, v)/dt (2 nv,)."""
        return np.concatenate((self.v, self.a))

    def speed(self, i: int) -> float:
        """Return the slip of a side's contact [m/s]."""
        return float(np.linalg.norm(self.rates[i].u[1:]))

    def turning(self, i: int) -> FloatArray:
        """Return the derivative (2, width) of contact i's direction of slip by the columns; only q and v count."""
        speed, rates = self.speed(i), self.rates[i]
        s = rates.u[1:] / speed
        by = np.zeros((2, self.by.shape[1]))
        P = (np.eye(2) - np.outer(s, s)) / speed
        by[:, : 2 * len(self.a)] = P @ np.hstack((rates.u_q[1:], rates.L[1:]))
        return by

    def slip(self, i: int) -> tuple[FloatArray, FloatArray]:
        """Return the direction of slip (2,) and its derivative; if slower than ``slow``, the side's direction."""
        if self.speed(i) > self.slow:
            return self.rates[i].u[1:] / self.speed(i), self.turning(i)
        by = np.zeros((2, self.by.shape[1]))
        at = by.shape[1] - 2 * len(self.sides) + 2 * i
        by[:, at : at + 2] = np.eye(2)
        return self.sides[i].direction, by


def smooth_rates(
    course: RunTrace, layout: Layout, sides: Sequence[ContactMode], t: float, y: FloatArray, part: float = 1.0
) -> SmoothRates:
    """Return accelerations and contact forces of a phase at (t, y), with derivatives by the columns of ``layout``.

    ``sides`` are its contacts with their modes. Slip slower than ``part`` times the phase's speed of slow slip keeps
    its direction; more columns, two for each side, are the derivatives by these directions.
    """
    model, nv, o = layout.model, layout.model.nv, course.stepper
    phase = phase_of(course, layout, sides, part)
    instant, _, forces = phase.forces(t, y)
    rates = tuple(contact_rates(model, instant.kin, forces.a, layout.candidates[side.index]) for side in sides)
    n, width, c = len(sides), layout.width + 2 * len(sides), o.stabilisation
    motion = forces.a, np.asarray(instant.kin.v), instant.M, np.zeros((nv, width))
    loads = forces.fN, np.zeros((n, width)), forces.fT, np.zeros((n, 2, width))
    bare = SmoothRates(*motion, *loads, rates, tuple(sides), shared=False, slow=phase.slow)
    pushed, wrenches = _applied(course, layout, t, instant.kin.q, bare.v, width), np.zeros((model.nb, 6))
    rows, columns, wanted, turned = [], [], [], np.zeros((n, 2, width))
    for i, (side, r) in enumerate(zip(sides, rates, strict=True)):
        mu, force = layout.candidates[side.index].mu, np.concatenate(([forces.fN[i]], forces.fT[i]))
        pushed[:, :nv] += r.force_derivative(force)
        wrenches += r.wrenches(model, force)
        held = np.zeros((3, width))
        held[:, :nv], held[:, nv : 2 * nv] = -r.rate_q - c * r.u_q, -r.rate_v - c * r.L
        held[0, :nv] -= c * r.u_q[0] + c * c * r.L[0]
        held[0, nv : 2 * nv] -= c * r.L[0]
        sticks = side.mode is Mode.STICK
        rows.append(r.L if sticks else r.L[:1])
        wanted.append(held if sticks else held[:1])
        if sticks:
            columns.append(r.L)
            continue
        s, s_by = bare.slip(i)
        columns.append(r.L[:1] - mu * s @ r.L[1:])
        # rotation and change of friction at the same normal force
        turned[i] = -mu * forces.fN[i] * s_by
        turned[i][:, layout.column("mu", side.index)] -= forces.fN[i] * s[:, None]
        pushed += r.L[1:].T @ turned[i]
    by_q, by_v, _ = inverse_dynamics_derivatives(model, instant.kin, None, forces.a, wrenches)
    pushed[:, :nv] -= by_q
    pushed[:, nv : 2 * nv] -= by_v
    if not rows:
        return replace(bare, by=np.asarray(np.linalg.solve(instant.M, pushed), dtype=np.float64))
    da, dx, shared = solve_rows(instant.M, np.vstack(rows), np.vstack(columns), pushed, np.vstack(wanted))
    fN_by, fT_by, at = np.zeros((n, width)), turned, 0
    for i, (side, row) in enumerate(zip(sides, rows, strict=True)):
        fN_by[i] = dx[at]
        if side.mode is Mode.STICK:
            fT_by[i] = dx[at + 1 : at + 3]
        else:
            fT_by[i] -= layout.candidates[side.index].mu * np.outer(bare.slip(i)[0], dx[at])
        at += len(row)
    return replace(bare, by=da, fN_by=fN_by, fT_by=fT_by, shared=shared)


def phase_of(course: RunTrace, layout: Layout, sides: Sequence[ContactMode], part: float = 1.0) -> Phase:
    """Return the phase that the run integrated; ``part`` scales the speed below which slip keeps its direction."""
    o = course.stepper
    return Phase(layout.model, layout.candidates, sides, course.tau, o.stabilisation, part * SLOW * o.slip_speed)


def solve_rows(
    M: FloatArray, J: FloatArray, R: FloatArray, pushed: FloatArray, wanted: FloatArray
) -> tuple[FloatArray, FloatArray, bool]:
    """Return x, the shortest f, and True if x depends on this choice, with M x - R' f = pushed and J x = wanted."""
    free, responses = np.linalg.solve(M, pushed), np.linalg.solve(M, R.T)
    A = J @ responses
    f, _, rank, _ = np.linalg.lstsq(A, wanted - J @ free, rcond=1e-11)
    shared = False
    if rank < len(A):
        loose = np.linalg.svd(A)[2][rank:]
        shared = bool(np.abs(responses @ loose.T).max() > _SHARED * np.abs(responses).max())
    return np.asarray(free + responses @ f, dtype=np.float64), np.asarray(f, dtype=np.float64), shared


def _applied(course: RunTrace, layout: Layout, t: float, q: FloatArray, v: FloatArray, width: int) -> FloatArray:
    """Return the derivative (nv, width) of the applied forces and gravity by the columns of ``layout``.

    A user's force function is differentiated by differences of fourth order.
    """
    model, nv = layout.model, layout.model.nv
    by = np.zeros((nv, width))
    by[:, layout.of("tau")] = np.eye(nv)[:, : layout.sizes.get("tau", 0)]
    if "gravity" in layout.wrt:
        by[:, layout.of("gravity")] = model.mass * center_of_mass_jacobian(model, q).T
    if course.constant:
        return by
    for place, weight in STENCIL:
        h, share = place * STEP, weight / (12.0 * STEP)
        ways = h * np.eye(nv)
        by[:, :nv] += share * np.array([course.tau(t, there, v) for there in integrate(model, q, ways, 1.0)]).T
        by[:, nv : 2 * nv] += share * np.array([course.tau(t, q, v + way) for way in ways]).T
        by[:, layout.time] += share * course.tau(t + h, q, v)
    return by


def coupling(model: Model, v: FloatArray) -> FloatArray:
    """Return W (nv, nv) of the variation dq' = dv - W dq: a rotation in body axes is itself rotated by w."""
    W = np.zeros((model.nv, model.nv))
    at = place = 0
    places = model.quaternion_starts
    while place < model.nq:
        if place in places:
            W[at : at + 3, at : at + 3] = skew(v[at : at + 3])
            place, at = place + 4, at + 3
        else:
            place, at = place + 1, at + 1
    return W

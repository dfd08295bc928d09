"""How acceleration and contact forces of a phase change with state, time and parameters; when its events come.

The equations of `phase`, differentiated: M da - R' dx = d(tau) - d(inverse dynamics at a) + (dR)' x, and J da = d(wanted)
- (dJ) a. All derivatives are along the columns of a `Layout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contactlab.event_driven.candidates import Candidate
from contactlab.event_driven.contact_rates import ContactRates, contact_rates, skew
from contactlab.event_driven.course import Course
from contactlab.event_driven.phase import SLOW, Mode, Phase, Side
from contactlab.multibody import Model, center_of_mass_jacobian, integrate, inverse_dynamics_derivatives, kinematics
from contactlab.multibody.derivatives import STENCIL, STEP
from contactlab.spatial.arrays import FloatArray

# Contact speeds [m/s] that count as rest, times that of the phase.
_REST = 0.5
# A part of the forces that redundant contacts share as they like moves the bodies when it is larger than this.
_SHARED = 1e-9


@dataclass(frozen=True, eq=False)
class Layout:
    """Columns: q and v (nv each), time, parameters, and two of the slip's direction for every side of a phase."""

    model: Model
    candidates: tuple[Candidate, ...]
    wrt: tuple[str, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """Columns of each parameter."""
        nk = len(self.candidates)
        known = {"tau": self.model.nv, "gravity": 3, "mu": nk, "restitution": nk}
        return {name: known[name] for name in self.wrt}

    @property
    def time(self) -> int:
        """Column of the time; parameters follow."""
        return 2 * self.model.nv

    @property
    def width(self) -> int:
        """All columns but those of directions."""
        return self.time + 1 + sum(self.sizes.values())

    def of(self, name: str) -> slice:
        """Columns of a parameter; none where it is not asked for."""
        at = self.time + 1
        for other, size in self.sizes.items():
            if other == name:
                return slice(at, at + size)
            at += size
        return slice(at, at)

    def column(self, name: str, contact: int) -> list[int]:
        """The column of a contact's parameter; none where it is not asked for."""
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
    sides: tuple[Side, ...]
    shared: bool  # redundant contacts whose share of the forces moves the bodies
    slow: float

    @property
    def flow(self) -> FloatArray:
        """d(dq, v)/dt (2 nv,)."""
        return np.concatenate((self.v, self.a))

    def speed(self, i: int) -> float:
        """Slip of a side's contact [m/s]."""
        return float(np.linalg.norm(self.rates[i].u[1:]))

    def turning(self, i: int) -> FloatArray:
        """How the direction of slip changes by the columns, (2, width)."""
        speed, rates = self.speed(i), self.rates[i]
        s = rates.u[1:] / speed
        by = np.zeros((2, self.by.shape[1]))
        P = (np.eye(2) - np.outer(s, s)) / speed
        by[:, : 2 * len(self.a)] = P @ np.hstack((rates.u_q[1:], rates.L[1:]))
        return by

    def slip(self, i: int) -> tuple[FloatArray, FloatArray]:
        """Direction of slip (2,) and how it changes: slower than ``slow`` it is the side's, with columns of its own."""
        if self.speed(i) > self.slow:
            return self.rates[i].u[1:] / self.speed(i), self.turning(i)
        by = np.zeros((2, self.by.shape[1]))
        at = by.shape[1] - 2 * len(self.sides) + 2 * i
        by[:, at : at + 2] = np.eye(2)
        return self.sides[i].direction, by


def smooth_rates(course: Course, layout: Layout, sides: Sequence[Side], t: float, y: FloatArray) -> SmoothRates:
    """Differentiate a phase at (t, y)."""
    model, nv, o = layout.model, layout.model.nv, course.stepper
    phase = phase_of(course, layout, sides)
    instant, found, forces = phase.forces(t, y)
    rates = tuple(contact_rates(model, instant.kin, forces.a, layout.candidates[side.index]) for side in sides)
    width, c = layout.width + 2 * len(sides), o.stabilisation
    bare = SmoothRates(
        forces.a, np.asarray(instant.kin.v), instant.M, np.zeros((nv, width)), forces.fN, np.zeros((len(sides), width)),
        forces.fT, np.zeros((len(sides), 2, width)), rates, tuple(sides), False, phase.slow,
    )  # fmt: skip
    pushed, wrenches = _applied(course, layout, t, instant.kin.q, bare.v, width), np.zeros((model.nb, 6))
    rows, columns, wanted, slips = [], [], [], []
    for i, (side, r) in enumerate(zip(sides, rates, strict=True)):
        mu, force = layout.candidates[side.index].mu, np.concatenate(([forces.fN[i]], forces.fT[i]))
        pushed[:, :nv] += r.carried(force)
        wrenches += r.wrenches(model, force)
        by = np.zeros((3, width))
        by[:, :nv], by[:, nv : 2 * nv] = -r.rate_q - c * r.u_q, -r.rate_v - c * r.L
        by[0, :nv] -= c * r.u_q[0] + c * c * r.L[0]
        by[0, nv : 2 * nv] -= c * r.L[0]
        if side.mode is Mode.STICK:
            slips.append(np.zeros((2, width)))
            rows.append(r.L)
            columns.append(r.L)
            wanted.append(by)
            continue
        s, s_by = bare.slip(i)
        # What friction turns and grows at the same normal force.
        turned = -mu * forces.fN[i] * s_by
        turned[:, layout.column("mu", side.index)] -= forces.fN[i] * s[:, None]
        slips.append(turned if mu > 0.0 or "mu" in layout.wrt else np.zeros((2, width)))
        pushed += r.L[1:].T @ slips[-1]
        rows.append(r.L[:1])
        columns.append(r.L[:1] - mu * s @ r.L[1:])
        wanted.append(by[:1])
    by_q, by_v, _ = inverse_dynamics_derivatives(model, instant.kin, None, forces.a, wrenches)
    pushed[:, :nv] -= by_q
    pushed[:, nv : 2 * nv] -= by_v
    if not rows:
        return _with(bare, np.linalg.solve(instant.M, pushed), [], slips, False, layout)
    da, dx, shared = solved(instant.M, np.vstack(rows), np.vstack(columns), pushed, np.vstack(wanted))
    return _with(bare, da, list(np.split(dx, np.cumsum([len(row) for row in rows])[:-1])), slips, shared, layout)


def phase_of(course: Course, layout: Layout, sides: Sequence[Side]) -> Phase:
    """The phase that the run integrated."""
    o = course.stepper
    return Phase(layout.model, layout.candidates, sides, course.tau, o.stabilisation, SLOW * o.slip_speed)


def solved(
    M: FloatArray, J: FloatArray, R: FloatArray, pushed: FloatArray, wanted: FloatArray
) -> tuple[FloatArray, FloatArray, bool]:
    """x and f of M x - R' f = pushed, J x = wanted, f the shortest; whether f leaves x open."""
    free, responses = np.linalg.solve(M, pushed), np.linalg.solve(M, R.T)
    A = J @ responses
    f, _, rank, _ = np.linalg.lstsq(A, wanted - J @ free, rcond=1e-11)
    shared = False
    if rank < len(A):
        loose = np.linalg.svd(A)[2][rank:]
        shared = bool(np.abs(responses @ loose.T).max() > _SHARED * np.abs(responses).max())
    return free + responses @ f, f, shared


def _with(
    bare: SmoothRates, da: FloatArray, dx: list[FloatArray], slips: list[FloatArray], shared: bool, layout: Layout
) -> SmoothRates:
    """The rates with their derivatives filled in."""
    for i, (side, one) in enumerate(zip(bare.sides, dx, strict=True)):
        bare.fN_by[i] = one[0]
        if side.mode is Mode.STICK:
            bare.fT_by[i] = one[1:]
        else:
            bare.fT_by[i] = slips[i] - layout.candidates[side.index].mu * np.outer(bare.slip(i)[0], one[0])
    return SmoothRates(
        bare.a, bare.v, bare.M, da, bare.fN, bare.fN_by, bare.fT, bare.fT_by, bare.rates, bare.sides, shared, bare.slow
    )


def _applied(course: Course, layout: Layout, t: float, q: FloatArray, v: FloatArray, width: int) -> FloatArray:
    """The applied force by the columns (nv, width); functions of the user's by fourth-order differences."""
    model, nv = layout.model, layout.model.nv
    by = np.zeros((nv, width))
    by[:, layout.of("tau")] = np.eye(nv)[:, : layout.sizes.get("tau", 0)]
    if "gravity" in layout.wrt:
        by[:, layout.of("gravity")] = model.mass * center_of_mass_jacobian(model, q).T
    if course.constant:
        return by
    still = np.zeros(nv)
    for place, weight in STENCIL:
        h, share = place * STEP, weight / (12.0 * STEP)
        for j, way in enumerate(h * np.eye(nv)):
            by[:, j] += share * course.tau(t, integrate(model, q, way, 1.0), v)
            by[:, nv + j] += share * course.tau(t, q, v + way)
        by[:, layout.time] += share * course.tau(t + h, integrate(model, q, still, 1.0), v)
    return by


def coupling(model: Model, v: FloatArray) -> FloatArray:
    """W (nv, nv) of the variation dq' = dv - W dq: a turn in body axes is itself turned by w."""
    W = np.zeros((model.nv, model.nv))
    at = place = 0
    places = model.quaternion_places
    while place < model.nq:
        if place in places:
            W[at : at + 3, at : at + 3] = skew(v[at : at + 3])
            place, at = place + 4, at + 3
        else:
            place, at = place + 1, at + 1
    return W


@dataclass(frozen=True, eq=False)
class Crossing:
    """A function of the state that ends the phase where it falls through zero."""

    what: str
    place: int
    contact: int
    value: float
    by: FloatArray  # (width,)
    rate: float  # d/dt along the motion
    scale: float  # what the rate would be at most, in the metric of M


def crossings(course: Course, layout: Layout, at: SmoothRates, riding: Sequence[int], q: FloatArray) -> list[Crossing]:
    """All events that could end a phase, as `run` looks for them, but for "response"."""
    model, nv = layout.model, layout.model.nv
    kin = kinematics(model, q, at.v)
    found: list[tuple[str, int, int, float, FloatArray]] = []
    closed = {side.index for side in at.sides} | set(riding)
    width = at.by.shape[1]
    for k, candidate in enumerate(layout.candidates):
        if k not in closed:
            local = candidate.local(model, kin)
            found.append(("gap", k, k, local.gap, np.concatenate((local.N, np.zeros(width - nv)))))
    for i, side in enumerate(at.sides):
        mu = layout.candidates[side.index].mu
        found.append(("force", i, side.index, float(at.fN[i]), at.fN_by[i]))
        if mu == 0.0:
            continue
        if side.mode is Mode.STICK:
            size = float(np.linalg.norm(at.fT[i]))
            by = mu * at.fN_by[i] - (at.fT[i] @ at.fT_by[i] / size if size > 0.0 else 0.0)
            by[layout.column("mu", side.index)] += at.fN[i]
            found.append(("cone", i, side.index, mu * float(at.fN[i]) - size, by))
            continue
        u, speed = at.rates[i].u[1:], at.speed(i)
        fast = speed > _REST * at.slow
        s = u / speed if fast else side.direction
        by = np.zeros(width)
        by[: 2 * nv] = s @ np.hstack((at.rates[i].u_q[1:], at.rates[i].L[1:]))
        if not fast:
            by += u @ at.slip(i)[1]
        found.append(("slip", i, side.index, speed - at.slow if fast else float(u @ s), by))
    inverse = np.linalg.inv(at.M)

    def along(row: FloatArray, x: FloatArray) -> float:
        return float(np.sqrt((row @ inverse @ row) * (x @ at.M @ x)))

    return [
        Crossing(
            what, place, contact, value, by, float(by[: 2 * nv] @ at.flow + by[layout.time]),
            along(by[:nv], at.v) + along(by[nv : 2 * nv], at.a) + abs(float(by[layout.time])),
        )
        for what, place, contact, value, by in found
    ]  # fmt: skip

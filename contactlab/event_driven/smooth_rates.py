"""How acceleration and contact forces of a phase change with state, time and parameters.

From the equations of `phase`, differentiated, x being the contact forces::

    M da - R' dx = d(tau) - d(inverse dynamics at a) + (dR)' x        J da = d(wanted) - (dJ) a
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from contactlab.event_driven.candidates import Candidate
from contactlab.event_driven.contact_rates import ContactRates, contact_rates, skew
from contactlab.event_driven.phase import SLOW, Course, Mode, Phase, Side
from contactlab.multibody import Model, center_of_mass_jacobian, integrate, inverse_dynamics_derivatives
from contactlab.multibody.derivatives import STENCIL, STEP
from contactlab.spatial.arrays import FloatArray

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


def smooth_rates(
    course: Course, layout: Layout, sides: Sequence[Side], t: float, y: FloatArray, part: float = 1.0
) -> SmoothRates:
    """Differentiate a phase at (t, y), slip keeping its direction up to a part of the speed up to which it does."""
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
        pushed[:, :nv] += r.carried(force)
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
        # What friction turns and grows at the same normal force.
        turned[i] = -mu * forces.fN[i] * s_by
        turned[i][:, layout.column("mu", side.index)] -= forces.fN[i] * s[:, None]
        pushed += r.L[1:].T @ turned[i]
    by_q, by_v, _ = inverse_dynamics_derivatives(model, instant.kin, None, forces.a, wrenches)
    pushed[:, :nv] -= by_q
    pushed[:, nv : 2 * nv] -= by_v
    if not rows:
        return replace(bare, by=np.asarray(np.linalg.solve(instant.M, pushed), dtype=np.float64))
    da, dx, shared = solved(instant.M, np.vstack(rows), np.vstack(columns), pushed, np.vstack(wanted))
    fN_by, fT_by, at = np.zeros((n, width)), turned, 0
    for i, (side, row) in enumerate(zip(sides, rows, strict=True)):
        fN_by[i] = dx[at]
        if side.mode is Mode.STICK:
            fT_by[i] = dx[at + 1 : at + 3]
        else:
            fT_by[i] -= layout.candidates[side.index].mu * np.outer(bare.slip(i)[0], dx[at])
        at += len(row)
    return replace(bare, by=da, fN_by=fN_by, fT_by=fT_by, shared=shared)


def phase_of(course: Course, layout: Layout, sides: Sequence[Side], part: float = 1.0) -> Phase:
    """The phase that the run integrated."""
    o = course.stepper
    return Phase(layout.model, layout.candidates, sides, course.tau, o.stabilisation, part * SLOW * o.slip_speed)


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
    return np.asarray(free + responses @ f, dtype=np.float64), np.asarray(f, dtype=np.float64), shared


def _applied(course: Course, layout: Layout, t: float, q: FloatArray, v: FloatArray, width: int) -> FloatArray:
    """The applied force by the columns (nv, width); functions of the user's by fourth-order differences."""
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

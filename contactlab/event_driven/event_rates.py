"""Derivatives of acceleration and contact forces of a phase, of the time of an event, and of the velocity after a jump.

They follow from the differentiated equations of `phase`, with the contact forces x::

    M da - R' dx = d(tau) - d(inverse dynamics at a) + (dR)' x        J da = d(wanted) - (dJ) a

The rows of a pair, and the rates of its velocities, are differentiated exactly over a half-space. The rows of two
balls, whose frame turns, are differentiated by q by differences of fourth order. The rates at zero acceleration are
quadratic functions of v, so that a central difference by v is exact.

The jump of the velocity at an impact is differentiated by differences. Steps become smaller until two results agree; if
none agree, the jump is close to another mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

import numpy as np

from contactlab.event_driven.candidates import BallHalfSpacePair, Candidate
from contactlab.event_driven.modes import impact_problem, jamming_impact, law_of, plastic_impact
from contactlab.event_driven.phase import SLOW, ContactMode, Mode, Phase, solve_rows
from contactlab.event_driven.trace import EventKind, Jump, RunTrace
from contactlab.impact import ImpactLaw
from contactlab.impact.collision import coefficients
from contactlab.impact.law import RestitutedLaw
from contactlab.multibody import (
    Kinematics,
    Model,
    center_of_mass_jacobian,
    integrate,
    inverse_dynamics_derivatives,
    kinematics,
    mass_matrix,
    point_acceleration_derivatives,
    point_velocity_derivatives,
)
from contactlab.multibody.derivatives import STENCIL, STEP
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.world.errors import SimulationConfigError


@dataclass(frozen=True, eq=False)
class ContactRates:
    """A pair at one instant and acceleration, with the rows of (n, t1, t2)."""

    L: FloatArray  # (3, nv): u = L v
    L_q: FloatArray  # (3, nv, nv), the last axis by q
    u: FloatArray  # (3,)
    u_q: FloatArray  # (3, nv)
    # Derivatives (3, nv) by q and v of the rate of u at the given acceleration; by the acceleration it is L.
    rate_q: FloatArray
    rate_v: FloatArray

    def force_derivative(self, force: FloatArray) -> FloatArray:
        """Return the derivative (nv, nv) by q of L' force, for a force (3,) that is constant in the contact's frame."""
        return np.asarray(np.einsum("i,ijk->jk", force, self.L_q))


def contact_rates(model: Model, kin: Kinematics, a: FloatArray, candidate: Candidate) -> ContactRates:
    """Return the rows of one pair, and their derivatives by q and v, at the acceleration a (nv,)."""
    q, v, nv = kin.q, np.asarray(kin.v), model.nv
    if isinstance(candidate, BallHalfSpacePair):
        return _fixed_rates(model, q, v, a, candidate)
    # Nearby states by q, the state itself, and nearby velocities: the bias is a quadratic function of v.
    places, weights = np.array(STENCIL).T
    near = integrate(model, q, STEP * np.kron(places[:, None], np.eye(nv)), 1.0)
    there = np.vstack((near, np.tile(q, (2 * nv + 1, 1))))
    speeds = np.vstack((np.tile(v, (4 * nv + 1, 1)), v + 0.5 * np.eye(nv), v - 0.5 * np.eye(nv)))
    local = candidate.local(model, there, speeds)
    rows = np.dstack((local.L, local.bias))
    by_q = np.einsum("p,pkij->ijk", weights / (12.0 * STEP), rows[: 4 * nv].reshape(4, nv, 3, nv + 1))
    L, L_q = local.L[4 * nv], by_q[:, :nv]
    by_v = (local.bias[4 * nv + 1 : 5 * nv + 1] - local.bias[5 * nv + 1 :]).T
    u_q, rate_q = (np.einsum("ijk,j->ik", L_q, x) for x in (v, a))
    return ContactRates(L, L_q, L @ v, u_q, rate_q + by_q[:, nv], by_v)


def _fixed_rates(
    model: Model, q: FloatArray, v: FloatArray, a: FloatArray, candidate: BallHalfSpacePair
) -> ContactRates:
    """Return `contact_rates` of a pair whose frame does not turn: derivatives of a body's point, seen in this frame."""
    frame, turns = candidate.axes

    def rows(x: FloatArray) -> FloatArray:
        return np.asarray(frame @ x[..., 3:, :] - candidate.radius * turns @ x[..., :3, :])

    # The velocities per unit of each entry of v, by q.
    every = np.tile(q, (model.nv, 1)), np.eye(model.nv)
    L_q = np.moveaxis(rows(point_velocity_derivatives(model, *every, candidate.body, candidate.center)[0]), 0, 1)
    found = point_acceleration_derivatives(model, q, v, a, candidate.body, candidate.center)
    rate_q, rate_v, L = (rows(x) for x in found)
    return ContactRates(L, L_q, L @ v, np.einsum("ijk,j->ik", L_q, v), rate_q, rate_v)


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
        starts = dict(zip(self.wrt, accumulate(self.sizes.values(), initial=self.time + 1), strict=False))
        return slice(starts[name], starts[name] + self.sizes[name]) if name in starts else slice(0, 0)

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
        """Return the direction of slip (2,) and its derivative; below ``slow`` it is the side's own ``direction``."""
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
    model, nv, o = layout.model, layout.model.nv, course.options
    phase = phase_of(course, layout, sides, part)
    instant, _, forces = phase.forces(t, y)
    rates = tuple(contact_rates(model, instant.kin, forces.a, layout.candidates[side.index]) for side in sides)
    n, width, c = len(sides), layout.width + 2 * len(sides), o.stabilisation
    motion = forces.a, np.asarray(instant.kin.v), instant.M, np.zeros((nv, width))
    loads = forces.fN, np.zeros((n, width)), forces.fT, np.zeros((n, 2, width))
    bare = SmoothRates(*motion, *loads, rates, tuple(sides), shared=False, slow=phase.slow)
    pushed = _applied(course, layout, t, instant.kin.q, bare.v, width)
    rows, columns, wanted, turned = [], [], [], np.zeros((n, 2, width))
    for i, (side, r) in enumerate(zip(sides, rates, strict=True)):
        mu, force = layout.candidates[side.index].mu, np.concatenate(([forces.fN[i]], forces.fT[i]))
        pushed[:, :nv] += r.force_derivative(force)
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
    by_q, by_v, _ = inverse_dynamics_derivatives(model, instant.kin, None, forces.a)
    pushed[:, :nv] -= by_q
    pushed[:, nv : 2 * nv] -= by_v
    if not rows:
        return replace(bare, by=np.asarray(np.linalg.solve(instant.M, pushed), dtype=np.float64))
    J, free, responses = np.vstack(rows), *(np.linalg.solve(instant.M, x) for x in (pushed, np.vstack(columns).T))
    da, dx, rank = solve_rows(responses, J, free, np.vstack(wanted))
    loose = np.linalg.svd(J @ responses)[2][rank:] if rank < len(J) else np.zeros((0, len(J)))
    shared = bool(np.abs(responses @ loose.T).max(initial=0.0) > _SHARED * np.abs(responses).max())
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
    o = course.options
    return Phase(layout.model, layout.candidates, sides, course.tau, o.stabilisation, part * SLOW * o.slip_speed)


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


# Indeterminate parts of redundant contact forces move the bodies if their effect is larger than this.
_SHARED = 1e-9

#: Above this fraction of the speed of slow slip, slip has just become slow; below it, slip has stopped.
SLOW_FRACTION = 0.5


@dataclass(frozen=True, eq=False)
class Crossing:
    """A function of the state that ends the phase when it decreases through zero."""

    what: str
    place: int
    contact: int
    value: float
    by: FloatArray  # (width,)
    rate: float  # d/dt along the motion
    scale: float  # largest possible rate, in the metric of M


def crossings(layout: Layout, at: SmoothRates, unloaded: Sequence[int], q: FloatArray) -> list[Crossing]:
    """Return all functions that could end a phase, with derivatives and rates, at configuration q (nq,).

    They are the gaps of open contacts, normal forces, friction bounds of sticking and slip of sliding contacts: all
    functions of `Run._events` except "response". Contacts in ``unloaded`` are closed, without forces, and have none.
    """
    model, nv, width = layout.model, layout.model.nv, at.by.shape[1]
    inverse = np.linalg.inv(at.M)
    found: list[Crossing] = []

    def add(what: str, place: int, contact: int, value: float, by: FloatArray) -> None:
        def along(row: FloatArray, x: FloatArray) -> float:
            return float(np.sqrt((row @ inverse @ row) * (x @ at.M @ x)))

        rate = float(by[: 2 * nv] @ at.flow + by[layout.time])
        scale = along(by[:nv], at.v) + along(by[nv : 2 * nv], at.a) + abs(float(by[layout.time]))
        found.append(Crossing(what, place, contact, value, by, rate, scale))

    kin = kinematics(model, q, at.v)
    closed = {side.index for side in at.sides} | set(unloaded)
    for k, candidate in enumerate(layout.candidates):
        if k not in closed:
            local = candidate.local(model, kin)
            add("gap", k, k, float(local.gap), np.concatenate((local.L[0], np.zeros(width - nv))))
    for i, side in enumerate(at.sides):
        mu = layout.candidates[side.index].mu
        add("force", i, side.index, float(at.fN[i]), at.fN_by[i])
        if mu == 0.0:
            continue
        if side.mode is Mode.STICK:
            size = float(np.linalg.norm(at.fT[i]))
            by = mu * at.fN_by[i] - (at.fT[i] @ at.fT_by[i] / size if size > 0.0 else 0.0)
            by[layout.column("mu", side.index)] += at.fN[i]
            add("cone", i, side.index, mu * float(at.fN[i]) - size, by)
            continue
        u, speed = at.rates[i].u[1:], at.speed(i)
        fast = speed > SLOW_FRACTION * at.slow
        s = u / speed if fast else side.direction
        by = np.zeros(width)
        by[: 2 * nv] = s @ np.hstack((at.rates[i].u_q[1:], at.rates[i].L[1:]))
        if not fast:
            by += u @ at.slip(i)[1]
        add("slip", i, side.index, speed - at.slow if fast else float(u @ s), by)
    return found


#: Distance to another mode, as a fraction, below which a kink is reported.
NEAR_KINK = 1e-6

# Steps of differences, tried until two results agree to this fraction.
_STEPS = (1e-3, 1e-4, 1e-5, 1e-6)

_AGREEMENT = 1e-7

# Components of a direction without a special position to the axes.
_GENERIC = np.array([0.62, -0.97, 0.81, 0.55, -0.71, -0.89, 0.93, -0.58, 0.76, -0.66, 0.85])

# Ratio of the responses to impulses that is rounding.
_NO_RESPONSE = 1e-12

# One-sided fourth order, for coefficients at their bounds: weights of the values at 0, 1, 2, 3, 4 steps.
_ONE_SIDED = (-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25)


def jump_rates(course: RunTrace, layout: Layout, jump: Jump, q: FloatArray) -> tuple[FloatArray, bool]:
    """Return the derivatives (nv, layout.width) of v+ of a jump, by differences of fourth order.

    A law depends on v only through the velocities of the contacts, so that v is displaced only along the responses to
    impulses. The step is chosen so that the differences along one generic direction, and by each parameter, agree with
    the differences of the next step. The second value is True if there is no such step, or if the slopes on both sides
    differ: another mode is close.
    """
    nv, v, width = layout.model.nv, jump.event.v_minus, layout.width
    pairs = [layout.candidates[k] for k in jump.pairs]
    law = law_of(course.options.impact, pairs)
    given = _law_restitution(layout, jump, law)
    bounds: dict[int, tuple[float, float]] = {}
    for i, k in enumerate(jump.pairs):
        bounds |= dict.fromkeys(layout.column("mu", k), (-pairs[i].mu, np.inf))
        if given is not None:
            bounds |= dict.fromkeys(layout.column("restitution", k), (-float(given[i]), 1.0 - float(given[i])))
    after = partial(_after, course, layout, jump, q, law, given)

    def slopes(ways: FloatArray, ends: Sequence[tuple[float, float]], step: float) -> tuple[FloatArray, float]:
        found = [_difference(after, jump.event.v_plus, *one, step) for one in zip(ways, ends, strict=True)]
        return np.array([slope for slope, _ in found]).T, max(bend for _, bend in found)

    def mass_and_rows(dq: FloatArray) -> FloatArray:
        kin = kinematics(layout.model, integrate(layout.model, q, dq, 1.0), v)
        return np.vstack([mass_matrix(layout.model, kin), *(pair.local(layout.model, kin).L for pair in pairs)])

    # Directions: along q if masses or rows change, along the responses of v to impulses, along all, by each parameter.
    unit, here = np.eye(width), mass_and_rows(np.zeros(nv))
    J, moving = here[nv:], [j for j in range(nv) if np.any(mass_and_rows(_STEPS[0] * unit[j, :nv]) != here)]
    axes, sizes, _ = np.linalg.svd(np.linalg.solve(here[:nv], J.T), full_matrices=False)
    axes = axes[:, sizes > _NO_RESPONSE * sizes[0]]
    speed = float(np.abs(v).max())
    states = np.vstack((unit[moving], speed * axes.T @ unit[nv : 2 * nv]))
    generic = np.zeros(width)
    generic[: 2 * nv] = _GENERIC[np.arange(2 * nv) % len(_GENERIC)] / np.sqrt(nv)
    generic[nv : 2 * nv] *= speed
    free, probes = [(-np.inf, np.inf)] * len(states), np.vstack((generic, unit[list(bounds)]))

    def derivatives(by_numbers: FloatArray, step: float) -> FloatArray:
        found, table = slopes(states, free, step)[0], np.zeros((nv, width))
        by_q, by_axes = np.split(found, [len(moving)], axis=1)
        table[:, moving] = by_q
        table[:, nv : 2 * nv] = np.eye(nv) + (by_axes / speed - axes) @ np.linalg.pinv(J @ axes) @ J
        table[:, list(bounds)] = by_numbers
        return table

    probed: list[tuple[FloatArray, float]] = []
    for number, step in enumerate(_STEPS):
        probed.append(slopes(probes, [free[0], *bounds.values()], step))
        if number == 0 or _disagree(probed[-1][0], probed[-2][0]):
            continue
        table = derivatives(probed[-2][0][:, 1:], _STEPS[number - 1])
        if not _disagree(table @ generic, probed[-2][0][:, 0]):
            # A bend in proportion to the step is a curvature; at a kink it is the same for any step.
            return table, probed[-1][1] > 0.5 * probed[-2][1] + NEAR_KINK
    return derivatives(probed[-1][0][:, 1:], _STEPS[-1]), True


def _disagree(one: FloatArray, other: FloatArray) -> bool:
    """Return True if two results of differences do not agree."""
    return not float(np.abs(one - other).max()) <= _AGREEMENT * max(1.0, float(np.abs(one).max()))


def _law_restitution(layout: Layout, jump: Jump, law: ImpactLaw) -> FloatArray | None:
    """Return the restitution of a law, if it is differentiated by restitution."""
    if "restitution" not in layout.wrt or jump.event.problem is None or jump.event.kind is EventKind.ZENO:
        return None
    if not isinstance(law, RestitutedLaw):
        raise SimulationConfigError(
            "wrt", f"has 'restitution', and {law.title} does not use the restitution of materials"
        )
    u = jump.event.problem.blocks().J[: len(jump.pairs)] @ jump.event.v_minus
    assert law.restitution is not None
    return coefficients(law.restitution, np.maximum(0.0, -u))


def _after(
    course: RunTrace,
    layout: Layout,
    jump: Jump,
    q: FloatArray,
    law: ImpactLaw,
    given: FloatArray | None,
    way: FloatArray,
) -> FloatArray:
    """Return v+ (nv,) after a jump, with state and parameters displaced by ``way`` in the columns of a layout.

    ``given`` has the law's restitution of the jump's pairs; None if it is not differentiated by restitution. In a jam
    without an impulse v+ is the velocity before.
    """
    model, nv, v = layout.model, layout.model.nv, jump.event.v_minus
    kin = kinematics(model, integrate(model, q, way[:nv], 1.0), v + way[nv : 2 * nv])
    pairs = [layout.candidates[k] for k in jump.pairs]
    if "mu" in layout.wrt:
        more = way[layout.of("mu")]
        pairs = [replace(pair, mu=pair.mu + float(more[k])) for k, pair in zip(jump.pairs, pairs, strict=True)]
    data = impact_problem(model, kin, [pair.local(model, kin) for pair in pairs], pairs, course.options.edges)
    if jump.event.kind is EventKind.ZENO:
        return plastic_impact(data)
    if jump.event.kind is EventKind.JAM:
        found = jamming_impact(data, [pair.name for pair in pairs].index(jump.event.contacts[0]))
        return v if found is None else found
    more = way[layout.of("restitution")]
    if given is not None and more.any():
        assert isinstance(law, RestitutedLaw)
        law = replace(law, restitution=given + more[list(jump.pairs)])
    return law.solve(data).v_plus


def _difference(
    value: Callable[[FloatArray], FloatArray],
    middle: FloatArray,
    way: FloatArray,
    ends: tuple[float, float],
    step: float,
) -> tuple[FloatArray, float]:
    """Return the derivative of ``value`` along ``way`` by differences of fourth order with this step.

    ``value(s * way)`` is defined for s between ``ends``, and is ``middle`` for s = 0. The differences are central if s
    can be -2 to 2 steps. Otherwise they are one-sided, with s from 0 to 4 steps or to -4 steps. The second number is
    the largest difference of the slopes on both sides, over the largest entry of ``way``; 0 for one-sided differences.
    """
    least, most = ends
    central = least <= -2.0 * step and most >= 2.0 * step
    if central:
        places, weights = np.array(STENCIL).T
        weights = weights / 12.0
    else:
        sign = 1.0 if most >= 4.0 * step else -1.0
        places, weights = sign * np.arange(5.0), sign * np.array(_ONE_SIDED)
    values = np.array([value(place * step * way) for place in places])
    bend = float(np.abs(values[0] + values[1] - 2.0 * middle).max() / np.abs(way).max()) / step if central else 0.0
    return np.asarray(weights @ values / step, dtype=np.float64), bend

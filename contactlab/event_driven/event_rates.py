"""Derivatives at events: the time of an event, and the derivative D_x R of the velocity after a jump with law R.

Newton's simultaneous law, and a plastic impact, give linear equations in the modes of their solution. They are
differentiated like the phases::

    M (v+ - v-) = R' p        J v+ = -e J v- for normals, 0 for sticking directions

A contact that slips along an edge of the pyramid has the row [N] and the force N + mu d T. Between two edges it also
has the row that prevents slip across them. A sticking contact has [N; T] in both. Other laws are differentiated by
differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from contactlab.event_driven.candidates import BallBallPair
from contactlab.event_driven.modes import impact_problem, jamming_impact, law_of
from contactlab.event_driven.phase import Jump, Mode, RunTrace
from contactlab.event_driven.recording import EventKind
from contactlab.event_driven.smooth_rates import (
    ContactRates,
    Layout,
    SmoothRates,
    contact_rates,
    solve_rows,
)
from contactlab.impact import ImpactLaw, Newton
from contactlab.impact.collision import Restitution, coefficients
from contactlab.impact.law import RestitutedLaw
from contactlab.multibody import integrate, inverse_dynamics_derivatives, kinematics
from contactlab.multibody.derivatives import STENCIL
from contactlab.spatial.arrays import FloatArray
from contactlab.world.errors import SimulationConfigError

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
            add("gap", k, k, local.gap, np.concatenate((local.N, np.zeros(width - nv))))
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


#: Relative size of speeds and forces that count as zero, and distance to another mode below which a kink is reported.
NEAR_KINK = 1e-6

_NEGLIGIBLE = 1e-9


def jump_rates(course: RunTrace, layout: Layout, jump: Jump, q: FloatArray) -> JumpRates:
    """Return the derivatives of v+ of a jump: by its equations for Newton's simultaneous law, else by differences."""
    pairs = [layout.candidates[k] for k in jump.pairs]
    if jump.event.kind is EventKind.ZENO:
        return _differentiate_in_modes(layout, jump, q, *_plastic_modes(layout, jump), np.zeros((2, len(pairs))))
    law = law_of(course.stepper.impact, pairs)
    if jump.event.kind is EventKind.JAM or not isinstance(law, Newton) or law.order != "simultaneous":
        return differenced_jump(course, layout, jump, q, law)
    assert jump.event.problem is not None
    u = jump.event.problem.blocks().J[: len(pairs)] @ jump.event.v_minus
    return _differentiate_in_modes(
        layout, jump, q, *_newton_modes(course, layout, jump, q), _restitution(law.restitution, u)
    )


@dataclass(frozen=True, eq=False)
class _Mode:
    """A contact with an impulse: its rows, and forces per unknown with their parts per unit of mu, in (n, t1, t2)."""

    place: int  # index in the pairs
    rows: FloatArray
    columns: FloatArray
    by_mu: FloatArray


def _plastic_modes(layout: Layout, jump: Jump) -> tuple[list[_Mode], list[tuple[int, float]]]:
    """Return the modes of a plastic impact, decided as in `plastic_impact`, and pairs (candidate, distance).

    The distance is relative, between the slip and the slip at which sticking ends.
    """
    data = jump.event.problem
    assert data is not None
    u = data.blocks().J @ jump.event.v_minus
    approach = float(-u[: data.nc].min(initial=0.0))
    slip = np.abs(u[data.nc : data.nc + data.nr]).reshape(data.nc, -1).max(axis=1, initial=0.0)
    modes, near = [], []
    for i, k in enumerate(jump.pairs):
        bound = layout.candidates[k].mu * approach
        sticks = layout.candidates[k].mu > 0.0 and slip[i] <= bound
        eye = np.eye(3)[: 3 if sticks else 1]
        modes.append(_Mode(i, eye, eye, np.zeros_like(eye)))
        near.append((k, abs(float(slip[i]) - bound) / max(approach, 1e-300)))
    return modes, near


def _newton_modes(
    course: RunTrace, layout: Layout, jump: Jump, q: FloatArray
) -> tuple[list[_Mode], list[tuple[int, float]]]:
    """Return the modes of the contacts with an impulse under Newton's law, and distances from other modes.

    Distances are pairs (candidate, distance). A frictionless contact has none. A sliding contact of balls has a second
    one: its distance from the normals at which the axes of friction change.
    """
    edges, event = course.stepper.edges, jump.event
    turn = 2.0 * np.pi / edges
    kin = kinematics(layout.model, q, event.v_minus)
    largest = float(np.linalg.norm(event.impulses, axis=1).max(initial=0.0))
    normal = np.eye(3)[:1]
    modes, near = [], []
    for place, k in enumerate(jump.pairs):
        candidate = layout.candidates[k]
        local = candidate.local(layout.model, kin)
        f = np.vstack((local.normal, local.tangents)) @ event.impulses[k]
        if f[0] <= _NEGLIGIBLE * largest:
            continue
        if candidate.mu == 0.0:
            modes.append(_Mode(place, normal, normal, _edge(-local.u_t, turn)))
            continue
        before = np.concatenate(([local.u_n], local.u_t))
        size = float(np.linalg.norm(before))
        slip = local.T @ event.v_plus
        speed, bound = float(np.linalg.norm(slip)), candidate.mu * f[0]
        angle = float(np.arctan2(f[2], f[1]))
        corners = [np.array([np.cos(j * turn), np.sin(j * turn)]) for j in (np.floor(angle / turn) + np.arange(2))]
        shares = np.linalg.solve(np.column_stack(corners), f[1:]) / bound
        if speed <= _NEGLIGIBLE * size:
            modes.append(_Mode(place, np.eye(3), np.eye(3), np.zeros((3, 3))))
            near.append((k, 1.0 - float(shares.sum())))
            continue
        if isinstance(candidate, BallBallPair):  # its pyramid turns about the normal with its axes
            least, next_least, _ = np.sort(np.abs(local.normal))
            near.append((k, float(next_least - least)))
        d = corners[int(np.argmax(shares))]
        columns, rows = np.concatenate(([1.0], candidate.mu * d))[None], normal
        by_mu = np.concatenate(([0.0], d))[None]
        if float(shares.min()) > _NEGLIGIBLE:  # between two edges, slip across is prevented
            across = np.concatenate(([0.0], corners[1] - corners[0]))[None]
            columns, rows, by_mu = (
                np.vstack((columns, across)),
                np.vstack((rows, across)),
                np.vstack((by_mu, 0.0 * across)),
            )
            near.append((k, min(speed / size, float(shares.min()))))
        else:
            angle = float(np.arctan2(d[1], d[0]))
            others = [np.array([np.cos(angle + way), np.sin(angle + way)]) for way in (turn, -turn)]
            near.append((k, min(speed, *(float(slip @ (other - d)) / turn for other in others)) / size))
        modes.append(_Mode(place, rows, columns, by_mu))
    return modes, near


def _edge(direction: FloatArray, turn: float) -> FloatArray:
    """Return the force per unit of mu, along the nearest edge, of a contact whose friction begins."""
    if not direction.any():
        return np.zeros((1, 3))
    angle = turn * np.round(np.arctan2(direction[1], direction[0]) / turn)
    return np.array([[0.0, np.cos(angle), np.sin(angle)]])


def _restitution(given: Restitution | None, u: FloatArray) -> FloatArray:
    """Return (2, nc): e at normal velocities u (nc,), and the derivative of e u_n by u_n in J v+ = -e u_n."""
    assert given is not None
    approach = np.maximum(0.0, -u)
    e = coefficients(given, approach)
    h = 1e-3 * np.maximum(approach, 1e-12)
    slope = sum(w * coefficients(given, approach + place * h) for place, w in STENCIL) / (12.0 * h)
    return np.where(approach > 0.0, np.vstack((e, e + slope * approach)), 0.0)


def _differentiate_in_modes(
    layout: Layout, jump: Jump, q: FloatArray, modes: list[_Mode], near: list[tuple[int, float]], e: FloatArray
) -> JumpRates:
    """Return the derivatives of v+ of a jump by state and parameters, from its linear equations in fixed modes.

    ``modes`` has the rows and columns of contacts with impulses. e (2, nc) is the result of `_restitution`. ``near``
    has contacts and their distances from a change of mode, and is passed on.
    """
    model, nv, width = layout.model, layout.model.nv, layout.width
    before, after, still = jump.event.v_minus, jump.event.v_plus, np.zeros(layout.model.nv)

    def rates(mode: _Mode, v: FloatArray) -> ContactRates:
        return contact_rates(model, kinematics(model, q, v), still, layout.candidates[jump.pairs[mode.place]])

    ahead, behind = ([rates(mode, v) for mode in modes] for v in (after, before))
    J = np.vstack([mode.rows @ r.L for mode, r in zip(modes, ahead, strict=True)])
    R = np.vstack([mode.columns @ r.L for mode, r in zip(modes, ahead, strict=True)])
    M = inverse_dynamics_derivatives(model, q, still, still).dtau_da
    p = np.linalg.lstsq(J @ np.linalg.solve(M, R.T), J @ (after - before), rcond=1e-11)[0]
    pushed, wrenches = np.zeros((nv, width)), np.zeros((model.nb, 6))
    wanted, at = [], 0
    for mode, plus, minus in zip(modes, ahead, behind, strict=True):
        k, own = jump.pairs[mode.place], p[at : at + len(mode.rows)]
        at += len(mode.rows)
        force = own @ mode.columns
        pushed[:, :nv] += plus.force_derivative(force)
        wrenches += plus.wrenches(model, force)
        pushed[:, layout.column("mu", k)] += (plus.L.T @ (own @ mode.by_mu))[:, None]
        row = np.zeros((len(mode.rows), width))
        row[:, :nv] = -mode.rows @ plus.u_q
        row[0, :nv] -= e[1, mode.place] * minus.u_q[0]
        row[0, nv : 2 * nv] -= e[1, mode.place] * minus.L[0]
        row[0, layout.column("restitution", k)] -= minus.u[0]
        wanted.append(row)
    # M depends on q: use inverse dynamics at rest, at the acceleration v+ - v-, without gravity.
    pushed[:, :nv] -= inverse_dynamics_derivatives(model, q, still, after - before, wrenches).dtau_dq
    pushed[:, :nv] += inverse_dynamics_derivatives(model, q, still, still).dtau_dq
    pushed[:, nv : 2 * nv] += M
    return JumpRates(solve_rows(M, J, R, pushed, np.vstack(wanted))[0], tuple(near))


# Steps of differences, tried until two results agree to this fraction.
_STEPS = (1e-3, 1e-4, 1e-5, 1e-6)

_AGREEMENT = 1e-7

# One-sided fourth order, for coefficients at their bounds: weights of the values at 0, 1, 2, 3, 4 steps.
_ONE_SIDED = (-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25)


@dataclass(frozen=True, eq=False)
class JumpRates:
    """d(v+), (nv, layout.width), and the contacts close to another mode, with their distances."""

    by: FloatArray
    near: tuple[tuple[int, float], ...]


def differenced_jump(course: RunTrace, layout: Layout, jump: Jump, q: FloatArray, law: ImpactLaw) -> JumpRates:
    """Differentiate any law by differences of fourth order, with a step at which two results agree."""
    nv, v = layout.model.nv, jump.event.v_minus
    pairs = [layout.candidates[k] for k in jump.pairs]
    given = _law_restitution(layout, jump, law)
    bounds: dict[int, tuple[float, float]] = {}
    for i, k in enumerate(jump.pairs):
        bounds |= dict.fromkeys(layout.column("mu", k), (-pairs[i].mu, np.inf))
        if given is not None:
            bounds |= dict.fromkeys(layout.column("restitution", k), (-float(given[i]), 1.0 - float(given[i])))
    after = partial(_after, course, layout, jump, q, law, given)
    tables: list[FloatArray] = []
    for step in _STEPS:
        table = np.zeros((nv, layout.width))
        for column in (*range(2 * nv), *bounds):
            h = step * (float(np.abs(v).max()) if nv <= column < 2 * nv else 1.0)
            way = np.eye(1, layout.width, column)[0]
            table[:, column] = _difference(after, h * way, *(x / h for x in bounds.get(column, (-np.inf, np.inf))))
        tables.append(table)
        if len(tables) > 1:
            off = float(np.abs(tables[-1] - tables[-2]).max()) / max(1.0, float(np.abs(table).max()))
            if off <= _AGREEMENT:
                return JumpRates(tables[-2], ())
    return JumpRates(tables[-1], tuple((k, 0.0) for k in jump.pairs))


def _law_restitution(layout: Layout, jump: Jump, law: ImpactLaw) -> FloatArray | None:
    """Return the restitution of a law, if it is differentiated by restitution."""
    if "restitution" not in layout.wrt or jump.event.problem is None:
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
    data = impact_problem(model, kin, [pair.local(model, kin) for pair in pairs], pairs, course.stepper.edges)
    if jump.event.kind is EventKind.JAM:
        found = jamming_impact(data, [pair.name for pair in pairs].index(jump.event.contacts[0]))
        return v if found is None else found
    if given is not None:
        restitution = given + way[layout.of("restitution")][list(jump.pairs)]
        assert isinstance(law, RestitutedLaw)
        law = replace(law, restitution=restitution)
    return law.solve(data).v_plus


def _difference(value: Callable[[FloatArray], FloatArray], way: FloatArray, least: float, most: float) -> FloatArray:
    """Return the derivative of ``value`` along ``way``, per unit of the largest entry of ``way``, by differences.

    ``value(s * way)`` is defined for ``least`` <= s <= ``most``. The differences are central if this interval contains
    -2 to 2. Otherwise they are one-sided, with s from 0 to 4 or from 0 to -4. Both are of fourth order.
    """
    if least <= -2.0 and most >= 2.0:
        places, weights = np.array(STENCIL).T
        weights = weights / 12.0
    else:
        sign = 1.0 if most >= 4.0 else -1.0
        places, weights = sign * np.arange(5.0), sign * np.array(_ONE_SIDED)
    values = np.array([value(place * way) for place in places])
    return np.asarray(weights @ values / np.abs(way).max(), dtype=np.float64)

"""Derivatives at events: the time of an event, and the derivative D_x R of the velocity after a jump with law R.

Laws are differentiated by differences of fourth order. Steps become smaller until two results agree; if none agree, the
jump is close to another mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from contactlab.event_driven.modes import impact_problem, jamming_impact, law_of, plastic_impact
from contactlab.event_driven.phase import Jump, Mode, RunTrace
from contactlab.event_driven.recording import EventKind
from contactlab.event_driven.smooth_rates import Layout, SmoothRates
from contactlab.impact import ImpactLaw
from contactlab.impact.collision import coefficients
from contactlab.impact.law import RestitutedLaw
from contactlab.multibody import integrate, kinematics
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


#: Distance to another mode, as a fraction, below which a kink is reported.
NEAR_KINK = 1e-6

# Steps of differences, tried until two results agree to this fraction.
_STEPS = (1e-3, 1e-4, 1e-5, 1e-6)

_AGREEMENT = 1e-7

# One-sided fourth order, for coefficients at their bounds: weights of the values at 0, 1, 2, 3, 4 steps.
_ONE_SIDED = (-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25)


def jump_rates(course: RunTrace, layout: Layout, jump: Jump, q: FloatArray) -> tuple[FloatArray, bool]:
    """Return the derivatives (nv, layout.width) of v+ of a jump, by differences of fourth order.

    The step is one at which two results agree. The second value is True if there is none: another mode is close.
    """
    nv, v = layout.model.nv, jump.event.v_minus
    pairs = [layout.candidates[k] for k in jump.pairs]
    law = law_of(course.stepper.impact, pairs)
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
                return tables[-2], False
    return tables[-1], True


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
    data = impact_problem(model, kin, [pair.local(model, kin) for pair in pairs], pairs, course.stepper.edges)
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

"""How the velocity after an impact changes, by differences: of laws whose equations are not known here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from contactlab.event_driven.course import Course, Jump
from contactlab.event_driven.impacts import impact_problem, stop_slip
from contactlab.event_driven.recording import EventKind
from contactlab.event_driven.smooth_rates import Layout
from contactlab.impact import ImpactLaw
from contactlab.impact.law import RestitutedLaw
from contactlab.impact.restitution import coefficients
from contactlab.multibody import integrate, kinematics
from contactlab.multibody.derivatives import STENCIL
from contactlab.spatial.arrays import FloatArray
from contactlab.world.errors import SimulationConfigError

# Steps of differences, tried until two agree to this part.
_STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
_AGREE = 1e-7
# Fourth order from one side, for coefficients at their bounds: of the values at 0, 1, 2, 3, 4 steps.
_ONE_SIDED = (-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25)


@dataclass(frozen=True, eq=False)
class JumpRates:
    """d(v+), (nv, layout.width), and the modes that it has almost left: contact, how far."""

    by: FloatArray
    near: tuple[tuple[int, float], ...]


def differenced_jump(course: Course, layout: Layout, jump: Jump, q: FloatArray, law: ImpactLaw) -> JumpRates:
    """Differences of fourth order of any law, at steps that agree."""
    nv, v = layout.model.nv, jump.event.v_minus
    pairs = [layout.candidates[k] for k in jump.pairs]
    given = _given(layout, jump, law)
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
            if off <= _AGREE:
                return JumpRates(tables[-2], ())
    return JumpRates(tables[-1], tuple((k, 0.0) for k in jump.pairs))


def _given(layout: Layout, jump: Jump, law: ImpactLaw) -> FloatArray | None:
    """The restitution of a law, where it is differentiated by it."""
    if "restitution" not in layout.wrt or jump.event.problem is None:
        return None
    if not isinstance(law, RestitutedLaw):
        raise SimulationConfigError("wrt", f"has 'restitution', and {law.title} takes none of materials")
    u = jump.event.problem.blocks().J[: len(jump.pairs)] @ jump.event.v_minus
    assert law.restitution is not None
    return coefficients(law.restitution, np.maximum(0.0, -u))


def _after(
    course: Course, layout: Layout, jump: Jump, q: FloatArray, law: ImpactLaw, given: FloatArray | None, way: FloatArray
) -> FloatArray:
    """Velocity after a jump whose state and parameters are moved along the columns of a layout."""
    model, nv, v = layout.model, layout.model.nv, jump.event.v_minus
    kin = kinematics(model, integrate(model, q, way[:nv], 1.0), v + way[nv : 2 * nv])
    pairs = [layout.candidates[k] for k in jump.pairs]
    if "mu" in layout.wrt:
        more = way[layout.of("mu")]
        pairs = [replace(pair, mu=pair.mu + float(more[k])) for k, pair in zip(jump.pairs, pairs, strict=True)]
    data = impact_problem(model, kin, [pair.local(model, kin) for pair in pairs], pairs, course.stepper.edges)
    if jump.event.kind is EventKind.JAM:
        found = stop_slip(data, [pair.name for pair in pairs].index(jump.event.contacts[0]))
        return v if found is None else found
    if given is not None:
        restitution = given + way[layout.of("restitution")][list(jump.pairs)]
        assert isinstance(law, RestitutedLaw)
        law = replace(law, restitution=restitution)
    return law.solve(data).v_plus


def _difference(value: Callable[[FloatArray], FloatArray], way: FloatArray, least: float, most: float) -> FloatArray:
    """The derivative along a way, of which a function allows from ``least`` to ``most``."""
    if least <= -2.0 and most >= 2.0:
        places, weights = np.array(STENCIL).T
        weights = weights / 12.0
    else:
        sign = 1.0 if most >= 4.0 else -1.0
        places, weights = sign * np.arange(5.0), sign * np.array(_ONE_SIDED)
    values = np.array([value(place * way) for place in places])
    return np.asarray(weights @ values / np.abs(way).max(), dtype=np.float64)

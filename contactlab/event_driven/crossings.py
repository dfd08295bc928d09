"""Where the events of a phase lie, and how that changes: their functions' gradients and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contactlab.event_driven.phase import Mode
from contactlab.event_driven.smooth_rates import Layout, SmoothRates
from contactlab.multibody import kinematics
from contactlab.spatial.arrays import FloatArray

#: Slip above this part of the speed up to which it keeps its direction has just fallen to it; below it has stopped.
OF_SLOW = 0.5


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


def crossings(layout: Layout, at: SmoothRates, riding: Sequence[int], q: FloatArray) -> list[Crossing]:
    """All events that could end a phase, as `run` looks for them, but for "response"."""
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
    closed = {side.index for side in at.sides} | set(riding)
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
        fast = speed > OF_SLOW * at.slow
        s = u / speed if fast else side.direction
        by = np.zeros(width)
        by[: 2 * nv] = s @ np.hstack((at.rates[i].u_q[1:], at.rates[i].L[1:]))
        if not fast:
            by += u @ at.slip(i)[1]
        add("slip", i, side.index, speed - at.slow if fast else float(u @ s), by)
    return found

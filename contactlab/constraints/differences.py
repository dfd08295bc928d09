"""Rows of a constraint set against finite differences of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.evaluation import evaluated
from contactlab.constraints.kernels.wanted import GAMMA, JACOBIAN, POSITION_ERROR, VELOCITY_ERROR
from contactlab.constraints.wrenches import group_wrenches
from contactlab.multibody.configuration import integrate
from contactlab.multibody.jacobians import point_jacobian_6d
from contactlab.multibody.kinematics import kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import point_in_body
from contactlab.spatial.arrays import FloatArray

# Step of the central differences: their error is its square, or rounding over it.
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class State:
    """State of a comparison: q (nq,), v and its rate a (nv,), time."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    t: float

    def after(self, model: Model, h: float) -> State:
        """A little later on a motion with these v and a; right to second order."""
        return State(integrate(model, self.q, self.v + 0.5 * h * self.a, h), self.v + h * self.a, self.a, self.t + h)


#: What a quantity is and what it should be, row by row: (nc,) or (nc, nv) each.
Comparison: TypeAlias = Callable[[Model, ConstraintSet, State], tuple[FloatArray, FloatArray]]


def position_rate(model: Model, cs: ConstraintSet, state: State) -> tuple[FloatArray, FloatArray]:
    """Rate of the position errors, and the velocity errors."""
    one, two = (state.after(model, h) for h in (-_STEP, _STEP))
    phi = [evaluated(model, at.q, None, cs, POSITION_ERROR, at.t).phi for at in (one, two)]
    return (phi[1] - phi[0]) / (2.0 * _STEP), evaluated(model, state.q, state.v, cs, VELOCITY_ERROR, state.t).phid


def slope(model: Model, cs: ConstraintSet, state: State) -> tuple[FloatArray, FloatArray]:
    """Slope of the velocity errors for a change of v along a, and G a."""
    phid = [evaluated(model, state.q, state.v + h * state.a, cs, VELOCITY_ERROR, state.t).phid for h in (-_STEP, _STEP)]
    return (phid[1] - phid[0]) / (2.0 * _STEP), evaluated(model, state.q, state.v, cs, JACOBIAN, state.t).G @ state.a


def bias(model: Model, cs: ConstraintSet, state: State) -> tuple[FloatArray, FloatArray]:
    """Rate of the velocity errors, and G a - gamma."""
    one, two = (state.after(model, h) for h in (-_STEP, _STEP))
    phid = [evaluated(model, at.q, at.v, cs, VELOCITY_ERROR, at.t).phid for at in (one, two)]
    rows = evaluated(model, state.q, state.v, cs, JACOBIAN | GAMMA, state.t)
    return (phid[1] - phid[0]) / (2.0 * _STEP), rows.G @ state.a - (rows.gamma - cs.accelerations)


def wrench(model: Model, cs: ConstraintSet, state: State) -> tuple[FloatArray, FloatArray]:
    """Generalised forces of the wrenches of a unit force along each row, and the rows of G; (nc, nv) each."""
    G = evaluated(model, state.q, state.v, cs, JACOBIAN, state.t).G
    at = kinematics(model, state.q, state.v)
    generalized = np.zeros_like(G)
    for group in cs.groups:
        for row in group.rows:
            unit = np.zeros(cs.n_rows)
            unit[row] = 1.0
            for entry in group_wrenches(model, at, cs, unit, group.name, frame="world", t=state.t):
                place = point_in_body(model, at, entry.body, entry.frame.p)
                generalized[row] += point_jacobian_6d(model, at, entry.body, place).T @ entry.wrench
    return generalized, G


def worst(
    model: Model, cs: ConstraintSet, states: Sequence[State], compare: Comparison, rows: NDArray[np.bool_]
) -> tuple[float, int]:
    """Largest deviation over ``states`` and ``rows``, in units of 1 + what is compared, and the row it is of."""
    largest, at = 0.0, int(np.flatnonzero(rows)[0])
    for state in states:
        one, two = compare(model, cs, state)
        size = 1.0 + np.maximum(np.abs(one), np.abs(two))
        error = np.where(rows, np.max((np.abs(one - two) / size).reshape(cs.n_rows, -1), axis=1, initial=0.0), 0.0)
        if error.max() > largest:
            largest, at = float(error.max()), int(error.argmax())
    return largest, at

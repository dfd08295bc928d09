"""Nearest solution to where the search began, among all those around one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from contactlab.constraints.assembly_closing import Conditions, back_on
from contactlab.constraints.assembly_conditions import turn_jacobian
from contactlab.constraints.row_space import RowSpace, row_space
from contactlab.multibody.configuration import difference, integrate
from contactlab.multibody.joints import FloatingBase, Spherical
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

# The last step is shorter than this [rad, m]; the error of a Newton step is of the order of its square.
_LAST: Final = 1e-8
# Solutions nearer than this [rad, m] need no curvature of the rows: the method then gains a decimal per step without.
_NEAR: Final = 0.1
# Steps of differences: one-sided ones of the slope, central ones for joints whose formula is the user's.
_STEP: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Nearest:
    """Solution found, half its squared weighted distance, steps tried, and whether the distance is stationary there."""

    q: FloatArray
    objective: float
    iterations: int
    stationary: bool


def nearest_on_solutions(
    conditions: Conditions, q0: FloatArray, q: FloatArray, weights: FloatArray, tolerance: float, budget: int
) -> Nearest:
    """Minimise d^T diag(weights) d / 2, d = difference(q0, q), over solutions, from the solution q.

    Newton's method in the null space of the rows, with the curvature of rows and distance, each step brought back onto
    the solutions by Newton steps and shortened until the distance falls (Nocedal, Wright, Numerical Optimization, 2006,
    section 18.3). Directions that change nothing are left alone.
    """
    model = conditions.model
    root = np.sqrt(weights / weights.max()) if weights.any() else weights
    objective = _objective(root, difference(model, q0, q))
    iterations = 0
    while iterations < budget:
        d, D = difference_jacobian(model, q0, q)
        rows = row_space(conditions.linearised(q)[1])
        step = _newton_step(conditions, q0, q, root, d, D, rows)
        slope = float((root * d) @ (root * (D @ step)))
        if float(np.abs(step).max(initial=0.0)) <= _LAST or slope >= -1e-15 * objective:
            # Taken all the same, to be stationary to rounding: its own error is of the order of its square.
            last, error = back_on(conditions, integrate(model, q, step, 1.0), tolerance, 10)
            value = _objective(root, difference(model, q0, last))
            good = error <= tolerance and value <= objective
            return Nearest(last if good else q, value if good else objective, iterations + 1, True)
        length = min(1.0, 0.7 / float(np.abs(step).max()))
        while True:
            iterations += 1
            there, error = back_on(conditions, integrate(model, q, length * step, 1.0), tolerance, 10)
            value = _objective(root, difference(model, q0, there)) if error <= tolerance else np.inf
            if value <= objective + 1e-4 * length * slope:
                q, objective = there, value
                break
            length *= 0.4
            # Below this the distance changes by rounding alone.
            if length * float(np.abs(step).max()) < _LAST or iterations >= budget:
                return Nearest(q, objective, iterations, iterations < budget)
    return Nearest(q, objective, iterations, False)


def _objective(root: FloatArray, d: FloatArray) -> float:
    return 0.5 * float(np.sum((root * d) ** 2))


def _newton_step(
    conditions: Conditions,
    q0: FloatArray,
    q: FloatArray,
    root: FloatArray,
    d: FloatArray,
    D: FloatArray,
    rows: RowSpace,
) -> FloatArray:
    """The step (nv,) in the null space, downhill: eigenvalues of the projected Hessian count by their size."""
    Z = rows.null
    gradient = D.T @ (root**2 * d)
    distance = root[:, None] * (D @ Z)
    hessian = distance.T @ distance
    if float(np.abs(d).max(initial=0.0)) > _NEAR:
        hessian = hessian + _curvature(conditions, q0, q, root, gradient, rows, hessian)
    values, vectors = np.linalg.eigh(hessian)
    size = np.abs(values)
    kept = size > 1e-9 * size.max(initial=0.0)
    pull = vectors.T @ (Z.T @ gradient)
    return np.asarray(-Z @ (vectors @ np.where(kept, pull / np.where(kept, size, 1.0), 0.0)))


def _curvature(
    conditions: Conditions,
    q0: FloatArray,
    q: FloatArray,
    root: FloatArray,
    gradient: FloatArray,
    rows: RowSpace,
    hessian: FloatArray,
) -> FloatArray:
    """Curvature of rows and coordinates: the Lagrangian's projected Hessian, by differences, less its given part."""
    model, Z = conditions.model, rows.null
    multipliers = rows.multipliers(gradient)
    if not multipliers.any():
        return np.zeros_like(hessian)

    def slope(at: FloatArray) -> FloatArray:
        d, D = difference_jacobian(model, q0, at)
        return np.asarray(D.T @ (root**2 * d) - conditions.linearised(at)[1].T @ multipliers)

    # One-sided: a Hessian to six decimals is enough for Newton's method.
    here = slope(q)
    columns = [Z.T @ (slope(integrate(model, q, z, _STEP)) - here) / _STEP for z in Z.T]
    whole = np.array(columns).T.reshape(hessian.shape)
    return np.asarray(0.5 * (whole + whole.T) - hessian)


def difference_jacobian(model: Model, q0: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """d = difference(q0, q), (nv,), and D (nv, nv): D x is its rate when q moves with velocity x."""
    d = difference(model, q0, q)
    D = np.eye(model.nv)
    for body in model.bodies:
        if isinstance(body.joint, Spherical | FloatingBase):
            last = model.v_slice(body.name).stop
            D[last - 3 : last, last - 3 : last] = turn_jacobian(d[last - 3 : last])
    for _, _, iv in model.packed.custom:
        for column in range(iv.start, iv.stop):
            move = np.zeros(model.nv)
            move[column] = _STEP
            ahead = difference(model, q0, integrate(model, q, move, 1.0))
            behind = difference(model, q0, integrate(model, q, move, -1.0))
            D[:, column] = (ahead - behind) / (2.0 * _STEP)
    return d, D

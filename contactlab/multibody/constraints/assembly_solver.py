"""Solve conditions on a configuration, and find the nearest of the solutions.

The solver uses damped Gauss-Newton steps, and new starts if a descent ends above the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.configuration import difference, integrate
from contactlab.multibody.constraints.assembly_conditions import Condition, turn_jacobian
from contactlab.multibody.constraints.evaluation import tolerances
from contactlab.multibody.constraints.solve import RowSpace, row_space
from contactlab.multibody.joints import FloatingBase, Spherical
from contactlab.multibody.kinematics import kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_spatial_jacobian
from contactlab.multibody.spatial.arrays import FloatArray

# Largest rotation of a joint in one step [rad]: the linear model is valid only near the configuration.
_TURN: Final = 0.7
# Singular values below this fraction of the largest one are zero.
_DEPENDENT: Final = 1e-11
# A descent ends after this number of steps that reduced the residual by less than a hundredth.
_PATIENCE: Final = 6
# Number of new starts, and number of descents with equal residuals after which this residual is the smallest one.
_STARTS: Final = 10
_AGREEING: Final = 6


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions of one assembly, stacked."""

    model: Model
    parts: Sequence[Condition]
    #: Number of rows before the rows of custom constraints, in metres or radians.
    plain: int

    def linearised(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the residual e (k,) at a configuration, and its derivative (k, nv)."""
        kin = kinematics(self.model, q)
        pairs = [part(self.model, kin) for part in self.parts]
        e = np.concatenate([np.zeros(0), *(e for e, _ in pairs)])
        return e, np.concatenate([np.zeros((0, self.model.nv)), *(J for _, J in pairs)])

    def row_space(self, e: FloatArray, J: FloatArray) -> RowSpace:
        """Return rank and spaces of the derivative J (k, nv) at a configuration with the residual e (k,)."""
        # Rows of contacts, loops and distances have one size, so that rows of rounding only are zero. The units of
        # custom rows are unknown: each has its own size.
        sizes = np.abs(J).max(axis=1, initial=0.0)
        sizes[: self.plain] = sizes[: self.plain].max(initial=0.0)
        return row_space(J, tolerances(J, sizes, e))


def rotational_dofs(model: Model, q: FloatArray) -> NDArray[np.bool_]:
    """Return a mask (nv,) of the entries of v that rotate a body."""
    kin = kinematics(model, q)
    turning = np.zeros(model.nv, dtype=bool)
    for body in model.bodies:
        turning |= np.abs(body_spatial_jacobian(model, kin, body.name)[:3]).max(axis=0, initial=0.0) > 1e-12
    return turning


def solve_conditions(
    conditions: Conditions, q0: FloatArray, metric: FloatArray, tolerance: float, budget: int
) -> tuple[FloatArray, float, int]:
    """Return a configuration of residual zero, searched from q0; without one, the configuration of smallest residual.

    The norm of its residual and the number of steps tried follow.

    At most ``budget`` steps are tried, the shortest ones in the norm of diag(metric), which is positive. A residual of
    norm ``tolerance`` is accepted.
    """
    model = conditions.model
    turning = rotational_dofs(model, q0)
    best, least, spent = _descend(conditions, q0, metric, turning, tolerance, budget)
    alike = 1
    rng = np.random.default_rng(0)
    for start in range(1, _STARTS + 1):
        if least <= tolerance or spent >= 0.7 * budget or alike >= _AGREEING:
            break
        # Symmetric or stretched-out starts are saddles, which a small perturbation leaves. Later starts are farther
        # away.
        push = min(0.5 * start, 2.0) * rng.standard_normal(model.nv) / np.sqrt(metric / metric.min())
        start_q = integrate(model, q0, push, 1.0)
        q, error, steps = _descend(conditions, start_q, metric, turning, tolerance, budget - spent)
        spent += steps
        if abs(error - least) <= 1e-3 * least:
            alike += 1
        elif error < least:
            alike = 1
        if error < least:
            best, least = q, error
    if least > tolerance:
        # No descent reached a solution: spend the remaining budget on the smallest residual.
        best, least, steps = _descend(conditions, best, metric, turning, tolerance, budget - spent, to_the_end=True)
        spent += steps
    return best, least, spent


def _descend(
    conditions: Conditions,
    q: FloatArray,
    metric: FloatArray,
    turning: NDArray[np.bool_],
    tolerance: float,
    budget: int,
    *,
    to_the_end: bool = False,
) -> tuple[FloatArray, float, int]:
    """Reduce the residual from q by the Levenberg-Marquardt method, with damping in proportion to the residual.

    It ends at a residual of norm ``tolerance``, after ``budget`` steps, or when several steps gain little: 1 % each, or
    with ``to_the_end`` 1e-9. Steps are shortest in the norm of diag(``metric``) (nv,). In one step no entry of the mask
    ``turning`` (nv,) exceeds the angle _TURN.

    Convergence is quadratic for regular rows (Fan, Yuan, "On the quadratic convergence of the Levenberg-Marquardt
    method without nonsingularity assumption", Computing 74, 2005). Without damping its step is the shortest one in the
    metric, the upper part of the solution of [W G^T; G 0] [dq; -l] = [0; -e].
    """
    e, J = conditions.linearised(q)
    error, factor, slow, iterations = float(np.linalg.norm(e)), 1e-4, 0, 0
    root = 1.0 / np.sqrt(metric)
    while error > tolerance and iterations < budget and slow < _PATIENCE:
        iterations += 1
        step = _step(J * root, e, factor * min(1.0, error)) * root
        turn = float(np.abs(step[turning]).max(initial=0.0))
        if turn > _TURN:
            step *= _TURN / turn
        foreseen = error**2 - float(np.linalg.norm(e + J @ step)) ** 2
        if foreseen <= 1e-13 * error**2:
            break  # a stationary point
        there = integrate(conditions.model, q, step, 1.0)
        e_there, J_there = conditions.linearised(there)
        now = float(np.linalg.norm(e_there))
        ratio = (error**2 - now**2) / foreseen
        factor *= 0.1 if ratio > 0.75 else 1.0 if ratio > 0.25 else 8.0
        factor = max(factor, 1e-12)
        if ratio <= 1e-3:
            factor *= 2.0
            slow += factor > 1e6
            continue
        q, e, J = there, e_there, J_there
        slow = slow + 1 if now > (1.0 - 1e-9 if to_the_end else 0.99) * error else 0
        error = now
    return q, error, iterations


def _step(J: FloatArray, e: FloatArray, damping: float) -> FloatArray:
    """Return the x that minimises |J x + e|^2 + damping s^2 |x|^2, s the largest singular value of J."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    if s.shape[0] == 0 or s[0] == 0.0:
        return np.zeros(J.shape[1])
    kept = s > _DEPENDENT * s[0]
    gain = np.where(kept, s / np.where(kept, s * s + damping * s[0] ** 2, 1.0), 0.0)
    return np.asarray(-Vt.T @ (gain * (U.T @ e)))


def project_to_solutions(
    conditions: Conditions, q: FloatArray, tolerance: float, steps: int
) -> tuple[FloatArray, float]:
    """Return the configuration after Newton steps from a q that is nearly a solution, and the norm of its residual.

    The steps are the shortest ones, and continue as long as the residual decreases.
    """
    e, J = conditions.linearised(q)
    error = float(np.linalg.norm(e))
    for _ in range(steps):
        if error <= tolerance:
            break
        there = integrate(conditions.model, q, conditions.row_space(e, J).solve(-e), 1.0)
        e, J = conditions.linearised(there)
        now = float(np.linalg.norm(e))
        if not now < error:
            break
        q, error = there, now
    return q, error


# Length [rad, m] below which a step is the last one; the error of a Newton step is of the order of its square.
_LAST: Final = 1e-8
# Solutions nearer than this [rad, m] do not need the curvature of the rows: without it, each step gains one decimal.
_NEAR: Final = 0.1
# Steps of finite differences: one-sided ones for the slope, central ones for custom joints.
_STEP: Final = 1e-6


def nearest_on_solutions(
    conditions: Conditions, q0: FloatArray, q: FloatArray, weights: FloatArray, tolerance: float, budget: int
) -> tuple[FloatArray, int, bool]:
    """Minimise d^T diag(weights) d / 2, d = difference(q0, q), over solutions, from the solution q.

    Newton's method in the null space of the rows, with the curvature of rows and distance. Newton steps bring each step
    back to the solutions, and it is shortened until the distance decreases (Nocedal, Wright, Numerical Optimization,
    2006, section 18.3). Directions that do not change the distance are not used.

    Return the solution, the number of steps, and whether the distance is stationary.
    """
    model = conditions.model
    root = np.sqrt(weights / weights.max()) if weights.any() else weights
    objective = _objective(root, difference(model, q0, q))
    iterations = 0
    while iterations < budget:
        d, D = difference_jacobian(model, q0, q)
        rows = conditions.row_space(*conditions.linearised(q))
        step = _newton_step(conditions, q0, q, root, d, D, rows)
        slope = float((root * d) @ (root * (D @ step)))
        if float(np.abs(step).max(initial=0.0)) <= _LAST or slope >= -1e-15 * objective:
            # The last step is still made, so that the result is stationary up to rounding.
            last, error = project_to_solutions(conditions, integrate(model, q, step, 1.0), tolerance, 10)
            value = _objective(root, difference(model, q0, last))
            return last if error <= tolerance and value <= objective else q, iterations + 1, True
        length = min(1.0, 0.7 / float(np.abs(step).max()))
        while True:
            iterations += 1
            there, error = project_to_solutions(conditions, integrate(model, q, length * step, 1.0), tolerance, 10)
            value = _objective(root, difference(model, q0, there)) if error <= tolerance else np.inf
            if value <= objective + 1e-4 * length * slope:
                q, objective = there, value
                break
            length *= 0.4
            # Shorter steps change the distance by rounding only.
            if length * float(np.abs(step).max()) < _LAST or iterations >= budget:
                return q, iterations, iterations < budget
    return q, iterations, False


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
    """Return a Newton step (nv,) in the null space of the rows that reduces the weighted distance of q from q0.

    root (nv,) are the square roots of the weights, d (nv,) is difference(q0, q), and D (nv, nv) is its Jacobian by
    velocities. The step uses the absolute eigenvalues of the projected Hessian, so the distance decreases along it. It
    has no component along eigenvectors whose eigenvalue is 0 up to rounding.
    """
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
    """Return the Lagrangian's Hessian in the null space of the rows, by differences, minus ``hessian``.

    ``hessian`` has the terms without second derivatives of the rows and of d; the result has these second derivatives.
    """
    model, Z = conditions.model, rows.null
    multipliers = rows.multipliers(rows.basis.T @ gradient)
    if not multipliers.any():
        return np.zeros_like(hessian)

    def slope(at: FloatArray) -> FloatArray:
        d, D = difference_jacobian(model, q0, at)
        return np.asarray(D.T @ (root**2 * d) - conditions.linearised(at)[1].T @ multipliers)

    # One-sided differences: a Hessian to six decimals is sufficient for Newton's method.
    here = slope(q)
    columns = [Z.T @ (slope(integrate(model, q, z, _STEP)) - here) / _STEP for z in Z.T]
    whole = np.array(columns).T.reshape(hessian.shape)
    return np.asarray(0.5 * (whole + whole.T) - hessian)


def difference_jacobian(model: Model, q0: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return d = difference(q0, q), (nv,), and D (nv, nv): D x is the rate of d while q moves with velocity x."""
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

"""Descents of residuals to zero from anywhere: damped Gauss-Newton steps, and new starts where they end too early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from contactlab.constraints.assembly_conditions import Condition
from contactlab.constraints.row_space import row_space
from contactlab.multibody.configuration import integrate
from contactlab.multibody.jacobians import body_spatial_jacobian
from contactlab.multibody.kinematics import Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

# No step turns a joint further [rad]: a linear model knows nothing of what lies beyond.
_TURN: Final = 0.7
# Singular values below this part of the largest are zero.
_DEPENDENT: Final = 1e-11
# A descent that lowered the residual by less than a hundredth in so many steps ends at a minimum above zero.
_PATIENCE: Final = 6
# New starts, and the number of descents ending alike after which their residual is taken for the smallest there is.
_STARTS: Final = 10
_AGREEING: Final = 6


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions of one assembly, stacked."""

    model: Model
    parts: Sequence[Condition]

    def residual(self, q: FloatArray) -> FloatArray:
        """e (k,) at a configuration."""
        return self._stacked(kinematics(self.model, q))

    def linearised(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """e (k,) and its derivative (k, nv)."""
        kin = kinematics(self.model, q)
        rows = [part.jacobian(self.model, kin) for part in self.parts]
        return self._stacked(kin), np.concatenate([np.zeros((0, self.model.nv)), *rows])

    def _stacked(self, kin: Kinematics) -> FloatArray:
        return np.concatenate([np.zeros(0), *(part.residual(self.model, kin) for part in self.parts)])


@dataclass(frozen=True, eq=False)
class Closing:
    """End of the descents: the configuration of least residual, its norm, the steps tried."""

    q: FloatArray
    error: float
    iterations: int


def turning_entries(model: Model, q: FloatArray) -> NDArray[np.bool_]:
    """(nv,) whether an entry of v turns anything."""
    kin = kinematics(model, q)
    turning = np.zeros(model.nv, dtype=bool)
    for body in model.bodies:
        turning |= np.abs(body_spatial_jacobian(model, kin, body.name)[:3]).max(axis=0, initial=0.0) > 1e-12
    return turning


def close(conditions: Conditions, q0: FloatArray, metric: FloatArray, tolerance: float, budget: int) -> Closing:
    """A configuration of residual zero, found from q0; the least residual met where there is none.

    Steps, at most ``budget``, are the shortest ones in the norm of diag(metric), which is positive; a residual of norm
    ``tolerance`` is good enough.
    """
    model = conditions.model
    turning = turning_entries(model, q0)
    best = _descend(conditions, q0, metric, turning, tolerance, budget)
    spent, alike = best.iterations, 1
    rng = np.random.default_rng(0)
    for start in range(1, _STARTS + 1):
        if best.error <= tolerance or spent >= 0.7 * budget or alike >= _AGREEING:
            break
        # Symmetric or stretched-out starts are saddles: a small push leaves them. Later ones look elsewhere.
        push = min(0.5 * start, 2.0) * rng.standard_normal(model.nv) / np.sqrt(metric / metric.min())
        descent = _descend(conditions, integrate(model, q0, push, 1.0), metric, turning, tolerance, budget - spent)
        spent += descent.iterations
        if abs(descent.error - best.error) <= 1e-3 * best.error:
            alike += 1
        elif descent.error < best.error:
            alike = 1
        best = descent if descent.error < best.error else best
    if best.error > tolerance:
        # Nobody gets there, it seems: what is left of the budget is for how near one does.
        best = _descend(conditions, best.q, metric, turning, tolerance, budget - spent, to_the_end=True)
        spent += best.iterations
    return Closing(best.q, best.error, spent)


def _descend(
    conditions: Conditions,
    q: FloatArray,
    metric: FloatArray,
    turning: NDArray[np.bool_],
    tolerance: float,
    budget: int,
    *,
    to_the_end: bool = False,
) -> Closing:
    """Levenberg-Marquardt with damping in proportion to the residual.

    Quadratic on regular rows (Fan, Yuan, "On the quadratic convergence of the Levenberg-Marquardt method without
    nonsingularity assumption", Computing 74, 2005); without damping its step is the shortest one in the metric, the
    upper part of [W G^T; G 0] [dq; -l] = [0; -e].
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
        ratio = (error**2 - float(np.linalg.norm(conditions.residual(there))) ** 2) / foreseen
        factor *= 0.1 if ratio > 0.75 else 1.0 if ratio > 0.25 else 8.0
        factor = max(factor, 1e-12)
        if ratio <= 1e-3:
            factor *= 2.0
            slow += factor > 1e6
            continue
        q = there
        e, J = conditions.linearised(q)
        now = float(np.linalg.norm(e))
        slow = slow + 1 if now > (1.0 - 1e-9 if to_the_end else 0.99) * error else 0
        error = now
    return Closing(q, error, iterations)


def _step(J: FloatArray, e: FloatArray, damping: float) -> FloatArray:
    """The x that minimises |J x + e|^2 + damping s^2 |x|^2, s the largest singular value of J."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    if s.shape[0] == 0 or s[0] == 0.0:
        return np.zeros(J.shape[1])
    kept = s > _DEPENDENT * s[0]
    gain = np.where(kept, s / np.where(kept, s * s + damping * s[0] ** 2, 1.0), 0.0)
    return np.asarray(-Vt.T @ (gain * (U.T @ e)))


def back_on(conditions: Conditions, q: FloatArray, tolerance: float, steps: int) -> tuple[FloatArray, float]:
    """The last of some Newton steps, the shortest ones, from a q that is nearly a solution, and its residual's norm.

    They are taken while they lower the residual.
    """
    e, J = conditions.linearised(q)
    error = float(np.linalg.norm(e))
    for _ in range(steps):
        if error <= tolerance:
            break
        there = integrate(conditions.model, q, row_space(J).solve(-e), 1.0)
        e, J = conditions.linearised(there)
        now = float(np.linalg.norm(e))
        if not now < error:
            break
        q, error = there, now
    return q, error

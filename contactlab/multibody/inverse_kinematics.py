"""Inverse kinematics: configurations at which points, bodies or the centre of mass reach given targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import checked
from contactlab.multibody.ik_targets import (
    CenterOfMassTarget,
    ConfigurationSpace,
    OrientationTarget,
    PointTarget,
    PoseTarget,
    Target,
    freedom_of,
)
from contactlab.multibody.kinematics import Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import (
    FloatArray,
    MultibodyError,
    check_type,
    check_whole,
    finite_array,
    finite_number,
    read_only,
)

__all__ = [
    "CenterOfMassTarget",
    "IKResult",
    "OrientationTarget",
    "PointTarget",
    "PoseTarget",
    "Target",
    "damped_step",
    "inverse_kinematics",
]

#: A number per target, or one per row of it.
Weights: TypeAlias = Sequence[ArrayLike] | FloatArray

# Damping added to the part that vanishes with the error, relative to the mean square of J's singular values.
_BIAS: Final = 1e-3
# The whole damping falls by _DAMPING_DECREASE after a step that lowered the objective as much as predicted, and rises
# otherwise.
_DAMPING_DECREASE: Final = 1.0 / 3.0
_DAMPING_INCREASE: Final = 6.0
_LARGEST: Final = 1e12
# A descent ends after a step that lowers the objective by less than this fraction.
_STALLED: Final = 1e-14
# A descent that lowers the objective by less than a tenth in this many steps approaches a minimum above zero.
_PATIENCE: Final = 4
# _SAME is the relative difference below which the objectives of two descents are equal. After _AGREEING descents with
# equal objectives, the objective counts as the smallest possible one.
_SAME: Final = 1e-2
_AGREEING: Final = 8


@dataclass(frozen=True, eq=False)
class IKResult:
    """Result of `inverse_kinematics`.

    Attributes
    ----------
    q
        Configuration (nq,), read-only: a solution, or the best one met, within the limits in either case.
    converged
        Whether ``error`` is within the tolerance.
    error
        Norm of all rows with a weight [m, rad], themselves not weighted.
    iterations
        Steps tried, over all descents.
    errors
        The same norm for each target, in the order given.
    """

    q: FloatArray
    converged: bool
    error: float
    iterations: int
    errors: tuple[float, ...]


def inverse_kinematics(
    model: Model,
    q0: ArrayLike,
    targets: Sequence[Target],
    *,
    weights: Weights | None = None,
    limits: bool | tuple[ArrayLike, ArrayLike] = True,
    tolerance: float = 1e-10,
    max_iterations: int = 300,
) -> IKResult:
    """Find q, near q0 if there are many, at which all targets are met, or missed by as little as possible.

    The sum of the squares of all rows, each times its weight, is minimised by the Levenberg-Marquardt method. Its
    damping is Sugihara's ("Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", IEEE
    Transactions on Robotics 27, 2011), which vanishes with the error. An additional factor falls while steps succeed
    and grows when they fail. Steps lie in the space of velocities and move q by `integrate`, so quaternions stay unit;
    each step minimises its quadratic model between the limits. A descent that ends with an error is repeated from other
    configurations, at growing distances from q0 and the same in every run. This ends when one converges, several end at
    the same error, or the iterations are used up.

    Parameters
    ----------
    model
        The model.
    q0
        (nq,) start; moved into the limits first.
    targets
        `PointTarget`, `OrientationTarget`, `PoseTarget`, `CenterOfMassTarget`.
    weights
        A number >= 0 per target, or one per row (`PoseTarget` has six, angular first, the others three, world axes): a
        row of weight 0 is free. All 1 by default. They matter only if not all targets can be reached.
    limits
        True: the joint limits and mimic relations of the model's description, if it has one. A pair (lower, upper) of
        (nq,) arrays, infinite if there is none: these. False: no limits.
    tolerance
        Largest error [m, rad] that counts as converged.
    max_iterations
        Maximum number of steps.

    Raises
    ------
    MultibodyError
        The text names the argument at fault. Targets that cannot be met are not an error: ``converged`` is False.
    """
    goals = _checked_targets(model, targets)
    weight = _row_weights(goals, weights)
    tolerance = finite_number(tolerance, "tolerance", MultibodyError, least=0.0)
    check_whole(max_iterations, "max_iterations", MultibodyError, 0)
    steps = int(max_iterations)
    freedom = freedom_of(model, limits)
    first = kinematics(model, checked("q0", q0, model.nq))  # q0 as given is checked here
    problem = _Problem(model, goals, weight, freedom, tolerance)

    # If no start converges, the remaining iterations improve the best one to the last digit.
    exploring = steps - steps // 5
    best = problem.descend(freedom.clip_to_limits(first.q), exploring, _PATIENCE)
    used, agreeing, attempt = best.iterations, 1, 0
    rng = np.random.default_rng(0)
    while not best.error <= tolerance and used < exploring and agreeing < _AGREEING and model.nv > 0:
        attempt += 1
        start = freedom.random_restart(first.q, attempt, rng)
        other = problem.descend(start, exploring - used, _PATIENCE)
        used += max(1, other.iterations)  # a start may be a minimum itself
        if other.error <= tolerance:
            best = other
        elif abs(other.objective - best.objective) <= _SAME * best.objective:
            agreeing += 1
        elif other.objective < best.objective:
            best, agreeing = other, 1
    if not best.error <= tolerance:
        best = problem.descend(best.q, steps - used, steps)
        used += best.iterations
    at = kinematics(model, best.q)
    errors = []
    for row, goal in zip(np.cumsum([0, *(goal.rows for goal in goals)]).tolist(), goals, strict=False):
        seen = weight[row : row + goal.rows] > 0.0
        errors.append(float(np.linalg.norm(goal.error(model, at)[seen])))
    return IKResult(read_only(best.q), best.error <= tolerance, best.error, used, tuple(errors))


@dataclass(frozen=True, eq=False)
class _End:
    q: FloatArray
    objective: float
    error: float
    iterations: int


@dataclass(frozen=True, eq=False)
class _Problem:
    model: Model
    targets: tuple[Target, ...]
    weight: FloatArray
    freedom: ConfigurationSpace
    tolerance: float

    def errors(self, at: Kinematics) -> tuple[FloatArray, float, float]:
        """Return the weighted rows, half the sum of their squares, and the norm of the unweighted rows of weight > 0.

        A sum that is not finite raises a `MultibodyError`.
        """
        rows = np.concatenate([target.error(self.model, at) for target in self.targets])
        weighted = self.weight * rows
        with np.errstate(over="ignore"):
            objective = 0.5 * float(weighted @ weighted)
        if not np.isfinite(objective):
            raise MultibodyError("targets", "lie so far away that the error is not finite")
        return weighted, objective, float(np.linalg.norm(rows[self.weight > 0.0]))

    def descend(self, q: FloatArray, steps: int, patience: int) -> _End:
        """Run Levenberg-Marquardt from q until the tolerance, a minimum, the step limit or ``patience`` slow steps."""
        at = kinematics(self.model, q)
        e, objective, error = self.errors(at)
        J, scale = self.jacobian(at)
        factor, taken, passed = 1.0, 0, [objective]
        while taken < steps and error > self.tolerance and scale > 0.0:
            # Far from the target, the curvature of the objective is the error times a lever arm, not the squared error.
            damping = factor * (min(objective, np.sqrt(2.0 * objective * scale)) + _BIAS * scale)
            lower, upper = self.freedom.bounds(at.q)
            x = damped_step(J, e, float(damping), lower, upper)
            left = e - J @ x
            foreseen = objective - 0.5 * float(left @ left)
            taken += 1
            trial = kinematics(self.model, self.freedom.moved(at.q, x))
            e_trial, objective_trial, error_trial = self.errors(trial)
            lowered = objective - objective_trial
            if not lowered > 0.0:
                # At a minimum every step fails, because of rounding.
                if foreseen <= _STALLED * objective or factor > _LARGEST:
                    break
                factor *= _DAMPING_INCREASE
                continue
            at, e, objective, error = trial, e_trial, objective_trial, error_trial
            passed.append(objective)
            hopeless = len(passed) > patience and objective > 0.9 * passed[-1 - patience]
            if lowered <= _STALLED * objective or hopeless:
                break
            factor *= (
                _DAMPING_DECREASE
                if lowered > 0.75 * foreseen
                else (1.0 if lowered > 0.25 * foreseen else 1.0 / _DAMPING_DECREASE)
            )
            factor = max(factor, 1.0 / _LARGEST)
            J, scale = self.jacobian(at)
        return _End(np.array(at.q), objective, error, taken)

    def jacobian(self, at: Kinematics) -> tuple[FloatArray, float]:
        """Return the weighted Jacobian by the independent velocities, and the mean square of its singular values."""
        J = np.concatenate([target.jacobian(self.model, at) for target in self.targets])
        J = self.freedom.reduced(self.weight[:, None] * J)
        return J, float(np.sum(J * J)) / max(1, min(J.shape))


def _checked_targets(model: Model, targets: Sequence[Target]) -> tuple[Target, ...]:
    """Return the targets as a tuple; raise if there are none, or if one is invalid or names an unknown body."""
    if isinstance(targets, Target):
        raise MultibodyError("targets", f"must be a list of targets, also of one: [{type(targets).__name__}(...)]")
    goals = tuple(targets)
    if not goals:
        raise MultibodyError("targets", "there are none")
    for i, goal in enumerate(goals):
        wanted = "a target such as PointTarget(body, point, position)"
        check_type(goal, Target, f"targets[{i}]", MultibodyError, wanted)
        if not isinstance(goal, CenterOfMassTarget):
            model.index_or_world(goal.body)
    return goals


def _row_weights(goals: tuple[Target, ...], weights: Weights | None) -> FloatArray:
    """Return the weights (rows,) of the rows of all targets; a number counts for all rows of its target."""
    if weights is None:
        return np.ones(sum(goal.rows for goal in goals))
    if len(weights) != len(goals):
        raise MultibodyError("weights", f"must have one entry per target, {len(goals)}, got {len(weights)}")
    parts = []
    for i, (goal, given) in enumerate(zip(goals, weights, strict=True)):
        shape = () if np.ndim(given) == 0 else (goal.rows,)
        part = finite_array(given, f"weights[{i}]", shape, MultibodyError)
        if (part < 0.0).any():
            raise MultibodyError(f"weights[{i}]", f"must not be negative, got {part.min()}")
        parts.append(np.broadcast_to(part, (goal.rows,)))
    out = np.concatenate(parts)
    if not out.any():
        raise MultibodyError("weights", "are all zero: no target has an effect")
    return out


def damped_step(J: FloatArray, e: FloatArray, damping: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the x (n,) with lower <= x <= upper that minimises |J x - e|^2 + damping |x|^2; lower <= 0 <= upper.

    Block principal pivoting with two bounds (Portugal, Judice, Vicente, "A comparison of block pivoting and
    interior-point algorithms for linear least squares problems with nonnegative variables", Mathematics of Computation
    63, 1994). Entries beyond a bound are moved to it, and entries with an inward gradient are freed: all together as
    long as this may help, then one by one (Murty's rule). This ends because the problem is strictly convex.
    """
    n = J.shape[1]
    side = np.zeros(n, dtype=np.int8)  # -1, 1: on the lower, upper bound
    x = np.zeros(n)
    slack = 1e-13 * (float(np.max(np.abs(J.T @ e), initial=0.0)) + np.finfo(np.float64).tiny)
    for number in range(20 + 10 * n):
        free = side == 0
        x[side < 0], x[side > 0] = lower[side < 0], upper[side > 0]
        x[free] = _damped_solution(J[:, free], e - J[:, ~free] @ x[~free], damping)
        pull = J.T @ (e - J @ x) - damping * x
        to_lower, to_upper = free & (x < lower), free & (x > upper)
        released = ((side < 0) & (pull > slack)) | ((side > 0) & (pull < -slack))
        wrong = np.flatnonzero(to_lower | to_upper | released)
        if wrong.shape[0] == 0:
            return x
        changed = wrong if number < 10 else wrong[:1]
        side[changed] = np.where(to_upper[changed], 1, np.where(to_lower[changed], -1, 0))
    # Only rounding can prevent termination; any step within the bounds is acceptable, because its error is checked.
    return np.clip(x, lower, upper)


def _damped_solution(J: FloatArray, e: FloatArray, damping: float) -> FloatArray:
    """Return (J^T J + damping)^-1 J^T e by singular values: directions of the null space of J stay exactly still."""
    if J.shape[1] == 0:
        return np.zeros(0)
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    return np.asarray((s / (s * s + damping) * (e @ U)) @ Vt)

"""Configurations and velocities that satisfy constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.assembly_conditions import conditions_of
from contactlab.constraints.assembly_solver import (
    Conditions,
    nearest_on_solutions,
    project_to_solutions,
    solve_conditions,
)
from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.evaluation import check_set, evaluated, time_of, tolerances
from contactlab.constraints.kernels.kkt_codes import JACOBIAN, POSITION_ERROR
from contactlab.constraints.rows import ConstraintError
from contactlab.constraints.solution import nearest_solution, row_space
from contactlab.multibody.configuration import difference
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose
from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only

# Weight of coordinates without a weight while conditions are solved, relative to the largest weight. Then coordinates
# with a large weight can move too, if the others are not sufficient. The search for the nearest solution undoes it.
_SOFTEST: Final = 1e-3
# Rounding of a residual, against the largest coordinate of a body.
_ROUNDINGS: Final = 64.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class AssembledPosition:
    """Result of `assemble_q`.

    Attributes
    ----------
    q
        Configuration (nq,), read-only: a solution, or the one of least error met.
    converged
        Whether ``error`` is within the tolerance, or is rounding.
    error
        Norm of the conditions that are left [m, rad].
    iterations
        Steps tried.
    distance
        sqrt(d^T diag(weights) d), d = difference(q0, q).
    nearest
        Whether no solution around is nearer to q0 (to first order); False also if the iterations ran out before.
    """

    q: FloatArray
    converged: bool
    error: float
    iterations: int
    distance: float
    nearest: bool


def checked_weights(model: Model, weights: ArrayLike) -> FloatArray:
    """``weights`` (nv,), none negative."""
    given = finite_array(weights, "weights", (model.nv,), ConstraintError)
    if (given < 0.0).any():
        at = int(np.argmax(given < 0.0))
        raise ConstraintError("weights", f"entry [{at}] is {given[at]:g}, must not be negative")
    return given


def assemble_q(
    model: Model,
    q0: Instant,
    cs: ConstraintSet,
    weights: ArrayLike,
    *,
    tolerance: float = 1e-12,
    max_iterations: int = 100,
    t: float = 0.0,
) -> AssembledPosition:
    """Return the configuration nearest to q0 that satisfies the constraints.

    Minimises d^T diag(weights) d, d = difference(q0, q), on phi(q, t) = 0. First the conditions are met from q0, by
    damped Gauss-Newton steps that are the shortest in the metric W of the weights: (W G^T; G 0)(dq; -l) = (0; -phi) far
    from singular places. Then the solution slides along the others until its distance from q0 is stationary. Steps are
    taken on the manifold (`integrate`): quaternions stay unit. Descents that end above the tolerance begin again
    elsewhere, always in the same way. A q0 that satisfies the constraints is the answer.

    Conditions on q: position errors of loops, the whole rotation if two or three rotation rows of a loop fix a
    direction or an orientation (their errors, sines, are zero at 180 degrees as well: such places are left); points of
    contacts stay where they are at q0 along their normals; of custom constraints the assembly conditions, else the
    position errors; constraints below position level without assembly conditions have none.

    Parameters
    ----------
    model
        The model.
    q0
        (nq,) configuration to begin with.
    cs
        The constraints.
    weights
        (nv,), >= 0: a large weight keeps its entry near q0, zero lets it go. An entry whose weight is zero and that
        changes nothing does not move; all zero: any solution will do.
    tolerance
        Norm of all conditions [m, rad] that counts as met; so does rounding of bodies far from the origin (64 eps
        of the largest coordinate).
    max_iterations
        Largest number of steps tried, at least 1.
    t
        Time [s], for constraints that depend on it.

    Raises
    ------
    ConstraintError
        A weight that is negative or not finite, a tolerance that is not positive.

    Notes
    -----
    RBDL's ``CalcAssemblyQ`` repeats the first of these steps from wherever it is: its solution is near to q0, not
    nearest, and its steps are not limited.
    """
    _check(model, cs, tolerance, max_iterations)
    t = time_of(t)
    wanted = checked_weights(model, weights)
    start = kinematics(model, q0.q if isinstance(q0, Kinematics) else q0).q
    conditions = Conditions(model, conditions_of(model, start, cs, t))
    tolerance = max(tolerance, _rounding(model, start))
    largest = float(wanted.max(initial=0.0))
    metric = np.maximum(wanted, _SOFTEST * largest) / largest if largest > 0.0 else np.ones(model.nv)
    closing = solve_conditions(conditions, np.array(start), metric, tolerance, max_iterations)
    q, error, iterations, stationary = closing.q, closing.error, closing.iterations, False
    if error <= tolerance:
        stationary = iterations == 0 or largest == 0.0
        if not stationary:
            near = nearest_on_solutions(conditions, start, q, wanted, tolerance, max_iterations - iterations)
            q, iterations, stationary = near.q, iterations + near.iterations, near.stationary
        if iterations:
            # One step further than asked for costs little and ends at rounding.
            q, error = project_to_solutions(conditions, q, 0.0, 1)
    d = difference(model, start, q)
    return AssembledPosition(
        read_only(q), error <= tolerance, error, iterations, float(np.sqrt(d @ (wanted * d))), stationary
    )


def _rounding(model: Model, q: FloatArray) -> float:
    """Residuals that rounding alone leaves, for bodies as far from the origin as they are [m]."""
    at = kinematics(model, q)
    return _ROUNDINGS * max(
        (float(np.abs(body_pose(model, at, body.name).p).max()) for body in model.bodies), default=0.0
    )


def _check(model: Model, cs: ConstraintSet, tolerance: float, max_iterations: int) -> None:
    check_set(model, cs)
    if not finite_number(tolerance, "tolerance", ConstraintError) > 0.0:
        raise ConstraintError("tolerance", f"must be > 0, got {tolerance!r}")
    count: object = max_iterations  # callers may ignore the annotation
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ConstraintError("max_iterations", f"must be a whole number >= 1, got {max_iterations!r}")


# The first step solves conditions that are linear in v, the second removes rounding. Others need more steps.
_STEPS: Final = 30
# Error that counts as zero, relative to the sizes of the terms of a row.
_MET: Final = 1e-11


@dataclass(frozen=True, eq=False)
class AssembledVelocity:
    """Result of `assemble_v`.

    Attributes
    ----------
    v
        Velocity (nv,), read-only; if the rows contradict each other, by least squares with rows in units of their
        lengths.
    converged
        Whether the conditions are met, to rounding.
    error
        Largest condition left [m/s, rad/s].
    position_error
        Norm of the position conditions at q [m, rad]: velocities of a mechanism that is not assembled mean little.
    """

    v: FloatArray
    converged: bool
    error: float
    position_error: float


def assemble_v(
    model: Model, q: Instant, v0: ArrayLike, cs: ConstraintSet, weights: ArrayLike, *, t: float = 0.0
) -> AssembledVelocity:
    """Return the velocity nearest to v0 that satisfies the constraints: min (v - v0)^T W (v - v0), G v = -phi_t.

    The system (W G^T; G 0)(v; -l) = (W v0; -phi_t), its rows of any rank and W singular if need be: velocities that
    neither rows nor weights determine stay at v0. Constraints at velocity level that are not linear in v are met by
    Newton steps. Rows at acceleration level have no condition; custom constraints can have separate conditions
    (``assembly_velocity_error``).

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, which should satisfy the position constraints, or a `Kinematics`.
    v0
        (nv,) wanted velocity.
    cs
        The constraints.
    weights
        (nv,), >= 0: a large weight keeps its entry near v0, zero lets it go.
    t
        Time [s].

    Raises
    ------
    ConstraintError
        A weight that is negative, an entry that is not finite.
    """
    check_set(model, cs)
    t = time_of(t)
    wanted = checked_weights(model, weights)
    start = finite_array(v0, "v0", (model.nv,), ConstraintError)
    at = q if isinstance(q, Kinematics) else kinematics(model, q)
    fixed = [row for custom in cs.packed.custom for row in range(custom.rows.start, custom.rows.stop)]
    rows = evaluated(model, at, start, cs, JACOBIAN | POSITION_ERROR, t)
    plain, sizes, error = (np.delete(part, fixed, axis=0) for part in (rows.G, rows.scale, rows.phi))
    v = start
    for _ in range(_STEPS):
        e, J = _conditions(model, at, v, cs, plain, t)
        if _velocity_satisfied(e, J, v):
            break
        # Linear rows: J v - e is the wanted value of J times the solution, for any v.
        own = np.abs(J[len(plain) :]).max(axis=1, initial=0.0)
        known = tolerances(J, np.concatenate([sizes, own]), np.concatenate([error, np.zeros(len(own))]))
        v = nearest_solution(row_space(J, known), J @ v - e, start, wanted)
    e, J = _conditions(model, at, v, cs, plain, t)
    place = float(np.linalg.norm(Conditions(model, conditions_of(model, at.q, cs, t)).residual(at.q)))
    return AssembledVelocity(read_only(v), _velocity_satisfied(e, J, v), float(np.abs(e).max(initial=0.0)), place)


def _conditions(
    model: Model, at: Kinematics, v: FloatArray, cs: ConstraintSet, plain: FloatArray, t: float
) -> tuple[FloatArray, FloatArray]:
    """Error and derivative of contacts and loops, whose rows ``plain`` do not depend on v, then of custom rows."""
    pairs = [(plain @ v, plain), *(custom.assembly_velocity(model, at.q, v, t) for custom in cs.packed.custom)]
    return np.concatenate([e for e, _ in pairs]), np.concatenate([J for _, J in pairs])


def _velocity_satisfied(e: FloatArray, J: FloatArray, v: FloatArray) -> bool:
    return bool(np.all(np.abs(e) <= _MET * (np.abs(J) @ np.abs(v) + np.linalg.norm(J, axis=1))))

"""Assembly: configurations and velocities that satisfy constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.configuration import difference
from contactlab.multibody.constraints.assembly_conditions import conditions_of
from contactlab.multibody.constraints.assembly_solver import (
    Conditions,
    nearest_on_solutions,
    project_to_solutions,
    solve_conditions,
)
from contactlab.multibody.constraints.constraint_set import ConstraintSet
from contactlab.multibody.constraints.evaluation import check_set, evaluated, time_of, tolerances
from contactlab.multibody.constraints.kernels import JACOBIAN, POSITION_ERROR
from contactlab.multibody.constraints.rows import ConstraintError
from contactlab.multibody.constraints.solve import nearest_solution, row_space
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose
from contactlab.multibody.spatial.arrays import FloatArray, check_whole, finite_array, finite_number, read_only

# Coordinates of weight zero have this weight, relative to the largest one, while the conditions are solved. Then
# coordinates with a large weight can move too, if the others are not sufficient. The search for the nearest solution
# corrects this.
_SOFTEST: Final = 1e-3
# Rounding error of a residual, relative to the largest coordinate of a body.
_ROUNDINGS: Final = 64.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class AssembledPosition:
    """Result of `assemble_q`.

    Attributes
    ----------
    q
        Configuration (nq,), read-only: a solution, or the configuration of smallest error that was found.
    converged
        Whether ``error`` is within the tolerance or the rounding error.
    error
        Norm of the remaining residuals of the conditions [m, rad].
    iterations
        Number of steps tried.
    distance
        sqrt(d^T diag(weights) d), d = difference(q0, q).
    nearest
        Whether no nearby solution is nearer to q0 (to first order); also False if the iterations ended before.
    """

    q: FloatArray
    converged: bool
    error: float
    iterations: int
    distance: float
    nearest: bool


def checked_weights(model: Model, weights: ArrayLike) -> FloatArray:
    """Return ``weights`` (nv,) as a checked array, none negative."""
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

    Minimises d^T diag(weights) d, d = difference(q0, q), subject to phi(q, t) = 0. First, damped Gauss-Newton steps
    from q0 solve the conditions. These steps are the shortest in the metric W of the weights: far from singular
    configurations, (W G^T; G 0)(dq; -l) = (0; -phi). Then the configuration moves along the solutions until its
    distance from q0 is stationary. Steps use `integrate`, so quaternions keep unit length. A descent that ends above
    the tolerance is repeated from other starts, which are the same in every run. A q0 that satisfies the constraints is
    returned.

    The conditions on q are:

    - Loops: the position errors. If two or three rotation rows of a loop fix a direction or an orientation, the
      condition is the whole rotation, because the errors of the rows (sines) are also zero at 180 degrees.
    - Contacts: their points keep their positions at q0 along the normals.
    - Custom constraints: the assembly conditions, or else the position errors. Constraints below position level without
      assembly conditions have none.

    Parameters
    ----------
    model
        The model.
    q0
        (nq,) start configuration.
    cs
        The constraints.
    weights
        (nv,), >= 0: a large weight keeps the entry near q0, weight zero does not. An entry of weight zero without
        effect on the conditions does not move. If all weights are zero, any solution is accepted.
    tolerance
        Largest norm of all conditions [m, rad] that is accepted. The rounding of bodies far from the origin, 64 eps
        times the largest coordinate, is accepted too.
    max_iterations
        Maximum number of steps, at least 1.
    t
        Time [s], for constraints that depend on it.

    Raises
    ------
    ConstraintError
        A weight is negative or not finite, or the tolerance is not positive.

    Notes
    -----
    RBDL's ``CalcAssemblyQ`` repeats the first of these steps from the current configuration: its solution is near q0
    but not nearest, and its steps are not limited.
    """
    _check(model, cs, tolerance, max_iterations)
    t = time_of(t)
    wanted = checked_weights(model, weights)
    start = kinematics(model, q0.q if isinstance(q0, Kinematics) else q0).q
    conditions = Conditions(model, *conditions_of(model, start, cs, t))
    tolerance = max(tolerance, _rounding(model, start))
    largest = float(wanted.max(initial=0.0))
    metric = np.maximum(wanted, _SOFTEST * largest) / largest if largest > 0.0 else np.ones(model.nv)
    q, error, iterations = solve_conditions(conditions, np.array(start), metric, tolerance, max_iterations)
    stationary = False
    if error <= tolerance:
        stationary = iterations == 0 or largest == 0.0
        if not stationary:
            budget = max_iterations - iterations
            q, steps, stationary = nearest_on_solutions(conditions, start, q, wanted, tolerance, budget)
            iterations += steps
        if iterations:
            # One step more than required costs little and reaches rounding.
            q, error = project_to_solutions(conditions, q, 0.0, 1)
    d = difference(model, start, q)
    return AssembledPosition(
        read_only(q), error <= tolerance, error, iterations, float(np.sqrt(d @ (wanted * d))), stationary
    )


def _rounding(model: Model, q: FloatArray) -> float:
    """Return the residual [m] that rounding alone leaves, for bodies at these distances from the origin."""
    at = kinematics(model, q)
    return _ROUNDINGS * max(
        (float(np.abs(body_pose(model, at, body.name).p).max()) for body in model.bodies), default=0.0
    )


def _check(model: Model, cs: ConstraintSet, tolerance: float, max_iterations: int) -> None:
    """Raise if a set belongs to another model, or for a tolerance or number of iterations that is not positive."""
    check_set(model, cs)
    if not finite_number(tolerance, "tolerance", ConstraintError) > 0.0:
        raise ConstraintError("tolerance", f"must be > 0, got {tolerance!r}")
    check_whole(max_iterations, "max_iterations", ConstraintError, 1)


# The first step solves conditions that are linear in v, the second removes rounding. Others need more steps.
_STEPS: Final = 30
# Largest error that counts as zero, relative to the sizes of the terms of a row.
_MET: Final = 1e-11


@dataclass(frozen=True, eq=False)
class AssembledVelocity:
    """Result of `assemble_v`.

    Attributes
    ----------
    v
        Velocity (nv,), read-only. If the rows contradict each other, it is the least-squares solution, in the rows' own
        units.
    converged
        Whether the conditions are met up to rounding.
    error
        Largest remaining residual of a condition [m/s, rad/s].
    position_error
        Norm of the position conditions at q [m, rad]; if it is large, the velocities have little meaning.
    """

    v: FloatArray
    converged: bool
    error: float
    position_error: float


def assemble_v(
    model: Model, q: Instant, v0: ArrayLike, cs: ConstraintSet, weights: ArrayLike, *, t: float = 0.0
) -> AssembledVelocity:
    """Return the velocity nearest to v0 that satisfies the constraints: min (v - v0)^T W (v - v0), G v = -phi_t.

    The solved system is (W G^T; G 0)(v; -l) = (W v0; -phi_t). Its rows can have any rank, and W can be singular:
    velocities that neither rows nor weights determine stay at v0. Newton steps solve constraints at velocity level that
    are not linear in v. Rows at acceleration level have no condition. Custom constraints can have separate conditions
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
        (nv,), >= 0: a large weight keeps the entry near v0, weight zero does not.
    t
        Time [s].

    Raises
    ------
    ConstraintError
        A weight is negative, or an entry is not finite.
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
        # For linear rows, J v - e is the required value of J times the solution, for any v.
        own = np.abs(J[len(plain) :]).max(axis=1, initial=0.0)
        known = tolerances(J, np.concatenate([sizes, own]), np.concatenate([error, np.zeros(len(own))]))
        v = nearest_solution(row_space(J, known), J @ v - e, start, wanted)
    e, J = _conditions(model, at, v, cs, plain, t)
    place = float(np.linalg.norm(Conditions(model, *conditions_of(model, at.q, cs, t)).linearised(at.q)[0]))
    return AssembledVelocity(read_only(v), _velocity_satisfied(e, J, v), float(np.abs(e).max(initial=0.0)), place)


def _conditions(
    model: Model, at: Kinematics, v: FloatArray, cs: ConstraintSet, plain: FloatArray, t: float
) -> tuple[FloatArray, FloatArray]:
    """Return error (m,) and derivative (m, nv) of the conditions on v: of contacts and loops, then of custom rows.

    ``plain`` are the rows G of contacts and loops, whose error is G v.
    """
    pairs = [(plain @ v, plain), *(custom.assembly_velocity(model, at.q, v, t) for custom in cs.packed.custom)]
    return np.concatenate([e for e, _ in pairs]), np.concatenate([J for _, J in pairs])


def _velocity_satisfied(e: FloatArray, J: FloatArray, v: FloatArray) -> bool:
    return bool(np.all(np.abs(e) <= _MET * (np.abs(J) @ np.abs(v) + np.linalg.norm(J, axis=1))))

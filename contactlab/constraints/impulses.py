"""Velocities and impulses when constraints set in at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.evaluation import evaluated, tolerances
from contactlab.constraints.forward_dynamics import check_method, solve_by
from contactlab.constraints.kernels.kkt_codes import JACOBIAN, POSITION_ERROR, VELOCITY_ERROR
from contactlab.constraints.solve.solution import LinearSolver, residual_of
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.spatial.errors import MultibodyError

#: The methods for impacts.
ImpactMethod = Literal["direct", "range_space_sparse", "null_space"]


@dataclass(frozen=True, eq=False)
class ConstraintImpact:
    """Impact of a constrained model.

    Attributes
    ----------
    v_after
        (nv,) generalised velocity after it. (The argument ``v_plus`` of `constraint_impulses` is another thing: the
        wanted velocities of the rows.)
    impulses
        (nc,) [N s or N m s], with the signs of forces in every method: positive pushes along a contact's normal, or the
        successor along a loop's axis. The shortest where rows are redundant.
    rank
        Numerical rank of the constraint Jacobian.
    residual
        Largest |G v_after + phi_t - v_plus| of a row, relative to its terms before and after the impact.
    """

    v_after: FloatArray
    impulses: FloatArray
    rank: int
    residual: float


def constraint_impulses(
    model: Model,
    q: Instant,
    v_minus: ArrayLike | None,
    cs: ConstraintSet,
    *,
    v_plus: ArrayLike | None = None,
    method: ImpactMethod = "direct",
    linear_solver: LinearSolver | None = None,
    t: float = 0.0,
) -> ConstraintImpact:
    """Velocity after all rows took their wanted velocities at once: H (v_after - v_minus) = G^T p, G v_after = v_plus.

    Of all velocities that the constraints allow, v_after is nearest to v_minus in the metric of the kinetic energy:
    with v_plus = 0 and constraints that do not depend on time no energy is gained (Featherstone 2008, section 11.7).

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    v_minus
        (nv,) velocity before; None with a `Kinematics` that has velocities.
    cs
        The set. Redundant rows are fine.
    v_plus
        (nc,) wanted velocities of the rows after the impact [m/s or rad/s], default zero: -e times those before for
        Newton's law of restitution. Of a custom constraint that depends on time it is G v + phi_t that takes the value;
        one whose velocity condition is not linear in v is linearised at v_minus, once.
    method
        As for `forward_dynamics_constraints`, without "kokkevis".
    linear_solver
        As for `contactlab.constraints.solve.direct`.
    t
        Time [s], for custom constraints that depend on it.

    Raises
    ------
    MultibodyError, ConstraintError
        As for `forward_dynamics_constraints`.
    """
    check_method(method, ("direct", "range_space_sparse", "null_space"))
    if not isinstance(q, Kinematics) and v_minus is None:
        raise MultibodyError("v_minus", "is needed: only kinematics with velocities stand for both q and v_minus")
    before = None if v_minus is None else finite_array(v_minus, "v_minus", (model.nv,), MultibodyError)
    at = q if isinstance(q, Kinematics) else kinematics(model, q, before)
    speed = at.v if before is None else before
    if speed is None:
        raise MultibodyError("v_minus", "is needed: these kinematics were computed without velocities")
    values = evaluated(model, at, speed, cs, JACOBIAN | POSITION_ERROR | VELOCITY_ERROR, t)
    rates = values.phid
    for custom in cs.packed.custom:
        if custom.level == "acceleration":
            # No condition on velocities of its own, but its rows' velocities are brought to v_plus like any others.
            rates[custom.rows] = values.G[custom.rows] @ speed
    wanted = np.zeros(cs.n_rows)
    if v_plus is not None:
        wanted = finite_array(v_plus, "v_plus", (cs.n_rows,), ConstraintError)
    # Solved for the change: where nothing has to change, nothing does, to the last digit.
    known = tolerances(values.G, values.scale, values.phi)
    solution = solve_by(
        method, model, mass_matrix(model, at), np.zeros(model.nv), values.G, wanted - rates, known, linear_solver
    )
    after = speed + solution.x
    drift = rates - values.G @ speed
    residual = residual_of(
        np.hstack([values.G, values.G, -np.eye(len(drift)), np.eye(len(drift))]),
        np.concatenate([speed, solution.x, wanted, drift]),
        np.zeros(len(drift)),
        np.zeros(2 * (model.nv + len(drift))),
    )
    return ConstraintImpact(np.asarray(after), solution.multipliers, solution.rank, residual)

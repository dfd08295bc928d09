"""Velocities that satisfy constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.assembly_closing import Conditions
from contactlab.constraints.assembly_conditions import conditions_of
from contactlab.constraints.assembly_position import checked_weights
from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.evaluation import check_set, constraint_jacobian, time_of
from contactlab.constraints.row_space import nearest_solution, row_space
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, finite_array, read_only

# Conditions linear in v are met by the first step; the second removes rounding. The others are for rows that are not.
_STEPS: Final = 30
# Error that counts as met, against the sizes of what the rows add up.
_MET: Final = 1e-11


@dataclass(frozen=True, eq=False)
class AssembledVelocity:
    """Result of `assemble_v`.

    Attributes
    ----------
    v
        Velocity (nv,), read-only; least squares, each row in units of its length, where the rows contradict each other.
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
    """The velocity nearest to v0 that satisfies the constraints: min (v - v0)^T W (v - v0), G v = -phi_t.

    The system (W G^T; G 0)(v; -l) = (W v0; -phi_t), its rows of any rank and W singular if need be: velocities that
    neither rows nor weights determine stay at v0. Constraints at velocity level that are not linear in v are met by
    Newton steps. Rows at acceleration level ask for nothing; custom constraints may bring conditions of their own
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
    plain = np.delete(constraint_jacobian(model, at, cs, v=start, t=t), fixed, axis=0)
    v = start
    for _ in range(_STEPS):
        e, J = _conditions(model, at, v, cs, plain, t)
        if _met(e, J, v):
            break
        # Linear rows: J v - e is what J times the answer shall be, whatever v is.
        v = nearest_solution(row_space(J), J @ v - e, start, wanted)
    e, J = _conditions(model, at, v, cs, plain, t)
    place = float(np.linalg.norm(Conditions(model, conditions_of(model, at.q, cs, t)).residual(at.q)))
    return AssembledVelocity(read_only(v), _met(e, J, v), float(np.abs(e).max(initial=0.0)), place)


def _conditions(
    model: Model, at: Kinematics, v: FloatArray, cs: ConstraintSet, plain: FloatArray, t: float
) -> tuple[FloatArray, FloatArray]:
    """Error and derivative of contacts and loops, whose rows ``plain`` do not depend on v, then of custom rows."""
    pairs = [(plain @ v, plain), *(custom.assembly_velocity(model, at.q, v, t) for custom in cs.packed.custom)]
    return np.concatenate([e for e, _ in pairs]), np.concatenate([J for _, J in pairs])


def _met(e: FloatArray, J: FloatArray, v: FloatArray) -> bool:
    return bool(np.all(np.abs(e) <= _MET * (np.abs(J) @ np.abs(v) + np.linalg.norm(J, axis=1))))

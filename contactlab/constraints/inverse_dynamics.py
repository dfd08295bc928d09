"""Drive forces for wanted accelerations of a constrained model whose drives determine its motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.constraints.actuation import actuation_of, checked_mask, wanted_acceleration
from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.row_space import nearest_solution, row_space
from contactlab.constraints.system import ConstrainedSystem, constrained_system
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class ConstrainedInverseDynamics:
    """H a + C = tau + G^T forces, G a = gamma, tau zero where there is no drive.

    Attributes
    ----------
    a
        Acceleration (nv,) of the whole model.
    tau
        Generalised force (nv,); exactly zero in the entries without a drive.
    forces
        (nc,) along the rows, with the signs of `forward_dynamics_constraints`.
    rank
        Rank of G.
    residual
        Largest |G a - gamma|_i over (|gamma_i| + |G_i| |a|): zero but for rounding, unless rows contradict each other.
    missed
        Largest difference between an actuated entry of a and the wanted one.
    """

    a: FloatArray
    tau: FloatArray
    forces: FloatArray
    rank: int
    residual: float
    missed: float


def inverse_dynamics_constraints(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a_desired: ArrayLike,
    cs: ConstraintSet,
    actuated: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    t: float = 0.0,
) -> ConstrainedInverseDynamics:
    """Drive forces tau that give the actuated entries the wanted accelerations, and the rows' forces with them.

    With S and P the rows of the identity with and without drives, u wanted: a from G a = gamma and S a = u; forces
    from P G^T forces = P (H a + C); tau = H a + C - G^T forces (Koch, Optimization-based walking of humanoid robots,
    2015, equation 5.20). It needs rank(G P^T) = nu, as `is_fully_actuated` tells.

    Where there are more drives than freedom, u may contradict the constraints: a is then the one of G a = gamma
    nearest to u (``missed`` says how near), and of the forces, which the drives can shift among themselves, the
    shortest are returned: with a drive everywhere they are zero and tau is that of `inverse_dynamics`.

    Parameters
    ----------
    model
        The model.
    q, v
        (nq,) and (nv,), or a `Kinematics` with ``v`` None.
    a_desired
        Wanted accelerations: (nv,), of which the actuated entries count and no other is read, or those alone, (na,).
    cs
        The constraints, their stabilisation included.
    actuated
        Boolean mask (nv,). All false: the constraints must determine the motion by themselves.
    f_ext
        (nb, 6) external forces as for `inverse_dynamics`.
    t
        Time [s].

    Raises
    ------
    ConstraintError
        Drives and constraints do not determine the motion; the deficient rank is named. A mask or accelerations of
        another length.
    """
    mask = checked_mask(model, actuated)
    u = wanted_acceleration(a_desired, mask)
    system = constrained_system(model, q, v, np.zeros(model.nv), cs, f_ext, t=t)
    known = actuation_of(system.G, mask)
    if not known:
        raise ConstraintError(
            "actuated",
            f"the motion is not determined: rank(G P^T) is {known.rank} for {known.unactuated} entries without a drive;"
            " inverse_dynamics_constraints_relaxed does without",
        )
    wanted = np.zeros(model.nv)
    wanted[mask] = u
    rows = row_space(system.G)
    a = nearest_solution(rows, system.gamma, wanted, mask.astype(np.float64))
    load = system.H @ a + system.C
    # By construction of full row rank: a solution, the shortest one.
    forces = row_space(system.G[:, ~mask].T).solve(load[~mask])
    return completed(system, mask, u, a, load, forces, rows.rank)


def completed(
    system: ConstrainedSystem,
    mask: NDArray[np.bool_],
    wanted: FloatArray,
    a: FloatArray,
    load: FloatArray,
    forces: FloatArray,
    rank: int,
) -> ConstrainedInverseDynamics:
    """Inverse dynamics of accelerations a under the rows' forces, ``load`` being H a + C, ``wanted`` that of drives."""
    G, gamma = system.G, system.gamma
    tau = load - G.T @ forces
    tau[~mask] = 0.0
    scale = np.abs(gamma) + np.linalg.norm(G, axis=1) * np.linalg.norm(a)
    residual = float(np.max(np.abs(G @ a - gamma) / np.where(scale > 0.0, scale, 1.0), initial=0.0))
    missed = float(np.abs(a[mask] - wanted).max(initial=0.0))
    return ConstrainedInverseDynamics(read_only(a), read_only(tau), read_only(forces), rank, residual, missed)

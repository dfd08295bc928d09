"""Drive forces that bring accelerations near to wanted ones, for any drives and constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.constraints.actuation import checked_mask, wanted_acceleration
from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.inverse_dynamics import ConstrainedInverseDynamics, completed
from contactlab.constraints.row_space import RowSpace, row_space
from contactlab.constraints.system import constrained_system
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, finite_array


def inverse_dynamics_constraints_relaxed(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a_desired: ArrayLike,
    cs: ConstraintSet,
    actuated: ArrayLike,
    W: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    *,
    t: float = 0.0,
) -> ConstrainedInverseDynamics:
    """Drive forces for accelerations near to the wanted ones x; equations of motion and constraints hold exactly.

    With S the rows of the identity with drives::

        minimise over a   a^T H a / 2 + C^T a + (u - S a)^T W (u - S a) / 2,   u = S x + W^-1 S C
        subject to        G a = gamma

    whose optimality is the equation of motion H a + C = tau + G^T forces with::

        tau = S^T W (u - S a) = S^T (S C + W S (x - a)):

    what drives bear of the bias, and W times the acceleration missed (Koch 2015; Kudruss et al. 2019). The larger W,
    the nearer S a to S x, as far as constraints and missing drives allow. Read x as a control, then: the acceleration
    reached is ``a``, and ``missed`` says how far it is off.

    Parameters
    ----------
    model, q, v, a_desired, cs, actuated, f_ext, t
        As for `inverse_dynamics_constraints`; drives may be too few, even none.
    W
        (na, na) symmetric positive definite [kg, kg m^2]; 100 S H S^T by default. (RBDL 3.3.1 uses this; its
        documentation names the diagonal matrix of 100 times the largest entry of H.)

    Raises
    ------
    ConstraintError
        A W that is not symmetric positive definite; a mass matrix that is singular for motions the constraints permit.
    """
    mask = checked_mask(model, actuated)
    x = wanted_acceleration(a_desired, mask)
    system = constrained_system(model, q, v, np.zeros(model.nv), cs, f_ext, t=t)
    H, C, G = system.H, system.C, system.G
    weight = 100.0 * H[np.ix_(mask, mask)] if W is None else _checked_weight(W, mask)
    stiff = H.copy()
    stiff[np.ix_(mask, mask)] += weight
    # H a + S^T W S a - G^T forces = S^T W x - P^T P C
    right = np.where(mask, 0.0, -C)
    right[mask] += weight @ x
    rows = row_space(G)
    a = _minimum(stiff, right, rows, system.gamma)
    load = H @ a + C
    forces = rows.multipliers(stiff @ a - right)
    # A large W drowns the digits of entries without a drive, which have to balance by the forces alone.
    forces = forces + row_space(G[:, ~mask].T).solve((load - G.T @ forces)[~mask])
    return completed(system, mask, x, a, load, forces, rows.rank)


def _minimum(stiff: FloatArray, right: FloatArray, rows: RowSpace, gamma: FloatArray) -> FloatArray:
    """The minimiser a (nv,) of a^T stiff a / 2 - right^T a on G a = gamma, in the null space of the rows."""
    a = rows.solve(gamma)
    Z = rows.null
    if Z.shape[1] == 0:
        return a
    projected = Z.T @ stiff @ Z
    scale = 1.0 / np.sqrt(np.maximum(np.diag(projected), np.finfo(np.float64).tiny))
    try:
        factor = np.linalg.cholesky(projected * scale[:, None] * scale)
    except np.linalg.LinAlgError:
        raise ConstraintError("q", "the mass matrix is singular for a motion that the constraints permit") from None
    # The second round removes the rounding of the first, which a large W makes visible.
    for _ in range(2):
        pull = np.linalg.solve(factor, scale * (Z.T @ (right - stiff @ a)))
        a = a + Z @ (scale * np.linalg.solve(factor.T, pull))
    return np.asarray(a)


def _checked_weight(W: ArrayLike, mask: NDArray[np.bool_]) -> FloatArray:
    na = int(np.count_nonzero(mask))
    weight = finite_array(W, "W", (na, na), ConstraintError)
    if na and np.abs(weight - weight.T).max() > 1e-9 * np.abs(weight).max():
        i, j = np.unravel_index(int(np.argmax(np.abs(weight - weight.T))), weight.shape)
        raise ConstraintError("W", f"must be symmetric, entries [{i}, {j}] and [{j}, {i}] differ")
    least = float(np.linalg.eigvalsh(weight).min(initial=np.inf))
    if not least > 0.0:
        raise ConstraintError("W", f"must be positive definite, its least eigenvalue is {least:g}")
    return 0.5 * (weight + weight.T)

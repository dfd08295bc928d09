"""Drive forces for wanted accelerations of a constrained model, and a test whether its drives determine its motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.multibody.constraints.constraint_set import ConstraintSet
from contactlab.multibody.constraints.evaluation import ConstrainedSystem, constrained_system, evaluated, tolerances
from contactlab.multibody.constraints.kernels import JACOBIAN, POSITION_ERROR, System
from contactlab.multibody.constraints.rows import ConstraintError
from contactlab.multibody.constraints.solve import nearest_solution, row_space, solved
from contactlab.multibody.joints import FloatingBase
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, read_only


@dataclass(frozen=True)
class Actuation:
    """Result of `is_fully_actuated`; true if drives and constraints determine the motion.

    Attributes
    ----------
    rank
        Rank of G P^T, the columns of the rows for the degrees of freedom without a drive.
    unactuated
        Number of degrees of freedom without a drive (nu).
    """

    rank: int
    unactuated: int

    def __bool__(self) -> bool:
        return self.rank == self.unactuated


def checked_mask(model: Model, actuated: ArrayLike) -> NDArray[np.bool_]:
    """Return ``actuated``, given as (nv,) or (nq,), as a mask (nv,); refuse 0 and 1, because they may be indices.

    With (nq,), every coordinate stands for its velocity, and the four of a quaternion for its three velocities.
    """
    try:
        mask = np.asarray(actuated)
    except ValueError as cause:
        raise ConstraintError("actuated", f"cannot be read as a mask of booleans ({cause})") from cause
    nq, nv = model.nq, model.nv
    if mask.shape not in ((nv,), (nq,)):
        wanted = f"({nv},), one entry per velocity (nv)"
        wanted += f", or ({nq},), one per coordinate (nq)" if nq != nv else ""
        raise ConstraintError("actuated", f"must have shape {wanted}, got {mask.shape}")
    if mask.size and mask.dtype != np.bool_:
        raise ConstraintError("actuated", f"must be a mask of booleans, got {mask.dtype}")
    return mask.astype(np.bool_) if mask.shape == (nv,) else _of_coordinates(model, mask)


def _of_coordinates(model: Model, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the mask (nv,) for a mask over the coordinates (nq,)."""
    found = np.zeros(model.nv, dtype=np.bool_)
    for body in model.bodies:
        given, own = mask[model.q_slice(body.name)], found[model.v_slice(body.name)]
        # Number of leading coordinates with one velocity each: all of most joints, the position of a floating base.
        plain = own.size if given.size == own.size else 3 if isinstance(body.joint, FloatingBase) else 0
        own[:plain] = given[:plain]
        rest = given[plain:]
        if rest.size:
            if rest.any() and not rest.all():
                which = f"coordinates {rest.tolist()} of the joint of {body.name!r}"
                raise ConstraintError(
                    "actuated", f"{which} have {own.size - plain} velocities: all or none are actuated"
                )
            own[plain:] = rest[0]
    return found


def wanted_acceleration(a_desired: ArrayLike, actuated: NDArray[np.bool_]) -> FloatArray:
    """Return the wanted accelerations (na,) of the actuated entries, given as (na,) or within (nv,)."""
    given = finite_array(a_desired, "a_desired", (None,), ConstraintError)
    na, nv = int(np.count_nonzero(actuated)), actuated.shape[0]
    if given.shape[0] == nv:
        return given[actuated]
    if given.shape[0] != na:
        raise ConstraintError("a_desired", f"must have length {nv} (nv) or {na} (actuated), got {given.shape[0]}")
    return given


def is_fully_actuated(
    model: Model, q: Instant, cs: ConstraintSet, actuated: ArrayLike, *, v: ArrayLike | None = None, t: float = 0.0
) -> Actuation:
    """Decide whether accelerations of actuated entries and the constraints determine all others: rank(G P^T) = nu.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    cs
        The constraints; their rows may depend on each other.
    actuated
        Boolean mask (nv,), or (nq,), in which the four entries of a quaternion are equal. All true means fully
        actuated; all false is possible if the constraints determine the motion.
    v, t
        Velocity (nv,) and time [s], for custom rows that depend on them.

    Returns
    -------
    Actuation
        True if the motion is determined; otherwise `unactuated` exceeds `rank` by the number of free motions.
    """
    mask = checked_mask(model, actuated)
    rows = evaluated(model, q, v, cs, JACOBIAN | POSITION_ERROR, t)
    return actuation_of(rows.G, tolerances(rows.G, rows.scale, rows.phi), mask)


def actuation_of(G: FloatArray, tolerance: FloatArray, actuated: NDArray[np.bool_]) -> Actuation:
    """Return the actuation for a given G (nc, nv); ``tolerance`` (nc,) is the relative rounding error of each row."""
    reduced = G[:, ~actuated]
    length = np.linalg.norm(reduced, axis=1)
    # Columns of a row have the rounding error of the whole row.
    floor = tolerance * np.linalg.norm(G, axis=1)
    known = np.minimum(1.0, np.divide(floor, length, out=np.ones(len(G)), where=length > 0.0))
    return Actuation(row_space(reduced, known).rank, reduced.shape[1])


@dataclass(frozen=True, eq=False)
class ConstrainedInverseDynamics:
    """Solution of H a + C = tau + G^T forces, G a = gamma, with tau zero without a drive.

    Attributes
    ----------
    a
        Acceleration (nv,) of the whole model.
    tau
        Generalised force (nv,); exactly zero in the entries without a drive.
    forces
        (nc,) constraint forces, with the signs of `forward_dynamics_constraints`.
    rank
        Rank of G.
    residual
        Largest |G a - gamma|_i over (|gamma_i| + |G_i| |a|): zero except for rounding, unless rows contradict each
        other.
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
    """Return drive forces tau that give the actuated entries the wanted accelerations, and the constraint forces.

    S and P are the rows of the identity with and without drives, and u are the wanted accelerations. a follows from G a
    = gamma and S a = u, the forces from P G^T forces = P (H a + C), and tau = H a + C - G^T forces (Koch,
    Optimization-based walking of humanoid robots, 2015, equation 5.20). This requires rank(G P^T) = nu, see
    `is_fully_actuated`.

    If there are more drives than degrees of freedom, u can contradict the constraints. a is then the solution of G a =
    gamma nearest to u, at the distance ``missed``. The forces are then not unique, and the shortest are returned. With
    a drive everywhere they are zero, and tau equals the result of `inverse_dynamics`.

    Parameters
    ----------
    model
        The model.
    q, v
        (nq,) and (nv,), or a `Kinematics` with ``v`` None.
    a_desired
        Wanted accelerations: (nv,), where only the actuated entries are used, or the actuated entries only, (na,).
    cs
        The constraints, their stabilisation included.
    actuated
        Boolean mask as for `is_fully_actuated`. All false: the constraints must determine the motion by themselves.
    f_ext
        (nb, 6) external forces as for `inverse_dynamics`.
    t
        Time [s].

    Raises
    ------
    ConstraintError
        Drives and constraints do not determine the motion (the text gives the rank), or a mask or accelerations have
        another length.
    """
    mask = checked_mask(model, actuated)
    u = wanted_acceleration(a_desired, mask)
    system = constrained_system(model, q, v, np.zeros(model.nv), cs, f_ext, t=t)
    known = actuation_of(system.G, system.tolerance, mask)
    if not known:
        raise ConstraintError(
            "actuated",
            f"the motion is not determined: rank(G P^T) is {known.rank} for {known.unactuated} entries without a drive;"
            " inverse_dynamics_constraints_relaxed does without",
        )
    wanted = np.zeros(model.nv)
    wanted[mask] = u
    rows = row_space(system.G, system.tolerance)
    a = nearest_solution(rows, system.gamma, wanted, mask.astype(np.float64))
    load = system.H @ a + system.C
    # The matrix has full row rank, so this is the shortest exact solution.
    forces = row_space(system.G[:, ~mask].T).solve(load[~mask])
    return inverse_dynamics_result(system, mask, u, a, load, forces, rows.rank)


def inverse_dynamics_result(
    system: ConstrainedSystem,
    mask: NDArray[np.bool_],
    wanted: FloatArray,
    a: FloatArray,
    load: FloatArray,
    forces: FloatArray,
    rank: int,
) -> ConstrainedInverseDynamics:
    """Return the inverse dynamics of a; ``load`` is H a + C, ``wanted`` are accelerations of the drives."""
    G, gamma = system.G, system.gamma
    tau = load - G.T @ forces
    tau[~mask] = 0.0
    scale = np.abs(gamma) + np.linalg.norm(G, axis=1) * np.linalg.norm(a)
    residual = float(np.max(np.abs(G @ a - gamma) / np.where(scale > 0.0, scale, 1.0), initial=0.0))
    missed = float(np.abs(a[mask] - wanted).max(initial=0.0))
    return ConstrainedInverseDynamics(read_only(a), read_only(tau), read_only(forces), rank, residual, missed)


def inverse_dynamics_constraints_relaxed(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a_desired: ArrayLike,
    cs: ConstraintSet,
    actuated: ArrayLike,
    W: ArrayLike | Literal["inertia", "largest"] | None = "inertia",
    f_ext: ArrayLike | None = None,
    *,
    t: float = 0.0,
) -> ConstrainedInverseDynamics:
    """Return drive forces for accelerations near the wanted ones x; equations of motion and constraints hold exactly.

    With S the rows of the identity with drives::

        minimise over a   a^T H a / 2 + C^T a + (u - S a)^T W (u - S a) / 2,   u = S x + W^-1 S C
        subject to        G a = gamma

    whose optimality is the equation of motion H a + C = tau + G^T forces with::

        tau = S^T W (u - S a) = S^T (S C + W S (x - a)).

    This is the bias at the drives plus W times the missed acceleration (Koch 2015; Kudruss et al. 2019). The larger W,
    the nearer S a is to S x, as far as constraints and missing drives allow. x is then a control input: ``a`` is the
    resulting acceleration, and ``missed`` its error.

    Parameters
    ----------
    model, q, v, a_desired, cs, actuated, f_ext, t
        As for `inverse_dynamics_constraints`, also with too few drives or none.
    W
        (na, na) symmetric positive definite [kg, kg m^2]; or "inertia", 100 S H S^T, which RBDL 3.3.1 computes and
        which does not depend on units; or "largest", the diagonal matrix of 100 times the largest entry of H, which
        RBDL's documentation prints.

    Raises
    ------
    ConstraintError
        W is not symmetric positive definite, or the mass matrix is singular for motions that the constraints permit.
    """
    mask = checked_mask(model, actuated)
    x = wanted_acceleration(a_desired, mask)
    system = constrained_system(model, q, v, np.zeros(model.nv), cs, f_ext, t=t)
    H, C, G = system.H, system.C, system.G
    weight = _tracking_weight(W, H, mask)
    stiff = H.copy()
    stiff[np.ix_(mask, mask)] += weight
    # H a + S^T W S a - G^T forces = S^T W x - P^T P C
    right = np.where(mask, 0.0, -C)
    right[mask] += weight @ x
    a, forces = np.zeros(model.nv), np.zeros(len(G))
    # The second pass removes the rounding of the first, which a large W amplifies.
    for _ in range(2):
        left = System(stiff.copy(), G, right - stiff @ a + G.T @ forces, system.gamma - G @ a)
        try:
            step = solved(left, system.tolerance)
        except ConstraintError:
            raise ConstraintError("q", "the mass matrix is singular for a motion that the constraints permit") from None
        a, forces = a + step.x, forces + step.multipliers
    load = H @ a + C
    # A large W removes the digits of entries without a drive, which the constraint forces must balance.
    forces = forces + row_space(G[:, ~mask].T).solve((load - G.T @ forces)[~mask])
    return inverse_dynamics_result(system, mask, x, a, load, forces, step.rank)


def _tracking_weight(
    W: ArrayLike | Literal["inertia", "largest"] | None, H: FloatArray, mask: NDArray[np.bool_]
) -> FloatArray:
    """Return W (na, na), as given or by its name; None is "inertia"."""
    if W is None or (isinstance(W, str) and W == "inertia"):
        return 100.0 * H[np.ix_(mask, mask)]
    if isinstance(W, str):
        if W != "largest":
            raise ConstraintError("W", f"must be a matrix, 'inertia' or 'largest', got {W!r}")
        return 100.0 * float(np.abs(H).max(initial=0.0)) * np.eye(int(np.count_nonzero(mask)))
    na = int(np.count_nonzero(mask))
    weight = finite_array(W, "W", (na, na), ConstraintError)
    if np.abs(weight - weight.T).max(initial=0.0) > 1e-9 * np.abs(weight).max(initial=0.0):
        raise ConstraintError("W", "must be symmetric")
    least = float(np.linalg.eigvalsh(weight).min(initial=np.inf))
    if not least > 0.0:
        raise ConstraintError("W", f"must be positive definite, its least eigenvalue is {least:g}")
    return 0.5 * (weight + weight.T)

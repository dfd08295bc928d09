"""Motion under constraints: accelerations and forces, velocities and impulses, and the Delassus matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import (
    Entry,
    check_finite,
    checked,
    checked_vector,
    failure,
    single_signature,
)
from contactlab.multibody.constraints import solve
from contactlab.multibody.constraints.constraint_set import ConstraintSet
from contactlab.multibody.constraints.evaluation import (
    RowValues,
    check_set,
    constrained_system,
    constraint_jacobian,
    evaluated,
    fill_custom,
    time_of,
    tolerances,
)
from contactlab.multibody.constraints.kernels import (
    BAUMGARTE,
    GAMMA,
    JACOBIAN,
    METHODS,
    MULTIBODY_CODE_OFFSET,
    NOT_FINITE_RESULT,
    POSITION_ERROR,
    VELOCITY_ERROR,
    motion_size,
    unit_forces_size,
)
from contactlab.multibody.constraints.rows import ConstraintError
from contactlab.multibody.constraints.solve import (
    LinearSolver,
    check_linear_solver,
    residual_of,
)
from contactlab.multibody.kernels import GOOD, NOT_FINITE
from contactlab.multibody.kinematics import Instant, Kinematics, at_state, kinematics
from contactlab.multibody.mass_matrix import factorize_mass_matrix, mass_matrix
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, finite_array


def delassus_matrix(model: Model, q: Instant, cs: ConstraintSet, *, t: float = 0.0) -> FloatArray:
    """Return K = G M^-1 G^T (nc, nc), the accelerations of the rows caused by unit constraint forces.

    Unit forces are propagated from their bodies to the root, through the articulated bodies (Kokkevis and Metaxas
    1998). This takes O(links) for each row and no mass matrix. Rows can be of any kind, also redundant. This is RBDL's
    K. Arguments as for `constraint_jacobian`.
    """
    at = q if isinstance(q, Kinematics) else kinematics(model, q)
    G = constraint_jacobian(model, at, cs, t=t)
    m, nv = G.shape
    factor = factorize_mass_matrix(model, at)
    K = np.empty((m, m))
    work = np.empty(unit_forces_size(nv, m))
    _kernels().delassus_matrix(model.packed.ints, model.packed.floats, factor._factor, G, work, K)
    return K


#: Methods for the system; see `forward_dynamics_constraints`.
Method = Literal["direct", "range_space_sparse", "null_space", "kokkevis"]

_NO_FORCES = np.zeros((0, 6))
_NO_ROWS = np.zeros((0, 0))

_empty = np.empty


def _kernels() -> Any:
    from contactlab.multibody.constraints.kernels import constrained_motion

    return constrained_motion


# Compiled functions, at a fraction of a microsecond per call. The fast one accepts only operands of these types:
# integers, floats, q, v, tau, workspace, a, forces; method.
_motion = Entry(lambda: _kernels().constrained_motion)
_fast_motion = Entry(lambda: single_signature(_kernels().fast_motion, 1, (1,) * 7, 0))


@dataclass(frozen=True, eq=False)
class ConstrainedMotion:
    """Motion of a constrained model at one instant.

    Attributes
    ----------
    a
        (nv,) accelerations, the derivative of v.
    forces
        (nc,) constraint forces [N or N m]. Positive forces push along a contact's normal, or the successor along a
        loop's axis and the predecessor in the opposite direction. If rows are redundant, the shortest forces.
    rank
        Numerical rank of the constraint Jacobian.
    residual
        Largest |G a - gamma| of a row, relative to its terms: near 1e-16 unless the constraints contradict each other.
        Rank and residual are defined as in `contactlab.multibody.constraints.solve.KKTSolution`. For "kokkevis", the
        terms include the acceleration of each joint by the load with the articulated inertia beyond it.
    """

    a: FloatArray
    forces: FloatArray
    rank: int
    residual: float


def forward_dynamics_constraints(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    tau: ArrayLike,
    cs: ConstraintSet,
    *,
    method: Method = "direct",
    f_ext: ArrayLike | None = None,
    linear_solver: LinearSolver | None = None,
    t: float = 0.0,
) -> ConstrainedMotion:
    """Return accelerations a and constraint forces lambda: H a + C = tau + G^T lambda, G a = gamma.

    Parameters
    ----------
    model
        The model, with its gravity.
    q
        (nq,) configuration, or a `Kinematics`.
    v, tau
        (nv,) velocity and generalised force.
    cs
        The constraints. Redundant, zero and nearly dependent rows, and more rows than degrees of freedom, are fine.
    method
        "kokkevis", or its other names "direct" and "range_space_sparse": forces first, by unit forces through the
        articulated bodies, without a mass matrix (Kokkevis and Metaxas 1998). "null_space": accelerations first, with
        the mass matrix. Both have the same result. If rows are dependent or nearly so, or H is singular, the null-space
        method is used in any case: its QR with pivoting determines the rank.
    f_ext
        (nb, 6) external forces as for `inverse_dynamics`.
    linear_solver
        None, or the factorisation used after the rows were reduced to independent ones: "lu", "qr" or "colpiv_qr",
        "complete_orthogonal", "svd". It is the same for every method: see `multibody.constraints.solve.direct`.
    t
        Time [s], for custom constraints that depend on it.

    Raises
    ------
    MultibodyError
        A wrong length, an entry that is not finite, or a quaternion without unit length.
    ConstraintError
        The set belongs to another model, the method is unknown, or the motion is not determined: H is singular (Euler
        angles at their singularity) and the constraints leave the model free.
    """
    number = METHODS.get(method, -1)
    if f_ext is None and linear_solver is None and t == 0.0 and number >= 0:
        try:
            owner, ints, floats, m, size = cs._quick
        except AttributeError:
            owner = None  # no set
        if owner is model and type(q) is np.ndarray:
            nv = model.nv
            a, forces, work = _empty(nv), _empty(m), _empty(size)
            try:
                rank, residual = _fast_motion.call(ints, floats, q, v, tau, work, a, forces, number)
            except (TypeError, ValueError):
                rank = -1  # not plain arrays; of an empty list, even its type is unknown
            if rank >= 0:
                return ConstrainedMotion(a, forces, rank, residual)
    check_set(model, cs)
    check_method(method, (*METHODS,))
    check_linear_solver(linear_solver)
    if linear_solver is not None:
        system = constrained_system(model, q, v, tau, cs, f_ext, t=t)
        load = np.asarray(tau, dtype=np.float64) - system.C
        how: dict[str, Any] = {"linear_solver": linear_solver, "tolerance": system.tolerance}
        solution = solve.null_space(system.H, system.G, load, system.gamma, **how)
        return ConstrainedMotion(solution.x, solution.multipliers, solution.rank, solution.residual)
    return _checked_motion(model, q, v, tau, cs, METHODS[method], f_ext, time_of(t))


def check_method(method: str, known: tuple[str, ...]) -> None:
    """Raise if a method is unknown."""
    if method not in known:
        raise ConstraintError("method", f"must be one of {known}, got {method!r}")


def _checked_motion(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    tau: ArrayLike,
    cs: ConstraintSet,
    method: int,
    f_ext: ArrayLike | None,
    t: float,
) -> ConstrainedMotion:
    """Check all arguments, and return the motion by the compiled ``method``."""
    packed, rows, nv, m = model.packed, cs.packed, model.nv, cs.n_rows
    ints, floats = rows.model_ints, rows.model_floats
    force = checked_vector("tau", tau, nv)
    forces_ext = _NO_FORCES if f_ext is None else checked("f_ext", f_ext, model.nb, 6)
    q_, v_, custom, work, ready = at_state(model, q, v, motion_size(packed.nl, nv, m))
    given = _NO_ROWS
    if cs.packed.custom:
        for name, array in (("q", q_), ("v", v_)):
            check_finite(name, array)
        given = np.zeros((m, nv + 2))
        none = np.zeros(0)
        out = RowValues(np.zeros((m, nv)), np.zeros(m), np.zeros(m), none, np.zeros(m))
        fill_custom(cs, model, q_, v_, t, JACOBIAN | GAMMA | BAUMGARTE | POSITION_ERROR, out)
        given[:, :nv], given[:, nv], given[:, nv + 1] = out.G, out.gamma, out.phi
    a, forces = np.empty(nv), np.empty(m)
    rank, residual = _motion.call(
        ints, floats, q_, v_, force, forces_ext, custom, given, work, a, forces, ready, method
    )
    if rank >= 0:
        return ConstrainedMotion(a, forces, int(rank), float(residual))
    code = (
        MULTIBODY_CODE_OFFSET - rank
        if rank <= MULTIBODY_CODE_OFFSET
        else NOT_FINITE
        if rank == NOT_FINITE_RESULT
        else GOOD
    )
    broken = failure(model, code, q_, ("v", v_), ("tau", force), ("f_ext", forces_ext))
    if code != GOOD or "not finite" in broken.detail:
        raise broken
    raise _undetermined(model, rank)


def _undetermined(model: Model, code: int) -> ConstraintError:
    """Return the error if inertia is missing on motions that the constraints allow."""
    eulers = [body.name for body in model.bodies if type(body.joint).__name__.startswith("Euler")]
    hint = f"; Euler angles at their singularity? ({', '.join(eulers)}; Spherical has none)" if eulers else ""
    return ConstraintError(
        "q", f"the mass matrix is singular on motions that the constraints allow: they are not determined{hint}"
    )


#: The methods for impacts.
ImpactMethod = Literal["direct", "range_space_sparse", "null_space"]


@dataclass(frozen=True, eq=False)
class ConstraintImpact:
    """Impact of a constrained model.

    Attributes
    ----------
    v_after
        (nv,) generalised velocity after the impact. (The argument ``v_plus`` of `constraint_impulses` differs: it has
        the wanted velocities of the rows.)
    impulses
        (nc,) [N s or N m s]. As for forces, positive impulses push along a contact's normal, or the successor along a
        loop's axis. If rows are redundant, the shortest impulses.
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
    """Return the velocity after an impact to given row velocities: H (v_after - v_minus) = G^T p, G v_after = v_plus.

    v_after is the velocity nearest to v_minus, in the metric of the kinetic energy, of all velocities that satisfy the
    constraints. With v_plus = 0 and constraints that do not depend on time, no energy is gained (Featherstone 2008,
    section 11.7).

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
        (nc,) wanted velocities of the rows after the impact [m/s or rad/s], default zero. Newton's law of restitution
        is -e times the velocities before. For a custom constraint that depends on time the value is prescribed for G v
        + phi_t; a velocity condition that is not linear in v is linearised once, at v_minus.
    method
        "null_space", or its other names "direct" and "range_space_sparse".
    linear_solver
        As for `contactlab.multibody.constraints.solve.direct`.
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
            # Rows at acceleration level have no condition on velocities, but their velocities become v_plus like all
            # others.
            rates[custom.rows] = values.G[custom.rows] @ speed
    wanted = np.zeros(cs.n_rows)
    if v_plus is not None:
        wanted = finite_array(v_plus, "v_plus", (cs.n_rows,), ConstraintError)
    # The unknown is the change of velocity, so that a change of zero is exact.
    known = tolerances(values.G, values.scale, values.phi)
    how: dict[str, Any] = {"linear_solver": linear_solver, "tolerance": known}
    solution = solve.null_space(mass_matrix(model, at), values.G, np.zeros(model.nv), wanted - rates, **how)
    after = speed + solution.x
    drift = rates - values.G @ speed
    residual = residual_of(
        np.hstack([values.G, values.G, -np.eye(len(drift)), np.eye(len(drift))]),
        np.concatenate([speed, solution.x, wanted, drift]),
        np.zeros(len(drift)),
        np.zeros(2 * (model.nv + len(drift))),
    )
    return ConstraintImpact(np.asarray(after), solution.multipliers, solution.rank, residual)

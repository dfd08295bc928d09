"""Accelerations from forces."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked, checked_vector, failure
from contactlab.multibody.batch import forward_dynamics_batch
from contactlab.multibody.entries import ON_STACK, kernels, quick
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.instants import Instants, batched, operand, velocity
from contactlab.multibody.inverse_dynamics import nonlinear_effects
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.sizes import aba_size
from contactlab.multibody.kinematics import Instant, Kinematics, at_state, kinematics
from contactlab.multibody.ltl import factorize_ltl
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray

LinearSolver = Literal["cholesky", "lu", "qr", "ltl"]

_NO_FORCES = np.zeros((0, 6))
# Reciprocal condition below which a dense solve has no correct digits.
_SINGULAR = 4.0 * np.finfo(np.float64).eps

# One look-up less, 30 ns, in a call of a microsecond.
_empty = np.empty

_quick = quick("quick_aba", 1, 1, 1, 1, 1)


def forward_dynamics(
    model: Model, q: Instant, v: ArrayLike | None, tau: ArrayLike, f_ext: ArrayLike | None = None
) -> FloatArray:
    """Accelerations a = M^-1 (tau - h + J^T f_ext), (nv,), in O(nv).

    The articulated-body algorithm (Featherstone 2008, section 7.3), one degree of freedom at a time.

    Parameters
    ----------
    model, q
        The model, with its gravity, and a configuration (nq,), or a `Kinematics`.
    v, tau
        (nv,) velocity and generalised force.
    f_ext
        (nb, 6) external forces as for `inverse_dynamics`.

    Raises
    ------
    MultibodyError
        A wrong length, an entry that is not finite, a quaternion without unit length, or a singular mass matrix (Euler
        angles at their singularity); the joint is named.
    """
    packed, nv = model.packed, model.nv
    a = _empty(nv)
    if type(q) is np.ndarray and f_ext is None and not packed.custom:
        try:
            work = ON_STACK if packed.compact else np.empty(aba_size(packed.nl, nv))
            if _quick.call(packed.ints, packed.floats, q, v, tau, work, a) == GOOD:
                return a
        except (TypeError, ValueError):
            pass  # not plain arrays; of an empty list, even its type is unknown
    if batched(q, v, tau, rows=f_ext):
        return forward_dynamics_batch(model, q, v, tau, f_ext)
    force = checked_vector("tau", tau, nv)
    q_, v_, custom, work, ready = at_state(model, q, v, aba_size(packed.nl, nv))
    forces = _NO_FORCES if f_ext is None else checked("f_ext", f_ext, model.nb, 6)
    code = kernels().aba.aba(packed.ints, packed.floats, q_, v_, force, forces, custom, work, ready, a)
    if code != GOOD:
        raise failure(model, code, q_, ("v", v_), ("tau", force), ("f_ext", forces))
    return a


def forward_dynamics_lagrangian(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    linear_solver: LinearSolver = "cholesky",
) -> FloatArray:
    """The same accelerations by forming M and h and solving M a = tau - h + J^T f_ext.

    Parameters
    ----------
    model, q, v, tau, f_ext
        As for `forward_dynamics`.
    linear_solver
        "cholesky", "lu" (partial pivoting) or "qr" of the dense matrix, or "ltl", which keeps to the branches of the
        tree.
    """
    if linear_solver not in get_args(LinearSolver):
        raise MultibodyError("linear_solver", f"must be one of {get_args(LinearSolver)}, got {linear_solver!r}")
    if batched(q, v, tau, rows=f_ext):
        return _lagrangian_batch(model, q, v, tau, f_ext, linear_solver)
    force = checked_vector("tau", tau, model.nv)
    check_finite("tau", force)
    if isinstance(q, Kinematics):
        at: Kinematics = q
    elif v is None:
        raise MultibodyError("v", "is needed: only kinematics with velocities stand for both q and v")
    else:
        at = kinematics(model, q, v)
        v = at.v
    M = mass_matrix(model, at)
    rest = force - nonlinear_effects(model, at, v, f_ext)
    if linear_solver == "ltl":
        return factorize_ltl(model, M).solve(rest)
    return _dense_solve(M, rest, linear_solver)


def _lagrangian_batch(
    model: Model, q: Instant, v: ArrayLike | None, tau: ArrayLike, f_ext: ArrayLike | None, linear_solver: LinearSolver
) -> FloatArray:
    """One instant after the other: the dense solve, not the calls, is what takes the time."""
    many = Instants.of(
        model,
        operand("q", q, model.nq),
        velocity(q, v, model.nv),
        operand("tau", tau, model.nv),
        *(() if f_ext is None else (operand("f_ext", f_ext, model.nb, 6),)),
    )
    out = np.empty((many.count, model.nv))
    for b in range(many.count):
        given = [many.row(number, b) for number in range(len(many.rows))]
        try:
            out[b] = forward_dynamics_lagrangian(model, *given, linear_solver=linear_solver)
        except MultibodyError as error:
            raise MultibodyError(error.field, many.place(b) + error.detail) from None
    return many.shaped(out)


def _dense_solve(M: FloatArray, b: FloatArray, method: str) -> FloatArray:
    """M^-1 b; a singular M is an error."""
    from scipy import linalg

    if M.shape[0] == 0:
        return b.copy()
    # Rows and columns scaled to a unit diagonal: metres beside radians, heavy beside light say nothing of singularity.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(M), np.finfo(np.float64).tiny))
    scaled = M * scale[:, None] * scale[None, :]
    if method == "cholesky":
        try:
            factor = linalg.cholesky(scaled, lower=True)
        except np.linalg.LinAlgError:
            raise MultibodyError("q", "the mass matrix is singular") from None
        diagonal = np.diag(factor) ** 2
        x = linalg.cho_solve((factor, True), b * scale)
    elif method == "lu":
        lu, pivots = linalg.lu_factor(scaled, check_finite=False)
        diagonal = np.abs(np.diag(lu))
        x = linalg.lu_solve((lu, pivots), b * scale) if diagonal.min() > 0.0 else b
    else:
        Q, R = linalg.qr(scaled)
        diagonal = np.abs(np.diag(R))
        x = linalg.solve_triangular(R, Q.T @ (b * scale)) if diagonal.min() > 0.0 else b
    if not diagonal.min() > _SINGULAR * diagonal.max():
        raise MultibodyError("q", "the mass matrix is singular")
    return np.asarray(scale * x)

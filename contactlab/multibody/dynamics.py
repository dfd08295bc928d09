"""Forces from accelerations, accelerations from forces, and external forces at points of bodies.

Every function accepts leading axes, q (..., nq), v (..., nv), f_ext (..., nb, 6), which broadcast. A batch runs on
threads, and errors name the instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import ON_STACK, checked_vector, fast_entry, kernels
from contactlab.multibody.kernels import (
    GOOD,
)
from contactlab.multibody.kinematics import (
    BatchOperands,
    Instant,
    Kinematics,
    at_state,
    batched,
    external,
    fill_batch,
    kinematics,
    operand,
    optional,
    run,
    velocity,
)
from contactlab.multibody.mass_matrix import factorize_ltl, mass_matrix
from contactlab.multibody.model import Model
from contactlab.multibody.points import body_pose
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, finite_array, set_fields

LinearSolver = Literal["cholesky", "lu", "qr", "colpiv_qr", "ltl"]

_NO_ACCELERATION = np.zeros(0)

# Reciprocal condition below which a dense solve has no correct digits.
_SINGULAR = 4.0 * np.finfo(np.float64).eps

# one look-up less in a very short call
_empty = np.empty

_fast_rnea, _fast_aba = (fast_entry(name, 1, 1, 1, 1, 1) for name in ("fast_rnea", "fast_aba"))


def inverse_dynamics(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> FloatArray:
    """Return the generalised forces tau = M(q) a + h(q, v) - J^T f_ext that produce the accelerations a.

    The recursive Newton-Euler algorithm (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 5.3).

    Parameters
    ----------
    model, q
        The model, with its gravity, and a configuration (nq,), or a `Kinematics`.
    v, a
        (nv,) velocity and acceleration, its derivative entry by entry.
    f_ext
        (nb, 6) external forces, one row per added body, fixed ones included: moment about the world origin [N m], then
        force [N], world axes; see `external_forces`.
    threads
        Number of threads for many instants, None for one per core; short batches run on the caller's.

    Returns
    -------
    tau
        (nv,) [N m, N].

    Raises
    ------
    MultibodyError
        A wrong length, an entry that is not finite, a quaternion without unit length.
    """
    packed, nv = model.packed, model.nv
    if type(q) is np.ndarray and f_ext is None and not packed.custom:
        tau = _empty(nv)
        try:
            work = ON_STACK if packed.compact else np.empty(packed.size)
            if _fast_rnea.call(packed.ints, packed.floats, q, v, a, work, tau) == GOOD:
                return tau
        except (TypeError, ValueError):
            pass  # not plain arrays; of an empty list, even its type is unknown
    if a is None:
        raise MultibodyError("a", "is needed; nonlinear_effects has zero accelerations")
    return _joint_forces(model, q, v, a, f_ext, threads)


def nonlinear_effects(
    model: Model, q: Instant, v: ArrayLike | None, f_ext: ArrayLike | None = None, *, threads: int | None = None
) -> FloatArray:
    """Return h(q, v) - J^T f_ext (nv,): the joint forces at zero acceleration, from velocity, gravity and f_ext.

    Arguments and errors as for `inverse_dynamics`; at v = 0 and without f_ext this is the gravity torque.
    """
    return _joint_forces(model, q, v, None, f_ext, threads)


def _joint_forces(
    model: Model, q: Instant, v: ArrayLike | None, a: ArrayLike | None, f_ext: ArrayLike | None, threads: int | None
) -> FloatArray:
    """Return tau = M a + h - J^T f_ext (..., nv); None stands for zero accelerations."""
    if batched(q, v, a, rows=f_ext):
        given = optional("a", a, model.nv), optional("f_ext", f_ext, model.nb, 6)
        many = BatchOperands.of(model, operand("q", q, model.nq), velocity(q, v, model.nv), *given)
        return fill_batch(many, kernels().entries.inverse_dynamics, threads, model.nv)
    tau, rates = np.empty(model.nv), _NO_ACCELERATION if a is None else checked_vector("a", a, model.nv)
    run(model, kernels().dynamics.rnea, at_state(model, q, v), (("a", rates), external(model, f_ext)), tau)
    return tau


def forward_dynamics(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> FloatArray:
    """Return the accelerations a = M^-1 (tau - h + J^T f_ext), (nv,), in O(nv).

    The articulated-body algorithm (Featherstone 2008, section 7.3), one degree of freedom at a time.

    Parameters
    ----------
    model, q
        The model, with its gravity, and a configuration (nq,), or a `Kinematics`.
    v, tau
        (nv,) velocity and generalised force.
    f_ext
        (nb, 6) external forces as for `inverse_dynamics`.
    threads
        Number of threads for many instants, None for one per core; short batches run on the caller's.

    Raises
    ------
    MultibodyError
        A wrong length, an entry that is not finite, a quaternion without unit length, or a singular mass matrix (Euler
        angles at their singularity); the joint is named.
    """
    packed, nv = model.packed, model.nv
    if type(q) is np.ndarray and f_ext is None and not packed.custom:
        a = _empty(nv)
        try:
            work = ON_STACK if packed.compact else np.empty(packed.size)
            if _fast_aba.call(packed.ints, packed.floats, q, v, tau, work, a) == GOOD:
                return a
        except (TypeError, ValueError):
            pass  # not plain arrays; of an empty list, even its type is unknown
    if batched(q, v, tau, rows=f_ext):
        applied = operand("tau", tau, nv), optional("f_ext", f_ext, model.nb, 6)
        many = BatchOperands.of(model, operand("q", q, model.nq), velocity(q, v, nv), *applied)
        return fill_batch(many, kernels().entries.forward_dynamics, threads, nv)
    given, a = (("tau", checked_vector("tau", tau, nv)), external(model, f_ext)), _empty(nv)
    run(model, kernels().dynamics.aba, at_state(model, q, v), given, a)
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
    """Return the same accelerations by forming M and h and solving M a = tau - h + J^T f_ext.

    Parameters
    ----------
    model, q, v, tau, f_ext
        As for `forward_dynamics`.
    linear_solver
        "cholesky", "lu" (partial pivoting), "qr" or "colpiv_qr" (with column pivoting, RBDL's default) of the dense
        matrix, or "ltl", which uses only the branches of the tree.
    """
    if linear_solver not in get_args(LinearSolver):
        raise MultibodyError("linear_solver", f"must be one of {get_args(LinearSolver)}, got {linear_solver!r}")
    if isinstance(q, Kinematics):
        q, v = at_state(model, q, v)[:2]
    outside = () if f_ext is None else (operand("f_ext", f_ext, model.nb, 6),)
    given = operand("q", q, model.nq), operand("v", v, model.nv), operand("tau", tau, model.nv)
    many = BatchOperands.of(model, *given, *outside)
    out = np.empty((many.count, model.nv))
    # one instant after the other: the dense solves, not the calls, take the time
    for b in range(many.count):
        configuration, speed, force, *applied = (many.row(number, b) for number in range(len(many.rows)))
        try:
            at = kinematics(model, configuration, speed)
            M, rest = mass_matrix(model, at), force - nonlinear_effects(model, at, at.v, *applied)
            ltl = linear_solver == "ltl"
            out[b] = factorize_ltl(model, M).solve(rest) if ltl else _dense_solve(M, rest, linear_solver)
        except MultibodyError as error:
            raise MultibodyError(error.field, many.place(b) + error.detail) from None
    return many.shaped(out)


def _dense_solve(M: FloatArray, b: FloatArray, method: str) -> FloatArray:
    """Return M^-1 b by a dense factorisation: cholesky, lu, colpiv_qr, or qr; raise an error if M is singular."""
    from scipy import linalg

    if M.shape[0] == 0:
        return b.copy()
    # Rows and columns are scaled to a unit diagonal, because different units and masses do not make a matrix singular.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(M), np.finfo(np.float64).tiny))
    scaled = M * scale[:, None] * scale[None, :]
    if not np.linalg.cond(scaled) < 1.0 / _SINGULAR:
        raise MultibodyError("q", "the mass matrix is singular")
    if method in ("qr", "colpiv_qr"):
        Q, R, *pivots = linalg.qr(scaled, pivoting=method == "colpiv_qr")  # type: ignore[call-overload]
        x = np.empty_like(b)
        x[pivots or slice(None)] = linalg.solve_triangular(R, Q.T @ (b * scale))
        return np.asarray(scale * x)
    try:
        x = linalg.solve(scaled, b * scale, assume_a="pos" if method == "cholesky" else "gen")
    except np.linalg.LinAlgError:
        raise MultibodyError("q", "the mass matrix is singular") from None
    return np.asarray(scale * x)


@dataclass(frozen=True, eq=False, init=False)
class PointForce:
    """A force at a point of a body.

    Parameters
    ----------
    body
        Name of the body; a fixed body has its own frame. The world carries a force on "world".
    point
        (3,) [m] point at which it acts, in body coordinates.
    force
        (3,) [N].
    frame
        Axes of the force: "world", or "body" for one that turns with the body.
    """

    body: str
    point: FloatArray
    force: FloatArray
    frame: Literal["world", "body"]

    def __init__(
        self, body: str, point: ArrayLike, force: ArrayLike, frame: Literal["world", "body"] = "world"
    ) -> None:
        if frame not in ("world", "body"):
            raise MultibodyError("PointForce.frame", f"must be 'world' or 'body', got {frame!r}")
        set_fields(
            self,
            body=body,
            point=finite_array(point, "PointForce.point", (3,), MultibodyError),
            force=finite_array(force, "PointForce.force", (3,), MultibodyError),
            frame=frame,
        )


def external_forces(model: Model, q: Instant, forces: Iterable[PointForce]) -> FloatArray:
    """Return rows (nb, 6), one per added body: moment about the world origin [N m], force [N], world axes.

    Parameters
    ----------
    model, q
        The model and a configuration (nq,), or a `Kinematics`.
    forces
        Any number of `PointForce`; those on one body add up.
    """
    at = q if isinstance(q, Kinematics) else kinematics(model, q)
    rows = np.zeros((model.nb, 6))
    for applied in forces:
        pose = body_pose(model, at, applied.body)
        i = model.index_or_world(applied.body)
        if i >= 0:
            force = applied.force if applied.frame == "world" else pose.R @ applied.force
            rows[i, :3] += np.cross(pose.apply(applied.point), force)
            rows[i, 3:] += force
    return rows

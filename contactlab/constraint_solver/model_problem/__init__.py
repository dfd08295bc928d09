"""Problem data of both levels from a model, its state and its contacts, and the effect of forces on the model.

`problem_data_from` returns a `ModelProblem`; `delassus` is for problems too large for dense matrices. Rows are sparse,
with entries only on the paths from a body to its root. M is never formed. Its inverse is applied through articulated
bodies, and the Delassus matrix is built from columns L^-T J^T along the branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision.material import check_edges
from contactlab.constraint_solver.model_problem.branches import instantaneous
from contactlab.constraint_solver.model_problem.contact_geometry import ContactPoint, contact_geometry
from contactlab.constraint_solver.model_problem.drives import Drive
from contactlab.constraint_solver.model_problem.inputs import loop_rows, mimic_rows
from contactlab.constraint_solver.model_problem.joint_limit_rows import (
    Friction,
    Limits,
    bounded_rows,
    limit_rows,
)
from contactlab.constraint_solver.model_problem.levels import checked_loads
from contactlab.constraint_solver.model_problem.options import (
    BridgeError,
    Stabilisation,
    Thresholds,
    as_tuple,
    number,
    stabilisations,
)
from contactlab.constraint_solver.model_problem.problem import ModelProblem
from contactlab.multibody.constraints import ConstraintSet
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import ContactError, MultibodyError, finite_array
from problem_data.validation import FRICTION


def problem_data_from(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    tau: ArrayLike | None = None,
    *,
    contacts: Iterable[ContactPoint] = (),
    limits: Limits = "model",
    loops: ConstraintSet | None = None,
    mimics: bool = True,
    friction: Friction = "model",
    drives: Iterable[Drive] = (),
    loads: Mapping[str, float] | None = None,
    h: float | None = None,
    rows_at: Literal["start", "end"] = "start",
    edges: int = 4,
    contact_friction: str = "pyramid",
    f_ext: ArrayLike | None = None,
    stabilisation: Mapping[str, Stabilisation] | None = None,
    thresholds: Thresholds | None = None,
    t: float = 0.0,
) -> ModelProblem:
    """Return the contact problem of a model at one instant, at acceleration and at velocity level.

    Unknowns of the acceleration level are the forces of this instant, M a = tau - h(q, v) + J^T f. Unknowns of the
    velocity level are the forces of a step h, M (v+ - v) = h (tau - h(q, v) + J^T f). Without h they are the impulses,
    M (v+ - v) = J^T f. As the step goes to zero, the two solutions agree if no contact or limit has an impact, with
    ``rows_at="end"`` also if bodies turn. The velocity level has friction only along the pyramid's edges. For a contact
    that slides between two edges a difference remains, which decreases with ``edges``, not with h.

    Parameters
    ----------
    model
        The model, with its gravity.
    q, v
        (nq,) and (nv,) state; q can be a `Kinematics` with velocities, with v None.
    tau
        (nv,) applied forces, such as motor forces [N m, N]; zeros by default.
    contacts
        `ContactPoint` values. Acceleration level: closed contacts that do not separate have rows; those that slide have
        only one friction row, along their slip. Over a step all contacts have rows.
    limits
        "model" for the limits of the model's description, None, or `JointLimit` values.
    loops
        Bilateral rows: a `ConstraintSet` of this model.
    mimics
        Whether joints that mimic others, by the model's description, keep the relation (bilateral rows).
    friction
        Dry joint friction: "model" for the values of the description, None, or its bound [N m or N] by joint.
    drives
        Such as `VelocityDrive` and `PositionDrive`. Drives and dry friction are boxed rows over a step; at acceleration
        level, see `ModelProblem.overloaded_joints`.
    loads
        Normal force [N], by name of contact, of contacts with torsional or rolling friction, which determines their
        bounds. Usually it is the force of the previous step,
        ``{c.name: c.normal_force for c in problem.contact_forces(solution)}``; the error in the motion is then of
        order h.
    h
        Step [s]; None for an impact.
    rows_at
        Instant of the rows of a step. "start": J(q) v+, as in `TimeStepping`. "end", to first order: J(q + h v) v+ = J
        v+ + h (dJ/dt) v, for loops and for closed contacts that neither approach nor separate. The forces of one step
        from rest are the same. If bodies turn, only "end" includes the centripetal forces immediately.
    edges
        Edges k of the friction pyramid: even, at least 4.
    contact_friction
        Law of the contacts at velocity level, ``velocity.friction``: ``"pyramid"``, or ``"cone"``, Coulomb's exact cone
        over the two tangents of four edges. The acceleration level has pyramids.
    f_ext
        (nb, 6) external forces as for `inverse_dynamics`.
    stabilisation
        `Stabilisation` by kind of row: "contacts", "limits", "loops", "mimics"; none by default.
    thresholds
        Bounds that decide which rows exist and which contacts slide: `Thresholds`.
    t
        Time [s], for custom constraints that depend on it.

    Returns
    -------
    ModelProblem
        The problem with ``acceleration``, ``velocity``, ``rows`` and methods to interpret forces.

    Raises
    ------
    BridgeError
        An argument is invalid; the text names the field and, in a list, the index.
    MultibodyError
        q, v, tau or f_ext have a wrong shape or entries that are not finite, or the mass matrix is singular.

    Examples
    --------
    >>> feet = [ContactPoint(foot, (0, 0, 0), (0, 0, 1), frame="body", mu=0.8, name=foot) for foot in model.names[-4:]]
    >>> problem = problem_data_from(model, q, v, tau, contacts=feet, h=1e-3)
    >>> print(problem.rows.velocity)
    """
    step = None if h is None else number(h, "h")
    if step is not None and step <= 0.0:
        raise BridgeError("h", f"must be positive, got {step}; None for an impact")
    if rows_at not in ("start", "end"):
        raise BridgeError("rows_at", f"must be 'start' or 'end', got {rows_at!r}")
    try:
        k = check_edges(edges)
    except ContactError as cause:
        raise BridgeError("edges", cause.detail) from cause
    if contact_friction not in FRICTION:
        raise BridgeError("contact_friction", f"must be 'pyramid' or 'cone', got {contact_friction!r}")
    if contact_friction == "cone" and k != 4:
        raise BridgeError("edges", f"must be 4 with contact_friction='cone', got {k}: the cone has two tangents")
    time = number(t, "t")
    kin = _kinematics(model, q, v)
    how = stabilisations(stabilisation)
    at = Thresholds() if thresholds is None else thresholds
    if not isinstance(at, Thresholds):
        raise BridgeError("thresholds", f"must be Thresholds, got {type(at).__name__}")
    listed, driven = as_tuple(contacts, "contacts"), as_tuple(drives, "drives")
    motion = instantaneous(model, kin)
    geometry = contact_geometry(model, motion, listed)
    return ModelProblem(
        model=model,
        kin=kin,
        tau=np.zeros(model.nv) if tau is None else finite_array(tau, "tau", (model.nv,), MultibodyError),
        f_ext=None if f_ext is None else finite_array(f_ext, "f_ext", (model.nb, 6), MultibodyError),
        contacts=listed,
        geometry=geometry,
        loads=checked_loads(listed, geometry.names, loads),
        limit_rows=limit_rows(model, kin.q, limits),
        bounded_rows=bounded_rows(model, kin.q, kin._v, friction, driven),
        loops=loop_rows(model, kin, loops, how["loops"], time),
        mimics=mimic_rows(model, kin, mimics, how["mimics"]),
        constraint_set=loops,
        h=step,
        at_end=rows_at == "end",
        edges=k,
        contact_friction=contact_friction,
        stabilisation=how,
        thresholds=at,
        given=MappingProxyType({}),
        t=time,
    )


def _kinematics(model: Model, q: Instant, v: ArrayLike | None) -> Kinematics:
    """Return the kinematics with velocities at q and v; q can be a `Kinematics` of this model."""
    if not isinstance(q, Kinematics):
        if v is None:
            raise MultibodyError("v", "is needed: only kinematics with velocities stand for both q and v")
        return kinematics(model, q, v)
    if q.model is not model:
        raise MultibodyError("q", "these kinematics belong to another model")
    if v is None or v is q.v:
        if q.v is None:
            raise MultibodyError("v", "is needed: these kinematics were computed without velocities")
        return q
    return kinematics(model, q.q, v)

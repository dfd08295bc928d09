"""Rows of a set at one instant: G, gamma, errors, and the terms of the constrained motion, in RBDL's notation.

All rows except custom ones are evaluated by compiled code; custom rows are copied in.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_finite, checked_vector, failure
from contactlab.multibody.constraints.constraint_set import ConstraintSet
from contactlab.multibody.constraints.kernels import (
    BAUMGARTE,
    GAMMA,
    JACOBIAN,
    MOVING,
    POSITION_ERROR,
    VELOCITY_ERROR,
    rows_size,
)
from contactlab.multibody.constraints.rows import ConstraintError
from contactlab.multibody.dynamics import nonlinear_effects
from contactlab.multibody.kernels import GOOD
from contactlab.multibody.kinematics import Instant, Kinematics, at_configuration, at_state
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, finite_number, read_only

_NONE = np.zeros(0)


class RowValues(NamedTuple):
    """Values of all rows. Quantities that were not requested are arrays of length 0."""

    G: FloatArray
    gamma: FloatArray
    phi: FloatArray
    phid: FloatArray
    scale: FloatArray  # sizes of the terms of entries of G, if G was wanted


@functools.cache
def _evaluate() -> Any:
    from contactlab.multibody.constraints.kernels.rows import evaluate_rows

    return evaluate_rows


def check_set(model: Model, cs: ConstraintSet) -> None:
    """Raise if a set was made for another model."""
    if not isinstance(cs, ConstraintSet):
        raise ConstraintError("cs", f"must be a ConstraintSet, got {type(cs).__name__}")
    if cs.model is not model:
        raise ConstraintError("cs", "these constraints belong to another model")


def time_of(t: float) -> float:
    """Return the time as a float."""
    return t if type(t) is float and -np.inf < t < np.inf else finite_number(t, "t", ConstraintError)


def evaluated(model: Model, q: Instant, v: ArrayLike | None, cs: ConstraintSet, want: int, t: float = 0.0) -> RowValues:
    """Return the rows at q, t [s], and v if ``want``, a sum of bits of `kernels`, has one of `MOVING`."""
    check_set(model, cs)
    time = time_of(t)
    n, nv, packed = cs.n_rows, model.nv, model.packed
    size = rows_size(packed.nl, nv)
    if want & MOVING:
        q_, v_, custom, work, ready = at_state(model, q, v, size)
    else:
        q_, custom, work, ready = at_configuration(model, q, size)
        v_ = _NONE
    out = RowValues(
        np.zeros((n, nv) if want & JACOBIAN else (0, nv)),
        np.zeros(n if want & GAMMA else 0),
        np.zeros(n if want & POSITION_ERROR else 0),
        np.zeros(n if want & VELOCITY_ERROR else 0),
        np.zeros(n if want & JACOBIAN else 0),
    )
    rows = cs.packed
    code = _evaluate()(rows.model_ints, rows.model_floats, q_, v_, custom, work, ready, want, *out)
    if code != GOOD or not all(np.isfinite(array).all() for array in out) or not np.isfinite(v_).all():
        raise failure(model, code, q_, ("v", v_))
    if cs.packed.custom:
        known = v is not None or (isinstance(q, Kinematics) and q.v is not None)
        # Jacobians can depend on v.
        speed = v_ if want & MOVING else at_state(model, q, v, size)[1] if known else None
        fill_custom(cs, model, q_, speed, time, want, out)
    return out


def fill_custom(
    cs: ConstraintSet, model: Model, q: FloatArray, v: FloatArray | None, t: float, want: int, out: RowValues
) -> None:
    """Copy the wanted values of custom rows into their places; gamma with stabilisation if `BAUMGARTE` is wanted.

    Arrays of other quantities can have length 0. v may be None if nothing of `MOVING` is wanted.
    """
    configuration = read_only(q)
    speed = None if v is None else read_only(v)
    for custom in cs.packed.custom:
        place = custom.rows
        if want & JACOBIAN:
            out.G[place] = custom.jacobian(model, configuration, speed, t)
            # The terms of custom rows are unknown.
            out.scale[place] = np.abs(out.G[place]).max(axis=1, initial=0.0)
        if want & POSITION_ERROR:
            out.phi[place] = custom.position_error(model, configuration, t)
        if speed is None:
            continue
        if want & VELOCITY_ERROR:
            out.phid[place] = custom.velocity_error(model, configuration, speed, t)
        if want & GAMMA:
            out.gamma[place] = custom.gamma(model, configuration, speed, t)
            alpha, beta = cs.packed.baumgarte[place].T
            if want & BAUMGARTE and (alpha.any() or beta.any()):
                out.gamma[place] -= 2.0 * alpha * custom.velocity_error(model, configuration, speed, t)
                out.gamma[place] -= beta**2 * custom.position_error(model, configuration, t)


def constraint_jacobian(
    model: Model, q: Instant, cs: ConstraintSet, *, v: ArrayLike | None = None, t: float = 0.0
) -> FloatArray:
    """Return G (nc, nv): G v are the rows' velocities, G^T lambda the generalised forces of forces lambda along them.

    Parameters
    ----------
    model
        The model.
    q
        (nq,) configuration, or a `Kinematics`.
    cs
        The set.
    v
        (nv,), needed only if a custom constraint's Jacobian depends on it.
    t
        Time [s], for custom constraints that depend on it.
    """
    return evaluated(model, q, v, cs, JACOBIAN, t).G


def constraint_gamma(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    cs: ConstraintSet,
    *,
    accelerations: ArrayLike | None = None,
    t: float = 0.0,
) -> FloatArray:
    """Return gamma (nc,), with wanted accelerations and stabilisation.

    Accelerations that satisfy the constraints have G a = gamma.

    Parameters
    ----------
    model, q, v
        An instant: q (nq,), v (nv,); or a `Kinematics` with v None.
    cs
        The set.
    accelerations
        (nc,) wanted acceleration of every row. It replaces the values given to the contacts, and is added to the gamma
        of loops and custom constraints.
    t
        Time [s], for custom constraints that depend on it.
    """
    gamma = evaluated(model, q, v, cs, GAMMA | BAUMGARTE, t).gamma
    if accelerations is None:
        return gamma
    return gamma + (finite_array(accelerations, "accelerations", (cs.n_rows,), ConstraintError) - cs.accelerations)


def baumgarte_term(
    model: Model, q: Instant, v: ArrayLike | None, cs: ConstraintSet, *, group: str | int | None = None, t: float = 0.0
) -> FloatArray:
    """Return the stabilisation term of gamma, -2 alpha phid - beta^2 phi, of all rows (nc,) or of one group.

    Arguments as for `constraint_gamma`. The term is zero for rows without stabilisation.
    """
    values = evaluated(model, q, v, cs, POSITION_ERROR | VELOCITY_ERROR, t)
    alpha, beta = cs.packed.baumgarte.T
    term: FloatArray = -(2.0 * alpha * values.phid + beta**2 * values.phi)
    return term if group is None else term[cs.rows(group)]


def constraint_position_error(
    model: Model, q: Instant, cs: ConstraintSet, *, group: str | int | None = None, t: float = 0.0
) -> FloatArray:
    """Return position errors (nc,), or the errors of one group, of loops and custom constraints at position level.

    A contact's error is zero, because it has no reference position. A loop's rotation error is the sine of the angle,
    which is also zero at 180 degrees. ``group`` is the name or id of a group, the other arguments are as for
    `constraint_jacobian`.
    """
    phi = evaluated(model, q, None, cs, POSITION_ERROR, t).phi
    return phi if group is None else phi[cs.rows(group)]


def constraint_velocity_error(
    model: Model, q: Instant, v: ArrayLike | None, cs: ConstraintSet, *, group: str | int | None = None, t: float = 0.0
) -> FloatArray:
    """Return velocity errors (nc,), or the errors of one group: G v, plus phi_t if a custom constraint depends on time.

    At velocity level the error is the condition, at acceleration level it is zero. v (nv,) can be None with a
    `Kinematics` that has velocities. The other arguments are as for `constraint_position_error`.
    """
    phid = evaluated(model, q, v, cs, VELOCITY_ERROR, t).phid
    return phid if group is None else phid[cs.rows(group)]


def tolerances(G: FloatArray, scale: FloatArray, error: FloatArray) -> FloatArray:
    """Return for each row (nc,) its rounding error as a fraction of its length, 1 for zero rows (`row_tolerances`)."""
    from contactlab.multibody.constraints.kernels.factorizations import row_tolerances

    out = np.empty(G.shape[0])
    row_tolerances(np.ascontiguousarray(G), scale, error, out)
    return out


@dataclass(frozen=True, eq=False)
class ConstrainedSystem:
    """Terms of H a + C = tau + G^T lambda with G a = gamma.

    Attributes
    ----------
    H
        (nv, nv) mass matrix.
    C
        (nv,) velocity and gravity terms, less the generalised forces J^T f_ext.
    G
        (nc, nv) constraint Jacobian.
    gamma
        (nc,) right-hand side, with wanted accelerations and stabilisation.
    tolerance
        (nc,) rounding error of each row of G as a fraction of its length, 1 for zero rows
        (`contactlab.multibody.constraints.kernels.factorizations`).
    """

    H: FloatArray
    C: FloatArray
    G: FloatArray
    gamma: FloatArray
    tolerance: FloatArray


def constrained_system(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    tau: ArrayLike,
    cs: ConstraintSet,
    f_ext: ArrayLike | None = None,
    *,
    t: float = 0.0,
) -> ConstrainedSystem:
    """Return H, C, G and gamma of one instant.

    Parameters
    ----------
    model, q, v
        An instant: q (nq,), v (nv,); or a `Kinematics` with v None.
    tau
        (nv,) generalised forces; they are checked but not part of the result.
    cs
        The set.
    f_ext
        (nb, 6) external forces as for `inverse_dynamics`.
    t
        Time [s], for custom constraints that depend on it.
    """
    check_finite("tau", checked_vector("tau", tau, model.nv))
    rows = evaluated(model, q, v, cs, JACOBIAN | GAMMA | BAUMGARTE | POSITION_ERROR, t)
    limits = tolerances(rows.G, rows.scale, rows.phi)
    return ConstrainedSystem(mass_matrix(model, q), nonlinear_effects(model, q, v, f_ext), rows.G, rows.gamma, limits)

"""The right-hand side of G a = gamma, and what stabilisation adds to it."""

from __future__ import annotations

from numpy.typing import ArrayLike

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.evaluation import evaluated
from contactlab.constraints.kernels.wanted import BAUMGARTE, GAMMA, POSITION_ERROR, VELOCITY_ERROR
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, finite_array

__all__ = ["baumgarte_term", "constraint_gamma", "with_accelerations"]


def constraint_gamma(
    model: Model,
    q: Instant,
    v: ArrayLike | None,
    cs: ConstraintSet,
    *,
    accelerations: ArrayLike | None = None,
    t: float = 0.0,
) -> FloatArray:
    """gamma (nc,): accelerations that satisfy the constraints have G a = gamma.

    Wanted accelerations and stabilisation included.

    Parameters
    ----------
    model, q, v
        An instant: q (nq,), v (nv,); or a `Kinematics` with v None.
    cs
        The set.
    accelerations
        (nc,) wanted acceleration of every row, in place of those given to the contacts; a loop's or a custom
        constraint's, otherwise 0, is added to its gamma.
    t
        Time [s], for custom constraints that depend on it.
    """
    gamma = evaluated(model, q, v, cs, GAMMA | BAUMGARTE, t).gamma
    return with_accelerations(cs, gamma, accelerations)


def with_accelerations(cs: ConstraintSet, gamma: FloatArray, accelerations: ArrayLike | None) -> FloatArray:
    """gamma with other wanted accelerations than the set's own; the same array where None are given."""
    if accelerations is None:
        return gamma
    wanted = finite_array(accelerations, "accelerations", (cs.n_rows,), ConstraintError)
    return gamma + (wanted - cs.accelerations)


def baumgarte_term(
    model: Model, q: Instant, v: ArrayLike | None, cs: ConstraintSet, *, group: str | int | None = None, t: float = 0.0
) -> FloatArray:
    """-2 alpha phid - beta^2 phi (nc,), or of one group's rows: what stabilisation adds to gamma.

    Arguments as for `constraint_gamma`. Rows without stabilisation have zero.
    """
    values = evaluated(model, q, v, cs, POSITION_ERROR | VELOCITY_ERROR, t)
    alpha, beta = cs.packed.baumgarte.T
    term: FloatArray = -(2.0 * alpha * values.phid + beta**2 * values.phi)
    return term if group is None else term[cs.rows(group)]

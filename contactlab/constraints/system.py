"""Terms of the constrained equations of motion at one instant, in RBDL's letters."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.evaluation import evaluated
from contactlab.constraints.kernels.wanted import BAUMGARTE, GAMMA, JACOBIAN
from contactlab.multibody.arguments import check_finite, checked_vector
from contactlab.multibody.inverse_dynamics import nonlinear_effects
from contactlab.multibody.kinematics import Instant
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class ConstrainedSystem:
    """H a + C = tau + G^T lambda with G a = gamma.

    Attributes
    ----------
    H
        (nv, nv) mass matrix.
    C
        (nv,) velocity and gravity terms, f_ext taken off: J^T f_ext is inside, with a minus.
    G
        (nc, nv) constraint Jacobian.
    gamma
        (nc,) right-hand side, with wanted accelerations and stabilisation.
    """

    H: FloatArray
    C: FloatArray
    G: FloatArray
    gamma: FloatArray


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
    """H, C, G and gamma of one instant.

    Parameters
    ----------
    model, q, v
        An instant: q (nq,), v (nv,); or a `Kinematics` with v None.
    tau
        (nv,) generalised forces; checked, and in none of the four.
    cs
        The set.
    f_ext
        (nb, 6) external forces as for `inverse_dynamics`.
    t
        Time [s], for custom constraints that depend on it.
    """
    check_finite("tau", checked_vector("tau", tau, model.nv))
    rows = evaluated(model, q, v, cs, JACOBIAN | GAMMA | BAUMGARTE, t)
    return ConstrainedSystem(mass_matrix(model, q), nonlinear_effects(model, q, v, f_ext), rows.G, rows.gamma)

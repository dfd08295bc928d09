"""How far r is from solving a friction problem. This module alone decides SOLVED, on the original data.

Two measures, both of the natural map f(r) = r - P_K(r - u_hat), which is zero at solutions and nowhere else.

``fclib`` is ||f(r)|| / ||q|| as it stands, the one of FCLIB and of the published comparisons. It adds impulses to
velocities: with other units it is another number. Where entries of W are large against 1, ``r`` is small against ``q``
and a force that is wrong altogether leaves next to nothing.

``scaled`` is the same with the step of each contact 1 / w, w the largest entry of its own block of W: the norm of
w r - P_K(w r - u_hat) by ||q||, all of it velocities. Other units of force, velocity or time leave it as it is. Both
are summed in `lcp.kernels.cone_measures`, to which a compiled step gives its own rows.

``contact`` asks each contact by itself, free of units, what a difference r - u_hat loses where r is large: -u_N and the
power |r . u_hat| / |r| in units of the terms |W| |r| + |q| of its own rows; of a force that is small beside what would
stop the contact, no more than that.

SOLVED asks all to be within the tolerance, or within what rounding leaves: of ``fclib``, rounding of W r + q and of r
itself (where r is large against q, u is lost in r - u); of ``scaled``, rounding of W r + q and w r, but never above
`MAX_ROUNDING_EXCUSE`: forces that grow without bound must not pass as rounded ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lcp.arrays import Vector, checked_vector_nonfinite
from lcp.friction.problem import FrictionProblem

#: Bound on both measures where none is given.
DEFAULT_FRICTION_TOLERANCE = 1e-8

#: Bound on what rounding is allowed to excuse in ``scaled``.
MAX_ROUNDING_EXCUSE = 1e-6

_EPS = float(np.finfo(np.float64).eps)
# Roundings that the sums may take.
_ROUNDINGS = 64.0


@dataclass(frozen=True, slots=True)
class FrictionResiduals:
    """How far r is from a solution.

    Attributes
    ----------
    fclib
        ||r - P_K(r - u_hat)|| / ||q|| (Euclidean, step 1); the numerator alone where q = 0.
    scaled
        The same with the step 1 / max |W_aa| at contact a, in units of velocity.
    cone
        Largest |r_T| - mu r_N, in units of max |r|; 0 inside the cones.
    penetration
        Largest -u_N, in units of max |q|; 0 where no contact penetrates.
    contact
        Largest of -u_N and the power |r . u_hat| / |r| at a contact, in units of |W| |r| + |q| in its own rows.
    fclib_rounding, scaled_rounding
        What rounding may leave of ``fclib`` and ``scaled``.
    equations
        ScaledProblem residual of M v = H r + f + G lambda and G' v + b = 0 of a global problem; 0 of a local one.
    """

    fclib: float
    scaled: float
    cone: float
    penetration: float
    fclib_rounding: float
    scaled_rounding: float
    contact: float
    equations: float = 0.0

    def solved(self, tolerance: float) -> bool:
        """Whether all measures, and the equations, are within the tolerance or rounding."""
        return self.excess(tolerance) <= 1.0

    def excess(self, tolerance: float) -> float:
        """The largest measure in units of what is admitted: solved at 1 and below."""
        return max(
            self.fclib / max(tolerance, self.fclib_rounding),
            # Where w r is that large, u is lost in w r - u_hat, and a ``scaled`` of zero says nothing.
            max(self.scaled, self.scaled_rounding / _ROUNDINGS)
            / max(tolerance, min(self.scaled_rounding, MAX_ROUNDING_EXCUSE)),
            self.contact / tolerance,
            self.equations / max(tolerance, 1e-9),
        )

    @property
    def finite(self) -> bool:
        """Whether both measures are numbers."""
        return bool(np.isfinite(self.fclib) and np.isfinite(self.scaled))

    def text(self, tolerance: float) -> str:
        """The measures beside their bound."""
        return f"FCLIB residual {self.fclib:.1e} and scaled residual {self.scaled:.1e} (bound of both {tolerance:.0e})"

    @property
    def short_text(self) -> str:
        """Both measures."""
        return f"fclib={self.fclib:.1e}, scaled={self.scaled:.1e}"

    @property
    def error(self) -> float:
        """One number: the larger measure, ``fclib`` only where rounding leaves it a meaning."""
        return max(self.scaled, self.fclib) if self.fclib > self.fclib_rounding else self.scaled

    def rounding_decided(self, tolerance: float) -> bool:
        """Whether a measure passes only because rounding cannot do better."""
        return self.solved(tolerance) and max(self.fclib, self.scaled) > tolerance


def measure(
    problem: FrictionProblem, r: ArrayLike, u: ArrayLike | None = None, equations: float = 0.0
) -> tuple[FrictionResiduals, Vector]:
    """Residuals of r, and u = W r + q (formed here unless given)."""
    force = checked_vector_nonfinite("r", r, problem.m)
    with np.errstate(over="ignore", invalid="ignore"):
        velocity = problem._W @ force + problem._q if u is None else checked_vector_nonfinite("u", u, problem.m)
        return _measured(problem, force, velocity, equations), velocity


def _measured(problem: FrictionProblem, r: Vector, u: Vector, equations: float) -> FrictionResiduals:
    from lcp.kernels.cone_measures import SUMS, cone_sums

    q, mu = problem._q, problem._mu
    if problem.m == 0:
        return FrictionResiduals(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, equations)
    if not (np.isfinite(r).all() and np.isfinite(u).all()):
        return FrictionResiduals(np.inf, np.inf, np.inf, np.inf, 0.0, 0.0, np.inf, equations)
    # In units of the largest entry: squares of tiny or huge data must neither vanish nor overflow.
    unit = float(np.abs(q).max()) or 1.0
    load = float(np.linalg.norm(q / unit)) or 1.0
    rows, motion = problem.contacts(r / unit), problem.contacts(u / unit)
    sizes = problem.contacts(abs(problem._W) @ np.abs(r / unit) + np.abs(q / unit))
    sums = np.empty(SUMS)
    cone_sums(mu, problem._block_size, rows, motion, sizes, sums)
    fclib, scaled, plain_size, weighted_size = (np.sqrt(sums) / load).tolist()
    rounding = _ROUNDINGS * _EPS
    cone = np.hypot(rows[:, 1], rows[:, 2]) - mu * rows[:, 0]
    largest = float(np.abs(rows).max()) or 1.0
    residual = FrictionResiduals(
        fclib=fclib,
        scaled=scaled,
        cone=max(0.0, float(cone.max()), float(-rows[:, 0].min())) / largest,
        penetration=max(0.0, float(-motion[:, 0].min())),
        fclib_rounding=rounding * plain_size,
        scaled_rounding=rounding * weighted_size,
        contact=_worst_contact(rows, motion, mu, sizes, problem._block_size),
        equations=equations,
    )
    if not np.isfinite([fclib, scaled, residual.fclib_rounding, residual.scaled_rounding]).all():
        return FrictionResiduals(np.inf, np.inf, np.inf, np.inf, 0.0, 0.0, np.inf, equations)
    return residual


def _worst_contact(r: Vector, u: Vector, mu: Vector, sizes: Vector, weight: Vector) -> float:
    """The measure ``contact`` of rows (nc, 3); a contact whose rows have no terms at all has nothing to miss."""
    unit, force = np.linalg.norm(sizes, axis=1), np.linalg.norm(r, axis=1)
    # De Saxce's u_hat has mu |u_T| more along the normal.
    product = (r * u).sum(axis=1) + r[:, 0] * mu * np.hypot(u[:, 1], u[:, 2])
    power = np.divide(np.abs(product), force, out=np.zeros_like(force), where=force > 0.0)
    missed = np.maximum(-u[:, 0], np.minimum(power, weight * force))
    return float(np.divide(missed, unit, out=np.zeros_like(unit), where=unit > 0.0).max(initial=0.0))

"""Residuals of r in a friction problem. Only this module decides SOLVED, on the original data.

Two measures use the natural map f(r) = r - P_K(r - u_hat), which is zero exactly at solutions.

``fclib`` is ||f(r)|| / ||q||, the measure of FCLIB and of the published comparisons. It adds impulses to velocities, so
it depends on units. If entries of W are large compared with 1, ``r`` is small compared with ``q``, and even a
completely wrong force changes it very little.

``scaled`` is the same with the step 1 / w for each contact, w the largest entry of its block of W: the norm of w r -
P_K(w r - u_hat) over ||q||, all of it velocities. It does not depend on units of force, velocity or time. Both are
summed in `lcp.kernels.cone_measures`, which a compiled step uses with its rows.

``contact`` measures each contact separately and independently of units, because a difference r - u_hat loses digits of
u_hat if r is large. It has -u_N and the power |r . u_hat| / |r| in units of the terms |W| |r| + |q| of the contact's
rows. For a force that is small compared with the one that would stop the contact, the power is measured relative to
that.

SOLVED requires all measures within the tolerance, or within their rounding. For ``fclib`` this is rounding of W r + q
and of r itself (if r is large compared with q, u is lost in r - u). For ``scaled`` it is rounding of W r + q and w r,
at most `MAX_ROUNDING_EXCUSE`: forces that grow without bound must not count as rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector, checked_vector_nonfinite
from lcp.friction.problem import FrictionProblem
from lcp.result import AttemptBase, ResultBase, Trace
from lcp.status import Status

#: Default bound on both measures.
DEFAULT_FRICTION_TOLERANCE = 1e-8

#: Largest value of ``scaled`` that rounding can excuse.
MAX_ROUNDING_EXCUSE = 1e-6

_EPS = float(np.finfo(np.float64).eps)
# Number of roundings allowed for the sums.
_ROUNDINGS = 64.0


@dataclass(frozen=True, slots=True)
class FrictionResiduals:
    """Residuals of forces r.

    Attributes
    ----------
    fclib
        ||r - P_K(r - u_hat)|| / ||q|| (Euclidean, step 1); only the numerator if q = 0.
    scaled
        The same with the step 1 / max |W_aa| at contact a, in units of velocity.
    cone
        Largest |r_T| - mu r_N, in units of max |r|; 0 inside the cones.
    penetration
        Largest -u_N, in units of max |q|; 0 if no contact penetrates.
    contact
        Largest of -u_N and the power |r . u_hat| / |r| at a contact, in units of |W| |r| + |q| in its own rows.
    fclib_rounding, scaled_rounding
        Possible rounding in ``fclib`` and ``scaled``.
    equations
        Scaled residual of M v = H r + f + G lambda and G' v + b = 0 of a global problem; 0 of a local one.
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
        """True if all measures, and the equations, are within the tolerance or rounding."""
        return self.excess(tolerance) <= 1.0

    def excess(self, tolerance: float) -> float:
        """The largest measure in units of its bound: solved at 1 and below."""
        return max(
            self.fclib / max(tolerance, self.fclib_rounding),
            # If w r is so large, u is lost in w r - u_hat, and a ``scaled`` of zero proves nothing.
            max(self.scaled, self.scaled_rounding / _ROUNDINGS)
            / max(tolerance, min(self.scaled_rounding, MAX_ROUNDING_EXCUSE)),
            self.contact / tolerance,
            self.equations / max(tolerance, 1e-9),
        )

    @property
    def finite(self) -> bool:
        """True if both measures are numbers."""
        return bool(np.isfinite(self.fclib) and np.isfinite(self.scaled))

    def text(self, tolerance: float) -> str:
        """Return the measures with their bound."""
        return f"FCLIB residual {self.fclib:.1e} and scaled residual {self.scaled:.1e} (bound of both {tolerance:.0e})"

    @property
    def short_text(self) -> str:
        """Return both measures."""
        return f"fclib={self.fclib:.1e}, scaled={self.scaled:.1e}"

    @property
    def error(self) -> float:
        """The larger measure, with ``fclib`` only if it exceeds rounding."""
        return max(self.scaled, self.fclib) if self.fclib > self.fclib_rounding else self.scaled

    def rounding_decided(self, tolerance: float) -> bool:
        """True if a measure passes only because rounding cannot be avoided."""
        return self.solved(tolerance) and max(self.fclib, self.scaled) > tolerance


def measure(
    problem: FrictionProblem, r: ArrayLike, u: ArrayLike | None = None, equations: float = 0.0
) -> tuple[FrictionResiduals, Vector]:
    """Return the residuals of r, and u = W r + q (computed unless given)."""
    force = checked_vector_nonfinite("r", r, problem.m)
    with np.errstate(over="ignore", invalid="ignore"):
        velocity = problem._W @ force + problem._q if u is None else checked_vector_nonfinite("u", u, problem.m)
        return _measured(problem, force, velocity, equations), velocity


def _measured(problem: FrictionProblem, r: Vector, u: Vector, equations: float) -> FrictionResiduals:
    """Return the residuals of the forces r and velocities u (m,), infinite if a number is not finite.

    ``equations`` is passed on as a field of the result.
    """
    from lcp.kernels.cone_measures import SUMS, cone_sums

    q, mu = problem._q, problem._mu
    if problem.m == 0:
        return FrictionResiduals(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, equations)
    if not (np.isfinite(r).all() and np.isfinite(u).all()):
        return FrictionResiduals(np.inf, np.inf, np.inf, np.inf, 0.0, 0.0, np.inf, equations)
    # In units of the largest entry: squares of tiny or huge data must not vanish or overflow.
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
    """Return the measure ``contact`` of rows (nc, 3); a contact whose rows have no terms has no residual."""
    unit, force = np.linalg.norm(sizes, axis=1), np.linalg.norm(r, axis=1)
    # De Saxce's u_hat has the additional term mu |u_T| along the normal.
    product = (r * u).sum(axis=1) + r[:, 0] * mu * np.hypot(u[:, 1], u[:, 2])
    power = np.divide(np.abs(product), force, out=np.zeros_like(force), where=force > 0.0)
    missed = np.maximum(-u[:, 0], np.minimum(power, weight * force))
    return float(np.divide(missed, unit, out=np.zeros_like(unit), where=unit > 0.0).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class FrictionClaim:
    """A friction solver's report. It is only a claim: `lcp.solve` verifies r on the original data.

    Attributes
    ----------
    r
        The forces (m,); the best candidate if no solution is claimed.
    status, iterations, detail, evidence, trace, attempts, solver
        As in `lcp.Claim`.
    """

    r: NDArray[np.float64]
    status: Status
    iterations: int
    detail: str = ""
    evidence: Any = None
    trace: Trace | None = None
    attempts: tuple[FrictionAttempt, ...] = ()
    solver: Any = None


@dataclass(frozen=True, slots=True)
class FrictionAttempt(AttemptBase[FrictionResiduals]):
    """One attempted friction solver and its outcome."""


@dataclass(frozen=True, repr=False)
class FrictionResult(ResultBase[FrictionResiduals]):
    """Result for a `FrictionProblem` or a `GlobalFrictionProblem`.

    Attributes
    ----------
    r, u
        Forces and velocities at the contacts (m,), u = W r + q, read-only. If the solve failed, the best candidate.
    v
        Velocity (n,) of a global problem, None of a local one.
    lam
        Multipliers of the bilateral rows of a global problem, None if it has none.
    status, iterations, residual, solver, attempts, solve_time, evidence, tolerance, trace
        As in `Result`: ``residual`` is `FrictionResiduals` of r, ``solve_time`` includes the reduction of a global
        problem, and ``trace`` is of ``fclib``.
    """

    r: NDArray[np.float64]
    u: NDArray[np.float64]
    v: NDArray[np.float64] | None
    lam: NDArray[np.float64] | None

    @property
    def z(self) -> NDArray[np.float64]:
        """The forces r, under the common name of all results of `lcp`."""
        return self.r

    def __repr__(self) -> str:
        return self._repr(f"m={self.r.shape[0]}")

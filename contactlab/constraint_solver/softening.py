"""Springs and dampers as softened constraint rows, and the inverse conversion.

A row with gap phi, stiffness k and damping b that obeys f = -k phi(t + h) - b phidot(t + h), with
phi(t + h) = phi + h phidot(t + h), is the constraint row

    phidot(t + h) + erp phi / h + gamma f = 0,      gamma = 1 / (h k + b),      erp = h k / (h k + b)

So gamma is an entry of ``gammaN`` (or L, F), and erp phi / h a term of ``kN``, of a problem over a step h whose forces
are in newtons. At rest phidot = 0 and f = -k phi exactly, for any h and b. In an impact problem, whose unknowns are
impulses h f, the same row needs gamma / h: `impulse_softening`.

gamma is known as constraint force mixing (CFM) and erp as error reduction parameter (ERP). k = 0 gives erp = 0, and b =
0 gives erp = 1. For rows in radians, read N m for N.

C. Lacoursiere, Ghosts and Machines: Regularized Variational Methods for Interactive Simulations of Multibodies with Dry
Frictional Contacts, PhD thesis, Umea University (2007).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraint_solver.blocks import check_step
from contactlab.multibody.spatial.arrays import FloatArray
from problem_data import ProblemDataError
from problem_data.validation import check_finite, check_nonnegative, raise_for_entries, real_numbers


class Softening(NamedTuple):
    """Terms of softened rows, with the shape of the given values (arrays of shape () for scalars)."""

    #: constraint force mixing: 1/(N s/m) = s/kg for forces, 1/kg for impulses
    gamma: FloatArray
    #: error reduction parameter, 0 to 1
    erp: FloatArray

    @property
    def cfm(self) -> FloatArray:
        """Constraint force mixing, another name for gamma."""
        return self.gamma

    def rate(self, h: float, gap: ArrayLike) -> FloatArray:
        """Return the term erp gap / h of the row's k [m/s]; gap [m] is negative if the row is violated."""
        return np.asarray(self.erp * _finite("gap", gap) / check_step(h))


class SpringDamper(NamedTuple):
    """Stiffness [N/m] and dissipation [N s/m] of softened rows."""

    stiffness: FloatArray
    dissipation: FloatArray


def softening(h: float, *, stiffness: ArrayLike = 0.0, dissipation: ArrayLike = 0.0) -> Softening:
    """Return the softening of a row over a step, for forces: gamma = 1/(h k + b) [s/kg], erp = h k/(h k + b).

    Parameters
    ----------
    h : float
        Step [s].
    stiffness, dissipation : array_like
        k [N/m] and b [N s/m], >= 0 and not both zero; scalars or arrays that broadcast.

    Raises
    ------
    ProblemDataError
        A value is negative, not finite, or h k + b is zero or overflows.

    Examples
    --------
    >>> softening(0.01, stiffness=1e4, dissipation=15.0).erp
    array(0.86956522)
    """
    step = check_step(h)
    k, b = _broadcast("stiffness", stiffness, "dissipation", dissipation)
    with np.errstate(over="ignore"):
        spring = step * k
        total = spring + b
        gamma = np.divide(1.0, total, out=np.full_like(total, np.inf), where=total > 0.0)
    bad = ~np.isfinite(total) | ~np.isfinite(gamma)
    if bad.any():
        at = int(np.argmax(bad))
        raise ProblemDataError(
            "stiffness",
            f"h k + b = {total.flat[at]} for stiffness {k.flat[at]}, dissipation {b.flat[at]} and h = {step:g}; wanted "
            f"a positive number with a finite inverse",
        )
    return Softening(gamma=gamma, erp=np.asarray(spring / total))


def impulse_softening(h: float, *, stiffness: ArrayLike = 0.0, dissipation: ArrayLike = 0.0) -> Softening:
    """Return the softening of the same row for an impact problem with impulses h f: gamma / h [1/kg], same erp."""
    soft = softening(h, stiffness=stiffness, dissipation=dissipation)
    return Softening(gamma=np.asarray(soft.gamma / check_step(h)), erp=soft.erp)


def spring_damper(h: float, *, gamma: ArrayLike, erp: ArrayLike) -> SpringDamper:
    """Return stiffness erp / (h gamma) and dissipation (1 - erp) / gamma of a softened row: the inverse of `softening`.

    Parameters
    ----------
    h : float
        Step [s].
    gamma : array_like
        Constraint force mixing [s/kg], > 0: a rigid row (gamma = 0) is not a spring.
    erp : array_like
        Error reduction parameter, 0 to 1.

    Raises
    ------
    ProblemDataError
        A value is out of its range.
    """
    step = check_step(h)
    mixing, share = _broadcast("gamma", gamma, "erp", erp)
    raise_for_entries("gamma", mixing, mixing <= 0.0, "> 0: a rigid row has no finite stiffness")
    raise_for_entries("erp", share, share > 1.0, "at most 1")
    return SpringDamper(stiffness=np.asarray(share / (step * mixing)), dissipation=np.asarray((1.0 - share) / mixing))


def spring_damper_from_impulse(h: float, *, gamma: ArrayLike, erp: ArrayLike) -> SpringDamper:
    """Return the inverse of `impulse_softening`: gamma in 1/kg."""
    return spring_damper(h, gamma=check_step(h) * _finite("gamma", gamma), erp=erp)


def _finite(field: str, value: ArrayLike) -> FloatArray:
    """Return a number or an array of numbers as float64; raise `ProblemDataError` unless all are finite."""
    array = real_numbers(field, value).astype(np.float64)
    check_finite(field, array)
    return array


def _broadcast(first: str, a: ArrayLike, second: str, b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both as non-negative finite arrays of one shape."""
    arrays = []
    for field, value in ((first, a), (second, b)):
        array = _finite(field, value)
        check_nonnegative(field, array)
        arrays.append(array)
    try:
        one, other = np.broadcast_arrays(*arrays)
    except ValueError as error:
        shapes = f"{arrays[0].shape} and {arrays[1].shape}"
        raise ProblemDataError(first, f"{first} and {second} of shapes {shapes} do not broadcast") from error
    return one.copy(), other.copy()

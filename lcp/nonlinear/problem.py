"""Nonlinear complementarity: a function between bounds. This module makes every call of the user's functions."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lcp.arrays import Vector, checked_square, checked_vector, checked_vector_nonfinite, first_true, read_only
from lcp.problem import BoxLCP, checked_bounds
from lcp.status import DomainError, ProblemError

#: Relative step of differences: the square root of a unit of rounding.
_STEP = 2.0**-26


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MCP:
    """Find z with lo <= z <= hi and, for w = F(z): w_i >= 0 at lo_i, w_i <= 0 at hi_i, w_i = 0 between them.

    Neither solvers nor finite differences evaluate F outside its bounds.

    Parameters
    ----------
    F
        Function of a vector (n,) that returns a vector (n,). At points at which it is not defined it may raise
        `ArithmeticError` or `ValueError`, or return values that are not finite: steps are then shortened. Other errors
        are not caught.
    jacobian
        Function of a vector (n,) that returns dF_i/dz_j (n, n), dense or scipy.sparse; None for differences, which take
        n evaluations of F each and give a dense one.
    lo, hi
        Bounds (n,); one of them may be one number for all. -inf and inf mean no bound; if lo_i = hi_i, z_i is fixed.

    Raises
    ------
    ProblemError
        If F is not a function, or bounds have other lengths, are not numbers, or have lo_i > hi_i.

    References
    ----------
    F. Facchinei, J.-S. Pang, Finite-Dimensional Variational Inequalities and Complementarity Problems (2003), section
    1.1.4 (box-constrained VI, MiCP).
    """

    F: Callable[[Vector], ArrayLike]
    jacobian: Callable[[Vector], Any] | None
    lo: Vector
    hi: Vector

    def __init__(
        self, F: Callable[[Vector], ArrayLike], jacobian: Callable[[Vector], Any] | None, lo: ArrayLike, hi: ArrayLike
    ) -> None:
        if not callable(F):
            raise ProblemError(f"F must be a function of z, got {F!r}")
        if jacobian is not None and not callable(jacobian):
            raise ProblemError(f"jacobian must be a function of z or None, got {jacobian!r}")
        sizes = [np.shape(bound)[0] for bound in (lo, hi) if np.ndim(bound) == 1]
        if not sizes:
            raise ProblemError("lo and hi are both numbers, which leaves n open; give one of them as a vector (n,)")
        low, high = checked_bounds(lo, hi, sizes[0])
        for name, value in (("F", F), ("jacobian", jacobian), ("lo", read_only(low)), ("hi", read_only(high))):
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return int(self.lo.shape[0])

    def value(self, z: Vector) -> Vector:
        """Return F(z), checked: raise `DomainError` if it is not defined, `ProblemError` if it is not a vector (n,)."""
        vector = checked_vector_nonfinite("F(z)", _called("F", self.F, z), self.n)
        if (i := first_true(~np.isfinite(vector))) is not None:
            raise DomainError(f"F(z)[{i}] = {vector[i]}")
        return vector

    def derivative(self, z: Vector, w: Vector) -> Any:
        """Return the Jacobian (n, n) at z with w = F(z); dense or CSR, checked as `value` is."""
        if self.jacobian is None:
            return self._differences(z, w)
        given = _called("jacobian", self.jacobian, z)
        entries = given.tocsr().data if hasattr(given, "tocsr") else np.asarray(given)
        if entries.dtype.kind == "f" and not np.isfinite(entries).all():
            raise DomainError("jacobian(z) has entries that are not finite")
        matrix = checked_square("jacobian(z)", given)
        if matrix.shape[0] != self.n:
            raise ProblemError(f"jacobian(z) must have shape ({self.n}, {self.n}), got {matrix.shape}")
        return matrix

    def linearised(self, z: ArrayLike, w: Vector | None = None, J: Any = None) -> BoxLCP:
        """Return the problem of w + J (x - z) in x; by default w and J are F and its Jacobian at z.

        If z is a solution, it also solves this problem. The results of `lcp.error_bound`, `lcp.sensitivity` and
        `lcp.all_solutions` for it are then true for the nonlinear problem to first order.
        """
        z = checked_vector("z", z, self.n)
        w = self.value(z) if w is None else w
        J = self.derivative(z, w) if J is None else J
        with np.errstate(over="ignore", invalid="ignore"):
            q = w - J @ z
        if not np.isfinite(q).all():
            raise DomainError("the linearisation is beyond double precision")
        return BoxLCP(J, q, self.lo, self.hi)

    def _differences(self, z: Vector, w: Vector) -> Vector:
        """Return differences to the side that is farther from its bound, or to the other if F is not defined there."""
        J = np.zeros((self.n, self.n))
        above, below = self.hi - z, z - self.lo
        for j in range(self.n):
            if self.lo[j] == self.hi[j]:
                continue
            size = _STEP * max(1.0, abs(float(z[j])))
            ways = [min(size, float(above[j])), -min(size, float(below[j]))]
            ways.sort(key=abs, reverse=True)
            for last, way in enumerate(ways):
                x = z.copy()
                x[j] += way
                try:
                    if x[j] != z[j]:
                        J[:, j] = (self.value(x) - w) / (x[j] - z[j])
                    break
                except DomainError:
                    if last:
                        raise
        return J

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n})"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class NCP(MCP):
    """Find z >= 0 with F(z) >= 0 and z . F(z) = 0: an `MCP` with lo = 0 and hi = inf.

    Parameters
    ----------
    F, jacobian
        As of `MCP`.
    n
        Number of unknowns.
    """

    def __init__(self, F: Callable[[Vector], ArrayLike], jacobian: Callable[[Vector], Any] | None, n: int) -> None:
        if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 0:
            raise ProblemError(f"n must be a whole number >= 0, got {n!r}")
        super().__init__(F, jacobian, np.zeros(int(n)), np.inf)


def _called(name: str, function: Callable[[Vector], Any], z: Vector) -> Any:
    try:
        with np.errstate(all="ignore"):
            # A copy, because the function may change its argument.
            return function(z.copy())
    except (ArithmeticError, ValueError) as error:
        raise DomainError(f"{name} raised {type(error).__name__}: {error}") from error

"""The linear complementarity problem: plain, mixed with free unknowns and equations, and with bounds on both sides."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import (
    Vector,
    checked_square,
    checked_vector,
    checked_vector_nonfinite,
    first_true,
    read_only,
    row_abs_max,
    shaped_matrix,
)
from lcp.status import ProblemError

_ARRAY, _DOUBLE = np.ndarray, np.dtype(np.float64)
# Kernels check data only if they are already imported: stating a problem does not import a compiler.
_loaded = sys.modules.get


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AffineRows:
    """Rows w = M z + q of a plain or boxed problem."""

    # Writable: a read-only array has another type, for which kernels would be compiled again.
    _M: Any = field(repr=False)
    _q: Vector = field(repr=False)

    @cached_property
    def M(self) -> Any:
        """The matrix, read-only."""
        return read_only(self._M)

    @cached_property
    def q(self) -> Vector:
        """The vector, read-only."""
        vector: Vector = read_only(self._q)
        return vector

    def _set_rows(self, M: Any, q: ArrayLike) -> None:
        """Copy and check the data, at construction."""
        matrix = checked_square("M", M)
        vector = checked_vector("q", q)
        if vector.shape[0] != matrix.shape[0]:
            raise ProblemError(f"q has length {vector.shape[0]} but M has shape {matrix.shape}")
        self.__dict__.update(_M=matrix, _q=vector)

    @cached_property
    def _row_size(self) -> Vector:
        """Return the largest |M_ij| of each row."""
        return row_abs_max(self._M)

    @property
    def n(self) -> int:
        """Number of complementary pairs."""
        return int(self._q.shape[0])

    @property
    def sparse(self) -> bool:
        """True if M is stored sparse."""
        return not isinstance(self._M, np.ndarray)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LCP(AffineRows):
    """Find z with w = M z + q, z >= 0, w >= 0 and z . w = 0.

    Parameters
    ----------
    M
        Matrix (n, n), dense or scipy.sparse. Copied; integer and float32 input become float64.
    q
        Vector (n,). Copied.
    q_uncertainty
        Error bound of each entry of q, (n,) and >= 0, if it is known: residuals below it do not count. None if every
        digit of q is exact.

    Raises
    ------
    ProblemError
        For a shape that does not fit, or an entry that is not a finite real number; the text names it.

    References
    ----------
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), definition 1.1.1.
    """

    _q_uncertainty: Vector | None = field(repr=False)

    def __init__(self, M: Any, q: ArrayLike, q_uncertainty: ArrayLike | None = None) -> None:
        # Arrays of the right form need few checks: accepting four unknowns takes as long as solving for them.
        if (
            q_uncertainty is None and type(M) is _ARRAY and type(q) is _ARRAY and M.dtype is _DOUBLE and q.dtype is
            _DOUBLE and q.ndim == 1 and M.shape == q.shape * 2
        ):  # fmt: skip
            matrix, vector = M.copy(), q.copy()
            # Another thread may be importing them, with only a part of their names defined.
            all_finite = getattr(_loaded("lcp.kernels.residuals"), "all_finite", None)
            if all_finite is not None and all_finite(matrix, vector):
                own = self.__dict__
                own["_M"], own["_q"], own["_q_uncertainty"] = matrix, vector, None
                return
        self._set_rows(M, q)
        known = None if q_uncertainty is None else checked_vector("q_uncertainty", q_uncertainty, self.n)
        if known is not None and (i := first_true(known < 0.0)) is not None:
            raise ProblemError(f"q_uncertainty[{i}] = {known[i]} is negative")
        object.__setattr__(self, "_q_uncertainty", known)

    @cached_property
    def q_uncertainty(self) -> Vector | None:
        """Errors of the entries of q, read-only; None if every digit is exact."""
        return None if self._q_uncertainty is None else read_only(self._q_uncertainty)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are built again: field by field, M and _M would be two arrays and the first of them writable.
        return type(self), (self._M, self._q, *(() if self._q_uncertainty is None else (self._q_uncertainty,)))

    def __repr__(self) -> str:
        return f"LCP(n={self.n}, {'sparse' if self.sparse else 'dense'})"


def lcp_from_checked(M: Vector, q: Vector) -> LCP:
    """Return an `LCP` of dense data that are already checked, and that no code changes."""
    problem = object.__new__(LCP)
    problem.__dict__.update(_M=M, _q=q, _q_uncertainty=None)
    return problem


def kernel_arrays(problem: LCP) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return M and q as dense, contiguous arrays of writable type; the kernels do not modify them."""
    matrix = np.ascontiguousarray(problem._M.toarray()) if problem.sparse else problem._M
    return matrix, problem._q


def csr_arrays(
    problem: Any,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return (indptr, indices, data) of the M of a problem, int64 and of writable type, for sparse kernels."""
    from scipy import sparse

    matrix = problem._M if problem.sparse else sparse.csr_matrix(problem._M)
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return indptr, indices, np.ascontiguousarray(matrix.data, dtype=np.float64)


def dense_bytes(problem: Any) -> int:
    """Return the memory that a dense M of this problem takes."""
    return 8 * int(problem.n) ** 2


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MLCP:
    """Find u, free, and y >= 0 with A u + X1 y + a = 0, w = X2 u + X3 y + x4 >= 0 and y . w = 0.

    Parameters
    ----------
    A, X1
        Matrices (n_free, n_free) and (n_free, n) of the equations. A may be singular.
    X2, X3
        Matrices (n, n_free) and (n, n) of the complementary rows.
    a, x4
        Vectors (n_free,) and (n,).

    Everything is copied; integers become float64, sparse blocks become dense.

    Raises
    ------
    ProblemError
        For a shape that does not fit, or an entry that is not a finite real number; the text names it.

    References
    ----------
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section 1.5 (1.5.3).
    """

    A: NDArray[np.float64]
    X1: NDArray[np.float64]
    X2: NDArray[np.float64]
    X3: NDArray[np.float64]
    a: NDArray[np.float64]
    x4: NDArray[np.float64]
    # [[A, X1], [X2, X3]] and [a; x4], of writable type for the kernels, which do not modify them; the six attributes
    # above are read-only views of them.
    _K: NDArray[np.float64] = field(repr=False)
    _k: NDArray[np.float64] = field(repr=False)

    def __init__(self, A: Any, X1: Any, X2: Any, X3: Any, a: ArrayLike, x4: ArrayLike) -> None:
        a_vector = checked_vector("a", a)
        x4_vector = checked_vector("x4", x4)
        m, n = a_vector.shape[0], x4_vector.shape[0]
        K = np.empty((m + n, m + n))
        K[:m, :m] = shaped_matrix("A", A, (m, m))
        K[:m, m:] = shaped_matrix("X1", X1, (m, n))
        K[m:, :m] = shaped_matrix("X2", X2, (n, m))
        K[m:, m:] = shaped_matrix("X3", X3, (n, n))
        k = np.concatenate([a_vector, x4_vector])
        for name, value in (
            ("A", K[:m, :m]),
            ("X1", K[:m, m:]),
            ("X2", K[m:, :m]),
            ("X3", K[m:, m:]),
            ("a", k[:m]),
            ("x4", k[m:]),
        ):
            object.__setattr__(self, name, read_only(value))
        object.__setattr__(self, "_K", K)
        object.__setattr__(self, "_k", k)

    @property
    def n_free(self) -> int:
        """Number of free unknowns and equations."""
        return int(self.a.shape[0])

    @property
    def n(self) -> int:
        """Number of complementary pairs."""
        return int(self.x4.shape[0])

    def __reduce__(self) -> tuple[Any, ...]:
        # As in `LCP`: copies are built again.
        return type(self), (self.A, self.X1, self.X2, self.X3, self.a, self.x4)

    def __repr__(self) -> str:
        return f"MLCP(n_free={self.n_free}, n={self.n})"


def stacked(problem: LCP | MLCP) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return matrix, vector and number of free unknowns (which come first) of either kind of problem."""
    if isinstance(problem, MLCP):
        return problem._K, problem._k, problem.n_free
    K, k = kernel_arrays(problem)
    return K, k, 0


@dataclass(frozen=True, init=False, eq=False, repr=False)
class BoxLCP(AffineRows):
    """Find z with lo <= z <= hi and, for w = M z + q: w_i >= 0 at lo_i, w_i <= 0 at hi_i, w_i = 0 between them.

    Parameters
    ----------
    M
        Matrix (n, n), dense or scipy.sparse. Copied.
    q
        Vector (n,). Copied.
    lo, hi
        Bounds (n,), or one number for all; -inf and inf mean none. If lo_i = hi_i, z_i is given and w_i arbitrary.

    Raises
    ------
    ProblemError
        For a shape that does not fit, an entry that is not a finite real number, or lo_i > hi_i.

    References
    ----------
    S. P. Dirkse, M. C. Ferris, The PATH solver, Optimization Methods and Software 5 (1995).
    """

    lo: Vector
    hi: Vector

    def __init__(self, M: Any, q: ArrayLike, lo: ArrayLike, hi: ArrayLike) -> None:
        self._set_rows(M, q)
        low, high = checked_bounds(lo, hi, self.n)
        object.__setattr__(self, "lo", read_only(low))
        object.__setattr__(self, "hi", read_only(high))

    def __reduce__(self) -> tuple[Any, ...]:
        # As in `LCP`: copies are built again.
        return type(self), (self._M, self._q, self.lo, self.hi)

    def __repr__(self) -> str:
        return f"BoxLCP(n={self.n})"


def checked_bounds(lo: ArrayLike, hi: ArrayLike, n: int) -> tuple[Vector, Vector]:
    """Return both bounds as vectors (n,); a `ProblemError` names an invalid bound, or an entry with lo > hi."""
    low, high = _bound("lo", lo, n), _bound("hi", hi, n)
    for name, bound, wrong in (("lo", low, np.inf), ("hi", high, -np.inf)):
        if (i := first_true(np.isnan(bound) | (bound == wrong))) is not None:
            raise ProblemError(f"{name}[{i}] = {bound[i]} bounds nothing")
    if (i := first_true(low > high)) is not None:
        raise ProblemError(f"lo[{i}] = {low[i]} exceeds hi[{i}] = {high[i]}")
    return low, high


def _bound(name: str, value: ArrayLike, n: int) -> NDArray[np.float64]:
    if value is None:
        raise ProblemError(f"{name} is None; use {'-inf' if name == 'lo' else 'inf'} for none")
    if not isinstance(value, (list, tuple)) and np.ndim(value) == 0:
        value = np.full(n, value)
    return checked_vector_nonfinite(name, value, n)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CoupledBoxLCP(AffineRows):
    """`BoxLCP` in which some bounds are -mu_i z_j and mu_i z_j, with j = findex_i.

    The coupling is part of the problem: engines that fix the bounds at a previous z_j, or sweep, solve another problem.

    Parameters
    ----------
    M, q
        As of `BoxLCP`.
    lo, hi
        Bounds (n,) of the rows that are not coupled, or one number for all; the bounds of coupled rows are not read.
    findex
        Whole numbers (n,): the row whose unknown bounds this one, or -1. That row must not be coupled and needs lo >=
        0; otherwise the problem is not a linear complementarity problem, and is refused.
    mu
        Factors (n,) >= 0, or one number; the factors of rows that are not coupled are not read.

    Raises
    ------
    ProblemError
        For a shape or value that does not fit, naming the row.

    References
    ----------
    R. Smith, Open Dynamics Engine user guide (2006), "contact" (the bounds lo, hi and findex of a row).
    """

    lo: Vector
    hi: Vector
    findex: NDArray[np.int64]
    mu: Vector

    def __init__(self, M: Any, q: ArrayLike, lo: ArrayLike, hi: ArrayLike, findex: ArrayLike, mu: ArrayLike) -> None:
        self._set_rows(M, q)
        n = self.n
        source = np.asarray(findex)
        if source.shape != (n,) or not (source.dtype.kind in "iu" or n == 0):
            raise ProblemError(f"findex must be whole numbers of shape ({n},), got {source.dtype} {source.shape}")
        source = source.astype(np.int64)
        coupled = source != -1
        factors = checked_vector("mu", np.full(n, mu) if np.ndim(mu) == 0 else mu, n)
        low, high = (np.array(np.broadcast_to(np.asarray(b, dtype=np.float64), (n,))) if np.ndim(b) == 0 else
                     np.array(b, dtype=np.float64) for b in (lo, hi))  # fmt: skip
        if low.shape == high.shape == (n,):
            low[coupled], high[coupled] = 0.0, np.inf
        low, high = checked_bounds(low, high, n)
        for i in np.flatnonzero(coupled):
            j = int(source[i])
            if not 0 <= j < n or coupled[j]:
                what = "is coupled itself" if 0 <= j < n else "is no row"
                raise ProblemError(f"findex[{i}] = {j} {what}")
            if not low[j] >= 0.0:
                raise ProblemError(f"findex[{i}] = {j}, where lo = {low[j]}: bounds -mu |z| and mu |z| are not linear")
            if not factors[i] >= 0.0:
                raise ProblemError(f"mu[{i}] = {factors[i]} is negative")
        for name, value in (("lo", low), ("hi", high), ("findex", source), ("mu", factors)):
            object.__setattr__(self, name, read_only(value))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._M, self._q, self.lo, self.hi, self.findex, self.mu)

    def __repr__(self) -> str:
        return f"CoupledBoxLCP(n={self.n}, coupled={int((self.findex >= 0).sum())})"

    def with_bounds_at(self, z: Vector) -> BoxLCP:
        """Return the problem with the bounds that z sets: z solves it exactly if it solves the coupled one."""
        coupled = np.flatnonzero(self.findex >= 0)
        lo, hi = self.lo.copy(), self.hi.copy()
        hi[coupled] = self.mu[coupled] * np.maximum(z[self.findex[coupled]], 0.0)
        lo[coupled] = -hi[coupled]
        return BoxLCP(self._M, self._q, lo, hi)


def bounds_of(problem: LCP | MLCP | BoxLCP) -> tuple[Vector, Vector]:
    """Return the bounds of z: 0 and infinity for an `LCP`; for an `MLCP` the bounds of (u, y), u being free."""
    if isinstance(problem, BoxLCP):
        return problem.lo, problem.hi
    if isinstance(problem, MLCP):
        return np.repeat([-np.inf, 0.0], [problem.n_free, problem.n]), np.full(problem.n_free + problem.n, np.inf)
    return np.zeros(problem.n), np.full(problem.n, np.inf)

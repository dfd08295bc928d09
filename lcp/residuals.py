"""Residuals of a vector in a plain, mixed or boxed problem: the only module that decides on "solved".

The decision uses the original data and the backward error; compiled steps accept by measures in their units. If a solve
is compiled as a whole, the same kernels measure, and `lcp.kernels.backward_error.verdict` replaces
`lcp.claims.status_of`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector, checked_vector, largest, row_abs_max
from lcp.nonlinear.problem import MCP
from lcp.problem import LCP, MLCP, BoxLCP, CoupledBoxLCP, bounds_of
from lcp.status import ProblemError

DEFAULT_TOLERANCE = 1e-9
Problem = LCP | MLCP | BoxLCP
_NO_NOISE = np.zeros(0)
Judged = Problem | CoupledBoxLCP


@dataclass(frozen=True, slots=True)
class Residuals:
    """Measures of z as a solution of LCP(M, q), with w = M z + q.

    For an `MLCP` z is y, w = X2 u + X3 y + x4, and the equations have separate measures. For a `BoxLCP` the two-sided
    measures use the median of z - lo, w and z - hi in place of min(z, w).

    For a `CoupledBoxLCP` the bounds are the ones that z sets. For an `MCP` w = F(z) in the two-sided measures, and the
    backward error is the error of the problem linearised at z.

    Attributes
    ----------
    backward_error
        The measure that decides: the smallest relative change of M, q (beyond its ``q_uncertainty``) and bounds for
        which z, with negligible entries at their bounds, is exact. It does not depend on units of rows or unknowns.
        With s = |M| |z| + |q| it is the largest min(|w_i| / s_i, max_k |M_ki z_i| / s_k) of a pair; see
        ``docs/theory/certificates.md``.
    natural_map
        max_i |min(z_i, w_i)|.
    scaled
        The same with z_i measured against the largest |z_j| and w_i against |q_i| + max_j |M_ij| max_j |z_j|.
    fischer_burmeister
        max_i |z_i + w_i - sqrt(z_i^2 + w_i^2)|.
    min_z, min_w
        Smallest entries (boxed: ``min_z`` is the smallest distance to a bound, negative outside).
    gap
        |z . w| (boxed: sum of |w_i| times the distance to the bound that admits its sign, or 1 if there is none).
    equations
        max |A u + X1 y + a|; 0 if there are no equations.
    equations_scaled
        The same with row i in units of |a_i| + max_j |A_ij| max_j |u_j| + max_j |X1_ij| max_j |y_j|.
    """

    natural_map: float
    scaled: float
    fischer_burmeister: float
    min_z: float
    min_w: float
    gap: float
    backward_error: float
    equations: float = 0.0
    equations_scaled: float = 0.0

    def solved(self, tolerance: float = DEFAULT_TOLERANCE) -> bool:
        """Return True if the backward error is within the tolerance."""
        return self.backward_error <= tolerance

    @property
    def finite(self) -> bool:
        """Return True if the natural map and the equations are finite."""
        return bool(np.isfinite(self.natural_map) and np.isfinite(self.equations))

    def text(self, tolerance: float) -> str:
        """Return the measures beside the bound; equations only if there are any."""
        text = (
            f"backward error {self.backward_error:.1e} (bound {tolerance:.0e}), scaled residual {self.scaled:.1e}, "
            f"natural map {self.natural_map:.1e}"
        )
        if self.equations == 0.0:
            return text
        return f"{text}, equations {self.equations:.1e} (scaled {self.equations_scaled:.1e})"

    @property
    def short_text(self) -> str:
        """Return the backward error and the natural map as text."""
        return f"backward_error={self.backward_error:.1e}, natural_map={self.natural_map:.1e}"


#: Measures of a vector without finite ones.
NOT_FINITE = Residuals(np.inf, np.inf, np.inf, -np.inf, -np.inf, np.inf, np.inf)


def residuals(problem: Judged | MCP, z: ArrayLike, u: ArrayLike | None = None) -> Residuals:
    """Measure a candidate on the data of ``problem``.

    Parameters
    ----------
    problem
        An `LCP`, `BoxLCP`, `MLCP`, or `NCP` or `MCP`.
    z
        The candidate (n,); the y of an `MLCP`.
    u
        The free unknowns (n_free,) of an `MLCP`, and of nothing else.

    Raises
    ------
    ProblemError
        If a vector has another length than the problem or is not finite, or u is missing or out of place.
    DomainError
        If the function of a nonlinear problem is not defined at z.
    """
    if isinstance(problem, MLCP):
        if u is None:
            raise ProblemError("an MLCP is measured at y and u: write residuals(problem, y, u)")
        free = checked_vector("u", u, problem.n_free)
        return measure(problem, np.concatenate([free, checked_vector("y", z, problem.n)]))[0]
    if u is not None:
        raise ProblemError(f"u belongs to an MLCP; the problem is {problem!r}")
    x = checked_vector("z", z, problem.n)
    if isinstance(problem, MCP):
        w = problem.value(x)
        return measure_nonlinear(problem, x, w, problem.derivative(x, w))
    return measure(problem, x)[0]


def measure_nonlinear(problem: MCP, z: Vector, w: Vector, J: Any) -> Residuals:
    """Return the measures of z, with w = F(z) and its Jacobian J."""
    return _measure_box(problem.linearised(z, w, J), z, w)[0]


def measure(problem: Judged, z: NDArray[np.float64]) -> tuple[Residuals, NDArray[np.float64]]:
    """Return the measures of a checked z, of an `MLCP` (u, y) in one vector, and w."""
    if not isinstance(problem, LCP):
        if isinstance(problem, MLCP):
            return _measure_mixed(problem, z)
        if isinstance(problem, CoupledBoxLCP):
            # A z that is not finite sets no bounds; it is measured, as infinite, with the bounds of zero.
            return _measure_box(problem.with_bounds_at(z if np.isfinite(z).all() else np.zeros_like(z)), z)
        return _measure_box(problem, z)
    if problem.sparse:
        return _measure_box(problem, z)
    k, n = _kernel(), z.shape[0]
    w, work = np.empty(n), np.empty(k.SIZE + k.WORK * n)
    k.lcp_measures(
        problem._M, problem._q, _NO_NOISE if problem._q_uncertainty is None else problem._q_uncertainty, z, w, work
    )
    return Residuals(*work[: k.BACKWARD_ERROR + 1].tolist()), w


@functools.cache
def _kernel() -> ModuleType:
    """Return the kernel's module, imported on first use (an import statement at every solve costs a microsecond)."""
    from lcp.kernels import backward_error as measures

    return measures


def backward_error(problem: Problem, z: NDArray[np.float64]) -> float:
    """Return the backward error of a z of the right length, of an `MLCP` (u, y) in one vector."""
    lo, hi = bounds_of(problem)
    q, size = (problem._k if isinstance(problem, MLCP) else problem._q), z.shape[0]
    noise = getattr(problem, "_q_uncertainty", None)
    noise = np.zeros(size) if noise is None else noise
    if not isinstance(problem, MLCP) and problem.sparse:
        return sparse_backward_error(problem._M, q, noise, lo, hi, z)
    from lcp.kernels.backward_error import backward_error as kernel

    # Writable copies: read-only arrays have another type for the kernels.
    M = problem._K if isinstance(problem, MLCP) else problem._M
    return float(kernel(M, q, noise, lo.copy(), hi.copy(), z.copy(), np.empty(size), np.empty(4 * size)))


def verified(problem: Problem, z: NDArray[np.float64], tolerance: float) -> bool:
    """Return True if z is finite and a solution, for solvers that check their candidates."""
    return bool(np.isfinite(z).all()) and measure(problem, z)[0].solved(tolerance)


def _relative(x: NDArray[np.float64], unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x / unit, and zero if the unit, which bounds x, is zero."""
    return np.divide(x, unit, out=np.zeros_like(x), where=unit > 0.0)


def _measure_mixed(problem: MLCP, x: NDArray[np.float64]) -> tuple[Residuals, NDArray[np.float64]]:
    """Return the measures of (u, y), row by row as for an LCP; the terms of a row in u and in y have separate units."""
    m = problem.n_free
    u, y = x[:m], x[m:]
    with np.errstate(invalid="ignore", over="ignore"):
        rows = problem._K @ x + problem._k
    w = rows[m:].copy()
    if not (np.isfinite(rows).all() and np.isfinite(x).all()):
        return replace(NOT_FINITE, equations=np.inf, equations_scaled=np.inf), w
    unit = np.abs(problem._k) + row_abs_max(problem._K[:, :m]) * largest(u)
    unit += row_abs_max(problem._K[:, m:]) * largest(y)
    zero, none = np.zeros(y.shape[0]), np.full(y.shape[0], np.inf)
    measures = _measures(zero, none, y, w, unit[m:], backward_error(problem, x), boxed=False)
    part = _relative(rows[:m], unit[:m])
    return replace(measures, equations=largest(rows[:m]), equations_scaled=largest(part)), w


def _measure_box(problem: LCP | BoxLCP, z: Vector, w: Vector | None = None) -> tuple[Residuals, Vector]:
    """Return the two-sided measures of z and w, which is M z + q unless given; a sparse M stays sparse."""
    with np.errstate(invalid="ignore", over="ignore"):
        if w is None:
            w = np.asarray(problem._M @ z + problem._q)
        unit = np.abs(problem._q) + problem._row_size * largest(z)
    if not (np.isfinite(w).all() and np.isfinite(z).all()):
        return NOT_FINITE, w
    boxed = isinstance(problem, BoxLCP)
    return _measures(*bounds_of(problem), z, w, unit, backward_error(problem, z), boxed=boxed), w


def _measures(lo: Vector, hi: Vector, z: Vector, w: Vector, unit: Vector, error: float, *, boxed: bool) -> Residuals:
    """Return the measures of finite z and w: z - mid(lo, hi, z - w) in place of min(z, w).

    ``unit`` (n,) is the size of the terms of each row, ``error`` the backward error; ``boxed`` selects the gap.
    """
    above, below = z - lo, z - hi
    # If z is zero it has no size; the distance to its nearest bound is then the unit.
    nearest = np.minimum(np.abs(above), np.abs(below))
    z_unit = np.maximum(largest(z), np.where(np.isfinite(nearest), nearest, 0.0))
    safe = np.where(z_unit > 0.0, z_unit, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        if boxed:
            room = np.where(w > 0.0, np.abs(above), np.abs(below))
            products = np.where(w == 0.0, 0.0, np.abs(w) * np.where(np.isfinite(room), room, 1.0))
            gap = float(products.sum())
        else:
            gap = abs(float(z @ w))
    return Residuals(
        natural_map=largest(_middle(above, w, below)),
        scaled=largest(_middle(above / safe, _relative(w, unit), below / safe)),
        fischer_burmeister=largest(_fischer(above, -_fischer(-below, -w))),
        min_z=float(np.minimum(above, -below).min()) if z.size else 0.0,
        min_w=float(w.min()) if w.size else 0.0,
        gap=gap,
        backward_error=error,
    )


def _middle(low: NDArray[np.float64], w: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of three numbers, given low >= high."""
    return np.maximum(high, np.minimum(low, w))


def _fischer(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a + b - sqrt(a^2 + b^2), which tends to b as a grows without bound."""
    finite = np.isfinite(a)
    safe = np.where(finite, a, 1.0)
    return np.where(finite, safe + b - np.hypot(safe, b), b)


def sparse_backward_error(M: Any, q: Vector, noise: Vector, lo: Vector, hi: Vector, z: Vector) -> float:
    """Return the backward error of `lcp.kernels.backward_error` for M in CSR: the same rules, entry by entry."""
    from lcp.kernels.backward_error import TINY

    if not z.shape[0]:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        measured = _RowSums.of(M, q, noise, lo, hi, z)
        if not (np.isfinite(measured.w).all() and np.isfinite(measured.terms).all()):
            return float(np.inf)
        error = measured.error(noise, lo, hi, z)
        kept, dropped = measured.without_dust(lo, hi, z) if error > TINY else (z, -1.0)
        if dropped < 0.0:
            return error
        return min(error, max(dropped, _RowSums.of(M, q, noise, lo, hi, kept).error(noise, lo, hi, kept)))


@dataclass(frozen=True, eq=False)
class _RowSums:
    """Rows at z: w, their terms and loads; and the nonzero products with z."""

    M: Any
    w: Vector
    terms: Vector
    loads: Vector
    #: row, column, size: indices and |M_ij z_j| of the entries that are not zero.
    row: NDArray[np.intp]
    column: NDArray[np.intp]
    size: Vector

    @classmethod
    def of(cls, M: Any, q: Vector, noise: Vector, lo: Vector, hi: Vector, z: Vector) -> _RowSums:
        """Compute the sums of all rows, with w in doubled precision where cancellation matters."""
        from lcp.kernels.backward_error import SIGNIFICANT_FRACTION
        from lcp.kernels.reductions import EPS, sum_twice

        magnitude = abs(M)
        terms = magnitude @ np.abs(z) + np.abs(q)
        loads = np.where(np.abs(q) > noise, np.abs(q), 0.0)
        loads += magnitude @ np.where((z == lo) | (z == hi), np.abs(z), 0.0)
        w = np.asarray(M @ z + q)
        for k in np.flatnonzero((loads > 0.0) & (np.diff(M.indptr) * EPS * terms > SIGNIFICANT_FRACTION * loads)):
            entries = slice(M.indptr[k], M.indptr[k + 1])
            w[k] = sum_twice(M.data[entries], np.ascontiguousarray(z[M.indices[entries]]), float(q[k]))
        row, column = np.repeat(np.arange(q.shape[0]), np.diff(M.indptr)), M.indices
        size = np.abs(M.data * z[column])
        met = size > 0.0
        return cls(M, w, terms, loads, row[met], column[met], size[met])

    def error(self, noise: Vector, lo: Vector, hi: Vector, z: Vector) -> float:
        """Return the backward error of the present z."""
        from lcp.kernels.backward_error import EXCUSABLE, LOADLESS, ROUNDED, reach

        w, terms, loads = self.w, self.terms, self.loads
        miss = np.maximum(np.abs(w) - noise, 0.0)
        part = np.divide(miss, terms, out=np.zeros_like(miss), where=miss > 0.0)
        run_away = ~self._all_determined()
        spoilt = (loads > 0.0) & (miss > EXCUSABLE * loads) & (run_away | (part > ROUNDED))
        part[spoilt] = np.maximum(part[spoilt], miss[spoilt] / loads[spoilt])
        part[(loads == 0.0) & run_away] *= LOADLESS
        above, below = z - lo, z - hi
        # An unknown at the bound that agrees with the sign of its row has no error.
        part[((above == 0.0) & (w > 0.0)) | ((below == 0.0) & (w < 0.0))] = 0.0
        columns = None
        worst = 0.0
        # In descending order: most later ones cannot be worse than the largest error so far.
        for i in np.argsort(-np.where((above < 0.0) | (below > 0.0), np.inf, part)):
            if part[i] <= worst and above[i] >= 0.0 and below[i] <= 0.0:
                break
            columns = self.M.tocsc() if columns is None else columns
            place = slice(columns.indptr[i], columns.indptr[i + 1])
            rows = columns.indices[place]
            column = np.ascontiguousarray(columns.data[place])[:, None]
            low, high = (
                reach(column, 0, *pair, noise[rows], terms[rows], loads[rows], np.inf)
                for pair in ((above[i], lo[i], hi[i] - lo[i]), (below[i], hi[i], hi[i] - lo[i]))
            )
            worst = max(worst, abs(max(high, min(low, np.copysign(part[i], w[i])))))
        return float(worst)

    def _all_determined(self) -> NDArray[np.bool_]:
        """Return the rows in which every significant unknown has a size determined by loads."""
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        from lcp.kernels.backward_error import SIGNIFICANT_FRACTION

        significant = self.size > SIGNIFICANT_FRACTION * self.terms[self.row]
        row, column = self.row[significant], self.column[significant]
        n = self.w.shape[0]
        # Rows and unknowns are joined if one is significant in the other: a load reaches all connected ones.
        joined = sparse.coo_array((np.ones(row.shape[0]), (row, n + column)), shape=(2 * n, 2 * n))
        part = connected_components(joined, directed=False)[1]
        reached = np.zeros(2 * n, dtype=bool)
        reached[part[:n][self.loads > SIGNIFICANT_FRACTION * self.terms]] = True
        whole = np.ones(n, dtype=bool)
        whole[row[~reached[part[n + column]]]] = False
        return whole

    def without_dust(self, lo: Vector, hi: Vector, z: Vector) -> tuple[Vector, float]:
        """Return z with negligible entries set to zero, and the largest fraction of a row's terms among them, or -1.

        The rule is the one of `lcp.kernels.backward_error.drop_dust`. An entry is kept if zero is out of its bounds.
        """
        from lcp.kernels.backward_error import DUST, EXCUSABLE

        load = self.loads[self.row]
        limit = np.minimum(DUST * self.terms[self.row], np.where(load > 0.0, EXCUSABLE * load, np.inf))
        small = self.size <= limit
        dust = np.zeros(z.shape[0], dtype=bool)
        dust[self.column[small]] = True
        dust &= (lo <= 0.0) & (hi >= 0.0)
        while True:
            full = self.loads > 0.0
            full[self.row[~dust[self.column]]] = True
            kept = dust.copy()
            kept[self.column[~small & full[self.row]]] = False
            if (kept == dust).all():
                parts = (self.size / self.terms[self.row])[dust[self.column] & full[self.row]]
                return np.where(dust, 0.0, z), float(parts.max(initial=-1.0))
            dust = kept

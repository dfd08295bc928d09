"""How well a vector solves a problem, plain, mixed or boxed: the one place where "solved" is decided.

Always on the original data; the kernel that measures a plain LCP also judges inside the compiled loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.box import BoxLCP
from lcp.errors import ProblemError
from lcp.mixed import MLCP
from lcp.problem import LCP, checked_vector, kernel_arrays, row_sizes

DEFAULT_TOLERANCE = 1e-9
Problem = LCP | MLCP | BoxLCP
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
# Rounding may excuse a residual up to this fraction of the load: terms that cancel to less prove nothing.
_EXCUSABLE = 1e-6


@dataclass(frozen=True, slots=True)
class Residuals:
    """Measures of z as a solution of LCP(M, q), with w = M z + q.

    For an `MLCP` z is y, w = X2 u + X3 y + x4, and the equations are measured beside them. For a `BoxLCP` the two-sided
    measures take the middle one of z - lo, w and z - hi in place of min(z, w).

    Attributes
    ----------
    natural_map
        max_i |min(z_i, w_i)|.
    scaled
        The same with z_i measured against the largest |z_j| and w_i against |q_i| + max_j |M_ij| max_j |z_j|.
    fischer_burmeister
        max_i |z_i + w_i - sqrt(z_i^2 + w_i^2)|.
    min_z, min_w
        Smallest entries (boxed: ``min_z`` is the smallest distance to a bound, negative outside).
    gap
        |z . w| (boxed: sum of |w_i| times the distance to the bound that admits its sign, or 1 where there is none).
    natural_limit
        What ``natural_map`` must not exceed: max(1e-8 max(1, |q|), 64 eps max|M| max|z|), the second term being at
        most 1e-6 |q_i| (of an `MLCP` |a_i|, |x4_i|) of every row i that misses the first: unknowns so large that the
        load of a row drowns in their rounding solve nothing.
    rounding_decided
        Whether only the second, rounding, term of that limit admits this natural map.
    equations
        max |A u + X1 y + a|; 0 where there are no equations.
    equations_scaled
        The same with row i in units of |a_i| + max_j |A_ij| max_j |u_j| + max_j |X1_ij| max_j |y_j|.
    equations_limit
        What ``equations`` must not exceed, formed as ``natural_limit``.
    """

    natural_map: float
    scaled: float
    fischer_burmeister: float
    min_z: float
    min_w: float
    gap: float
    natural_limit: float
    rounding_decided: bool
    equations: float = 0.0
    equations_scaled: float = 0.0
    equations_limit: float = 1e-8

    def solved(self, tolerance: float = DEFAULT_TOLERANCE) -> bool:
        """Whether these measures make a solution: every scaled one <= tolerance, every other <= its limit."""
        pairs = self.scaled <= tolerance and self.natural_map <= self.natural_limit
        return pairs and self.equations_scaled <= tolerance and self.equations <= self.equations_limit

    def equations_text(self) -> str:
        """A few words on the equations, empty where there are none to speak of."""
        if self.equations == 0.0:
            return ""
        return f", equations {self.equations:.1e} (scaled {self.equations_scaled:.1e})"


def residuals(problem: Problem, z: ArrayLike, u: ArrayLike | None = None) -> Residuals:
    """Measure a candidate on the data of ``problem``.

    Parameters
    ----------
    problem
        An `LCP`, `BoxLCP` or `MLCP`.
    z
        The candidate (n,); the y of an `MLCP`.
    u
        The free unknowns (n_free,) of an `MLCP`, and of nothing else.

    Raises
    ------
    ProblemError
        If a vector has another length than the problem or is not finite, or u is missing or out of place.
    """
    if isinstance(problem, MLCP):
        if u is None:
            raise ProblemError("an MLCP is measured at y and u: write residuals(problem, y, u)")
        free = checked_vector("u", u, problem.n_free)
        return measure(problem, np.concatenate([free, checked_vector("y", z, problem.n)]))[0]
    if u is not None:
        raise ProblemError(f"u belongs to an MLCP; the problem is {problem!r}")
    return measure(problem, checked_vector("z", z, problem.n))[0]


def measure(problem: Problem, z: NDArray[np.float64]) -> tuple[Residuals, NDArray[np.float64]]:
    """The measures of a checked z, of an `MLCP` (u, y) in one vector, and w."""
    if isinstance(problem, MLCP):
        return _measure_mixed(problem, z)
    if isinstance(problem, BoxLCP):
        return _measure_box(problem, z)
    if problem.sparse:
        return _measure_sparse(problem, z)
    from lcp.kernels.residuals import SIZE, lcp_residuals

    matrix, q = kernel_arrays(problem)
    w = np.empty(problem.n)
    out = np.empty(SIZE)
    lcp_residuals(matrix, q, z, w, out)
    a, b, c, d, e, f, g, h = out.tolist()
    return Residuals(a, b, c, d, e, f, g, bool(h)), w


def verified(problem: Problem, z: NDArray[np.float64], tolerance: float) -> bool:
    """Whether z is finite and solves, for solvers that shift or guess and judge their own candidates."""
    return bool(np.isfinite(z).all()) and measure(problem, z)[0].solved(tolerance)


def _largest(x: NDArray[np.float64]) -> float:
    return float(np.abs(x).max(initial=0.0))


def _limit(
    part: NDArray[np.float64],
    by_row: NDArray[np.bool_],
    load: NDArray[np.float64],
    solution_limit: float,
    rounding_limit: float,
) -> float:
    """What the natural map may reach: rounding excuses more, but not that a row misses a load of its own.

    ``part`` are the entries of the natural map, ``by_row`` those that a row (and not an unknown) gives, ``load`` the
    constants of the rows. A row without constant, as those of a friction cone, has no load to drown.
    """
    loaded = by_row & (np.abs(part) > solution_limit) & (load != 0.0)
    cap = _EXCUSABLE * float(np.abs(load[loaded]).min()) if loaded.any() else np.inf
    return max(solution_limit, min(rounding_limit, cap))


def _settled(
    M: Any,
    q: NDArray[np.float64],
    z: NDArray[np.float64],
    w: NDArray[np.float64],
    size: NDArray[np.float64],
    limit: float,
) -> NDArray[np.float64]:
    """w = M z + q with the rows whose rounding could decide summed in twice the precision, as the kernel does.

    ``size`` holds the largest |M_ij| of each row times the largest |z_j|, ``limit`` what a row may miss.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.flatnonzero(z.shape[0] * np.finfo(np.float64).eps * size > limit)
    if rows.shape[0] == 0 or not np.isfinite(w).all():
        return w
    from lcp.kernels.accurate_residual import sum_twice

    w = w.copy()
    for i in rows:
        if isinstance(M, np.ndarray):
            w[i] = sum_twice(np.ascontiguousarray(M[i]), z, float(q[i]))
        else:
            entries = slice(M.indptr[i], M.indptr[i + 1])
            w[i] = sum_twice(M.data[entries], np.ascontiguousarray(z[M.indices[entries]]), float(q[i]))
    return w


def _relative(x: NDArray[np.float64], unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """x / unit, and zero where the unit, which bounds x, is zero."""
    return np.divide(x, unit, out=np.zeros_like(x), where=unit > 0.0)


def _measure_mixed(problem: MLCP, x: NDArray[np.float64]) -> tuple[Residuals, NDArray[np.float64]]:
    """The measures of (u, y), row by row as for an LCP, each row's terms in u and in y having a unit of their own."""
    m = problem.n_free
    u, y = x[:m], x[m:]
    with np.errstate(invalid="ignore", over="ignore"):
        rows = problem._K @ x + problem._k
    w = rows[m:].copy()
    if not (np.isfinite(rows).all() and np.isfinite(x).all()):
        bad = np.inf
        return Residuals(bad, bad, bad, -bad, -bad, bad, 1e-8, False, bad, bad, 1e-8), w
    u_size, y_size = _largest(u), _largest(y)
    in_u, in_y = row_sizes(problem._K[:, :m]) * u_size, row_sizes(problem._K[:, m:]) * y_size
    solution_limit = 1e-8 * max(1.0, _largest(problem.x4))
    equation_limit = 1e-8 * max(1.0, _largest(problem.a))
    rows = _settled(problem._K, problem._k, x, rows, np.maximum(in_u, in_y), min(solution_limit, equation_limit))
    w = rows[m:].copy()
    part = _relative(rows, np.abs(problem._k) + in_u + in_y)
    y_part = y / y_size if y_size > 0.0 else np.zeros_like(y)
    lesser = np.minimum(y, w)
    natural = _largest(lesser)
    rounding_limit = _ROUNDING * max(_largest(in_u[m:]), _largest(in_y[m:]))
    equation_rounding = _ROUNDING * max(_largest(in_u[:m]), _largest(in_y[:m]))
    natural_limit = _limit(lesser, w <= y, problem.x4, solution_limit, rounding_limit)
    found = Residuals(
        natural_map=natural,
        scaled=_largest(np.minimum(y_part, part[m:])),
        fischer_burmeister=_largest(y + w - np.hypot(y, w)),
        min_z=float(y.min()) if y.size else 0.0,
        min_w=float(w.min()) if w.size else 0.0,
        gap=abs(float(y @ w)),
        natural_limit=natural_limit,
        rounding_decided=solution_limit < natural <= natural_limit,
        equations=_largest(rows[:m]),
        equations_scaled=_largest(part[:m]),
        equations_limit=_limit(rows[:m], np.ones(m, dtype=bool), problem.a, equation_limit, equation_rounding),
    )
    return found, w


def _middle(low: NDArray[np.float64], w: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The middle one of three, given low >= high."""
    return np.maximum(high, np.minimum(low, w))


def _measure_box(problem: BoxLCP, z: NDArray[np.float64]) -> tuple[Residuals, NDArray[np.float64]]:
    """The two-sided measures: z - mid(lo, hi, z - w) in place of min(z, w)."""
    with np.errstate(invalid="ignore", over="ignore"):
        w: NDArray[np.float64] = np.asarray(problem._M @ z + problem._q)
    if not (np.isfinite(w).all() and np.isfinite(z).all()):
        bad = np.inf
        return Residuals(bad, bad, bad, -bad, -bad, bad, 1e-8, False), w
    above, below = z - problem.lo, z - problem.hi
    z_size = _largest(z)
    row_size = problem._row_size
    solution_limit = 1e-8 * max(1.0, _largest(problem._q))
    w = _settled(problem._M, problem._q, z, w, row_size * z_size, solution_limit)
    # A z of nothing but zeros has no size: the way to its nearest bound then is the unit.
    nearest = np.minimum(np.abs(above), np.abs(below))
    z_unit = np.maximum(z_size, np.where(np.isfinite(nearest), nearest, 0.0))
    safe = np.where(z_unit > 0.0, z_unit, 1.0)
    w_part = _relative(w, np.abs(problem._q) + row_size * z_size)
    middle = _middle(above, w, below)
    natural = _largest(middle)
    room = np.where(w > 0.0, np.abs(above), np.abs(below))
    products = np.where(w == 0.0, 0.0, np.abs(w) * np.where(np.isfinite(room), room, 1.0))
    rounding_limit = _ROUNDING * _largest(row_size) * z_size
    natural_limit = _limit(middle, middle == w, problem._q, solution_limit, rounding_limit)
    fischer = _fischer(above, _fischer(-below, -w) * -1.0)
    found = Residuals(
        natural_map=natural,
        scaled=_largest(_middle(above / safe, w_part, below / safe)),
        fischer_burmeister=_largest(fischer),
        min_z=float(np.minimum(above, -below).min()) if z.size else 0.0,
        min_w=float(w.min()) if w.size else 0.0,
        gap=float(products.sum()),
        natural_limit=natural_limit,
        rounding_decided=solution_limit < natural <= natural_limit,
    )
    return found, w


def _fischer(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """a + b - sqrt(a^2 + b^2), which tends to b as a grows without bound."""
    finite = np.isfinite(a)
    safe = np.where(finite, a, 1.0)
    return np.where(finite, safe + b - np.hypot(safe, b), b)


def _measure_sparse(problem: LCP, z: NDArray[np.float64]) -> tuple[Residuals, NDArray[np.float64]]:
    """The same measures without forming a dense matrix."""
    M, q = problem._M, problem._q
    with np.errstate(invalid="ignore", over="ignore"):
        w: NDArray[np.float64] = M @ z + q
    if problem.n == 0:
        return Residuals(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1e-8, False), w
    row_size = problem._row_size
    z_size = float(np.abs(z).max())
    solution_limit = 1e-8 * max(1.0, float(np.abs(q).max()))
    w = _settled(M, q, z, w, row_size * z_size, solution_limit)
    w_unit = np.abs(q) + row_size * z_size
    z_part = z / z_size if z_size > 0.0 else np.zeros_like(z)
    w_part = np.divide(w, w_unit, out=np.zeros_like(w), where=w_unit > 0.0)
    lesser = np.minimum(z, w)
    natural = float(np.abs(lesser).max())
    natural_limit = _limit(lesser, w <= z, q, solution_limit, _ROUNDING * float(row_size.max()) * z_size)
    if not (np.isfinite(w).all() and np.isfinite(z).all()):
        natural = np.inf
    found = Residuals(
        natural_map=natural,
        scaled=float(np.abs(np.minimum(z_part, w_part)).max()) if np.isfinite(natural) else np.inf,
        fischer_burmeister=float(np.abs(z + w - np.hypot(z, w)).max()) if np.isfinite(natural) else np.inf,
        min_z=float(z.min()),
        min_w=float(w.min()),
        gap=abs(float(z @ w)),
        natural_limit=natural_limit,
        rounding_decided=solution_limit < natural <= natural_limit,
    )
    return found, w

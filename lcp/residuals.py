"""How well a vector solves a problem, plain, mixed or boxed: the one place where "solved" is decided.

Always on the original data; the kernel that measures a plain LCP also judges inside the compiled loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import checked_vector, row_sizes
from lcp.box import BoxLCP
from lcp.errors import ProblemError
from lcp.mixed import MLCP
from lcp.problem import LCP, kernel_arrays
from lcp.rounding import summed_map

DEFAULT_TOLERANCE = 1e-9
Problem = LCP | MLCP | BoxLCP


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
        What ``natural_map`` must not exceed: 1e-8 max(1, |q|), which a row that misses it may exceed by rounding, up to
        64 eps (|q_i| + sum_j |M_ij z_j|), but not by more than |q_i| / 1000 of a load of its own; where all loads are
        small a row may miss 1e-6 |q| at most. The limit given is the largest that was needed or, if one was missed, the
        smallest of those. See `lcp.rounding`.
    rounding_decided
        Whether only rounding admits this natural map.
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

    @property
    def finite(self) -> bool:
        """Whether the natural map and the equations are numbers."""
        return bool(np.isfinite(self.natural_map) and np.isfinite(self.equations))

    def text(self, tolerance: float) -> str:
        """The measures beside their bounds; equations only where there are any to speak of."""
        text = (
            f"scaled residual {self.scaled:.1e} (bound {tolerance:.0e}), natural map {self.natural_map:.1e} (bound "
            f"{self.natural_limit:.1e})"
        )
        if self.equations == 0.0:
            return text
        return f"{text}, equations {self.equations:.1e} (scaled {self.equations_scaled:.1e})"

    @property
    def brief(self) -> str:
        """The scaled residual and the natural map."""
        return f"scaled={self.scaled:.1e}, natural_map={self.natural_map:.1e}"


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
    size, largest = np.maximum(in_u, in_y), _largest(problem._k)
    equations, missed, equations_limit, _ = summed_map(
        problem._K[:m], problem.a, x, rows[:m], size[:m], largest, _equations
    )
    w, natural, natural_limit, decided = summed_map(
        problem._K[m:], problem.x4, x, w, size[m:], largest, lambda w: (np.minimum(y, w), w <= y)
    )
    part = _relative(np.concatenate([equations, w]), np.abs(problem._k) + in_u + in_y)
    y_part = y / y_size if y_size > 0.0 else np.zeros_like(y)
    with np.errstate(over="ignore"):
        gap = abs(float(y @ w))
    residual = Residuals(
        natural_map=natural,
        scaled=_largest(np.minimum(y_part, part[m:])),
        fischer_burmeister=_largest(y + w - np.hypot(y, w)),
        min_z=float(y.min()) if y.size else 0.0,
        min_w=float(w.min()) if w.size else 0.0,
        gap=gap,
        natural_limit=natural_limit,
        rounding_decided=decided,
        equations=missed,
        equations_scaled=_largest(part[:m]),
        equations_limit=equations_limit,
    )
    return residual, w


def _equations(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Of equations every row counts as it is."""
    return rows, np.ones(rows.shape, dtype=bool)


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

    def parts(w: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        middle = _middle(above, w, below)
        return middle, middle == w

    # A bound that is not zero loads the rows too.
    bounds = np.concatenate([problem.lo, problem.hi])
    load = max(_largest(problem._q), _largest(row_size) * _largest(bounds[np.isfinite(bounds)]))
    w, natural, natural_limit, decided = summed_map(problem._M, problem._q, z, w, row_size * z_size, load, parts)
    # A z of nothing but zeros has no size: the way to its nearest bound then is the unit.
    nearest = np.minimum(np.abs(above), np.abs(below))
    z_unit = np.maximum(z_size, np.where(np.isfinite(nearest), nearest, 0.0))
    safe = np.where(z_unit > 0.0, z_unit, 1.0)
    w_part = _relative(w, np.abs(problem._q) + row_size * z_size)
    room = np.where(w > 0.0, np.abs(above), np.abs(below))
    products = np.where(w == 0.0, 0.0, np.abs(w) * np.where(np.isfinite(room), room, 1.0))
    fischer = _fischer(above, _fischer(-below, -w) * -1.0)
    residual = Residuals(
        natural_map=natural,
        scaled=_largest(_middle(above / safe, w_part, below / safe)),
        fischer_burmeister=_largest(fischer),
        min_z=float(np.minimum(above, -below).min()) if z.size else 0.0,
        min_w=float(w.min()) if w.size else 0.0,
        gap=float(products.sum()),
        natural_limit=natural_limit,
        rounding_decided=decided,
    )
    return residual, w


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
    natural = natural_limit = np.inf
    decided = False
    if np.isfinite(w).all() and np.isfinite(z).all():
        size = row_size * z_size
        w, natural, natural_limit, decided = summed_map(
            M, q, z, w, size, _largest(q), lambda w: (np.minimum(z, w), w <= z)
        )
    w_unit = np.abs(q) + row_size * z_size
    z_part = z / z_size if z_size > 0.0 else np.zeros_like(z)
    w_part = np.divide(w, w_unit, out=np.zeros_like(w), where=w_unit > 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = abs(float(z @ w))
    residual = Residuals(
        natural_map=natural,
        scaled=float(np.abs(np.minimum(z_part, w_part)).max()) if np.isfinite(natural) else np.inf,
        fischer_burmeister=float(np.abs(z + w - np.hypot(z, w)).max()) if np.isfinite(natural) else np.inf,
        min_z=float(z.min()),
        min_w=float(w.min()),
        gap=gap,
        natural_limit=natural_limit,
        rounding_decided=decided,
    )
    return residual, w

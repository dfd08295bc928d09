"""How well a vector solves an LCP: the one place where "solved" is decided.

Always on the original data; the same kernel judges inside the compiled loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.problem import LCP, checked_vector, kernel_arrays

DEFAULT_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Residuals:
    """Measures of z as a solution of LCP(M, q), with w = M z + q.

    Attributes
    ----------
    natural_map
        max_i |min(z_i, w_i)|.
    scaled
        The same with z_i measured against the largest |z_j| and w_i against |q_i| + max_j |M_ij| max_j |z_j|.
    fischer_burmeister
        max_i |z_i + w_i - sqrt(z_i^2 + w_i^2)|.
    min_z, min_w
        Smallest entries.
    gap
        |z . w|.
    natural_limit
        What ``natural_map`` must not exceed: max(1e-8 max(1, |q|), 64 eps max|M| max|z|).
    rounding_decided
        Whether only the second, rounding, term of that limit admits this natural map.
    """

    natural_map: float
    scaled: float
    fischer_burmeister: float
    min_z: float
    min_w: float
    gap: float
    natural_limit: float
    rounding_decided: bool

    def solved(self, tolerance: float = DEFAULT_TOLERANCE) -> bool:
        """Whether these measures make a solution: scaled <= tolerance and natural_map <= natural_limit."""
        return self.scaled <= tolerance and self.natural_map <= self.natural_limit


def residuals(problem: LCP, z: ArrayLike) -> Residuals:
    """Measure z on the data of ``problem``.

    Raises
    ------
    ProblemError
        If z has another length than the problem or is not finite.
    """
    return measure(problem, checked_vector("z", z, problem.n))[0]


def measure(problem: LCP, z: NDArray[np.float64]) -> tuple[Residuals, NDArray[np.float64]]:
    """The measures of a checked z, and w = M z + q."""
    if problem.sparse:
        return _measure_sparse(problem, z)
    from lcp.kernels.residuals import SIZE, lcp_residuals

    matrix, q = kernel_arrays(problem)
    w = np.empty(problem.n)
    out = np.empty(SIZE)
    lcp_residuals(matrix, q, z, w, out)
    a, b, c, d, e, f, g, h = out.tolist()
    return Residuals(a, b, c, d, e, f, g, bool(h)), w


def _measure_sparse(problem: LCP, z: NDArray[np.float64]) -> tuple[Residuals, NDArray[np.float64]]:
    """The same measures without forming a dense matrix."""
    M, q = problem._M, problem._q
    w: NDArray[np.float64] = M @ z + q
    if problem.n == 0:
        return Residuals(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1e-8, False), w
    row_size = abs(M).max(axis=1).toarray().ravel()
    z_size = float(np.abs(z).max())
    w_unit = np.abs(q) + row_size * z_size
    z_part = z / z_size if z_size > 0.0 else np.zeros_like(z)
    w_part = np.divide(w, w_unit, out=np.zeros_like(w), where=w_unit > 0.0)
    natural = float(np.abs(np.minimum(z, w)).max())
    solution_limit = 1e-8 * max(1.0, float(np.abs(q).max()))
    rounding_limit = 64.0 * float(np.finfo(np.float64).eps) * float(row_size.max()) * z_size
    if not (np.isfinite(w).all() and np.isfinite(z).all()):
        natural = np.inf
    found = Residuals(
        natural_map=natural,
        scaled=float(np.abs(np.minimum(z_part, w_part)).max()) if np.isfinite(natural) else np.inf,
        fischer_burmeister=float(np.abs(z + w - np.hypot(z, w)).max()) if np.isfinite(natural) else np.inf,
        min_z=float(z.min()),
        min_w=float(w.min()),
        gap=abs(float(z @ w)),
        natural_limit=max(solution_limit, rounding_limit),
        rounding_decided=solution_limit < natural <= rounding_limit,
    )
    return found, w

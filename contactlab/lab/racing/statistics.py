"""Statistics of a race: performance profiles, a mean that no single time rules, and growth with the problem's size.

A profile says, for every ratio to the fastest, the share of problems a solver is within. Growth is a power fitted to
what was measured, and no further.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class PerformanceProfile:
    """Step functions rho_s(tau) = share of the problems that solver s solved within tau times the least cost.

    Attributes
    ----------
    ratios
        Cost over the least cost of any solver on that problem, (problems, solvers); inf where it was not solved.
    labels
        Names of the solvers, column by column.
    """

    ratios: NDArray[np.float64]
    labels: tuple[str, ...] = ()

    def share(self, tau: float) -> NDArray[np.float64]:
        """Share (solvers,) of the problems solved within ``tau`` times the least cost; 0 where there are none."""
        if self.ratios.shape[0] == 0:
            return np.zeros(self.ratios.shape[1])
        return np.asarray((self.ratios <= tau).mean(axis=0))

    def steps(self, solver: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ratios at which the solver's curve rises, ascending, and the share reached there."""
        finite = np.sort(self.ratios[np.isfinite(self.ratios[:, solver]), solver])
        tau, rises = np.unique(finite, return_counts=True)
        return tau, np.cumsum(rises) / max(1, self.ratios.shape[0])

    def __str__(self) -> str:
        """A line per solver: the share of problems solved within once, twice and ten times the least cost."""
        shares = np.stack([self.share(tau) for tau in (1.0, 2.0, 10.0)], axis=1).tolist()
        names = self.labels or tuple(f"solver {j}" for j in range(len(shares)))
        wide = max((len(name) for name in names), default=0)
        lines = [f"{self.ratios.shape[0]} problems; share solved within 1, 2, 10 times the least cost"]
        rows = zip(names, shares, strict=True)
        return "\n".join(lines + [f"{name:{wide}} {a:6.3f} {b:6.3f} {c:6.3f}" for name, (a, b, c) in rows])

    @property
    def largest(self) -> float:
        """Largest finite ratio; 1 where there is none."""
        finite = self.ratios[np.isfinite(self.ratios)]
        return float(finite.max(initial=1.0))


def performance_profile(costs: ArrayLike) -> PerformanceProfile:
    """Profile of costs (times, pivots) of every solver on every problem.

    Parameters
    ----------
    costs
        (problems, solvers), each > 0; inf or NaN where the solver failed, which counts as an infinite ratio. A problem
        that nobody solved is kept: all its ratios are infinite.

    Raises
    ------
    ValueError
        If the array is not two-dimensional or a cost is not positive.

    References
    ----------
    E. D. Dolan, J. J. Moré, Benchmarking optimization software with performance profiles, Mathematical Programming 91
    (2002).
    """
    table = np.array(costs, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"costs must have shape (problems, solvers), got {table.shape}")
    table[np.isnan(table)] = np.inf
    if (table <= 0.0).any():
        i, j = (int(k) for k in np.argwhere(table <= 0.0)[0])
        raise ValueError(f"costs[{i}, {j}] = {table[i, j]} is not positive; a failure is inf")
    least = table.min(axis=1, initial=np.inf, keepdims=True)
    ratios = np.full(table.shape, np.inf)
    np.divide(table, least, out=ratios, where=np.isfinite(table))
    return PerformanceProfile(ratios)


def shifted_geometric_mean(times: ArrayLike, *, shift: float, failed_at: float) -> float:
    """exp(mean(log(t + shift))) - shift, a failure counting as ``failed_at``.

    Parameters
    ----------
    times
        Seconds (k,); inf or NaN for a failure. Times above ``failed_at`` count as that.
    shift
        Seconds added to each, so that differences far below it do not count. A mean is stated with its shift.
    failed_at
        Seconds a failure counts for: the time limit.

    Returns
    -------
    float
        Seconds; NaN where there are no times.

    References
    ----------
    T. Achterberg, Constraint Integer Programming, dissertation, TU Berlin (2007), appendix A.3.
    """
    if not (shift >= 0.0 and math.isfinite(shift)):
        raise ValueError(f"shift = {shift} is not a finite number >= 0")
    if not (failed_at > 0.0 and math.isfinite(failed_at)):
        raise ValueError(f"failed_at = {failed_at} is not a finite number > 0")
    given = np.atleast_1d(np.array(times, dtype=np.float64))
    if given.size == 0:
        return math.nan
    if (given < 0.0).any():
        raise ValueError(f"times hold {given.min()}, which is negative")
    counted = np.where(np.isfinite(given), np.minimum(given, failed_at), failed_at) + shift
    if (counted == 0.0).any():
        raise ValueError("a time of 0 needs a shift > 0")
    return float(np.exp(np.log(counted).mean()) - shift)


@dataclass(frozen=True)
class Growth:
    """time = factor * n ** exponent, by least squares on logarithms.

    Attributes
    ----------
    exponent, factor
        Of the fit; seconds.
    standard_error
        Of the exponent; inf for two points, which any line meets.
    least_n, largest_n
        Range of sizes it rests on. It says nothing beyond.
    points
        Problems it rests on.
    """

    exponent: float
    factor: float
    standard_error: float
    least_n: int
    largest_n: int
    points: int

    def at(self, n: float) -> float:
        """Seconds the fit gives for ``n``."""
        return self.factor * math.pow(n, self.exponent)


def fit_growth(n: ArrayLike, times: ArrayLike, *, least_points: int = 3, least_range: float = 4.0) -> Growth | None:
    """Fit a power of n to times.

    Parameters
    ----------
    n, times
        Sizes (k,) and seconds (k,). Failures (inf, NaN) and n = 0 are left out.
    least_points
        Different sizes that a fit needs.
    least_range
        Largest over smallest size that a fit needs.

    Returns
    -------
    Growth or None
        None where there are too few sizes, or too close to one another.
    """
    from scipy.stats import linregress

    sizes, seconds = np.asarray(n, dtype=np.float64), np.asarray(times, dtype=np.float64)
    if sizes.shape != seconds.shape or sizes.ndim != 1:
        raise ValueError(f"n and times must be vectors of one length, got shapes {sizes.shape} and {seconds.shape}")
    kept = np.isfinite(seconds) & (seconds > 0.0) & (sizes > 0.0)
    sizes, seconds = sizes[kept], seconds[kept]
    if np.unique(sizes).size < max(2, least_points) or sizes.max() < least_range * sizes.min():
        return None
    line = linregress(np.log(sizes), np.log(seconds))
    error = float(line.stderr) if sizes.size > 2 else math.inf
    factor = math.exp(line.intercept)
    return Growth(float(line.slope), factor, error, int(sizes.min()), int(sizes.max()), int(sizes.size))

"""Performance profiles: for every ratio to the fastest, the share of problems a solver is within."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PerformanceProfile", "performance_profile"]


@dataclass(frozen=True, eq=False)
class PerformanceProfile:
    """Step functions rho_s(tau) = share of the problems that solver s solved within tau times the least cost.

    Attributes
    ----------
    ratios
        Cost over the least cost of any solver on that problem, (problems, solvers); inf where it was not solved.
    """

    ratios: NDArray[np.float64]

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

"""QuantEcon's Lemke solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp

_STATUS = {0: lcp.Status.SOLVED, 1: lcp.Status.ITERATION_LIMIT, 2: lcp.Status.RAY_TERMINATION}


@dataclass(frozen=True)
class QuantEconLemke:
    """``quantecon.optimize.lcp_lemke``: Lemke's method, compiled by numba, lexicographic rule.

    Parameters
    ----------
    max_iter
        Limit on pivots; None for 20 n + 1000 (its own million would let a cycle run for minutes).

    References
    ----------
    T. J. Sargent, J. Stachurski, QuantEcon.py.
    """

    max_iter: int | None = None

    package: ClassVar[str] = "quantecon"

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve without a start; the tolerances are the solver's own."""
        from quantecon.optimize import lcp_lemke

        most = 20 * problem.n + 1000 if self.max_iter is None else self.max_iter
        outcome = lcp_lemke(problem._M, problem._q, max_iter=most)
        return lcp.Claim(outcome.z, _STATUS.get(int(outcome.status), lcp.Status.STALLED), int(outcome.num_iter))

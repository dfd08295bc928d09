"""Siconos' solvers of plain complementarity problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp


@dataclass(frozen=True)
class SiconosLCP:
    """``siconos.numerics.linearComplementarity_driver`` with the solver of a given identifier.

    Siconos is not on the Python package index; where ``siconos`` cannot be imported, this entrant is left out.

    Parameters
    ----------
    method
        Identifier without its prefix ``SICONOS_LCP_``: "LEMKE" (lexicographic), "NEWTON_MIN_FBLSA", "NSGS", "ENUM" ...
    max_iter
        Limit on iterations; None for Siconos' own.

    References
    ----------
    V. Acary, O. Bonnefon, M. Brémond, O. Huber, F. Pérignon, S. Sinclair, An introduction to Siconos (2019).
    """

    method: str = "LEMKE"
    max_iter: int | None = None

    package: ClassVar[str] = "siconos"

    def solve(self, problem: lcp.LCP, *, z0: NDArray[np.float64] | None, tolerance: float, trace: bool) -> lcp.Claim:
        """Solve from z0 or zero at the race's tolerance; an exit code of zero is Siconos' claim of success."""
        from siconos import numerics

        identifier = getattr(numerics, f"SICONOS_LCP_{self.method}", None)
        if identifier is None:
            return lcp.Claim(np.zeros(problem.n), lcp.Status.UNSUITABLE, 0, f"Siconos has no LCP method {self.method}")
        options = numerics.SolverOptions(identifier)
        options.dparam[numerics.SICONOS_DPARAM_TOL] = tolerance
        if self.max_iter is not None:
            options.iparam[numerics.SICONOS_IPARAM_MAX_ITER] = self.max_iter
        z = np.zeros(problem.n) if z0 is None else z0.copy()
        w = np.zeros(problem.n)
        code = int(numerics.linearComplementarity_driver(numerics.LCP(problem._M, problem._q), z, w, options))
        spent = int(options.iparam[numerics.SICONOS_IPARAM_ITER_DONE])
        status = lcp.Status.SOLVED if code == 0 else lcp.Status.STALLED
        return lcp.Claim(z, status, spent, f"Siconos: exit code {code}")

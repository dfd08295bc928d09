"""An island's contact problem with Coulomb's exact cones: from the loop's LCP, to its solver, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.formulation.cone import ConeProblem, cone_problem, edges_of
from contactlab.spatial.arrays import FloatArray

__all__ = ["IslandCones"]


@dataclass(frozen=True, eq=False)
class IslandCones:
    """The problem, where its unknowns stand in the LCP's vector, and its warm start.

    Attributes
    ----------
    cone
        Rows and columns of the island's LCP.
    r
        (nc,) tangents of each contact.
    nl
        Limits, which come last.
    z0
        Start in the order of the problem, None without one.
    """

    cone: ConeProblem
    r: NDArray[np.int64]
    nl: int
    z0: FloatArray | None

    @classmethod
    def of(
        cls, M: FloatArray, q: FloatArray, r: NDArray[np.int64], mu: FloatArray, nl: int, z0: FloatArray | None
    ) -> IslandCones:
        """Take the rows of the edges fF+ and leave those of fF- and lambda."""
        nc, nr = len(r), int(r.sum())
        cone = cone_problem(M, q, r.copy(), mu, nl)
        start = None
        if z0 is not None:
            signed = z0.copy()
            signed[nc : nc + nr] -= z0[nc + nr : nc + 2 * nr]
            start = signed[cone.places]
        return cls(cone, r.copy(), nl, start)

    def solve(self, solver: Any, tolerance: float) -> lcp.FrictionResult:
        """Solve through the public path."""
        return lcp.solve(self.cone.problem, solver, z0=self.z0, tolerance=tolerance)

    def write(self, result: lcp.FrictionResult, z: FloatArray, measures: FloatArray) -> None:
        """Write the forces as edges of a pyramid into z, and FCLIB's and the scaled residual into the measures."""
        from lcp.kernels.residuals import NATURAL_LIMIT, NATURAL_MAP, ROUNDING_DECIDED, SCALED

        found = edges_of(self.r, self.nl, self.cone.places, result.r, result.u)
        z[: found.size] = found
        measures[:] = 0.0
        residual = result.residual
        measures[NATURAL_MAP], measures[SCALED] = residual.fclib, residual.scaled
        measures[NATURAL_LIMIT] = max(result.tolerance, residual.fclib_rounding)
        measures[ROUNDING_DECIDED] = residual.rounding_decided(result.tolerance)

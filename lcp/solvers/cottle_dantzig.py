"""The principal pivoting method of Cottle and Dantzig."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.farkas import Farkas
from lcp.kernels import codes
from lcp.method import MONOTONE, Traits
from lcp.options import integer_option, positive_option, real_option
from lcp.polish.active_set import refine
from lcp.problem import LCP
from lcp.result import Claim
from lcp.solvers.shared.pivoting import PivotingState, PrincipalPivoting
from lcp.status import Status

# Largest step of a violated pair if nothing else blocks, in units of the largest value of the first tableau.
_FAR = 1024.0


@dataclass(frozen=True)
class CottleDantzig(PrincipalPivoting):
    """Principal pivoting that mends one pair at a time and never spoils another (Cottle and Dantzig 1968).

    Each major cycle drives one pair to complementarity along a path on which all complementary pairs stay
    complementary. If a diagonal entry vanishes, two pairs are exchanged together. The method ends for P matrices. For
    positive semidefinite (more generally sufficient) M it ends either in a solution or in a proof that the problem is
    infeasible; ties are broken by the least index. Bounds on both sides are native, also infinite and equal ones: a
    driven unknown may also stop at its far bound. The tableau is dense, with n^2 operations per pivot, and a sparse M
    is made dense.

    Parameters
    ----------
    max_pivots
        Limit on pivots; None for max(1000, 50 n).
    zero_tolerance
        Size that counts as zero relative to the terms of a value. The method reduces it if a solution is not accepted.
    pivot_tolerance
        Smallest admissible pivot relative to the entries it couples.
    time_limit
        Seconds, checked between calls of at most 128 pivots.

    References
    ----------
    R. W. Cottle, G. B. Dantzig, Complementary pivot theory of mathematical programming, Linear Algebra and its
    Applications 1 (1968); R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section
    4.3; R. W. Cottle, Y.-Y. Chang, Least-index resolution of degeneracy in linear complementarity problems with
    sufficient matrices, SIAM Journal on Matrix Analysis and Applications 13 (1992); with bounds: D. Baraff, Fast
    contact force computation for nonpenetrating rigid bodies, SIGGRAPH (1994).
    """

    max_pivots: int | None = integer_option(None)
    zero_tolerance: float = real_option(1e-11, least=0.0, most=1e-3)
    pivot_tolerance: float = real_option(1e-10, least=0.0, most=1e-3)
    time_limit: float = positive_option(300.0)

    least_limit: ClassVar[int] = 1000
    traits: ClassVar[Traits] = MONOTONE | Traits.P_MATRIX | Traits.WARM_START | Traits.BOXED

    def _from(self, run: PivotingState, start: Vector | None) -> Claim:
        """Pivot as the other methods, polish a final basis of an `LCP`, and begin again without the start."""
        claim = super()._from(run, start)
        if claim.status in (Status.SOLVED, Status.INFEASIBLE) or run.timed_out():
            return claim
        better = refine(run.problem, run.best, run.tolerance) if isinstance(run.problem, LCP) else None
        if better is not None:
            return replace(claim, z=better, status=Status.SOLVED, detail="polished")
        return claim if start is None else self._from(run, None)

    def _advance(self, run: PivotingState, zero_tolerance: float, limit: int) -> Callable[[int], int]:
        from lcp.kernels.principal_pivoting import DRIVEN, IDLE, pivot_loop

        run.info[[DRIVEN, IDLE]] = -1, 0
        far = _FAR * float(np.abs(run.b).max())
        return lambda budget: pivot_loop(
            run.tableau, run.direction, zero_tolerance, self.pivot_tolerance, far, limit, run.info, budget
        )

    def _proof(self, run: PivotingState, code: int) -> Farkas | None:
        """Return a Farkas vector, or None: a ray of a semidefinite problem is in the null space of M + M^T."""
        from lcp.kernels.principal_pivoting import DRIVEN

        driven = int(run.info[DRIVEN])
        if code != codes.RAY or not isinstance(run.problem, LCP) or driven < 0:
            return None
        y = np.where(run.inside == 1, run.direction, 0.0)
        if run.inside[driven] == 0:
            y[driven] = 1.0
        size = float(np.abs(y).max())
        proof = Farkas(y=np.where(y > 1e-12 * size, y, 0.0) * run.column, v=np.zeros(0))
        return proof if proof.proves(run.problem) else None

"""Murty's least-index method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.errors import ProblemError
from lcp.method import SolveRequest, Traits
from lcp.options import integer_option, positive_option, real_option
from lcp.problem import LCP, BoxLCP
from lcp.result import Claim
from lcp.solvers.shared.pivoting import PivotingState, PrincipalPivoting


@dataclass(frozen=True)
class Murty(PrincipalPivoting):
    """Principal pivoting on the least infeasible index, a Bard-type scheme (Murty 1974).

    The simplest method for P matrices: the first pair that is not complementary is exchanged, and no basis is met
    twice. Bounds on both sides are native. The number of pivots depends on the order of the indices and may be
    exponential; a pivot costs n^2 operations. If a diagonal entry of the tableau is not positive, M is not a P matrix
    and the method stops. A sparse M is made dense.

    Parameters
    ----------
    order
        Order of the indices, a permutation of 0 .. n - 1 with the preferred index first; None for the natural order.
    max_pivots
        Limit on pivots; None for max(10000, 50 n).
    zero_tolerance
        Size that counts as zero relative to the terms of a value. The method reduces it if a solution is not accepted.
    time_limit
        Seconds, checked between calls of at most 128 pivots.

    References
    ----------
    K. G. Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11 (1974); R. W. Cottle,
    J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section 4.2.
    """

    order: Sequence[int] | None = None
    max_pivots: int | None = integer_option(None)
    zero_tolerance: float = real_option(1e-11, least=0.0, most=1e-3)
    time_limit: float = positive_option(300.0)

    least_limit: ClassVar[int] = 10_000
    singular: ClassVar[str] = "a diagonal entry is not positive: M is no P matrix"
    traits: ClassVar[Traits] = Traits.P_MATRIX | Traits.POSITIVE_DEFINITE | Traits.WARM_START | Traits.BOXED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order is not None:
            given = np.asarray(self.order)
            if given.ndim != 1 or not np.array_equal(np.sort(given), np.arange(given.shape[0])):
                raise ProblemError(f"Murty.order must be a permutation of 0 .. n - 1, got {self.order!r}")
            object.__setattr__(self, "order", tuple(int(i) for i in given))

    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
        if self.order is not None and len(self.order) != problem.n:
            raise ProblemError(f"Murty.order has length {len(self.order)}, the problem {problem.n}")
        return super()._claim(problem, request)

    def _advance(self, run: PivotingState, zero_tolerance: float, limit: int) -> Callable[[int], int]:
        from lcp.kernels.principal_pivoting import least_index_loop

        order = np.arange(run.problem.n) if self.order is None else np.array(self.order, dtype=np.int64)
        return lambda budget: least_index_loop(run.tableau, order, zero_tolerance, 1e-13, limit, run.info, budget)

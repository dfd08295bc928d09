"""Murty's least-index method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.box import BoxLCP
from lcp.errors import ProblemError
from lcp.kernels import codes
from lcp.method import Method, Request
from lcp.options import positive, real, whole
from lcp.problem import LCP
from lcp.result import Claim
from lcp.solvers.shared.principal_pivoting import PivotingState
from lcp.status import Status
from lcp.traits import Traits

# Pivots between two returns to Python, which check Ctrl-C and the time limit; fewer for large problems.
_BUDGET = 128
# How often a final basis that is not a solution is formed again, with sharper eyes, and pivoting continues from there.
_ROUNDS = 3


@dataclass(frozen=True)
class Murty(Method[LCP | BoxLCP]):
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
    max_pivots: int | None = whole(None)
    zero_tolerance: float = real(1e-11, least=0.0, most=1e-3)
    time_limit: float = positive(300.0)

    traits: ClassVar[Traits] = Traits.P_MATRIX | Traits.POSITIVE_DEFINITE | Traits.WARM_START | Traits.BOXED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order is not None:
            given = np.asarray(self.order)
            if given.ndim != 1 or not np.array_equal(np.sort(given), np.arange(given.shape[0])):
                raise ProblemError(f"Murty.order must be a permutation of 0 .. n - 1, got {self.order!r}")
            object.__setattr__(self, "order", tuple(int(i) for i in given))

    def _claim(self, problem: LCP | BoxLCP, request: Request) -> Claim:
        from lcp.kernels import murty as k
        from lcp.kernels.portions import pivots_at_once

        n = problem.n
        order = np.arange(n) if self.order is None else np.array(self.order, dtype=np.int64)
        if order.shape[0] != n:
            raise ProblemError(f"Murty.order has length {order.shape[0]}, the problem {n}")
        run = PivotingState(problem, request, self.time_limit)
        if run.zero_is_solution():
            return run.claim(Status.SOLVED, 0)
        status, detail = Status.STALLED, ""
        info = np.zeros(k.INFO_SIZE, dtype=np.int64)
        limit = max(10_000, 50 * n) if self.max_pivots is None else self.max_pivots
        run.choose(request.z0)
        for attempt in range(_ROUNDS):
            run.build()
            while True:
                code = k.least_index_loop(
                    run.tableau, order, self.zero_tolerance * 100.0**-attempt, 1e-13, limit, info,
                    1 if request.trace else int(pivots_at_once(run.problem.n, _BUDGET)),
                )  # fmt: skip
                run.record(int(info[k.PIVOTS]))
                if code != codes.RUNNING or run.timed_out():
                    break
            status, detail = _END[code]
            solution = run.solution(int(info[k.PIVOTS]))
            if solution is not None:
                return solution
            if status is Status.ITERATION_LIMIT:
                break
            run.keep()
        return run.claim(status, int(info[k.PIVOTS]), detail)


_END = {
    codes.SOLVED: (Status.STALLED, "the final basis is no solution of the original data"),
    codes.RUNNING: (Status.ITERATION_LIMIT, "time limit"),
    codes.ITERATION_LIMIT: (Status.ITERATION_LIMIT, "problem too long: max_pivots reached"),
    codes.SINGULAR_BASIS: (Status.SINGULAR_BASIS, "a diagonal entry is not positive: M is no P matrix"),
    codes.NOT_FINITE: (Status.NOT_FINITE, ""),
}

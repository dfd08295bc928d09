"""OSQP, an operator splitting method for quadratic programs, as an LCP solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.errors import ProblemError
from lcp.problem import LCP
from lcp.residuals import DEFAULT_TOLERANCE
from lcp.result import Claim
from lcp.solvers.quadratic import Answer, Program, solve_by_program
from lcp.traits import Traits


@dataclass(frozen=True)
class OSQP:
    """The QP of a symmetric positive semidefinite or monotone LCP by OSQP; UNSUITABLE for any other.

    A first-order method: its answer, scaled to unit diagonal and unit load before, is polished on its active set from
    the original data, which brings it to the accuracy of a pivoting method where the active set is right. Infeasible
    problems are named so with a Farkas vector.

    Parameters
    ----------
    eps
        Absolute and relative tolerance of OSQP.
    max_iter
        Its limit on iterations.
    polish
        Polish on the active set (see `Refined`); OSQP's own polishing is not used.
    time_limit
        Seconds.

    References
    ----------
    B. Stellato et al., OSQP: an operator splitting solver for quadratic programs, Math. Prog. Comp. 12 (2020).
    """

    eps: float = 1e-9
    max_iter: int = 20000
    polish: bool = True
    time_limit: float = 300.0

    traits: ClassVar[Traits] = Traits.POSITIVE_DEFINITE | Traits.POSITIVE_SEMIDEFINITE | Traits.WARM_START

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if not 0.0 < self.eps < 1.0:
            raise ProblemError(f"OSQP.eps must lie between 0 and 1, got {self.eps}")
        if self.max_iter < 1:
            raise ProblemError(f"OSQP.max_iter must be positive, got {self.max_iter}")
        if not self.time_limit > 0.0:
            raise ProblemError(f"OSQP.time_limit must be positive, got {self.time_limit}")

    def solve(
        self,
        problem: LCP,
        *,
        z0: NDArray[np.float64] | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        trace: bool = False,
    ) -> Claim:
        """Solve the QP; ``trace`` is ignored."""
        return solve_by_program(problem, tolerance, self.polish, z0, self._run)

    def _run(self, program: Program, start: NDArray[np.float64] | None) -> Answer:
        import osqp
        from scipy import sparse

        n = program.c.shape[0]
        rows, low = sparse.identity(n, format="csc"), np.zeros(n)
        if program.G is not None:
            rows = sparse.vstack([rows, sparse.csc_matrix(program.G)], format="csc")
            low = np.concatenate([low, -program.g])
        solver = osqp.OSQP()
        solver.setup(
            P=sparse.triu(sparse.csc_matrix(program.P), format="csc"),
            q=program.c,
            A=rows,
            l=low,
            u=np.full(low.shape[0], np.inf),
            verbose=False,
            eps_abs=self.eps,
            eps_rel=self.eps,
            eps_prim_inf=1e-9,
            eps_dual_inf=1e-9,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            # Ours follows, and OSQP's prints to the console where it finds nothing to do.
            polishing=False,
        )
        if start is not None:
            solver.warm_start(x=start)
        found = solver.solve(raise_error=False)
        x = np.asarray(found.x, dtype=np.float64) if found.x is not None else None
        usable = x is not None and x.shape == (n,) and bool(np.isfinite(x).all())
        return Answer(x if usable else None, f"OSQP: {found.info.status}", int(found.info.iter))

"""OSQP, an operator splitting method for quadratic programs, as an LCP solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.options import flag, positive, real, whole
from lcp.solvers.shared.quadratic import Answer, ProgramMethod, usable
from lcp.solvers.shared.quadratic_program import Program
from lcp.traits import MONOTONE, Traits


@dataclass(frozen=True)
class OSQP(ProgramMethod):
    """Operator splitting on the QP of a positive semidefinite problem by OSQP (Stellato et al. 2020).

    UNSUITABLE where M, symmetric or not, is not positive semidefinite. A first-order method: its answer, scaled to unit
    diagonal and unit load before, is polished on its active set from the original data, which brings it to the accuracy
    of a pivoting method where the active set is right. Infeasible problems are named so with a Farkas vector (of sparse
    ones up to n = 1000 only). A sparse M stays sparse, bounds stay bounds.

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

    eps: float = real(1e-9, least=0.0, most=1.0, open_ends=True)
    max_iter: int = whole(20000, least=1)
    polish: bool = flag(True)
    time_limit: float = positive(300.0)

    traits: ClassVar[Traits] = MONOTONE | Traits.WARM_START | Traits.SPARSE | Traits.BOXED

    def _answer(self, program: Program, start: NDArray[np.float64] | None) -> Answer:
        import osqp
        from scipy import sparse

        rows, low, high = program.all_rows()
        solver = osqp.OSQP()
        solver.setup(
            P=sparse.triu(sparse.csc_matrix(program.P), format="csc"),
            q=program.c,
            A=rows,
            l=low,
            u=high,
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
        answer = solver.solve(raise_error=False)
        word = str(answer.info.status)
        limited = "maximum iterations" in word or "time limit" in word
        return Answer(usable(answer.x, program.c.shape[0]), f"OSQP: {word}", int(answer.info.iter), limited)

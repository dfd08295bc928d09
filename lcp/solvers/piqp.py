"""PIQP, a proximal interior-point method for quadratic programs, as an LCP solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.options import flag, real, whole
from lcp.solvers.shared.quadratic import Answer, ProgramMethod, usable
from lcp.solvers.shared.quadratic_program import Program
from lcp.traits import MONOTONE, Traits


@dataclass(frozen=True)
class PIQP(ProgramMethod):
    """Proximal interior-point method on the QP of a positive semidefinite problem by PIQP (Schwan et al. 2023).

    UNSUITABLE for any other, and where the package ``piqp`` is not installed. Scaled before and polished after as in
    `OSQP`; a sparse M stays sparse, bounds stay bounds. PIQP takes no time limit.

    Parameters
    ----------
    eps
        Absolute and relative tolerance on gap and feasibility.
    max_iter
        Limit on iterations.
    polish
        Polish on the active set (see `Refined`).

    References
    ----------
    R. Schwan, Y. Jiang, D. Kuhn, C. N. Jones, PIQP: a proximal interior-point quadratic programming solver, IEEE
    Conference on Decision and Control (2023).
    """

    eps: float = real(1e-10, least=0.0, most=1.0, open_ends=True)
    max_iter: int = whole(250, least=1)
    polish: bool = flag(True)

    package: ClassVar[str | None] = "piqp"
    traits: ClassVar[Traits] = MONOTONE | Traits.SPARSE | Traits.BOXED

    def _answer(self, program: Program, start: NDArray[np.float64] | None) -> Answer:
        import piqp

        A, b, C, low, high = program.split_rows()
        P = program.P.tocsc() if program.sparse else program.P
        solver = piqp.SparseSolver() if program.sparse else piqp.DenseSolver()
        settings = solver.settings
        settings.max_iter = self.max_iter
        settings.eps_abs = settings.eps_rel = self.eps
        settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = self.eps
        equations = (None, None) if A is None else (A, b)
        rows = (None, None, None) if C is None else (C, low, high)
        solver.setup(P, program.c, *equations, *rows, program.lo, program.hi)
        status = solver.solve()
        word = status.name.removeprefix("PIQP_").lower().replace("_", " ")
        limited = status == piqp.PIQP_MAX_ITER_REACHED
        x = usable(solver.result.x, program.c.shape[0])
        return Answer(x, f"PIQP: {word}", int(solver.result.info.iter), limited)

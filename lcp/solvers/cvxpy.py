"""CVXPY, a modelling layer over many QP codes, as an LCP solver."""

from __future__ import annotations

import warnings
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

# Added to the diagonal, which is near one.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class CVXPY:
    """The QP of a symmetric positive semidefinite or monotone LCP through CVXPY; UNSUITABLE for any other.

    Scaled before and polished after as in `OSQP`.

    Parameters
    ----------
    backend
        Name of an installed solver of CVXPY for quadratic programs. Clarabel, an interior-point method, comes with it.
    polish
        Polish on the active set (see `Refined`).

    References
    ----------
    S. Diamond, S. Boyd, CVXPY: a Python-embedded modeling language for convex optimization, JMLR 17 (2016).
    """

    backend: str = "CLARABEL"
    polish: bool = True

    traits: ClassVar[Traits] = Traits.POSITIVE_DEFINITE | Traits.POSITIVE_SEMIDEFINITE

    def __post_init__(self) -> None:
        """Refuse what is no name."""
        if not self.backend:
            raise ProblemError(f"CVXPY.backend must be the name of a solver, got {self.backend!r}")

    def solve(
        self,
        problem: LCP,
        *,
        z0: NDArray[np.float64] | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        trace: bool = False,
    ) -> Claim:
        """Solve the QP; ``z0`` and ``trace`` are ignored."""
        return solve_by_program(problem, tolerance, self.polish, None, self._run)

    def _run(self, program: Program, start: NDArray[np.float64] | None) -> Answer:
        import cvxpy

        if self.backend not in cvxpy.installed_solvers():
            installed = ", ".join(cvxpy.installed_solvers())
            raise ProblemError(f"CVXPY.backend = {self.backend!r} is not installed; there are: {installed}")
        x = cvxpy.Variable(program.c.shape[0])
        conditions = [x >= 0.0]
        if program.G is not None:
            conditions.append(program.G @ x + program.g >= 0.0)
        # The semidefiniteness was checked; rounding must not let CVXPY refuse it, nor break a factorisation.
        P = program.P + _ROUNDING * np.eye(program.c.shape[0])
        objective = 0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(P)) + program.c @ x
        task = cvxpy.Problem(cvxpy.Minimize(objective), conditions)
        with warnings.catch_warnings():
            # "Solution may be inaccurate": our own test of the answer decides.
            warnings.simplefilter("ignore")
            try:
                task.solve(solver=self.backend)
            except cvxpy.error.SolverError as error:
                return Answer(None, f"CVXPY: {error}", 0)
        steps = task.solver_stats.num_iters if task.solver_stats is not None else 0
        usable = x.value is not None and bool(np.isfinite(x.value).all())
        value = np.asarray(x.value, dtype=np.float64) if usable else None
        return Answer(value, f"CVXPY with {self.backend}: {task.status}", int(steps or 0))

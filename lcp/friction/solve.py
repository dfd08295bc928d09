"""`lcp.solve` for friction problems: a problem and a solver in, a judged result out."""

from __future__ import annotations

import time
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.errors import ProblemError
from lcp.friction.global_problem import FrictionReduction, GlobalFrictionProblem
from lcp.friction.judge import judged
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import DEFAULT_FRICTION_TOLERANCE
from lcp.friction.result import FrictionClaim, FrictionResult
from lcp.friction.solvers import FrictionCascade
from lcp.problem import checked_vector
from lcp.status import Status
from lcp.traits import Traits

Vector = NDArray[np.float64]


@runtime_checkable
class FrictionSolver(Protocol):
    """Anything with this method solves friction problems; nothing needs to be subclassed."""

    def solve(self, problem: FrictionProblem, *, z0: Vector | None, tolerance: float, trace: bool) -> FrictionClaim:
        """Try ``problem``, perhaps from ``z0``, and say how it ended."""
        ...


def default_friction_solver() -> FrictionCascade:
    """The solver used where none is named; see `FrictionCascade`."""
    return FrictionCascade()


def solve_friction(
    problem: FrictionProblem | GlobalFrictionProblem,
    solver: Any,
    z0: ArrayLike | FrictionResult | None,
    tolerance: float | None,
    trace: bool,
) -> FrictionResult:
    """As `lcp.solve` says, for friction."""
    if solver is None:
        solver = default_friction_solver()
    elif isinstance(solver, type) or not hasattr(solver, "solve"):
        raise ProblemError(f"solver must be a solver object such as NSGS(), got {solver!r}")
    elif not getattr(solver, "traits", Traits.CONE) & Traits.CONE:
        raise ProblemError(f"{type(solver).__name__} solves no friction problems; lcp.ALL_FRICTION_SOLVERS do")
    bound = DEFAULT_FRICTION_TOLERANCE if tolerance is None else tolerance
    start = _start(z0, problem.m)
    clock = time.perf_counter()
    with np.errstate(all="ignore"):
        reduction: FrictionReduction | None = None
        local = problem
        if isinstance(problem, GlobalFrictionProblem):
            reduction = problem.reduce()
            local = reduction.problem
        assert isinstance(local, FrictionProblem)
        if reduction is not None and not reduction.consistent:
            said = "the equations M v = H r + f + G lambda, G' v + b = 0 have no solution"
            claim = FrictionClaim(np.zeros(local.m), Status.INCONSISTENT, 0, said)
        elif not local._q.any():
            # r = 0 whatever W is: homogeneous.
            claim = FrictionClaim(np.zeros(local.m), Status.SOLVED, 0, "q = 0" if local.m else "no contact")
        else:
            claim = solver.solve(local, z0=start, tolerance=bound, trace=trace)
        return judged(local, reduction, solver, claim, bound, clock)


def _start(z0: ArrayLike | FrictionResult | None, m: int) -> Vector | None:
    if isinstance(z0, FrictionResult):
        # A solve that failed must not make the next one raise.
        z0 = z0.r if np.isfinite(z0.r).all() else None
    return None if z0 is None else checked_vector("z0", z0, m)

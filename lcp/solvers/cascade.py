"""The default: a line-up of solvers chosen by the problem's form, size and structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.box import BoxLCP
from lcp.dispatch import DENSE_LIMIT
from lcp.mixed import MLCP
from lcp.options import check_positive
from lcp.problem import LCP, dense_bytes
from lcp.residuals import DEFAULT_TOLERANCE, Problem
from lcp.result import Claim
from lcp.solvers.active_set_pivoting import ActiveSetPivoting
from lcp.solvers.block_principal_pivoting import BlockPrincipalPivoting
from lcp.solvers.cottle_dantzig import CottleDantzig
from lcp.solvers.enumeration import Enumeration
from lcp.solvers.extended_lemke import ExtendedLemke
from lcp.solvers.fallback import Fallback
from lcp.solvers.feasibility import Feasibility
from lcp.solvers.fischer_newton import FischerNewton
from lcp.solvers.interior_point import InteriorPoint
from lcp.solvers.lemke import Lemke
from lcp.solvers.refined import Refined
from lcp.solvers.regularized import Regularized
from lcp.traits import Traits

# Below, Lemke's kernel has solved the problem before its structure has been looked at.
_SMALL = 24
# From here on factorising active blocks a few times costs less than pivoting one pair after the other.
_LARGE = 96
# Pairs up to which pivoting in double-double arithmetic is worth waiting for.
_EXTENDED = 400


@dataclass(frozen=True)
class Cascade:
    """Solve with a line-up chosen by the problem; `line_up` tells which and `Result.attempts` how each ended.

    The first verified answer, or the first proof that there is none, ends it. See ``docs/how_to_choose.md``.

    Parameters
    ----------
    time_limit
        Seconds after which no further solver is begun.
    """

    time_limit: float = 600.0

    traits: ClassVar[Traits] = Traits.WARM_START | Traits.MIXED | Traits.BOXED | Traits.SPARSE

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        check_positive(self, "time_limit")

    def line_up(self, problem: Problem) -> tuple[Any, ...]:
        """The solvers that would be tried on ``problem``, in order."""
        if isinstance(problem, MLCP):
            return _thorough(problem.n)
        quick = _quick(problem)
        if problem.sparse:
            if dense_bytes(problem) > DENSE_LIMIT:
                return (*quick, Feasibility())
            return (*quick, *_thorough(problem.n))
        if isinstance(problem, BoxLCP):
            return (*quick, CottleDantzig(), *_thorough(problem.n))
        return (*quick, *_thorough(problem.n))

    def solve(
        self,
        problem: Problem,
        *,
        z0: NDArray[np.float64] | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        trace: bool = False,
    ) -> Claim:
        """Try the line-up."""
        several = Fallback(*self.line_up(problem), time_limit=self.time_limit)
        return several.solve(problem, z0=z0, tolerance=tolerance, trace=trace)


def _quick(problem: LCP | BoxLCP) -> tuple[Any, ...]:
    """What is worth trying before Lemke's method: cheap where it fits, and quick to notice where it does not."""
    n = problem.n
    if problem.sparse:
        diagonal = problem._M.diagonal()
        if not (diagonal > 0.0).all():
            return (FischerNewton(),) if n > _LARGE else ()
        return (BlockPrincipalPivoting(), Refined(InteriorPoint()), FischerNewton())
    if isinstance(problem, BoxLCP):
        return (BlockPrincipalPivoting(),) if (np.diag(problem._M) > 0.0).all() else ()
    if n < _SMALL:
        return ()
    # Bodies at rest: few rows are violated at z = 0, and few unknowns will be positive.
    if 8 * int(np.count_nonzero(problem._q < 0.0)) <= n:
        return (ActiveSetPivoting(),)
    if n >= _LARGE and bool((np.diag(problem._M) > 0.0).all()):
        return (BlockPrincipalPivoting(),)
    return ()


def _thorough(n: int) -> tuple[Any, ...]:
    """Lemke's method, and what is left to try or to prove where it fails."""
    precise: tuple[Any, ...] = (ExtendedLemke(),) if n <= _EXTENDED else ()
    return (
        Lemke(),
        Feasibility(),
        BlockPrincipalPivoting(),
        *precise,
        Regularized(Lemke(restarts=1), plain_first=False),
        Enumeration(),
    )

"""The default solver: a sequence of solvers chosen by the form, size and structure of the problem."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.dispatch import DENSE_LIMIT
from lcp.farkas import row_proof
from lcp.method import SolverBase, SolveRequest, Traits, positive_option
from lcp.problem import LCP, MLCP, BoxLCP, dense_bytes
from lcp.residuals import Problem
from lcp.result import Claim, Result
from lcp.solvers.block_principal_pivoting import BlockPrincipalPivoting
from lcp.solvers.complementary_path import BoxLemke, LemkeHowson, player_strategies
from lcp.solvers.composed import BlockTriangular, Fallback, Refined, Regularized
from lcp.solvers.concave_minimization import ConcaveMinimization
from lcp.solvers.enumeration import Enumeration, Feasibility
from lcp.solvers.extended_lemke import ExtendedLemke
from lcp.solvers.interior_point import InteriorPoint
from lcp.solvers.lemke import Lemke
from lcp.solvers.nonsmooth_newton import FischerNewton, MinMapNewton
from lcp.solvers.principal_pivoting import ActiveSetPivoting, CottleDantzig
from lcp.status import Status

_LEMKE = Lemke()
# Below this size Lemke's kernel is faster than the analysis of the structure.
_SMALL = 24
# Largest number of pairs for which all bases are tried early.
_FEW = 12
# Largest game that is solved by pivoting; a pivot costs n^2 operations, some cost n^3.
_GAME = 2000
# A dense M of at least this size, with at most this fraction of nonzero entries, is treated as sparse (many bodies).
_MANY, _THIN = 600, 0.1
# Seconds for the search among vertices, which ends early only if it finds a solution.
_SEARCH = 5.0
# Limit on factorisations of the first block pivoting. If it is reached, pairs are probably exchanged one by one, and
# the interior point and Newton's method come first. Obstacles of 100 000 unknowns need 13 to 25.
_BLOCKS = 40
# Largest size for pivoting along a box, or in double-double arithmetic.
_EXTENDED = 400
# Solve one block of M after the other, with solvers for several matrix classes.
_BY_BLOCKS = (
    BlockTriangular(
        Fallback(BlockPrincipalPivoting(max_iterations=_BLOCKS), Lemke(), CottleDantzig(), FischerNewton())
    ),
)


@dataclass(frozen=True)
class Cascade(SolverBase[Problem]):
    """Solve with a sequence of solvers chosen by the problem.

    `solver_sequence` returns the solvers, and `Result.attempts` has the status of each.

    The first verified solution, or the first proof that there is none, ends it. See ``docs/how_to_choose.md``.

    Parameters
    ----------
    time_limit
        CPU seconds for all solvers together; each may use the remaining time.
    """

    time_limit: float = positive_option(600.0)

    traits: ClassVar[Traits] = Traits.WARM_START | Traits.MIXED | Traits.BOXED | Traits.SPARSE

    def solver_sequence(self, problem: Problem) -> tuple[Any, ...]:
        """Return the solvers that would be tried on ``problem``, in order."""
        # Only the size class matters, so one sequence is used for all problems of a class.
        size = next((bound for bound in (_FEW, _EXTENDED) if problem.n <= bound), _EXTENDED + 1)
        return _solvers(classify_structure(problem), size)

    def _solve_and_verify(self, problem: LCP, z0: Vector | None, tolerance: float) -> Result | None:
        """Return the result of `Lemke` if it is the first solver for a small dense problem and solves it.

        Otherwise return None; the caller then uses `_claim`, which runs the whole sequence.
        """
        if problem.n >= _SMALL or problem.sparse or self.time_limit < _LEMKE.time_limit or type(self) is not Cascade:
            return None
        if self.solver_sequence(problem)[0] is not _LEMKE:
            return None
        result = _LEMKE._solve_and_verify(problem, z0, tolerance)
        return result if result is not None and result.solved else None

    def _claim(self, problem: Problem, request: SolveRequest) -> Claim:
        """Run `Fallback` over the sequence for the structure of the problem; a "thin" dense M is first made sparse.

        A large or sparse `LCP` with a row that proves infeasibility (q_i < 0, no positive entry) is not solved.
        """
        if isinstance(problem, LCP) and (problem.sparse or problem.n >= _SMALL):
            proof = row_proof(problem)
            if proof is not None:
                detail = f"row {int(np.argmax(proof.y))} has q < 0 and no positive entry"
                return Claim(np.zeros(problem.n), Status.INFEASIBLE, 0, detail, evidence=proof)
        line_up = self.solver_sequence(problem)
        if isinstance(problem, LCP) and classify_structure(problem).endswith(", thin"):
            from scipy import sparse

            problem = LCP(sparse.csr_array(problem._M), problem._q, problem._q_uncertainty)
        return Fallback(*line_up, time_limit=self.time_limit)._claim(problem, request)


def classify_structure(problem: Problem) -> str:
    """Return the structure of the data, from which `_solvers` chooses the sequence; a mixed problem is "plain".

    - Dense: "game" (bimatrix game), "boxed" or "boxed regular" (M_ii > 0), "resting" (few q_i < 0) or "plain".
      The last two get ", thin" if a large M has few nonzero entries.
    - Sparse: "sparse regular" or "sparse irregular" with ", boxed" for bounds, after "huge " if a dense M is too large.
    """
    if isinstance(problem, MLCP):
        return "plain"
    n = problem.n
    if problem.sparse:
        regular = "regular" if (problem._M.diagonal() > 0.0).all() else "irregular"
        kind = f"sparse {regular}{', boxed' if isinstance(problem, BoxLCP) else ''}"
        return kind if dense_bytes(problem) <= DENSE_LIMIT else f"huge {kind}"
    if isinstance(problem, BoxLCP):
        return "boxed regular" if (np.diag(problem._M) > 0.0).all() else "boxed"
    if n <= _GAME and player_strategies(problem) is not None:
        return "game"
    if n < _SMALL:
        return "plain"
    thin = ", thin" if n >= _MANY and np.count_nonzero(problem._M) <= _THIN * n * n else ""
    # Bodies at rest: few rows are violated at z = 0, and few unknowns will be positive.
    return ("resting" if 8 * int(np.count_nonzero(problem._q < 0.0)) <= n else "plain") + thin


@functools.cache
def _solvers(kind: str, n: int) -> tuple[Any, ...]:
    """Return the solver sequence of a structure; solvers are values, so one tuple serves every solve."""
    before: tuple[Any, ...] = {
        "plain": (),
        "resting": (ActiveSetPivoting(),),
        "game": (LemkeHowson(time_limit=60.0),),
        "boxed": (CottleDantzig(),),
        "boxed regular": (BlockPrincipalPivoting(), CottleDantzig()),
        "sparse regular": (
            BlockPrincipalPivoting(max_iterations=_BLOCKS),
            *_BY_BLOCKS,
            Refined(InteriorPoint()),
            FischerNewton(),
            BlockPrincipalPivoting(),
        ),
        "sparse irregular": (FischerNewton(), *_BY_BLOCKS),
    }[kind.removeprefix("huge ").removesuffix(", boxed").removesuffix(", thin")]
    if kind.startswith("huge "):
        return (*before, Feasibility())
    if kind.endswith(", thin"):
        # For contacts of many bodies Lemke's path is either short or too long.
        before = (
            *before,
            Lemke(restarts=0, time_limit=5.0),
            FischerNewton(time_limit=15.0),
            Refined(InteriorPoint(time_limit=30.0)),
        )
    if "boxed" in kind and n <= _EXTENDED:
        # BoxLemke always ends, but its path may be long; from about n = 100 the random search is faster.
        search = (ConcaveMinimization(time_limit=_SEARCH),)
        before = (*before, BoxLemke(time_limit=1.0), *search, BoxLemke(time_limit=60.0))
    last: tuple[Any, ...] = (
        *((ExtendedLemke(),) if n <= _EXTENDED else ()),
        Regularized(Lemke(restarts=1), plain_first=False),
        # For matrices of no known class nothing is proven, so a random search and Newton's methods are tried.
        *((ConcaveMinimization(time_limit=_SEARCH),) if n <= _EXTENDED and "boxed" not in kind else ()),
        FischerNewton(time_limit=10.0),
        MinMapNewton(time_limit=10.0),
    )
    # Trying a few thousand bases takes less time than all of these, and decides the problem.
    last = (Enumeration(), *last) if n <= _FEW else (*last, Enumeration())
    blocks = _BY_BLOCKS if n > _FEW and "sparse" not in kind else ()
    return (*before, _LEMKE, *blocks, Feasibility(), CottleDantzig(), *last)

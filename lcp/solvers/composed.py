"""Solvers made of other solvers.

They solve on M + s I for growing s, polish on an active set, try one after another, or go block by block of M.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from lcp.arrays import Vector, graph_components
from lcp.claims import NO_SOLUTION_STATUSES, attempt_from_claim, verified_status
from lcp.dispatch import call_any_solver, project_zero
from lcp.factors import shifted
from lcp.interruptible import cpu_seconds
from lcp.method import (
    SolverBase,
    SolveRequest,
    Traits,
    bool_option,
    check_option,
    check_solver,
    integer_option,
    is_positive,
    number,
    positive_option,
    with_time_limit,
)
from lcp.polish import refine
from lcp.problem import LCP, MLCP, BoxLCP, bounds_of
from lcp.residuals import Problem, measure, verified
from lcp.result import Attempt, Claim
from lcp.solvers.lemke import Lemke
from lcp.status import ProblemError, Status


@dataclass(frozen=True)
class Regularized(SolverBase[LCP]):
    """Solve with M + 10^e max|M| I for one exponent e after another until the answer solves the original problem.

    The shift makes singular pivots small ones and a positive semidefinite M definite. Its solution is only a start:
    unchanged, or polished on its active set from the original data, it must solve the original problem. Otherwise the
    next exponent is tried. ``Result.regularization`` is the shift with which z was found.

    Parameters
    ----------
    inner
        Solver of the shifted problems.
    exponents
        Powers of ten, in units of the largest |M_ij| (1 for M = 0), tried in this order.
    plain_first
        Try without a shift first.
    polish
        Polish on the active set, see `Refined`.
    time_limit
        Seconds after which no further shift is tried; each try has the limit of the inner solver.

    References
    ----------
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section 5.6 (Tikhonov).
    """

    inner: Any = field(default_factory=Lemke)
    exponents: tuple[float, ...] = (-14.0, -12.0, -10.0, -8.0, -6.0, -4.0, -2.0, 0.0)
    plain_first: bool = bool_option(True)
    polish: bool = bool_option(True)
    time_limit: float = positive_option(120.0)

    traits: ClassVar[Traits] = Traits.WARM_START | Traits.SPARSE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver("Regularized.inner", self.inner)
        given: Any = self.exponents  # whatever the caller's types say
        if not isinstance(given, Iterable) or isinstance(given, str):
            raise ProblemError(f"Regularized.exponents must be numbers, got {given!r}")
        given = tuple(given)
        exponents = tuple(number(e) for e in given)
        for i, e in enumerate(exponents):
            if not abs(e) <= 100.0:
                raise ProblemError(f"Regularized.exponents[{i}] = {given[i]!r} must be a number in [-100, 100]")
        if not exponents:
            raise ProblemError("Regularized.exponents is empty")
        object.__setattr__(self, "exponents", exponents)

    def _claim(self, problem: LCP, request: SolveRequest) -> Claim:
        """Solve with M + shift I for one shift after another until a z solves the original problem, or time is over.

        If none does, the claim is the one of least natural residual on the original problem.
        """
        size = float(abs(problem._M).max()) if problem.n else 0.0
        scale = size if size > 0.0 else 1.0
        shifts = [0.0] if self.plain_first else []
        shifts += [10.0**e * scale for e in self.exponents]
        deadline = cpu_seconds() + self.time_limit
        spent = 0
        best: Claim | None = None
        least = math.inf
        for tried, shift in enumerate(shifts):
            if best is not None and cpu_seconds() > deadline:
                # A proof for the plain problem stays valid.
                status = best.status if best.evidence is not None else Status.ITERATION_LIMIT
                detail = f"time limit; no answer under {tried} of {len(shifts)} shifts"
                return replace(best, status=status, iterations=spent, detail=detail, attempts=())
            claim = call_any_solver(
                problem if shift == 0.0 else LCP(shifted(problem._M, shift), problem._q, problem._q_uncertainty),
                with_time_limit(self.inner, deadline - cpu_seconds()),
                request,
            )
            spent += claim.iterations
            answer = self._verified(problem, claim, shift, request.tolerance)
            if answer is not None:
                detail = "no shift needed" if shift == 0.0 else f"shift {shift:.1e}"
                return replace(answer, iterations=spent, detail=detail, regularization=shift, attempts=())
            # A proof for a shifted problem is not a proof for the original one.
            status = claim.status if shift == 0.0 or claim.status in _OF_THE_PATH else Status.STALLED
            evidence = claim.evidence if shift == 0.0 else None
            # An answer of size 1 / shift leaves a residual within rounding of M z: it must not pass for a solution.
            drowned = not np.isfinite(claim.z).all() or measure(problem, claim.z)[0].solved(request.tolerance)
            z = np.zeros(problem.n) if drowned else claim.z
            natural = measure(problem, z)[0].natural_map
            if best is None or natural < least:
                best, least = replace(claim, z=z, status=status, evidence=evidence, regularization=shift), natural
        assert best is not None
        return replace(best, iterations=spent, detail=f"no answer under {len(shifts)} shifts", attempts=())

    def _verified(self, problem: LCP, claim: Claim, shift: float, tolerance: float) -> Claim | None:
        """Return the claim with a z that solves the original problem, polished if necessary, or None if it has none."""
        if shift == 0.0 and np.isfinite(claim.z).all() and measure(problem, claim.z)[0].solved(tolerance):
            return replace(claim, status=Status.SOLVED)
        if shift == 0.0 and claim.status not in (Status.SOLVED, Status.STALLED):
            return None
        if verified(problem, claim.z, tolerance):
            return replace(claim, status=Status.SOLVED)
        z = refine(problem, claim.z, tolerance) if self.polish else None
        return None if z is None else replace(claim, z=z, status=Status.SOLVED)


_OF_THE_PATH = (
    Status.RAY_TERMINATION,
    Status.ITERATION_LIMIT,
    Status.SINGULAR_BASIS,
    Status.NOT_FINITE,
    Status.UNSUITABLE,
)


@dataclass(frozen=True)
class Refined(SolverBase[Problem]):
    """Polish the answer of a first-order or interior method to the last digits.

    The unknowns with z_i > w_i (in equilibrated units) are assumed positive and their rows are solved from the original
    data, in a few rounds. If the result is not a verified solution, it is discarded and the inner claim is returned.

    Parameters
    ----------
    inner
        Solver whose solution is polished.
    rounds
        Limit on active sets.
    """

    inner: Any = field(default_factory=Lemke)
    rounds: int = integer_option(5, least=1)

    traits: ClassVar[Traits] = Traits.WARM_START | Traits.MIXED | Traits.BOXED | Traits.SPARSE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver("Refined.inner", self.inner)

    def _claim(self, problem: Problem, request: SolveRequest) -> Claim:
        """Return the claim of the inner solver, with its z refined on the active set if the refined z is a solution."""
        claim = call_any_solver(problem, self.inner, request)
        better = refine(problem, claim.z, request.tolerance, self.rounds)
        if better is None or better is claim.z:
            return claim
        detail = "; ".join(part for part in (claim.detail, "polished on the active set") if part)
        return replace(claim, z=better, status=Status.SOLVED, detail=detail, attempts=())


@dataclass(frozen=True, init=False)
class Fallback(SolverBase[Problem]):
    """Try solvers in order; the first verified solution, or the first proof that there is none, ends it.

    Every attempt is measured on the original data and kept in ``Result.attempts``. Without a solution the result is the
    one of the first solver that applied to the problem (was not UNSUITABLE). Each kind of problem is passed to each
    solver as by `lcp.solve`.

    Parameters
    ----------
    *solvers
        One or more solver objects.
    time_limit
        CPU seconds for all solvers together; each may use the remaining time, if this is less than its limit.
    """

    solvers: tuple[Any, ...]
    time_limit: float

    traits: ClassVar[Traits] = Traits.WARM_START | Traits.MIXED | Traits.BOXED | Traits.SPARSE

    def __init__(self, *solvers: Any, time_limit: float = 600.0) -> None:
        if not solvers:
            raise ProblemError("Fallback needs at least one solver")
        for i, solver in enumerate(solvers):
            check_solver(f"Fallback: solver {i}", solver)
        object.__setattr__(self, "solvers", solvers)
        object.__setattr__(self, "time_limit", time_limit)
        check_option(self, "time_limit", is_positive, "be positive")

    def _claim(self, problem: Problem, request: SolveRequest) -> Claim:
        """Call the solvers in order until a verified solution, a verified proof that there is none, or the time limit.

        Otherwise the claim is the one of the first solver that was suitable. ``attempts`` lists all solvers tried.
        """
        deadline = cpu_seconds() + self.time_limit
        attempts: list[Attempt] = []
        spent = 0
        kept: Claim | None = None
        for solver in self.solvers:
            claim = call_any_solver(problem, with_time_limit(solver, deadline - cpu_seconds()), request)
            status, residual, z, _ = verified_status(problem, claim, request.tolerance)
            spent += claim.iterations
            attempts.extend(claim.attempts or (attempt_from_claim(solver, claim, status, residual),))
            # Proofs: no other solver can do better.
            done = status is Status.SOLVED or status in NO_SOLUTION_STATUSES
            if done or kept is None or kept.status is Status.UNSUITABLE:
                by = solver if claim.solver is None else claim.solver
                kept = Claim(z, status, 0, claim.detail, claim.evidence, claim.regularization, claim.trace, (), by)
            if done or cpu_seconds() > deadline:
                break
            if status is Status.NOT_FINITE and not measure(problem, project_zero(problem))[0].finite:
                kept = replace(kept, detail=f"{kept.detail}; numbers beyond double precision".removeprefix("; "))
                break
        assert kept is not None
        return replace(kept, iterations=spent, attempts=tuple(attempts))


@dataclass(frozen=True)
class BlockTriangular(SolverBase[Problem]):
    """Solve one strongly connected block of M after the other, with the unknowns of previous blocks substituted.

    First z_i = 0 is set for pairs whose w_i cannot be negative: q_i >= 0, and no negative entry multiplies an unknown
    that can be positive. The other pairs form blocks that do not depend on later ones (Tarjan 1972). A permuted
    triangular M is a chain of single pairs, which are solved by substitution. The status is UNSUITABLE if there is only
    one block. A block without solution is not a proof, because a previous block may have another solution.

    Parameters
    ----------
    inner
        The solver of the blocks of two and more.
    time_limit
        Seconds, checked between blocks.

    References
    ----------
    R. E. Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972); R. W. Cottle, J.-S. Pang,
    R. E. Stone, The Linear Complementarity Problem (1992), section 3.11 (reducible matrices).
    """

    inner: Any = field(default_factory=Lemke)
    time_limit: float = positive_option(60.0)

    traits: ClassVar[Traits] = Traits.MIXED | Traits.BOXED | Traits.SPARSE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver("BlockTriangular.inner", self.inner)

    def _claim(self, problem: Problem, request: SolveRequest) -> Claim:
        """Solve the strongly connected blocks one after the other, each with the solutions of the blocks before.

        The claim is UNSUITABLE if there is one block only, and STALLED if a block has no verified solution.
        """
        from scipy import sparse

        deadline = cpu_seconds() + self.time_limit
        given, q = (problem._K, problem._k) if isinstance(problem, MLCP) else (problem._M, problem._q)
        dense = isinstance(given, np.ndarray)
        M, (lo, hi) = sparse.csr_array(given), bounds_of(problem)
        M.eliminate_zeros()
        M.sort_indices()
        z = _fixed(M, q, lo, hi)
        moving = np.flatnonzero(np.isnan(z))
        z[moving] = 0.0
        # Each block is after the blocks that its rows depend on.
        blocks = graph_components(M[moving][:, moving], strong=True)
        if len(blocks) == 1 and moving.shape[0] == q.shape[0]:
            return Claim(np.clip(z, lo, hi), Status.UNSUITABLE, 0, "one strongly connected block")
        diagonal, detail = M.diagonal(), f"{len(blocks)} blocks"
        for block in blocks:
            rows = moving[block]
            found: Vector | float | None
            if rows.shape[0] == 1:
                i = rows[0]
                own = slice(M.indptr[i], M.indptr[i + 1])
                load = float(q[i] + M.data[own] @ z[M.indices[own]])
                found = _single(float(diagonal[i]), load, float(lo[i]), float(hi[i]))
            else:
                all_of_them = M[rows]
                own_part = all_of_them[:, rows]
                part = BoxLCP(own_part.toarray() if dense else own_part, q[rows] + all_of_them @ z, lo[rows], hi[rows])
                found = self._solved(part, request, deadline)
            if found is None:
                detail += f", no solution found of one of {rows.shape[0]}"
                return Claim(np.clip(z, lo, hi), Status.STALLED, len(blocks), detail)
            z[rows] = found
        return Claim(z, Status.SOLVED, len(blocks), detail)

    def _solved(self, part: BoxLCP, request: SolveRequest, deadline: float) -> Vector | None:
        """Return a verified solution of a block, or None; a block with bounds 0 and inf is solved as an `LCP`."""
        plain = not part.lo.any() and np.isposinf(part.hi).all()
        problem: Problem = LCP(part._M, part._q) if plain else part
        left = deadline - cpu_seconds()
        if left <= 0.0:
            return None
        z = call_any_solver(problem, with_time_limit(self.inner, left), SolveRequest(None, request.tolerance, False)).z
        return z if verified(problem, z, request.tolerance) else None


def _fixed(M: Any, q: Vector, lo: Vector, hi: Vector) -> Vector:
    """Return z (n,) of the unknowns that can be fixed at a bound before solving, nan for all others.

    An unknown is fixed if its w = M z + q has one sign for all values of the others within their bounds. It is fixed at
    ``lo`` if w >= 0 and at ``hi`` if w <= 0. Fixed unknowns narrow the range of w in other rows, so this is repeated.
    """
    z = np.where(lo == hi, lo, np.nan)
    positive, negative = M.maximum(0.0), M.minimum(0.0)
    while True:
        low, high = np.where(np.isnan(z), lo, z), np.where(np.isnan(z), hi, z)
        at_low = np.isnan(z) & np.isfinite(lo) & (q + positive @ low + negative @ high >= 0.0)
        at_high = np.isnan(z) & np.isfinite(hi) & (q + positive @ high + negative @ low <= 0.0)
        if not (at_low | at_high).any():
            return z
        z = np.where(at_low, lo, np.where(at_high, hi, z))


def _single(m: float, load: float, lo: float, hi: float) -> float | None:
    """Return the z between its bounds that is complementary to m z + load, or None."""
    if np.isfinite(lo) and m * lo + load >= 0.0:
        return lo
    if np.isfinite(hi) and m * hi + load <= 0.0:
        return hi
    z = -load / m if m != 0.0 else 0.0 if load == 0.0 else np.nan
    return min(max(z, lo), hi) if lo <= z <= hi else None

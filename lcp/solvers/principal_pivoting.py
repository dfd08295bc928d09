"""Principal pivoting: the methods of Cottle and Dantzig, and of Murty, on a dense tableau; and on an active set.

The first two share the tableau, the check of the final basis, and further rounds with a smaller zero tolerance.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.farkas import Farkas
from lcp.kernels import ITERATION_LIMIT, RAY, RUNNING, SOLVED
from lcp.method import (
    MONOTONE,
    SYMMETRIC_MONOTONE,
    SolverBase,
    SolveRequest,
    Traits,
    integer_option,
    positive_option,
    real_option,
)
from lcp.polish import refine
from lcp.problem import LCP, BoxLCP, kernel_arrays
from lcp.residuals import DEFAULT_TOLERANCE, measure, verified
from lcp.result import Claim
from lcp.solvers.frame import SolveState, pivots_per_call
from lcp.status import STATUS_OF_CODE, ProblemError, Status

# Pivots between two returns to Python, which check Ctrl-C and the time limit; fewer for large problems.
_BUDGET = 128
# Rounds of pivoting; each begins from the last final basis, if it is no solution, with a smaller zero tolerance.
_ROUNDS = 3
#: Details of paths that end without a solution.
TOO_LONG = "problem too long: max_pivots reached"
_DETAIL = {
    SOLVED: "the final basis is no solution of the original data",
    RUNNING: "time limit",
    ITERATION_LIMIT: TOO_LONG,
}


class PivotingState(SolveState):
    """Workspace and data of one solve on a tableau of principal transforms (`lcp.kernels.principal_pivoting`)."""

    def __init__(self, problem: LCP | BoxLCP, request: SolveRequest, time_limit: float) -> None:
        """Scale the data and choose no basis yet."""
        from lcp.kernels import principal_pivoting
        from lcp.kernels.equilibrate import equilibrate

        super().__init__(problem, request, time_limit)
        n = problem.n
        self.kernels = principal_pivoting
        M, self.q = kernel_arrays(problem) if isinstance(problem, LCP) else (problem._M, problem._q)
        self.M: NDArray[np.float64] = M
        self.warm = False
        self.info = np.zeros(self.kernels.INFO_SIZE, dtype=np.int64)
        self.row, self.column = np.empty(n), np.empty(n)
        self.work = np.empty(3 * n)
        equilibrate(self.M, self.row, self.column, 4, self.work)
        # Powers of two: no bound loses a digit.
        self.low, self.high = self.lo / self.column, self.hi / self.column
        self.A = np.empty((n, n))
        self.x, self.b, self.y, self.size = np.zeros((4, n))
        self.direction, self.load, self.rest = np.zeros((3, n))
        self.inside, self.wanted, self.active, self.perm = np.zeros((4, n), dtype=np.int64)
        self.tableau = self.kernels.PrincipalTableau(
            self.M, self.q, self.row, self.column, np.empty((n, n)), self.x, self.b, self.y, self.inside, self.low,
            self.high, self.size, np.empty(n), np.empty(n + 1),
        )  # fmt: skip

    def choose(self, start: Vector | None) -> None:
        """Choose the basis for the next `build`: the z of the start between their bounds, and all without bounds."""
        self.best, self.least = np.clip(np.zeros(self.problem.n), self.lo, self.hi), np.inf
        self.warm = start is not None
        self.info[:], self.iterations = 0, 0
        free = np.isinf(self.lo) & np.isinf(self.hi)
        self.rest[:] = np.where(np.isfinite(self.low), self.low, np.where(np.isfinite(self.high), self.high, 0.0))
        self.wanted[:] = free
        if start is not None:
            self.wanted[:] = free | ((start > self.lo) & (start < self.hi))
            self.rest[:] = np.where((start >= self.hi) & np.isfinite(self.high), self.high, self.rest)

    def keep(self) -> None:
        """Choose the tableau's present basis for the next `build`; nonbasic z rest at their nearest bound, or 0."""
        self.wanted[:] = self.inside
        resting = self.inside == 0
        nearest = np.where(np.abs(self.y - self.high) < np.abs(self.y - self.low), self.high, self.low)
        self.rest[resting] = np.where(np.isfinite(nearest), nearest, 0.0)[resting]

    def build(self) -> None:
        """Form the tableau of the chosen basis from the original data."""
        self.tableau.T[:] = self.M * self.row[:, None] * self.column
        self.x[:] = self.q * self.row
        self.kernels.enter_basis(self.tableau, self.wanted, self.rest)
        self.size[:] = np.maximum(np.abs(self.b), np.abs(self.x))

    def solution(self) -> Claim | None:
        """Solve the present basis from the original data; return the claim if its z solves the problem, otherwise None.

        ``best`` gets z if its backward error is the least so far.
        """
        z = np.empty(self.problem.n)
        self.kernels.resolve(self.tableau, self.lo, self.hi, self.active, self.perm, self.A, self.load, self.work, z)
        if not self.keep_best(z, record=False).solved(self.tolerance):
            return None
        return self.claim(Status.SOLVED, "warm basis accepted" if self.warm and self.iterations == 0 else "")

    def record(self) -> None:
        """Count the pivots since the basis of a start was chosen, and add one number to the trace."""
        self.iterations = int(self.info[self.kernels.PIVOTS])
        if self.recorder.wanted:
            z = np.clip(np.where(self.inside == 1, self.b, self.y) * self.column, self.lo, self.hi)
            self.recorder.add(self.iterations, measure(self.problem, z)[0].natural_map)


class PrincipalPivoting(SolverBase[LCP | BoxLCP]):
    """Base class of the principal pivoting solvers on a dense tableau: `_advance` names the kernel."""

    #: The default of ``max_pivots`` is this number or 50 n, if more.
    least_limit: ClassVar[int]
    #: Meaning of a singular basis of the method.
    singular: ClassVar[str] = ""
    max_pivots: int | None
    zero_tolerance: float
    time_limit: float

    @abstractmethod
    def _advance(self, run: PivotingState, zero_tolerance: float, limit: int) -> Callable[[int], int]:
        """Return a function that makes at most so many pivots from the present tableau, and returns a code."""

    def _proof(self, run: PivotingState, code: int) -> Farkas | None:
        """Return a proof that there is no solution, if the path has ended with one."""
        return None

    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
        """Pivot until a verified solution, a proof that there is none, or a limit."""
        run = PivotingState(problem, request, self.time_limit)
        if verified(problem, run.best, run.tolerance):
            return run.claim(Status.SOLVED)
        return self._from(run, request.z0)

    def _from(self, run: PivotingState, start: Vector | None) -> Claim:
        """Pivot from the basis of a start; reduce the zero tolerance if the final basis is no solution."""
        limit = max(self.least_limit, 50 * run.problem.n) if self.max_pivots is None else self.max_pivots
        run.choose(start)
        for attempt in range(_ROUNDS):
            run.build()
            advance = self._advance(run, self.zero_tolerance * 100.0**-attempt, limit)
            code = run.run(advance, pivots_per_call(run.problem.n, _BUDGET), run.record)
            solution = run.solution()
            if solution is not None:
                return solution
            proof = self._proof(run, code)
            if proof is not None:
                return run.claim(Status.INFEASIBLE, evidence=proof)
            status = STATUS_OF_CODE[code]
            if status is Status.ITERATION_LIMIT:
                break
            run.keep()
        detail = self.singular if status is Status.SINGULAR_BASIS else _DETAIL.get(code, "")
        return run.claim(Status.STALLED if status is Status.SOLVED else status, detail)


# Largest step of a violated pair if nothing else blocks, in units of the largest value of the first tableau.
_FAR = 1024.0


@dataclass(frozen=True)
class CottleDantzig(PrincipalPivoting):
    """Principal pivoting that makes one pair complementary at a time and keeps the others so (Cottle, Dantzig 1968).

    Each major cycle drives one pair to complementarity along a path on which all complementary pairs stay
    complementary. If a diagonal entry vanishes, two pairs are exchanged together. The method ends for P matrices. For
    positive semidefinite (more generally sufficient) M it ends either in a solution or in a proof that the problem is
    infeasible; ties are broken by the least index. Bounds on both sides are native, also infinite and equal ones: a
    driven unknown may also stop at its far bound. The tableau is dense, with n^2 operations per pivot, and a sparse M
    is made dense.

    Parameters
    ----------
    max_pivots
        Limit on pivots; None for max(1000, 50 n).
    zero_tolerance
        Size that counts as zero relative to the terms of a value. The method reduces it if a solution is not accepted.
    pivot_tolerance
        Smallest admissible pivot relative to the entries it couples.
    time_limit
        Seconds, checked between calls of at most 128 pivots.

    References
    ----------
    R. W. Cottle, G. B. Dantzig, Complementary pivot theory of mathematical programming, Linear Algebra and its
    Applications 1 (1968); R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section
    4.3; R. W. Cottle, Y.-Y. Chang, Least-index resolution of degeneracy in linear complementarity problems with
    sufficient matrices, SIAM Journal on Matrix Analysis and Applications 13 (1992); with bounds: D. Baraff, Fast
    contact force computation for nonpenetrating rigid bodies, SIGGRAPH (1994).
    """

    max_pivots: int | None = integer_option(None)
    zero_tolerance: float = real_option(1e-11, least=0.0, most=1e-3)
    pivot_tolerance: float = real_option(1e-10, least=0.0, most=1e-3)
    time_limit: float = positive_option(300.0)

    least_limit: ClassVar[int] = 1000
    traits: ClassVar[Traits] = MONOTONE | Traits.P_MATRIX | Traits.WARM_START | Traits.BOXED

    def _from(self, run: PivotingState, start: Vector | None) -> Claim:
        """Pivot as the other methods; if this fails, refine the best z of an `LCP`, then begin again without a start.

        Only if a start was given is there a second attempt.
        """
        claim = super()._from(run, start)
        if claim.status in (Status.SOLVED, Status.INFEASIBLE) or run.timed_out():
            return claim
        better = refine(run.problem, run.best, run.tolerance) if isinstance(run.problem, LCP) else None
        if better is not None:
            return replace(claim, z=better, status=Status.SOLVED, detail="polished")
        return claim if start is None else self._from(run, None)

    def _advance(self, run: PivotingState, zero_tolerance: float, limit: int) -> Callable[[int], int]:
        run.info[[run.kernels.DRIVEN, run.kernels.IDLE]] = -1, 0
        far = _FAR * float(np.abs(run.b).max())
        return lambda budget: run.kernels.pivot_loop(
            run.tableau, run.direction, zero_tolerance, self.pivot_tolerance, far, limit, run.info, budget
        )

    def _proof(self, run: PivotingState, code: int) -> Farkas | None:
        """Return a Farkas vector, or None: a ray of a semidefinite problem is in the null space of M + M^T."""
        driven = int(run.info[run.kernels.DRIVEN])
        if code != RAY or not isinstance(run.problem, LCP) or driven < 0:
            return None
        y = np.where(run.inside == 1, run.direction, 0.0)
        if run.inside[driven] == 0:
            y[driven] = 1.0
        size = float(np.abs(y).max())
        proof = Farkas(y=np.where(y > 1e-12 * size, y, 0.0) * run.column, v=np.zeros(0))
        return proof if proof.proves(run.problem) else None


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
        order = np.arange(run.problem.n) if self.order is None else np.array(self.order, dtype=np.int64)
        return lambda budget: run.kernels.least_index_loop(
            run.tableau, order, zero_tolerance, 1e-13, limit, run.info, budget
        )


# Rounds between two returns to Python, which check Ctrl-C and the time limit.
_ROUND_BUDGET = 16


@dataclass(frozen=True)
class ActiveSetPivoting(SolverBase[LCP]):
    """Principal pivoting on a factored active set, at a cost of k^3 for k positive unknowns (Drumwright 2017).

    For problems with few positive z, especially boxes at rest: only the columns of M that become active are read. The
    method starts like Drake's fast solver: from z = 0 it exchanges infeasible pairs and solves the active block.
    Factors are updated at a cost of k^2 per pivot, all infeasible pairs are exchanged together while this helps, and
    redundant contacts are left out. The end is proven: for symmetric M by the primal active set method, whose energy
    decreases in every step, for other M by Murty's least-index rule. If M is symmetric positive semidefinite, every
    feasible problem is solved, and for the others a Farkas vector is returned. P matrices always have a solution.

    Friction couples pairs whose diagonal entries vanish, and pivots of single indices may not reach a solution with
    sliding contacts. The status then reports this after a few rounds, and `Lemke` is the method to use.

    Parameters
    ----------
    max_pivots
        Limit on insertions and removals; None for max(1000, 50 n).
    zero_tolerance
        Relative size that counts as zero: for z_i relative to the largest z, for w_i to |q_i| + max_j |M_ij| max_j z_j.
        The method reduces it if a solution is not accepted.
    time_limit
        Seconds, checked between calls of 16 rounds.

    References
    ----------
    E. Drumwright and others, `SolveLcpFast` of Moby and Drake (2016-2019); A. Chang, R. W. Cottle, Least-index
    resolution of degeneracy in quadratic programming, Mathematical Programming 18 (1980); J. J. Judice, F. M. Pires,
    A block principal pivoting algorithm for large-scale strictly monotone linear complementarity problems, Computers
    and Operations Research 21 (1994); K. G. Murty, Opsearch 11 (1974).
    """

    max_pivots: int | None = integer_option(None)
    zero_tolerance: float = real_option(1e-11, least=0.0, most=1e-3)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = SYMMETRIC_MONOTONE | Traits.P_MATRIX | Traits.WARM_START

    def kernel_options(self, tolerance: float = DEFAULT_TOLERANCE) -> NDArray[np.float64]:
        """Return the options as the kernel takes them; see `lcp.kernels.active_set_pivoting`."""
        # The last entry: not free of units.
        return np.array([math.nan if self.max_pivots is None else self.max_pivots, self.zero_tolerance, tolerance, 0.0])

    def _claim(self, problem: LCP, request: SolveRequest) -> Claim:
        """Call the kernel until it ends or the time is over; a ray that proves infeasibility becomes evidence."""
        from lcp.kernels import active_set_pivoting as k

        z0, n = request.z0, problem.n
        M, q = kernel_arrays(problem)
        # A round may end with indices that have entered but have no values yet; a trace must not read random numbers.
        wf = np.zeros(k.active_set_float_size(n))
        wi = np.empty(k.active_set_int_size(n), dtype=np.int64)
        info = np.zeros(k.INFO_SIZE, dtype=np.int64)
        options = self.kernel_options(request.tolerance)
        options[k.FREE_OF_UNITS] = problem._q_uncertainty is None
        search = SolveState(problem, request, self.time_limit)
        z = search.best
        start = z if z0 is None else z0

        def record() -> None:
            search.iterations = int(info[k.PIVOTS])
            if request.trace:
                search.recorder.add(search.iterations, measure(problem, z)[0].natural_map)

        code = search.run(
            lambda budget: k.active_set_drive(M, q, start, z0 is not None, options, wf, wi, z, info, budget),
            _ROUND_BUDGET, record,
        )  # fmt: skip
        status, evidence = STATUS_OF_CODE[code], None
        if status is Status.RAY_TERMINATION:
            # Of a semidefinite M the direction is in the null space, and adds the rows up to a contradiction.
            proof = Farkas(y=np.maximum(wf[:n], 0.0), v=np.zeros(0))
            if proof.proves(problem):
                status, evidence = Status.INFEASIBLE, proof
        if status is Status.SOLVED and info[k.WARM] and search.iterations == 0:
            return search.claim(status, "warm basis accepted")
        return search.claim(status, "time limit" if code == RUNNING else _ACTIVE_SET_DETAIL.get(status, ""), evidence)


_ACTIVE_SET_DETAIL = {
    Status.ITERATION_LIMIT: TOO_LONG,
    Status.SINGULAR_BASIS: "no exchange of single indices leads on",
    Status.RAY_TERMINATION: "the energy falls for ever along a direction",
}

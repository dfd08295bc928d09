"""Base of the solvers by quadratic programming: class check, the program, polish and proof.

A symmetric positive semidefinite, or monotone, problem is equivalent to a quadratic program, dense or sparse as M is.

Symmetric M: min 1/2 z'Mz + q'z over lo <= z <= hi (0 <= z for an `LCP`). Its stationarity conditions are the problem.

Other M: minimise the sum of products of each w_i and the distance of z_i to the bound that admits its sign; the minimum
is zero if there is a solution. Without upper bounds, min z'(Mz + q) over z >= 0, Mz + q >= 0. A row with two bounds has
w = s - t with multipliers s, t >= 0: t is an unknown of the program, and s = w + t >= 0 is a row of it:

    min (z - o)'(Mz + q) + sum (hi - lo)_i t_i,    o_i = lo_i, or hi_i where only that is finite, or 0,

over the bounds and (Mz + q)_i >= 0, <= 0, = 0 or (Mz + q + t)_i >= 0 for an i with a lower, an upper, no or two bounds.

R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), sections 1.4 and 3.1; with two bounds
the same for the complementary pairs of `lcp.box_to_mlcp`.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, check_range, is_symmetric
from lcp.dispatch import project_zero
from lcp.farkas import infeasibility_proof
from lcp.interruptible import cpu_seconds
from lcp.method import SolverBase, SolveRequest, Traits
from lcp.polish import refine
from lcp.problem import LCP, BoxLCP, bounds_of
from lcp.residuals import measure
from lcp.result import Claim
from lcp.status import Status

NOT_MONOTONE = (
    "M is not positive semidefinite: a QP solves symmetric positive semidefinite and monotone problems only; use "
    "Lemke, and for frictional contact see the convex friction backends of the constraint solver, ConvexRelaxation and "
    "StaggeredProjections"
)
# Largest n of sparse problems that are made dense, after a failure, to search for a proof of infeasibility.
_PROOF_SIZE = 1000
# Limit on active sets tried in polishing. A large sparse problem needs some, and each costs little.
_ROUNDS = 5
_SPARSE_ROUNDS = 40


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticProgram:
    """min 1/2 x'Px + c'x over lo <= x <= hi and, where G is given, low <= G x <= high.

    A congruence, which keeps P semidefinite, scales the diagonal and c to about one. The first entries of x are
    (z - center) / scale of the unknowns in ``kept``; the other unknowns have lo = hi. P and G are dense or CSC.
    """

    P: Any
    c: Vector
    lo: Vector
    hi: Vector
    G: Any
    low: Vector
    high: Vector
    kept: NDArray[np.intp]
    center: Vector
    scale: Vector

    @property
    def sparse(self) -> bool:
        """Whether P and G are sparse."""
        return not isinstance(self.P, np.ndarray)

    def recover(self, x: Vector) -> Vector:
        """Return the z of an x, each within its bounds."""
        z = self.center.copy()
        inside = np.clip(x, self.lo, self.hi)[: self.kept.shape[0]]
        z[self.kept] += inside * self.scale
        return z

    def start(self, z: Vector) -> Vector:
        """Return the x of a z; entries that do not belong to z are zero."""
        x = np.zeros(self.c.shape[0])
        x[: self.kept.shape[0]] = (z - self.center)[self.kept] / self.scale
        return np.clip(x, self.lo, self.hi)

    def all_rows(self) -> tuple[Any, Vector, Vector]:
        """Return (R, low, high), CSC: the bounds as rows, then the rows of G."""
        from scipy import sparse

        R = sparse.eye_array(self.c.shape[0], format="csc")
        if self.G is None:
            return sparse.csc_matrix(R), self.lo, self.hi
        rows = sparse.csc_matrix(sparse.vstack([R, sparse.csc_array(self.G)], format="csc"))
        return rows, np.concatenate([self.lo, self.low]), np.concatenate([self.hi, self.high])

    def split_rows(self) -> tuple[Any, Vector, Any, Vector, Vector]:
        """Return (A, b, C, low, high): the equations A x = b among the rows of G, and the other rows.

        None for no rows.
        """
        if self.G is None:
            return None, np.zeros(0), None, np.zeros(0), np.zeros(0)
        equal = self.low == self.high
        # Rows of a CSC matrix are selected without a conversion.
        A = self.G[equal] if equal.any() else None
        C = self.G[~equal] if not equal.all() else None
        return A, self.low[equal], C, self.low[~equal], self.high[~equal]


def program_of(problem: LCP | BoxLCP) -> QuadraticProgram | None:
    """Return the scaled convex QP of the problem, or None if M is not positive semidefinite.

    Unknowns with lo = hi are left out. The variable is x = (z - center) / scale, with the admissible point nearest to
    zero as the center; use `QuadraticProgram.recover` to return to z. If M is not symmetric, the program of `_monotone`
    is returned.
    """
    from lcp.matrix_classes import congruence, congruent, is_positive_semidefinite

    M = problem._M
    if not is_positive_semidefinite(M):
        return None
    center = project_zero(problem)
    load = problem._q + M @ center if center.any() else problem._q
    lo, hi = bounds_of(problem)
    kept = np.flatnonzero(lo != hi)
    if kept.shape[0] < problem.n:
        M, load, lo, hi = M[kept][:, kept], load[kept], lo[kept], hi[kept]
    d = congruence(M)
    S, c = congruent(M, d), load * d
    size = float(abs(S).max()) if kept.shape[0] and (not problem.sparse or S.nnz) else 0.0
    S = S / size if size > 0.0 else S
    unit = float(np.abs(c).max(initial=0.0))
    c = c / unit if unit > 0.0 else c
    scale = d * unit / size if unit > 0.0 and size > 0.0 else d
    low, high = (lo - center[kept]) / scale, (hi - center[kept]) / scale
    check_range("the quadratic program", S.data if problem.sparse else S, c, scale)
    none = np.zeros(0)
    if is_symmetric(S):
        return QuadraticProgram(0.5 * (S + S.T), c, low, high, None, none, none, kept, center, scale)
    return _monotone(S, c, low, high, kept, center, scale)


def _monotone(
    S: Any, c: Vector, lo: Vector, hi: Vector, kept: NDArray[np.intp], center: Vector, scale: Vector
) -> QuadraticProgram:
    """Return the program of an M that is not symmetric; see the docstring of this module."""
    below, above = np.isfinite(lo), np.isfinite(hi)
    double = np.flatnonzero(below & above)
    origin = np.where(below, lo, np.where(above, hi, 0.0))
    low, high = np.where(above & ~below, -np.inf, -c), np.where(below, np.inf, -c)
    P, linear, G, dense = S + S.T, c - S.T @ origin, S, isinstance(S, np.ndarray)
    n, t = c.shape[0], double.shape[0]
    if t:
        from scipy import sparse

        linear = np.concatenate([linear, (hi - lo)[double]])
        lo, hi = np.concatenate([lo, np.zeros(t)]), np.concatenate([hi, np.full(t, np.inf)])
        ones = sparse.csc_array((np.ones(t), (double, np.arange(t))), shape=(n, t))
        P = np.pad(P, (0, t)) if dense else sparse.block_diag([P, sparse.csc_array((t, t))])
        G = np.hstack([S, ones.toarray()]) if dense else sparse.hstack([S, ones])
    if not dense:
        from scipy import sparse

        # The form that the codes accept.
        P, G = sparse.csc_matrix(P), sparse.csc_matrix(G)
    return QuadraticProgram(P, linear, lo, hi, G, low, high, kept, center, scale)


@dataclass(frozen=True, slots=True, eq=False)
class QPResult:
    """Result of an external QP code: x or None, the code's status text, iterations, whether a limit ended it."""

    x: Any
    native_status: str
    iterations: int
    limited: bool = False


class QPSolverBase(SolverBase[LCP | BoxLCP]):
    """The frame of the solvers that hand a `Program` to a QP code: a method sets the code up and reads its answer.

    The class of M is checked and the solution polished on its active set. If the code failed, a proof of infeasibility
    is searched. The code gets a start if ``traits`` include WARM_START; no trace is kept.

    """

    #: Module of a QP code that may not be installed.
    package: ClassVar[str | None] = None
    traits: ClassVar[Traits]
    polish: bool
    time_limit: float = 300.0  # of a proof, if the code itself has no limit

    @abstractmethod
    def _answer(self, program: QuadraticProgram, start: Vector | None) -> QPResult:
        """Return the result of the QP code."""

    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
        """Solve the QP of a monotone problem by the code, and refine its z on the active set.

        If this does not solve the problem, look for a proof that it is infeasible. The claim is UNSUITABLE if M is not
        positive semidefinite or the code is not installed.
        """
        z, tolerance = project_zero(problem), request.tolerance
        if self.package is not None:
            try:
                importlib.import_module(self.package)
            except ImportError:
                detail = f"{self.package} is not installed: pip install '.[peers]'"
                return Claim(z, Status.UNSUITABLE, 0, detail)
        deadline = cpu_seconds() + self.time_limit
        program = program_of(problem)
        if program is None:
            return Claim(z, Status.UNSUITABLE, 0, NOT_MONOTONE)
        if measure(problem, z)[0].solved(tolerance):
            return Claim(z, Status.SOLVED, 0)
        z0 = request.z0 if self.traits & Traits.WARM_START else None
        answer = self._answer(program, None if z0 is None else program.start(z0))
        x = None if answer.x is None else np.asarray(answer.x, dtype=np.float64)
        usable = x is not None and x.shape == program.c.shape and bool(np.isfinite(x).all())
        if x is not None and usable:
            recovered = program.recover(x)
            z = recovered if np.isfinite(recovered).all() else z
        if not measure(problem, z)[0].solved(tolerance):
            rounds = _SPARSE_ROUNDS if problem.sparse else _ROUNDS
            better = refine(problem, z, tolerance, rounds) if self.polish and usable else None
            if better is None:
                small = not problem.sparse or problem.n <= _PROOF_SIZE
                proof = infeasibility_proof(problem, min(60.0, deadline - cpu_seconds())) if small else None
                status = Status.ITERATION_LIMIT if answer.limited else Status.STALLED
                status = status if proof is None else proof.status(problem)
                return Claim(z, status, answer.iterations, answer.native_status, evidence=proof)
            z = better
        elif self.polish:
            # QP codes stop at their tolerance: solve the active rows to rounding if possible.
            better = refine(problem, z, max(1e-3 * measure(problem, z)[0].backward_error, 1e-15))
            z = z if better is None else better
        return Claim(z, Status.SOLVED, answer.iterations, answer.native_status)

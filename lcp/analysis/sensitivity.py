"""Derivatives of a solution with respect to M, q and the bounds, forward and adjoint.

An unknown clearly between its bounds is active and has w = 0. If every other unknown is at a bound with w clearly not
zero, the solution is a smooth function of the data: M_aa dz_a = -(dM z + dq + M_ab dz_b)_a, with dz_b the change of the
bounds. At a degenerate solution it has kinks, and the derivative belongs to one of the smooth pieces that meet there.
For a P-matrix every choice of degenerate unknowns gives a piece with points arbitrarily near. So each of these
derivatives is an element of the B-subdifferential, and of the generalised Jacobian, of the solution map.

S. Scholtes, Introduction to Piecewise Differentiable Equations (2012), chapter 4 (the derivatives of the pieces in
every neighbourhood make the B-subdifferential); Cottle, Pang and Stone (1992), chapter 7.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector, checked_vector, row_abs_max, shaped_matrix
from lcp.conversions import check_kind
from lcp.factors import MIN_RCOND, block, equilibrated
from lcp.interruptible import interruptible
from lcp.problem import MLCP, bounds_of
from lcp.residuals import Problem, measure
from lcp.result import MLCPResult, Result
from lcp.status import ProblemError, Status

_CHOICES = ("strict", "weak")


@dataclass(frozen=True, slots=True, eq=False)
class BoxForm:
    """lo <= x <= hi with w = M x + q: w >= 0 at lo, w <= 0 at hi, w = 0 between. M is dense, or CSR if it was given so.

    An `MLCP` has x = (u, y) and M = [[A, X1], [X2, X3]]; its free unknowns have no bounds.
    """

    M: Any
    q: Vector
    lo: Vector
    hi: Vector

    @property
    def sparse(self) -> bool:
        """True if M is stored sparse."""
        return not isinstance(self.M, np.ndarray)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return int(self.q.shape[0])


def box_form_at(problem: Problem, z: ArrayLike | Result | MLCPResult) -> tuple[BoxForm, Vector]:
    """Return the box form of a problem, whose arrays are shared, and the unknowns of a result or vector as one vector.

    They are z, or (u, y) of an `MLCP`.
    """
    check_kind(problem)
    mixed = isinstance(problem, MLCP)
    M, q = (problem._K, problem._k) if isinstance(problem, MLCP) else (problem._M, problem._q)
    if isinstance(z, Result):
        z = z.z
    elif isinstance(z, MLCPResult):
        z = np.concatenate([z.u, z.y])
    return BoxForm(M, q, *bounds_of(problem)), checked_vector("(u, y)" if mixed else "z", z, q.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """The derivative of a solution.

    Attributes
    ----------
    status
        `Status.SOLVED`, or `Status.SINGULAR_BASIS` if the active block is singular: derivatives are then the
        least-squares solutions of the active rows with the least norm.
    detail
        Text about the result.
    active
        Indices of the unknowns that change with q (of an `MLCP` in (u, y), including all free unknowns).
    degenerate
        Indices of unknowns at a bound with w = 0, both to within the threshold.
    choice
        ``"strict"``: degenerate unknowns stay at their bounds; ``"weak"``: they are active.
    rcond
        Estimated reciprocal condition number of the equilibrated active block; 1 if it is empty.
    """

    status: Status
    detail: str
    active: NDArray[np.intp]
    degenerate: NDArray[np.intp]
    choice: str
    rcond: float
    _form: BoxForm = field(repr=False)
    _x: Vector = field(repr=False)
    _at_high: NDArray[np.bool_] = field(repr=False)
    # The factored active block: ``_solve(b, transposed)`` is A^-1 b, or the least-squares solution of least norm.
    _solve: Callable[..., Any] = field(repr=False)

    @property
    def nondegenerate(self) -> bool:
        """True if the solution is differentiable here, to the accuracy of the threshold."""
        return self.degenerate.size == 0 and self.regular

    @property
    def regular(self) -> bool:
        """True if the active block is regular."""
        return self.status is Status.SOLVED

    @property
    def dz_dq(self) -> Vector:
        """Return the derivative (n, n) of z by q, dense: -M_aa^-1 on the active unknowns, zero elsewhere."""
        n, a = self._form.size, self.active
        full = np.zeros((n, n))
        if a.size:
            full[np.ix_(a, a)] = -self._solve(np.eye(a.size))
        return full

    def jvp(
        self,
        dM: Any = None,
        dq: ArrayLike | None = None,
        *,
        dlo: ArrayLike | None = None,
        dhi: ArrayLike | None = None,
    ) -> Vector:
        """Return the directional derivative dz (n,) for changes of the data (Jacobian times vector).

        Parameters
        ----------
        dM, dq
            Changes (n, n), dense or sparse, and (n,); None for none. For an `MLCP` they are changes of [[A, X1], [X2,
            X3]] and of (a, x4), and dz is the change of (u, y).
        dlo, dhi
            Changes of the bounds (n,); changes of inactive bounds have no effect. If lo = hi, the bound on the side of
            w moves the unknown.
        """
        form, n, a = self._form, self._form.size, self.active
        right = np.zeros(n) if dq is None else checked_vector("dq", dq, n)
        if dM is not None:
            right = right + np.asarray(shaped_matrix("dM", dM, (n, n), sparse=True) @ self._x)
        dz = np.zeros(n)
        outside = self._outside()
        low, high = outside & ~self._at_high, outside & self._at_high
        if dlo is not None:
            dz[low] = checked_vector("dlo", dlo, n)[low]
        if dhi is not None:
            dz[high] = checked_vector("dhi", dhi, n)[high]
        if dz.any():
            right = right + np.asarray(form.M @ dz)
        if a.size:
            dz[a] = -self._solve(right[a])
        return dz

    def vjp(self, z_bar: ArrayLike) -> tuple[Any, Vector]:
        """Return the adjoint (vector times Jacobian): (M_bar, q_bar) with <z_bar, dz> = <M_bar, dM> + <q_bar, dq>.

        It takes one transposed solve; M_bar (n, n) is the outer product of q_bar and z. For a sparse M it is given only
        on the pattern of M, sparse.
        """
        q_bar = self._adjoint(z_bar)[1]
        if not self._form.sparse:
            return np.outer(q_bar, self._x), q_bar
        from scipy import sparse

        pattern = self._form.M.tocoo()
        values = q_bar[pattern.row] * self._x[pattern.col]
        return sparse.csr_matrix((values, (pattern.row, pattern.col)), shape=pattern.shape), q_bar

    def vjp_bounds(self, z_bar: ArrayLike) -> tuple[Vector, Vector]:
        """Return the adjoint with respect to the bounds: (lo_bar, hi_bar)."""
        given, q_bar = self._adjoint(z_bar)
        total = np.where(self._outside(), given + np.asarray(self._form.M.T @ q_bar), 0.0)
        return np.where(self._at_high, 0.0, total), np.where(self._at_high, total, 0.0)

    def _adjoint(self, z_bar: ArrayLike) -> tuple[Vector, Vector]:
        """Return z_bar as a checked vector, and q_bar: the transposed solve on the active set, 0 elsewhere."""
        given = checked_vector("z_bar", z_bar, self._form.size)
        q_bar = np.zeros(self._form.size)
        if self.active.size:
            q_bar[self.active] = -self._solve(given[self.active], True)
        return given, q_bar

    def _outside(self) -> NDArray[np.bool_]:
        outside = np.ones(self._form.size, dtype=bool)
        outside[self.active] = False
        return outside

    def __repr__(self) -> str:
        return f"Sensitivity({self.detail})"


@interruptible
def sensitivity(
    problem: Problem,
    solution: ArrayLike | Result | MLCPResult,
    *,
    choice: str = "strict",
    threshold: float = 1e-8,
) -> Sensitivity:
    """Differentiate a solution by the implicit function theorem on its active set.

    Parameters
    ----------
    problem
        An `LCP`, `BoxLCP` or `MLCP`; a sparse M stays sparse.
    solution
        A result, or the vector z; of an `MLCP` (u, y).
    choice
        Treatment of degenerate unknowns: ``"strict"``: they stay at their bounds; ``"weak"``: they are active.
    threshold
        An unknown is at a bound if it is nearer than this fraction of max |z|; its w is zero if it is smaller than this
        fraction of |q_i| + max_j |M_ij| max |z|. If both are true, it is degenerate.

    Raises
    ------
    ProblemError
        For a vector that does not solve the problem to 1e-6, or ill-formed arguments.
    """
    if choice not in _CHOICES:
        raise ProblemError(f"choice must be one of {', '.join(_CHOICES)}, got {choice!r}")
    if not 0.0 <= threshold < 1.0:
        raise ProblemError(f"threshold must lie between 0 and 1, got {threshold!r}")
    form, x = box_form_at(problem, solution)
    if not measure(problem, x)[0].solved(1e-6):
        raise ProblemError("the vector does not solve the problem: there is nothing to differentiate")
    between, degenerate, at_high = _classify_unknowns(form, x, threshold)
    active = np.flatnonzero(between | degenerate if choice == "weak" else between)
    solve, rcond = _factored(form, active)
    status = Status.SOLVED if rcond > MIN_RCOND else Status.SINGULAR_BASIS
    kinks = np.flatnonzero(degenerate)
    detail = f"{active.size} of {form.size} unknowns active"
    if kinks.size:
        listed = ", ".join(map(str, kinks[:8])) + (", ..." if kinks.size > 8 else "")
        detail += f"; degenerate at {listed}: the {choice} piece"
    if status is not Status.SOLVED:
        detail += f"; their block is singular (rcond {rcond:.1e}): derivatives of least norm"
    return Sensitivity(status, detail, active, kinks, choice, rcond, form, x, at_high, solve)


def _classify_unknowns(form: BoxForm, x: Vector, threshold: float) -> tuple[Any, Any, Any]:
    """Return masks: between the bounds; degenerate; at the upper bound (for unknowns not between)."""
    w = np.asarray(form.M @ x + form.q)
    size = float(np.abs(x).max(initial=0.0))
    unit = np.abs(form.q) + row_abs_max(form.M) * size
    near_low, near_high = x - form.lo <= threshold * size, form.hi - x <= threshold * size
    small = np.abs(w) <= threshold * unit
    given = form.lo == form.hi
    between = ~(near_low | near_high)
    at_high = np.where(near_low & near_high, w < 0.0, near_high)
    return between, ~between & small & ~given, at_high & ~between


def _factored(form: BoxForm, active: NDArray[np.intp]) -> tuple[Callable[..., Any], float]:
    """Return a solve with the active block (its pseudo-inverse if singular), and its reciprocal condition number."""
    active_block = block(form.M, active)
    factors, rcond = equilibrated(active_block)
    if factors is not None:
        return factors.solve, rcond
    if form.sparse:
        return functools.partial(_least_norm, active_block), rcond
    inverse = np.linalg.pinv(active_block, rcond=1e-12)
    return lambda b, transposed=False: (inverse.T if transposed else inverse) @ b, rcond


def _least_norm(block: Any, b: Any, transposed: bool = False) -> Any:
    """Return the least-squares solution of least norm for a sparse block, or its transpose, and b (k,) or (k, m)."""
    from scipy.sparse.linalg import lsmr

    if b.ndim == 2:
        return np.column_stack([_least_norm(block, column, transposed) for column in b.T])
    matrix = block.T if transposed else block
    return lsmr(matrix, b, atol=1e-14, btol=1e-14, conlim=0.0, maxiter=20 * b.shape[0])[0]

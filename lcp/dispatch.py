"""Calls of solvers: their results are checked, and mixed and boxed problems are converted for them."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from lcp.arrays import Vector
from lcp.conversions import Conversion, box_to_mlcp, coupled_to_box, mlcp_to_lcp
from lcp.farkas import infeasibility_proof
from lcp.friction.problem import FrictionProblem
from lcp.friction.residuals import FrictionClaim
from lcp.method import SolveRequest, Traits
from lcp.nonlinear.problem import MCP
from lcp.polish import at_bounds, refine
from lcp.problem import LCP, MLCP, BoxLCP, CoupledBoxLCP, dense_bytes
from lcp.reduction import Reduction, reduce
from lcp.residuals import Judged, Problem, measure
from lcp.result import Claim
from lcp.status import OutOfRangeError, ProblemError, Status

#: Bytes up to which a sparse M may be made dense for a solver that does not keep it sparse (n = 8192).
DENSE_LIMIT = 1 << 29
NO_TRAITS = Traits(0)


SIGNATURE = "solve(self, problem, *, z0=None, tolerance=1e-9, trace=False)"


@runtime_checkable
class Solver(Protocol):
    """Any object with this method is a solver; no base class is needed.

    A solver whose ``traits`` contain MIXED or BOXED gets such problems unchanged, and returns for an `MLCP` the vector
    (u, y). Other solvers get the plain problem to which they are converted.
    """

    def solve(self, problem: LCP, *, z0: Vector | None, tolerance: float, trace: bool) -> Claim:
        """Try to solve ``problem``, from ``z0`` if given, and return a claim."""
        ...


def call_any_solver(problem: Judged, solver: Any, request: SolveRequest) -> Claim:
    """Return the solver's claim on a problem of any kind, with z in the form that `lcp.claims` expects."""
    traits = getattr(solver, "traits", NO_TRAITS)
    try:
        if isinstance(problem, CoupledBoxLCP):
            return _converted(problem, solver, request)
        if not isinstance(problem, MLCP) and problem.sparse and not traits & Traits.SPARSE:
            return _densified(problem, solver, request)
        if isinstance(problem, MLCP) and not traits & Traits.MIXED:
            return solve_reduced(problem, solver, request)
        if isinstance(problem, BoxLCP) and not traits & Traits.BOXED:
            return _converted(problem, solver, request)
        return call_solver(problem, solver, request)
    except OutOfRangeError as error:
        return Claim(project_zero(problem), Status.NOT_FINITE, 0, str(error))


def _densified(problem: LCP | BoxLCP, solver: Any, request: SolveRequest) -> Claim:
    """Return a sparse problem with a dense M and a note about it, or refuse it if this takes too much memory."""
    name, size = type(solver).__name__, dense_bytes(problem)
    if size > DENSE_LIMIT:
        detail = (
            f"{name} needs M dense: {size / 2**20:.0f} MiB for n = {problem.n}, beyond the bound of "
            f"{DENSE_LIMIT >> 20} MiB; a solver whose traits say SPARSE keeps it sparse"
        )
        return Claim(np.zeros(problem.n), Status.UNSUITABLE, 0, detail)
    M = problem._M.toarray()
    dense: LCP | BoxLCP
    if isinstance(problem, LCP):
        dense = LCP(M, problem._q, problem._q_uncertainty)
    else:
        dense = BoxLCP(M, problem._q, problem.lo, problem.hi)
    claim = call_any_solver(dense, solver, request)
    return replace(claim, detail=_joined_words(claim.detail, f"M made dense ({size / 2**20:.1f} MiB)"))


def _converted(problem: BoxLCP | CoupledBoxLCP, solver: Any, request: SolveRequest) -> Claim:
    """Solve a coupled problem by `coupled_to_box`, a boxed one by `box_to_mlcp`: a plain one without free unknowns."""
    conversion: Conversion[Any] = (
        coupled_to_box(problem) if isinstance(problem, CoupledBoxLCP) else box_to_mlcp(problem)
    )
    start = None if request.z0 is None else conversion.start(request.z0)
    claim = call_any_solver(conversion.problem, solver, request._replace(z0=start))
    if not np.isfinite(claim.z).all():
        return replace(claim, z=project_zero(problem), status=Status.NOT_FINITE)
    z = conversion.recover(claim.z)
    if measure(problem, z)[0].solved(request.tolerance):
        return replace(claim, z=z)
    if not isinstance(problem, CoupledBoxLCP):
        return replace(claim, z=at_bounds(problem, z, request.tolerance))
    # Set to zero what a difference left as rounding; friction then follows its new bounds.
    snapped = at_bounds(problem.with_bounds_at(z), z, request.tolerance)
    there = problem.with_bounds_at(snapped)
    return replace(claim, z=np.clip(snapped, there.lo, there.hi))


def project_zero(problem: Judged) -> Vector:
    """Return the admissible vector nearest to zero, of an `MLCP` (u, y)."""
    if isinstance(problem, BoxLCP | CoupledBoxLCP):
        return np.clip(np.zeros(problem.n), problem.lo, problem.hi)
    return np.zeros(problem.n + problem.n_free if isinstance(problem, MLCP) else problem.n)


def solve_reduced(problem: MLCP, solver: Any, request: SolveRequest) -> Claim:
    """Eliminate the free unknowns; if this is not exact, solve the core with the free unknowns split."""
    reduction = reduce(problem)
    if not reduction.consistent:
        return inconsistent_claim(reduction)
    claim = call_solver(reduction.lcp, solver, request)
    y = claim.z if np.isfinite(claim.z).all() else np.zeros_like(claim.z)
    claim = _refined(problem, replace(claim, z=np.concatenate([reduction.recover(y), y])), request.tolerance)
    core = reduction.core
    if core is not None and claim.status is not Status.SOLVED:
        split = mlcp_to_lcp(core)
        start = None if request.z0 is None else split.start(request.z0)
        second = call_solver(split.problem, solver, request._replace(z0=start))
        d = core.n_free
        detail = f"rank {reduction.rank} of {problem.n_free}: what the equations leave free was split"
        if np.isfinite(second.z).all():
            x = split.recover(second.z)
            second = replace(second, z=np.concatenate([reduction.recover(x[d:], x[:d]), x[d:]]))
        else:
            second = replace(second, z=claim.z)
        spent = claim.iterations + second.iterations
        detail = _joined_words(detail, second.detail)
        claim = _refined(problem, replace(second, iterations=spent, detail=detail), request.tolerance)
    if claim.status is Status.INFEASIBLE:
        # The proof must be about the original rows.
        proof = infeasibility_proof(problem, min(60.0, getattr(solver, "time_limit", 60.0)))
        status = proof.status(problem) if proof is not None else Status.STALLED
        claim = replace(claim, status=status, evidence=proof)
    return claim


def inconsistent_claim(reduction: Reduction) -> Claim:
    """Return the claim for a mixed problem whose equations contradict each other."""
    m, n = reduction.null.shape[0], reduction.lcp.n
    detail = f"rank {reduction.rank} of {m} equations, which contradict each other"
    return Claim(np.zeros(m + n), Status.INCONSISTENT, 0, detail, evidence=reduction.evidence)


def _joined_words(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _refined(problem: MLCP, claim: Claim, tolerance: float) -> Claim:
    """Return the claim with the status of the original data, refined on the active set if necessary."""
    if measure(problem, claim.z)[0].solved(tolerance):
        return replace(claim, status=Status.SOLVED)
    # An iterative solver leaves 1e-40 in place of zero. If all y are zero there is no other unit.
    m = problem.n_free
    y = claim.z[m:]
    cleared = np.concatenate([claim.z[:m], np.where(np.abs(y) <= 1e-15 * np.abs(claim.z).max(initial=0.0), 0.0, y)])
    if measure(problem, cleared)[0].solved(tolerance):
        return replace(claim, z=cleared, status=Status.SOLVED)
    better = refine(problem, claim.z, tolerance) if claim.status is not Status.UNSUITABLE else None
    if better is not None:
        return replace(claim, z=better, status=Status.SOLVED)
    return replace(claim, status=Status.STALLED) if claim.status is Status.SOLVED else claim


def call_solver(problem: Problem | MCP, solver: Any, request: SolveRequest) -> Claim:
    """Return the solver's claim on a problem of a kind that the solver supports."""
    size = problem.n + problem.n_free if isinstance(problem, MLCP) else problem.n
    return cast(Claim, _returned(problem, solver, request, Claim, "z", size))


def call_friction_solver(problem: FrictionProblem, solver: Any, request: SolveRequest) -> FrictionClaim:
    """Return the friction solver's claim on a friction problem."""
    return cast(FrictionClaim, _returned(problem, solver, request, FrictionClaim, "r", problem.m))


class RecordingSolver:
    """Wrapper that stores the last claim of a solver, and has the name and attributes of the solver."""

    claim: Any = None

    def __init__(self, solver: Any) -> None:
        self._solver = solver
        self.__class__ = type(type(solver).__name__, (type(self),), {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._solver, name)

    def solve(self, problem: Any, *, z0: Any, tolerance: float, trace: bool) -> Any:
        """Call the solver and store its claim."""
        call: Any = call_friction_solver if isinstance(problem, FrictionProblem) else call_solver
        self.claim = call(problem, self._solver, SolveRequest(z0, tolerance, trace))
        return self.claim


def _returned(problem: Any, solver: Any, request: SolveRequest, kind: type[Any], entry: str, size: int) -> Any:
    """Return the claim of a solver, with its vector ``entry`` checked; raise unless it is of the type ``kind``."""
    z0, tolerance, trace = request
    try:
        claim = solver.solve(problem, z0=z0, tolerance=tolerance, trace=trace)
    except TypeError:
        _check_signature(problem, solver, kind)
        raise
    if not isinstance(claim, kind):
        name = type(solver).__name__
        raise ProblemError(f"{name}.solve returned a {type(claim).__name__}, not an lcp.{kind.__name__}")
    value = getattr(claim, entry)
    vector = _vector(solver, entry, value, size)
    return claim if vector is value else replace(claim, **{entry: vector})


def _check_signature(problem: Any, solver: Any, kind: type[Any]) -> None:
    """Refuse a solver whose ``solve`` does not accept the arguments that all solvers get."""
    try:
        signature = inspect.signature(solver.solve)
    except (TypeError, ValueError):
        return  # compiled code without a signature
    try:
        signature.bind(problem, z0=None, tolerance=1e-9, trace=False)
    except TypeError as error:
        raise ProblemError(
            f"{type(solver).__name__}.solve{signature} cannot be asked ({error}): write "
            f"`def {SIGNATURE} -> lcp.{kind.__name__}`"
        ) from None


def _vector(solver: Any, entry: str, value: Any, size: int) -> Any:
    """Return a solver's ``entry`` as a float64 vector (size,), or raise a `ProblemError` that names the solver."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (size,):
        return value
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        vector = None
    if value is None or vector is None:
        raise ProblemError(
            f"{type(solver).__name__} returned {entry} = {value!r:.80}, expected {size} numbers: the best candidate, "
            "zeros if there is none"
        )
    if vector.shape != (size,):
        raise ProblemError(f"{type(solver).__name__} returned {entry} of shape {vector.shape}, expected ({size},)")
    return vector

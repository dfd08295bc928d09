"""Call a solver and check the type and shape of its answer; an error states what an answer has to be."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from lcp.errors import ProblemError
from lcp.friction.problem import FrictionProblem
from lcp.friction.result import FrictionClaim
from lcp.method import SolveRequest
from lcp.nonlinear.problem import MCP
from lcp.problem import MLCP
from lcp.residuals import Problem
from lcp.result import Claim

SIGNATURE = "solve(self, problem, *, z0=None, tolerance=1e-9, trace=False)"


def call_solver(problem: Problem | MCP, solver: Any, request: SolveRequest) -> Claim:
    """The solver's claim on a problem of a kind that it is for."""
    claim: Claim = _returned(problem, solver, request, Claim)
    size = problem.n + problem.n_free if isinstance(problem, MLCP) else problem.n
    z = _vector(solver, "z", claim.z, size)
    return claim if z is claim.z else replace(claim, z=z)


def call_friction_solver(problem: FrictionProblem, solver: Any, request: SolveRequest) -> FrictionClaim:
    """The friction solver's claim on a friction problem."""
    claim: FrictionClaim = _returned(problem, solver, request, FrictionClaim)
    r = _vector(solver, "r", claim.r, problem.m)
    return claim if r is claim.r else replace(claim, r=r)


class RecordingSolver:
    """A solver with its last claim kept, which goes by the solver's name and has what it has."""

    claim: Any = None

    def __init__(self, solver: Any) -> None:
        self._solver = solver
        self.__class__ = type(type(solver).__name__, (type(self),), {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._solver, name)

    def solve(self, problem: Any, *, z0: Any, tolerance: float, trace: bool) -> Any:
        """What the solver returns, a claim."""
        kind = FrictionClaim if isinstance(problem, FrictionProblem) else Claim
        self.claim = _returned(problem, self._solver, SolveRequest(z0, tolerance, trace), kind)
        return self.claim


def _returned(problem: Any, solver: Any, request: SolveRequest, kind: type[Any]) -> Any:
    z0, tolerance, trace = request
    try:
        claim = solver.solve(problem, z0=z0, tolerance=tolerance, trace=trace)
    except TypeError:
        _check_signature(problem, solver, kind)
        raise
    if not isinstance(claim, kind):
        name = type(solver).__name__
        raise ProblemError(f"{name}.solve returned a {type(claim).__name__}, not an lcp.{kind.__name__}")
    return claim


def _check_signature(problem: Any, solver: Any, kind: type[Any]) -> None:
    """Refuse a solver whose ``solve`` does not take what every solver is asked with."""
    try:
        signature = inspect.signature(solver.solve)
    except (TypeError, ValueError):
        return  # compiled code without one
    try:
        signature.bind(problem, z0=None, tolerance=1e-9, trace=False)
    except TypeError as error:
        raise ProblemError(
            f"{type(solver).__name__}.solve{signature} cannot be asked ({error}): write "
            f"`def {SIGNATURE} -> lcp.{kind.__name__}`"
        ) from None


def _vector(solver: Any, entry: str, value: Any, size: int) -> Any:
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

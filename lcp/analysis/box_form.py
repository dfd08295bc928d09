"""Conversion of every kind of problem to one with bounds, for studies of solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lcp.arrays import Vector, checked_vector
from lcp.conversions import check_kind
from lcp.problem import LCP, MLCP, BoxLCP, bounds_of
from lcp.residuals import Problem
from lcp.result import MLCPResult, Result
from lcp.status import ProblemError


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


def to_box_form(problem: Problem) -> BoxForm:
    """Return the box form of a problem; arrays are shared."""
    check_kind(problem)
    if not isinstance(problem, MLCP):
        return BoxForm(problem._M, problem._q, *bounds_of(problem))
    lo = np.concatenate([np.full(problem.n_free, -np.inf), np.zeros(problem.n)])
    return BoxForm(problem._K, problem._k, lo, np.full(lo.shape[0], np.inf))


def to_vector(problem: Problem, z: ArrayLike | Result | MLCPResult) -> Vector:
    """Return the unknowns as one vector: z, or (u, y) of an `MLCP`; from a result or a vector."""
    if isinstance(z, Result):
        z = z.z
    elif isinstance(z, MLCPResult):
        z = np.concatenate([z.u, z.y])
    if isinstance(problem, MLCP):
        return checked_vector("(u, y)", z, problem.n_free + problem.n)
    if not isinstance(problem, LCP | BoxLCP):
        raise ProblemError(f"problem must be an LCP, MLCP or BoxLCP, got {type(problem).__name__}")
    return checked_vector("z", z, problem.n)

"""What `lcp.solve` returns, and what a solver hands to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.errors import SolveError
from lcp.residuals import Residuals
from lcp.status import Status


@dataclass(frozen=True, slots=True)
class Claim:
    """A solver's own account of a solve. It is only a claim: `lcp.solve` verifies z on the original data.

    Attributes
    ----------
    z
        The vector found, (n,); the best candidate where none is claimed to solve.
    status
        How the solver believes it ended.
    iterations
        Pivots or iterations spent.
    detail
        A few words for the list of attempts ("warm basis accepted", "2 restarts").
    evidence
        What supports a failure, e.g. a `Ray`.
    regularization
        Largest diagonal shift used.
    trace
        One number per iteration, where asked for and available.
    """

    z: NDArray[np.float64]
    status: Status
    iterations: int
    detail: str = ""
    evidence: Any = None
    regularization: float = 0.0
    trace: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One solver that was tried, and how it ended."""

    solver: Any
    status: Status
    iterations: int
    residual: Residuals
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Ray:
    """A secondary ray: from the last basis (w, z, t) can grow for ever along this direction, staying complementary.

    For copositive-plus M it proves that no z >= 0 has M z + q >= 0 (Cottle, Pang and Stone 1992, theorem 4.4.11); for
    other M it proves nothing.
    """

    w: NDArray[np.float64]
    z: NDArray[np.float64]
    t: float


@dataclass(frozen=True, slots=True)
class Result:
    """Answer to an LCP.

    Attributes
    ----------
    z, w
        The vector (n,) and w = M z + q (n,), read-only. Where the solve failed, the best candidate met.
    status
        `Status.SOLVED` only if ``residual`` says so on the original data, at ``tolerance``.
    iterations
        Pivots or iterations, all attempts together.
    residual
        `Residuals` of z.
    solver
        The solver that gave z.
    attempts
        Every solver tried, in order.
    solve_time
        Seconds, compilation excluded only if it happened earlier.
    regularization
        Diagonal shift under which z was found; 0 for the original problem.
    evidence
        What supports a failure, e.g. a `Ray`.
    tolerance
        The bound on the scaled residual that ``status`` was judged by.
    trace
        One number per iteration where ``trace=True`` was asked for (Lemke: the artificial variable).
    """

    z: NDArray[np.float64]
    w: NDArray[np.float64]
    status: Status
    iterations: int
    residual: Residuals
    solver: Any
    attempts: tuple[Attempt, ...]
    solve_time: float
    regularization: float
    evidence: Any
    tolerance: float
    trace: NDArray[np.float64] | None = None

    @property
    def solved(self) -> bool:
        """Whether z was verified to solve the original problem."""
        return self.status is Status.SOLVED

    def raise_for_status(self) -> None:
        """Raise `SolveError`, with the reason and what to try, unless solved."""
        if not self.solved:
            raise SolveError(f"{self.describe()} {self.status.advice}", self)

    def describe(self) -> str:
        """One sentence: solver, status, residual."""
        return (
            f"{type(self.solver).__name__}: {self.status.name} ({self.status.value}) after {self.iterations} "
            f"iterations; scaled residual {self.residual.scaled:.1e} (bound {self.tolerance:.0e}), natural map "
            f"{self.residual.natural_map:.1e} (bound {self.residual.natural_limit:.1e})."
        )

    def __repr__(self) -> str:
        return (
            f"Result({self.status.name}, n={self.z.shape[0]}, solver={type(self.solver).__name__}, "
            f"iterations={self.iterations}, scaled={self.residual.scaled:.1e}, "
            f"natural_map={self.residual.natural_map:.1e})"
        )

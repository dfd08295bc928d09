"""What `lcp.solve` returns, and what a solver hands to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.errors import SolveError
from lcp.residuals import Residuals
from lcp.status import Status
from lcp.trace import Trace


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
        What supports a failure: a `Ray`, a `Farkas` vector, an `Enumerated` list of bases.
    regularization
        Largest diagonal shift used.
    trace
        A `Trace`, where asked for and available.
    attempts
        Of a solver that tries others: what was tried, each judged on the original data.
    solver
        Of a solver that tries others: the one that gave z.
    """

    z: NDArray[np.float64]
    status: Status
    iterations: int
    detail: str = ""
    evidence: Any = None
    regularization: float = 0.0
    trace: Trace | None = None
    attempts: tuple[Attempt, ...] = ()
    solver: Any = None


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


class Outcome:
    """What every kind of result can say about itself."""

    __slots__ = ()

    status: Status
    iterations: int
    residual: Residuals
    solver: Any
    attempts: tuple[Attempt, ...]
    tolerance: float

    @property
    def solved(self) -> bool:
        """Whether the answer was verified to solve the original problem."""
        return self.status is Status.SOLVED

    def raise_for_status(self) -> None:
        """Raise `SolveError`, with the reason and what to try, unless solved."""
        if not self.solved:
            raise SolveError(f"{self.describe()} {self.status.advice}", self)

    def describe(self) -> str:
        """One sentence: solver, status, what the attempts said, residual."""
        said = "; ".join(dict.fromkeys(attempt.detail for attempt in self.attempts if attempt.detail))
        return (
            f"{type(self.solver).__name__}: {self.status.name} ({self.status.value}) after {self.iterations} "
            f"iterations{f' [{said}]' if said else ''}; scaled residual {self.residual.scaled:.1e} (bound "
            f"{self.tolerance:.0e}), natural map {self.residual.natural_map:.1e} (bound "
            f"{self.residual.natural_limit:.1e}){self.residual.equations_text()}."
        )

    def _facts(self) -> str:
        return (
            f"solver={type(self.solver).__name__}, iterations={self.iterations}, "
            f"scaled={self.residual.scaled:.1e}, natural_map={self.residual.natural_map:.1e})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Result(Outcome):
    """Answer to an `LCP` or, with z between its bounds, to a `BoxLCP`.

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
        What supports a failure: a `Ray`, a `Farkas` vector, an `Enumerated` list of bases.
    tolerance
        The bound on the scaled residual that ``status`` was judged by.
    trace
        The `Trace` where ``trace=True`` was asked for and the solver keeps one.
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
    trace: Trace | None = None

    def __repr__(self) -> str:
        return f"Result({self.status.name}, n={self.z.shape[0]}, {self._facts()}"


@dataclass(frozen=True, slots=True, repr=False)
class MLCPResult(Outcome):
    """Answer to a mixed problem.

    Attributes
    ----------
    u, y, w
        Free unknowns (n_free,), constrained unknowns (n,), and w = X2 u + X3 y + x4 (n,), read-only. Where the solve
        failed, the best candidate met.
    status, iterations, residual, solver, attempts, solve_time, regularization, evidence, tolerance, trace
        As in `Result`; ``residual`` measures the equations A u + X1 y + a = 0 as well.
    """

    u: NDArray[np.float64]
    y: NDArray[np.float64]
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
    trace: Trace | None = None

    def __repr__(self) -> str:
        return f"MLCPResult({self.status.name}, n_free={self.u.shape[0]}, n={self.y.shape[0]}, {self._facts()}"

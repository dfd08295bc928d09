"""Results of `lcp.solve` for a friction problem, and the claims of friction solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.friction.residuals import FrictionResiduals
from lcp.result import AttemptBase, ResultBase, Trace
from lcp.status import Status


@dataclass(frozen=True, slots=True)
class FrictionClaim:
    """A friction solver's report. It is only a claim: `lcp.solve` verifies r on the original data.

    Attributes
    ----------
    r
        The forces (m,); the best candidate if no solution is claimed.
    status, iterations, detail, evidence, trace, attempts, solver
        As in `lcp.Claim`.
    """

    r: NDArray[np.float64]
    status: Status
    iterations: int
    detail: str = ""
    evidence: Any = None
    trace: Trace | None = None
    attempts: tuple[FrictionAttempt, ...] = ()
    solver: Any = None


@dataclass(frozen=True, slots=True)
class FrictionAttempt(AttemptBase[FrictionResiduals]):
    """One attempted friction solver and its outcome."""


@dataclass(frozen=True, repr=False)
class FrictionResult(ResultBase[FrictionResiduals]):
    """Result for a `FrictionProblem` or a `GlobalFrictionProblem`.

    Attributes
    ----------
    r, u
        Forces and velocities at the contacts (m,), u = W r + q, read-only. If the solve failed, the best candidate.
    v
        Velocity (n,) of a global problem, None of a local one.
    lam
        Multipliers of the bilateral rows of a global problem, None if it has none.
    status, iterations, residual, solver, attempts, solve_time, evidence, tolerance, trace
        As in `Result`: ``residual`` is `FrictionResiduals` of r, ``solve_time`` includes the reduction of a global
        problem, and ``trace`` is of ``fclib``.
    """

    r: NDArray[np.float64]
    u: NDArray[np.float64]
    v: NDArray[np.float64] | None
    lam: NDArray[np.float64] | None

    @property
    def z(self) -> NDArray[np.float64]:
        """The forces r, under the common name of all results of `lcp`."""
        return self.r

    def __repr__(self) -> str:
        return self._repr(f"m={self.r.shape[0]}")

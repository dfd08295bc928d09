"""Result of `lcp.solve` for a nonlinear problem, and the claim of a nonlinear solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lcp.arrays import Vector
from lcp.residuals import Residuals
from lcp.result import Claim, Outcome


class Step(NamedTuple):
    """One step of a solver of nonlinear problems.

    Attributes
    ----------
    kind
        Kind of the direction: ``"newton"`` (the linearised problem), ``"semismooth"``, ``"gradient"``, or ``"restart"``
        for a new start.
    length
        Fraction of the direction; 1 for a restart.
    natural_map, merit
        max_i |z - mid(lo, hi, z - F(z))| and the merit function, after the step.
    evaluations
        Evaluations of F so far, without the ones for differences.
    """

    kind: str
    length: float
    natural_map: float
    merit: float
    evaluations: int


@dataclass(frozen=True, slots=True)
class MCPClaim(Claim):
    """`Claim` on a nonlinear problem, with all its steps."""

    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, repr=False)
class MCPResult(Outcome[Residuals]):
    """Result for an `NCP` or `MCP`.

    Attributes
    ----------
    z, w
        The vector (n,) between its bounds, and F(z) (n,), read-only; w is empty if F is not defined at the start.
    status
        `Status.SOLVED` only if ``residual`` of F itself is within ``tolerance``.
    residual
        `Residuals` of z: of F(z), and of the problem linearised there.
    steps
        Every `Step` taken.
    iterations, solver, attempts, solve_time, evidence, tolerance, trace
        As in `Result`.
    """

    z: Vector
    w: Vector
    steps: tuple[Step, ...] = ()

    def __repr__(self) -> str:
        return self._repr(f"n={self.z.shape[0]}")

"""The quadratic program that a symmetric positive semidefinite, or monotone, LCP is.

Symmetric: min 1/2 z'Mz + q'z over z >= 0. Otherwise: min z'(Mz + q) over z >= 0, Mz + q >= 0, whose least value is
zero exactly where the LCP is solvable. Cottle, Pang and Stone (1992), sections 1.4 and 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lcp.active_set import refine
from lcp.farkas import infeasibility_proof
from lcp.matrix_classes import congruence, is_positive_semidefinite, is_symmetric
from lcp.problem import LCP, kernel_arrays
from lcp.residuals import measure
from lcp.result import Claim
from lcp.status import Status

Vector = NDArray[np.float64]

NOT_MONOTONE = (
    "M is not positive semidefinite: a QP solves symmetric positive semidefinite and monotone problems only; use "
    "Lemke, and for frictional contact see the convex friction backends of the constraint solver, ConvexRelaxation and "
    "StaggeredProjections"
)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """min 1/2 x'Px + c'x over x >= 0 and, where G is given, G x + g >= 0; z = ``scale`` x.

    Scaled by a congruence, which keeps P semidefinite, to a diagonal near one, and to c near one.
    """

    P: NDArray[np.float64]
    c: Vector
    G: NDArray[np.float64] | None
    g: Vector
    scale: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a QP code said: x, or None; its own word for how it ended; iterations."""

    x: Vector | None
    word: str
    iterations: int


def program_of(problem: LCP) -> Program | None:
    """The program, or None where M is not positive semidefinite."""
    M, q = kernel_arrays(problem)
    if not is_positive_semidefinite(M):
        return None
    d = congruence(M)
    scaled, c = M * d * d[:, None], q * d
    size = float(np.abs(scaled).max(initial=0.0))
    scaled = scaled / size if size > 0.0 else scaled
    unit = float(np.abs(c).max(initial=0.0))
    c = c / unit if unit > 0.0 else c
    scale = d * unit / size if unit > 0.0 and size > 0.0 else d
    if is_symmetric(scaled):
        return Program(0.5 * (scaled + scaled.T), c, None, np.zeros(0), scale)
    return Program(scaled + scaled.T, c, scaled, c, scale)


def solve_by_program(
    problem: LCP, tolerance: float, polish: bool, z0: Vector | None, run: Callable[[Program, Vector | None], Answer]
) -> Claim:
    """Check the class, run the QP code, polish its answer on the active set, prove infeasibility where it failed."""
    zero = np.zeros(problem.n)
    program = program_of(problem)
    if program is None:
        return Claim(zero, Status.UNSUITABLE, 0, NOT_MONOTONE)
    if (problem.q >= 0.0).all():
        return Claim(zero, Status.SOLVED, 0)
    answer = run(program, None if z0 is None else np.maximum(z0, 0.0) / program.scale)
    z = zero if answer.x is None else np.maximum(answer.x, 0.0) * program.scale
    if not measure(problem, z)[0].solved(tolerance):
        better = refine(problem, z, tolerance) if polish and answer.x is not None else None
        if better is None:
            proof = infeasibility_proof(problem)
            status = Status.STALLED if proof is None else Status.INFEASIBLE
            return Claim(z, status, answer.iterations, answer.word, evidence=proof)
        z = better
    elif polish:
        z = _sharpened(problem, z)
    return Claim(z, Status.SOLVED, answer.iterations, answer.word)


def _sharpened(problem: LCP, z: Vector) -> Vector:
    """z with its active rows met to rounding where that can be had: the QP stops at the tolerance."""
    before = measure(problem, z)[0].scaled
    better = refine(problem, z, max(1e-3 * before, 1e-15))
    return z if better is None else better

"""What the solvers that go through a quadratic program share: class check, polish, proof, and one way to say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lcp.box import BoxLCP
from lcp.farkas import Farkas, infeasibility_proof
from lcp.polish.active_set import refine
from lcp.problem import LCP
from lcp.residuals import measure
from lcp.result import Claim
from lcp.solvers.shared.quadratic_program import Program, center_of, program_of
from lcp.status import Status

Vector = NDArray[np.float64]

NOT_MONOTONE = (
    "M is not positive semidefinite: a QP solves symmetric positive semidefinite and monotone problems only; use "
    "Lemke, and for frictional contact see the convex friction backends of the constraint solver, ConvexRelaxation and "
    "StaggeredProjections"
)
# Up to this n a sparse problem that was not solved is made dense to look for a proof that it is infeasible.
_PROOF_SIZE = 1000
# Active sets tried in polishing. One guess more costs a sparse problem little, and a large one needs some.
_ROUNDS = 5
_SPARSE_ROUNDS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a QP code said: x, or None; its own word for how it ended; iterations; whether a limit ended it."""

    x: Vector | None
    word: str
    iterations: int
    limited: bool = False


def usable(x: object, size: int) -> Vector | None:
    """x as a vector of that size where it is one and finite, else None."""
    if x is None:
        return None
    vector = np.asarray(x, dtype=np.float64)
    return vector if vector.shape == (size,) and bool(np.isfinite(vector).all()) else None


def not_installed(package: str, problem: LCP | BoxLCP) -> Claim:
    """The claim of a solver whose package cannot be imported."""
    detail = f"{package} is not installed: pip install 'contactlab[peers]'"
    return Claim(center_of(problem), Status.UNSUITABLE, 0, detail)


def solve_by_program(
    problem: LCP | BoxLCP,
    tolerance: float,
    polish: bool,
    z0: Vector | None,
    run: Callable[[Program, Vector | None], Answer],
) -> Claim:
    """Check the class, run the QP code, polish its answer on the active set, prove infeasibility where it failed."""
    z = center_of(problem)
    program = program_of(problem)
    if program is None:
        return Claim(z, Status.UNSUITABLE, 0, NOT_MONOTONE)
    if _rests(problem, z, tolerance):
        return Claim(z, Status.SOLVED, 0)
    answer = run(program, None if z0 is None else program.start(z0))
    if answer.x is not None:
        found = program.recover(answer.x)
        z = found if np.isfinite(found).all() else z
    if not measure(problem, z)[0].solved(tolerance):
        rounds = _SPARSE_ROUNDS if problem.sparse else _ROUNDS
        better = refine(problem, z, tolerance, rounds) if polish and answer.x is not None else None
        if better is None:
            proof = _proof(problem)
            status = Status.ITERATION_LIMIT if answer.limited else Status.STALLED
            status = status if proof is None else proof.status(problem)
            return Claim(z, status, answer.iterations, answer.word, evidence=proof)
        z = better
    elif polish:
        z = _sharpened(problem, z)
    return Claim(z, Status.SOLVED, answer.iterations, answer.word)


def _rests(problem: LCP | BoxLCP, z: Vector, tolerance: float) -> bool:
    """Whether nothing needs to be done: q >= 0, or what that is with two bounds."""
    if isinstance(problem, LCP):
        return bool((problem._q >= 0.0).all())
    return measure(problem, z)[0].solved(tolerance)


def _proof(problem: LCP | BoxLCP) -> Farkas | None:
    return infeasibility_proof(problem) if not problem.sparse or problem.n <= _PROOF_SIZE else None


def _sharpened(problem: LCP | BoxLCP, z: Vector) -> Vector:
    """z with its active rows met to rounding where that can be had: the QP stops at the tolerance."""
    before = measure(problem, z)[0].scaled
    better = refine(problem, z, max(1e-3 * before, 1e-15))
    return z if better is None else better

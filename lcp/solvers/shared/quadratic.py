"""The frame of the solvers that go through a quadratic program: class check, polish, proof."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.box import BoxLCP
from lcp.clock import processor_seconds
from lcp.farkas import Farkas, infeasibility_proof
from lcp.method import Method, Request
from lcp.polish.active_set import refine
from lcp.problem import LCP
from lcp.residuals import measure
from lcp.result import Claim
from lcp.solvers.shared.quadratic_program import Program, center_of, program_of
from lcp.status import Status
from lcp.traits import Traits

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


class ProgramMethod(Method[LCP | BoxLCP]):
    """The frame of the solvers that hand a `Program` to a QP code: a method sets the code up and reads its answer.

    The class of M is checked, the answer polished on its active set, infeasibility proved where the code failed. A
    start is handed on where the method's ``traits`` say WARM_START; a trace is not kept.
    """

    #: Module of a QP code that may be absent.
    package: ClassVar[str | None] = None
    traits: ClassVar[Traits]
    polish: bool
    time_limit: float = 300.0  # of a proof, where the code itself has no limit

    @abstractmethod
    def _answer(self, program: Program, start: Vector | None) -> Answer:
        """The QP code's answer."""

    def _claim(self, problem: LCP | BoxLCP, request: Request) -> Claim:
        z, tolerance = center_of(problem), request.tolerance
        if self.package is not None and not _installed(self.package):
            detail = f"{self.package} is not installed: pip install 'contactlab[peers]'"
            return Claim(z, Status.UNSUITABLE, 0, detail)
        deadline = processor_seconds() + self.time_limit
        program = program_of(problem)
        if program is None:
            return Claim(z, Status.UNSUITABLE, 0, NOT_MONOTONE)
        if _rests(problem, z, tolerance):
            return Claim(z, Status.SOLVED, 0)
        z0 = request.z0 if self.traits & Traits.WARM_START else None
        answer = self._answer(program, None if z0 is None else program.start(z0))
        if answer.x is not None:
            recovered = program.recover(answer.x)
            z = recovered if np.isfinite(recovered).all() else z
        if not measure(problem, z)[0].solved(tolerance):
            rounds = _SPARSE_ROUNDS if problem.sparse else _ROUNDS
            better = refine(problem, z, tolerance, rounds) if self.polish and answer.x is not None else None
            if better is None:
                proof = _proof(problem, deadline - processor_seconds())
                status = Status.ITERATION_LIMIT if answer.limited else Status.STALLED
                status = status if proof is None else proof.status(problem)
                return Claim(z, status, answer.iterations, answer.word, evidence=proof)
            z = better
        elif self.polish:
            z = _sharpened(problem, z)
        return Claim(z, Status.SOLVED, answer.iterations, answer.word)


def _installed(package: str) -> bool:
    try:
        importlib.import_module(package)
    except ImportError:
        return False
    return True


def _rests(problem: LCP | BoxLCP, z: Vector, tolerance: float) -> bool:
    """Whether nothing needs to be done: q >= 0, or what that is with two bounds."""
    if isinstance(problem, LCP):
        return bool((problem._q >= 0.0).all())
    return measure(problem, z)[0].solved(tolerance)


def _proof(problem: LCP | BoxLCP, seconds: float) -> Farkas | None:
    small = not problem.sparse or problem.n <= _PROOF_SIZE
    return infeasibility_proof(problem, min(60.0, seconds)) if small else None


def _sharpened(problem: LCP | BoxLCP, z: Vector) -> Vector:
    """z with its active rows met to rounding where that can be had: the QP stops at the tolerance."""
    before = measure(problem, z)[0].backward_error
    better = refine(problem, z, max(1e-3 * before, 1e-15))
    return z if better is None else better

"""Infeasible primal-dual interior-point method with a predictor and a corrector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.farkas import infeasibility_proof
from lcp.options import flag, positive, whole
from lcp.result import Claim
from lcp.solvers.shared.basic_point import basic_point, block
from lcp.solvers.shared.central_path import Neighbourhood, start, states_of, step_from
from lcp.solvers.shared.progress import NewtonMethod, Progress
from lcp.solvers.shared.scaled_box import ScaledBox
from lcp.status import Status
from lcp.traits import MONOTONE, Traits

# Distances of the start from the bounds, in units of a guess at the solution: a start inside enough is not known.
_STARTS = (1.0, 1e3, 1e6)
# Fall of mu from which on the active set is guessed.
_CLOSE = 1e-4
# Steps too short to matter that may follow one another, and the growth of x and the fall of mu at which all ends.
_SHORT_STEPS, _DIVERGED, _CENTRAL = 15, 1e14, 1e-34
# Part of the largest unknown below which one may be zero together with its multiplier, where the path ends.
_TIE = 1e-8
#: Unknowns up to which a linear program is asked whether a problem that could not be solved is infeasible.
_PROOF_SIZE = 2000


@dataclass(frozen=True)
class InteriorPoint(NewtonMethod):
    """Infeasible interior-point path following, predictor-corrector (Mehrotra 1992; Wright 1997, chapter 8).

    For monotone problems: M positive semidefinite, not necessarily symmetric. Each iteration factorises
    M + diag(s / (z - lo) + t / (hi - z)) once, by Cholesky's method where M is symmetric and dense, sparse where M is,
    and solves with it twice. The predictor-corrector step is taken where it stays in the neighbourhood of the central
    path, lowers mu and is no shorter than 0.1; otherwise the plain path-following step of Wright's algorithm IPF.
    Begun far enough inside that converges wherever a solution exists (Wright 1997, chapters 6 and 8; the feasible
    method is that of Kojima, Mizuno and Yoshise 1989). How far is enough depends on the solution: where a path breaks,
    it is begun anew a thousand times further inside, twice. Both bounds of a box keep a multiplier each; unknowns
    without bounds have none, given ones are put in. The data are scaled by a congruence, which keeps M semidefinite.

    Near the end the active set is guessed from z - lo < s and solved for, which gives the last digits. A problem of up
    to 2000 unknowns that ends without solution is put to a linear program, whose verified Farkas vector makes
    INFEASIBLE.

    Parameters
    ----------
    max_iterations
        Limit on the iterations; 20 to 40 are usual at any size.
    polish
        Whether the active set is guessed and solved for.
    time_limit
        Seconds, heeded between iterations.

    References
    ----------
    S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optim. 2 (1992).
    M. Kojima, S. Mizuno, A. Yoshise, A polynomial-time algorithm for a class of linear complementarity problems,
    Mathematical Programming 44 (1989).
    S. J. Wright, Primal-Dual Interior-Point Methods, SIAM (1997).
    """

    max_iterations: int = whole(300)
    polish: bool = flag(True)
    time_limit: float = positive(300.0)

    congruent: ClassVar[bool] = True
    traits: ClassVar[Traits] = MONOTONE | Traits.SPARSE | Traits.BOXED

    def _from_start(self, progress: Progress, start: Vector) -> Claim:
        """Follow the path until a verified solution, divergence or a limit; ``z0`` is only looked at."""
        problem, whole = progress.problem, progress.box
        moving = np.flatnonzero(whole.lo < whole.hi)
        part = _part(whole, moving)
        for distance in _STARTS:
            status = self._follow(progress, part, moving, distance)
            if progress.done():
                return progress.claim(Status.SOLVED)
            if status is Status.ITERATION_LIMIT:
                return progress.limit()
            if progress.any_solution():
                return progress.claim(Status.SOLVED)
            proof = None
            if distance == _STARTS[0] and problem.n <= _PROOF_SIZE:
                proof = infeasibility_proof(problem, min(60.0, progress.left))
            if proof is not None:
                return progress.claim(proof.status(problem), "the iterates diverged", evidence=proof)
        return progress.claim(status, "the path could not be followed further")

    def _follow(self, progress: Progress, box: ScaledBox, moving: NDArray[np.intp], distance: float) -> Status:
        """Why the path ended; `Progress.solved` has been told of every point."""
        whole = progress.box

        def embedded(x: Vector) -> Vector:
            full = whole.start(None)
            full[moving] = x
            return full

        at = start(box, distance)
        area = Neighbourhood(box, at)
        size = float(np.abs(at.x).max(initial=1.0))
        short, tried = 0, b""
        while not progress.exhausted:
            progress.iterations += 1
            step = step_from(box, at, area)
            if step is None:
                return Status.SINGULAR_BASIS
            at, length = step
            if not np.isfinite(at.x).all():
                return Status.NOT_FINITE
            solved = progress.solved(embedded(at.x))
            states = states_of(at, area)
            key = states.tobytes()
            if self.polish and (solved or (key != tried and area.mean(at) < _CLOSE * area.first_mean)):
                tried = key
                candidate = basic_point(box, states, near=at.x)
                solved |= candidate is not None and progress.solved(embedded(candidate), record=False)
            if solved:
                return Status.SOLVED
            short = short + 1 if length < 1e-3 else 0
            diverged = float(np.abs(at.x).max(initial=0.0)) > _DIVERGED * size
            if short > _SHORT_STEPS or diverged or area.mean(at) < _CENTRAL * area.first_mean:
                # Rows of tiny unknowns alone, -4 z_2 >= 0, are met only at their bounds themselves.
                for near in (0.0, _TIE * float(np.abs(at.x).max(initial=0.0))):
                    low, high = (
                        area.low & (at.p <= np.maximum(at.s, near)),
                        area.high & (at.r <= np.maximum(at.t, near)),
                    )
                    progress.solved(embedded(np.where(low, box.lo, np.where(high, box.hi, at.x))), record=False)
                return Status.STALLED
        return Status.ITERATION_LIMIT


def _part(box: ScaledBox, moving: NDArray[np.intp]) -> ScaledBox:
    """The problem of the unknowns that are not given (lo = hi), the others put in."""
    if moving.shape[0] == box.n:
        return box
    given = np.where(box.lo == box.hi, box.lo, 0.0)
    q = box.rows(given)[moving]
    return replace(box, M=block(box.M, moving), q=q, lo=box.lo[moving], hi=box.hi[moving], unit=box.unit[moving])

"""The method of Lemke and Howson for equilibria of two-person games, posed as complementarity problems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.errors import ProblemError
from lcp.interruptible import cpu_seconds
from lcp.method import SolverBase, SolveRequest, Traits
from lcp.options import integer_option, positive_option
from lcp.polish.active_set import refine
from lcp.problem import LCP
from lcp.residuals import verified
from lcp.result import Claim, TraceRecorder
from lcp.solvers.shared.complementary_path import ComplementaryPath
from lcp.solvers.shared.newton import basic_point
from lcp.solvers.shared.scaled_box import ScaledBox, scaled_box
from lcp.status import Status


@dataclass(frozen=True)
class LemkeHowson(SolverBase[LCP]):
    """An equilibrium of a bimatrix game by complementary pivoting (Lemke and Howson 1964).

    Let A and B (m, n) be the costs, all positive, of a player with m and one with n strategies. They define the problem
    with M = [[0, A], [B^T, 0]] and q = -1. For its solution (x, y), x / sum(x) and y / sum(y) are an equilibrium, and
    the sums are one over the costs B and A there. Every such problem has a solution, and every label, the first
    strategy to be dropped, leads to one. Rows and unknowns may have any units and order: required are q < 0 and, after
    some permutation, this form. Other problems are UNSUITABLE.

    Ties are broken lexicographically, so that degenerate games end. Zero costs are lifted by adding a constant to all
    costs of a player. If the cost at the equilibrium is zero, it is not a solution, and the next label is tried.

    Parameters
    ----------
    label
        Index of the unknown that is dropped first. Different labels may lead to different equilibria.
    restarts
        Limit on further labels, in order, after one without a verified solution; None for all.
    max_pivots
        Limit over all labels; None for max(1000, 100 n). Some games need exponentially many (Savani and von Stengel
        2006).
    time_limit
        Seconds, checked at every pivot.

    References
    ----------
    C. E. Lemke, J. T. Howson, Equilibrium points of bimatrix games, SIAM Journal 12 (1964).
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), sections 1.2 and 4.4 (4.4.20).
    B. von Stengel, Computing equilibria for two-person games, Handbook of Game Theory 3 (2002), section 2.
    """

    label: int = integer_option(0)
    restarts: int | None = integer_option(None)
    max_pivots: int | None = integer_option(None)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = Traits.BIMATRIX_GAME

    def _claim(self, problem: LCP, request: SolveRequest) -> Claim:
        """Follow the path of one label after another until a verified solution, or a limit."""
        deadline = cpu_seconds() + self.time_limit
        n = problem.n
        recorder = TraceRecorder(request.trace)
        best: Vector = np.zeros(n)
        players = player_strategies(problem)
        if players is None:
            return Claim(best, Status.UNSUITABLE, 0, "not of the form of a game", trace=recorder.trace())
        if self.label >= n:
            raise ProblemError(f"LemkeHowson.label is {self.label}, the problem has {n} unknowns")
        box = scaled_box(problem)
        game = _lifted(box, players)
        labels = np.roll(np.arange(n), -self.label)[: None if self.restarts is None else self.restarts + 1]
        limit = max(1000, 100 * n) if self.max_pivots is None else self.max_pivots
        spent, status, detail = 0, Status.STALLED, ""
        for number, label in enumerate(labels.tolist()):
            share = limit - spent if number == labels.size - 1 else (limit - spent) // 2
            path = ComplementaryPath(game, np.zeros(n), np.zeros(n, dtype=np.bool_), share, deadline)
            try:
                ended = _follow(path, label)
            except np.linalg.LinAlgError:
                ended = Status.SINGULAR_BASIS
            spent += path.pivots
            detail = f"label {label}"
            if ended is Status.SOLVED:
                x = basic_point(box, path.states())
                if x is not None and np.isfinite(x).all():
                    best = np.maximum(box.original(x), 0.0)
                    recorder.add(spent, float(np.abs(np.minimum(best, problem._M @ best + problem._q)).max()))
                    better = (
                        best if verified(problem, best, request.tolerance) else refine(problem, best, request.tolerance)
                    )
                    if better is not None:
                        return Claim(better, Status.SOLVED, spent, detail, trace=recorder.trace())
                ended = Status.STALLED
            status = ended if number == 0 else status
            if spent >= limit or cpu_seconds() > deadline:
                return Claim(best, Status.ITERATION_LIMIT, spent, detail, trace=recorder.trace())
        return Claim(best, status, spent, detail, trace=recorder.trace())


def player_strategies(problem: LCP) -> NDArray[np.bool_] | None:
    """Return a mask (n,) of the unknowns that are strategies of the first player, or None if the problem is not a game.

    A game has M >= 0 with q < 0. There are no entries between two strategies of one player, all strategies are
    connected by entries, and no row is zero, because nothing could solve it.
    """
    M = problem._M
    # Most problems are told from a game by their first row.
    if problem.n < 2 or problem.sparse or M[0, 0] != 0.0 or not problem._q[0] < 0.0:
        return None
    if not (problem._q < 0.0).all() or np.diag(M).any() or (M < 0.0).any() or not M.any(axis=1).all():
        return None
    meets = (M > 0.0) | (M.T > 0.0)
    first = np.zeros(problem.n, dtype=np.bool_)
    first[0] = True
    while True:
        second = meets[first].any(axis=0)
        if (first & second).any():
            return None
        grown = first | meets[second].any(axis=0)
        if (grown == first).all():
            return first if (first | second).all() else None
        first = grown


def _lifted(box: ScaledBox, first: NDArray[np.bool_]) -> ScaledBox:
    """Return the game, with a constant added to all costs of each player if some are zero."""
    across = first[:, None] != first
    if (box.M[across] > 0.0).all():
        return box
    # A cost c more for whatever both do: (A + b d^T) y >= b is A y >= (1 - d.y) b, for any weights d > 0.
    most = box.M.max(axis=0)
    more = np.outer(box.q / box.q.min(), np.where(most > 0.0, most, 1.0))
    return replace(box, M=box.M + np.where(across, more, 0.0))


def _follow(path: ComplementaryPath, label: int) -> Status:
    """Follow the ray on which only the label is missing inwards, then the path until the label is met again."""
    n, M, q = path.n, path.box.M, path.box.q
    entering = label
    for _ in range(2):
        # Far out all rows of the other player hold; coming in, the last one to hold stops it.
        rows = np.flatnonzero(M[:, entering])
        path.set_nonbasic(entering, 2.0 * float((-q[rows] / M[rows, entering]).max()))
        leaving = path.enter(entering, False)
        if leaving == n + label:
            return Status.SOLVED
        if leaving - n not in rows:
            return Status.STALLED
        entering = leaving - n
    return path.follow(entering, True, (label, n + label), TraceRecorder(False))

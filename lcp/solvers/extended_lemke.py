"""Lemke's method in double-double arithmetic, for problems whose numbers span more digits than float64."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lcp.arrays import Vector
from lcp.kernels import RAY, SOLVED
from lcp.method import MONOTONE, SolverBase, SolveRequest, Traits, integer_option, positive_option
from lcp.polish import refine, round_to_float64, solve_basis_extended
from lcp.problem import LCP, kernel_arrays
from lcp.residuals import measure
from lcp.result import Claim, Ray
from lcp.scaling import balanced_scales
from lcp.solvers.frame import SolveState, artificial_value
from lcp.status import STATUS_OF_CODE, Status

# Table entries handled between two returns to Python, about a tenth of a second.
_PORTION = 20_000_000
# Part of the tolerance within which a basis is accepted at once, as by `Lemke`.
_STRICTNESS = 1e-3
# Scaled residual below which a result is polished.
_NEAR = 1e-5
# Scaled residual below which the rounding of z may be its cause.
_SETTLED = 1e-10
# Residual, relative to the terms of its row, that is only the rounding of z; number of such results that end a search.
_ROUNDED = 1e-14
_ENOUGH = 3


class _PathOptions(NamedTuple):
    """Options of one path: relative uncertainty of the data (0 means exact data), and number of the covering vector."""

    trust: float
    cover: int


# Physical data are rounded, and redundant contacts make zeros that rounding fills: first paths count them as zeros.
# Data of few digits, and dependencies that rounding has broken, need paths that use every digit.
_TRIES = (
    _PathOptions(2.0**-53, 0),
    _PathOptions(2.0**-50, 0),
    _PathOptions(2.0**-53, 1),
    _PathOptions(0.0, 0),
    _PathOptions(2.0**-50, 1),
    _PathOptions(2.0**-53, 2),
    _PathOptions(2.0**-47, 0),
    _PathOptions(2.0**-53, 3),
    _PathOptions(0.0, 1),
    _PathOptions(2.0**-47, 1),
    _PathOptions(0.0, 2),
    _PathOptions(2.0**-50, 3),
    _PathOptions(2.0**-47, 3),
    _PathOptions(0.0, 3),
    _PathOptions(2.0**-53, 4),
)


@dataclass(frozen=True)
class ExtendedLemke(SolverBase[LCP]):
    """Complementary pivoting in numbers of 32 digits, every entry with the size of its error (Lemke 1965).

    For problems on which `Lemke` loses its path to rounding: mass ratios of 1e6 and more, redundant contacts, units
    that differ by twenty orders. The tableau is balanced by geometric means and powers of two. Its entries are
    double-double numbers with an error bound. The bounds decide which entries are zero, which ratios tie, and when the
    dictionary is formed again from the data. Some paths treat the data as rounded, so that entries which are zero up to
    their last digits count as zero. Other paths treat them as exact. The final basis is solved again in double-double
    numbers and rounded so that its rows are satisfied. A pivot takes 8 to 20 times as long as a pivot of `Lemke`.

    Parameters
    ----------
    max_pivots
        Limit over all paths; None for max(1000, 100 n).
    restarts
        Further paths, with other error models and covering vectors, after one without a verified solution.
    time_limit
        Seconds, checked every tenth of a second or at every pivot, if a pivot takes longer.
    max_size
        Largest n; larger problems are UNSUITABLE. The workspace takes 24 n^2 bytes.

    References
    ----------
    C. E. Lemke, Bimatrix equilibrium points and mathematical programming, Management Science 11 (1965).
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), algorithms 4.4.1 and 4.9.3.
    T. J. Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18 (1971).
    """

    max_pivots: int | None = integer_option(None)
    restarts: int = integer_option(len(_TRIES) - 1)
    time_limit: float = positive_option(300.0)
    max_size: int = integer_option(2000)

    traits: ClassVar[Traits] = MONOTONE | Traits.P_MATRIX | Traits.COPOSITIVE | Traits.WARM_START

    def _claim(self, problem: LCP, request: SolveRequest) -> Claim:
        """Follow one path after another until a verified solution, or a limit."""
        n = problem.n
        limit = max(1000, 100 * n) if self.max_pivots is None else self.max_pivots
        search = _PathSearch(problem, request, self.time_limit, limit, "artificial variable")
        if n == 0 or (problem._q >= 0.0).all():
            return search.claim(Status.SOLVED, "")
        if n > self.max_size:
            detail = f"n = {n} exceeds ExtendedLemke.max_size = {self.max_size}"
            return Claim(search.best, Status.UNSUITABLE, 0, detail, trace=search.recorder.trace())
        if request.z0 is not None:
            warm = solve_basis_extended(problem, request.z0 > 0.0)
            if warm is not None and measure(problem, np.maximum(warm, 0.0))[0].solved(_STRICTNESS * request.tolerance):
                search.best = np.maximum(warm, 0.0)
                return search.claim(Status.SOLVED, "warm basis accepted")
        return search.follow_paths(self.restarts)


class _PathSearch(SolveState):
    """State of one solve: the paths it follows, and the best candidate."""

    problem: LCP
    rank = (True, math.inf, math.inf)
    rounded = 0

    def follow_paths(self, restarts: int) -> Claim:
        """Follow one path after another; see `_TRIES`."""
        from lcp.kernels import extended_lemke as k

        n = self.problem.n
        self.kernels = k
        self.row, self.column = balanced_scales(self.problem._M)
        self.wf = np.empty(k.extended_float_size(n))
        self.wi = np.empty(k.extended_int_size(n), dtype=np.int64)
        self.direction = np.empty(2 * n + 1)
        ray, ray_trust = None, math.inf
        for number in range(restarts + 1):
            attempt = _TRIES[number] if number < len(_TRIES) else _PathOptions(2.0**-53 if number % 3 else 0.0, number)
            # A path that long often cycles; the last may use up the limit.
            share = self.iterations + max(100, 6 * n) if number < restarts else self.pivot_limit
            code, pivots = self.follow(attempt, min(self.pivot_limit, share) - self.iterations)
            solved = code == SOLVED and self.accept()
            if code == RAY and attempt.trust < ray_trust:
                d = self.direction
                ray = Ray(d[:n] / self.row, d[n : 2 * n] * self.column, float(d[2 * n]))
                ray_trust = attempt.trust
            detail = f"{number + 1} paths" if number else ""
            if self.rounded >= _ENOUGH and not solved:
                self.iterations += pivots
                return self.claim(Status.STALLED, "solved in 32 digits; rounded to float64, z does not hold its rows")
            claim = self.end_path(pivots, STATUS_OF_CODE[code], solved, detail)
            if claim is not None:
                return claim
        if ray is not None:
            return self.claim(Status.RAY_TERMINATION, self.detail, ray)
        return self.claim(self.first_status or Status.STALLED, self.detail)

    def claim(self, status: Status, detail: str = "", evidence: Any = None) -> Claim:
        """Return the claim on the best candidate; its status is SOLVED, without evidence, if this candidate solves."""
        if measure(self.problem, self.best)[0].solved(self.tolerance):
            status, evidence = Status.SOLVED, None
        return super().claim(status, detail, evidence)

    def follow(self, attempt: _PathOptions, limit: int) -> tuple[int, int]:
        """Pivot along one path to its end, or to its limit; return the last code and the number of pivots."""
        k, n = self.kernels, self.problem.n
        M, q = kernel_arrays(self.problem)
        info = np.zeros(k.INFO_SIZE, dtype=np.int64)
        cover = covering_vector(n, attempt.cover)
        values = self.wf[: n * (n + 2)].reshape(n, n + 2)[:, n + 1]

        def record() -> None:
            if self.recorder.wanted:
                self.recorder.add(self.iterations + int(info[k.PIVOTS]), artificial_value(values, self.wi[:n]))

        code = self.run(
            lambda budget: k.extended_drive(
                M, q, self.row, self.column, cover, attempt.trust, limit, self.wf, self.wi, self.direction, info, budget
            ),
            int(min(256, max(1, _PORTION // n**2))), record,
        )  # fmt: skip
        return code, int(info[k.PIVOTS])

    def accept(self) -> bool:
        """Solve the last basis of the path from the original data; return True if it is certainly a solution."""
        n = self.problem.n
        basis = self.wi[:n]
        active = np.zeros(n, dtype=np.bool_)
        active[basis[basis >= n] - n] = True
        z = solve_basis_extended(self.problem, active)
        if z is None:
            return False
        z = np.maximum(z, 0.0)
        residual = measure(self.problem, z)[0]
        if not residual.solved(self.tolerance) and residual.scaled < _NEAR:
            better = round_to_float64(self.problem, z, self.tolerance) if residual.scaled < _SETTLED else None
            if better is None:
                better = refine(self.problem, z, self.tolerance)
            if better is not None:
                z, residual = better, measure(self.problem, better)[0]
        # Every row is satisfied to rounding of its terms: more digits of the path would not help.
        M, q = kernel_arrays(self.problem)
        w, terms = M @ z + q, np.abs(M) @ z + np.abs(q)
        held = (np.abs(np.minimum(z, w)) <= np.where(w < z, _ROUNDED * terms, 0.0)).all()
        self.rounded += bool(held) and not residual.solved(self.tolerance)
        # Any solution before any other candidate, then by the residuals.
        rank = (not residual.solved(self.tolerance), residual.backward_error, residual.scaled)
        if rank < self.rank:
            self.best, self.rank = z, rank
        return residual.solved(_STRICTNESS * self.tolerance)


def covering_vector(n: int, number: int) -> Vector:
    """Return ones, or fixed irregular powers of two: exact in every comparison, and the same on every machine."""
    if number == 0:
        return np.ones(n)
    turn = np.arange(1, n + 1) * (0.6180339887498949 + 0.1 * number)
    cover: Vector = np.exp2(np.floor(4.0 * (turn - np.floor(turn))))
    return cover

"""All solutions of a small problem, by trying every complementary basis."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector, check_range
from lcp.conversions import box_to_mlcp, check_kind
from lcp.farkas import linear_program
from lcp.interruptible import cpu_seconds, interruptible
from lcp.polish import at_bounds, refine
from lcp.problem import LCP, MLCP, BoxLCP, bounds_of, stacked
from lcp.reduction import reduce
from lcp.residuals import DEFAULT_TOLERANCE, Problem, measure, verified
from lcp.scaling import balanced_scales
from lcp.status import ProblemError

_CHUNK = 4096
_RANK_TOLERANCE = 1e-11
# Fraction of its terms below zero at which a row is certainly negative.
_WRONG = 1e-6
# Linear programs for singular bases of two or more directions, and number of singular bases examined.
_PROGRAMS = 2000
_SINGULAR = 20000
# Pairs up to which a proof of no solution is checked by a new enumeration, and its seconds: for linear programs in
# integers, and for bases.
_CHECKED, _EXACTLY, _BY_BASES = 24, 10.0, 120.0
_ZERO = 1e-9


class MixedSolution(NamedTuple):
    """Solution of an `MLCP`."""

    u: Vector
    y: Vector


@dataclass(frozen=True, slots=True, eq=False)
class EnumerationResult:
    """Result of an enumeration.

    Attributes
    ----------
    solutions
        Vectors z (n,), or `MixedSolution` (u, y) of an `MLCP`: every solution at a regular basis, every isolated one at
        a singular basis, and one point of each continuum that contains none of these. Each is verified.
    isolated
        For each of them, whether no other solution is arbitrarily near.
    continuum
        Whether some basis has a set of solutions of positive dimension. Free unknowns that neither w nor the equations
        determine do not count; they are given with least norm.
    complete
        Whether every basis was decided; False if there were too many singular bases, or one whose signs are right to
        rounding and whose residual is not.
    bases
        Number of bases tried.
    """

    solutions: tuple[Any, ...]
    isolated: tuple[bool, ...]
    continuum: bool
    complete: bool
    bases: int

    def proves(self, problem: Problem) -> bool:
        """Return True if ``problem`` is feasible and has no solution, as this list states; the enumeration is repeated.

        A list could be written by hand, so it is not trusted. Up to 16 unknowns the check is in integers. If these take
        too long, and up to 24 pairs, it goes basis by basis. Larger problems are not checked.
        """
        lo, hi = bounds_of(problem)
        # Check before anything is made dense or stored.
        few = int(np.isfinite([lo, hi])[:, lo < hi].sum()) <= _CHECKED
        return self.complete and not self.solutions and few and _unsolvable(problem)


@functools.lru_cache(maxsize=1)
def _unsolvable(problem: Problem) -> bool:
    """Return True if a new search finds the problem feasible and without solution; the result is cached."""
    from lcp.farkas import EXACT, feasible_point, solve_integer_program, to_mlcp

    mixed = to_mlcp(problem)
    if mixed.n + mixed.n_free <= EXACT:
        exact = solve_integer_program(mixed, _EXACTLY)
        if exact.found is not None or exact.complete:
            return exact.found is None and exact.feasible is not None
    search, deadline = BasisSearch(mixed, DEFAULT_TOLERANCE), cpu_seconds() + _BY_BASES
    for first in range(0, 1 << mixed.n, _CHUNK):
        for _ in search.regular_in_range(first, min(first + _CHUNK, 1 << mixed.n)):
            return False
        if cpu_seconds() > deadline:
            return False
    for _ in search.singular():
        return False
    return search.summary().complete and feasible_point(problem, _BY_BASES) is not None


@interruptible
def enumerate_solutions(
    problem: Problem, *, max_n: int = 16, tolerance: float = DEFAULT_TOLERANCE
) -> EnumerationResult:
    """Find all solutions of a small problem.

    Parameters
    ----------
    problem
        An `LCP`, `MLCP` or `BoxLCP` of at most ``max_n`` complementary pairs (an unknown with two bounds counts twice).
    max_n
        Limit on n: 2^n bases are tried.
    tolerance
        Bound on the backward error of a solution.

    Raises
    ------
    ProblemError
        For a larger problem.

    References
    ----------
    K. G. Murty, Linear Complementarity, Linear and Nonlinear Programming (1988), section 1.4 (complementary cones).
    """
    check_kind(problem)
    if isinstance(problem, BoxLCP):
        return _boxed(problem, max_n, tolerance)
    if problem.n > max_n:
        raise ProblemError(
            f"enumeration tries 2^n bases: n = {problem.n} exceeds max_n = {max_n}; lcp.all_solutions branches instead"
        )
    search = BasisSearch(problem, tolerance)
    for _ in search.regular():
        pass
    for _ in search.singular():
        pass
    return search.summary()


def _boxed(problem: BoxLCP, max_n: int, tolerance: float) -> EnumerationResult:
    """Enumerate the solutions of a boxed problem by its conversion to an `MLCP`."""
    conversion = box_to_mlcp(problem)
    enumerated = enumerate_solutions(conversion.problem, max_n=max_n, tolerance=tolerance)
    points: list[Vector] = []
    isolated: list[bool] = []
    complete = enumerated.complete
    for solution, alone in zip(enumerated.solutions, enumerated.isolated, strict=True):
        z = at_bounds(problem, conversion.recover(np.concatenate([solution.u, solution.y])), tolerance)
        better = refine(problem, z, tolerance)
        if better is None:
            # This is a solution of the converted problem, but because of rounding not of the original one.
            complete = False
        elif not any(_same(better, other) for other in points):
            points.append(better)
            isolated.append(alone)
    return EnumerationResult(tuple(points), tuple(isolated), enumerated.continuum, complete, enumerated.bases)


def _same(x: Vector, y: Vector) -> bool:
    unit = max(float(np.abs(x).max(initial=0.0)), float(np.abs(y).max(initial=0.0)))
    return bool((np.abs(x - y) <= 1e-7 * unit).all())


class BasisSearch:
    """State of an enumeration: the solutions found, and the singular bases that wait."""

    def __init__(self, problem: LCP | MLCP, tolerance: float) -> None:
        self._problem = problem
        self._tolerance = tolerance
        self._reduction = None
        inner: LCP | MLCP = problem
        if isinstance(problem, MLCP) and problem.n_free:
            reduction = reduce(problem)
            # A regular A is eliminated, for smaller bases. Otherwise the free unknowns are in every basis.
            if reduction.exact and reduction.consistent:
                self._reduction, inner = reduction, reduction.lcp
        K, k, m = stacked(inner)
        row, self._column = balanced_scales(K)
        unit = float(np.abs(row * k).max(initial=0.0))
        # Signs and ranks do not depend on the size of the right-hand side: it is scaled to 1 if it is not zero.
        self._unit = unit if unit > 0.0 else 1.0
        self._K, self._k, self._m = row[:, None] * K * self._column, row * k / self._unit, m
        self._n = problem.n
        self._singular: list[int] = []
        self._points: list[Vector] = []
        self._supports: list[tuple[int, int]] = []
        self._continua: list[int] = []
        self._complete = True

    def regular(self) -> Iterator[Vector]:
        """Find the solutions at regular bases, in the order of their codes."""
        yield from self.regular_in_range(0, 1 << self._n)

    def regular_in_range(self, first: int, end: int) -> Iterator[Vector]:
        """Find solutions at regular bases with ``first <= code < end``; store singular ones for `singular`."""
        from lcp.kernels.principal_blocks import CANDIDATE, scan_bases

        size, chunk = self._k.shape[0], min(_CHUNK, end - first)
        A, work, index = np.empty((size, size + 1)), np.empty(2 * size), np.empty(2 * size, dtype=np.int64)
        codes, kinds = np.empty(chunk, dtype=np.int64), np.empty(chunk, dtype=np.int64)
        for start in range(first, end, chunk):
            stop = min(start + chunk, end)
            kept = scan_bases(
                self._K, self._k, self._m, start, stop, _RANK_TOLERANCE, 1e-7, A, work, index, codes, kinds
            )
            for code, kind in zip(codes[:kept].tolist(), kinds[:kept].tolist(), strict=True):
                if kind != CANDIDATE:
                    self._singular.append(code)
                    continue
                active = self._active(code)
                x = np.zeros(size)
                block = self._K[np.ix_(active, active)]
                x[active] = np.linalg.solve(block, -self._k[active])
                x[active] -= np.linalg.solve(block, block @ x[active] + self._k[active])
                if self._keep(x):
                    yield self._points[-1]

    def singular(self) -> Iterator[Vector]:
        """Find solutions at singular bases that no regular one has, and the continua."""
        programs = 0
        for count, code in enumerate(self._singular):
            try:
                affine = affine_set(self._K, self._k, self._m, self._active(code), _RANK_TOLERANCE)
            except np.linalg.LinAlgError:
                # Numbers exceed double precision: the basis remains undecided.
                self._complete = False
                continue
            if affine is None:
                continue
            if affine.n_constrained_directions > 1:
                programs += 1
            if programs > _PROGRAMS or count >= _SINGULAR:
                self._complete = False
                return
            if self._keep_piece(code, affine):
                yield self._points[-1]

    def summary(self) -> EnumerationResult:
        """Return the result."""
        isolated = tuple(
            not any(self._belongs_to_basis(i, code) for code in self._continua) for i in range(len(self._points))
        )
        m = self._problem.n_free if isinstance(self._problem, MLCP) else 0
        solutions: tuple[Any, ...] = tuple(self._points)
        if isinstance(self._problem, MLCP):
            solutions = tuple(MixedSolution(x[:m], x[m:]) for x in self._points)
        return EnumerationResult(solutions, isolated, bool(self._continua), self._complete, 1 << self._n)

    def _active(self, code: int) -> NDArray[np.intp]:
        pairs = [self._m + i for i in range(self._n) if code >> i & 1]
        return np.array([*range(self._m), *pairs], dtype=np.intp)

    def _keep_piece(self, code: int, affine: Affine) -> bool:
        """Keep the solutions of a basis: its point, or a point of its continuum; return True if one is new."""
        # With two or more directions a linear program decides.
        free = affine.n_constrained_directions
        piece = Piece(affine.point, 0) if free == 0 else _interval(affine) if free == 1 else _polyhedron(affine)
        if piece is None:
            return False
        if piece.dimension == 0:
            return self._keep(piece.point)
        kept = False
        # A point of the continuum must be a verified solution before the continuum is accepted.
        x = self._verified(piece.point)
        if x is not None:
            self._continua.append(code)
            if not any(self._belongs_to_basis(i, code) for i in range(len(self._points))):
                kept = self._add(x)
        return kept

    def _belongs_to_basis(self, i: int, code: int) -> bool:
        """Return True if solution i belongs to the basis: zero outside, w zero inside."""
        positive, tight = self._supports[i]
        return positive & ~code == 0 and code & ~tight == 0

    def _verified(self, x: Vector) -> Vector | None:
        """Return the solution of the original problem at the unknowns x of the scaled one, or None if it is not one."""
        z = x * self._column * self._unit
        z[self._m :] = np.maximum(z[self._m :], 0.0)
        if self._reduction is not None:
            z = np.concatenate([self._reduction.recover(z), z])
        if verified(self._problem, z, self._tolerance):
            return z
        refined = refine(self._problem, z, self._tolerance, rounds=1)
        K, k, _ = stacked(self._problem)
        if (
            refined is None
            and (K @ z + k >= -_WRONG * (np.abs(K) @ np.abs(z) + np.abs(k)))[z.shape[0] - self._n :].all()
        ):
            # Its signs are right to rounding, its residual is not. So it is undecided whether it is a solution, and a
            # proof that there is none is impossible.
            self._complete = False
        return refined

    def _keep(self, x: Vector) -> bool:
        z = self._verified(x)
        return z is not None and not any(_same(z, other) for other in self._points) and self._add(z)

    def _add(self, z: Vector) -> bool:
        """Add a solution and its bit masks of positive y and of zero w; return True."""
        _, w = measure(self._problem, z)
        y = z[z.shape[0] - self._n :]
        y_unit = float(np.abs(y).max(initial=0.0))
        K, k, _ = stacked(self._problem)
        w_unit = (np.abs(K) @ np.abs(z) + np.abs(k))[z.shape[0] - self._n :]
        positive = sum(1 << i for i in range(self._n) if y[i] > 1e-8 * y_unit)
        tight = sum(1 << i for i in range(self._n) if abs(w[i]) <= 1e-8 * w_unit[i])
        z.flags.writeable = False
        self._points.append(z)
        self._supports.append((positive, tight))
        return True


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Nonempty set of solutions of one singular basis: one of its points, and its dimension in (y, w).

    With x the unknowns of the basis, x = x0 + N s solves its equations for every s. The remaining conditions, y >= 0 in
    the basis and w >= 0 outside, are c + G s >= 0: a polyhedron. Along one direction they are an interval; in more
    dimensions one linear program in homogeneous form finds a relative interior point and with it the dimension.
    """

    point: Vector
    dimension: int


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """Solutions x0 + N s of a singular basis and its sign conditions c + G s >= 0, each with its ``error``."""

    point: Vector
    directions: NDArray[np.float64]
    c: Vector
    G: NDArray[np.float64]
    error: Vector

    @property
    def n_constrained_directions(self) -> int:
        """Number of independent directions on which a condition depends."""
        return int(self.G.shape[1])

    def at(self, s: Vector) -> Vector:
        """Return the unknowns at s."""
        return self.point + self.directions @ s


def affine_set(
    K: NDArray[np.float64], k: Vector, m: int, active: NDArray[np.intp], rank_tolerance: float
) -> Affine | None:
    """Return the affine set of a basis of equilibrated data; None if it is empty or violates a fixed condition."""
    size = k.shape[0]
    block = K[np.ix_(active, active)]
    U, values, Vt = np.linalg.svd(block)
    rank = int((values > rank_tolerance * max(float(values[0]), np.finfo(np.float64).tiny)).sum()) if values.size else 0
    right = -k[active]
    inner = Vt[:rank].T @ ((U[:, :rank].T @ right) / values[:rank])
    gap = block @ inner - right
    sizes = np.abs(block) @ np.abs(inner) + np.abs(right)
    if (np.abs(gap) > 1e-8 * max(float(sizes.max(initial=0.0)), 0.0)).any():
        return None
    point = np.zeros(size)
    point[active] = inner
    directions = np.zeros((size, active.shape[0] - rank))
    directions[active] = Vt[rank:].T
    pairs = np.arange(m, size)
    inside = np.zeros(size, dtype=bool)
    inside[active] = True
    rows = K @ point + k
    c = np.where(inside[pairs], point[pairs], rows[pairs])
    moved = K @ directions
    G = np.where(inside[pairs, None], directions[pairs], moved[pairs])
    x_size = float(np.abs(point).max(initial=0.0))
    error = _ZERO * np.where(inside[pairs], x_size, np.abs(K[pairs]) @ np.abs(point) + np.abs(k[pairs]))
    # Directions without effect on the conditions (of free unknowns) are left out; the others are made orthonormal in G.
    _, strength, Wt = np.linalg.svd(G, full_matrices=False)
    felt = int((strength > 1e-9).sum())
    directions, G = directions @ Wt[:felt].T, G @ Wt[:felt].T
    G[np.abs(G) < 1e-11] = 0.0
    fixed = ~G.any(axis=1)
    if (c[fixed] < -error[fixed]).any():
        return None
    return Affine(point, directions, c, G, error)


def _interval(affine: Affine) -> Piece | None:
    """Return the piece of solutions along one direction, or None if its conditions contradict each other."""
    g, c = affine.G[:, 0], affine.c
    rising, falling = g > 0.0, g < 0.0
    # Each end is widened by the rounding error of its condition.
    low = float(np.max(-c[rising] / g[rising], initial=-np.inf))
    high = float(np.min(-c[falling] / g[falling], initial=np.inf))
    slack = float(np.max(affine.error / np.where(g != 0.0, np.abs(g), 1.0), where=g != 0.0, initial=0.0))
    slack = max(slack, _ZERO * max(abs(low) if np.isfinite(low) else 0.0, abs(high) if np.isfinite(high) else 0.0))
    if high < low - slack:
        return None
    unit = float(np.abs(affine.point).max(initial=0.0))
    if np.isfinite(low) and np.isfinite(high):
        s = 0.5 * (low + high)
    elif np.isfinite(low):
        s = low + (unit or 1.0)
    else:
        s = high - (unit or 1.0) if np.isfinite(high) else 0.0
    return Piece(affine.at(np.array([s])), 1 if high > low + slack else 0)


def _polyhedron(affine: Affine) -> Piece | None:
    """Maximise the number of strict conditions: max sum t with c r + G s >= t, 0 <= t <= 1, r >= 1."""
    count, d = affine.G.shape
    unit = max(float(np.abs(affine.c).max(initial=0.0)), np.finfo(np.float64).tiny)
    c = np.where(np.abs(affine.c) <= affine.error, 0.0, affine.c) / unit
    # Do not return an empty piece, which would count as proof.
    check_range("a piece of the solution set", c, affine.G)
    program = linear_program(
        np.concatenate([np.zeros(d + 1), -np.ones(count)]),
        np.hstack([-c[:, None], -affine.G, np.eye(count)]),
        b_ub=np.zeros(count),
        bounds=[(1.0, None)] + [(None, None)] * d + [(0.0, 1.0)] * count,
    )
    if program is None:
        return None
    r, s, t = program.x[0], program.x[1 : d + 1], program.x[d + 1 :]
    point = affine.at(s / r * unit)
    tight = affine.G[t < 0.5]
    lost = int(np.linalg.matrix_rank(tight, tol=1e-9)) if tight.size else 0
    return Piece(point, d - lost)

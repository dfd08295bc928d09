"""Many small problems in one call, on threads."""

from __future__ import annotations

import itertools
import operator
import os
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import Vector, check_finite, real_array
from lcp.dispatch import Solver
from lcp.interruptible import map_threads, raise_if_cancelled, run_interruptibly, thread_team
from lcp.kernels import SOLVED
from lcp.method import SolveRequest
from lcp.problem import lcp_from_checked
from lcp.residuals import DEFAULT_TOLERANCE, Residuals
from lcp.result import Attempt, Result, SolveError
from lcp.solve import check_method, check_tolerance, default_solver, solve_checked
from lcp.solvers import Lemke
from lcp.status import STATUS_OF_CODE, ProblemError, Status

# Problems per thread between two polls for Ctrl-C.
_PORTION = 1024
# Problems for which one more thread is worth its start.
_LEAST = 128
# Operations (n^3 per problem) that take about a hundredth of a second.
_LONG = 30_000_000
# Number of measures in `Residuals`.
_MEASURES = 7
_STATUSES = np.array([STATUS_OF_CODE[code] for code in sorted(STATUS_OF_CODE)], dtype=object)
# Seconds per problem below which threads would wait for each other.
_BRIEF = 5e-4


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult:
    """Results of B problems of n pairs; ``batch[i]`` is the `Result` of one.

    Attributes
    ----------
    z, w
        Arrays (B, n), read-only.
    status
        The `Status` of each, an object array (B,).
    iterations
        Pivots or iterations of each, (B,).
    scaled, natural_map
        Residuals of each on its own data, (B,).
    solve_time
        Seconds for all.
    solver, tolerance
        As in `Result`.
    """

    z: Vector
    w: Vector
    status: NDArray[np.object_]
    iterations: NDArray[np.int64]
    solve_time: float
    solver: Any
    tolerance: float
    _compiled: Vector | None
    _singles: dict[int, Result]

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Return which problems were verified as solved, (B,)."""
        return np.asarray(self.status == Status.SOLVED, dtype=bool)

    @cached_property
    def _measures(self) -> Vector:
        """Return the measures of `Residuals`, (B, 7)."""
        measures = np.zeros((len(self), _MEASURES)) if self._compiled is None else self._compiled[:, :_MEASURES].copy()
        for b, single in self._singles.items():
            r = single.residual
            measures[b] = (r.natural_map, r.scaled, r.fischer_burmeister, r.min_z, r.min_w, r.gap, r.backward_error)
        return measures

    @property
    def scaled(self) -> Vector:
        """Return the scaled residual of each problem, (B,)."""
        return self._measures[:, 1]

    @property
    def natural_map(self) -> Vector:
        """Return the natural map of each problem, (B,)."""
        return self._measures[:, 0]

    def __len__(self) -> int:
        return int(self.z.shape[0])

    def __getitem__(self, i: int) -> Result:
        if not -len(self) <= i < len(self):
            raise IndexError(f"batch of {len(self)} has no entry {i}")
        i %= len(self)
        if i in self._singles:
            return self._singles[i]
        residual = Residuals(*self._measures[i].tolist())
        status, pivots = self.status[i], int(self.iterations[i])
        claimed = self._compiled is not None and int(self._compiled[i, -1]) == SOLVED
        false_claim = claimed and status is not Status.SOLVED
        attempt = Attempt(self.solver, status, pivots, residual, "", false_claim)
        return Result(
            z=self.z[i],
            w=self.w[i],
            status=status,
            iterations=pivots,
            residual=residual,
            solver=self.solver,
            attempts=(attempt,),
            solve_time=self.solve_time / len(self),
            regularization=0.0,
            evidence=None,
            tolerance=self.tolerance,
        )

    def raise_for_status(self) -> None:
        """Raise `SolveError` for the first problem that is not solved; the error has the number of these problems."""
        missed = np.flatnonzero(~self.solved)
        if missed.shape[0]:
            first = self[int(missed[0])]
            text = f"{missed.shape[0]} of {len(self)} not solved; problem {missed[0]}: {first.describe()}"
            raise SolveError(f"{text} {first.advice}", first)

    def __repr__(self) -> str:
        return f"BatchResult({int(self.solved.sum())} of {len(self)} solved, n={self.z.shape[1]})"


def solve_batch(
    M: ArrayLike,
    q: ArrayLike,
    solver: Solver | None = None,
    *,
    z0: ArrayLike | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
    threads: int | None = None,
) -> BatchResult:
    """Solve many problems of the same size and verify each on its own data.

    Parameters
    ----------
    M
        Matrices (B, n, n), or one (n, n) for all.
    q
        Vectors (B, n).
    solver
        None or `Lemke` without a covering vector: compiled as a whole, in about the kernel's time per problem; None
        gives unsolved problems to `default_solver`. Any other solver is called once per problem.
    z0
        Starts (B, n).
    tolerance
        As in `solve`.
    threads
        Number of threads, None for one per core; fewer if they would wait for each other. Results do not depend on it.

    Raises
    ------
    ProblemError
        For ill-formed arguments; the error names the entry. A numerical failure is the status of its problem.
    """
    matrices, vectors, starts = _checked(M, q, z0)
    check_tolerance(tolerance)
    wanted: object = os.cpu_count() or 1 if threads is None else threads  # whatever the caller's types say
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
        raise ProblemError(f"threads must be a whole number >= 1, got {threads!r}")
    workers = wanted
    clock = time.perf_counter()
    B, n = vectors.shape
    left = np.arange(B)
    compiled: Vector | None = None
    if solver is None or (type(solver) is Lemke and solver.covering_vector is None):
        lemke = solver if isinstance(solver, Lemke) else Lemke()
        z, w, compiled = _run_lemke(lemke, matrices, vectors, starts, tolerance, workers)
        ended, iterations = compiled[:, _MEASURES : _MEASURES + 2].astype(np.int64).T
        left = np.flatnonzero(ended) if solver is None else left[:0]
        status = _STATUSES[ended]
    method = default_solver() if solver is None else solver
    singles = _singles(method, matrices, vectors, starts, tolerance, workers, left) if left.shape[0] else {}
    if compiled is None:
        every = [singles[b] for b in range(B)]
        z, w = (np.array([getattr(single, name) for single in every]).reshape((B, n)) for name in ("z", "w"))
        iterations = np.array([single.iterations for single in every], dtype=np.int64)
        status = np.empty(B, dtype=object)
        status[:] = [single.status for single in every]
    else:
        for b, single in singles.items():
            z[b], w[b], status[b], iterations[b] = single.z, single.w, single.status, single.iterations
    z.flags.writeable = False
    w.flags.writeable = False
    used = method if solver is not None else Lemke()
    seconds = time.perf_counter() - clock
    return BatchResult(z, w, status, iterations, seconds, used, tolerance, compiled, singles)


def _singles(
    method: Any, M: Vector, q: Vector, z0: Vector | None, tolerance: float, workers: int, which: NDArray[np.intp]
) -> dict[int, Result]:
    """Solve the problems ``which`` one by one, on up to ``workers`` threads; return their results by number."""
    # Problems own their data.
    matrices, vectors = M.copy(), q.copy()
    shared = matrices.shape[0] == 1
    check_method(method)
    judged = getattr(type(method), "_solve_and_verify", None)

    def several(numbers: list[int]) -> list[Result]:
        results = []
        for b in numbers:
            problem = lcp_from_checked(matrices[0 if shared else b], vectors[b])
            start = None if z0 is None else z0[b]
            single = None if judged is None else judged(method, problem, start, tolerance)
            if single is None:
                single = cast(Result, solve_checked(problem, method, SolveRequest(start, tolerance, False)))
            results.append(single)
        return results

    numbers: list[int] = which.tolist()
    begun = time.perf_counter()
    first = several(numbers[:1])
    if time.perf_counter() - begun < _BRIEF:
        # Most of it is Python code, which several threads do not run faster.
        workers = 1
    rest = numbers[1:]
    size = 16 if workers > 1 else _PORTION
    done = map_threads(lambda i: several(rest[i * size : (i + 1) * size]), -(-len(rest) // size), workers)
    portions = [results for _, results in sorted(done, key=operator.itemgetter(0))]
    return dict(zip(numbers, itertools.chain(first, *portions), strict=True))


def _checked(M: ArrayLike, q: ArrayLike, z0: ArrayLike | None) -> tuple[Vector, Vector, Vector | None]:
    """Return contiguous arrays M (B or 1, n, n), q (B, n), z0 (B, n)."""
    matrices, vectors = _array("M", M), _array("q", q)
    if vectors.ndim != 2:
        raise ProblemError(f"q must have shape (B, n), got {vectors.shape}")
    B, n = vectors.shape
    if matrices.ndim == 2:
        matrices = matrices[None]
    if matrices.shape not in ((B, n, n), (1, n, n)):
        raise ProblemError(f"M must have shape {(B, n, n)} or {(n, n)} to go with q {(B, n)}, got {np.shape(M)}")
    starts = None if z0 is None else _array("z0", z0)
    if starts is not None and starts.shape != (B, n):
        raise ProblemError(f"z0 must have shape {(B, n)}, got {starts.shape}")
    return matrices, vectors, starts


def _array(name: str, value: ArrayLike) -> Vector:
    array = real_array(name, value, owned=False)
    check_finite(name, array)
    return array


def _run_lemke(
    solver: Lemke, M: Vector, q: Vector, z0: Vector | None, tolerance: float, workers: int
) -> tuple[Vector, Vector, Vector]:
    """Solve all problems by the compiled batch; return z, w and the other results of `lcp.kernels.batch`."""
    from lcp.kernels import batch as k

    B, n = q.shape
    answers = np.empty((B, 2 * n + k.ANSWER_SIZE))
    options = solver._judged_options(tolerance)
    starts = q if z0 is None else z0
    has_z0 = z0 is not None
    workers = max(1, min(workers, B // _LEAST))
    # A thread takes the next problems when it has none left. Portions of large problems are small, for Ctrl-C.
    size = max(1, min(_PORTION, -(-B // (8 * workers)), _LONG // max(1, n**3)))
    begins = iter(range(0, B, size))

    def work(number: int) -> None:
        memory = np.empty(k.judged_size(n))
        for begin in begins:
            raise_if_cancelled()
            stop = min(begin + size, B)
            k.lemke_batch(M, q, starts, has_z0, options, begin, stop, memory, answers)

    def run() -> None:
        thread_team(workers).work(work, workers)

    if n**3 > _LONG:
        run_interruptibly(run)
    else:
        run()
    return answers[:, :n].copy(), answers[:, n : 2 * n].copy(), answers[:, 2 * n :].copy()

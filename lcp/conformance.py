"""The conformance tests of the solvers of `lcp`, for custom solvers.

They are every catalog problem, random problems of every promised class, and the interface of a solver.

>>> import lcp
>>> from lcp import conformance
>>> conformance.check(lcp.Lemke()).passed
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.catalog import Entry, NamedProblem, NonlinearEntry, entries, mixed_entries, nonlinear_entries
from lcp.claims import NO_SOLUTION_STATUSES
from lcp.conversions import HorizontalLCP
from lcp.dispatch import RecordingSolver, call_solver
from lcp.method import SolveRequest, Traits, check_solver
from lcp.problem import LCP, MLCP, BoxLCP, CoupledBoxLCP
from lcp.residuals import DEFAULT_TOLERANCE
from lcp.solve import solve
from lcp.status import Status

__all__ = ["Check", "ConformanceError", "ConformanceReport", "check"]

Matrix = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Matrix]


# Number of checks with equal failure that are named; `ConformanceReport.failures` has all.
_NAMED = 3


class ConformanceError(AssertionError):
    """Solver that fails conformance tests; the text lists every failed check."""


@dataclass(frozen=True)
class Check:
    """Result of one check.

    Attributes
    ----------
    name
        Name: ``catalog: murty_3``, ``promise: POSITIVE_DEFINITE``, ``manners: leaves the data alone``.
    passed
        Whether the check passed.
    detail
        The wrong result, or a short text about the right one.
    """

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True, repr=False)
class ConformanceReport:
    """Results of all checks of one solver.

    Attributes
    ----------
    solver
        The solver.
    checks
        In the order of the tests.
    solved
        Names of the solved catalog problems, promised or not.
    solvable
        Number of tested catalog problems with a solution.
    """

    solver: Any
    checks: tuple[Check, ...]
    solved: tuple[str, ...]
    solvable: int

    @property
    def failures(self) -> tuple[Check, ...]:
        """Return the failed checks."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def passed(self) -> bool:
        """True if all checks passed."""
        return not self.failures

    def raise_for_failures(self) -> None:
        """Raise `ConformanceError`, with a list of failures, unless all checks passed."""
        if not self.passed:
            raise ConformanceError(str(self))

    def __str__(self) -> str:
        """Return one line about all checks, then one per kind of failure, with the first few checks that failed so."""
        lines = [
            f"{type(self.solver).__name__}: {len(self.checks) - len(self.failures)} of {len(self.checks)} checks "
            f"passed, {len(self.solved)} of {self.solvable} solvable catalog problems solved"
        ]
        alike: dict[str, list[str]] = {}
        for check in self.failures:
            alike.setdefault(check.detail, []).append(check.name)
        for detail, names in alike.items():
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            lines.append(f"  failed: {', '.join(names[:_NAMED])}{more}: {detail}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"ConformanceReport({str(self).splitlines()[0]})"


def check(solver: Any, *, tolerance: float = DEFAULT_TOLERANCE, problems: int = 20, seed: int = 0) -> ConformanceReport:
    """Test a solver by the conformance tests of the solvers of `lcp`.

    - Catalog: every named problem of `lcp.catalog`, plain and mixed, and some with coupled bounds or horizontal, which
      are converted. Problems of the classes in the solver's ``traits`` must be solved, at a listed solution if the list
      is complete. Unsolvable ones must not be claimed solved. Every claim must be true, and a claim of no solution
      needs evidence.
    - Promises: ``problems`` random problems of each class in the traits must be solved.
    - Manners: it must not change the data or the start, must return the same result twice, must accept a start, and
      must return a `Claim` whose z has the right length.

    A solver without ``traits`` has only the other checks. A solver with the trait NONLINEAR gets the catalog of
    nonlinear problems instead, each from several starts.

    Parameters
    ----------
    solver
        An object with ``solve(problem, *, z0, tolerance, trace) -> lcp.Claim``. See `lcp.Solver`.
    tolerance
        Bound on the backward error of a solved result.
    problems, seed
        Number of random problems per class, and their seed.

    Raises
    ------
    ProblemError
        If ``solver`` is a class, or has no ``solve``.
    """
    check_solver("solver", solver)
    checks: list[Check] = []
    solved: list[str] = []
    if getattr(solver, "traits", Traits(0)) & Traits.NONLINEAR:
        checks += _nonlinear(solver, tolerance, solved)
        solvable = sum(entry.outcome is Status.SOLVED for entry in nonlinear_entries())
        return ConformanceReport(solver, tuple(checks), tuple(solved), solvable)
    solvable = 0
    for plain in entries():
        solvable += plain.outcome is Status.SOLVED
        known = plain.solutions if plain.complete else None
        checks.append(_catalog(solver, plain, plain.outcome is Status.SOLVED, known, tolerance, solved))
    for mixed in mixed_entries():
        solvable += mixed.outcome is Status.SOLVED
        whole = tuple(np.concatenate(pair) for pair in mixed.solutions) if mixed.complete else None
        checks.append(_catalog(solver, mixed, mixed.outcome is Status.SOLVED, whole, tolerance, solved))
    for converted, answer in converted_entries():
        solvable += answer is not None
        checks.append(_catalog(solver, converted, answer is not None, (answer,), tolerance, solved))
    checks += _promises(solver, tolerance, problems, seed)
    checks += _manners(solver, tolerance)
    return ConformanceReport(solver, tuple(checks), tuple(solved), solvable)


def _solved(solver: Any, problem: Any, tolerance: float, z0: Any = None) -> tuple[Any, str]:
    """Return the result, and its faults that do not depend on the problem: an exception, or a false claim."""
    witness = RecordingSolver(solver)
    try:
        result = solve(problem, witness, tolerance=tolerance, z0=z0)
    except Exception as error:  # noqa: BLE001  whatever a solver raises is a finding
        return None, f"raised {type(error).__name__}: {error}"
    plain = isinstance(problem, LCP)
    if plain and witness.claim is not None and witness.claim.status is Status.SOLVED and not result.solved:
        return result, f"claimed to be solved, backward error {result.residual.backward_error:.1e}"
    if (
        plain
        and witness.claim is not None
        and witness.claim.status in NO_SOLUTION_STATUSES
        and result.status is not witness.claim.status
    ):
        return result, f"claimed {witness.claim.status.name} without evidence that holds"
    return result, ""


def _catalog(
    solver: Any, entry: NamedProblem[Any], solvable: bool, answers: Any, tolerance: float, solved: list[str]
) -> Check:
    """Check one problem of the catalog, and append its name to ``solved`` if the solver solves it.

    A promised problem must be solved, an unsolvable one must not, and the solution must be one of ``answers`` if given.
    """
    name, problem = f"catalog: {entry.name}", entry.problem
    name = f"{name} (mixed)" if isinstance(problem, MLCP) else name
    result, wrong = _solved(solver, problem, tolerance)
    if wrong:
        return Check(name, False, wrong)
    if not result.solved:
        # The solver's traits contain a class of the entry, whose size the solver takes.
        classes = entry.matrix_class if solvable and isinstance(entry, Entry) else None
        fits = problem.n <= getattr(solver, "max_n", problem.n)
        broken = fits and classes is not None and bool(classes & getattr(solver, "traits", Traits(0)))
        return Check(name, not broken, f"{result.status.name}{', promised by its traits' if broken else ''}")
    if not solvable:
        return Check(name, False, "has no solution, came back SOLVED")
    solved.append(entry.name)
    z = np.concatenate([result.u, result.y]) if isinstance(problem, MLCP) else result.z
    # Converted rows are judged in other units.
    listed = answers is None or _near(z, answers, tolerance, 1e-3 if isinstance(problem, LCP | MLCP) else 1.0)
    return Check(name, listed, "" if listed else f"z = {z} is none of its solutions")


def _near(z: Vector, solutions: Any, tolerance: float, absolute: float = 1.0) -> bool:
    """Return True if z is near one of the solutions; ``absolute`` is the unit of entries near zero."""
    bound = max(1e-9 if absolute < 1.0 else 1e-7, 1e3 * tolerance)
    return any(np.allclose(z, one, rtol=bound, atol=bound * absolute) for one in solutions)


Converted = NamedProblem[CoupledBoxLCP | HorizontalLCP]


def converted_entries() -> tuple[tuple[Converted, Vector | None], ...]:
    """Build named problems with the z of their unique solution, or None if there is none."""
    M, block = [[2.0, 1.0], [1.0, 2.0]], "a mass of 1 kg pressed with 9.81 and pushed along a line, mu = 0.5"

    def coupled(matrix: Any, q: list[float]) -> CoupledBoxLCP:
        return CoupledBoxLCP(matrix, q, 0.0, np.inf, [-1, 0], 0.5)

    return (
        (Converted("coupled_sticks", block, coupled(np.eye(2), [-9.81, 2.0])), np.array([9.81, -2.0])),
        (Converted("coupled_slides", block, coupled(np.eye(2), [-9.81, -8.0])), np.array([9.81, 4.905])),
        (Converted("coupled_apart", "no contact, no friction", coupled(np.eye(2), [1.0, -8.0])), np.zeros(2)),
        (Converted("coupled_both_ways", "friction adds to the load: 2 n + n / 2 = 4", coupled(M, [-4.0, -9.0])),
         np.array([1.6, 0.8])),
        (Converted("coupled_jammed", "always sliding, n - 4 mu n - 1 < 0 for every n: as Painleve's rod, pressed",
                   coupled([[1.0, -4.0], [0.0, 0.0]], [-1.0, -1.0])), None),
        (Converted("horizontal_column_w", "N^-1 M = [[2, 1], [1, 2]]",
                   HorizontalLCP([[2.0, 0.0], [0.0, 4.0]], [[4.0, 2.0], [4.0, 8.0]], [-10.0, -24.0])),
         np.array([4.0, 7.0]) / 3.0),
        (Converted("horizontal_row_without_w", "N singular: its second row is z_2 = 2",
                   HorizontalLCP([[1.0, 0.0], [0.0, 0.0]], np.eye(2), [1.0, -2.0])), np.array([0.0, 2.0])),
        (Converted("horizontal_contradicts", "N = M = 0 with q = 1",
                   HorizontalLCP([[0.0]], [[0.0]], [1.0])), None),
    )  # fmt: skip


def _promises(solver: Any, tolerance: float, problems: int, seed: int) -> Iterator[Check]:
    """Yield one check for each class in the solver's traits: all of its random problems are solved."""
    traits = getattr(solver, "traits", Traits(0))
    for trait in (*CLASSES, Traits.COPOSITIVE, Traits.BIMATRIX_GAME, Traits.FINITE_BOX):
        if not trait & traits:
            continue
        missed = []
        for i, problem in enumerate(random_problems(trait, problems, seed)):
            if problem.n > getattr(solver, "max_n", problem.n):
                continue
            result, wrong = _solved(solver, problem, tolerance)
            if wrong or not result.solved:
                missed.append(f"problem {i} (n = {problem.n}): {wrong or result.status.name}")
        detail = f"{len(missed)} of {problems} not solved, {missed[0]}" if missed else f"{problems} problems"
        yield Check(f"promise: {trait.name}", not missed, detail)


def _manners(solver: Any, tolerance: float) -> Iterator[Check]:
    """Yield checks on one small problem.

    The solver must return a claim, the same one twice, take a start, and leave the data and the start unchanged.
    """
    problem = LCP([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]], [-5.0, -6.0, 1.0])
    before = (problem.M.copy(), problem.q.copy())
    start = np.array([0.5, 0.0, 0.25])
    first, wrong = _solved(solver, problem, tolerance)
    yield Check("manners: answers with a claim", not wrong, wrong)
    if wrong:
        return
    yield _same_twice(first, _solved(solver, problem, tolerance)[0])
    given = start.copy()
    warm, wrong = _solved(solver, problem, tolerance, given)
    agree = not wrong and (not first.solved or warm.solved)
    yield Check("manners: takes a start", agree, wrong or ("" if agree else f"{warm.status.name} from a start"))
    kept = np.array_equal(given, start) and all(
        np.array_equal(a, b) for a, b in zip(before, (problem.M, problem.q), strict=True)
    )
    yield Check("manners: leaves the data alone", kept, "" if kept else "M, q or z0 was changed")


def _same_twice(first: Any, again: Any) -> Check:
    same = np.array_equal(first.z, again.z)
    return Check("manners: gives the same answer twice", same, "" if same else f"{first.z} and then {again.z}")


def _nonlinear(solver: Any, tolerance: float, solved: list[str]) -> Iterator[Check]:
    """Yield checks of a solver of nonlinear problems: every claim must be true, and every failure a status.

    Names of entries that are solved from every start are appended to ``solved``.
    """
    for entry in nonlinear_entries():
        results, wrong = [], ""
        for start in entry.starts:
            result, wrong = _from(solver, entry, start, tolerance)
            if wrong:
                break
            results.append(result)
        if not wrong and results and all(result.solved for result in results):
            solved.append(entry.name)
        yield Check(f"catalog: {entry.name}", not wrong, wrong or ", ".join(r.status.name for r in results))
    josephy, fixed = nonlinear_entries()[1].problem, np.array([1.0, 0.0, 1.0, 0.0])
    given = fixed.copy()
    claims, wrong = [], ""
    try:
        claims = [call_solver(josephy, solver, SolveRequest(given, tolerance, False)) for _ in range(2)]
    except Exception as error:  # noqa: BLE001  whatever a solver raises is a finding
        wrong = f"raised {type(error).__name__}: {error}"
    yield Check("manners: answers with a claim", not wrong, wrong)
    if claims:
        yield _same_twice(*claims)
    kept = np.array_equal(given, fixed)
    yield Check("manners: leaves the start alone", kept, "" if kept else "z0 was changed")


def _from(solver: Any, entry: NonlinearEntry, start: tuple[float, ...], tolerance: float) -> tuple[Any, str]:
    """Solve from one start; return the result and a description of its fault, empty if there is none.

    Faults are an exception, a false solution, and a point that is not finite or outside the bounds.
    """
    result, wrong = _solved(solver, entry.problem, tolerance, start)
    if wrong:
        return result, f"from {start} {wrong}"
    z = result.z
    if not np.isfinite(z).all():
        return result, f"from {start}: z is not finite, {result.status.name}"
    if result.solved and entry.outcome is not Status.SOLVED:
        return result, f"from {start}: has no solution, came back SOLVED"
    if result.solved and entry.complete and not _near(z, entry.solutions, tolerance):
        return result, f"from {start}: z = {z} is none of its solutions"
    return result, ""


def _definite(rng: np.random.Generator, n: int) -> Matrix:
    """Draw a symmetric positive definite (n, n) matrix."""
    return _semidefinite(rng, n, n) + 0.1 * np.eye(n)


def _semidefinite(rng: np.random.Generator, n: int, rank: int = 0) -> Matrix:
    """Draw a symmetric positive semidefinite (n, n) matrix, of about half rank if no other is given."""
    A = rng.standard_normal((n, rank or max(1, n // 2)))
    return A @ A.T


def _skew(rng: np.random.Generator, n: int) -> Matrix:
    """Draw a skew-symmetric (n, n) matrix."""
    K = rng.standard_normal((n, n))
    return K - K.T


def _dominant(rng: np.random.Generator, n: int) -> Matrix:
    """Draw an (n, n) matrix that is strictly diagonally dominant by rows, with a positive diagonal."""
    M = rng.uniform(-1.0, 1.0, (n, n))
    np.fill_diagonal(M, np.abs(M).sum(axis=1) + 0.1)
    return M


#: Functions that draw a matrix, by class; `_WHOLE`, below, draws problems of the other classes.
CLASSES: dict[Traits, Draw] = {
    Traits.SYMMETRIC_POSITIVE_DEFINITE: _definite,
    Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE: _semidefinite,
    Traits.POSITIVE_DEFINITE: lambda rng, n: _definite(rng, n) + _skew(rng, n),
    Traits.POSITIVE_SEMIDEFINITE: lambda rng, n: _semidefinite(rng, n) + _skew(rng, n),
    Traits.H_PLUS: _dominant,
    # Lower triangular, with a positive diagonal.
    Traits.P_MATRIX: lambda rng, n: np.tril(rng.uniform(-1.0, 1.0, (n, n)), -1) + np.diag(rng.uniform(0.5, 2.0, n)),
}


def random_problems(trait: Traits, count: int, seed: int) -> Iterator[LCP | BoxLCP]:
    """Draw this many problems of a class; each has a solution, some a degenerate one."""
    assert trait.name is not None
    rng = np.random.default_rng([seed, len(trait.name), trait.value])
    for _ in range(count):
        if trait in _WHOLE:
            yield _WHOLE[trait](rng)
            continue
        n = int(rng.integers(1, 9))
        M = CLASSES[trait](rng, n)
        # The solution is drawn first; where both z_i and w_i are zero it is degenerate.
        z = rng.integers(0, 2, n) * rng.random(n)
        w = rng.integers(0, 2, n) * (z == 0.0) * rng.random(n)
        yield LCP(M, w - M @ z)


def _contact(rng: np.random.Generator) -> LCP:
    """Draw a body on one to three contacts with four friction edges each: fN, fF, lambda (Anitescu and Potra 1997)."""
    nc = int(rng.integers(1, 4))
    normals = rng.standard_normal((nc, 6))
    first, second = rng.standard_normal((2, nc, 6))
    edges = np.stack([first, -first, second, -second], axis=1).reshape(4 * nc, 6)
    J = np.vstack([normals, edges])
    m = J.shape[0]
    M = np.zeros((m + nc, m + nc))
    M[:m, :m] = J @ J.T
    E = np.kron(np.eye(nc), np.ones((4, 1)))
    M[nc:m, m:], M[m:, nc:m] = E, -E.T
    M[m:, :nc] = rng.uniform(0.1, 1.0) * np.eye(nc)
    return LCP(M, np.concatenate([J @ rng.standard_normal(6), np.zeros(nc)]))


def _game(rng: np.random.Generator) -> LCP:
    """Draw a game of two players with one to eight strategies each; with a chance of one half many costs are equal."""
    m, n = rng.integers(1, 9, 2).tolist()
    A, B = rng.integers(1, 4, (2, m, n)) if rng.random() < 0.5 else rng.uniform(0.1, 1.0, (2, m, n))
    M = np.zeros((m + n, m + n))
    M[:m, m:], M[m:, :m] = A, B.T
    return LCP(M, -np.ones(m + n))


def _box(rng: np.random.Generator) -> BoxLCP:
    """Draw a problem with any matrix and finite bounds; with a chance of one half its data are small integers."""
    n = int(rng.integers(1, 13))
    if rng.random() < 0.5:
        return BoxLCP(rng.integers(-2, 3, (n, n)), rng.integers(-3, 4, n), -1.0, rng.integers(-1, 3, n))
    return BoxLCP(rng.standard_normal((n, n)), 2.0 * rng.standard_normal(n), -rng.random(n), rng.random(n))


_WHOLE: dict[Traits, Callable[[np.random.Generator], LCP | BoxLCP]] = {
    Traits.COPOSITIVE: _contact,
    Traits.BIMATRIX_GAME: _game,
    Traits.FINITE_BOX: _box,
}

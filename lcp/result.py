"""Results of `lcp.solve`, and the claims that solvers return to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from lcp.arrays import Vector
from lcp.residuals import Residuals
from lcp.status import Status


@dataclass(frozen=True, eq=False)
class Trace:
    """One number per recorded iteration of a solve.

    Attributes
    ----------
    iterations
        Iteration (pivot, sweep) after which each number was recorded, ascending.
    seconds
        Time since the solver began.
    values
        The numbers.
    quantity
        Name of the quantity: "natural map" or "scaled residual" on the problem's data, "artificial variable" of Lemke's
        path.
    """

    iterations: NDArray[np.int64]
    seconds: Vector
    values: Vector
    quantity: str

    def __len__(self) -> int:
        return int(self.values.shape[0])


@dataclass(eq=False)
class TraceRecorder:
    """Recorder of a `Trace` during one solve; if ``wanted`` is False it records nothing and returns None."""

    wanted: bool
    quantity: str = "natural map"
    _rows: list[tuple[int, float, float]] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)

    def add(self, iteration: int, value: float) -> None:
        """Record one number."""
        if self.wanted:
            self._rows.append((iteration, time.perf_counter() - self._start, value))

    def trace(self) -> Trace | None:
        """Return the recorded trace."""
        if not self.wanted:
            return None
        rows = np.array(self._rows, dtype=np.float64).reshape((-1, 3))
        return Trace(rows[:, 0].astype(np.int64), rows[:, 1].copy(), rows[:, 2].copy(), self.quantity)


@dataclass(frozen=True, slots=True)
class Claim:
    """A solver's report of a solve. It is only a claim: `lcp.solve` verifies z on the original data.

    Attributes
    ----------
    z
        The vector (n,); the best candidate if no solution is claimed.
    status
        The solver's own status.
    iterations
        Pivots or iterations spent.
    detail
        Short text for the list of attempts ("warm basis accepted", "2 restarts").
    evidence
        What supports a failure: a `Ray`, a `Farkas` vector, an `EnumerationResult` list of bases.
    regularization
        Largest diagonal shift used.
    trace
        A `Trace`, if requested and available.
    attempts
        Of a solver that calls others: its attempts, each measured on the original data.
    solver
        Of a solver that calls others: the one that returned z.
    """

    z: NDArray[np.float64]
    status: Status
    iterations: int
    detail: str = ""
    evidence: Any = None
    regularization: float = 0.0
    trace: Trace | None = None
    attempts: tuple[Attempt, ...] = ()
    solver: Any = None


class ResidualsLike(Protocol):
    """Interface of all kinds of residuals: a decision on solved, and texts."""

    @property
    def finite(self) -> bool:
        """True if the measures are numbers."""
        ...

    def solved(self, tolerance: float) -> bool:
        """Return True if the measures are within the bounds of a solution."""
        ...

    def text(self, tolerance: float) -> str:
        """Return the measures beside their bounds, for a sentence."""
        ...

    @property
    def short_text(self) -> str:
        """Return the two main measures, for a repr."""
        ...


R = TypeVar("R", bound=ResidualsLike)


class SolveError(RuntimeError):
    """Error of a solve without a verified solution; ``result`` has the outcome."""

    def __init__(self, message: str, result: ResultBase[Any]) -> None:
        super().__init__(message)
        self.result = result


@dataclass(frozen=True, slots=True)
class AttemptBase(Generic[R]):
    """One attempted solver and its outcome; ``false_claim``: it claimed SOLVED, and the data contradict it."""

    solver: Any
    status: Status
    iterations: int
    residual: R
    detail: str = ""
    false_claim: bool = False


@dataclass(frozen=True, slots=True)
class Attempt(AttemptBase[Residuals]):
    """One attempted solver of a complementarity problem and its outcome."""


@dataclass(frozen=True, slots=True)
class Ray:
    """Secondary ray: from the last basis (w, z, t) can grow without bound along this direction, staying complementary.

    For copositive-plus M it proves that no z >= 0 has M z + q >= 0 (Cottle, Pang and Stone 1992, theorem 4.4.11); for
    other M it proves nothing.
    """

    w: NDArray[np.float64]
    z: NDArray[np.float64]
    t: float


# Maximum number of rows of a table in a notebook.
MAX_ROWS = 40


def html_table(title: str, rows: Sequence[Sequence[object]], head: Sequence[str] = ()) -> str:
    """Return a table under a title; of more than 40 rows the first ones, and their number.

    Parameters
    ----------
    title
        Written above.
    rows
        Lists of cells, written by `str`.
    head
        Names of the columns.
    """
    lines = [f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr>"] if head else []
    cell = '<td style="text-align:left">{}</td>'
    lines += [f"<tr>{''.join(cell.format(escape(str(value))) for value in row)}</tr>" for row in rows[:MAX_ROWS]]
    more = f"<div>{MAX_ROWS} of {len(rows)}</div>" if len(rows) > MAX_ROWS else ""
    return f"<div><b>{escape(title)}</b><table>{''.join(lines)}</table>{more}</div>"


# Fields of solvers that limit their work.
_LIMITS = ("max_pivots", "max_iterations", "max_iter", "time_limit")
_FALSE_CLAIM = (
    "The answer is no solution of the data passed. Far above the bound the solver or its own test is wrong for this "
    "problem: compare that test with `lcp.residuals(problem, z)`. Near it the data are ill-conditioned: scale them or "
    "try another solver."
)


@dataclass(frozen=True, repr=False, kw_only=True)
class ResultBase(Generic[R]):
    """Fields and methods of every kind of result; `Result` documents the fields."""

    status: Status
    iterations: int
    residual: R
    solver: Any
    attempts: tuple[AttemptBase[R], ...]
    solve_time: float
    evidence: Any
    tolerance: float
    trace: Trace | None = None

    @property
    def solved(self) -> bool:
        """True if the solution was verified on the original problem."""
        return self.status is Status.SOLVED

    def raise_for_status(self) -> None:
        """Raise `SolveError`, with the reason and advice, unless solved."""
        if not self.solved:
            raise SolveError(f"{self.describe()} {self.advice}", self)

    @property
    def advice(self) -> str:
        """Advice for the status, with the solver's limits; for a false claim its meaning."""
        if self._claimed_falsely:
            return _FALSE_CLAIM
        limits = ", ".join(name for name in _LIMITS if hasattr(self.solver, name))
        if self.status is not Status.ITERATION_LIMIT or not limits:
            return self.status.advice
        return f"{self.status.advice} Limits of {type(self.solver).__name__}: {limits}."

    @property
    def _claimed_falsely(self) -> bool:
        return self.status is Status.STALLED and any(
            one.false_claim for one in self.attempts if one.solver is self.solver
        )

    def describe(self) -> str:
        """Return one sentence: solver, status, details of the attempts, residual."""
        details = self._details()
        ended = "claimed SOLVED, but the residual is above its bound" if self._claimed_falsely else self.status.value
        return (
            f"{type(self.solver).__name__}: {self.status.name} ({ended}) after {self.iterations} "
            f"iterations{f' [{details}]' if details else ''}; {self.residual.text(self.tolerance)}."
        )

    @property
    def message(self) -> str:
        """The text of `describe`."""
        return self.describe()

    def __str__(self) -> str:
        """Return the repr and, if it is not solved, the details of the attempts."""
        return repr(self) if self.solved else f"{self!r}: {self._details() or self.status.value}"

    def _details(self) -> str:
        return "; ".join(dict.fromkeys(attempt.detail for attempt in self.attempts if attempt.detail))

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks: the outcome, advice, and the attempts."""
        rows: list[tuple[str, object]] = [("status", self.status.value)]
        if not self.solved:
            rows.append(("try", self.advice))
        rows += [("measures", self.residual.text(self.tolerance)), ("time", f"{self.solve_time:.3g} s")]
        tried = [(type(one.solver).__name__, one.status.name, one.iterations, one.detail) for one in self.attempts]
        head = ("solver", "status", "iterations", "detail")
        return html_table(repr(self), rows) + (html_table("attempts", tried, head) if len(tried) > 1 else "")

    def _repr(self, size: str) -> str:
        return (
            f"{type(self).__name__}({self.status.name}, {size}, solver={type(self.solver).__name__}, "
            f"iterations={self.iterations}, {self.residual.short_text})"
        )


#: Functions, by name, that make parts of a result from the packed output of a compiled solve.
Parts = Mapping[str, Callable[[Any, Any], Any]]
_NOTHING_PACKED: tuple[Parts, None] = ({}, None)


def lazy_result(parts: Parts, packed: Any, known: dict[str, Any], clock: float) -> Result:
    """Return a result with the fields ``known``; each of ``parts`` is computed from ``packed`` on first access.

    ``clock`` is the start time of the solve. A solve of four unknowns takes a microsecond, and each object of a result
    half of one.
    """
    result = object.__new__(Result)
    own = result.__dict__
    own.update(known)
    own["_packed"] = parts, packed
    own["solve_time"] = time.perf_counter() - clock
    return result


@dataclass(frozen=True, repr=False)
class Result(ResultBase[Residuals]):
    """Result for an `LCP`, or for a `BoxLCP` with z between its bounds.

    Attributes
    ----------
    z, w
        The vector (n,) and w = M z + q (n,), read-only. If the solve failed, the best candidate found.
    status
        `Status.SOLVED` only if ``residual`` on the original data is within ``tolerance``.
    iterations
        Pivots or iterations, all attempts together.
    residual
        `Residuals` of z.
    solver
        The solver that returned z.
    attempts
        Every solver tried, in order.
    solve_time
        Seconds, with compilation if it was necessary.
    regularization
        Diagonal shift under which z was found; 0 for the original problem.
    evidence
        What supports a failure: a `Ray`, a `Farkas` vector, an `EnumerationResult` list of bases.
    tolerance
        The bound on the backward error that decided ``status``.
    trace
        The `Trace`, if ``trace=True`` was given and the solver keeps one.
    """

    z: NDArray[np.float64]
    w: NDArray[np.float64]
    regularization: float

    def __repr__(self) -> str:
        return self._repr(f"n={self.z.shape[0]}")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Parts that a compiled solve has left packed; Python finds all other attributes before it calls this.
            packed = self.__dict__.get("_packed", _NOTHING_PACKED)
            if name not in packed[0]:
                text = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(text, name=name, obj=self)
            value = self.__dict__[name] = packed[0][name](self, packed[1])
            return value

    def __getstate__(self) -> dict[str, Any]:
        # Copies have all parts, and nothing packed.
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, repr=False)
class MLCPResult(ResultBase[Residuals]):
    """Result for a mixed problem.

    Attributes
    ----------
    u, y, w
        Free unknowns (n_free,), constrained unknowns (n,), and w = X2 u + X3 y + x4 (n,), read-only. If the solve
        failed, the best candidate found.
    status, iterations, residual, solver, attempts, solve_time, regularization, evidence, tolerance, trace
        As in `Result`; ``residual`` measures the equations A u + X1 y + a = 0 as well.
    """

    u: NDArray[np.float64]
    y: NDArray[np.float64]
    w: NDArray[np.float64]
    regularization: float

    def __repr__(self) -> str:
        return self._repr(f"n_free={self.u.shape[0]}, n={self.y.shape[0]}")


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
class MCPResult(ResultBase[Residuals]):
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

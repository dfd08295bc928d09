"""Base classes of solvers: one signature, checked options, traits and time limits.

Each option states its allowed values with its default. An error about an option names the solver and the field.
"""

from __future__ import annotations

import copy
import enum
import functools
import math
import numbers
import sys
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from lcp.arrays import Vector
from lcp.residuals import DEFAULT_TOLERANCE
from lcp.result import Claim
from lcp.status import ProblemError


class OptionsMeta(ABCMeta):
    """Metaclass of solvers: the object with all default options is made and checked only once.

    A solver is an immutable value; making one takes longer than solving a small problem. A solver with other attributes
    than options, such as a subclass that counts its calls, is a new object each time.
    """

    if not TYPE_CHECKING:

        def __call__(cls, *options: Any, **named: Any) -> Any:
            """Return a new object, or the shared one with default options."""
            if options or named:
                return super().__call__(*options, **named)
            plain = cls.__dict__.get("_plain")
            if plain is None:
                plain = super().__call__()
                # A value: of a dataclass itself, and with only options without default factories.
                options = {option.name for option in fields(plain) if option.default_factory is MISSING}
                if "__dataclass_fields__" in vars(cls) and vars(plain).keys() <= options:
                    cls._plain = plain
            return plain


class Options(metaclass=OptionsMeta):
    """Frozen dataclass whose fields, made by the functions below, define their allowed values."""

    def __post_init__(self) -> None:
        """Raise an error for options out of range."""
        kind: Any = type(self)
        for name, admits, wanted in _checks(kind):
            check_option(self, name, admits, wanted)


@functools.cache
def _checks(kind: Any) -> tuple[tuple[str, Callable[[Any], bool], str], ...]:
    """Return the options of a class: their names, tests and texts."""
    return tuple((option.name, *option.metadata["check"]) for option in fields(kind) if "check" in option.metadata)


def check_option(owner: Any, name: str, admits: Callable[[Any], bool], wanted: str) -> None:
    """Raise an error with the text ``wanted`` unless ``owner.name`` passes the test ``admits``."""
    value = getattr(owner, name)
    if not admits(value):
        raise ProblemError(f"{type(owner).__name__}.{name} must {wanted.replace('{name}', name)}, got {value!r}")


def _option(default: Any, admits: Callable[[Any], bool], wanted: str) -> Any:
    """Define an option that passes a test, or is None if that is the default."""
    check = admits if default is not None else lambda value: value is None or admits(value)
    return field(default=default, metadata={"check": (check, wanted)})


def integer_option(default: int | None, *, least: int = 0, most: int = sys.maxsize) -> Any:
    """Define an option that is an integer in [least, most], or None if that is the default."""

    def admits(value: Any) -> bool:
        integral = type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))
        return integral and least <= value <= most

    return _option(default, admits, f"be a whole number >= {least}{f' and <= {most}' if most < sys.maxsize else ''}")


def real_option(default: float | None, *, least: float, most: float, open_ends: bool = False) -> Any:
    """Define an option that is a number in [least, most] (``open_ends``: between), or None if that is the default."""

    def admits(value: Any) -> bool:
        given = number(value)
        return least < given < most if open_ends else least <= given <= most

    sign = "<" if open_ends else "<="
    return _option(default, admits, f"satisfy {least} {sign} {{name}} {sign} {most}")


def is_positive(value: Any) -> bool:
    """Return True for a positive number; infinity means no limit."""
    return number(value) > 0.0


def positive_option(default: float) -> Any:
    """Define an option that is a positive number; infinity means no limit."""
    return _option(default, is_positive, "be positive")


def bool_option(default: bool) -> Any:
    """Define an option that is True or False."""
    return _option(default, lambda value: isinstance(value, bool), "be True or False")


def choice_option(default: str, choices: tuple[str, ...]) -> Any:
    """Define an option that is one of ``choices``."""
    return _option(default, lambda value: value in choices, f"be one of {', '.join(choices)}")


def number(value: object) -> float:
    """Return a real number as a float; NaN for other values, and for numbers beyond double precision."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def check_solver(name: str, solver: Any, example: str = "Lemke()") -> None:
    """Refuse an object without ``solve``, and a class in place of its object; ``name`` is the argument's name."""
    if isinstance(solver, type):
        raise ProblemError(
            f"{name} must be a solver object such as {example}, got the class {solver.__name__}: add (), "
            f"{solver.__name__}()"
        )
    if not hasattr(solver, "solve"):
        raise ProblemError(f"{name} must be a solver object such as {example}, got {solver!r}")


def replace_fields(solver: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy with other field values, also of classes for which `dataclasses.replace` fails."""
    changed = copy.copy(solver)
    for name, value in values.items():
        object.__setattr__(changed, name, value)
    return changed


class Traits(enum.Flag):
    """Problem classes for which a solver is proven, and its abilities.

    BIMATRIX_GAME is M = [[0, A], [B^T, 0]] with A, B > 0 and q < 0. FINITE_BOX is a `BoxLCP` with finite bounds and any
    M. Both always have solutions. The other classes are classes of M. A solver proven for a class finds a solution of
    every solvable problem with such an M, apart from rounding and iteration limits. For copositive M, q must be in the
    dual range, as in frictional contact.
    """

    POSITIVE_DEFINITE = enum.auto()
    POSITIVE_SEMIDEFINITE = enum.auto()
    P_MATRIX = enum.auto()
    COPOSITIVE = enum.auto()
    SYMMETRIC_POSITIVE_DEFINITE = enum.auto()
    SYMMETRIC_POSITIVE_SEMIDEFINITE = enum.auto()
    H_PLUS = enum.auto()
    BIMATRIX_GAME = enum.auto()
    FINITE_BOX = enum.auto()
    WARM_START = enum.auto()
    SPARSE = enum.auto()
    MIXED = enum.auto()
    BOXED = enum.auto()
    # Solves only friction problems (exact cones).
    CONE = enum.auto()
    # Solves only nonlinear problems (`NCP`, `MCP`).
    NONLINEAR = enum.auto()


#: Classes for which solvers are often proven together.
MONOTONE = Traits.POSITIVE_DEFINITE | Traits.POSITIVE_SEMIDEFINITE
SYMMETRIC_MONOTONE = Traits.SYMMETRIC_POSITIVE_DEFINITE | Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE

_CONTAINED_IN = {
    Traits.SYMMETRIC_POSITIVE_DEFINITE: Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE | Traits.POSITIVE_DEFINITE,
    Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE: Traits.POSITIVE_SEMIDEFINITE,
    Traits.POSITIVE_DEFINITE: Traits.POSITIVE_SEMIDEFINITE | Traits.P_MATRIX,
    Traits.POSITIVE_SEMIDEFINITE: Traits.COPOSITIVE,
    Traits.H_PLUS: Traits.P_MATRIX,
}


def implied(classes: Traits) -> Traits:
    """Return the given classes and the classes that contain them (Cottle, Pang and Stone 1992, chapter 3)."""
    closed = Traits(0)
    while closed != classes:
        closed = classes
        for inner, outer in _CONTAINED_IN.items():
            if closed & inner:
                classes |= outer
    return closed


#: Type variable: the kind of problem.
P_contra = TypeVar("P_contra", contravariant=True)


class SolveRequest(NamedTuple):
    """Arguments of a solve: the start or None, the bound on the scaled residual, whether to keep a trace."""

    z0: Vector | None
    tolerance: float
    trace: bool


class SolverBase(Options, Generic[P_contra]):
    """Base class of solvers for one kind of problem; a method has options as fields, ``traits``, and `_claim`.

    If a solver has a compiled function for the whole solve of a plain problem, with verification, it also has
    ``_solve_and_verify``. This function gets a problem, a start or None, and a tolerance. It returns the result, or
    None if `_claim` is needed.
    """

    def solve(
        self,
        problem: P_contra,
        *,
        z0: Vector | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        trace: bool = False,
    ) -> Claim:
        """Return the method's claim on a problem; `lcp.solve` checks the arguments and verifies the claim.

        Parameters
        ----------
        problem
            Of the kind that the method is for.
        z0
            Start; methods whose ``traits`` do not say WARM_START ignore it.
        tolerance
            Bound on the scaled residual of a solution.
        trace
            Keep one number per iteration, where the method can.
        """
        return self._claim(problem, SolveRequest(z0, tolerance, trace))

    @abstractmethod
    def _claim(self, problem: P_contra, request: SolveRequest) -> Claim: ...


def with_time_limit(solver: Any, seconds: float) -> Any:
    """Return the solver, with time limits of at most these seconds, also in solvers of its fields."""
    if not is_dataclass(solver) or not hasattr(solver, "solve"):
        return solver
    changed: dict[str, Any] = {}
    for option in fields(solver):
        value = getattr(solver, option.name)
        if option.name == "time_limit":
            if isinstance(value, float) and value > seconds:
                changed[option.name] = max(seconds, 1e-9)
        elif (inner := with_time_limit(value, seconds)) is not value:
            changed[option.name] = inner
    return replace_fields(solver, changed) if changed else solver

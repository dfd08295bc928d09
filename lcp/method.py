"""The frame of every solver: one signature, checked options, traits and limits of time.

What an option may be stands beside its default. A value that is refused is named with the solver and the field.
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
    """Of solvers: the object with every option at its default is made, and its options checked, once.

    A solver is a value that never changes; to make one takes longer than to solve a small problem. One that holds more
    than its options, as a subclass that counts its calls, is an object of its own each time.
    """

    if not TYPE_CHECKING:

        def __call__(cls, *options: Any, **named: Any) -> Any:
            """Make an object, or hand out the one with the defaults."""
            if options or named:
                return super().__call__(*options, **named)
            plain = cls.__dict__.get("_plain")
            if plain is None:
                plain = super().__call__()
                if _is_value(plain):
                    cls._plain = plain
            return plain


def _is_value(solver: Any) -> bool:
    """Whether an object is of a dataclass itself and holds nothing but options that were not made for it."""
    options = {option.name for option in fields(solver) if option.default_factory is MISSING}
    return "__dataclass_fields__" in vars(type(solver)) and vars(solver).keys() <= options


class Options(metaclass=OptionsMeta):
    """A frozen dataclass whose fields, made by the functions below, say what they may be."""

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        kind: Any = type(self)
        for name, check in _checks(kind):
            check(self, name)


@functools.cache
def _checks(kind: Any) -> tuple[tuple[str, Callable[[Any, str], None]], ...]:
    """What the options of a class may be, by name."""
    return tuple((option.name, option.metadata["check"]) for option in fields(kind) if "check" in option.metadata)


def integer_option(default: int | None, *, least: int = 0, most: int = sys.maxsize) -> Any:
    """An option that is a whole number in [least, most], or None where that is the default."""
    return _option(default, functools.partial(check_integer, least=least, most=most, optional=default is None))


def real_option(default: float | None, *, least: float, most: float, open_ends: bool = False) -> Any:
    """An option that is a number in [least, most] (``open_ends``: between), or None where that is the default."""
    check = functools.partial(check_real, least=least, most=most, open_ends=open_ends, optional=default is None)
    return _option(default, check)


def positive_option(default: float) -> Any:
    """An option that is a number above zero; infinity stands for no limit."""
    return _option(default, check_positive)


def bool_option(default: bool) -> Any:
    """An option that is True or False."""
    return _option(default, check_bool)


def choice_option(default: str, choices: tuple[str, ...]) -> Any:
    """An option that is one of ``choices``."""
    return _option(default, functools.partial(check_choice, choices=choices))


def _option(default: Any, check: Callable[[Any, str], None]) -> Any:
    return field(default=default, metadata={"check": check})


def check_integer(owner: Any, name: str, *, least: int = 0, most: int = sys.maxsize, optional: bool = False) -> None:
    """Refuse ``owner.name`` unless it is a whole number in [least, most] (or None where ``optional``)."""
    value: Any = getattr(owner, name)
    if optional and value is None:
        return
    integral = type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))
    if not (integral and least <= value <= most):
        above = integral and value > most
        limit = f" and <= {most}" if above or most < sys.maxsize else ""
        raise ProblemError(f"{type(owner).__name__}.{name} must be a whole number >= {least}{limit}, got {value!r}")


def check_real(
    owner: Any, name: str, *, least: float, most: float, open_ends: bool = False, optional: bool = False
) -> None:
    """Refuse ``owner.name`` unless it is a real number in [least, most] (``open_ends``: strictly between), or None."""
    value = getattr(owner, name)
    if optional and value is None:
        return
    given = number(value)
    if not (least < given < most if open_ends else least <= given <= most):
        sign = "<" if open_ends else "<="
        raise ProblemError(
            f"{type(owner).__name__}.{name} must satisfy {least} {sign} {name} {sign} {most}, got {value!r}"
        )


def check_positive(owner: Any, name: str) -> None:
    """Refuse ``owner.name`` unless it is a number above zero (infinity admitted, for limits)."""
    value = getattr(owner, name)
    if not number(value) > 0.0:
        raise ProblemError(f"{type(owner).__name__}.{name} must be positive, got {value!r}")


def number(value: object) -> float:
    """The value of a real number; NaN of anything else, and of what is beyond double precision."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def check_bool(owner: Any, name: str) -> None:
    """Refuse ``owner.name`` unless it is True or False."""
    value = getattr(owner, name)
    if not isinstance(value, bool):
        raise ProblemError(f"{type(owner).__name__}.{name} must be True or False, got {value!r}")


def check_choice(owner: Any, name: str, choices: tuple[str, ...]) -> None:
    """Refuse ``owner.name`` unless it is one of ``choices``."""
    value = getattr(owner, name)
    if value not in choices:
        raise ProblemError(f"{type(owner).__name__}.{name} must be one of {', '.join(choices)}, got {value!r}")


def check_solver(name: str, solver: Any, example: str = "Lemke()") -> None:
    """Refuse what has no ``solve``, and a class where one of its objects is meant; ``name`` says what was given."""
    if isinstance(solver, type):
        raise ProblemError(
            f"{name} must be a solver object such as {example}, got the class {solver.__name__}: add (), "
            f"{solver.__name__}()"
        )
    if not hasattr(solver, "solve"):
        raise ProblemError(f"{name} must be a solver object such as {example}, got {solver!r}")


def replace_fields(solver: Any, values: Mapping[str, Any]) -> Any:
    """A copy with other values in these fields. Not `dataclasses.replace`: constructors may take other arguments."""
    changed = copy.copy(solver)
    for name, value in values.items():
        object.__setattr__(changed, name, value)
    return changed


class Traits(enum.Flag):
    """Classes of problems a solver is proven for, and abilities.

    BIMATRIX_GAME is M = [[0, A], [B^T, 0]] with A, B > 0 and q < 0, FINITE_BOX a `BoxLCP` with finite bounds and any M,
    which both have solutions always; the other classes are of M alone. A solver proven for a class finds a solution of
    every solvable problem with such an M (of copositive ones where q lies in the dual range, as in frictional contact),
    rounding and iteration limits apart.
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
    # Solves friction problems (exact cones), and nothing else.
    CONE = enum.auto()
    # Solves nonlinear problems (`NCP`, `MCP`), and nothing else.
    NONLINEAR = enum.auto()


#: Classes that solvers are often proven for together.
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
    """The classes a matrix of the given classes belongs to, those included (Cottle, Pang and Stone 1992, chapter 3)."""
    closed = Traits(0)
    while closed != classes:
        closed = classes
        for inner, outer in _CONTAINED_IN.items():
            if closed & inner:
                classes |= outer
    return closed


#: Kind of problem.
P_contra = TypeVar("P_contra", contravariant=True)


class SolveRequest(NamedTuple):
    """What is asked of one solve: the start or None, the bound on the scaled residual, whether to keep a trace."""

    z0: Vector | None
    tolerance: float
    trace: bool


class SolverBase(Options, Generic[P_contra]):
    """A solver of problems of one kind; a method has its options as fields, its ``traits``, and `_claim`.

    One that has a plain problem's whole solve compiled in one piece, verdict included, has it as ``_solve_and_verify``
    beside: of a problem, a start or None and a tolerance the result, or None where `_claim` is to be asked.
    """

    def solve(
        self,
        problem: P_contra,
        *,
        z0: Vector | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        trace: bool = False,
    ) -> Claim:
        """The method's claim on a problem; `lcp.solve` checks the arguments and verifies the claim.

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
    """The solver, and those in its fields, with limits of time of at most so many seconds; itself where they are."""
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

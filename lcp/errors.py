"""Errors of `lcp`: ill-formed input raises `ProblemError` at once; `SolveError` is what `raise_for_status` raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lcp.result import ResultBase


class ProblemError(ValueError):
    """A problem, start or option that is not what it must be; the text names the entry."""


class OutOfRangeError(ProblemError):
    """A problem whose converted or reduced form is beyond double precision; `solve` makes it NOT_FINITE instead."""


class DomainError(ArithmeticError):
    """A nonlinear function asked for a point where it is not defined; `solve` shortens steps or makes it a status."""


class SolveError(RuntimeError):
    """A solve that did not end in a verified solution; ``result`` tells how it ended."""

    def __init__(self, message: str, result: ResultBase[Any]) -> None:
        super().__init__(message)
        self.result = result

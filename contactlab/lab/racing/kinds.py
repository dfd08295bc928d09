"""Kinds of problem: who races whom, and the small problem of each kind on which a worker warms up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lcp
from contactlab.lab.errors import RaceError

__all__ = ["COMPLEMENTARITY", "KINDS", "Kind", "kind_of"]

#: League of the kinds that one `lcp.solve` serves: a solver of plain problems meets the others converted.
COMPLEMENTARITY = "complementarity"


@dataclass(frozen=True)
class Kind:
    """One kind of problem.

    Attributes
    ----------
    name
        Of the class.
    league
        Kinds of one league are met by the same solvers.
    problem
        The class.
    solvers
        Our solver classes for it, which ``all`` stands for.
    warm_up
        Small problems, from whether the data are sparse.
    """

    name: str
    league: str
    problem: type[Any]
    solvers: tuple[type[Any], ...]
    warm_up: Callable[[bool], tuple[Any, ...]]


def _matrix(sparse: bool) -> Any:
    """Diagonally dominant, not symmetric: few methods stop at once."""
    M = np.array([[4.0, 1.0, 0.5], [0.0, 3.0, 1.0], [1.0, 0.5, 5.0]])
    if not sparse:
        return M
    from scipy.sparse import csr_array

    return csr_array(M)


_Q = (-1.0, 2.0, -3.0)


def _plain(sparse: bool) -> tuple[Any, ...]:
    """One with a solution, and one without."""
    M = _matrix(sparse)
    return lcp.LCP(M, _Q), lcp.LCP(-M, _Q)


def _mixed(_: bool) -> tuple[Any, ...]:
    M = _matrix(False)
    return tuple(lcp.MLCP(M[:1, :1], M[:1, 1:], M[1:, :1], s * M[1:, 1:], _Q[:1], _Q[1:]) for s in (1.0, -1.0))


def _boxed(sparse: bool) -> tuple[Any, ...]:
    return (lcp.BoxLCP(_matrix(sparse), _Q, [-np.inf, -1.0, 0.0], [np.inf, 1.0, 0.1]),)


KINDS = (
    Kind("LCP", COMPLEMENTARITY, lcp.LCP, lcp.ALL_SOLVERS, _plain),
    Kind("MLCP", COMPLEMENTARITY, lcp.MLCP, lcp.ALL_SOLVERS, _mixed),
    Kind("BoxLCP", COMPLEMENTARITY, lcp.BoxLCP, lcp.ALL_SOLVERS, _boxed),
)


def kind_of(problem: object) -> Kind:
    """Kind of a problem; a `RaceError` for anything else."""
    for kind in KINDS:
        if type(problem) is kind.problem:
            return kind
    names = ", ".join(f"lcp.{kind.name}" for kind in KINDS)
    raise RaceError(f"a race is over problems of {names}; got {type(problem).__name__}")

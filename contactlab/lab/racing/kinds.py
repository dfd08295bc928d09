"""Kinds of problem: who races whom, and the small problem of each kind on which a worker warms up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lcp
from contactlab.lab.errors import RaceError

#: League of the kinds that one `lcp.solve` serves: a solver of plain problems meets the others converted.
COMPLEMENTARITY = "complementarity"
#: League of Coulomb friction with the exact cone.
FRICTION = "friction"


@dataclass(frozen=True)
class Kind:
    """One kind of problem."""

    name: str  # of the class
    league: str  # kinds of one league are met by the same solvers
    problem: type[Any]
    solvers: tuple[type[Any], ...]  # our solver classes for it, which ``all`` stands for
    tolerance: float  # bound on the residual where the race names none
    warm_up: Callable[[bool], tuple[Any, ...]]  # small problems, from whether the data are sparse


def _stored(M: Any, sparse: bool) -> Any:
    if not sparse:
        return M
    from scipy.sparse import csr_array

    return csr_array(M)


def _matrix(sparse: bool) -> Any:
    """Diagonally dominant, not symmetric: few methods stop at once."""
    return _stored(np.array([[4.0, 1.0, 0.5], [0.0, 3.0, 1.0], [1.0, 0.5, 5.0]]), sparse)


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


def _friction(sparse: bool) -> tuple[Any, ...]:
    """A contact that slides, and one that nothing can hold."""
    W = np.diag([1.0, 2.0, 2.0])
    loads = ([-1.0, 3.0, 1.0], [-1.0, 0.0, 0.0])
    return tuple(
        lcp.FrictionProblem(_stored(s * W, sparse), load, [0.5]) for s, load in zip((1.0, 0.0), loads, strict=True)
    )


def _global(_: bool) -> tuple[Any, ...]:
    return (lcp.GlobalFrictionProblem(np.eye(3), np.eye(3), [-1.0, 3.0, 1.0], np.zeros(3), [0.5]),)


KINDS = (
    Kind("LCP", COMPLEMENTARITY, lcp.LCP, lcp.ALL_SOLVERS, 1e-9, _plain),
    Kind("MLCP", COMPLEMENTARITY, lcp.MLCP, lcp.ALL_SOLVERS, 1e-9, _mixed),
    Kind("BoxLCP", COMPLEMENTARITY, lcp.BoxLCP, lcp.ALL_SOLVERS, 1e-9, _boxed),
    Kind("FrictionProblem", FRICTION, lcp.FrictionProblem, lcp.ALL_FRICTION_SOLVERS, 1e-8, _friction),
    Kind("GlobalFrictionProblem", FRICTION, lcp.GlobalFrictionProblem, lcp.ALL_FRICTION_SOLVERS, 1e-8, _global),
)


def kind_of(problem: object) -> Kind:
    """Kind of a problem; a `RaceError` for anything else."""
    for kind in KINDS:
        if type(problem) is kind.problem:
            return kind
    names = ", ".join(f"lcp.{kind.name}" for kind in KINDS)
    raise RaceError(f"a race is over problems of {names}; got {type(problem).__name__}")


def league_of(solver: Any) -> str:
    """League a solver races in: that of friction where its traits say `lcp.Traits.CONE`."""
    return FRICTION if getattr(solver, "traits", lcp.Traits(0)) & lcp.Traits.CONE else COMPLEMENTARITY


def size_of(problem: Any) -> int:
    """The n of a problem: complementary pairs, unknowns between bounds, or contacts."""
    return int(problem.nc if kind_of(problem).league == FRICTION else problem.n)

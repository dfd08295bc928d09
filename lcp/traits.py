"""What a solver can be trusted with; tests, tables and line-ups are derived from these flags."""

from __future__ import annotations

import enum


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

"""Horizontal linear complementarity: both sides have a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lcp.arrays import Vector, check_range, checked_vector, dense_matrix, read_only
from lcp.conversions import Conversion
from lcp.errors import ProblemError
from lcp.mixed import MLCP
from lcp.problem import LCP

if TYPE_CHECKING:
    from lcp.matrix_classes import ClassVerdict


@dataclass(frozen=True, init=False, eq=False, repr=False)
class HorizontalLCP:
    """Find w >= 0 and z >= 0 with N w = M z + q and z . w = 0; an `LCP` where N is the identity.

    Parameters
    ----------
    N, M
        Matrices (n, n), dense or scipy.sparse, kept dense. Copied.
    q
        Vector (n,). Copied.

    Raises
    ------
    ProblemError
        For a shape that does not fit, or an entry that is not a finite real number.

    References
    ----------
    R. H. Tutuncu, M. J. Todd, Reducing horizontal linear complementarity problems, Linear Algebra and its Applications
    223/224 (1995).
    """

    N: Vector
    M: Vector
    q: Vector

    def __init__(self, N: Any, M: Any, q: ArrayLike) -> None:
        vector = checked_vector("q", q)
        n = vector.shape[0]
        for name, value in (("N", N), ("M", M)):
            matrix = dense_matrix(name, value)
            if matrix.shape != (n, n):
                raise ProblemError(f"{name} must have shape ({n}, {n}) as q has length {n}, got {matrix.shape}")
            object.__setattr__(self, name, read_only(matrix))
        object.__setattr__(self, "q", read_only(vector))

    @property
    def n(self) -> int:
        """Number of complementary pairs."""
        return int(self.q.shape[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.N, self.M, self.q)

    def __repr__(self) -> str:
        return f"HorizontalLCP(n={self.n})"

    def column_w(self) -> ClassVerdict | None:
        """Whether {N, M} has the column W-property: there is one solution for every q. None where N is singular.

        All 2^n matrices whose column i is that of N or of M have determinants of one sign, which is so exactly where
        N^-1 M is a P-matrix. A singular N is one of them. The verdict is that on N^-1 M as computed.
        """
        inverse = _left_divided(self.N, self.M)
        from lcp.matrix_classes import is_p_matrix

        return None if inverse is None else is_p_matrix(inverse)


def horizontal_to_mlcp(problem: HorizontalLCP) -> Conversion[MLCP]:
    """w as free unknowns of the equations N u - M y - q = 0, with u >= 0 against y >= 0: exact for any data.

    ``recover`` gives (w, z) in one vector.
    """
    n = problem.n
    mixed = MLCP(problem.N, -problem.M, np.eye(n), np.zeros((n, n)), -problem.q, np.zeros(n))
    return Conversion(mixed, lambda x: checked_vector("(u, y)", x, 2 * n), lambda z: checked_vector("z", z, n))


def horizontal_to_lcp(problem: HorizontalLCP) -> Conversion[LCP]:
    """LCP(N^-1 M, N^-1 q), whose z it shares.

    Raises
    ------
    ProblemError
        Where N is singular to working precision: {N, M} is not column-W then, and there is no such LCP.
    """
    reduced = _left_divided(problem.N, np.column_stack([problem.M, problem.q]))
    if reduced is None:
        rank = int(np.linalg.matrix_rank(problem.N))
        raise ProblemError(
            f"N has rank {rank} of {problem.n}: {{N, M}} is not column-W and the horizontal problem no LCP(N^-1 M, "
            "N^-1 q); horizontal_to_mlcp is exact for any data"
        )
    check_range("N^-1 [M q]", reduced)
    plain = LCP(reduced[:, :-1], reduced[:, -1])
    return Conversion(plain, lambda z: checked_vector("z", z, problem.n), lambda z: checked_vector("z", z, problem.n))


def _left_divided(N: Vector, right: Vector) -> Vector | None:
    """N^-1 right, or None where N is singular to working precision in units near one."""
    from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

    from lcp.scaling import scales

    if N.shape[0] == 0:
        return right
    row, column = scales(np.array(N))
    scaled = row[:, None] * N * column
    lu, order, info = dgetrf(scaled)
    if info > 0 or dgecon(lu, float(np.abs(scaled).sum(axis=0).max()))[0] < 1e-14:
        return None
    solved: Vector = column[:, None] * dgetrs(lu, order, row[:, None] * right)[0]
    return solved

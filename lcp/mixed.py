"""The mixed linear complementarity problem: equations with free unknowns beside complementary pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcp.arrays import checked_vector, read_only, shaped_matrix
from lcp.problem import LCP, kernel_arrays


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MLCP:
    """Find u, free, and y >= 0 with A u + X1 y + a = 0, w = X2 u + X3 y + x4 >= 0 and y . w = 0.

    Parameters
    ----------
    A, X1
        Matrices (n_free, n_free) and (n_free, n) of the equations. A may be singular.
    X2, X3
        Matrices (n, n_free) and (n, n) of the complementary rows.
    a, x4
        Vectors (n_free,) and (n,).

    Everything is copied; integers become float64, sparse blocks become dense.

    Raises
    ------
    ProblemError
        For a shape that does not fit, or an entry that is not a finite real number; the text names it.

    References
    ----------
    R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section 1.5 (1.5.3).
    """

    A: NDArray[np.float64]
    X1: NDArray[np.float64]
    X2: NDArray[np.float64]
    X3: NDArray[np.float64]
    a: NDArray[np.float64]
    x4: NDArray[np.float64]
    # [[A, X1], [X2, X3]] and [a; x4], writable-typed for the kernels, which do not modify them; the six above are
    # read-only views of them.
    _K: NDArray[np.float64] = field(repr=False)
    _k: NDArray[np.float64] = field(repr=False)

    def __init__(self, A: Any, X1: Any, X2: Any, X3: Any, a: ArrayLike, x4: ArrayLike) -> None:
        a_vector = checked_vector("a", a)
        x4_vector = checked_vector("x4", x4)
        m, n = a_vector.shape[0], x4_vector.shape[0]
        K = np.empty((m + n, m + n))
        K[:m, :m] = shaped_matrix("A", A, (m, m))
        K[:m, m:] = shaped_matrix("X1", X1, (m, n))
        K[m:, :m] = shaped_matrix("X2", X2, (n, m))
        K[m:, m:] = shaped_matrix("X3", X3, (n, n))
        k = np.concatenate([a_vector, x4_vector])
        for name, value in (
            ("A", K[:m, :m]),
            ("X1", K[:m, m:]),
            ("X2", K[m:, :m]),
            ("X3", K[m:, m:]),
            ("a", k[:m]),
            ("x4", k[m:]),
        ):
            object.__setattr__(self, name, read_only(value))
        object.__setattr__(self, "_K", K)
        object.__setattr__(self, "_k", k)

    @property
    def n_free(self) -> int:
        """Number of free unknowns, which is the number of equations."""
        return int(self.a.shape[0])

    @property
    def n(self) -> int:
        """Number of complementary pairs."""
        return int(self.x4.shape[0])

    def __reduce__(self) -> tuple[Any, ...]:
        # As in `LCP`: copies are made anew.
        return type(self), (self.A, self.X1, self.X2, self.X3, self.a, self.x4)

    def __repr__(self) -> str:
        return f"MLCP(n_free={self.n_free}, n={self.n})"


def stacked(problem: LCP | MLCP) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Matrix, vector and number of free unknowns, which come first, of either kind."""
    if isinstance(problem, MLCP):
        return problem._K, problem._k, problem.n_free
    K, k = kernel_arrays(problem)
    return K, k, 0

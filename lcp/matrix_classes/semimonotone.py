"""Semimonotone matrices: every 0 != x >= 0 has an index with x_k > 0 and (M x)_k >= 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from lcp.analysis.exact import integers
from lcp.analysis.proven_bounds import h_matrix_vector, least_eigenvalue
from lcp.arrays import Vector
from lcp.matrix_classes.principal_search import Violation, decide, underflows, violations
from lcp.matrix_classes.verdict import ClassVerdict, Counterexample, broken_rows, rows_margin, square
from lcp.scaling import scales


def is_semimonotone(M: Any, *, max_n: int = 16) -> ClassVerdict:
    """Decide whether M is semimonotone (E_0): LCP(M, q) with q > 0 has only the solution zero.

    All principal blocks are searched whose rows are connected by negative entries, up to ``max_n`` rows. The
    counterexample is a 0 != x >= 0 with (M x)_k < 0 for all k with x_k > 0.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.9; see `lcp.matrix_classes.principal_search`.
    """
    return _decide(square(M), max_n, strict=False)


def is_strictly_semimonotone(M: Any, *, max_n: int = 16) -> ClassVerdict:
    """Decide whether M is strictly semimonotone (E): LCP(M, q) with q >= 0 has only the solution zero.

    The search is the one of `is_semimonotone`. The counterexample is a 0 != x >= 0 with (M x)_k <= 0 for all k with
    x_k > 0.
    """
    return _decide(square(M), max_n, strict=True)


def _decide(matrix: Vector, max_n: int, *, strict: bool) -> ClassVerdict:
    """Decide (strict) semimonotonicity: by classes that imply it, then by the principal blocks that violate it."""
    name = "strictly semimonotone" if strict else "semimonotone"
    n = matrix.shape[0]
    row, column = scales(matrix)
    scaled = row[:, None] * matrix * column
    if underflows(scaled, matrix):
        row, column, scaled = np.ones(n), np.ones(n), matrix
    if h_matrix_vector(matrix) is not None:
        return (
            ClassVerdict(True, name, detail="H_+ and so P")
            if (np.diag(matrix) > 0.0).all()
            else _diagonal(matrix, name)
        )
    if least_eigenvalue(scaled) > 0.0:
        return ClassVerdict(True, name, detail="positive definite after scaling and so P")

    def refused(find: Violation) -> ClassVerdict | None:
        if not broken_rows(matrix, find.x, strict=not strict):
            return None
        example = Counterexample(find.indices, find.x)
        return ClassVerdict(False, name, example, "a principal block", rows_margin(matrix, find.x))

    finds = violations(scaled, column, integers(matrix), strict=strict, max_n=max_n)
    return decide(name, finds, lambda find: strict or not find.null, refused)


def _diagonal(matrix: Vector, name: str) -> ClassVerdict:
    """Return the verdict for an H-matrix with a negative diagonal entry."""
    i = int(np.flatnonzero(np.diag(matrix) < 0.0)[0])
    x = np.eye(matrix.shape[0])[i]
    return ClassVerdict(False, name, Counterexample((i,), x), f"M[{i}, {i}] is negative", 1.0)

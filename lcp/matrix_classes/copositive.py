"""Copositive matrices: x . M x >= 0 for all x >= 0, as of frictional contact; and semimonotone ones.

M is semimonotone if every 0 != x >= 0 has an index with x_k > 0 and (M x)_k >= 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lcp.analysis.exact import Integers, integers, signs
from lcp.analysis.proven_bounds import h_matrix_vector, least_eigenvalue
from lcp.arrays import Vector
from lcp.matrix_classes.definite import congruence, is_pd_matrix, is_psd_matrix
from lcp.matrix_classes.principal_search import Violation, decide, underflows, violations
from lcp.matrix_classes.verdict import (
    ClassVerdict,
    Counterexample,
    broken_form,
    broken_rows,
    form_margin,
    rows_margin,
    square,
)
from lcp.scaling import scales


def is_copositive(M: Any, *, max_n: int = 16) -> ClassVerdict:
    """Decide whether x . M x >= 0 for all x >= 0. The counterexample is an x >= 0 with x . M x < 0.

    Positive semidefinite matrices are copositive. Otherwise all principal blocks of M + M^T are searched whose rows are
    connected by negative entries, up to ``max_n`` rows.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.8; K. P. Hadeler, On copositive matrices, Linear Algebra and its
    Applications 49 (1983).
    """
    return _decide(square(M), max_n, "copositive")


def is_strictly_copositive(M: Any, *, max_n: int = 16) -> ClassVerdict:
    """Decide whether x . M x > 0 for all 0 != x >= 0; the counterexample is a 0 != x >= 0 with x . M x <= 0."""
    return _decide(square(M), max_n, "strictly copositive")


def is_copositive_plus(M: Any, *, max_n: int = 16) -> ClassVerdict:
    """Decide whether M is copositive and x . M x = 0 with x >= 0 implies (M + M^T) x = 0.

    For such matrices a secondary ray of Lemke's method proves that the problem is infeasible. The zeros with minimal
    support are null vectors of principal blocks of M + M^T, and all other zeros are their sums. The counterexample is
    an x >= 0 with x . M x < 0, or with x . M x = 0 and (M + M^T) x != 0.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.8 and theorem 4.4.11; R. Hildebrand, Minimal zeros of copositive
    matrices, Linear Algebra and its Applications 459 (2014), for the zeros.
    """
    return _decide(square(M), max_n, "copositive-plus")


def _decide(matrix: Vector, max_n: int, name: str) -> ClassVerdict:
    """Decide the class ``name`` of copositive matrices: by definiteness, then by the blocks that violate it."""
    strict = name == "strictly copositive"
    definite = is_pd_matrix(matrix) if strict else is_psd_matrix(matrix)
    if definite:
        return ClassVerdict(True, name, detail=f"{definite.name}: {definite.detail}")
    exact = integers(matrix)
    S = exact + exact.T
    d = congruence(matrix)
    with np.errstate(over="ignore", invalid="ignore"):
        half = 0.5 * matrix + 0.5 * matrix.T
        scaled = half * d * d[:, None]
    if underflows(scaled, half):
        d, scaled = np.ones(matrix.shape[0]), half

    def counts(find: Violation) -> bool:
        return not find.null or (name != "copositive" and (strict or _is_nonzero_image(S, find.exact)))

    def refused(find: Violation) -> ClassVerdict | None:
        return _negative_verdict(matrix, find, name) if _shown(matrix, S, find, name) else None

    return decide(name, violations(scaled, d, S, strict=name != "copositive", max_n=max_n), counts, refused)


def _is_nonzero_image(S: Integers, x: Integers | None) -> bool:
    """Return True if S x != 0."""
    return x is not None and bool(signs(S @ x).any())


def _shown(matrix: Vector, S: Integers, find: Violation, name: str) -> bool:
    """Return True if the doubles of a violation break the condition exactly."""
    x = find.x
    if not np.isfinite(x).all() or (x < 0.0).any():
        return False
    if not find.null or name == "strictly copositive":
        return broken_form(matrix, x, strict=not find.null)
    y = integers(x)
    return bool(x.any()) and int(y @ (S @ y)) == 0 and _is_nonzero_image(S, y)


def _negative_verdict(matrix: Vector, find: Violation, name: str) -> ClassVerdict:
    """Return the verdict that M is not of the class ``name``, with the violation found as counterexample."""
    what = "x >= 0 with x . M x = 0" if find.null else "x >= 0 with x . M x < 0"
    margin = form_margin(matrix, find.x)
    return ClassVerdict(False, name, Counterexample(find.indices, find.x), what, margin)


def is_semimonotone(M: Any, *, max_n: int = 16) -> ClassVerdict:
    """Decide whether M is semimonotone (E_0): LCP(M, q) with q > 0 has only the solution zero.

    All principal blocks are searched whose rows are connected by negative entries, up to ``max_n`` rows. The
    counterexample is a 0 != x >= 0 with (M x)_k < 0 for all k with x_k > 0.

    References
    ----------
    Cottle, Pang and Stone (1992), section 3.9; see `lcp.matrix_classes.principal_search`.
    """
    return _decide_rows(square(M), max_n, strict=False)


def is_strictly_semimonotone(M: Any, *, max_n: int = 16) -> ClassVerdict:
    """Decide whether M is strictly semimonotone (E): LCP(M, q) with q >= 0 has only the solution zero.

    The search is the one of `is_semimonotone`. The counterexample is a 0 != x >= 0 with (M x)_k <= 0 for all k with
    x_k > 0.
    """
    return _decide_rows(square(M), max_n, strict=True)


def _decide_rows(matrix: Vector, max_n: int, *, strict: bool) -> ClassVerdict:
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

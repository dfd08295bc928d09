"""Copositive matrices: x . M x >= 0 for all x >= 0, as of frictional contact; and semimonotone ones.

M is semimonotone if every 0 != x >= 0 has an index with x_k > 0 and (M x)_k >= 0. It is semimonotone unless some
principal block has M_aa^-1 <= 0. It is strictly semimonotone unless some block has M_aa^-1 <= 0, or corank one and a
positive null vector. A symmetric matrix is (strictly) copositive if and only if it is (strictly) semimonotone.
`lcp.kernels.principal_blocks` has the reasons. K. P. Hadeler, On copositive matrices, Linear Algebra and its
Applications 49 (1983); R. W. Cottle, G. J. Habetler, C. E. Lemke, On classes of copositive matrices, same journal 3
(1970).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcp.analysis.exact import Integers, doubles, gauss_jordan, integers, signs
from lcp.analysis.proven_bounds import h_matrix_vector, least_eigenvalue
from lcp.arrays import Vector, first_true, graph_components
from lcp.matrix_classes.definite import congruence, is_pd_matrix, is_psd_matrix
from lcp.matrix_classes.verdict import (
    ClassVerdict,
    Counterexample,
    bits,
    broken_form,
    broken_rows,
    extended,
    form_margin,
    rows_margin,
    square,
    sub,
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
    Cottle, Pang and Stone (1992), section 3.9; `violations` is the search.
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
        if (i := first_true(np.diag(matrix) < 0.0)) is None:
            return ClassVerdict(True, name, detail="H_+ and so P")
        return ClassVerdict(False, name, Counterexample((i,), np.eye(n)[i]), f"M[{i}, {i}] is negative", 1.0)
    if least_eigenvalue(scaled) > 0.0:
        return ClassVerdict(True, name, detail="positive definite after scaling and so P")

    def refused(find: Violation) -> ClassVerdict | None:
        if not broken_rows(matrix, find.x, strict=not strict):
            return None
        example = Counterexample(find.indices, find.x)
        return ClassVerdict(False, name, example, "a principal block", rows_margin(matrix, find.x))

    finds = violations(scaled, column, integers(matrix), strict=strict, max_n=max_n)
    return decide(name, finds, lambda find: strict or not find.null, refused)


_CHUNK = 8192
#: Limit on blocks that are singular to rounding, which are decided in integers one by one.
MAX_EXACT = 20000


@dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """Block that breaks a condition: x >= 0 on ``indices``, as doubles and, if found so, as exact integers.

    If ``null``, M_aa x = 0; otherwise M_aa x < 0 for the rows with x > 0.
    """

    indices: tuple[int, ...]
    x: Vector
    exact: Integers | None
    null: bool


class SearchTooLong(Exception):
    """Raised if the search would take too long; the text is the reason."""


def violations(scaled: Vector, unscale: Vector, exact: Integers, *, strict: bool, max_n: int) -> Iterator[Violation]:
    """Yield blocks with 0 != x >= 0 and M_aa x < 0 on its support, or x > 0 and M_aa x = 0 at corank one.

    If no block with M_aa x < 0 is found, there is none. With ``strict`` the same is true for the null vectors.
    ``scaled`` is M with rows and columns in positive units, columns in units ``unscale``; ``exact`` is M in integers.
    Raises `SearchTooLong` at the end if something was left out.

    If all entries of M_bc are nonnegative, a violation on b and c together is also one on b. So each strongly connected
    part of the graph of negative entries is searched separately.
    """
    left_out = ""
    spent = 0
    for part in _parts(exact, strict=strict):
        if len(part) > max_n:
            yield from _pairs(scaled, exact, part)
            left_out = f"{len(part)} rows hang together by negative entries, which exceeds max_n = {max_n}"
            continue
        for item in _part_violations(scaled, unscale, exact, part):
            if isinstance(item, Violation):
                yield item
            else:
                spent += item
                if spent > MAX_EXACT:
                    raise SearchTooLong(f"more than {MAX_EXACT} principal blocks are singular to rounding")
    if left_out:
        raise SearchTooLong(left_out)


def _part_violations(
    scaled: Vector, unscale: Vector, exact: Integers, part: tuple[int, ...]
) -> Iterator[Violation | int]:
    """Yield the violations within one part, and the numbers of blocks that must be decided in integers."""
    from lcp.kernels.principal_blocks import scan_systems

    block = np.ascontiguousarray(scaled[np.ix_(part, part)])
    n = len(part)
    where = np.array(part, dtype=np.intp)
    A, work, index = np.empty((n, n)), np.empty(2 * n), np.empty(2 * n, dtype=np.int64)
    codes, vector = np.empty(_CHUNK, dtype=np.int64), np.zeros(n)
    start, total = 1, 1 << n
    while start < total:
        stop = min(start + _CHUNK, total)
        kept = scan_systems(block, start, stop, A, work, index, codes, vector)
        if kept < 0:
            code = -1 - kept
            full = np.zeros(scaled.shape[0])
            full[where] = vector * unscale[where]
            yield Violation(tuple(where[list(bits(code))].tolist()), full, None, False)
            # The results of the kernel before that block are lost, so repeat the search up to the block.
            kept = scan_systems(block, start, code, A, work, index, codes, vector)
            stop = code + 1
        yield kept
        for code in codes[:kept].tolist():
            find = _exact_block(exact, tuple(where[list(bits(code))].tolist()))
            if find is not None:
                yield find
        start = stop


def _pairs(scaled: Vector, exact: Integers, part: tuple[int, ...]) -> Iterator[Violation]:
    """Yield violations of order one and two, for a part that is too large to be searched."""
    block = scaled[np.ix_(part, part)]
    d = np.diag(block)
    for i in np.flatnonzero(d < 0.0):
        find = _exact_block(exact, (part[i],))
        if find is not None:
            yield find
    with np.errstate(over="ignore", invalid="ignore"):
        first, second = d[None, :] - block, d[:, None] - block.T
        sign = np.sign(np.multiply.outer(d, d) - block * block.T)
    for i, j in np.argwhere(np.triu((sign * first <= 0.0) & (sign * second <= 0.0) & (sign != 0.0), 1))[:100]:
        find = _exact_block(exact, (part[i], part[j]))
        if find is not None:
            yield find


def _exact_block(exact: Integers, indices: tuple[int, ...]) -> Violation | None:
    """Return the violation of a block, decided in integers, or None."""
    k, n = len(indices), exact.shape[0]
    one = np.empty((k, 1), dtype=object)
    one[:] = 1
    reduced = gauss_jordan(np.hstack([sub(exact, indices), one]), k)
    null = reduced.rank < k
    if reduced.rank < k - 1:
        return None
    if null:
        x = reduced.null_vector(k)
        sign = signs(x)
        if not ((sign > 0).all() or (sign < 0).all()):
            return None
        x = x * int(sign[0])
    else:
        inner, scale = reduced.solution()
        x = -inner if scale > 0 else inner
        if not (signs(x) >= 0).all():
            return None
    whole = np.zeros(n, dtype=object)
    whole[list(indices)] = x
    return Violation(indices, extended(doubles(x), indices, n), whole, null)


def _parts(exact: Integers, *, strict: bool) -> list[tuple[int, ...]]:
    """Return strongly connected parts of the graph of negative entries that may have a violation, smallest first."""
    sign = signs(exact)
    parts = [tuple(part.tolist()) for part in graph_components(sign < 0, strong=True)]
    # A single index matters only if its diagonal entry is not positive.
    alone = 0 if strict else -1
    return sorted((part for part in parts if len(part) > 1 or sign[part[0], part[0]] <= alone), key=len)


def underflows(scaled: Vector, matrix: Vector) -> bool:
    """Return True if scaling takes entries of a matrix near or below the least normal number."""
    return not ((np.abs(scaled) > 2.0**-900) | (matrix == 0.0)).all()


def decide(
    name: str,
    finds: Iterator[Violation],
    counts: Callable[[Violation], bool],
    refused: Callable[[Violation], ClassVerdict | None],
) -> ClassVerdict:
    """Return the verdict on the class ``name`` from the violations that a search finds and ``counts`` accepts.

    ``refused`` returns the verdict False if doubles break the condition exactly, otherwise None. A violation in
    integers alone gives the verdict False at the end. If the search is too long and finds none, it is None.
    """
    unproven: Violation | None = None
    try:
        for find in finds:
            if not counts(find):
                continue
            verdict = refused(find)
            if verdict is not None:
                return verdict
            if find.exact is not None and (unproven is None or unproven.null):
                unproven = find
    except SearchTooLong as reason:
        if unproven is None:
            return ClassVerdict(None, name, detail=str(reason))
    if unproven is not None:
        detail = "a principal block, in integers; no vector of doubles shows it"
        return ClassVerdict(False, name, Counterexample(unproven.indices), detail)
    return ClassVerdict(True, name, detail="all principal blocks that matter")

"""Verdicts of the tests for matrix classes, and the exact checks that every negative verdict must pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.analysis.exact import Integers, integers
from lcp.analysis.proven_bounds import EPS, TINY, product
from lcp.arrays import Vector, checked_square


@dataclass(frozen=True, slots=True, eq=False)
class Counterexample:
    """Proof that a matrix does not belong to a class.

    Attributes
    ----------
    indices
        Principal submatrix, or entry (i, j), that breaks the condition; for other classes the support of ``vector``.
    vector
        x (n,) of doubles that breaks the condition exactly; None if no such doubles were found.
    """

    indices: tuple[int, ...]
    vector: Vector | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ClassVerdict:
    """Verdict on whether M belongs to a class, for the exact doubles.

    It is truthy if M belongs to the class. Both verdicts are proven, by exact integer arithmetic, or by floating point
    with bounds on all rounding errors.

    Attributes
    ----------
    member
        True, False, or None if neither was proven within the stated limits.
    name
        Name of the class.
    witness
        Counterexample if ``member`` is False.
    detail
        Method of the decision, or the reason why there is none.
    margin
        Violation of the condition by the counterexample's vector, as a fraction of its terms. If it is near 1e-16, a
        change of the data by rounding makes M a member.
    """

    member: bool | None
    name: str
    witness: Counterexample | None = None
    detail: str = ""
    margin: float | None = None

    def __bool__(self) -> bool:
        return bool(self.member)


def square(M: Any) -> Vector:
    """Return M as a dense matrix of doubles."""
    matrix = checked_square("M", M)
    dense: Vector = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return dense


def image_signs(M: Vector, x: Vector) -> tuple[NDArray[np.int64], Vector]:
    """Return the exact signs of M x, and |M x| as fractions of its terms; rows near zero are computed in integers."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        value, error = product(M, x)
        clear = np.abs(value) > error
        parts = np.abs(value) / (np.abs(M) @ np.abs(x))
    sign = np.where(clear, np.sign(np.where(clear, value, 0.0)), 0.0).astype(np.int64)
    y = integers(x)
    for i in np.flatnonzero(~clear):
        sign[i], parts[i] = _fraction(integers(M[i]) * y)
    return sign, parts


def form_sign(M: Vector, x: Vector) -> tuple[int, float]:
    """Return the exact sign of x . M x, and its size as a fraction of its terms."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        value, error = product(M, x)
        form, size = float(x @ value), float(np.abs(x) @ (np.abs(M) @ np.abs(x)))
        spread = float(np.abs(x) @ error) * (1.0 + (x.shape[0] + 4) * EPS) + (x.shape[0] + 4) * EPS * size + TINY
    # Underflow of the outer sum is far below the error bound unless the terms themselves underflow.
    if abs(form) > 2.0 * spread and spread > 2.0**-900:
        return (1 if form > 0.0 else -1), abs(form) / size
    y = integers(x)
    return _fraction((y[:, None] * integers(M) * y).ravel())


def _fraction(terms: Integers) -> tuple[int, float]:
    """Return the sign of a sum of integers, and its size as a fraction of its terms."""
    total, size = int(terms.sum()) if terms.size else 0, int(abs(terms).sum()) if terms.size else 0
    return (total > 0) - (total < 0), abs(total) / size if size else 0.0


def broken_form(M: Vector, x: Vector, *, strict: bool) -> bool:
    """Return True if x != 0 and x . M x < 0 (<= 0 unless ``strict``), exactly."""
    return bool(x.any()) and form_sign(M, x)[0] < (0 if strict else 1)


def broken_signs(M: Vector, x: Vector) -> bool:
    """Return True if x != 0 and x_i (M x)_i <= 0 for all i, exactly: the sign of x is reversed."""
    return bool(x.any()) and bool((np.sign(x) * image_signs(M, x)[0] <= 0).all())


def broken_rows(M: Vector, x: Vector, *, strict: bool) -> bool:
    """Return True if 0 != x >= 0 and (M x)_k < 0 (<= 0 unless ``strict``) for all k with x_k > 0, exactly."""
    image = image_signs(M, x)[0][x > 0.0]
    return bool(image.size) and bool((x >= 0.0).all()) and bool((image < (0 if strict else 1)).all())


def form_margin(M: Vector, x: Vector) -> float:
    """Return |x . M x| as a fraction of its terms."""
    return form_sign(M, x)[1]


def rows_margin(M: Vector, x: Vector) -> float:
    """Return the largest |(M x)_k| with x_k != 0, each as a fraction of its terms."""
    return float(image_signs(M, x)[1][x != 0.0].max(initial=0.0))


def sub(A: Integers, indices: tuple[int, ...]) -> Integers:
    """Return the principal submatrix of an integer matrix."""
    block: Integers = A[np.ix_(indices, indices)]
    return block


def extended(x: Vector, indices: tuple[int, ...], n: int) -> Vector:
    """Return a vector of length n with the entries ``x`` at ``indices``, and zeros elsewhere."""
    full = np.zeros(n)
    full[list(indices)] = x
    return full


def bits(code: int) -> tuple[int, ...]:
    """Return the indices whose bits are set."""
    return tuple(i for i in range(code.bit_length()) if code >> i & 1)

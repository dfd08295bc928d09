"""Columns of a constraint row that can differ from zero: those of the one or two trees it acts on.

``spans`` (rows, 4) holds for each row two half-open ranges of columns, the lower one first; a row beyond its length has
all columns. A sum over the spans has the bits of the sum over all columns: what is left out are exact zeros.
"""

from __future__ import annotations

from typing import Final

from lcp.kernels import Floats, Ints, kernel

SPAN_INTS: Final = 4


@kernel(inline=True)
def columns(spans: Ints, i: int, nv: int) -> tuple[int, int, int, int]:
    """The two ranges of row i."""
    if i >= spans.shape[0]:
        return 0, nv, nv, nv
    return spans[i, 0], spans[i, 1], spans[i, 2], spans[i, 3]


@kernel(inner=True)
def dot_within(a: int, b: int, c: int, d: int, x: Floats, y: Floats) -> float:
    """Sum of x_p y_p over the ranges a .. b and c .. d, in this order."""
    total = 0.0
    for p in range(a, b):
        total += x[p] * y[p]
    for p in range(c, d):
        total += x[p] * y[p]
    return total


@kernel(inner=True)
def add_within(a: int, b: int, c: int, d: int, factor: float, x: Floats, y: Floats) -> None:
    """y_p += factor x_p over the ranges a .. b and c .. d."""
    for p in range(a, b):
        y[p] += factor * x[p]
    for p in range(c, d):
        y[p] += factor * x[p]

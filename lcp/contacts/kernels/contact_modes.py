"""Modes of a contact with a friction polygon: open, sticking, sliding along one edge, or between two of them.

The 2 r edges of a contact have the angles pi j / r from its first friction direction; edge j + r is the negative of
edge j. The edge directions (2 r + 1, 2) are their cosines and sines. A tangential force is a point (x, y) of this
plane; it uses of the bound mu fN the sum of its components along the two edges that enclose it.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.kernels import Floats, kernel

# Mode of a contact; a sliding one has ALONG + 2 j along edge j and BETWEEN + 2 j between the edges j and j + 1.
OPEN: Final = 0
STICK: Final = 1
SLIDE_EDGE: Final = 2
SLIDE_FACE: Final = 3


@kernel(inner=True)
def fill_edge_directions(r: int, turns: Floats) -> None:
    """Fill ``turns`` for r directions."""
    for j in range(r):
        turns[j, 0] = math.cos(math.pi * j / r)
        turns[j, 1] = math.sin(math.pi * j / r)
        turns[j + r, 0] = -turns[j, 0]
        turns[j + r, 1] = -turns[j, 1]
    turns[2 * r, 0] = turns[0, 0]
    turns[2 * r, 1] = turns[0, 1]


@kernel(inner=True)
def enclosing_edge(r: int, turns: Floats, x: float, y: float) -> tuple[int, float, float]:
    """Return j with (x, y) between edges j and j + 1, and its components along these two edges, both >= 0.

    For r = 1 there is one tangent: j is 0 or 1 by the sign of x, the first component |x| and the second 0.
    """
    if r == 1:
        return (0, x, 0.0) if x >= 0.0 else (1, -x, 0.0)
    nearest = 0
    best = -1.0
    for j in range(2 * r):
        along = turns[j, 0] * x + turns[j, 1] * y
        if along > best:
            best = along
            nearest = j
    if turns[nearest, 0] * y - turns[nearest, 1] * x < 0.0:
        nearest = nearest - 1 if nearest > 0 else 2 * r - 1
    scale = 1.0 / turns[1, 1]
    first = (x * turns[nearest + 1, 1] - y * turns[nearest + 1, 0]) * scale
    second = (turns[nearest, 0] * y - turns[nearest, 1] * x) * scale
    return nearest, max(first, 0.0), max(second, 0.0)


@kernel(inner=True)
def sliding_mode(r: int, turns: Floats, j: int, x: float, y: float, bound: float) -> int:
    """Return the mode of the polygon's point nearest to (x, y), outside it between edges j and j + 1.

    The polygon has its corners at ``bound`` times the edges. The mode is a corner or the side between them.
    """
    if r == 1:
        return SLIDE_EDGE + 2 * j
    ex = turns[j + 1, 0] - turns[j, 0]
    ey = turns[j + 1, 1] - turns[j, 1]
    share = (x - bound * turns[j, 0]) * ex + (y - bound * turns[j, 1]) * ey
    if share <= 0.0:
        return SLIDE_EDGE + 2 * j
    if share >= bound * (ex * ex + ey * ey):
        return SLIDE_EDGE + 2 * ((j + 1) % (2 * r))
    return SLIDE_FACE + 2 * j

"""The inscribed friction pyramid: tangent frame of a contact and the directions of its k edges."""

from __future__ import annotations

import math
from typing import Final

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

TIE: Final = 1e-9


@kernel
def tangents(n: FloatArray, t1: FloatArray, t2: FloatArray) -> None:
    """Fill t1, t2 (3,): unit vectors with t1 x t2 = n, a fixed function of the unit normal n.

    t1 is the normalised part, across n, of the world axis e with the smallest |n_i|; t2 = n x t1. That |n_i| is at most
    1/sqrt(3), so the part never vanishes. Entries within `TIE` of one another are alike, and the lowest index is taken:
    the forces of a step are those of the next one, whose normal may differ by rounding.
    """
    axis = 0
    if abs(n[1]) < abs(n[axis]) - TIE:
        axis = 1
    if abs(n[2]) < abs(n[axis]) - TIE:
        axis = 2
    along = n[axis]
    for i in range(3):
        t1[i] = -along * n[i]
    t1[axis] += 1.0
    scale = 1.0 / math.sqrt(t1[0] * t1[0] + t1[1] * t1[1] + t1[2] * t1[2])
    for i in range(3):
        t1[i] *= scale
    t2[0] = n[1] * t1[2] - n[2] * t1[1]
    t2[1] = n[2] * t1[0] - n[0] * t1[2]
    t2[2] = n[0] * t1[1] - n[1] * t1[0]


@kernel
def planar_tangents(n: FloatArray, plane: FloatArray, t1: FloatArray, t2: FloatArray) -> None:
    """Fill t1, t2 (3,) of a contact in a plane of motion with the unit normal ``plane``: t1 = plane x n lies in it.

    Where there is no plane, ``plane`` = 0, or n is its normal, they are those of `tangents`.
    """
    t1[0] = plane[1] * n[2] - plane[2] * n[1]
    t1[1] = plane[2] * n[0] - plane[0] * n[2]
    t1[2] = plane[0] * n[1] - plane[1] * n[0]
    size = math.sqrt(t1[0] * t1[0] + t1[1] * t1[1] + t1[2] * t1[2])
    if size < 0.5:
        tangents(n, t1, t2)
    else:
        for i in range(3):
            t1[i] /= size
        t2[0] = n[1] * t1[2] - n[2] * t1[1]
        t2[1] = n[2] * t1[0] - n[0] * t1[2]
        t2[2] = n[0] * t1[1] - n[1] * t1[0]


@kernel(inline=True)
def turn(j: int, k: int) -> tuple[float, float]:
    """Cosine and sine of the angle 2 pi j/k of edge j of k, from t1 towards t2.

    j = 0 .. k/2 - 1 are the spanning directions; the other half are their negatives. k is even.
    """
    if 4 * j == k:
        # cos(pi/2) is 6e-17 in floating point: the exact value keeps zero entries of the rows zero.
        return 0.0, 1.0
    angle = 2.0 * math.pi * j / k
    return math.cos(angle), math.sin(angle)


@kernel(inline=True)
def tangential(c: float, s: float, t1: FloatArray, t2: FloatArray, d_out: FloatArray) -> None:
    """Fill ``d_out`` (3,) with c t1 + s t2."""
    for i in range(3):
        d_out[i] = c * t1[i] + s * t2[i]


@kernel
def edge(j: int, k: int, t1: FloatArray, t2: FloatArray, d_out: FloatArray) -> None:
    """Fill ``d_out`` (3,) with edge j of k: cos(2 pi j/k) t1 + sin(2 pi j/k) t2."""
    c, s = turn(j, k)
    tangential(c, s, t1, t2, d_out)

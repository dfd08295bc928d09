"""The friction pyramid of a contact, as checked Python functions; the compiled step calls the same kernels."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.shapes.grounds import unit_vector
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.errors import ContactError

#: Maximum number of edges. The pyramid is then within 5e-6 of the cone, and a contact has as many unknowns as edges.
MAX_EDGES = 1000


def check_edges(edges: int) -> int:
    """Return the number of edges k of a pyramid as an int; raise `ContactError` unless it is even and at least 4.

    The pyramid is spanned by k/2 directions and their negatives, so k is even; with k = 2 it would not span the plane.
    """
    try:
        k = operator.index(edges)
    except TypeError as cause:
        raise ContactError("edges", f"must be an integer, got {edges!r}") from cause
    if k < 4 or k % 2:
        raise ContactError("edges", f"must be even and at least 4, got {k}")
    if k > MAX_EDGES:
        raise ContactError("edges", f'must be at most {MAX_EDGES}, got {k}: `friction="cone"` has them all')
    return k


def tangent_frame(normal: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the tangents t1, t2 (3,) of a contact normal (3,), with t1 x t2 = normal.

    t1 is the normalised component, perpendicular to the normal n, of the world axis with the smallest |n_i|; t2 = n x
    t1. Of entries that differ by at most 1e-9, the first is used.
    """
    from contactlab.contact.kernels.contact_rows import tangents

    n = unit_vector(normal, "normal")
    t1, t2 = np.empty(3), np.empty(3)
    tangents(n, t1, t2)
    return t1, t2


def edge_directions(normal: ArrayLike, edges: int = 8) -> FloatArray:
    """Return the spanning directions (k/2, 3) of the inscribed pyramid of k edges: at the angles 2 pi j/k from t1.

    A friction force along them is limited by the sum of magnitudes <= mu f_N. In the least favourable direction the
    pyramid transmits cos(pi/k) of the cone's force: 29 % less with 4 edges, 7.6 % with 8, 1.9 % with 16.
    """
    from contactlab.contact.kernels.contact_rows import edge

    k = check_edges(edges)
    t1, t2 = tangent_frame(normal)
    directions = np.empty((k // 2, 3))
    for j in range(k // 2):
        edge(j, k, t1, t2, directions[j])
    return directions

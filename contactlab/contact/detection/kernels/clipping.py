"""Where two faces lie over one another: the polygon they share when seen along the contact normal."""

from __future__ import annotations

from typing import NamedTuple

from contactlab.contact.detection.kernels.vectors import dot
from contactlab.contact.kernels.layout import BITS, NONE, Vector
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel

# Labels of edges of the clipping polygon start here; those of the subject are the numbers of its corners.
CLIPPER = 1 << BITS


class Polygon(NamedTuple):
    """Room for a polygon."""

    corners: FloatArray  # three numbers each, in a row
    ids: IntArray  # numbers of the corners in their shape


@kernel
def project(polygon: FloatArray, n: int, t: Vector, s: Vector, normal: Vector, origin: Vector) -> None:
    """Replace the corners by their coordinates along two tangents and the normal, from an origin."""
    for i in range(n):
        d = (polygon[3 * i] - origin[0], polygon[3 * i + 1] - origin[1], polygon[3 * i + 2] - origin[2])
        polygon[3 * i], polygon[3 * i + 1], polygon[3 * i + 2] = dot(t, d), dot(s, d), dot(normal, d)


@kernel
def _code(edge: int, j: int, nb: int, ids_b: IntArray) -> int:
    """Feature of a corner that clipping by edge j makes on the edge labelled ``edge``."""
    if edge < CLIPPER:
        return (edge << BITS) | ids_b[j]
    k = edge - CLIPPER
    # Two edges of the clipping polygon meet in one of its corners.
    corner = j if j == k + 1 or (j == 0 and k == nb - 1) else k
    return (NONE << BITS) | ids_b[corner]


@kernel
def clip(subject: Polygon, na: int, clipper: Polygon, nb: int, slack: float, result: Polygon, spare: Polygon) -> int:
    """Part of the subject (a polygon or a segment) over the convex clipping polygon; returns its number of corners.

    I. E. Sutherland, G. W. Hodgman, Reentrant polygon clipping, Communications of the ACM 17 (1974), with a band of
    ``slack`` about every edge: a corner within it stays and cuts nothing, so that equal faces give their four corners
    whatever the last bits of the poses are.

    Parameters
    ----------
    subject, na
        Corners (x, y, height), and how many there are (2 for a segment).
    clipper, nb
        The same of the clipping polygon, at least 3 corners, in either sense of rotation.
    slack
        Half width of the band [m].
    result, spare
        Workspaces, with two numbers a corner: its feature, and the label of the edge that follows. The result stands
        in the first.
    """
    edges, ids_b = clipper
    (first, labels_1), (second, labels_2) = result, spare
    area = 0.0
    for j in range(nb):
        k = (j + 1) % nb
        area += edges[3 * j] * edges[3 * k + 1] - edges[3 * k] * edges[3 * j + 1]
    turn = 1.0 if area > 0.0 else -1.0
    n = na
    for i in range(n):
        for m in range(3):
            first[3 * i + m] = subject.corners[3 * i + m]
        labels_1[2 * i] = (subject.ids[i] << BITS) | NONE
        labels_1[2 * i + 1] = subject.ids[i]
    capacity = first.shape[0] // 3
    for j in range(nb):
        k = (j + 1) % nb
        x0, y0 = edges[3 * j], edges[3 * j + 1]
        ex, ey = turn * (edges[3 * k] - x0), turn * (edges[3 * k + 1] - y0)
        length = (ex * ex + ey * ey) ** 0.5
        if length <= slack:
            continue
        ex, ey = ex / length, ey / length
        kept, cut = 0, False
        for i in range(n):
            i_next = (i + 1) % n
            here = ex * (first[3 * i + 1] - y0) - ey * (first[3 * i] - x0)
            there = ex * (first[3 * i_next + 1] - y0) - ey * (first[3 * i_next] - x0)
            if here < -slack:
                cut = True
            elif kept < capacity:
                for m in range(3):
                    second[3 * kept + m] = first[3 * i + m]
                labels_2[2 * kept] = labels_1[2 * i]
                # Leaving over a corner on the edge: what follows it runs along that edge.
                labels_2[2 * kept + 1] = CLIPPER + j if here <= slack and there < -slack else labels_1[2 * i + 1]
                kept += 1
            if n == 2 and i == 1:
                continue  # a segment has one edge
            leaves, enters = here > slack and there < -slack, here < -slack and there > slack
            if (leaves or enters) and kept < capacity:
                t = here / (here - there)
                for m in range(3):
                    second[3 * kept + m] = first[3 * i + m] + t * (first[3 * i_next + m] - first[3 * i + m])
                labels_2[2 * kept] = _code(labels_1[2 * i + 1], j, nb, ids_b)
                labels_2[2 * kept + 1] = CLIPPER + j if leaves else labels_1[2 * i + 1]
                kept += 1
        if not cut:
            continue
        n = kept
        for i in range(n):
            for m in range(3):
                first[3 * i + m] = second[3 * i + m]
            labels_1[2 * i], labels_1[2 * i + 1] = labels_2[2 * i], labels_2[2 * i + 1]
        if n == 0:
            return 0
    return n

"""Columns of rows of joints, and the trees that these rows join.

A row of a drive or a limit acts on one tree: an island with it is as sparse as one of contacts alone. An equation of a
loop joins two trees. Once it is eliminated, rows of either have columns of both, so that the two become one tree, with
the trees between them.
"""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.contacts.kernels.elimination import tree_at
from lcp.kernels import kernel


@kernel
def place_joint_spans(
    nu: int, nl: int, nb: int, J: FloatArray, Y: FloatArray, starts: IntArray, spans: IntArray
) -> int:
    """Join the trees that rows of joints act on, and place all spans; return the number of trees left.

    Parameters
    ----------
    nu, nl, nb
        Numbers of rows [N; F], L and G.
    J, Y
        (m, nv) rows [N; F; L; G; B]; of [N; F] within their spans. Zeros are filled in if spans widen.
    starts
        (trees + 1,) first velocities of the trees, ascending; on output the first entries have the remaining trees.
    spans
        (m - nb, 4) spans of [N; F; L; B]: spans of [N; F] are given, the others are output.
    """
    nv, trees = J.shape[1], starts.shape[0] - 1
    left = trees
    for i in range(nu, J.shape[0]):
        first, last = nv, 0
        for p in range(nv):
            if J[i, p] != 0.0 or Y[i, p] != 0.0:
                first, last = min(first, p), p
        a = tree_at(starts[: left + 1], min(first, last))
        more = tree_at(starts[: left + 1], last) - a
        if more > 0:
            left -= more
            for k in range(a + 1, left + 1):
                starts[k] = starts[k + more]
        if not nu + nl <= i < nu + nl + nb:
            spans[i if i < nu + nl else i - nb, 0] = last
    for row in range(nu, spans.shape[0]):
        span, k = spans[row], tree_at(starts[: left + 1], spans[row, 0])
        span[0] = starts[k]
        span[1] = span[2] = span[3] = starts[k + 1]
    for row in range(nu if left < trees else 0):
        widen(starts[: left + 1], spans[row], J[row], Y[row])
    return left


@kernel(inner=True)
def widen(starts: IntArray, span: IntArray, J: FloatArray, Y: FloatArray) -> None:
    """Let the span of a row have whole trees, and fill the columns that are new to it with zeros."""
    a, b, c, d = span[0], span[1], span[2], span[3]
    lower = tree_at(starts, a)
    upper = tree_at(starts, c) if c < d else lower
    span[0], span[1], span[2], span[3] = starts[lower], starts[lower + 1], starts[upper], starts[upper + 1]
    if upper == lower:
        span[2] = span[3]
    for part in range(2):
        for p in range(span[2 * part], span[2 * part + 1]):
            if not (a <= p < b or c <= p < d):
                J[p] = Y[p] = 0.0

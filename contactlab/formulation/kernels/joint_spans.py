"""Columns of rows of joints: where each acts on one tree, an island with them is as sparse as one of contacts alone."""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.contacts.kernels.elimination import tree_at
from lcp.kernels import kernel


@kernel
def place_joint_spans(nl: int, nb: int, J: FloatArray, Y: FloatArray, starts: IntArray, spans: IntArray) -> bool:
    """Fill the spans of [L; B], given J (m, nv) and Y of the rows [L; G; B]; False where one acts on several trees.

    Rows G have none, but count: of several trees they would fill in what other rows do, once they are eliminated.
    """
    nv = J.shape[1]
    for i in range(J.shape[0]):
        first = nv
        last = 0
        for p in range(nv):
            if J[i, p] != 0.0 or Y[i, p] != 0.0:
                first = min(first, p)
                last = p
        k = tree_at(starts, last)
        if first < starts[k]:
            return False
        if not nl <= i < nl + nb:
            span = spans[i if i < nl else i - nb]
            span[0] = starts[k]
            span[1] = span[2] = span[3] = starts[k + 1]
    return True

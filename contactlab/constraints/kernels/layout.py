"""Layout of the rows of a constraint set for the kernels: two flat buffers, and the views into them.

Rows that share a point (contacts), a pair of frames (loops) or of points (distances) make up one block, wherever they
stand in the set: what belongs to the point is computed once per block. Rows of custom constraints are in no block: they
are evaluated in Python. Free of compiled code apart from the views.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.multibody.kernels.layout import BODIES, LINKS, NV
from contactlab.multibody.kernels.layout import HEAD as MODEL_HEAD
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import part_at, rows_at
from lcp.kernels import kernel

# Places in the head of the integer buffer.
ROWS: Final = 0  # rows of the set, custom ones included
BLOCKS: Final = 1
LISTED: Final = 2  # rows in blocks
GROUPS: Final = 3  # groups of listed rows for unit forces; contacts only
HEAD: Final = 4

# Integers of a block: kind, link of the successor (a contact's body), of the predecessor (-1 is the world), first
# place in `order`, how many.
KIND: Final = 0
SUCCESSOR: Final = 1
PREDECESSOR: Final = 2
FIRST: Final = 3
COUNT: Final = 4
BLOCK_INTS: Final = 5

# Integers of a group, at most four contact rows of one link that are listed one after the other: last degree of freedom
# that moves the link (-1), first place in `order`, how many.
TIP: Final = 0
START: Final = 1
SIZE: Final = 2
GROUP_INTS: Final = 3

# Kinds of block.
CONTACT: Final = 0
LOOP: Final = 1
# A loop whose predecessor's motion is taken at the successor's point.
SLIDING_LOOP: Final = 2
# Along the line between the origins of two frames.
DISTANCE: Final = 3

# Floats of a block: frame of the successor in its link (R by rows, p), then that of the predecessor.
BLOCK_FLOATS: Final = 24

# Floats of a row: axis (angular, linear; predecessor's frame, world axes for contacts; of a distance, whose axis is the
# line, the length at which its error is zero), wanted acceleration, alpha and beta of Baumgarte.
LENGTH: Final = 0
ACCELERATION: Final = 6
ALPHA: Final = 7
BETA: Final = 8
ROW_FLOATS: Final = 9


class Rows(NamedTuple):
    """Views into the buffers of n rows in nb blocks."""

    block: IntArray  # (5 nb,) integers of the blocks, one after the other
    order: IntArray  # (listed,) rows, block by block
    group: IntArray  # (3 groups,)
    frame: FloatArray  # (nb, 24)
    row: FloatArray  # (n, 9)


@kernel(inline=True)
def rows_view(I: IntArray, F: FloatArray) -> Rows:
    """Return the views, the buffers standing behind the model's in the same two arrays.

    Order and sizes are those of `contactlab.constraints.packing.pack_rows`.
    """
    nl = I[LINKS]
    bodies = I[BODIES]
    a = MODEL_HEAD + 6 * nl + 2 + 2 * I[NV] + bodies
    b = 3 + 28 * nl + I[NV] + 12 * bodies
    nb = I[a + BLOCKS]
    listed = I[a + LISTED]
    c = a + HEAD + BLOCK_INTS * nb
    return Rows(
        part_at(I, a + HEAD, BLOCK_INTS * nb),
        part_at(I, c, listed),
        part_at(I, c + listed, GROUP_INTS * I[a + GROUPS]),
        rows_at(F, b, nb, BLOCK_FLOATS),
        rows_at(F, b + BLOCK_FLOATS * nb, I[a + ROWS], ROW_FLOATS),
    )

"""Layout of the rows of a constraint set for the kernels: two flat buffers, the views into them, and their frames.

Rows that share a point (contacts), a pair of frames (loops) or of points (distances) form one block, wherever they are
in the set: terms of the point are computed once per block. Rows of custom constraints are in no block, because they are
evaluated in Python. The functions after the views compute the kinematics of the two frames of a loop or distance, for
`rows.constraint_rows`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.multibody.kernels.layout import BODIES, LINKS, NV, Frames, Tree
from contactlab.multibody.kernels.layout import HEAD as MODEL_HEAD
from contactlab.multibody.kernels.points import acceleration_at, frame_at
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    Pair,
    add,
    copy,
    cross,
    dot,
    fill,
    norm,
    rotate,
    rotate_inverse,
    subtract,
    times,
    vector,
    vector_at,
)
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel

# Places in the head of the integer buffer.
ROWS: Final = 0  # rows of the set, custom ones included
BLOCKS: Final = 1
LISTED: Final = 2  # rows in blocks
HEAD: Final = 3

# Integers of a block: kind, link of the successor (a contact's body), link of the predecessor (-1 is the world), first
# index in `order`, number of rows.
KIND: Final = 0
SUCCESSOR: Final = 1
PREDECESSOR: Final = 2
FIRST: Final = 3
COUNT: Final = 4
BLOCK_INTS: Final = 5

# Kinds of block.
CONTACT: Final = 0
LOOP: Final = 1
# A loop with the predecessor's motion taken at the successor's point.
SLIDING_LOOP: Final = 2
# Along the line between the origins of two frames.
DISTANCE: Final = 3

# Floats of a block: frame of the successor in its link (R by rows, p), then frame of the predecessor in its link.
BLOCK_FLOATS: Final = 24

# Floats of a row: axis (angular, linear), wanted acceleration, alpha and beta of Baumgarte. The axis is in the
# predecessor's frame, for contacts in world axes. A distance, whose axis is the line, has the length of zero error.
LENGTH: Final = 0
ACCELERATION: Final = 6
ALPHA: Final = 7
BETA: Final = 8
ROW_FLOATS: Final = 9


class Rows(NamedTuple):
    """Views into the buffers of n rows in nb blocks."""

    block: IntArray  # (5 nb,) integers of the blocks, one after the other
    order: IntArray  # (listed,) rows, block by block
    frame: FloatArray  # (nb, 24)
    row: FloatArray  # (n, 9)


@kernel(inline=True)
def rows_view(I: IntArray, F: FloatArray) -> Rows:
    """Return the views; the buffers of the set follow the model's buffers in the same two arrays.

    `contactlab.multibody.constraints.constraint_set.pack_rows` fills them in this order and with these sizes.
    """
    # The set's integers and floats begin after the model's.
    nl = I[LINKS]
    bodies = I[BODIES]
    a = MODEL_HEAD + 6 * nl + 2 + 2 * I[NV] + bodies
    b = 3 + 28 * nl + I[NV] + 12 * bodies
    nb = I[a + BLOCKS]
    listed = I[a + LISTED]
    c = a + HEAD + BLOCK_INTS * nb
    return Rows(
        view_1d(I, a + HEAD, BLOCK_INTS * nb),
        view_1d(I, c, listed),
        view_2d(F, b, nb, BLOCK_FLOATS),
        view_2d(F, b + BLOCK_FLOATS * nb, I[a + ROWS], ROW_FLOATS),
    )


@kernel(inline=True)
def block_of(r: Rows, block: int) -> tuple[int, int, int, int, int]:
    """Return kind, successor and predecessor of a block, its first index in `order`, and the index after its last."""
    at = BLOCK_INTS * block
    first = r.block[at + FIRST]
    return r.block[at + KIND], r.block[at + SUCCESSOR], r.block[at + PREDECESSOR], first, first + r.block[at + COUNT]


@kernel
def block_frames(
    r: Rows, block: int, f: Frames, Rs: FloatArray, xs: FloatArray, Rp: FloatArray, xp: FloatArray
) -> None:
    """Fill rotation (9,) and origin (3,) of both frames of a block; a contact's are at its point, in world axes."""
    kind, link, base, _, _ = block_of(r, block)
    X = r.frame[block]
    frame_at(f.R, f.p, link, X[0:9], X[9:12], Rs, xs)
    frame_at(f.R, f.p, base, X[12:21], X[21:24], Rp, xp)
    if kind == CONTACT:
        fill(0.0, Rp)
        Rp[0] = Rp[4] = Rp[8] = 1.0
        copy(xs, xp)


@kernel(inner=True)
def about_root(
    t: Tree, f: Frames, link: int, x: FloatArray, a: Pair, angular: float, linear: float
) -> tuple[int, Vec3, float]:
    """Return the last degree of freedom that moves a link, -1 for the world, and the moment of a wrench at x.

    The moment is about the root's origin of the link's tree, followed by the size of its terms; zero for the world.
    """
    if link < 0:
        return -1, (0.0, 0.0, 0.0), 0.0
    d = subtract(vector(x), vector(f.p[t.root[link]]))
    return t.iv[link + 1] - 1, add(a[0], cross(d, a[1])), angular + linear * norm(d)


@kernel
def fill_row(
    t: Tree,
    f: Frames,
    one: int,
    two: int,
    xs: FloatArray,
    xp: FloatArray,
    a: Pair,
    angular: float,
    linear: float,
    row: FloatArray,
) -> float:
    """Fill row (nv,) with a^T (J_s - J_p) for links ``one`` and ``two`` (-1 is the world) and their points xs and xp.

    Column j is the power of the wrench a, taken about the root's origin, on the motion S_j. For degrees of
    freedom that both links share, the two wrenches are subtracted first, so that terms cancel exactly.

    ``angular`` and ``linear`` are the lengths of the two halves of a. Return the scale of the row, the size of its
    terms: the largest (angular + |x| linear) |S_angular| + linear |S_linear| of its columns. It uses lengths of
    vectors, because an entry along an axis can be only rounding of a long vector.
    """
    x, y, z = a[1]
    j, (l, m, n), far = about_root(t, f, one, xs, a, angular, linear)
    k, (b, c, d), away = about_root(t, f, two, xp, a, angular, linear)
    scale = 0.0
    # Alternately towards the root, until the paths meet (at -1, beyond the root, if not before).
    while j != k:
        if j > k:
            s = f.S[j]
            row[j] = l * s[0] + m * s[1] + n * s[2] + x * s[3] + y * s[4] + z * s[5]
            scale = max(scale, far * norm(vector(s)) + linear * norm(vector_at(s, 3)))
            j = t.dof_parent[j]
        else:
            s = f.S[k]
            row[k] = -(b * s[0] + c * s[1] + d * s[2] + x * s[3] + y * s[4] + z * s[5])
            scale = max(scale, away * norm(vector(s)) + linear * norm(vector_at(s, 3)))
            k = t.dof_parent[k]
    # Degrees of freedom that both links share: the difference of the two wrenches, a pure moment.
    moment = cross(subtract(vector(xs), vector(xp)), a[1])
    while j >= 0:
        s = f.S[j]
        row[j] = dot(moment, vector(s))
        scale = max(scale, max(far, away) * norm(vector(s)))
        j = t.dof_parent[j]
    return scale


@kernel
def bias_at(t: Tree, f: Frames, A: FloatArray, weight: float, link: int, x: FloatArray, out: FloatArray) -> None:
    """Fill out (6,) with the accelerations of a link and of its point at x, for a world at rest."""
    acceleration_at(t, f.p, f.V, A, link, x, out)
    if link >= 0:
        for k in range(3):
            out[3 + k] += weight * t.gravity[k]


@kernel(inner=True)
def relative_pose(Rs: FloatArray, xs: FloatArray, Rp: FloatArray, xp: FloatArray) -> Pair:
    """Return sin(angle) axis of D = R_p^T R_s, and R_p^T (x_s - x_p)."""
    turn = (0.0, 0.0, 0.0)
    for k in range(0, 9, 3):
        turn = add(turn, cross(vector_at(Rs, k), vector_at(Rp, k)))
    return times(0.5, turn), rotate_inverse(Rp, subtract(vector(xs), vector(xp)))


@kernel(inner=True)
def line_between(xs: FloatArray, xp: FloatArray) -> tuple[float, Vec3]:
    """Return the distance of xs from xp, and the unit vector n from xp to xs, zero if they coincide."""
    d = subtract(vector(xs), vector(xp))
    length = norm(d)
    if length > 0.0:
        d = d[0] / length, d[1] / length, d[2] / length
    return length, d


@kernel(inner=True)
def line_turn(n: Vec3, u: Vec3, length: float) -> Vec3:
    """Return the angular velocity n x u / length of a line, 0 if it has no length."""
    return times(1.0 / length if length > 0.0 else 0.0, cross(n, u))


@kernel(inner=True)
def axis_of_row(row: FloatArray, kind: int, Rp: FloatArray, line: Vec3) -> Pair:
    """Return the axis of a row in world axes, its wrench: turned with the predecessor, or along the line."""
    if kind == DISTANCE:
        return (0.0, 0.0, 0.0), line
    return rotate(Rp, vector(row)), rotate(Rp, vector_at(row, 3))


@kernel(inner=True)
def turned(a: Pair, w: Vec3, more: float) -> Pair:
    """Return a x w for both parts of a spatial vector, the linear one times ``more``."""
    return cross(a[0], w), times(more, cross(a[1], w))

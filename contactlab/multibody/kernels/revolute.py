"""Pose and motion column of a link on a revolute joint about x, y or z; sines and cosines of all joint angles together.

Most links of most robots are of this kind, so their poses are computed in scalars. Links of a branch depend on each
other, so the latency from the parent's rotation to the link's rotation counts, and intermediate memory adds to it.

A library's two calls per joint for sine and cosine take longer than all other parts of a link's pose. Here one loop
without branches and calls processes as many joints together as fit into the processor's vectors.

An angle is reduced to |y| <= pi/4 by subtracting a multiple of pi/2. pi/2 is known to 119 bits, in three parts whose
products are exact (Cody and Waite, Software Manual for the Elementary Functions, 1980, chapter 8). t carries the part
that y cannot hold. Then sin y = y + y^3 S(y^2) and cos y = 1 - y^2/2 + y^4 C(y^2), with the polynomials of degree 5
whose largest error is least (2^-58 of sin y, 2^-64). Results are within one unit in the last place, and the same bits
on every machine. Angles beyond `MAX_ANGLE`, and infinite ones, go to the library.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from contactlab.multibody.kernels.codes import REVOLUTE, REVOLUTE_X, REVOLUTE_Y, SCREW, VECTOR_WIDTH
from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray, Vec3
from contactlab.spatial.kernels.vectors import add, cross, put, put_spatial, rotate, subtract, times, transform, vector
from lcp.compiler.views import view_1d
from lcp.kernels import kernel

#: Largest angle of the loop. The number of quarter turns must fit in the 20 bits that the parts of pi/2 leave free.
MAX_ANGLE: Final = 1e5

PER_QUARTER: Final = 2.0 / np.pi

# pi/2: 33 bits, 33 bits, and the remaining ones.
QUARTER_1: Final = float.fromhex("0x1.921fb544p+0")

QUARTER_2: Final = float.fromhex("0x1.0b4611a6p-34")

QUARTER_3: Final = float.fromhex("0x1.3198a2e037073p-69")

S0: Final = -0.16666666666666632

S1: Final = 0.008333333333322488

S2: Final = -0.00019841269829855645

S3: Final = 2.755731370607659e-06

S4: Final = -2.5050760074953807e-08

S5: Final = 1.5896898535079153e-10

C0: Final = 0.0416666666666666

C1: Final = -0.0013888888888874472

C2: Final = 2.4801587289669294e-05

C3: Final = -2.755731440019599e-07

C4: Final = 2.0875729147986038e-09

C5: Final = -1.1359926502640998e-11


@kernel
def sines_cosines(x: FloatArray, c: FloatArray) -> None:
    """Fill c, of the length of x, with the cosines of x, and overwrite x with its sines."""
    # large angles by the library
    large = 0
    for k in range(x.shape[0]):
        large += 0 if abs(x[k]) <= MAX_ANGLE else 1
    if large:
        for k in range(x.shape[0]):
            angle = x[k]
            c[k] = np.cos(angle)
            x[k] = np.sin(angle)
        return
    for k in range(x.shape[0]):
        # angle less a multiple of pi/2, in two parts
        angle = x[k]
        quarters = np.rint(angle * PER_QUARTER)
        first = angle - quarters * QUARTER_1
        part = quarters * QUARTER_2
        r = first - part
        part = quarters * QUARTER_3 - ((first - r) - part)
        y = r - part
        t = (r - y) - part
        # polynomials
        z = y * y
        half = 0.5 * z
        sine = y + (y * (z * (S0 + z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * S5)))))) + t * (1.0 - half))
        most = 1.0 - half
        cosine = most + (
            ((1.0 - most) - half) + (z * (z * (C0 + z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * C5)))))) - y * t)
        )
        # quarter turns exchange the two and change signs; in floating point, since integers of 64 bits are slow in
        # vectors
        turn = quarters - 4.0 * np.floor(0.25 * quarters)
        odd = (turn == 1.0) | (turn == 3.0)
        a = cosine if odd else sine
        b = sine if odd else cosine
        x[k] = -a if turn >= 2.0 else a
        c[k] = -b if (turn == 1.0) | (turn == 2.0) else b


@kernel(inline=True)
def joint_sines_cosines(t: Tree, q: FloatArray, out: FloatArray) -> int:
    """Fill ``out`` with sines and cosines of the joints that turn about an axis; return the place of the first cosine.

    In the order of the links. ``out`` has 2 nl places, rounded up so that whole vectors are filled.
    """
    # angles
    count = 0
    for i in range(t.parent.shape[0]):
        kind = t.kind[i]
        if kind <= REVOLUTE or kind == SCREW:
            out[count] = q[t.iq[i]]
            count += 1
    # zeros up to a whole vector
    full = (count + VECTOR_WIDTH - 1) // VECTOR_WIDTH * VECTOR_WIDTH
    for k in range(count, full):
        out[k] = 0.0
    sines_cosines(view_1d(out, 0, full), view_1d(out, full, full))
    return full


@kernel(inner=True)
def turned(c: float, s: float, a: Vec3, b: Vec3) -> tuple[Vec3, Vec3]:
    """Return two axes after a turn from the first to the second, by its cosine and sine."""
    return add(times(c, a), times(s, b)), subtract(times(c, b), times(s, a))


@kernel(inline=True)
def revolute_pose(
    kind: int,
    c: float,
    s: float,
    Ru: FloatArray,
    pu: FloatArray,
    X: FloatArray,
    x: FloatArray,
    about: FloatArray,
    R: FloatArray,
    p: FloatArray,
    column: FloatArray,
) -> None:
    """Fill the link's R (9,), p (3,) and motion column (6,) about the point ``about``, which may be p itself.

    ``Ru`` and ``pu`` are the parent's pose, ``X`` and ``x`` the joint's pose in the parent; c and s are cosine and sine
    of the joint's angle.
    """
    # origin, and the joint's axes in the world
    origin = transform(Ru, vector(pu), vector(x))
    put(origin, p)
    e0, e1, e2 = (rotate(Ru, (X[0], X[3], X[6])), rotate(Ru, (X[1], X[4], X[7])), rotate(Ru, (X[2], X[5], X[8])))
    # rotation about one of them
    axis = e0
    if kind == REVOLUTE_X:
        e1, e2 = turned(c, s, e1, e2)
    elif kind == REVOLUTE_Y:
        axis = e1
        e2, e0 = turned(c, s, e2, e0)
    else:
        axis = e2
        e0, e1 = turned(c, s, e0, e1)
    R[0], R[3], R[6] = e0
    R[1], R[4], R[7] = e1
    R[2], R[5], R[8] = e2
    # motion column
    put_spatial(axis, cross(subtract(origin, vector(about)), axis), column)

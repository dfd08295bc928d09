"""Sines and cosines of all joint angles of a model at once.

A library's two calls per joint, one joint after the other, take longer than all the rest of a link's pose. Here one
loop without branches and calls takes as many joints together as the processor's vectors hold.

An angle is brought to |y| <= pi/4 by taking away a multiple of pi/2, known to 119 bits in three parts whose products
are exact (Cody and Waite, Software Manual for the Elementary Functions, 1980, chapter 8); what y cannot hold is carried
along in t. There sin y = y + y^3 S(y^2) and cos y = 1 - y^2/2 + y^4 C(y^2), with the polynomials of degree 5 whose
largest error is least (2^-58 of sin y, 2^-64): results are within one unit in the last place, and the same bits on
every machine. Angles beyond `LARGEST`, and those that are not finite, go to the library.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from contactlab.multibody.kernels.codes import REVOLUTE, SCREW
from contactlab.multibody.kernels.layout import Tree
from contactlab.multibody.kernels.sizes import TOGETHER
from contactlab.multibody.kernels.views import part_at
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

#: Largest angle of the loop. The number of quarter turns must fit in the 20 bits that the parts of pi/2 leave free.
LARGEST: Final = 1e5

PER_QUARTER: Final = 2.0 / np.pi
# pi/2: 33 bits, 33 bits, the rest.
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
    """Fill c, of the length of x, with the cosines, and x itself with the sines of what it holds."""
    large = 0
    for k in range(x.shape[0]):
        large += 0 if abs(x[k]) <= LARGEST else 1
    if large:
        for k in range(x.shape[0]):
            angle = x[k]
            c[k] = np.cos(angle)
            x[k] = np.sin(angle)
        return
    for k in range(x.shape[0]):
        angle = x[k]
        quarters = np.rint(angle * PER_QUARTER)
        first = angle - quarters * QUARTER_1
        part = quarters * QUARTER_2
        r = first - part
        part = quarters * QUARTER_3 - ((first - r) - part)
        y = r - part
        t = (r - y) - part
        z = y * y
        half = 0.5 * z
        sine = y + (y * (z * (S0 + z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * S5)))))) + t * (1.0 - half))
        most = 1.0 - half
        cosine = most + (
            ((1.0 - most) - half) + (z * (z * (C0 + z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * C5)))))) - y * t)
        )
        # Quarter turns exchange the two and change signs; in floating point, integers of 64 bits being slow in vectors.
        turn = quarters - 4.0 * np.floor(0.25 * quarters)
        odd = (turn == 1.0) | (turn == 3.0)
        a = cosine if odd else sine
        b = sine if odd else cosine
        x[k] = -a if turn >= 2.0 else a
        c[k] = -b if (turn == 1.0) | (turn == 2.0) else b


@kernel(inline=True)
def turns(t: Tree, q: FloatArray, out: FloatArray) -> int:
    """Fill ``out`` with the sines and, from the returned place on, the cosines of the joints that turn about an axis.

    In the order of the links, ``out`` having 2 nl places rounded up so that whole vectors are filled.
    """
    count = 0
    for i in range(t.parent.shape[0]):
        kind = t.kind[i]
        if kind <= REVOLUTE or kind == SCREW:
            out[count] = q[t.iq[i]]
            count += 1
    full = (count + TOGETHER - 1) // TOGETHER * TOGETHER
    for k in range(count, full):
        out[k] = 0.0
    sines_cosines(part_at(out, 0, full), part_at(out, full, full))
    return full

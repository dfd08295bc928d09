"""Rows and columns of the mass matrix that belong to a free body carrying a tree, the base of most robots.

About the origin of that body its shifts bear no moment and its turns no force, so half of every product is zero: of the
path from a joint to the root, the six entries that every path of the tree shares.
"""

from __future__ import annotations

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inline=True)
def project_on_free_root(
    a: float, b: float, c: float, d: float, e: float, g: float, S: FloatArray, at: int, j: int, M: FloatArray
) -> None:
    """Entries of M between degree of freedom j, moved by the force (a, b, c, d, e, g), and the root's, ``at`` on."""
    row = M[j]
    for k in range(3):
        s = S[at + k]
        shift = s[3] * d + s[4] * e + s[5] * g
        row[at + k] = shift
        M[at + k, j] = shift
        s = S[at + 3 + k]
        turn = s[0] * a + s[1] * b + s[2] * c
        row[at + 3 + k] = turn
        M[at + 3 + k, j] = turn


@kernel
def free_root_block(B: FloatArray, S: FloatArray, at: int, M: FloatArray) -> float:
    """Entries of M among the root's own, from its composite inertia B (10,); a sum that is finite where they are."""
    m, hx, hy, hz = B[0], B[1], B[2], B[3]
    total = 0.0
    for k in range(3):
        shifted = M[at + k]
        turned = M[at + 3 + k]
        s = S[at + k]
        x, y, z = s[3], s[4], s[5]
        a = hy * z - hz * y
        b = hz * x - hx * z
        c = hx * y - hy * x
        for l in range(3):
            other = S[at + 3 + l]
            value = a * other[0] + b * other[1] + c * other[2]
            shifted[at + 3 + l] = value
            M[at + 3 + l, at + k] = value
        for l in range(k + 1):
            other = S[at + l]
            value = m * (x * other[3] + y * other[4] + z * other[5])
            shifted[at + l] = value
            M[at + l, at + k] = value
        s = S[at + 3 + k]
        x, y, z = s[0], s[1], s[2]
        a = B[4] * x + B[7] * y + B[8] * z
        b = B[7] * x + B[5] * y + B[9] * z
        c = B[8] * x + B[9] * y + B[6] * z
        for l in range(k + 1):
            other = S[at + 3 + l]
            value = a * other[0] + b * other[1] + c * other[2]
            turned[at + 3 + l] = value
            M[at + 3 + l, at + 3 + k] = value
        # What is not finite in h shows on no diagonal.
        total += hx + hy + hz + shifted[at + k] + turned[at + 3 + k]
    return total

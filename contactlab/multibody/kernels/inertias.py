"""Rigid-body inertias in world axes about the origin of the root link: ten numbers that add up along the tree."""

from __future__ import annotations

from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inline=True)
def world_inertias(t: Tree, R: FloatArray, p: FloatArray, B: FloatArray) -> None:
    """Fill B (nl, 10): m, m c (3), and J about the origin (xx, yy, zz, xy, xz, yz), c being the centre of mass.

    Featherstone 2008, equation 2.63: J = R J_c R^T + m (c.c 1 - c c^T).
    """
    for i in range(t.parent.shape[0]):
        Ri = R[i]
        r0, r1, r2, r3, r4, r5, r6, r7, r8 = Ri[0], Ri[1], Ri[2], Ri[3], Ri[4], Ri[5], Ri[6], Ri[7], Ri[8]
        com = t.com[i]
        pi = p[i]
        po = p[t.root[i]]
        x, y, z = com[0], com[1], com[2]
        cx = r0 * x + r1 * y + r2 * z + (pi[0] - po[0])
        cy = r3 * x + r4 * y + r5 * z + (pi[1] - po[1])
        cz = r6 * x + r7 * y + r8 * z + (pi[2] - po[2])
        J = t.inertia[i]
        xx, yy, zz, xy, xz, yz = J[0], J[1], J[2], J[3], J[4], J[5]
        # R J, row by row.
        a0 = r0 * xx + r1 * xy + r2 * xz
        a1 = r0 * xy + r1 * yy + r2 * yz
        a2 = r0 * xz + r1 * yz + r2 * zz
        b0 = r3 * xx + r4 * xy + r5 * xz
        b1 = r3 * xy + r4 * yy + r5 * yz
        b2 = r3 * xz + r4 * yz + r5 * zz
        c0 = r6 * xx + r7 * xy + r8 * xz
        c1 = r6 * xy + r7 * yy + r8 * yz
        c2 = r6 * xz + r7 * yz + r8 * zz
        m = t.mass[i]
        hx = m * cx
        hy = m * cy
        hz = m * cz
        Bi = B[i]
        Bi[0] = m
        Bi[1] = hx
        Bi[2] = hy
        Bi[3] = hz
        Bi[4] = a0 * r0 + a1 * r1 + a2 * r2 + (hy * cy + hz * cz)
        Bi[5] = b0 * r3 + b1 * r4 + b2 * r5 + (hx * cx + hz * cz)
        Bi[6] = c0 * r6 + c1 * r7 + c2 * r8 + (hx * cx + hy * cy)
        Bi[7] = a0 * r3 + a1 * r4 + a2 * r5 - hx * cy
        Bi[8] = a0 * r6 + a1 * r7 + a2 * r8 - hx * cz
        Bi[9] = b0 * r6 + b1 * r7 + b2 * r8 - hy * cz


@kernel(inline=True)
def inertia_times(B: FloatArray, s: FloatArray) -> tuple[float, float, float, float, float, float]:
    """B s for one row of ten numbers and a motion vector: (J w + h x v, m v - h x w)."""
    m, hx, hy, hz = B[0], B[1], B[2], B[3]
    a, b, c, d, e, f = s[0], s[1], s[2], s[3], s[4], s[5]
    return (
        B[4] * a + B[7] * b + B[8] * c + (hy * f - hz * e),
        B[7] * a + B[5] * b + B[9] * c + (hz * d - hx * f),
        B[8] * a + B[9] * b + B[6] * c + (hx * e - hy * d),
        m * d - (hy * c - hz * b),
        m * e - (hz * a - hx * c),
        m * f - (hx * b - hy * a),
    )

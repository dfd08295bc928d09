"""The force each link needs to move as it does, and the external ones, as spatial forces about the root's origin."""

from __future__ import annotations

from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inline=True)
def body_forces(t: Tree, R: FloatArray, p: FloatArray, V: FloatArray, A: FloatArray, F: FloatArray) -> None:
    """Fill F (nl, 6) by Newton's and Euler's laws about each centre of mass c.

    f = m (a + dw x c + w x (v + w x c)), n = R (J dw_b + w_b x J w_b) + c x f, with w_b = R^T w: the rotational part in
    link axes, where J is constant, saves turning J itself.
    """
    for i in range(t.parent.shape[0]):
        Fi = F[i]
        m = t.mass[i]
        if m == 0.0:
            for k in range(6):
                Fi[k] = 0.0
            continue
        Ri = R[i]
        r0 = Ri[0]
        r1 = Ri[1]
        r2 = Ri[2]
        r3 = Ri[3]
        r4 = Ri[4]
        r5 = Ri[5]
        r6 = Ri[6]
        r7 = Ri[7]
        r8 = Ri[8]
        com = t.com[i]
        pi = p[i]
        po = p[t.root[i]]
        x = com[0]
        y = com[1]
        z = com[2]
        cx = r0 * x + r1 * y + r2 * z + (pi[0] - po[0])
        cy = r3 * x + r4 * y + r5 * z + (pi[1] - po[1])
        cz = r6 * x + r7 * y + r8 * z + (pi[2] - po[2])
        Vi = V[i]
        wx = Vi[0]
        wy = Vi[1]
        wz = Vi[2]
        Ai = A[i]
        ax = Ai[0]
        ay = Ai[1]
        az = Ai[2]
        # Velocity of the centre of mass, then its acceleration.
        ux = Vi[3] + (wy * cz - wz * cy)
        uy = Vi[4] + (wz * cx - wx * cz)
        uz = Vi[5] + (wx * cy - wy * cx)
        fx = m * (Ai[3] + (ay * cz - az * cy) + (wy * uz - wz * uy))
        fy = m * (Ai[4] + (az * cx - ax * cz) + (wz * ux - wx * uz))
        fz = m * (Ai[5] + (ax * cy - ay * cx) + (wx * uy - wy * ux))
        # Link axes.
        bx = r0 * wx + r3 * wy + r6 * wz
        by = r1 * wx + r4 * wy + r7 * wz
        bz = r2 * wx + r5 * wy + r8 * wz
        dx = r0 * ax + r3 * ay + r6 * az
        dy = r1 * ax + r4 * ay + r7 * az
        dz = r2 * ax + r5 * ay + r8 * az
        J = t.inertia[i]
        xx = J[0]
        yy = J[1]
        zz = J[2]
        xy = J[3]
        xz = J[4]
        yz = J[5]
        lx = xx * bx + xy * by + xz * bz
        ly = xy * bx + yy * by + yz * bz
        lz = xz * bx + yz * by + zz * bz
        nx = xx * dx + xy * dy + xz * dz + (by * lz - bz * ly)
        ny = xy * dx + yy * dy + yz * dz + (bz * lx - bx * lz)
        nz = xz * dx + yz * dy + zz * dz + (bx * ly - by * lx)
        Fi[0] = r0 * nx + r1 * ny + r2 * nz + (cy * fz - cz * fy)
        Fi[1] = r3 * nx + r4 * ny + r5 * nz + (cz * fx - cx * fz)
        Fi[2] = r6 * nx + r7 * ny + r8 * nz + (cx * fy - cy * fx)
        Fi[3] = fx
        Fi[4] = fy
        Fi[5] = fz


@kernel
def subtract_external(t: Tree, p: FloatArray, f_ext: FloatArray, F: FloatArray) -> None:
    """F_i -= what acts from outside on the bodies fixed to link i.

    ``f_ext`` (nb, 6): moment about the world origin and force, world axes; what acts on bodies fixed to the world is
    borne by the world.
    """
    for b in range(f_ext.shape[0]):
        i = t.body_link[b]
        if i >= 0:
            o = p[t.root[i]]
            f = f_ext[b]
            Fi = F[i]
            Fi[0] -= f[0] - (o[1] * f[5] - o[2] * f[4])
            Fi[1] -= f[1] - (o[2] * f[3] - o[0] * f[5])
            Fi[2] -= f[2] - (o[0] * f[4] - o[1] * f[3])
            Fi[3] -= f[3]
            Fi[4] -= f[4]
            Fi[5] -= f[5]

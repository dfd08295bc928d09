"""The recursive Newton-Euler algorithm: forces from accelerations (Featherstone 2008, section 5.3), in world axes.

The outward pass computes the motion of the links and the forces that this motion needs. The inward pass sums the forces
that the joints carry.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE, PER_DOF, PER_LINK, SCRATCH, VELOCITIES
from contactlab.multibody.kernels.kinematics import fill_frames, linear_velocity
from contactlab.multibody.kernels.layout import HEAD, LINKS, NV, Frames, Tree, model_and_workspace_views, tree
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel(inner=True)
def newton_euler(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
) -> int:
    """Fill a workspace: after the head accelerations (nl, 6) and forces (nl, 6), weight included, f_ext subtracted.

    ``a`` of length 0 stands for no accelerations of the joints, ``f_ext`` of length 0 for no external forces. Return
    `GOOD`, or the place in q of an invalid quaternion.
    """
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    link_forces(I, F, a, f_ext, W)
    return GOOD


@kernel(inner=True)
def link_forces(I: IntArray, F: FloatArray, a: FloatArray, f_ext: FloatArray, W: FloatArray) -> None:
    """Fill accelerations and forces of the links, for a workspace with a filled head."""
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    A = view_2d(W, f.start, nl, 6)
    B = view_2d(W, f.start + 6 * nl, nl, 6)
    accelerations(t, f.S, f.C, a, 1.0, A)
    body_forces(t, f, A, B)
    if f_ext.shape[0] > 0:
        subtract_external(t, f.p, f_ext, B)


@kernel(inner=True)
def accelerations(t: Tree, S: FloatArray, C: FloatArray, a: FloatArray, g: float, A: FloatArray) -> None:
    """Fill A (nl, 6) with the spatial accelerations A_i = A_parent + C_i + S_i a.

    The world accelerates by -g times gravity, so g = 1 adds the weights. ``a`` of length 0 stands for zeros.
    """
    # acceleration of the world
    moving = a.shape[0] > 0
    x = -g * t.gravity[0]
    y = -g * t.gravity[1]
    z = -g * t.gravity[2]
    # from the roots to the leaves
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        Ai = A[i]
        Ci = C[i]
        if up >= 0:
            Au = A[up]
            for k in range(6):
                Ai[k] = Au[k] + Ci[k]
        else:
            Ai[0] = Ci[0]
            Ai[1] = Ci[1]
            Ai[2] = Ci[2]
            Ai[3] = Ci[3] + x
            Ai[4] = Ci[4] + y
            Ai[5] = Ci[5] + z
        # accelerations of the degrees of freedom
        if moving:
            for j in range(t.iv[i], t.iv[i + 1]):
                Sj = S[j]
                rate = a[j]
                for k in range(6):
                    Ai[k] += Sj[k] * rate


@kernel(inline=True)
def body_forces(t: Tree, f: Frames, A: FloatArray, F: FloatArray) -> None:
    """Fill F (nl, 6), spatial forces about the root's origin, by Newton's and Euler's laws about each centre of mass c.

    f = m (a + dw x c + w x (v + w x c)), n = R (J dw_b + w_b x J w_b) + c x f, with w_b = R^T w. The rotational part is
    in link axes, where J is constant, so J need not be turned.
    """
    for i in range(t.parent.shape[0]):
        # no force without mass
        Fi = F[i]
        m = t.mass[i]
        J = t.inertia[i]
        if m == 0.0 and J[0] + J[1] + J[2] == 0.0:
            for k in range(6):
                Fi[k] = 0.0
            continue
        # centre of mass
        Ri = f.R[i]
        r0, r1, r2, r3, r4, r5, r6, r7, r8 = Ri[0], Ri[1], Ri[2], Ri[3], Ri[4], Ri[5], Ri[6], Ri[7], Ri[8]
        com = t.com[i]
        pi = f.p[i]
        po = f.p[t.root[i]]
        x, y, z = com[0], com[1], com[2]
        cx = r0 * x + r1 * y + r2 * z + (pi[0] - po[0])
        cy = r3 * x + r4 * y + r5 * z + (pi[1] - po[1])
        cz = r6 * x + r7 * y + r8 * z + (pi[2] - po[2])
        # its velocity, then its acceleration times the mass
        Vi = f.V[i]
        wx, wy, wz = Vi[0], Vi[1], Vi[2]
        Ai = A[i]
        ax, ay, az = Ai[0], Ai[1], Ai[2]
        ux, uy, uz = linear_velocity(Vi, cx, cy, cz)
        fx = m * (Ai[3] + (ay * cz - az * cy) + (wy * uz - wz * uy))
        fy = m * (Ai[4] + (az * cx - ax * cz) + (wz * ux - wx * uz))
        fz = m * (Ai[5] + (ax * cy - ay * cx) + (wx * uy - wy * ux))
        # angular velocity and acceleration in link axes
        bx = r0 * wx + r3 * wy + r6 * wz
        by = r1 * wx + r4 * wy + r7 * wz
        bz = r2 * wx + r5 * wy + r8 * wz
        dx = r0 * ax + r3 * ay + r6 * az
        dy = r1 * ax + r4 * ay + r7 * az
        dz = r2 * ax + r5 * ay + r8 * az
        # torque about the centre of mass
        xx, yy, zz, xy, xz, yz = J[0], J[1], J[2], J[3], J[4], J[5]
        lx = xx * bx + xy * by + xz * bz
        ly = xy * bx + yy * by + yz * bz
        lz = xz * bx + yz * by + zz * bz
        nx = xx * dx + xy * dy + xz * dz + (by * lz - bz * ly)
        ny = xy * dx + yy * dy + yz * dz + (bz * lx - bx * lz)
        nz = xz * dx + yz * dy + zz * dz + (bx * ly - by * lx)
        # moment about the origin, and force
        Fi[0] = r0 * nx + r1 * ny + r2 * nz + (cy * fz - cz * fy)
        Fi[1] = r3 * nx + r4 * ny + r5 * nz + (cz * fx - cx * fz)
        Fi[2] = r6 * nx + r7 * ny + r8 * nz + (cx * fy - cy * fx)
        Fi[3] = fx
        Fi[4] = fy
        Fi[5] = fz


@kernel
def subtract_external(t: Tree, p: FloatArray, f_ext: FloatArray, F: FloatArray) -> None:
    """Subtract from F_i the external forces on the bodies fixed to link i.

    ``f_ext`` (nb, 6): moment about the world origin and force, world axes. The world carries the forces on bodies
    fixed to it.
    """
    for b in range(f_ext.shape[0]):
        i = t.body_link[b]
        if i >= 0:
            # moment about the root's origin, and force
            o = p[t.root[i]]
            f = f_ext[b]
            Fi = F[i]
            Fi[0] -= f[0] - (o[1] * f[5] - o[2] * f[4])
            Fi[1] -= f[1] - (o[2] * f[3] - o[0] * f[5])
            Fi[2] -= f[2] - (o[0] * f[4] - o[1] * f[3])
            Fi[3] -= f[3]
            Fi[4] -= f[4]
            Fi[5] -= f[5]


@kernel
def rnea(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    tau: FloatArray,
) -> int:
    """Fill tau (nv,) with M a + h - J^T f_ext; return `GOOD`, or the code of the failure.

    ``a`` of length 0 stands for no accelerations, ``f_ext`` of length 0 for no external forces.
    """
    # forces of the links, then of the joints
    code = newton_euler(I, F, q, v, a, f_ext, custom, W, ready)
    if code != GOOD:
        return code
    code = joint_forces(I, W, tau)
    # rotors
    if a.shape[0] > 0:
        armature = tree(I, F).armature
        for j in range(tau.shape[0]):
            tau[j] += armature[j] * a[j]
    return code


@kernel(inner=True)
def joint_forces(I: IntArray, W: FloatArray, tau: FloatArray) -> int:
    """Fill tau (nv,): each joint carries the forces of its link and of all links beyond; W then holds these sums."""
    # views
    nl = I[LINKS]
    nv = I[NV]
    parent = view_1d(I, HEAD, nl)
    iv = view_1d(I, HEAD + 4 * nl + 1, nl + 1)
    S = view_2d(W, SCRATCH + 2 * nl, nv, 6)
    B = view_2d(W, SCRATCH + (PER_LINK + 6) * nl + PER_DOF * nv, nl, 6)
    # from the leaves to the roots
    rest = 0.0
    for i in range(nl - 1, -1, -1):
        Bi = B[i]
        for j in range(iv[i], iv[i + 1]):
            s = S[j]
            tau[j] = s[0] * Bi[0] + s[1] * Bi[1] + s[2] * Bi[2] + s[3] * Bi[3] + s[4] * Bi[4] + s[5] * Bi[5]
            rest += 0.0 * tau[j]
        up = parent[i]
        if up >= 0:
            Bu = B[up]
            for k in range(6):
                Bu[k] += Bi[k]
    # every infinite argument reaches the force of some joint
    return GOOD if rest == 0.0 else NOT_FINITE

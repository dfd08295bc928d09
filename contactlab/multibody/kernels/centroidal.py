"""Sums over all bodies: mass, centre of mass, momenta, their rates, kinetic energy; and the centroidal momentum matrix.

Orin, Goswami, Lee, "Centroidal dynamics of a humanoid robot", Autonomous Robots 35 (2013). Moments are taken about the
centre of mass, body by body, so that no digits are lost far from the world origin.

The derivatives of momentum and of its rate use `column_derivatives` and `derivatives`. A displacement along column s
changes the momentum beyond by s x* H + I P and the force by s x* F + I Q + 2 B P. A velocity along s changes them by
I s, and by I (P + dS/dt) + 2 B s. Both moments refer to the centre of mass, which moves with the bodies.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE, POSES, VELOCITIES
from contactlab.multibody.kernels.column_derivatives import column_rates
from contactlab.multibody.kernels.crba import inertia_times, world_inertias
from contactlab.multibody.kernels.derivatives import cross_force, inertial, link_forces, momenta, twice_gain
from contactlab.multibody.kernels.kinematics import fill_frames, linear_velocity, poses
from contactlab.multibody.kernels.layout import Tree, model_and_workspace_views
from contactlab.multibody.kernels.newton_euler import accelerations, body_forces
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel(inline=True)
def center_of_link(t: Tree, R: FloatArray, p: FloatArray, i: int) -> tuple[float, float, float]:
    """Return the world coordinates [m] of the centre of mass of link i."""
    Ri = R[i]
    x, y, z = t.com[i, 0], t.com[i, 1], t.com[i, 2]
    return (
        p[i, 0] + (Ri[0] * x + Ri[1] * y + Ri[2] * z),
        p[i, 1] + (Ri[3] * x + Ri[4] * y + Ri[5] * z),
        p[i, 2] + (Ri[6] * x + Ri[7] * y + Ri[8] * z),
    )


@kernel(inner=True)
def sum_masses(t: Tree, R: FloatArray, p: FloatArray, fixed: FloatArray, out: FloatArray) -> None:
    """Fill out[:4] with mass and centre of mass, which is zero without mass."""
    # mass and first moment
    m, x, y, z = fixed[0], fixed[1], fixed[2], fixed[3]
    for i in range(t.parent.shape[0]):
        own = t.mass[i]
        if own != 0.0:
            cx, cy, cz = center_of_link(t, R, p, i)
            m += own
            x += own * cx
            y += own * cy
            z += own * cz
    # centre of mass
    out[0] = m
    out[1] = x / m if m > 0.0 else 0.0
    out[2] = y / m if m > 0.0 else 0.0
    out[3] = z / m if m > 0.0 else 0.0


@kernel(inner=True)
def sum_momenta(t: Tree, R: FloatArray, p: FloatArray, V: FloatArray, out: FloatArray) -> None:
    """Fill out[4:11]: linear momentum, angular momentum about the centre of mass out[1:4], kinetic energy."""
    px = py = pz = 0.0
    lx = ly = lz = 0.0
    energy = 0.0
    # links with mass or inertia
    for i in range(t.parent.shape[0]):
        m = t.mass[i]
        J = t.inertia[i]
        if m == 0.0 and J[0] + J[1] + J[2] == 0.0:
            continue
        cx, cy, cz = center_of_link(t, R, p, i)
        # velocity of the centre of mass
        root = t.root[i]
        Ri = R[i]
        wx, wy, wz = V[i, 0], V[i, 1], V[i, 2]
        ux, uy, uz = linear_velocity(V[i], cx - p[root, 0], cy - p[root, 1], cz - p[root, 2])
        # angular momentum in link axes, where the inertia is constant
        bx = Ri[0] * wx + Ri[3] * wy + Ri[6] * wz
        by = Ri[1] * wx + Ri[4] * wy + Ri[7] * wz
        bz = Ri[2] * wx + Ri[5] * wy + Ri[8] * wz
        jx = J[0] * bx + J[3] * by + J[4] * bz
        jy = J[3] * bx + J[1] * by + J[5] * bz
        jz = J[4] * bx + J[5] * by + J[2] * bz
        # sums, with moments about the common centre of mass
        rx = cx - out[1]
        ry = cy - out[2]
        rz = cz - out[3]
        px += m * ux
        py += m * uy
        pz += m * uz
        lx += Ri[0] * jx + Ri[1] * jy + Ri[2] * jz + m * (ry * uz - rz * uy)
        ly += Ri[3] * jx + Ri[4] * jy + Ri[5] * jz + m * (rz * ux - rx * uz)
        lz += Ri[6] * jx + Ri[7] * jy + Ri[8] * jz + m * (rx * uy - ry * ux)
        energy += 0.5 * (m * (ux * ux + uy * uy + uz * uz) + (bx * jx + by * jy + bz * jz))
    # results
    out[4] = px
    out[5] = py
    out[6] = pz
    out[7] = lx
    out[8] = ly
    out[9] = lz
    out[10] = energy


@kernel(inline=True)
def rotor_energy(t: Tree, v: FloatArray) -> float:
    """Return the kinetic energy [J] of the rotors of joints, which do not contribute to momenta of bodies."""
    energy = 0.0
    for j in range(v.shape[0]):
        energy += 0.5 * t.armature[j] * v[j] * v[j]
    return energy


@kernel(inline=True)
def energies(
    t: Tree,
    R: FloatArray,
    p: FloatArray,
    V: FloatArray,
    v: FloatArray,
    fixed: FloatArray,
    sums: FloatArray,
    out: FloatArray,
) -> None:
    """Fill out (2,) with kinetic and potential energy [J], as `kinetic_energy` and `potential_energy` give them.

    ``v`` (nv,) is the velocity that V was computed from. ``fixed`` (4,) is the mass of the bodies fixed to the world
    and its first moment. ``sums`` (11,) is scratch.
    """
    sum_masses(t, R, p, fixed, sums)
    sum_momenta(t, R, p, V, sums)
    g = t.gravity
    out[0] = sums[10] + rotor_energy(t, v)
    out[1] = -sums[0] * (sums[1] * g[0] + sums[2] * g[1] + sums[3] * g[2])


@kernel(inline=True)
def sum_rates(t: Tree, p: FloatArray, B: FloatArray, out: FloatArray) -> None:
    """Fill out[11:17] with the rates of linear and angular momentum, about the centre of mass out[1:4].

    B (nl, 6) are the forces that the links need for their motion, with moments about the origin of the root.
    """
    # zero sums
    for k in range(11, 17):
        out[k] = 0.0
    for i in range(t.parent.shape[0]):
        # force of the link, with its moment about the centre of mass
        root = t.root[i]
        Bi = B[i]
        x = p[root, 0] - out[1]
        y = p[root, 1] - out[2]
        z = p[root, 2] - out[3]
        out[11] += Bi[3]
        out[12] += Bi[4]
        out[13] += Bi[5]
        out[14] += Bi[0] + (y * Bi[5] - z * Bi[4])
        out[15] += Bi[1] + (z * Bi[3] - x * Bi[5])
        out[16] += Bi[2] + (x * Bi[4] - y * Bi[3])


@kernel
def body_sums(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    fixed: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    order: int,
    out: FloatArray,
) -> int:
    """Fill out (17,); return `GOOD`, or the code of the failure. The workspace is as long as for `rnea`.

    Order 0: mass and centre of mass; 1: also linear momentum, angular momentum about the centre of mass and kinetic
    energy (out[4:11]); 2: also the rates of both momenta at the accelerations ``a`` (out[11:17]), without gravity.
    ``fixed`` (4,) is the mass of the bodies fixed to the world and its first moment.
    """
    # kinematics, masses
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES if order > 0 else POSES, W)
    if code != GOOD:
        return code
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    sum_masses(t, f.R, f.p, fixed, out)
    # momenta
    last = 4
    if order > 0:
        sum_momenta(t, f.R, f.p, f.V, out)
        out[10] += rotor_energy(t, v)
        last = 11
    # rates of the momenta
    if order > 1:
        A = view_2d(W, f.start, nl, 6)
        B = view_2d(W, f.start + 6 * nl, nl, 6)
        accelerations(t, f.S, f.C, a, 0.0, A)
        body_forces(t, f, A, B)
        sum_rates(t, f.p, B, out)
        last = 17
    # a sum that is finite exactly if all results are
    rest = 0.0
    for k in range(last):
        rest += 0.0 * out[k]
    return GOOD if rest == 0.0 else NOT_FINITE


@kernel
def centroidal_columns(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    fixed: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    A: FloatArray,
) -> int:
    """Fill A (6, nv) with momentum about the centre of mass per unit of each entry of v.

    Return `GOOD`, or the code of the failure. Each column is the composite inertia beyond a joint times its motion
    column (Featherstone 2008, section 6.2, before the projection). The workspace is as long as for `crba`. ``fixed``
    (4,) is the mass of the bodies fixed to the world and its first moment.
    """
    # kinematics
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    if ready < POSES:
        code = poses(I, F, q, custom, W)
        if code != GOOD:
            return code
    # masses and inertias
    B = view_2d(W, f.start, nl, 10)
    total = f.scratch[:4]
    sum_masses(t, f.R, f.p, fixed, total)
    world_inertias(t, f.R, f.p, B)
    # composites from the leaves to the roots
    rest = 0.0
    for i in range(nl - 1, -1, -1):
        up = t.parent[i]
        if up >= 0:
            for k in range(10):
                B[up, k] += B[i, k]
        # columns of the link, moved to the centre of mass
        root = t.root[i]
        x = f.p[root, 0] - total[1]
        y = f.p[root, 1] - total[2]
        z = f.p[root, 2] - total[3]
        for j in range(t.iv[i], t.iv[i + 1]):
            a, b, c, d, e, g = inertia_times(B[i], f.S[j])
            A[0, j] = a + (y * g - z * e)
            A[1, j] = b + (z * d - x * g)
            A[2, j] = c + (x * e - y * d)
            A[3, j] = d
            A[4, j] = e
            A[5, j] = g
            for k in range(6):
                rest += 0.0 * A[k, j]
    return GOOD if rest == 0.0 else NOT_FINITE


@kernel
def centroidal_rates(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    fixed: FloatArray,
    custom: FloatArray,
    rates: FloatArray,
    W: FloatArray,
    ready: int,
    out: FloatArray,
) -> int:
    """Fill out (4, 6, nv); return `GOOD`, or the code of the failure.

    Momentum, angular part first, by q and by v, then its rate at the accelerations ``a`` by q and by v; ``fixed`` as
    for `body_sums`. The workspace is as long as for `dynamics_derivatives`.
    """
    # kinematics and views
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    t, f, nl, nv = model_and_workspace_views(I, F, W)
    A = view_2d(W, f.start, nl, 6)
    P = view_2d(W, f.start + 6 * nl, nl, 6)
    B = view_2d(W, f.start + 12 * nl, nl, 10)
    G = view_2d(W, f.start + 22 * nl, nl, 12)
    H = view_2d(W, f.start + 34 * nl, nl, 6)
    K = view_2d(W, f.start + 40 * nl, nv, 18)
    # accelerations, inertias, momenta and forces of the links
    accelerations(t, f.S, f.C, a, 0.0, A)
    world_inertias(t, f.R, f.p, B)
    momenta(t, f.V, B, G)
    link_forces(f.V, A, B, G, view_2d(W, f.start, 0, 6), P)
    for i in range(nl):
        H[i, 0], H[i, 1], H[i, 2], H[i, 3], H[i, 4], H[i, 5] = inertial(B[i], f.V[i])
    column_rates(t, f, v, a, A, rates, K)
    # mass, centre of mass, and sums of momenta and forces
    total = view_1d(f.scratch, 0, 4)
    sums = view_1d(f.scratch, 4, 6)
    sum_masses(t, f.R, f.p, fixed, total)
    for k in range(6):
        sums[k] = 0.0
    # composites from the leaves to the roots
    for i in range(nl - 1, -1, -1):
        root = t.root[i]
        x = f.p[root, 0] - total[1]
        y = f.p[root, 1] - total[2]
        z = f.p[root, 2] - total[3]
        # columns of the link, moved to the centre of mass
        for j in range(t.iv[i], t.iv[i + 1]):
            s = f.S[j]
            row = K[j]
            along = inertial(B[i], view_1d(row, 0, 6))
            riding = cross_force(s, H[i])
            speed = inertial(B[i], s)
            pushed = inertial(B[i], view_1d(row, 6, 6))
            turned = twice_gain(G[i], row[0], row[1], row[2])
            carried = cross_force(s, P[i])
            moving = inertial(B[i], view_1d(row, 12, 6))
            gained = twice_gain(G[i], s[0], s[1], s[2])
            for k in range(6):
                out[0, k, j] = along[k] + riding[k]
                out[1, k, j] = speed[k]
                out[2, k, j] = pushed[k] + turned[k] + carried[k]
                out[3, k, j] = moving[k] + gained[k]
            for number in range(4):
                a3, a4, a5 = out[number, 3, j], out[number, 4, j], out[number, 5, j]
                out[number, 0, j] += y * a5 - z * a4
                out[number, 1, j] += z * a3 - x * a5
                out[number, 2, j] += x * a4 - y * a3
        # the composite joins its parent, or the sums over all trees
        up = t.parent[i]
        if up >= 0:
            for k in range(10):
                B[up, k] += B[i, k]
            for k in range(12):
                G[up, k] += G[i, k]
            for k in range(6):
                P[up, k] += P[i, k]
                H[up, k] += H[i, k]
        else:
            for k in range(3):
                sums[k] += H[i, 3 + k]
                sums[3 + k] += P[i, 3 + k]
    # the displacement of the centre of mass changes the moments
    rest = 0.0
    part = 1.0 / total[0] if total[0] > 0.0 else 0.0
    for j in range(nv):
        x, y, z = part * out[1, 3, j], part * out[1, 4, j], part * out[1, 5, j]
        for number in range(0, 4, 2):
            at = 3 * (number // 2)
            out[number, 0, j] -= y * sums[at + 2] - z * sums[at + 1]
            out[number, 1, j] -= z * sums[at] - x * sums[at + 2]
            out[number, 2, j] -= x * sums[at + 1] - y * sums[at]
        for number in range(4):
            for k in range(6):
                rest += 0.0 * out[number, k, j]
    return GOOD if rest == 0.0 else NOT_FINITE

"""How centroidal momentum and its rate change with q and v.

Displaced along column s, what is beyond changes its momentum by s x* H + I P and its force by s x* F + I Q + 2 B P;
of a velocity along s, by I s, and by I (P + dS/dt) + 2 B s (see `displaced` and `derivatives`). Both moments are about
the centre of mass, which moves with the bodies.
"""

from __future__ import annotations

from contactlab.multibody.kernels.centroidal import sum_masses
from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE
from contactlab.multibody.kernels.derivatives import cross_force, inertial, link_forces, momenta, twice_gain
from contactlab.multibody.kernels.displaced import column_rates
from contactlab.multibody.kernels.fill_frames import fill_frames
from contactlab.multibody.kernels.inertias import world_inertias
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.newton_euler import accelerations
from contactlab.multibody.kernels.sizes import VELOCITIES
from contactlab.multibody.kernels.views import part_at, rows_at
from contactlab.multibody.kernels.workspace import frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


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
    """Fill out (4, 6, nv); `GOOD`, or what stopped it. The workspace is as long as that of `dynamics_derivatives`.

    Momentum, angular part first, by q and by v, then its rate at the accelerations ``a`` by q and by v; ``fixed`` as
    for `body_sums`.
    """
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = t.dof_parent.shape[0]
    f = frames(W, nl, nv)
    A = rows_at(W, f.start, nl, 6)
    P = rows_at(W, f.start + 6 * nl, nl, 6)
    B = rows_at(W, f.start + 12 * nl, nl, 10)
    G = rows_at(W, f.start + 22 * nl, nl, 12)
    H = rows_at(W, f.start + 34 * nl, nl, 6)
    K = rows_at(W, f.start + 40 * nl, nv, 18)
    accelerations(t, f.S, f.C, a, 0.0, A)
    world_inertias(t, f.R, f.p, B)
    momenta(t, f.V, B, G)
    link_forces(f.V, A, B, G, rows_at(W, f.start, 0, 6), P)
    for i in range(nl):
        H[i, 0], H[i, 1], H[i, 2], H[i, 3], H[i, 4], H[i, 5] = inertial(B[i], f.V[i])
    column_rates(t, f, v, a, A, rates, K)
    total = part_at(f.scratch, 0, 4)
    sums = part_at(f.scratch, 4, 6)
    sum_masses(t, f.R, f.p, fixed, total)
    for k in range(6):
        sums[k] = 0.0
    for i in range(nl - 1, -1, -1):
        root = t.root[i]
        x = f.p[root, 0] - total[1]
        y = f.p[root, 1] - total[2]
        z = f.p[root, 2] - total[3]
        for j in range(t.iv[i], t.iv[i + 1]):
            s = f.S[j]
            row = K[j]
            along = inertial(B[i], part_at(row, 0, 6))
            riding = cross_force(s, H[i])
            speed = inertial(B[i], s)
            pushed = inertial(B[i], part_at(row, 6, 6))
            turned = twice_gain(G[i], row[0], row[1], row[2])
            carried = cross_force(s, P[i])
            moving = inertial(B[i], part_at(row, 12, 6))
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
    rest = 0.0
    part = 1.0 / total[0] if total[0] > 0.0 else 0.0
    for j in range(nv):
        # The centre of mass moves by this much.
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

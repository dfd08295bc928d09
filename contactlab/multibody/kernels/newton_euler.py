"""The recursive Newton-Euler algorithm: forces from accelerations (Featherstone 2008, section 5.3), in world axes.

The outward pass computes the motion of the links and the forces that this motion needs. The inward pass sums the forces
that the joints carry.
"""

from __future__ import annotations

from contactlab.multibody.kernels.codes import GOOD, NOT_FINITE, PER_DOF, PER_LINK, SCRATCH, VELOCITIES
from contactlab.multibody.kernels.kinematics import fill_frames, velocity_of_point
from contactlab.multibody.kernels.layout import HEAD, LINKS, NV, Frames, Tree, model_and_workspace_views, tree
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.spatial.kernels.vectors import (
    add,
    add_spatial,
    add_to,
    cross,
    dot,
    linear,
    put_spatial,
    rotate,
    rotate_inverse,
    subtract,
    symmetric_times,
    times,
    vector,
)
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
    # from the roots to the leaves
    for i in range(t.parent.shape[0]):
        up = t.parent[i]
        Ai, Ci = A[i], C[i]
        if up >= 0:
            put_spatial(add(vector(A[up]), vector(Ci)), add(linear(A[up]), linear(Ci)), Ai)
        else:
            put_spatial(vector(Ci), add(linear(Ci), times(-g, vector(t.gravity))), Ai)
        # accelerations of the degrees of freedom
        if a.shape[0] > 0:
            for j in range(t.iv[i], t.iv[i + 1]):
                add_spatial(times(a[j], vector(S[j])), times(a[j], linear(S[j])), Ai)


@kernel(inline=True)
def body_forces(t: Tree, f: Frames, A: FloatArray, F: FloatArray) -> None:
    """Fill F (nl, 6), spatial forces about the root's origin, by Newton's and Euler's laws about each centre of mass c.

    f = m (a + dw x c + w x (v + w x c)), n = R (J dw_b + w_b x J w_b) + c x f, with w_b = R^T w. The rotational part is
    in link axes, where J is constant, so J need not be turned.
    """
    for i in range(t.parent.shape[0]):
        # no force without mass
        m, J = t.mass[i], t.inertia[i]
        if m == 0.0 and J[0] + J[1] + J[2] == 0.0:
            put_spatial((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), F[i])
            continue
        # centre of mass
        Ri = f.R[i]
        c = add(rotate(Ri, vector(t.com[i])), subtract(vector(f.p[i]), vector(f.p[t.root[i]])))
        # its velocity, then its acceleration times the mass
        w, turn = vector(f.V[i]), vector(A[i])
        u = velocity_of_point(f.V[i], c)
        force = times(m, add(add(linear(A[i]), cross(turn, c)), cross(w, u)))
        # torque about the centre of mass, with angular velocity and acceleration in link axes
        b = rotate_inverse(Ri, w)
        torque = add(symmetric_times(J, rotate_inverse(Ri, turn)), cross(b, symmetric_times(J, b)))
        # moment about the origin, and force
        put_spatial(add(rotate(Ri, torque), cross(c, force)), force, F[i])


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
            force = linear(f_ext[b])
            moment = subtract(vector(f_ext[b]), cross(vector(p[t.root[i]]), force))
            add_spatial(times(-1.0, moment), times(-1.0, force), F[i])


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
            tau[j] = dot(vector(s), vector(Bi)) + s[3] * Bi[3] + s[4] * Bi[4] + s[5] * Bi[5]
            rest += 0.0 * tau[j]
        up = parent[i]
        if up >= 0:
            add_to(Bi, B[up])
    # every infinite argument reaches the force of some joint
    return GOOD if rest == 0.0 else NOT_FINITE

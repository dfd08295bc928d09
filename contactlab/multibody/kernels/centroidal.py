"""Sums over all bodies: mass, centre of mass, momenta, their rates, kinetic energy; and the centroidal momentum matrix.

Orin, Goswami, Lee, "Centroidal dynamics of a humanoid robot", Autonomous Robots 35 (2013). Moments are taken about the
centre of mass, body by body, so that no digits are lost far from the world origin.

The derivatives of momentum and of its rate use the module `derivatives`. A displacement along column s changes the
momentum beyond by s x* H + I P and the force by s x* F + I Q + 2 B P. A velocity along s changes them by I s, and by I
(P + dS/dt) + 2 B s. Both moments refer to the centre of mass, which moves with the bodies.
"""

from __future__ import annotations

from contactlab.multibody.kernels import GOOD, NOT_FINITE, POSES, VELOCITIES
from contactlab.multibody.kernels.derivatives import (
    column_rates,
    cross_force,
    inertial,
    link_forces,
    momenta,
    twice_gain,
)
from contactlab.multibody.kernels.dynamics import accelerations, body_forces
from contactlab.multibody.kernels.kinematics import fill_frames, poses, velocity_of_point
from contactlab.multibody.kernels.layout import Tree, model_and_workspace_views
from contactlab.multibody.kernels.mass_matrix import inertia_times, world_inertias
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.multibody.spatial.kernels import (
    add,
    add_pairs,
    add_spatial,
    add_to,
    are_finite,
    cross,
    dot,
    fill,
    linear,
    put,
    put_pair,
    put_spatial,
    rotate,
    rotate_inverse,
    subtract,
    symmetric_times,
    times,
    vector,
    vector_at,
)
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel


@kernel(inner=True)
def sum_masses(t: Tree, R: FloatArray, p: FloatArray, fixed: FloatArray, out: FloatArray) -> None:
    """Fill out[:4] with mass and centre of mass, which is zero without mass."""
    # mass and first moment
    m, first = fixed[0], vector_at(fixed, 1)
    for i in range(t.parent.shape[0]):
        own = t.mass[i]
        if own != 0.0:
            m += own
            first = add(first, times(own, add(vector(p[i]), rotate(R[i], vector(t.com[i])))))
    # centre of mass
    out[0] = m
    for k in range(3):
        out[1 + k] = first[k] / m if m > 0.0 else 0.0


@kernel(inner=True)
def sum_momenta(t: Tree, R: FloatArray, p: FloatArray, V: FloatArray, out: FloatArray) -> None:
    """Fill out[4:11]: linear momentum, angular momentum about the centre of mass out[1:4], kinetic energy."""
    momentum = angular = (0.0, 0.0, 0.0)
    energy = 0.0
    # links with mass or inertia
    for i in range(t.parent.shape[0]):
        m = t.mass[i]
        J = t.inertia[i]
        if m == 0.0 and J[0] + J[1] + J[2] == 0.0:
            continue
        # velocity of the centre of mass
        c = add(vector(p[i]), rotate(R[i], vector(t.com[i])))
        u = velocity_of_point(V[i], subtract(c, vector(p[t.root[i]])))
        # angular momentum in link axes, where the inertia is constant
        w = rotate_inverse(R[i], vector(V[i]))
        l = symmetric_times(J, w)
        # sums, with moments about the common centre of mass
        momentum = add(momentum, times(m, u))
        moment = times(m, cross(subtract(c, vector_at(out, 1)), u))
        angular = add(angular, add(rotate(R[i], l), moment))
        energy += 0.5 * (m * dot(u, u) + dot(w, l))
    # results
    put(momentum, out[4:7])
    put(angular, out[7:10])
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
    out: FloatArray,
) -> None:
    """Fill out (2,) with kinetic and potential energy [J], as `kinetic_energy` and `potential_energy` give them.

    ``v`` (nv,) is the velocity that V was computed from. ``fixed`` (4,) is the mass of the bodies fixed to the world
    and its first moment. The sums are formed as in `sum_masses` and `sum_momenta`, without momenta.
    """
    m, first, energy = fixed[0], vector_at(fixed, 1), 0.0
    # links with mass or inertia
    for i in range(t.parent.shape[0]):
        own = t.mass[i]
        J = t.inertia[i]
        if own == 0.0 and J[0] + J[1] + J[2] == 0.0:
            continue
        # mass and first moment
        c = add(vector(p[i]), rotate(R[i], vector(t.com[i])))
        m += own
        first = add(first, times(own, c))
        # kinetic energy, of the centre of mass and of the rotation in link axes
        u = velocity_of_point(V[i], subtract(c, vector(p[t.root[i]])))
        w = rotate_inverse(R[i], vector(V[i]))
        energy += 0.5 * (own * dot(u, u) + dot(w, symmetric_times(J, w)))
    out[0] = energy + rotor_energy(t, v)
    centre = (first[0] / m, first[1] / m, first[2] / m) if m > 0.0 else (0.0, 0.0, 0.0)
    out[1] = -m * dot(centre, vector(t.gravity))


@kernel(inline=True)
def sum_rates(t: Tree, p: FloatArray, B: FloatArray, out: FloatArray) -> None:
    """Fill out[11:17] with the rates of linear and angular momentum, about the centre of mass out[1:4].

    B (nl, 6) are the forces that the links need for their motion, with moments about the origin of the root.
    """
    force = moment = (0.0, 0.0, 0.0)
    for i in range(t.parent.shape[0]):
        # force of the link, with its moment about the centre of mass
        own = linear(B[i])
        arm = subtract(vector(p[t.root[i]]), vector_at(out, 1))
        force, moment = add(force, own), add(moment, add(vector(B[i]), cross(arm, own)))
    put_spatial(force, moment, out[11:17])


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
    """Fill out (17,); return `GOOD`, or the code of the failure.

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
    return GOOD if are_finite(out[:last]) else NOT_FINITE


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
    column (Featherstone 2008, section 6.2, before the projection). ``fixed``
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
    for i in range(nl - 1, -1, -1):
        up = t.parent[i]
        if up >= 0:
            add_to(B[i], B[up])
        # columns of the link, moved to the centre of mass
        arm = subtract(vector(f.p[t.root[i]]), vector_at(total, 1))
        for j in range(t.iv[i], t.iv[i + 1]):
            moment, force = inertia_times(B[i], f.S[j])
            put_spatial(add(moment, cross(arm, force)), force, A[:, j])
    return GOOD if are_finite(view_1d(A, 0, A.size)) else NOT_FINITE


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
    for `body_sums`.
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
        put_pair(inertial(B[i], f.V[i]), H[i])
    column_rates(t, f, v, a, A, rates, K)
    # mass, centre of mass, and sums of momenta and forces
    total = view_1d(f.scratch, 0, 4)
    sums = view_1d(f.scratch, 4, 6)
    sum_masses(t, f.R, f.p, fixed, total)
    fill(0.0, sums)
    # composites from the leaves to the roots
    for i in range(nl - 1, -1, -1):
        # columns of the link, moved to the centre of mass
        arm = subtract(vector(f.p[t.root[i]]), vector_at(total, 1))
        for j in range(t.iv[i], t.iv[i + 1]):
            s = f.S[j]
            row = K[j]
            along, riding = inertial(B[i], view_1d(row, 0, 6)), cross_force(s, H[i])
            speed = inertial(B[i], s)
            pushed, turned = inertial(B[i], view_1d(row, 6, 6)), twice_gain(G[i], vector(row))
            carried = cross_force(s, P[i])
            moving, gained = inertial(B[i], view_1d(row, 12, 6)), twice_gain(G[i], vector(s))
            put_pair(add_pairs(along, riding), out[0, :, j])
            put_pair(speed, out[1, :, j])
            put_pair(add_pairs(add_pairs(pushed, turned), carried), out[2, :, j])
            put_pair(add_pairs(moving, gained), out[3, :, j])
            for number in range(4):
                column = out[number, :, j]
                put(add(vector(column), cross(arm, linear(column))), column)
        # the composite joins its parent, or the sums over all trees
        up = t.parent[i]
        if up >= 0:
            add_to(B[i], B[up])
            add_to(G[i], G[up])
            add_to(P[i], P[up])
            add_to(H[i], H[up])
        else:
            add_spatial(linear(H[i]), linear(P[i]), sums)
    # the displacement of the centre of mass changes the moments
    part = 1.0 / total[0] if total[0] > 0.0 else 0.0
    for j in range(nv):
        shift = times(part, linear(out[1, :, j]))
        for number in range(0, 4, 2):
            column = out[number, :, j]
            put(subtract(vector(column), cross(shift, vector_at(sums, 3 * (number // 2)))), column)
    return GOOD if are_finite(view_1d(out, 0, out.size)) else NOT_FINITE

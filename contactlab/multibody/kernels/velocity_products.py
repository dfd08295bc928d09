"""Velocity products over one step, without gain of energy: of single bodies, and of fast trees.

A single body that turns freely follows Euler's equation by the implicit midpoint rule. It solves, for the angular
velocity w+ after the step (body axes),

    I (w+ - w) = h torque - h wm x I wm,      wm = (w + w+) / 2.

Without torque the rule keeps the kinetic energy 1/2 w.I w and the length of I w exactly, for every step: multiply by
wm, or by I wm. The explicit rule gains energy in every step, without bound for plates and rods. E. Hairer, C. Lubich,
G. Wanner, Geometric Numerical Integration (2006), section IV.2.1 (quadratic invariants).

The equation holds for a tree of one link: floating, about its centre of mass, or on a spherical joint fixed to the
world, about the joint. In a tree of several links, joints transmit torques that depend on all velocities. There the
bias force of `rnea` at the start of the step is the whole term.

Centrifugal and Coriolis forces of trees do no work: they carry a velocity from one configuration to the next at the
same kinetic energy. The explicit rule v - h M^-1 c with their bias c does so to first order only, and gains energy in
every step. Ten links on ball joints that turn by 0.1 rad a step have a thousand times their energy after a hundred
steps.

If links turn so fast, the velocities of the rule are scaled to the energy at the end of the previous step. This is the
energy of v in the configuration that v has come from. The change is at most the error of the rule, and no step,
however long, adds energy. For a free tree the energy is about its centre of mass, which keeps its own velocity.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from contactlab.multibody.kernels import CUSTOM_ROW, FLOATING, GOOD, NOTHING, SPHERICAL, VELOCITIES
from contactlab.multibody.kernels.integration import integrate_configuration
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import Tree, model_and_workspace_views
from contactlab.multibody.kernels.mass_matrix import (
    factor_ltl,
    inertia_times,
    solve_vector_l,
    solve_vector_lt,
    world_inertias,
)
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    copy,
    cross,
    dot,
    fill,
    linear,
    put,
    rotate_inverse,
    subtract,
    symmetric_times,
    times,
    vector,
    vector_at,
)
from lcp.compiler.views import view_1d, view_2d
from lcp.kernels import kernel

# Newton converges in three or four iterations at sensible steps. It may stall from about 3 rad per step on, and under
# torques that speed thin bodies up as much within the step. The step is then taken in 2, 4, ... equal parts.
MAX_ITERATIONS = 50

MAX_HALVINGS = 30

MAX_PARTS = 1024

# Residual, relative to the terms of the equation, that counts as solved.
RESIDUAL_TOLERANCE = 1e-9


@kernel(inner=True)
def midpoint_residual(inertia: FloatArray, impulse: Vec3, w: Vec3, d: Vec3, h: float) -> Vec3:
    """Return I d + h wm x I wm - h torque for w+ = w + d; ``impulse`` is h torque."""
    middle = add(w, times(0.5, d))
    gyroscopic = times(h, cross(middle, symmetric_times(inertia, middle)))
    return subtract(add(symmetric_times(inertia, d), gyroscopic), impulse)


@kernel(inner=True)
def midpoint_step(
    inertia: FloatArray, tx: float, ty: float, tz: float, wx: float, wy: float, wz: float, h: float
) -> tuple[float, float, float, bool]:
    """Return the change d = w+ - w of one step of the rule, and whether it solves the equation.

    Newton's method, its step halved until the residual falls. It ends when the residual stops falling, at rounding or
    in a stall.
    """
    # residual without a change
    impulse, w, d = times(h, (tx, ty, tz)), (wx, wy, wz), (0.0, 0.0, 0.0)
    f = midpoint_residual(inertia, impulse, w, d, h)
    size = dot(f, f)
    for _ in range(MAX_ITERATIONS):
        if size == 0.0:
            break
        # Jacobian I + h/2 ([wm]x I - [I wm]x)
        x, y, z = middle = add(w, times(0.5, d))
        a, b = (inertia[0], inertia[3], inertia[4]), (inertia[3], inertia[1], inertia[5])
        c = (inertia[4], inertia[5], inertia[2])
        lx, ly, lz = symmetric_times(inertia, middle)
        first = add(a, times(0.5 * h, add(subtract(times(y, c), times(z, b)), (0.0, lz, -ly))))
        second = add(b, times(0.5 * h, add(subtract(times(z, a), times(x, c)), (-lz, 0.0, lx))))
        third = add(c, times(0.5 * h, add(subtract(times(x, b), times(y, a)), (ly, -lx, 0.0))))
        # the step by cofactors
        cofactors = cross(second, third)
        determinant = dot(first, cofactors)
        sums = add(times(f[0], cofactors), times(f[1], cross(third, first)))
        sums = add(sums, times(f[2], cross(first, second)))
        step = (-sums[0] / determinant, -sums[1] / determinant, -sums[2] / determinant)
        # halve it until the residual falls
        share = 1.0
        smaller = False
        for _ in range(MAX_HALVINGS):
            e = add(d, times(share, step))
            f = midpoint_residual(inertia, impulse, w, e, h)
            trial = dot(f, f)
            if trial < size:
                d, size = e, trial
                smaller = True
                break
            # this step is lost in d, as are all shorter ones
            if e == d:
                break
            share *= 0.5
        if not smaller:
            break
    # residual relative to the terms of the equation
    before, after = symmetric_times(inertia, w), symmetric_times(inertia, add(w, d))
    terms = dot(before, before) + dot(after, after) + dot(impulse, impulse)
    return d[0], d[1], d[2], size <= RESIDUAL_TOLERANCE * RESIDUAL_TOLERANCE * terms


@kernel(inner=True)
def midpoint_spin(
    inertia: FloatArray, tx: float, ty: float, tz: float, wx: float, wy: float, wz: float, h: float
) -> Vec3:
    """Return the change w+ - w of the angular velocity [rad/s] over h [s] under a torque [N m], all in body axes.

    ``inertia`` (6,) [kg m^2]: xx, yy, zz, xy, xz, yz about the reference point of the torque. The step is one of the
    rule, or the fewest equal parts 2, 4, ... that can be solved. The torque is constant in body axes. NaN if 1024 are
    too few.
    """
    # 1, 2, 4, ... parts until all of them are solved
    parts = 1
    while parts <= MAX_PARTS:
        d, solved = (0.0, 0.0, 0.0), True
        for _ in range(parts):
            ex, ey, ez, solved = midpoint_step(inertia, tx, ty, tz, wx + d[0], wy + d[1], wz + d[2], h / parts)
            if not solved:
                break
            d = add(d, (ex, ey, ez))
        if solved:
            return d
        parts *= 2
    return np.nan, np.nan, np.nan


@kernel(inline=True)
def is_free_rotor(t: Tree, first: int, last: int) -> bool:
    """Return True if links first ... last - 1, a whole tree, are one link to which the midpoint rule applies.

    Rotors of its degrees of freedom have unknown velocity products, so the explicit rule is used for such a link.
    """
    if last - first != 1 or t.kind[first] not in (FLOATING, SPHERICAL):
        return False
    largest = 0.0
    for j in range(t.iv[first], t.iv[last]):
        largest = max(largest, t.armature[j])
    return largest == 0.0


@kernel(inline=True)
def rotation_load(
    t: Tree, R: FloatArray, S: FloatArray, i: int, tau: FloatArray, inertia: FloatArray
) -> tuple[int, tuple[float, float, float], tuple[float, float, float]]:
    """Return the place in v of a link's angular velocity, and force and torque on it in body axes.

    Link i is a whole tree. ``inertia`` (6,) is filled with the inertia about the reference point of the torque.
    """
    # inertia about the centre of mass
    m = t.mass[i]
    com = x, y, z = vector(t.com[i])
    a = t.iv[i]
    copy(t.inertia[i], inertia)
    force = (0.0, 0.0, 0.0)
    if t.kind[i] == FLOATING:
        # floating: the applied force about the centre of mass, where the weight has no torque
        for k in range(3):
            force = subtract(force, times(tau[a + k], linear(S[a + k])))
        a += 3
    else:
        # spherical: about the joint, whose force is unknown; the weight has a torque
        force = times(m, vector(t.gravity))
        inertia[0] += m * (y * y + z * z)
        inertia[1] += m * (x * x + z * z)
        inertia[2] += m * (x * x + y * y)
        inertia[3] -= m * x * y
        inertia[4] -= m * x * z
        inertia[5] -= m * y * z
    # in body axes
    force = rotate_inverse(R[i], force)
    return a, force, add(vector_at(tau, a), cross(com, force))


@kernel(inline=True)
def gyroscopic_impulse(
    t: Tree,
    R: FloatArray,
    S: FloatArray,
    i: int,
    v: FloatArray,
    tau: FloatArray,
    h: float,
    spins: bool,
    inertia: FloatArray,
    Mv: FloatArray,
) -> None:
    """Replace the explicit gyroscopic impulse in M v + h (tau - bias) by the midpoint rule's impulse, or remove it.

    Parameters
    ----------
    t, R, S
        The model, rotations (nl, 9) and motion columns (nv, 6) at the start of the step.
    i
        A link that is a whole tree and satisfies `is_free_rotor`.
    v, tau
        (nv,) velocity and applied force, of the whole model.
    spins
        False to leave the gyroscopic torque out: I dw = h torque.
    inertia
        (6,) scratch.
    Mv
        (nv,) whose three entries of the link's angular velocity are corrected, by I dw - h torque + h w x I w.
    """
    # load, and the explicit impulse
    a, _, torque = rotation_load(t, R, S, i, tau, inertia)
    w = vector_at(v, a)
    explicit = times(h, cross(w, symmetric_times(inertia, w)))
    # the impulse of the midpoint rule, without the explicit one
    own = Mv[a : a + 3]
    if spins:
        d = midpoint_spin(inertia, torque[0], torque[1], torque[2], w[0], w[1], w[2], h)
        put(add(vector(own), subtract(symmetric_times(inertia, d), times(h, torque))), own)
    put(add(vector(own), explicit), own)


#: Turn of a link in one step [rad] from which velocities are scaled in part, and from which fully.
LIMITER_START: Final = 0.1

LIMITER_FULL: Final = 0.2


@kernel(inner=True)
def limiter_weight(t: Tree, V: FloatArray, first: int, last: int, h: float) -> float:
    """Return 0 if heavy links turn slowly, 1 if one turns fast.

    The links are first ... last - 1, with spatial velocities V.
    """
    fastest = 0.0
    for i in range(first, last):
        if t.mass[i] > 0.0:
            fastest = max(fastest, dot(vector(V[i]), vector(V[i])))
    return min(max((h * math.sqrt(fastest) - LIMITER_START) / (LIMITER_FULL - LIMITER_START), 0.0), 1.0)


@kernel
def previous_kinetic_energy(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, h: float, back: FloatArray, W: FloatArray, out: FloatArray
) -> None:
    """Fill ``out`` (nv,) with the kinetic energies of the trees at v, before they moved to q in time h.

    Each tree's energy is at the place of its first velocity. For a free tree it is the energy about its centre of mass,
    whose velocity is in the next three places. ``back`` (nq,) is scratch; the head of W is left as for (q, v).
    """
    # the configuration before
    t, f, nl, _ = model_and_workspace_views(I, F, W)
    none = view_2d(W, 0, 0, CUSTOM_ROW)
    integrate_configuration(I, F, q, v, -h, back)
    fill_frames(I, F, back, v, none, NOTHING, VELOCITIES, W)
    B = view_2d(W, f.start, nl, 10)
    world_inertias(t, f.R, f.p, B)
    # kinetic energy of each tree, with momentum and mass of a free one
    fill(0.0, out)
    for i in range(nl):
        moment, force = inertia_times(B[i], f.V[i])
        at = t.iv[t.root[i]]
        w, u = vector(f.V[i]), linear(f.V[i])
        out[at] += 0.5 * (dot(w, moment) + u[0] * force[0] + u[1] * force[1] + u[2] * force[2])
        for j in range(t.iv[i], t.iv[i + 1]):
            out[at] += 0.5 * t.armature[j] * v[j] * v[j]
        if t.kind[t.root[i]] == FLOATING:
            momentum = view_1d(out, at + 1, 3)
            put(add(vector(momentum), force), momentum)
            out[at + 4] += B[i, 0]
    for i in range(nl):
        # less the energy of the centre of mass of a free tree
        at = t.iv[i]
        if t.parent[i] < 0 and t.kind[i] == FLOATING and out[at + 4] > 0.0:
            for k in range(1, 4):
                out[at] -= 0.5 * out[at + k] * out[at + k] / out[at + 4]
                out[at + k] /= out[at + 4]
    fill_frames(I, F, q, v, none, NOTHING, VELOCITIES, W)


@kernel(inner=True)
def limit_products(
    t: Tree,
    S: FloatArray,
    B: FloatArray,
    branch: IntArray,
    tree_links: tuple[int, int],
    h: float,
    behind: FloatArray,
    share: float,
    L: FloatArray,
    state: tuple[FloatArray, FloatArray],
    scratch: tuple[FloatArray, FloatArray],
    Mv: FloatArray,
) -> None:
    """Remove the energy gain of the explicit rule from Mv = M v + h (tau - bias) of a whole tree.

    Parameters
    ----------
    t, S, B
        The model, motion columns (n, 6) of the tree's velocities, and inertias of the composites (`composite_matrix`).
    branch, L
        The next degree of freedom towards the root, and M (n, n), both triangles, which is restored at the end.
    tree_links
        The first link of the tree, and the first link after it.
    behind, share
        Entries of `previous_kinetic_energy` for the tree, and the applied fraction of the change (`limiter_weight`).
    state
        Bias, which is overwritten, and momentum M v, each (n,).
    scratch
        Twice (n,).
    Mv
        (n,) changed in place.
    """
    # sizes
    bias, momentum = state
    diagonal, w = scratch
    first, last = tree_links
    n = momentum.shape[0]
    begin = t.iv[first]
    mass = 0.0
    if t.kind[first] == FLOATING:
        mass = L[0, 0]
    up = times(-1.0, vector(t.gravity))
    # momentum after the bias without weights
    for i in range(first, last):
        Bi = B[i]
        for j in range(t.iv[i] - begin, t.iv[i + 1] - begin):
            s = S[j]
            weight = dot(vector(s), cross(vector_at(Bi, 1), up)) + Bi[0] * dot(linear(s), up)
            w[j] = momentum[j] - h * (bias[j] - weight)
            diagonal[j] = L[j, j]
    # velocities in the place of the bias; `factor_ltl` leaves the upper triangle of M
    if factor_ltl(branch, bias, L) == GOOD:
        copy(w, bias)
        solve_vector_lt(branch, L, bias)
        solve_vector_l(branch, L, bias)
        after = 0.0
        for j in range(n):
            after += 0.5 * bias[j] * w[j]
        # velocity of the centre of mass of a free tree, whose momentum is in the first three places
        u = (0.0, 0.0, 0.0)
        if mass > 0.0:
            u = (w[0] / mass, w[1] / mass, w[2] / mass)
            after -= 0.5 * mass * dot(u, u)
        # scale to the energy before
        less = 0.0
        if after > behind[0]:
            less = math.sqrt(max(behind[0], 0.0) / after) - 1.0
        # the change of the impulse
        for j in range(n):
            drift = 0.0
            gained = 0.0
            if mass > 0.0:
                column = (
                    mass_matrix_entry(L, diagonal, 0, j),
                    mass_matrix_entry(L, diagonal, 1, j),
                    mass_matrix_entry(L, diagonal, 2, j),
                )
                drift = dot(u, column)
                gained = drift - dot(vector_at(behind, 1), column)
            Mv[j] += share * (less * (w[j] - drift) - gained)
    # restore M
    for j in range(n):
        L[j, j] = diagonal[j]
        for k in range(j):
            L[j, k] = L[k, j]


@kernel(inline=True)
def mass_matrix_entry(L: FloatArray, diagonal: FloatArray, k: int, j: int) -> float:
    """Return M[k, j] after `factor_ltl`: ``diagonal`` holds M[k, k], and the upper triangle of L the other entries."""
    if k == j:
        return diagonal[k]
    return L[min(k, j), max(k, j)]

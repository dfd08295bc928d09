"""Velocity products of fast trees over one step, limited so that they add no energy.

Centrifugal and Coriolis forces do no work: they carry a velocity from one configuration to the next at the same kinetic
energy. The explicit rule v - h M^-1 c with their bias c does so to first order only, and gains energy in every step.
Ten links on ball joints that turn by 0.1 rad a step have a thousand times their energy after a hundred steps.

If links turn so fast, the velocities of the rule are scaled to the energy at the end of the previous step. This is the
energy of v in the configuration that v has come from. The change is at most the error of the rule, and no step,
however long, adds energy. For a free tree the energy is about its centre of mass, which keeps its own velocity.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.multibody.kernels.codes import CUSTOM_ROW, FLOATING, GOOD, NOTHING, VELOCITIES
from contactlab.multibody.kernels.crba import inertia_times, world_inertias
from contactlab.multibody.kernels.integration import integrate_configuration
from contactlab.multibody.kernels.kinematics import fill_frames
from contactlab.multibody.kernels.layout import Tree, model_and_workspace_views
from contactlab.multibody.kernels.ltl import factor_ltl, solve_vector_l, solve_vector_lt
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import rows_at
from lcp.kernels import kernel

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
            fastest = max(fastest, V[i, 0] * V[i, 0] + V[i, 1] * V[i, 1] + V[i, 2] * V[i, 2])
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
    none = rows_at(W, 0, 0, CUSTOM_ROW)
    integrate_configuration(I, F, q, v, -h, back)
    fill_frames(I, F, back, v, none, NOTHING, VELOCITIES, W)
    B = rows_at(W, f.start, nl, 10)
    world_inertias(t, f.R, f.p, B)
    # kinetic energy of each tree, with momentum and mass of a free one
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(nl):
        Vi = f.V[i]
        a, b, c, x, y, z = inertia_times(B[i], Vi)
        at = t.iv[t.root[i]]
        out[at] += 0.5 * (Vi[0] * a + Vi[1] * b + Vi[2] * c + Vi[3] * x + Vi[4] * y + Vi[5] * z)
        for j in range(t.iv[i], t.iv[i + 1]):
            out[at] += 0.5 * t.armature[j] * v[j] * v[j]
        if t.kind[t.root[i]] == FLOATING:
            out[at + 1] += x
            out[at + 2] += y
            out[at + 3] += z
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
        The next degree of freedom towards the root, and M (n, n), both triangles, which comes back.
    tree_links
        The first link of the tree, and the first behind it.
    behind, share
        Entries of `previous_kinetic_energy` for the tree, and the part of the change that is made (`limiter_weight`).
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
    x, y, z = -t.gravity[0], -t.gravity[1], -t.gravity[2]
    # momentum after the bias without weights
    for i in range(first, last):
        Bi = B[i]
        for j in range(t.iv[i] - begin, t.iv[i + 1] - begin):
            s = S[j]
            weight = s[0] * (Bi[2] * z - Bi[3] * y) + s[1] * (Bi[3] * x - Bi[1] * z) + s[2] * (Bi[1] * y - Bi[2] * x)
            weight += Bi[0] * (s[3] * x + s[4] * y + s[5] * z)
            w[j] = momentum[j] - h * (bias[j] - weight)
            diagonal[j] = L[j, j]
    # velocities in the place of the bias; a factor leaves the upper triangle
    if factor_ltl(branch, 0, bias, L) == GOOD:
        for j in range(n):
            bias[j] = w[j]
        solve_vector_lt(branch, 0, L, bias)
        solve_vector_l(branch, 0, L, bias)
        after = 0.0
        for j in range(n):
            after += 0.5 * bias[j] * w[j]
        # velocity of the centre of mass of a free tree, whose momentum is in the first three places
        u0, u1, u2 = 0.0, 0.0, 0.0
        if mass > 0.0:
            u0, u1, u2 = w[0] / mass, w[1] / mass, w[2] / mass
            after -= 0.5 * mass * (u0 * u0 + u1 * u1 + u2 * u2)
        # scale to the energy before
        less = 0.0
        if after > behind[0]:
            less = math.sqrt(max(behind[0], 0.0) / after) - 1.0
        # the change of the impulse
        for j in range(n):
            drift = 0.0
            gained = 0.0
            if mass > 0.0:
                x, y, z = (
                    mass_matrix_entry(L, diagonal, 0, j),
                    mass_matrix_entry(L, diagonal, 1, j),
                    mass_matrix_entry(L, diagonal, 2, j),
                )
                drift = u0 * x + u1 * y + u2 * z
                gained = drift - (behind[1] * x + behind[2] * y + behind[3] * z)
            Mv[j] += share * (less * (w[j] - drift) - gained)
    # restore M
    for j in range(n):
        L[j, j] = diagonal[j]
        for k in range(j):
            L[j, k] = L[k, j]


@kernel(inline=True)
def mass_matrix_entry(L: FloatArray, diagonal: FloatArray, k: int, j: int) -> float:
    """Return M[k, j] from the upper triangle, which a factor leaves, and the original diagonal."""
    if k == j:
        return diagonal[k]
    return L[min(k, j), max(k, j)]

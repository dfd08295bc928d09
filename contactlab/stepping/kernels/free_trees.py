"""Of `finish`: trees of several links on which no row acts in the step, by the Runge-Kutta method.

Euler's rule takes velocity products, and the mass matrix, at the start of the step, and a chain that whips gains or
loses as much energy as it has. What nothing but weights and applied forces can ever act on moves as these say, to the
accuracy of the method. Any other tree is kicked: weights, applied forces, drives and damping change its velocity at the
start, as in every step; from there it moves free of forces, at a constant kinetic energy. For a single free body that
is the step as it always was, with which its bounces fit (see `TimeStepping`, v_min).
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.multibody.kernels.layout import Tree, tree
from contactlab.multibody.kernels.ltl import solve_vector_l, solve_vector_lt
from contactlab.multibody.kernels.runge_kutta import runge_kutta
from contactlab.multibody.kernels.workspace import frames, part_at, rows_at
from contactlab.stepping.kernels.layout import (
    ASLEEP,
    FREE_ALONE,
    FREE_EULER,
    FREE_FLOAT,
    FREE_FLOAT_END,
    FREE_INT,
    FREE_INT_END,
    FREE_KIND,
    FREE_Q,
    FREE_Q_END,
    TREE_BLOCK,
    TREE_DOF,
    TREE_LINK,
    Control,
    FloatArray,
    PackedWorld,
    Work,
)
from lcp.kernels import kernel

#: Radians in a step below which velocity products of a kicked tree are as good at the start of the step.
SLOW: Final = 1e-3


@kernel(inner=True)
def weights(t: Tree, S: FloatArray, B: FloatArray, first: int, last: int, out: FloatArray) -> None:
    """Generalised weights of a whole tree, links first ... last - 1, on the left-hand side: they lift it.

    ``S`` (n, 6) are the motion columns of its velocities, ``B`` the inertias of the composites.
    """
    x, y, z = -t.gravity[0], -t.gravity[1], -t.gravity[2]
    begin = t.iv[first]
    for i in range(first, last):
        Bi = B[i]
        for j in range(t.iv[i] - begin, t.iv[i + 1] - begin):
            s = S[j]
            turn = s[0] * (Bi[2] * z - Bi[3] * y) + s[1] * (Bi[3] * x - Bi[1] * z) + s[2] * (Bi[1] * y - Bi[2] * x)
            out[j] = turn + Bi[0] * (s[3] * x + s[4] * y + s[5] * z)


@kernel(inner=True)
def is_slow(t: Tree, V: FloatArray, first: int, last: int, h: float) -> bool:
    """Whether no heavy link among first ... last - 1 turns noticeably in a step."""
    fastest = 0.0
    for i in range(first, last):
        if t.mass[i] > 0.0:
            fastest = max(fastest, V[i, 0] * V[i, 0] + V[i, 1] * V[i, 1] + V[i, 2] * V[i, 2])
    return h * math.sqrt(fastest) <= SLOW


@kernel(inner=True)
def move_tree(world: PackedWorld, work: Work, k: int, h: float, wanted: int) -> int:
    """Write the end of the step of tree k to v_plus and q_plus; in how many parts, 0 where it is left to Euler's rule.

    ``wanted``: in so many, 0 for as many as it takes. v_free, L and the products are those of `free_motion`.
    """
    row = world.free[k]
    ints = world.free_ints[row[FREE_INT] : row[FREE_INT_END]]
    floats = world.free_floats[row[FREE_FLOAT] : row[FREE_FLOAT_END]]
    a, b = world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]
    n = b - a
    own = rows_at(work.free, 0, 2, n)
    start, force = own[0], own[1]
    for j in range(n):
        if row[FREE_KIND] == FREE_ALONE:
            start[j] = work.v[a + j]
            force[j] = work.tau[a + j]
        else:
            start[j] = work.products[a + j]
            force[j] = 0.0
    if row[FREE_KIND] != FREE_ALONE:
        branch = world.branch[a:b]
        L = rows_at(work.L, world.trees[k, TREE_BLOCK], n, n)
        solve_vector_lt(branch, 0, L, start)
        solve_vector_l(branch, 0, L, start)
        for j in range(n):
            start[j] += work.v_free[a + j]
    memory = part_at(work.free, 2 * n, work.free.shape[0] - 2 * n)
    q, q_plus = work.q[row[FREE_Q] : row[FREE_Q_END]], work.q_plus[row[FREE_Q] : row[FREE_Q_END]]
    return runge_kutta(ints, floats, q, start, force, h, memory, wanted, q_plus, work.v_plus[a:b])


@kernel
def move_free_trees(world: PackedWorld, work: Work, control: Control, h: float) -> None:
    """Move all trees that are free in the step and not moved well by Euler's rule, as long as the method can.

    The head of W holds the kinematics at the start. What turns so fast that the method would take too many parts is
    left to that rule, which gives it no energy.
    """
    t = tree(world.ints, world.floats)
    f = frames(work.W, t.parent.shape[0], t.dof_parent.shape[0])
    for k in range(world.trees.shape[0] - 1):
        work.parts[k] = 0
        kind = world.free[k, FREE_KIND]
        if kind == FREE_EULER or work.island_of[k] >= 0 or (control.sleep != 0 and work.asleep[k] == ASLEEP):
            continue
        first, last = world.trees[k, TREE_LINK], world.trees[k + 1, TREE_LINK]
        if kind != FREE_ALONE and is_slow(t, f.V, first, last, h):
            continue
        work.parts[k] = move_tree(world, work, k, h, 0)

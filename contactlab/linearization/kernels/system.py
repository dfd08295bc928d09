"""The linear system of one island's unknown forces, and what comes of it.

With Y = M^^-1 G the forces of an island solve (h H Y^T + D) df = right - H X, of X = M^^-1 dr. Where some are redundant
that is singular, and they are those selected: of contacts that give way alike, in the limit of none. Every force then
gets a small compliance, once, twice and four times, of which the limit follows by extrapolation; its error is the
square of the compliance, rounding its inverse. What the right-hand side is off by within the compliance counts there,
too: rates change by (dH) v at the velocity that the compliance adds, not at v+ alone.
"""

from __future__ import annotations

import math

from contactlab.linearization.kernels.contact_rates import at_velocity, speed_rates
from contactlab.linearization.kernels.layout import COMPLIANCE, EPS, REDUNDANT, SLIDE, Memory
from contactlab.linearization.kernels.pieces import across
from contactlab.multibody.kernels.ltl import solve_l, solve_lt
from contactlab.multibody.kernels.sizes import POSES
from contactlab.multibody.kernels.views import rows_at
from contactlab.stepping.kernels.blocks import solve_tree
from contactlab.stepping.kernels.layout import TREE_BLOCK, TREE_DOF, Control, FloatArray, IntArray, PackedWorld, Work
from lcp.contacts.kernels.contact_modes import ALONG, STICK
from lcp.kernels import kernel
from lcp.kernels.basis_solve import lu_factor


@kernel(inner=True, long_loops=True)
def apply_inverse(world: PackedWorld, work: Work, X: FloatArray) -> None:
    """X (nv, columns) := M^^-1 X, tree by tree."""
    for k in range(world.trees.shape[0] - 1):
        a = world.trees[k, TREE_DOF]
        b = world.trees[k + 1, TREE_DOF]
        L = rows_at(work.L, world.trees[k, TREE_BLOCK], b - a, b - a)
        solve_lt(world.branch[a:b], L, X[a:b])
        solve_l(world.branch[a:b], L, X[a:b])


@kernel(inner=True)
def fill_responses(world: PackedWorld, work: Work, m: Memory, i: int, u: int, end: int) -> None:
    """Fill rows u .. end of Y, of unknowns of island i."""
    for row in range(u, end):
        for j in range(m.v.shape[0]):
            m.Y[row, j] = m.G[row, j]
        for n in range(work.tree_start[i], work.tree_start[i + 1]):
            k = work.island_trees[n]
            solve_tree(world, work, k, m.Y[row, world.trees[k, TREE_DOF] : world.trees[k + 1, TREE_DOF]])


@kernel(inner=True, long_loops=True)
def fill_matrix(m: Memory, h: float, u: int, end: int, S: FloatArray) -> None:
    """S = h H Y^T + D of the unknowns u .. end."""
    for row in range(u, end):
        own = m.H[row]
        for column in range(u, end):
            other = m.Y[column]
            total = 0.0
            for j in range(own.shape[0]):
                total += own[j] * other[j]
            S[row - u, column - u] = h * total
        S[row - u, row - u] += m.D[row]


@kernel(inner=True)
def compliance(S: FloatArray) -> float:
    """A small share of the least response of any unknown to itself."""
    least = math.inf
    for i in range(S.shape[0]):
        if S[i, i] > 0.0:
            least = min(least, S[i, i])
    return COMPLIANCE * least if least < math.inf else COMPLIANCE


@kernel(inner=True)
def is_redundant(S: FloatArray, size: float) -> bool:
    """Whether a factored S has pivots that are rounding, ``size`` being its largest entry."""
    least = math.inf
    for i in range(S.shape[0]):
        least = min(least, abs(S[i, i]))
    return not least > REDUNDANT * size


@kernel(inner=True, long_loops=True)
def solve_rows(S: FloatArray, perm: IntArray, right: FloatArray, out: FloatArray) -> None:
    """out (n, columns) = S^-1 right, S being factored."""
    n = S.shape[0]
    for i in range(n):
        own = out[i]
        given = right[perm[i]]
        for k in range(own.shape[0]):
            own[k] = given[k]
        for j in range(i):
            factor = S[i, j]
            if factor != 0.0:
                other = out[j]
                for k in range(own.shape[0]):
                    own[k] -= factor * other[k]
    for i in range(n - 1, -1, -1):
        own = out[i]
        for j in range(i + 1, n):
            factor = S[i, j]
            if factor != 0.0:
                other = out[j]
                for k in range(own.shape[0]):
                    own[k] -= factor * other[k]
        inverse = 1.0 / S[i, i]
        for k in range(own.shape[0]):
            own[k] *= inverse


@kernel(inner=True, long_loops=True)
def subtract_motion(m: Memory, u: int, end: int) -> None:
    """right -= H X, of the unknowns u .. end."""
    for row in range(u, end):
        own = m.right[row]
        for j in range(m.X.shape[0]):
            factor = m.H[row, j]
            if factor != 0.0:
                moved = m.X[j]
                for k in range(own.shape[0]):
                    own[k] -= factor * moved[k]


@kernel(inner=True, long_loops=True)
def add_motion(m: Memory, h: float, u: int, end: int, number: int) -> None:
    """moved += h Y^T df, of the unknowns u .. end at one of the compliances."""
    for row in range(u, end):
        forces = m.solved[number, row]
        for j in range(m.X.shape[0]):
            factor = h * m.Y[row, j]
            if factor != 0.0:
                own = m.moved[number, j]
                for k in range(own.shape[0]):
                    own[k] += factor * forces[k]


@kernel(inner=True)
def lag_of(work: Work, m: Memory, S: FloatArray, h: float, eps: float, u: int, end: int) -> None:
    """Add to m.lag what the velocity changes by per unit of compliance, from the piece solved with eps.

    S is factored. The piece has H v + D f + k = 0, of which k is what v+ and the forces leave.
    """
    n = end - u
    right, forces = rows_at(m.base[0], 0, n, 1), rows_at(m.base[1], 0, n, 1)
    # df = (S + eps)^-1 (-eps f): the change of the forces from where they are.
    for row in range(n):
        right[row, 0] = -eps * m.f[u + row]
    solve_rows(S, m.perm, right, forces)
    for row in range(n):
        factor = h * forces[row, 0] / eps
        for j in range(m.lag.shape[0]):
            m.lag[j] += factor * m.Y[u + row, j]


@kernel(inner=True)
def add_lag(m: Memory, control: Control, eps: float, u: int, end: int) -> None:
    """Take eps (dH) lag off the right-hand sides of contacts' unknowns u .. end."""
    nv = m.v.shape[0]
    row = u
    while row < end:
        c = m.owner[row, 0]
        if c < 0:
            row += 1
            continue
        mode, count, own = m.mode[c, 0], m.mode[c, 2], m.contact[c]
        for j in range(nv):
            m.right[row, j] -= eps * m.drawn[c, 0, j]
        if mode == STICK:
            for axis in range(1, count):
                for j in range(nv):
                    m.right[row + axis, j] -= eps * m.drawn[c, axis, j]
        elif mode != ALONG and count > 1:
            mu = math.sqrt(own[SLIDE] ** 2 + own[SLIDE + 1] ** 2)
            x, y = across(m, control, c, mu)
            for j in range(nv):
                m.right[row + 1, j] -= eps * (x * m.drawn[c, 1, j] + y * m.drawn[c, 2, j])
        row += count


@kernel
def solve_island(
    world: PackedWorld, work: Work, m: Memory, control: Control, h: float, i: int, u: int, end: int
) -> float:
    """Fill `m.solved` and add to `m.moved`, at one, two and four compliances, of the unknowns u .. end of island i.

    The compliance is returned, 0 where none is needed; then all are the same.
    """
    n = end - u
    S, perm = rows_at(m.S, 0, n, n), m.perm
    fill_responses(world, work, m, i, u, end)
    subtract_motion(m, u, end)
    fill_matrix(m, h, u, end, S)
    eps = compliance(S)
    size = 0.0
    for row in range(n):
        size = max(size, abs(S[row, row]))
    if lu_factor(S, n, perm) and not is_redundant(S, size):
        eps = 0.0
        solve_rows(S, perm, m.right[u:end], m.solved[0, u:end])
        for row in range(u, end):
            for k in range(m.right.shape[1]):
                m.solved[1, row, k] = m.solved[0, row, k]
                m.solved[2, row, k] = m.solved[0, row, k]
    else:
        for number in range(3):
            times = 2**number
            fill_matrix(m, h, u, end, S)
            for row in range(n):
                S[row, row] += times * eps
            lu_factor(S, n, perm)
            if number == 0:
                lag_of(work, m, S, h, eps, u, end)
                at_velocity(world, m, m.lag, POSES)
                speed_rates(world, work, m, control, False, False, m.drawn)
            # Those of the compliance before are off already.
            add_lag(m, control, eps if number == 0 else 0.5 * times * eps, u, end)
            solve_rows(S, perm, m.right[u:end], m.solved[number, u:end])
    for number in range(3):
        add_motion(m, h, u, end, number)
    for row in range(u, end):
        if m.owner[row, 0] >= 0:
            m.contact[m.owner[row, 0], EPS] = eps
    return eps

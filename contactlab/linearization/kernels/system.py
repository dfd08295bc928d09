"""The linear system of one island's unknown forces, and what comes of it.

With Y = M^^-1 G the forces of an island solve (h H Y^T + D) df = right - H X, of X = M^^-1 dr. Where some are redundant
that is singular, and they are those selected: of contacts that give way alike, in the limit of none. Every force then
gets a small compliance, of which the limit follows by extrapolation; its error is the square of the compliance,
rounding its inverse. What the right-hand side is off by within the compliance counts, too: rates change by (dH) v at
the velocity that the compliance adds, not at v+ alone.
"""

from __future__ import annotations

import math

from contactlab.linearization.kernels.contact_frames import at_velocity
from contactlab.linearization.kernels.contact_rates import speed_rates
from contactlab.linearization.kernels.layout import COMPLIANCE, EPS, REDUNDANT, SURE, Memory
from contactlab.linearization.kernels.pieces import unknown_direction
from contactlab.linearization.kernels.yielding import let_friction_yield
from contactlab.multibody.kernels.ltl import solve_l, solve_lt
from contactlab.multibody.kernels.sizes import POSES
from contactlab.multibody.kernels.workspace import rows_at
from contactlab.stepping.kernels.blocks import solve_tree
from contactlab.stepping.kernels.layout import (
    TREE_BLOCK,
    TREE_DOF,
    FloatArray,
    IntArray,
    PackedWorld,
    StepControl,
    StepWork,
)
from lcp.kernels import kernel
from lcp.kernels.basis_solve import lu_factor


@kernel(inner=True, long_loops=True)
def apply_inverse(world: PackedWorld, work: StepWork, X: FloatArray) -> None:
    """X (nv, columns) := M^^-1 X, tree by tree."""
    for k in range(world.trees.shape[0] - 1):
        a = world.trees[k, TREE_DOF]
        b = world.trees[k + 1, TREE_DOF]
        L = rows_at(work.L, world.trees[k, TREE_BLOCK], b - a, b - a)
        solve_lt(world.branch[a:b], L, X[a:b])
        solve_l(world.branch[a:b], L, X[a:b])


@kernel(inner=True)
def gather(world: PackedWorld, work: StepWork, m: Memory, i: int, u: int, end: int) -> tuple[int, int]:
    """Fill Y of the unknowns u .. end of island i, and copies of H, Y and X of its own velocities and columns alone.

    How many velocities and columns these are is returned.
    """
    nv, n = m.v.shape[0], 0
    for place in range(work.tree_start[i], work.tree_start[i + 1]):
        k = work.island_trees[place]
        for j in range(world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]):
            m.dofs[n] = j
            n += 1
    count = 0
    for part in range(3):
        for place in range(n):
            m.own_columns[count] = part * nv + m.dofs[place]
            count += 1
    for k in range(3 * nv, m.X.shape[1]):
        m.own_columns[count] = k
        count += 1
    H, Y, X = rows_at(m.H_own, 0, end - u, n), rows_at(m.Y_own, 0, end - u, n), rows_at(m.X_own, 0, n, count)
    for row in range(u, end):
        for j in range(nv):
            m.Y[row, j] = m.G[row, j]
        for place in range(work.tree_start[i], work.tree_start[i + 1]):
            k = work.island_trees[place]
            solve_tree(world, work, k, m.Y[row, world.trees[k, TREE_DOF] : world.trees[k + 1, TREE_DOF]])
        for place in range(n):
            H[row - u, place] = m.H[row, m.dofs[place]]
            Y[row - u, place] = m.Y[row, m.dofs[place]]
    for place in range(n):
        for k in range(count):
            X[place, k] = m.X[m.dofs[place], m.own_columns[k]]
    return n, count


@kernel(inner=True, long_loops=True)
def fill_matrix(h: float, D: FloatArray, H: FloatArray, Y: FloatArray, S: FloatArray) -> None:
    """S = h H Y^T + D."""
    for row in range(S.shape[0]):
        own = H[row]
        for column in range(S.shape[0]):
            other = Y[column]
            total = 0.0
            for j in range(own.shape[0]):
                total += own[j] * other[j]
            S[row, column] = h * total
        S[row, row] += D[row]


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


@kernel(inner=True)
def is_soft(D: FloatArray) -> bool:
    """Whether any force gives way by itself."""
    largest = 0.0
    for i in range(D.shape[0]):
        largest = max(largest, D[i])
    return largest > 0.0


@kernel(inner=True, long_loops=True)
def take_off(row: FloatArray, out: FloatArray, first: int, last: int, own: FloatArray) -> None:
    """own -= row[first:last] out[first:last], four rows at a time."""
    j = first
    while j + 3 < last:
        a, b, c, d = row[j], row[j + 1], row[j + 2], row[j + 3]
        one, two, three, four = out[j], out[j + 1], out[j + 2], out[j + 3]
        for k in range(own.shape[0]):
            own[k] = own[k] - a * one[k] - b * two[k] - c * three[k] - d * four[k]
        j += 4
    while j < last:
        a = row[j]
        one = out[j]
        for k in range(own.shape[0]):
            own[k] -= a * one[k]
        j += 1


@kernel(inner=True)
def solve_rows(S: FloatArray, perm: IntArray, right: FloatArray, out: FloatArray) -> None:
    """out (n, columns) = S^-1 right, S being factored."""
    n = S.shape[0]
    for i in range(n):
        own, given = out[i], right[perm[i]]
        for k in range(own.shape[0]):
            own[k] = given[k]
        take_off(S[i], out, 0, i, own)
    for i in range(n - 1, -1, -1):
        own = out[i]
        take_off(S[i], out, i + 1, n, own)
        inverse = 1.0 / S[i, i]
        for k in range(own.shape[0]):
            own[k] *= inverse


@kernel(inner=True)
def lag_of(m: Memory, S: FloatArray, h: float, u: int, end: int) -> float:
    """Add to m.lag what the velocity changes by per unit of compliance; the largest change of a force, of the largest.

    S is factored, with eps. The piece has H v + D f + k = 0, of which k is what v+ and the forces leave.
    """
    n = end - u
    right, forces = rows_at(m.base[0], 0, n, 1), rows_at(m.base[1], 0, n, 1)
    # df = (S + eps)^-1 (-eps f): the change of the forces from where they are.
    for row in range(n):
        right[row, 0] = -m.f[u + row]
    solve_rows(S, m.perm, right, forces)
    largest, change = 0.0, 0.0
    for row in range(n):
        factor = h * forces[row, 0]
        for j in range(m.lag.shape[0]):
            m.lag[j] += factor * m.Y[u + row, j]
        largest, change = max(largest, abs(m.f[u + row])), max(change, abs(forces[row, 0]))
    return change / largest if largest > 0.0 else 0.0


@kernel(inner=True)
def take_late(m: Memory, columns: int, u: int, end: int, eps: float, out: FloatArray) -> None:
    """out (n, columns) -= eps (dH) lag, of contacts' unknowns u .. end and the island's own columns."""
    cones = m.mode.shape[1]
    row = u
    while row < end:
        c = m.owner[row, 0]
        if c < 0:
            row += 1
            continue
        drawn, first = m.drawn[c], m.first[c]
        add_late(m, columns, -eps, drawn[0], out[row - u])
        for cone in range(cones):
            for other in range(first[1 + cone], first[2 + cone]):
                x, y = unknown_direction(m, c, cone, other - first[1 + cone])
                add_late(m, columns, -eps * x, drawn[1 + 2 * cone], out[other - u])
                add_late(m, columns, -eps * y, drawn[2 + 2 * cone], out[other - u])
        row = first[1 + cones]


@kernel(inner=True)
def add_late(m: Memory, columns: int, times: float, drawn: FloatArray, out: FloatArray) -> None:
    """out += times drawn, in the island's own columns."""
    if times == 0.0:
        return
    for k in range(columns):
        j = m.own_columns[k]
        if j >= drawn.shape[0]:
            break
        out[k] += times * drawn[j]


@kernel(inner=True, long_loops=True)
def add_motion(h: float, Y: FloatArray, f: FloatArray, moved: FloatArray) -> None:
    """moved += h Y^T f."""
    for row in range(f.shape[0]):
        forces = f[row]
        for j in range(moved.shape[0]):
            factor = h * Y[row, j]
            if factor != 0.0:
                own = moved[j]
                for k in range(own.shape[0]):
                    own[k] += factor * forces[k]


@kernel
def solve_island(
    world: PackedWorld, work: StepWork, m: Memory, control: StepControl, h: float, i: int, u: int, end: int
) -> None:
    """Fill `m.solved` and `m.moved` of island i, of its unknowns u .. end."""
    size = end - u
    n, columns = gather(world, work, m, i, u, end)
    H, Y, X = rows_at(m.H_own, 0, size, n), rows_at(m.Y_own, 0, size, n), rows_at(m.X_own, 0, n, columns)
    S, D = rows_at(m.S, 0, size, size), m.D[u:end]
    right, f = rows_at(m.right_own, 0, size, columns), rows_at(m.forces_own, 0, size, columns)
    for row in range(size):
        for k in range(columns):
            right[row, k] = m.right[u + row, m.own_columns[k]]
        take_off(H[row], X, 0, n, right[row])
    fill_matrix(h, D, H, Y, S)
    eps, largest = compliance(S), 0.0
    for row in range(size):
        largest = max(largest, abs(S[row, row]))
    m.nearly[i], m.yields[i] = 0, 0
    # More forces than velocities are redundant, but for soft ones.
    if (size <= n or is_soft(D)) and lu_factor(S, size, m.perm) and not is_redundant(S, largest):
        eps = 0.0
    else:
        if size <= n or is_soft(D):
            fill_matrix(h, D, H, Y, S)
        for row in range(size):
            S[row, row] += eps
        lu_factor(S, size, m.perm)
        m.nearly[i] = 1 if eps * lag_of(m, S, h, u, end) > SURE else 0
        at_velocity(world, m, m.lag, POSES)
        speed_rates(world, work, m, control, False, False, m.drawn)
        if m.mode.shape[1] > 1:
            asked = rows_at(m.late_own, 0, size, columns)
            m.yields[i] = 1 if let_friction_yield(m, H, right, Y, asked, u, end) else 0
        # Whose degrees of freedom stand where those of the island did.
        gather(world, work, m, i, u, end)
        take_late(m, columns, u, end, eps, right)
    solve_rows(S, m.perm, right, f)
    if eps > 0.0:
        # f(eps) = (S + eps)^-1 (r - eps r1) is off by eps (S + eps)^-1 (f + r1), but for the square of eps.
        late = rows_at(m.late_own, 0, size, columns)
        for row in range(size):
            for k in range(columns):
                late[row, k] = f[row, k]
        take_late(m, columns, u, end, -1.0, late)
        solve_rows(S, m.perm, late, right)
        for row in range(size):
            for k in range(columns):
                f[row, k] += eps * right[row, k]
    for row in range(u, end):
        if m.owner[row, 0] >= 0:
            m.contact[m.owner[row, 0], EPS] = eps
    for row in range(size):
        for k in range(columns):
            m.solved[u + row, m.own_columns[k]] = f[row, k]
    add_motion(h, Y, f, X)
    for j in range(n):
        for k in range(columns):
            m.moved[m.dofs[j], m.own_columns[k]] = X[j, k]

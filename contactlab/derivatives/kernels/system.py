"""The linear system of one island's unknown forces, and the resulting derivatives.

With Y = M^^-1 G the forces of an island solve (h H Y^T + D) df = right - H X, with X = M^^-1 dr. Redundant forces make
the matrix singular. The forces are then the selected ones, with equal compliance in the limit of zero. Every force gets
a small compliance, and the limit follows by extrapolation; its error is of the order of the square of the compliance,
its rounding of the inverse. The compliance also changes the right-hand side: rates change by (dH) v also at the
velocity that the compliance adds to v+.

Normal rows take precedence over rows of sticking friction. Two examples show the conflict. A box on its face has gaps
at four corners that a tilt changes, and rolling friction that forbids the tilt. A ball between a floor and a wall
follows its gaps by slipping at one of them. Friction is bounded: normal forces determine the motion, and friction jumps
to its bound, moments before forces. So the required rates of friction are made consistent with motions that earlier
rows determine.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.derivatives.kernels import COMPLIANCE, COMPLIANCE_ERROR, EPS, REDUNDANT, DerivativeWork
from contactlab.derivatives.kernels.contact_frames import at_velocity, axpy, dot
from contactlab.derivatives.kernels.contact_rates import speed_rates
from contactlab.derivatives.kernels.linear_piece import unknown_direction
from contactlab.multibody.kernels import POSES
from contactlab.multibody.kernels.mass_matrix import solve_l, solve_lt
from contactlab.multibody.spatial.kernels import copy
from contactlab.simulation.stepping.kernels.arrays import PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import solve_tree
from contactlab.simulation.stepping.kernels.layout import TREE_BLOCK, TREE_DOF, FloatArray, IntArray, StepControl
from lcp.compiler.views import view_2d
from lcp.kernels import Floats, kernel
from lcp.kernels.basis_solve import lu_factor
from lcp.kernels.reductions import largest_size

#: Fraction of a row, or of a rate, that is rounding.
ROUNDING: Final = 1e-6


@kernel(inner=True)
def orthogonal_component(
    H: Floats, right: Floats, rows: Floats, rates: Floats, count: int, at: int, place: int
) -> float:
    """Set row ``place`` of rows and rates to row ``at`` minus its projection on the first ``count``; return its length.

    The first rows are orthonormal. If the length is 0, the remaining rates are the inconsistency of the row.
    """
    row, rate = rows[place], rates[place]
    copy(H[at], row)
    copy(right[at], rate)
    # Twice, because of rounding in the first pass.
    for k in range(2 * count):
        share = dot(row, rows[k % count])
        axpy(row, -share, rows[k % count])
        axpy(rate, -share, rates[k % count])
    return math.sqrt(dot(row, row))


@kernel(inner=True)
def add_orthonormal_row(H: Floats, right: Floats, rows: Floats, rates: Floats, count: int, at: int) -> int:
    """Add the component of row ``at`` that is orthogonal to ``count`` orthonormal rows; return their new number."""
    if count == H.shape[1]:
        return count
    length = orthogonal_component(H, right, rows, rates, count, at, count)
    if not length > ROUNDING * math.sqrt(dot(H[at], H[at])):
        return count
    axpy(rows[count], 1.0 / length - 1.0, rows[count])
    axpy(rates[count], 1.0 / length - 1.0, rates[count])
    return count + 1


@kernel(inner=True)
def release_conflicting_friction(
    m: DerivativeWork, H: Floats, right: Floats, rows: Floats, rates: Floats, u: int, end: int
) -> bool:
    """Make required rates (size, columns) of friction consistent with earlier rows; return True if any changed.

    The unknowns ``u`` to ``end`` - 1 have the rows H (size, n); ``rows`` and ``rates`` of the same size are scratch.
    Normal forces come first, then friction, then moments.
    """
    # Largest required rate.
    count, scale, yielded = 0, 0.0, False
    for row in range(end - u):
        for k in range(right.shape[1]):
            scale = max(scale, abs(right[row, k]))
    # Normal rows, friction, moments: make consistent, then add to the orthonormal rows.
    for part in range(1 + m.mode.shape[1]):
        for at in range(end - u):
            c = m.owner[u + at, 0]
            # A compliant force has no required rate.
            if c < 0 or m.first[c, part] != u + at or m.first[c, part + 1] == u + at or m.D[u + at] > 0.0:
                continue
            last = m.first[c, part + 1] - u
            if part > 0 and release_cone(H, right, rows, rates, count, at, last, scale):
                yielded = True
            if part < 2:
                for row in range(at, last):
                    count = add_orthonormal_row(H, right, rows, rates, count, row)
    return yielded


@kernel(inner=True)
def release_cone(
    H: Floats, right: Floats, rows: Floats, rates: Floats, count: int, first: int, last: int, scale: float
) -> bool:
    """Make friction of one cone (one row or two) consistent with ``count`` rows; return True if it was not."""
    # Components of the rows that the other rows do not determine, and their products.
    own = dot(H[first], H[first])
    a, b, off = orthogonal_component(H, right, rows, rates, count, first, count) ** 2, 0.0, 0.0
    if last - first > 1:
        own += dot(H[first + 1], H[first + 1])
        b = orthogonal_component(H, right, rows, rates, count, first + 1, count + 1) ** 2
        off = dot(rows[count], rows[count + 1])
    # Principal directions (x, y) of these components: a determined direction gets the determined rate.
    angle = 0.5 * math.atan2(2.0 * off, a - b) if last - first > 1 else 0.0
    yielded = False
    for i in range(last - first):
        x, y = (math.cos(angle), math.sin(angle)) if i == 0 else (-math.sin(angle), math.cos(angle))
        if x * x * a + 2.0 * x * y * off + y * y * b > ROUNDING * ROUNDING * own:
            continue
        for k in range(right.shape[1]):
            more = x * rates[count, k]
            if last - first > 1:
                more += y * rates[count + 1, k]
                right[first + 1, k] -= y * more
            right[first, k] -= x * more
            yielded = yielded or abs(more) > ROUNDING * scale
    return yielded


@kernel(inner=True, long_loops=True)
def apply_inverse(world: PackedWorld, work: StepWork, X: FloatArray) -> None:
    """Replace X (nv, columns) by the product of the inverse of M^ (see `free_rates`) with X, tree by tree."""
    for k in range(world.trees.shape[0] - 1):
        a = world.trees[k, TREE_DOF]
        b = world.trees[k + 1, TREE_DOF]
        L = view_2d(work.L, world.trees[k, TREE_BLOCK], b - a, b - a)
        solve_lt(world.branch[a:b], L, X[a:b])
        solve_l(world.branch[a:b], L, X[a:b])


@kernel(inner=True)
def gather_island(world: PackedWorld, work: StepWork, m: DerivativeWork, i: int, u: int, end: int) -> tuple[int, int]:
    """Fill Y of the unknowns ``u`` to ``end`` - 1 of island i, and copies of H, Y and X in its velocities and columns.

    Return the numbers of these velocities and columns.
    """
    nv, n = m.v.shape[0], 0
    # Velocities of the island, and columns by its q, v, tau, by targets and parameters.
    for place in range(work.tree_start[i], work.tree_start[i + 1]):
        k = work.island_trees[place]
        for j in range(world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]):
            m.dofs[n] = j
            n += 1
    for part in range(3):
        for place in range(n):
            m.own_columns[part * n + place] = part * nv + m.dofs[place]
    count = 3 * n + m.X.shape[1] - 3 * nv
    for k in range(3 * n, count):
        m.own_columns[k] = k - 3 * n + 3 * nv
    # Responses of the forces, and the copies.
    H, Y, X = view_2d(m.H_island, 0, end - u, n), view_2d(m.Y_own, 0, end - u, n), view_2d(m.X_own, 0, n, count)
    for row in range(u, end):
        copy(m.G[row], m.Y[row])
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
    """Fill S with h H Y^T + D."""
    for row in range(S.shape[0]):
        for column in range(S.shape[0]):
            S[row, column] = h * dot(H[row], Y[column])
        S[row, row] += D[row]


@kernel(inner=True)
def compliance(S: FloatArray) -> tuple[float, float]:
    """Return eps, the compliance that makes S regular, and the largest diagonal entry of S in magnitude.

    eps is `COMPLIANCE` times the smallest positive diagonal entry.
    """
    least, largest = math.inf, 0.0
    for i in range(S.shape[0]):
        largest = max(largest, abs(S[i, i]))
        if S[i, i] > 0.0:
            least = min(least, S[i, i])
    return COMPLIANCE * least if least < math.inf else COMPLIANCE, largest


@kernel(inner=True)
def is_redundant(S: FloatArray, size: float) -> bool:
    """Return True if a factored S with largest entry ``size`` has pivots that are rounding."""
    least = math.inf
    for i in range(S.shape[0]):
        least = min(least, abs(S[i, i]))
    return not least > REDUNDANT * size


@kernel(inner=True, long_loops=True)
def subtract_product(row: FloatArray, out: FloatArray, first: int, last: int, own: FloatArray) -> None:
    """Subtract row[first:last] out[first:last] from own, four rows at a time."""
    # Four at a time, then the rest.
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
    """Fill out (n, columns) with S^-1 right, for S as factored with the row order ``perm``."""
    n = S.shape[0]
    # Forward substitution, then back substitution.
    for i in range(n):
        copy(right[perm[i]], out[i])
        subtract_product(S[i], out, 0, i, out[i])
    for i in range(n - 1, -1, -1):
        subtract_product(S[i], out, i + 1, n, out[i])
        inverse = 1.0 / S[i, i]
        for k in range(out.shape[1]):
            out[i, k] *= inverse


@kernel(inner=True)
def add_compliance_velocity(m: DerivativeWork, S: FloatArray, h: float, u: int, end: int) -> float:
    """Add to m.compliance_velocity the change of v+ per unit of compliance in all rows of an island.

    S is the factored matrix of its rows ``u`` to ``end``, with eps. Return the largest force change per unit of
    compliance, divided by the largest force.
    """
    n = end - u
    right, forces = view_2d(m.base[0], 0, n, 1), view_2d(m.base[1], 0, n, 1)
    # df = (S + eps)^-1 (-eps f): the change of the forces.
    for row in range(n):
        right[row, 0] = -m.f[u + row]
    solve_rows(S, m.perm, right, forces)
    largest, change = 0.0, 0.0
    for row in range(n):
        axpy(m.compliance_velocity, h * forces[row, 0], m.Y[u + row])
        largest, change = max(largest, abs(m.f[u + row])), max(change, abs(forces[row, 0]))
    return change / largest if largest > 0.0 else 0.0


@kernel(inner=True)
def subtract_compliance_terms(m: DerivativeWork, columns: int, u: int, end: int, eps: float, out: FloatArray) -> None:
    """Subtract eps times dH y from out (n, columns), with y = m.compliance_velocity.

    dH are the derivatives of the rows H of the unknowns, by the columns of the island. Rows of joints have none here.
    ``u`` to ``end`` - 1 are the island's unknowns.
    """
    cones = m.mode.shape[1]
    # Contact by contact: the normal row, then the rows of each cone.
    row = u
    while row < end:
        c = m.owner[row, 0]
        if c < 0:
            row += 1
            continue
        rates, first = m.compliance_rates[c], m.first[c]
        add_compliance_term(m, columns, -eps, rates[0], out[row - u])
        for cone in range(cones):
            for other in range(first[1 + cone], first[2 + cone]):
                x, y = unknown_direction(m, c, cone, other - first[1 + cone])
                add_compliance_term(m, columns, -eps * x, rates[1 + 2 * cone], out[other - u])
                add_compliance_term(m, columns, -eps * y, rates[2 + 2 * cone], out[other - u])
        row = first[1 + cones]


@kernel(inner=True)
def add_compliance_term(m: DerivativeWork, columns: int, times: float, rates: FloatArray, out: FloatArray) -> None:
    """Add ``times`` times ``rates`` to ``out`` (columns,): entry k belongs to column m.own_columns[k] of the step.

    Columns beyond the end of ``rates`` count as 0.
    """
    for k in range(columns):
        j = m.own_columns[k]
        if j < rates.shape[0]:
            out[k] += times * rates[j]


@kernel
def solve_island(
    world: PackedWorld, work: StepWork, m: DerivativeWork, control: StepControl, h: float, i: int, u: int, end: int
) -> None:
    """Fill `m.solved` and `m.moved` of island i, with its unknowns ``u`` to ``end`` - 1."""
    size = end - u
    n, columns = gather_island(world, work, m, i, u, end)
    H, Y, X = view_2d(m.H_island, 0, size, n), view_2d(m.Y_own, 0, size, n), view_2d(m.X_own, 0, n, columns)
    S, D = view_2d(m.S, 0, size, size), m.D[u:end]
    right, f = view_2d(m.right_own, 0, size, columns), view_2d(m.forces_own, 0, size, columns)
    # Right-hand side minus the motion without these forces, and the matrix.
    for row in range(size):
        for k in range(columns):
            right[row, k] = m.right[u + row, m.own_columns[k]]
        subtract_product(H[row], X, 0, n, right[row])
    fill_matrix(h, D, H, Y, S)
    eps, largest = compliance(S)
    m.nearly[i], m.friction_released[i] = 0, 0
    # More forces than velocities are redundant, except for compliant ones.
    if (size <= n or largest_size(D) > 0.0) and lu_factor(S, size, m.perm) and not is_redundant(S, largest):
        eps = 0.0
    else:
        # Redundant: solve with a small compliance, and include its effect on the rates.
        fill_matrix(h, D, H, Y, S)
        for row in range(size):
            S[row, row] += eps
        lu_factor(S, size, m.perm)
        m.nearly[i] = 1 if eps * add_compliance_velocity(m, S, h, u, end) > COMPLIANCE_ERROR else 0
        at_velocity(world, m, m.compliance_velocity, POSES)
        speed_rates(world, work, m, control, False, m.compliance_rates)
        if m.mode.shape[1] > 1:
            asked = view_2d(m.island_compliance_terms, 0, size, columns)
            m.friction_released[i] = 1 if release_conflicting_friction(m, H, right, Y, asked, u, end) else 0
        # The list of degrees of freedom was overwritten.
        gather_island(world, work, m, i, u, end)
        subtract_compliance_terms(m, columns, u, end, eps, right)
    solve_rows(S, m.perm, right, f)
    if eps > 0.0:
        # f(eps) = (S + eps)^-1 (r - eps r1) has the error eps (S + eps)^-1 (f + r1), up to the square of eps.
        late = view_2d(m.island_compliance_terms, 0, size, columns)
        for row in range(size):
            copy(f[row], late[row])
        subtract_compliance_terms(m, columns, u, end, -1.0, late)
        solve_rows(S, m.perm, late, right)
        for row in range(size):
            axpy(f[row], eps, right[row])
    # Copy the forces and the velocities back.
    for row in range(u, end):
        if m.owner[row, 0] >= 0:
            m.contact[m.owner[row, 0], EPS] = eps
    for row in range(size):
        for k in range(columns):
            m.solved[u + row, m.own_columns[k]] = f[row, k]
    for j in range(n):
        for row in range(size):
            axpy(X[j], h * Y[row, j], f[row])
        for k in range(columns):
            m.moved[m.dofs[j], m.own_columns[k]] = X[j, k]

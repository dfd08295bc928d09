"""Assembly of the contact problem: physical rows, friction cones, and the LCP of one step in force units.

With W = J C J' over the unilateral rows [N; F; L] (C is the inverse inertia after elimination of bilateral rows), the
step h and forces f in newtons, the variables are [fN | fF+ | fF- | lambda | fL] and::

        | h W_NN + gN   h W_NF        -h W_NF         0    h W_NL      |        |  N v_free + kN |
        | h W_FN        h W_FF + gF   -h W_FF         E    h W_FL      |        |  F v_free + kF |
    M = |-h W_FN       -h W_FF         h W_FF + gF    E   -h W_FL      |    q = | -F v_free - kF |
        | mu           -E'            -E'             gE   0           |        |  0             |
        | h W_LN        h W_LF        -h W_LF         0    h W_LL + gL |        |  L v_free + kL |

E, mu and -E' do not depend on h, because they compare forces with forces and speeds with speeds. A row of mu has one
entry, in the column of the contact of its cone. Torsional and rolling friction are further cones over the same fN,
whose rows F are angular velocities and whose mu are lengths. The impact problem has h = 1. Boxed rows follow fL as [x |
y]: see `boxed_rows`.

`fill_rows` states the rows that depend on h, `fill_cones` the rows of friction. For contacts between many bodies, most
entries are zero: `contactlab.constraint_solver.strategy_solver.lcp_matrix` states only the other entries, with the same
bits.

Rows of joints join trees in the sparsity of an island. A row of a drive or a limit acts on one tree: an island with it
is as sparse as one with contacts only. An equation of a loop joins two trees. After its elimination, rows of either
tree have columns of both, so the two trees, and the ones between them, become one.
"""

from __future__ import annotations

from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from lcp.contacts.kernels.boxed_rows import (
    add_rate,
    fill_bounds,
    fill_coupling,
    first_boxed,
    next_variables,
    row_variables,
)
from lcp.contacts.kernels.contact_system import ContactSystem, dot_range
from lcp.contacts.kernels.elimination import tree_at
from lcp.kernels import kernel


@kernel
def fill_rates(rows: ContactSystem, q: FloatArray) -> None:
    """Fill q (n,) with the rates of the rows without forces, negated for opposite edges; all other entries are zero."""
    q[:] = 0.0
    x, y = first_boxed(rows)
    for i in range(rows.nc + rows.nr + rows.nl + rows.lo.shape[0]):
        rate = dot_range(0, rows.v_free.shape[0], rows.J[i], rows.v_free, 0.0)
        a, a_less, a_sign, _ = row_variables(rows, i, x, y)
        add_rate(q, a, a_less, a_sign, rate + rows.k[i])
        x, y = next_variables(rows, i, x, y)


@kernel
def fill_rows(rows: ContactSystem, M: FloatArray, q: FloatArray) -> None:
    """Fill q (n,) and the physical blocks of M (n, n), h W + gamma; all other entries become zero.

    Boxed forces at x = y = 0 add to q.

    Notes
    -----
    W_ij is summed once, for j >= i, and mirrored: the physical blocks are symmetric to the last bit.
    """
    nu = rows.nc + rows.nr + rows.nl
    m = nu + rows.lo.shape[0]
    J, Y, nv = rows.J, rows.Y, rows.v_free.shape[0]
    # q, and a cleared M.
    fill_rates(rows, q)
    for i in range(M.shape[0]):
        M[i, :] = 0.0
    # Rows N and L occur once in the LCP, rows F twice: as they are, and negated.
    x, y = first_boxed(rows)
    for i in range(m):
        a, a_less, a_sign, a_force = row_variables(rows, i, x, y)
        x_other, y_other = x, y
        for j in range(i, m):
            b, b_less, b_sign, b_force = row_variables(rows, j, x_other, y_other)
            w = dot_range(0, nv, J[i], Y[j], 0.0) * rows.h
            if i == j and i >= nu:
                w += rows.gamma[i]
            fill_coupling(M, a, a_less, a_sign, b, b_less, b_sign, w)
            if b_force != 0.0:
                add_rate(q, a, a_less, a_sign, w * b_force)
            if a_force != 0.0 and i != j:
                add_rate(q, b, b_less, b_sign, w * a_force)
            x_other, y_other = next_variables(rows, j, x_other, y_other)
        # Softening of [N; F; L] is on the diagonal, also of opposite edges.
        if i < nu:
            M[a, a] += rows.gamma[i]
        if i < nu and a_less >= 0:
            M[a_less, a_less] += rows.gamma[i]
        x, y = next_variables(rows, i, x, y)
    fill_bounds(rows, M, q)


@kernel
def fill_cones(rows: ContactSystem, M: FloatArray) -> None:
    """Fill Coulomb's row of every cone, 0 <= lambda  _|_  mu fN - sum(fF+ + fF-) + gammaE lambda >= 0, in M (n, n)."""
    nr = rows.nr
    # Cone by cone: mu and gammaE in its row, E in the columns of its edges.
    edge = rows.nc
    for c in range(rows.r.shape[0]):
        row = rows.nc + 2 * nr + c
        M[row, rows.cone_contacts[c]] = rows.mu[c]
        M[row, row] = rows.gammaE[c]
        for i in range(edge, edge + rows.r[c]):
            M[i, row] = 1.0
            M[i + nr, row] = 1.0
            M[row, i] = -1.0
            M[row, i + nr] = -1.0
        edge += rows.r[c]


@kernel
def assemble_lcp(rows: ContactSystem, M: FloatArray, q: FloatArray) -> None:
    """Fill M (n, n) and q (n,) of the LCP of the rows [N; F; L; B].

    n is the sum of `first_limit`, nl and the number of `boxed_variables`.
    """
    fill_rows(rows, M, q)
    fill_cones(rows, M)


@kernel
def place_joint_spans(
    nu: int, nl: int, nb: int, J: FloatArray, Y: FloatArray, starts: IntArray, spans: IntArray
) -> int:
    """Join the trees that rows of joints act on, and place all spans; return the number of trees left.

    Parameters
    ----------
    nu, nl, nb
        Numbers of rows [N; F], L and G.
    J, Y
        (m, nv) rows [N; F; L; G; B]; of [N; F] within their spans. Zeros are filled in if spans widen.
    starts
        (trees + 1,) first velocities of the trees, ascending; on output the first entries have the remaining trees.
    spans
        (m - nb, 4) spans of [N; F; L; B]: spans of [N; F] are given, the others are output.
    """
    nv, trees = J.shape[1], starts.shape[0] - 1
    left = trees
    # First and last column of each row of joints; the trees between them become one.
    for i in range(nu, J.shape[0]):
        first, last = nv, 0
        for p in range(nv):
            if J[i, p] != 0.0 or Y[i, p] != 0.0:
                first, last = min(first, p), p
        a = tree_at(starts[: left + 1], min(first, last))
        more = tree_at(starts[: left + 1], last) - a
        if more > 0:
            left -= more
            for k in range(a + 1, left + 1):
                starts[k] = starts[k + more]
        if not nu + nl <= i < nu + nl + nb:
            spans[i if i < nu + nl else i - nb, 0] = last
    # The span of such a row is its tree; spans of [N; F] widen to whole trees.
    for row in range(nu, spans.shape[0]):
        span, k = spans[row], tree_at(starts[: left + 1], spans[row, 0])
        span[0] = starts[k]
        span[1] = span[2] = span[3] = starts[k + 1]
    for row in range(nu if left < trees else 0):
        widen(starts[: left + 1], spans[row], J[row], Y[row])
    return left


@kernel(inner=True)
def widen(starts: IntArray, span: IntArray, J: FloatArray, Y: FloatArray) -> None:
    """Widen the span of a row to whole trees, and fill the new columns with zeros."""
    a, b, c, d = span[0], span[1], span[2], span[3]
    # One or two trees, whole.
    lower = tree_at(starts, a)
    upper = tree_at(starts, c) if c < d else lower
    span[0], span[1], span[2], span[3] = starts[lower], starts[lower + 1], starts[upper], starts[upper + 1]
    if upper == lower:
        span[2] = span[3]
    # Columns that were not in the span before.
    for part in range(2):
        for p in range(span[2 * part], span[2 * part + 1]):
            if not (a <= p < b or c <= p < d):
                J[p] = Y[p] = 0.0

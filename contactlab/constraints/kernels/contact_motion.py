"""Forward dynamics with contacts in one call, through the articulated bodies: no mass matrix, and no pass but one.

Both entries return the residual, or a code < 0 (`contactlab.constraints.kernels.kkt_codes`); the rank is the number of
rows. `DEPENDENT`, where rows depend on each other or there is no free motion to start from, is a job for
`constrained_motion.full_mass_matrix`.
"""

from __future__ import annotations

from contactlab.constraints.kernels.cholesky import SMALL, factor, solve_lower, solve_small, solve_upper
from contactlab.constraints.kernels.constraint_residual import checked
from contactlab.constraints.kernels.kkt_codes import CLEAR_PIVOT, DEPENDENT, ELSEWHERE
from contactlab.constraints.kernels.layout import GROUP_INTS, SIZE, START, rows_view
from contactlab.constraints.kernels.rows import contact_rows
from contactlab.constraints.kernels.unit_forces import add_contact_forces, contact_climbs, contact_products
from contactlab.constraints.kernels.wanted import BAUMGARTE, GAMMA, JACOBIAN
from contactlab.multibody.kernels.articulated import articulate
from contactlab.multibody.kernels.codes import GOOD, UNUSUAL
from contactlab.multibody.kernels.inertias import world_inertias
from contactlab.multibody.kernels.layout import NQ, NV, tree
from contactlab.multibody.kernels.newton_euler import newton_euler
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING, PER_DOF, PER_LINK, SCRATCH
from contactlab.multibody.kernels.sweeps import outward
from contactlab.multibody.kernels.views import part_at, rows_at, stack
from contactlab.multibody.kernels.workspace import frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel(inline=True)
def by_unit_forces(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    a: FloatArray,
    forces: FloatArray,
) -> float:
    """Fill a (nv,) and forces (m,); W of `unit_forces_size`. I and F hold the model and a set of contacts."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or tau.shape[0] != I[NV]:
        return float(UNUSUAL)
    code = newton_euler(I, F, q, v, a[:0], f_ext, custom, W, ready)
    if code != GOOD:
        return float(ELSEWHERE - code)
    t = tree(I, F)
    r = rows_view(I, F)
    nl = t.parent.shape[0]
    nv = a.shape[0]
    m = forces.shape[0]
    f = frames(W, nl, nv)
    start = SCRATCH + PER_LINK * nl + PER_DOF * nv
    P = rows_at(W, start + 6 * nl, nl, 6)
    B = rows_at(W, start + 12 * nl, nl, 10)
    U = rows_at(W, start + 45 * nl, nv, 6)
    D = part_at(W, start + 45 * nl + 6 * nv, nv)
    world_inertias(t, f.R, f.p, B)
    for j in range(nv):
        a[j] = tau[j]
    if articulate(t, f.S, B, rows_at(W, start + 22 * nl, nl, 23), U, D, P, a) != GOOD:
        return float(DEPENDENT)
    b = start + 45 * nl + 7 * nv
    G = rows_at(W, b, m, nv)
    for k in range(m * nv):
        W[b + k] = 0.0
    b += m * nv
    gamma = part_at(W, b, m)
    terms = part_at(W, b + m, 2 * m)
    b += 3 * m
    contact_rows(I, F, W, 1.0, JACOBIAN | GAMMA | BAUMGARTE, G, gamma, terms)
    width = 4 * (r.group.shape[0] // GROUP_INTS)
    X = rows_at(W, b, nv, width)
    b += nv * width
    K = rows_at(W, b, m, m)
    b += m * m
    taken = part_at(W, b, nv)
    four = part_at(W, b + nv, 24)
    b += nv + 24
    free = part_at(W, b, width)
    load = part_at(W, b + width, m)
    least = part_at(W, b + width + m, m)
    columns = part_at(W, b + width + 2 * m, 4 * m)
    contact_climbs(t, r, f.S, U, D, G, a, four, X, free)
    contact_products(t.dof_parent, D, X, r.group, four, K)
    for group in range(width // 4):
        first = r.group[GROUP_INTS * group + START]
        for k in range(r.group[GROUP_INTS * group + SIZE]):
            load[first + k] = gamma[r.order[first + k]] - free[4 * group + k]
            least[first + k] = CLEAR_PIVOT * K[first + k, first + k]
    if m <= SMALL:
        if solve_small(K, least, columns, load) >= 0:
            return float(DEPENDENT)
    elif factor(K, 0, m, least, columns) >= 0:
        return float(DEPENDENT)
    else:
        solve_lower(K, 0, m, load)
        solve_upper(K, 0, m, load)
    for j in range(nv):
        taken[j] = abs(a[j]) * D[j]
    add_contact_forces(t.dof_parent, X, r.group, load, a)
    for place in range(m):
        forces[r.order[place]] = load[place]
    outward(t, f.S, U, D, P, a)
    return checked(G, gamma, a, taken, terms)


@kernel
def quick_unit_forces(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    W: FloatArray,
    a: FloatArray,
    forces: FloatArray,
) -> float:
    """`by_unit_forces` in as few arguments as the usual call needs: no external forces, no joints of the user's own.

    W of length 0 stands for one on the stack, of `sizes.STACK` places.
    """
    work = W if W.shape[0] else stack()
    none = rows_at(W, 0, 0, 6)
    return by_unit_forces(I, F, q, v, tau, none, rows_at(W, 0, 0, CUSTOM_ROW), work, NOTHING, a, forces)


@kernel
def full_unit_forces(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    a: FloatArray,
    forces: FloatArray,
) -> float:
    """`by_unit_forces` in all arguments."""
    return by_unit_forces(I, F, q, v, tau, f_ext, custom, W, ready, a, forces)

"""Complementary pairs of an island: Coulomb's law, limits and bounds as z, w >= 0, z w = 0, and Newton steps on them.

Each contact and each joint row has pairs, with w = M z + q for the rates of the forces::

    contact          z                           w
      normal         pN                          uN
      polygon        f_i, slip speed lambda      lambda + t_i uT,  mu pN - sum of f_i      (edges t_i, pT = sum f_i t_i)
      disc           b = (mu pN; pT)             e = (lambda; uT)                          (b o e = 0, Lorentz's cone)
    row of a joint   p - lo,  hi - p             the positive and the negative part of its rate

The arguments of a Newton step (`newton_step`) are the wanted products z w, and the part of w - M z - q to remove. All
variables of a contact except its force are eliminated, which leaves a slope D (3, 3): dp = g - D du. The velocities
then solve K dv = h Y' g, K = 1 + h Y' D J, with the sparsity of the bodies in contact (`elimination`). Discs are scaled
as Nesterov and Todd (1997) do. `interior_point` has the methods that choose the steps.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.views import view_2d
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    FrictionCone,
    convert_stiffness,
    fill_contact_rates,
    friction_bound,
    normal_row,
    tangential_response,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import solve_panels
from lcp.contacts.kernels.mode_system import (
    apply_contact_impulse,
)
from lcp.contacts.kernels.solver_state import SolverState, copy_rows, factor_system, recover_velocity
from lcp.kernels import Floats, kernel

# Below this friction coefficient a disc's cone has hardly an interior.
MIN_MU: Final = 1e-3
# Fraction of the first start that is added to previous forces and rates.
INSIDE: Final = 1e-2
# Compliance of a joint row without bounds, relative to its response.
FREE_COMPLIANCE: Final = 1e-9
# Arrays of one number for every pair.
ARRAYS: Final = 15


class PairState(NamedTuple):
    """Point of the curve, and memory for the next one; arrays have the pairs of contacts, then of joints."""

    disc: bool
    edges: Floats  # (k, 2) of the polygon
    width: int  # pairs of a contact: normal, edges, slip speed; of a disc the normal and three
    mu: Floats  # (ncone,)
    z: Floats
    w: Floats
    product: Floats  # z0 w0; 0 for an unused pair; for a disc t, at its first pair
    start: Floats  # r
    miss: Floats  # w - M z - q
    right: Floats  # the change of the products in a step; for a disc the change of e
    off: Floats  # the part of miss that a step removes
    tz: Floats  # a step, the tangent
    tw: Floats
    cz: Floats  # another step, the correction
    cw: Floats
    kept: Floats  # (2, n) saved point and its tangent
    kept_w: Floats
    D: Floats  # (ncone + nj, 3, 3); a joint row has only the first entry, also of the next two
    g: Floats  # (ncone + nj, 3)
    du: Floats  # (ncone + nj, 3)


@kernel
def pair_float_size(ncone: int, nj: int, k: int) -> int:
    """Return the number of floats of `PairState`, for polygons of k edges or discs."""
    n = ncone * (max(k, 2) + 2) + 2 * nj
    return ARRAYS * n + (1 + 9 + 2 * CONTACT_DIM) * (ncone + nj)


@kernel(inner=True)
def pair_state_views(polygon: FrictionCone, search: SolverState, memory: Floats) -> PairState:
    """Return views of the ``memory`` as a `PairState`; an exact cone in space is a disc, otherwise edges are used."""
    nj = search.joined.lo.shape[0]
    ncone = search.contacts.mode.shape[0] - nj
    disc, edges = polygon.exact, polygon.edge_directions[: 2 * polygon.r]
    width = 4 if disc else edges.shape[0] + 2
    n = ncone * width + 2 * nj
    a = view_2d(memory, 0, ARRAYS - 4, n)
    at = (ARRAYS - 4) * n
    kept, kept_w = view_2d(memory, at, 2, n), view_2d(memory, at + 2 * n, 2, n)
    at += 4 * n
    cones = ncone + nj
    D = memory[at : at + 9 * cones].reshape(cones, CONTACT_DIM, CONTACT_DIM)
    at += 9 * cones
    g, du = view_2d(memory, at, cones, CONTACT_DIM), view_2d(memory, at + 3 * cones, cones, CONTACT_DIM)
    mu = memory[at + 6 * cones : at + 6 * cones + ncone]
    return PairState(
        disc, edges, width, mu, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], kept, kept_w,
        D, g, du,
    )  # fmt: skip


@kernel(inner=True)
def fill_start(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, x: PairState, forces: float, rates: float
) -> float:
    """Fill z, w and the products z w of a start, and the forces of joint rows.

    z and w of contacts are ``forces`` and ``rates`` times the sizes that follow from the free motion and the responses.
    Return the unit of the products: the mean of speed^2 / response over the contacts.
    """
    # unit of the speeds, 1 without free motion
    contacts, joined = search.contacts, search.joined
    speed = search.speed if search.speed > 0.0 else 1.0
    total = 0.0
    # contacts: equal forces and rates for all pairs, scaled by the response
    for c in range(rows.r.shape[0]):
        own = max(contacts.diagonal[rows.cone_contacts[c]], tangential_response(rows, polygon, contacts, c))
        mu = friction_bound(rows, c) if rows.r[c] > 0 else 0.0
        x.mu[c] = max(mu, MIN_MU) if mu > 0.0 else 0.0
        at, last = c * x.width, (c + 1) * x.width - 1
        for i in range(at, last + 1):
            x.z[i], x.w[i] = forces * speed / own, rates * speed
        # All variables of a contact have the same start.
        x.z[at] = x.z[x.width * rows.cone_contacts[c]]
        if x.disc:
            x.z[at + 1] = x.mu[c] * x.z[at]
            for i in range(at + 2, last + 1):
                x.z[i] = x.w[i] = 0.0
        else:
            x.z[last], x.w[last] = forces * speed, rates * speed / own
        # products z w of the start
        for i in range(at, last + 1):
            x.product[i] = x.z[i] * x.w[i] if i == at or x.mu[c] > 0.0 else 0.0
        total += speed * speed / own
    # joint rows: pairs of the finite bounds, and none for rows that cannot move
    at = rows.r.shape[0] * x.width
    for i in range(joined.lo.shape[0]):
        lo, hi, own = joined.lo[i], joined.hi[i], contacts.diagonal[rows.nc + rows.nr + i]
        for j in range(2):
            x.z[at + 2 * i + j] = x.w[at + 2 * i + j] = 1.0
            x.product[at + 2 * i + j] = 0.0
        p = min(max(0.0, lo), hi)
        # a force inside the bounds, near zero
        if own > 0.0 and lo < hi:
            inside = min(forces * speed / own, 0.5 * (hi - lo))
            p = min(max(0.0, lo + inside), hi - inside)
            for j in range(2):
                far = p - lo if j == 0 else hi - p
                if far < math.inf:
                    x.z[at + 2 * i + j] = far
                    x.w[at + 2 * i + j] = forces * rates * speed * speed / (own * far)
                    x.product[at + 2 * i + j] = x.z[at + 2 * i + j] * x.w[at + 2 * i + j]
        # the force at the start
        contacts.p[rows.r.shape[0] + i, 0] = p
        x.kept[0, at + 2 * i] = p
    return total / rows.r.shape[0]


@kernel(inner=True)
def warm_start(rows: ContactSystem, search: SolverState, x: PairState) -> None:
    """Set z and w of contacts to the state's forces and rates, plus `INSIDE` times the z and w of the start."""
    contacts, last = search.contacts, x.width - 1
    k = x.edges.shape[0]
    for c in range(rows.r.shape[0]):
        # Along the normal: force and rate.
        p, s, at = contacts.p[c], contacts.s[c], c * x.width
        x.z[at] = INSIDE * x.z[at] + max(p[0], 0.0)
        x.w[at] = INSIDE * x.w[at] + max(s[0], 0.0)
        if x.mu[c] == 0.0:
            continue
        if x.disc:
            # The force of friction, within the larger bound, and the slip velocity with its speed.
            x.z[at + 1], x.z[at + 2], x.z[at + 3] = x.mu[c] * x.z[at], p[1], p[2]
            x.w[at + 1] = INSIDE * x.w[at + 1] + math.sqrt(s[1] * s[1] + s[2] * s[2])
            x.w[at + 2], x.w[at + 3] = s[1], s[2]
            continue
        # The slip speed: the largest over the edges, against their directions.
        slip, spent = 0.0, 0.0
        for i in range(k):
            slip = max(slip, -(x.edges[i, 0] * s[1] + x.edges[i, 1] * s[2]))
        # The force of friction is split over the edges by its components along them, which sum to it.
        for i in range(k):
            along = x.edges[i, 0] * p[1] + x.edges[i, 1] * p[2]
            f = max(along, 0.0) * (4.0 / k if k >= 4 else 1.0)
            spent += f
            x.z[at + 1 + i] = INSIDE * x.z[at + 1 + i] + f
            x.w[at + 1 + i] = INSIDE * x.w[at + 1 + i] + slip + x.edges[i, 0] * s[1] + x.edges[i, 1] * s[2]
        # The bound of friction, minus the used part.
        x.z[at + last] = INSIDE * x.z[at + last] + slip
        x.w[at + last] = INSIDE * x.w[at + last] + max(x.mu[c] * p[0] - spent, 0.0)


@kernel(inner=True)
def evaluate_point(rows: ContactSystem, polygon: FrictionCone, search: SolverState, x: PairState, eps: float) -> None:
    """Compute the state's forces, velocities and rates from z, and ``x.miss`` = w - M z - q.

    ``eps`` is the compliance of contacts in M; the rates in the state are without it.
    """
    contacts, joined, z, w, miss = search.contacts, search.joined, x.z, x.w, x.miss
    # contact forces from z: normal, and the disc's vector or the sum over edges
    last = x.width - 1
    for c in range(rows.r.shape[0]):
        p, at = contacts.p[c], c * x.width
        p[0], p[1], p[2] = z[at], 0.0, 0.0
        if x.mu[c] > 0.0 and x.disc:
            p[1], p[2] = z[at + 2], z[at + 3]
        elif x.mu[c] > 0.0:
            for i in range(x.edges.shape[0]):
                p[1] += z[at + 1 + i] * x.edges[i, 0]
                p[2] += z[at + 1 + i] * x.edges[i, 1]
        if rows.r[c] == 1:
            p[2] = 0.0
    # joint forces from the distance to a bound
    ncone = rows.r.shape[0]
    for i in range(joined.lo.shape[0]):
        # From the nearer bound, so that no digits are lost.
        at = ncone * x.width + 2 * i
        lower, upper = x.product[at] > 0.0, x.product[at + 1] > 0.0
        if lower and not (upper and z[at + 1] < z[at]):
            contacts.p[ncone + i, 0] = joined.lo[i] + z[at]
        elif upper:
            contacts.p[ncone + i, 0] = joined.hi[i] - z[at + 1]
    # rates at these forces
    recover_velocity(rows, polygon, search)
    # misfit of the contacts' normal, edge and bound equations
    for c in range(rows.r.shape[0]):
        p, s, at = contacts.p[c], contacts.s[c], c * x.width
        u1, u2 = s[1] + eps * p[1], s[2] + eps * p[2]
        miss[at] = w[at] - (s[0] + (rows.gamma[rows.cone_contacts[c]] + eps) * p[0])
        if x.mu[c] == 0.0:
            continue
        if x.disc:
            miss[at + 1], miss[at + 2], miss[at + 3] = 0.0, w[at + 2] - u1, w[at + 3] - u2
            continue
        left = x.mu[c] * z[at]
        for i in range(1, last):
            miss[at + i] = w[at + i] - z[at + last] - (x.edges[i - 1, 0] * u1 + x.edges[i - 1, 1] * u2)
            left -= z[at + i]
        miss[at + last] = w[at + last] - left
    # misfit of the joint rows
    for i in range(joined.lo.shape[0]):
        c, at = ncone + i, ncone * x.width + 2 * i
        rate = -contacts.s[c, 0] - rows.gamma[rows.nc + rows.nr + i] * contacts.p[c, 0]
        rate += w[at] if x.product[at] > 0.0 else 0.0
        rate -= w[at + 1] if x.product[at + 1] > 0.0 else 0.0
        miss[at], miss[at + 1] = rate, 0.0


@kernel(inner=True)
def nesterov_todd_scaling(x: PairState, at: int) -> tuple[float, float, float, float]:
    """Return (size, a0, a1, a2) of Nesterov and Todd's scaling H = size (2 a a' - R) of the disc at ``at``."""
    z, w = x.z, x.w
    b = math.sqrt(determinant(z[at + 1], z[at + 2], z[at + 3]))
    e = math.sqrt(determinant(w[at + 1], w[at + 2], w[at + 3]))
    inner = (z[at + 1] * w[at + 1] + (z[at + 2] * w[at + 2] + z[at + 3] * w[at + 3])) / (b * e)
    root = 1.0 / math.sqrt(2.0 + 2.0 * inner)
    a1 = root * (w[at + 2] / e - z[at + 2] / b)
    a2 = root * (w[at + 3] / e - z[at + 3] / b)
    return e / b, math.sqrt(1.0 + a1 * a1 + a2 * a2), a1, a2


@kernel(inner=True)
def subtract_second_order(x: PairState, at: int) -> None:
    """Subtract the second-order term of the step tz, tw of the disc at ``at`` from its right side.

    With W W = H, b~ = W b = W^-1 e and the steps db~ = W db, de~ = W^-1 de, the term is W y for b~ o y = db~ o de~.
    """
    _, a0, a1, a2 = nesterov_todd_scaling(x, at)
    # b~, and the product of the two scaled steps.
    b0, b1, b2 = scale_by_root(a0, a1, a2, x.z[at + 1], x.z[at + 2], x.z[at + 3])
    d0, d1, d2 = scale_by_root(a0, a1, a2, x.tz[at + 1], x.tz[at + 2], x.tz[at + 3])
    e0, e1, e2 = scale_by_root(a0, -a1, -a2, x.tw[at + 1], x.tw[at + 2], x.tw[at + 3])
    c0, c1, c2 = d0 * e0 + (d1 * e1 + d2 * e2), d0 * e1 + e0 * d1, d0 * e2 + e0 * d2
    # Solve b~ o y = c. The size of H cancels.
    y0 = (b0 * c0 - (b1 * c1 + b2 * c2)) / determinant(b0, b1, b2)
    y0, y1, y2 = scale_by_root(a0, a1, a2, y0, (c1 - y0 * b1) / b0, (c2 - y0 * b2) / b0)
    x.right[at + 1] -= y0
    x.right[at + 2] -= y1
    x.right[at + 3] -= y2


@kernel(inline=True)
def scale_by_root(a0: float, a1: float, a2: float, u0: float, u1: float, u2: float) -> tuple[float, float, float]:
    """Return V u for the symmetric V with V V = 2 a a' - R, det a = 1."""
    across = a1 * u1 + a2 * u2
    along = u0 + across / (1.0 + a0)
    return a0 * u0 + across, u1 + a1 * along, u2 + a2 * along


@kernel(inline=True)
def determinant(x: float, y: float, z: float) -> float:
    """Return x^2 - y^2 - z^2 without loss of digits."""
    size = math.sqrt(y * y + z * z)
    return (x - size) * (x + size)


@kernel(inner=True)
def fill_slopes(rows: ContactSystem, search: SolverState, x: PairState) -> None:
    """Fill D and g of dp = g - D du for all contacts, and the slopes of joint rows, from the right sides.

    These are ``right``, the wanted products, and ``off``, the part of w - M z - q to remove.
    """
    z, w, right, off = x.z, x.w, x.right, x.off
    last = x.width - 1
    for c in range(rows.r.shape[0]):
        at, D, g, mu = c * x.width, x.D[c], x.g[c], x.mu[c]
        g[:] = 0.0
        D[:] = 0.0
        D[0, 0] = d0 = z[at] / w[at]
        g[0] = e0 = (right[at] + z[at] * off[at]) / w[at]
        if mu == 0.0:
            continue
        if x.disc:
            # dpT = HTT^-1 (right - duT + off - HT0 mu dpN), HTT = size (1 + 2 aT aT').
            size, a0, a1, a2 = nesterov_todd_scaling(x, at)
            flat = 2.0 * a0 * a0 - 1.0
            D[1, 1] = (1.0 - 2.0 * a1 * a1 / flat) / size
            D[2, 2] = (1.0 - 2.0 * a2 * a2 / flat) / size
            D[1, 2] = D[2, 1] = -2.0 * a1 * a2 / (flat * size)
            r1, r2 = right[at + 2] + off[at + 2], right[at + 3] + off[at + 3]
            turn = 2.0 * a0 * mu / flat
            g[1] = D[1, 1] * r1 + D[1, 2] * r2 - turn * a1 * e0
            g[2] = D[2, 1] * r1 + D[2, 2] * r2 - turn * a2 * e0
            D[1, 0], D[2, 0] = -turn * a1 * d0, -turn * a2 * d0
            continue
        # Edges first, then the slack of the bound, whose variable is the slip speed.
        d_last = z[at + last] / w[at + last]
        total = a1 = a2 = 0.0
        constant = (right[at + last] + z[at + last] * off[at + last]) / z[at + last] - mu * e0
        for i in range(1, last):
            d = z[at + i] / w[at + i]
            e = (right[at + i] + z[at + i] * off[at + i]) / w[at + i]
            t1, t2 = x.edges[i - 1, 0], x.edges[i - 1, 1]
            total += d
            constant += e
            a1 += d * t1
            a2 += d * t2
            g[1] += e * t1
            g[2] += e * t2
            D[1, 1] += d * t1 * t1
            D[1, 2] += d * t1 * t2
            D[2, 2] += d * t2 * t2
        # eliminate the slip speed
        share = d_last / (1.0 + d_last * total)
        g[1] -= a1 * share * constant
        g[2] -= a2 * share * constant
        D[1, 0], D[2, 0] = a1 * share * mu * d0, a2 * share * mu * d0
        D[1, 1] -= a1 * share * a1
        D[1, 2] -= a1 * share * a2
        D[2, 2] -= a2 * share * a2
        D[2, 1] = D[1, 2]
    # joint rows: each finite bound adds stiffness
    joined, at, first = search.joined, rows.r.shape[0] * x.width, rows.nc + rows.nr
    for i in range(joined.lo.shape[0]):
        c, own = rows.r.shape[0] + i, search.contacts.diagonal[first + i]
        x.D[c][:] = 0.0
        x.g[c][:] = 0.0
        if not (own > 0.0 and joined.lo[i] < joined.hi[i]):
            continue
        stiffness, force = rows.gamma[first + i], off[at + 2 * i]
        free = True
        for j in range(2):
            k = at + 2 * i + j
            if x.product[k] > 0.0:
                free = False
                stiffness += w[k] / z[k]
                force += right[k] / z[k] if j == 0 else -right[k] / z[k]
        # a row without bounds gets a small compliance
        if free:
            stiffness += FREE_COMPLIANCE * own
        x.D[c, 0, 0] = 1.0 / stiffness
        x.g[c, 0] = force / stiffness


@kernel(inner=True)
def add_compliance(gamma: float, eps: float, D: Floats, g: Floats) -> None:
    """Convert dp = g - D du to dp = g - D ds for a contact of compliance E with u = s + E p, in place.

    E has gamma + eps along the normal and eps across it. At entry the first row of D has only its first entry.
    """
    # the normal row, which depends on its own rate only
    soft = gamma + eps
    normal = 1.0 / (1.0 + D[0, 0] * soft)
    # inverse of the friction rows' 2 by 2 system
    a, b, c, d = 1.0 + eps * D[1, 1], eps * D[1, 2], eps * D[2, 1], 1.0 + eps * D[2, 2]
    inverse = 1.0 / (a * d - b * c)
    D[0, 0] *= normal
    g[0] *= normal
    # right sides and slopes of friction, without the normal row's share
    g1, g2 = g[1] - soft * D[1, 0] * g[0], g[2] - soft * D[2, 0] * g[0]
    x1, x2 = D[1, 0] * (1.0 - soft * D[0, 0]), D[2, 0] * (1.0 - soft * D[0, 0])
    g[1], g[2] = inverse * (d * g1 - b * g2), inverse * (a * g2 - c * g1)
    # slopes of the friction rows
    y1, z1, y2, z2 = D[1, 1], D[1, 2], D[2, 1], D[2, 2]
    D[1, 0], D[2, 0] = inverse * (d * x1 - b * x2), inverse * (a * x2 - c * x1)
    D[1, 1], D[2, 1] = inverse * (d * y1 - b * y2), inverse * (a * y2 - c * y1)
    D[1, 2], D[2, 2] = inverse * (d * z1 - b * z2), inverse * (a * z2 - c * z1)


@kernel(inner=True)
def newton_step(
    rows: ContactSystem,
    polygon: FrictionCone,
    search: SolverState,
    x: PairState,
    eps: float,
    form: bool,
    dz: Floats,
    dw: Floats,
) -> bool:
    """Fill the Newton step dz, dw for the right sides ``x.right`` and ``x.off``, with contacts of compliance eps.

    With ``form`` the matrix is formed and factored, otherwise its present factors are used. Return False if the matrix
    is singular.
    """
    # slopes of the forces by the rates, and impulses of the right sides
    contacts, dv, ncone = search.contacts, search.trial_v, rows.r.shape[0]
    fill_slopes(rows, search, x)
    dv[:] = 0.0
    # include the compliance of contacts in the slopes, and add the impulses of the right sides
    for c in range(contacts.p.shape[0]):
        gamma = rows.gamma[normal_row(rows, c)]
        if c < ncone and gamma + eps > 0.0:
            add_compliance(gamma, eps, x.D[c], x.g[c])
        apply_contact_impulse(rows, polygon, c, x.g[c], dv)
        if form:
            copy_rows(x.D[c], contacts.B[c])
            if c < ncone:
                convert_stiffness(rows, polygon, c, contacts.B[c])
    # form and factor the matrix
    if form and not factor_system(rows, polygon, search):
        return False
    # velocities, then rates
    solve_panels(search.trees, search.K, dv)
    fill_contact_rates(rows, polygon, dv, 0.0, x.du)
    # compliance changes the rates by the contact's own force step
    for c in range(rows.r.shape[0]):
        soft = rows.gamma[rows.cone_contacts[c]] + eps
        if soft > 0.0:
            D, du, g = x.D[c], x.du[c], x.g[c]
            a, b, d = du[0], du[1], du[2]
            du[0] += soft * (g[0] - D[0, 0] * a)
            du[1] += eps * (g[1] - D[1, 0] * a - D[1, 1] * b - D[1, 2] * d)
            du[2] += eps * (g[2] - D[2, 0] * a - D[2, 1] * b - D[2, 2] * d)
        fill_contact_step(x, c, dz, dw)
    # joint rows: steps of the pairs for the lower and upper bounds
    for i in range(search.joined.lo.shape[0]):
        c, k = ncone + i, ncone * x.width + 2 * i
        dz[k] = dz[k + 1] = dw[k] = dw[k + 1] = 0.0
        if not x.D[c, 0, 0] > 0.0:
            continue
        # change of the rate and of the force
        rate = x.du[c, 0]
        dp = x.g[c, 0] - x.D[c, 0, 0] * rate
        rate += rows.gamma[rows.nc + rows.nr + i] * dp - x.off[k]
        # each bound's slack follows from its complementarity equation
        lower, upper = x.product[k] > 0.0, x.product[k + 1] > 0.0
        if lower:
            dz[k], dw[k] = dp, (x.right[k] - x.w[k] * dp) / x.z[k]
        if upper:
            dz[k + 1], dw[k + 1] = -dp, (x.right[k + 1] + x.w[k + 1] * dp) / x.z[k + 1]
        # Use the nearer bound for the rate, which loses no digits.
        if lower and x.z[k] < x.w[k] and not (upper and x.z[k + 1] < x.z[k]):
            dw[k] = rate + dw[k + 1]
        elif upper and x.z[k + 1] < x.w[k + 1]:
            dw[k + 1] = dw[k] - rate
    return True


@kernel(inner=True)
def fill_contact_step(x: PairState, c: int, dz: Floats, dw: Floats) -> None:
    """Fill the step dz, dw of contact c's pairs, from the change ``x.du[c]`` of its rates and the right sides."""
    # normal pair
    z, w, right, off, du = x.z, x.w, x.right, x.off, x.du[c]
    at, last, mu = c * x.width, x.width - 1, x.mu[c]
    for i in range(at, at + x.width):
        dz[i] = dw[i] = 0.0
    dz[at] = (right[at] + z[at] * off[at] - z[at] * du[0]) / w[at]
    dw[at] = (right[at] - w[at] * dz[at]) / z[at] if z[at] >= w[at] else du[0] - off[at]
    if mu == 0.0:
        return
    # circular cone: the step in the Nesterov-Todd scaling
    if x.disc:
        size, a0, a1, a2 = nesterov_todd_scaling(x, at)
        flat = 2.0 * a0 * a0 - 1.0
        e1, e2 = du[1] - off[at + 2], du[2] - off[at + 3]
        r1, r2 = (right[at + 2] - e1) / size, (right[at + 3] - e2) / size
        b0 = mu * dz[at]
        across = 2.0 * (a1 * r1 + a2 * r2) / flat + 2.0 * a0 * b0 / flat
        b1, b2 = r1 - across * a1, r2 - across * a2
        dz[at + 1], dz[at + 2], dz[at + 3] = b0, b1, b2
        dw[at + 1] = right[at + 1] - size * (flat * b0 + 2.0 * a0 * (a1 * b1 + a2 * b2))
        dw[at + 2], dw[at + 3] = e1, e2
        return
    # polygon: edge forces for a slip speed of zero, and the sums for the cone row
    total = spent = 0.0
    d_last = z[at + last] / w[at + last]
    constant = (right[at + last] + z[at + last] * off[at + last]) / z[at + last] - mu * dz[at]
    for i in range(1, last):
        along = x.edges[i - 1, 0] * du[1] + x.edges[i - 1, 1] * du[2]
        d = z[at + i] / w[at + i]
        dz[at + i] = (right[at + i] + z[at + i] * off[at + i]) / w[at + i] - d * along
        dw[at + i] = along - off[at + i]
        total += d
        constant += dz[at + i]
    # slip speed from the cone row
    slip = d_last / (1.0 + d_last * total) * constant
    dz[at + last] = slip
    # add its share to the edges
    for i in range(1, last):
        dz[at + i] -= z[at + i] / w[at + i] * slip
        dw[at + i] += slip
        spent += dz[at + i]
    dw[at + last] = mu * dz[at] - spent - off[at + last]
    # Of two equal expressions use the one that loses no digits.
    for i in range(at + 1, at + last + 1):
        if z[i] >= w[i]:
            dw[i] = (right[i] - w[i] * dz[i]) / z[i]


@kernel(inner=True)
def add_step(x: PairState, s: float, dz: Floats, dw: Floats) -> None:
    """Add s times a step to z and w."""
    for i in range(x.z.shape[0]):
        x.z[i] += s * dz[i]
        x.w[i] += s * dw[i]

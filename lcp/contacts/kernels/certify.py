"""Mechanical conditions of one step, checked on the forces and velocities themselves.

Each condition is reported as a violation in its own unit and a scale in the same unit; their ratio is dimensionless.
The scales are defined in `condition_scales`. With s = F v+ + kF over the directions of a contact and lambda the least
slack its edges allow::

    NORMAL_GAP              N v+ + kN + gammaN fN >= 0
    NORMAL_COMPLEMENTARITY  fN (N v+ + kN + gammaN fN) = 0
    CONE                    sum |fF| and sum(fF+ + fF-) <= mu fN + gammaE lambda
    DISSIPATION             fF . s <= 0
    MAXIMUM_DISSIPATION     fF . s + mu fN lambda + gammaF |fF+-|^2 + gammaE lambda^2 = 0
                            (without softness: friction dissipates mu fN max|s|, the maximum of the cone)
    LIMIT_GAP               L v+ + kL + gammaL fL >= 0
    LIMIT_COMPLEMENTARITY   fL (L v+ + kL + gammaL fL) = 0
    FORCE_SIGN              fN, fF+, fF-, fL >= 0

With Coulomb's exact cone, for a contact with tangents t1, t2 (or only t1, in the plane) and s = F v+ + kF + gammaF fF
over them, lengths replace the sums and maxima over the edges::

    CONE                    |fF| <= mu fN
    DISSIPATION             fF . s <= 0
    MAXIMUM_DISSIPATION     fF . s + mu fN |s| = 0: at the bound and opposite to s where it slides, in every direction

The slack is recomputed from the rates; the solver's lambda is not used. Values that are not finite make every
violation infinite.

For boxed rows, with s = B v+ + kB + gammaB fB of a row::

    BOX_BOUNDS           lo <= fB <= hi
    BOX_GAP              s >= 0 where hi = inf, s <= 0 where lo = -inf
    BOX_COMPLEMENTARITY  (fB - lo) max(s, 0) = 0, (hi - fB) max(-s, 0) = 0, of finite bounds

A force between bounds is computed from its distance to one of them, with rounding relative to the bound. So its scale
of a rate is at least `MIN_RELATIVE_SCALE` times the rate that the larger bound causes in the row. A power is compared
with the larger of (distance to the bound) s_i and phi_i |s|: small only if one of the two is.
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.boxed_rows import larger_bound
from lcp.contacts.kernels.condition_scales import MIN_RELATIVE_SCALE, begin_certificate, keep_worst, row_rate
from lcp.contacts.kernels.contact_system import ContactSystem, add_sizes_on, row_ranges, row_response
from lcp.kernels import Floats, kernel

# Condition numbers, in the order of contactlab.constraint_solver.certificate.CONDITIONS.
NORMAL_GAP: Final = 0
NORMAL_COMPLEMENTARITY: Final = 1
CONE: Final = 2
DISSIPATION: Final = 3
MAXIMUM_DISSIPATION: Final = 4
LIMIT_GAP: Final = 5
LIMIT_COMPLEMENTARITY: Final = 6
FORCE_SIGN: Final = 7
CERT_SIZE: Final = 16

# Every unilateral force counts in u with at least this fraction of the largest one, because a solution is rounded as a
# whole.
MIN_FORCE_FRACTION: Final = 1e-6


@kernel(inner=True)
def _unilateral(
    cert: Floats, gap: int, complementarity: int, f: float, slack: float, scale: float, force: float
) -> None:
    """Fill the conditions 0 <= f _|_ slack >= 0 of one row."""
    keep_worst(cert, gap, max(0.0, -slack), scale)
    keep_worst(cert, FORCE_SIGN, max(0.0, -f), force)
    keep_worst(cert, complementarity, abs(f * slack), max(abs(f) * scale, force * abs(slack)))


@kernel(inner=True)
def _friction(
    rows: ContactSystem,
    exact: bool,
    cone: int,
    first: int,
    scale_n: float,
    force_n: float,
    z: Floats,
    f: Floats,
    v_plus: Floats,
    rates: Floats,
    u: Floats,
    cert: Floats,
) -> int:
    """Fill the conditions of the cone whose rows begin at ``first``; return where the next cone's rows begin.

    A pyramid has its edge magnitudes in z. ``exact`` means a circular cone.
    """
    last = first + rows.r[cone]
    if last == first:
        return last
    # friction and slip: sums and maxima of a pyramid, squares of lengths of a circular cone
    spent = edges = fastest = 0.0
    power = 0.0  # fF . s
    softening = 0.0  # gammaF (fF+^2 + fF-^2)
    slack = 0.0  # lambda
    scale_f = force_f = 0.0
    for i in range(first, last):
        rate, scale, force = row_rate(rows, i, f, v_plus, rates, u)
        if exact:
            rate += rows.gamma[i] * f[i]
            spent += f[i] * f[i]
            fastest += rate * rate
        else:
            plus, minus = z[i], z[i + rows.nr]
            keep_worst(cert, FORCE_SIGN, max(0.0, -plus, -minus), force)
            spent += abs(f[i])
            edges += plus + minus
            softening += rows.gamma[i] * (plus * plus + minus * minus)
            slack = max(slack, -rate - rows.gamma[i] * plus, rate - rows.gamma[i] * minus)
            fastest = max(fastest, abs(rate))
        power += f[i] * rate
        scale_f = max(scale_f, scale)
        force_f = max(force_f, force)
    soft = rows.gammaE[cone]
    if exact:
        spent, fastest, soft = math.sqrt(spent), math.sqrt(fastest), 0.0
        slack = fastest
    spent = max(spent, edges)
    bound = rows.mu[cone] * f[rows.cone_contacts[cone]]
    force_scale = force_f + rows.mu[cone] * force_n
    # N and F of a contact have the same unit: slip far below the terms of N is rounding, also if the terms of F are
    # small.
    power_scale = max((abs(bound) + spent) * max(scale_f, scale_n), force_scale * fastest)
    keep_worst(cert, CONE, max(0.0, spent - bound - soft * slack), force_scale)
    keep_worst(cert, DISSIPATION, max(0.0, power), power_scale)
    keep_worst(cert, MAXIMUM_DISSIPATION, abs(power + bound * slack + softening + soft * slack * slack), power_scale)
    return last


@kernel
def certify(
    rows: ContactSystem,
    responses: Floats,
    exact: bool,
    z: Floats,
    f: Floats,
    v_plus: Floats,
    rates: Floats,
    u: Floats,
    cert: Floats,
) -> None:
    """Fill cert with the worst violation and its scale for each condition.

    Parameters
    ----------
    rows
        The problem. With bilateral rows: the original Y_i = M^-1 J_i and v_free, all m rows.
    responses
        (>= size of f, nv) change of v for a unit of each force: Y, except for sliding contacts, whose normal force
        includes friction.
    exact
        Whether friction has the exact cone; of z only its finiteness is then checked.
    z
        (>= nc + 2 nr + ncone + nl,) LCP solution.
    f
        Forces [fN | fF | fL], followed by fG and fB of bilateral and boxed rows.
    v_plus
        (nv,) velocity after the step.
    rates
        J v+ + k of the rows; empty if they are to be computed.
    u
        (>= nv + 1,) output: the size of each velocity before cancellation, and of all.
    cert
        (16,) output: violation and scale by condition.

    Notes
    -----
    The size of a velocity before cancellation counts every unilateral force with at least `MIN_FORCE_FRACTION` of the
    largest one: an LCP's solution is rounded as a whole, which affects rows without load too. If some rows are forces
    and others moments, the largest value of sqrt(h J_i Y_i + gamma_i) f_i is used, which has one unit.
    """
    nc = rows.nc
    nf = nc + rows.nr
    nu = nf + rows.nl
    if not begin_certificate(z, f, v_plus, cert[:CERT_SIZE]):
        return
    energy = 0.0
    for p in range(v_plus.shape[0]):
        u[p] = abs(rows.v_free[p])
        energy += rows.v_free[p] * rows.Mv[p]
    u[v_plus.shape[0]] = math.sqrt(max(0.0, energy))
    largest = 0.0
    # Limits of joints and further cones can be moments. A root of the response makes forces of all units comparable.
    mixed = rows.nl > 0 or rows.r.shape[0] > nc
    for i in range(nu):
        largest = max(largest, math.sqrt(row_response(rows, i)) * abs(f[i]) if mixed else abs(f[i]))
    for i in range(f.shape[0]):
        force = abs(f[i])
        if i < nu:
            least = MIN_FORCE_FRACTION * largest
            if mixed:
                root = math.sqrt(row_response(rows, i))
                least = least / root if root > 0.0 else 0.0
            force = max(force, least)
        impulse = rows.h * force
        if impulse > 0.0:
            a, b, c, d = row_ranges(rows.column_ranges, i, v_plus.shape[0])
            add_sizes_on(a, b, impulse, responses[i], u)
            add_sizes_on(c, d, impulse, responses[i], u)

    cones = rows.r.shape[0]
    cone = 0
    first = nc
    for c in range(nc):
        rate, scale, force = row_rate(rows, c, f, v_plus, rates, u)
        _unilateral(cert, NORMAL_GAP, NORMAL_COMPLEMENTARITY, f[c], rate + rows.gamma[c] * f[c], scale, force)
        # At acceleration level sliding contacts have no cone.
        if cone < cones and rows.cone_contacts[cone] == c:
            first = _friction(rows, exact, cone, first, scale, force, z, f, v_plus, rates, u, cert)
            cone += 1
    while cone < cones:
        # A cone of moments has another unit of speed than the normal row.
        _, _, force = row_rate(rows, rows.cone_contacts[cone], f, v_plus, rates, u)
        first = _friction(rows, exact, cone, first, 0.0, force, z, f, v_plus, rates, u, cert)
        cone += 1

    for i in range(nf, nu):
        rate, scale, force = row_rate(rows, i, f, v_plus, rates, u)
        _unilateral(cert, LIMIT_GAP, LIMIT_COMPLEMENTARITY, f[i], rate + rows.gamma[i] * f[i], scale, force)


# Condition numbers, in the order of contactlab.constraint_solver.certificate.BOXED_CONDITIONS.
BOX_BOUNDS: Final = 0
BOX_GAP: Final = 1
BOX_COMPLEMENTARITY: Final = 2
BOXED_CERT_SIZE: Final = 6


@kernel
def certify_boxed(rows: ContactSystem, f: Floats, v_plus: Floats, rates: Floats, u: Floats, cert: Floats) -> None:
    """Fill cert (6,) with the worst violation of each condition and its scale; infinite if a value is not finite.

    f are the forces of all rows, u (nv + 1,) is the output of `certify`.
    """
    # boxed rows follow all other rows
    lo = rows.lo
    hi = rows.hi
    first = rows.nc + rows.nr + rows.nl + rows.nb
    if not begin_certificate(f[:0], f, v_plus, cert[:BOXED_CERT_SIZE]):
        return
    # rate, its scale and the scale of the force of each boxed row
    for b in range(lo.shape[0]):
        i = first + b
        rate, scale, force = row_rate(rows, i, f, v_plus, rates, u)
        # the scale is at least a small fraction of the speed that the larger bound causes
        response = row_response(rows, i)
        least = MIN_RELATIVE_SCALE * response * larger_bound(lo[b], hi[b])
        if scale < least:
            scale = least
            force = least / response
        # rate with softness, and the distance outside the bounds
        s = rate + rows.gamma[i] * f[i]
        keep_worst(cert, BOX_BOUNDS, max(0.0, lo[b] - f[i], f[i] - hi[b]), force)
        # a positive rate requires the force at its lower bound
        if lo[b] > -float("inf"):
            up = max(0.0, s)
            room = abs(f[i] - lo[b])
            keep_worst(cert, BOX_COMPLEMENTARITY, up * room, max(room * scale, force * up))
        else:
            keep_worst(cert, BOX_GAP, max(0.0, s), scale)
        # a negative rate requires the force at its upper bound
        if hi[b] < float("inf"):
            down = max(0.0, -s)
            room = abs(hi[b] - f[i])
            keep_worst(cert, BOX_COMPLEMENTARITY, down * room, max(room * scale, force * down))
        else:
            keep_worst(cert, BOX_GAP, max(0.0, -s), scale)

"""Scales of violations of mechanical conditions, from a componentwise backward error.

With (Oettli and Prager 1964)

    u_p   = |v_free_p| + h sum_i max(|f_i|, MIN_FORCE_FRACTION max_j |f_j|) |responses_ip|
                                                              size of each velocity before cancellation
    s_i   = sum_p |J_ip| u_p + |k_i| + gamma_i |f_i|          rate scale of row i, at least
            MIN_RELATIVE_SCALE sqrt(J_i Y_i  v_free' M v_free)
                                                              this fraction of the largest rate of such a motion
    phi_i = s_i / (h J_i Y_i + gamma_i)                       force that would move row i by that rate

a rate is compared with s_i, a force with phi_i, and a product of a force and a rate with the larger of |f_i| s_i and
phi_i |rate_i|. So a scaled product is small only if the force or the rate is small. Rounding gives a few eps, for any
units and mass ratios.

A condition is reported for the row with the largest ratio: cert[2 c] is the violation, cert[2 c + 1] the scale.

The last kernels measure forces of contacts with Coulomb's exact cone, and of joint rows. The measures are defined in
`lcp.friction.residuals`, but computed from J, Y and v+, because W is not formed. They are stored like measures of an
LCP (`lcp.kernels.residuals`). Forces and rates are balanced (`island_acceptance`), so they do not depend on units. Less
rounding is excused than there: of a row's terms only the load and its own force count.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.contacts.kernels.contact_system import (
    ContactSystem,
    abs_dot_range,
    delassus_diagonal_entry,
    dot_and_terms_on,
    dot_of_row,
    response_of,
    row_ranges,
    size_unforced,
    sparse_dot,
)
from lcp.kernels import Floats, kernel
from lcp.kernels.cone_measures import natural_square
from lcp.kernels.residuals import NATURAL_LIMIT, NATURAL_MAP, ROUNDING, SCALED

# Minimum of every row's scale, as a fraction of the largest rate that a motion of this energy can have. Factors of M
# and products with its inverse are rounded as a whole, too.
MIN_RELATIVE_SCALE: Final = 1e-4


class RowScales(NamedTuple):
    """Scales of the rows of the LCP, by its variables; stored in the loads."""

    amounts: Floats  # (n,) size of w without forces
    sizes: Floats  # (n,) largest possible change of it by the largest balanced force
    units: Floats  # (n,) factor that balances z
    load: Floats  # (1,) the largest balanced amount


@kernel(inline=True)
def row_scales_views(loads: Floats, m: int, n: int) -> RowScales:
    """Return views of the scales of m rows and n LCP variables."""
    at = 2 * m
    return RowScales(
        loads[at : at + n], loads[at + n : at + 2 * n], loads[at + 2 * n : at + 3 * n], loads[at + 3 * n :]
    )


@kernel(inline=True)
def scale_variable(scales: RowScales, place: int, amount: float, response: float) -> float:
    """Store the scales of variable ``place`` of the LCP; return ``amount`` / sqrt(response), 0 if no body can move.

    ``amount`` is the size of the row's rate without forces, ``response`` its rate for a unit of its own force.
    """
    root = math.sqrt(response)
    scales.amounts[place] = amount
    scales.sizes[place] = scales.units[place] = root
    return amount / root if root > 0.0 else 0.0


@kernel(inline=True)
def ratio(violation: float, scale: float) -> float:
    """Return violation / scale; a row of scale 0 is satisfied exactly or not at all."""
    if scale > 0.0:
        return violation / scale
    return 0.0 if violation == 0.0 else float("inf")


@kernel(inner=True)
def keep_worst(cert: Floats, condition: int, violation: float, scale: float) -> None:
    """Store violation and scale of a condition if their ratio is the largest; the certificate array starts as zeros."""
    at = 2 * condition
    unset = cert[at] == 0.0 and cert[at + 1] == 0.0
    if violation == 0.0 and not unset:
        return
    if unset or ratio(violation, scale) > ratio(cert[at], cert[at + 1]):
        cert[at] = violation
        cert[at + 1] = scale


@kernel(inner=True)
def begin_certificate(z: Floats, f: Floats, v_plus: Floats, cert: Floats) -> bool:
    """Set the certificate to zeros; if a value is not finite, make every violation infinite, and return False."""
    total = 0.0
    for i in range(z.shape[0]):
        total += abs(z[i])
    for i in range(f.shape[0]):
        total += abs(f[i])
    for p in range(v_plus.shape[0]):
        total += abs(v_plus[p])
    finite = total < float("inf")
    for c in range(cert.shape[0] // 2):
        cert[2 * c], cert[2 * c + 1] = (0.0, 0.0) if finite else (float("inf"), 1.0)
    return finite


@kernel(inner=True)
def worst_scaled(cert: Floats) -> float:
    """Return the largest violation over scale of a filled certificate."""
    worst = 0.0
    for c in range(cert.shape[0] // 2):
        worst = max(worst, ratio(cert[2 * c], cert[2 * c + 1]))
    return worst


@kernel(inline=True)
def min_rate_scale(own: float, speed: float) -> float:
    """Return the minimum scale of a row's rate; own = J_i Y_i, speed = sqrt(v' M v) of the free motion.

    |J_i v| <= sqrt(own) speed for any motion of that energy: a rate far below is rounding of the whole motion.
    """
    return MIN_RELATIVE_SCALE * math.sqrt(max(0.0, own)) * speed


@kernel(inline=True)
def row_rate(
    rows: ContactSystem, i: int, f: Floats, v_plus: Floats, rates: Floats, u: Floats
) -> tuple[float, float, float]:
    """Return the rate J_i v+ + k_i of row i, its scale s_i and its force scale phi_i.

    ``rates`` are the rates of the rows, or of length 0 if they are to be summed.
    """
    a, b, c, d = row_ranges(rows.column_ranges, i, v_plus.shape[0])
    own = delassus_diagonal_entry(rows, i)
    rate = rates[i] if i < rates.shape[0] else sparse_dot(a, b, c, d, rows.J[i], v_plus) + rows.k[i]
    scale = abs_dot_range(a, b, rows.J[i], u, 0.0)
    if c < d:
        scale = abs_dot_range(c, d, rows.J[i], u, scale)
    scale = scale + abs(rows.k[i]) + rows.gamma[i] * abs(f[i])
    speed = u[v_plus.shape[0]]
    # Most are much larger, which shows without a square root.
    if scale * scale <= 2.0 * MIN_RELATIVE_SCALE * MIN_RELATIVE_SCALE * own * speed * speed:
        scale = max(scale, min_rate_scale(own, float(speed)))
    softness = rows.h * own + rows.gamma[i]
    force = scale / softness if softness > 0.0 else abs(f[i])
    return rate, scale, force


@kernel(inner=True)
def kinetic_norm(rows: ContactSystem) -> float:
    """Return sqrt(v' M v) of the free motion of the whole system."""
    energy = 0.0
    for p in range(rows.v_free.shape[0]):
        energy += rows.v_free[p] * rows.Mv[p]
    return math.sqrt(max(0.0, energy))


@kernel(inline=True)
def free_rate_and_rounding(rows: ContactSystem, i: int, v: Floats, motion: float) -> tuple[float, float]:
    """Return the rate of row i at v, and a bound on its change by rounding of J and v_free.

    A normal is known to its rounding, and so is its component of a ``motion`` (`kinetic_norm`) across it. Bodies that
    fall side by side have no other speed along their normal.
    """
    a, b, c, d = row_ranges(rows.column_ranges, i, rows.v_free.shape[0])
    row = rows.J[i]
    load, terms = dot_and_terms_on(a, b, row, v, rows.v_free, 0.0, abs(rows.k[i]))
    if c < d:
        load, terms = dot_and_terms_on(c, d, row, v, rows.v_free, load, terms)
    return load + rows.k[i], ROUNDING * (terms + math.sqrt(max(0.0, delassus_diagonal_entry(rows, i))) * motion)


@kernel(inline=True)
def drop_rounding(rate: float, rounding: float) -> float:
    """Return ``rate``, or 0 if its magnitude is at most ``rounding``."""
    return rate if abs(rate) > rounding else 0.0


@kernel(inner=True)
def rate_and_load(
    rows: ContactSystem, i: int, motion: float, f: Floats, v_plus: Floats, rates: Floats
) -> tuple[float, float]:
    """Return the rate of row i at v+ with softness, 0 if it is rounding, and the signed rate without forces.

    The rate at v+ without softness is stored in ``rates[i]``.
    """
    load, rounding = free_rate_and_rounding(rows, i, rows.v_free, motion)
    rates[i] = dot_of_row(rows, i, rows.J[i], v_plus) + rows.k[i]
    rate = rates[i] + rows.gamma[i] * f[i]
    return drop_rounding(rate, rounding), load


@kernel(inner=True)
def measure_cones(
    rows: ContactSystem,
    posed: Floats,
    diagonal: Floats,
    z: Floats,
    f: Floats,
    v_plus: Floats,
    rates: Floats,
    out: Floats,
) -> None:
    """Fill the rates, the slip speeds in z and the measures ``out`` of the forces f with their v+.

    Parameters
    ----------
    rows
        [N; F; L; B], of one or two tangents per contact; with rows G where they are as they were posed.
    posed, diagonal
        As of `IslandProblem`, and (nc + nr,) the diagonal response of the rows of contacts.
    z
        (n,) variables of the LCP, see `discretized_lcp`; an edge is a tangent or its negative.
    f, v_plus
        (nc + nr + nl + nbox,), (nv,).
    rates
        As f: output, J v+ + k.
    out
        Measures of `lcp.kernels.residuals`: the natural map with step 1, which does not decide, and the scaled one.
    """
    nc = rows.nc
    motion = kinetic_norm(rows)
    # Each contact separately, with forces relative to the largest one, and rates relative to its effect on their rows.
    worst = 0.0
    largest = 0.0
    for i in range(nc + rows.nr):
        largest = max(largest, abs(f[i]))
    if largest == 0.0:
        largest = 1.0
    plain = plain_load = 0.0
    balanced = balanced_load = 0.0
    first = nc
    for c in range(nc):
        weight = response_of(rows, posed, diagonal, c)
        last = first + rows.r[c]
        for i in range(first, last):
            weight = max(weight, response_of(rows, posed, diagonal, i))
        u0, load = rate_and_load(rows, c, motion, f, v_plus, rates)
        load = size_unforced(rows, posed, c) if posed.shape[0] > 0 else abs(load)
        square = load * load
        unit = load + response_of(rows, posed, diagonal, c) * largest
        r1 = u1 = r2 = u2 = 0.0
        for i in range(first, last):
            slip, load = rate_and_load(rows, i, motion, f, v_plus, rates)
            load = size_unforced(rows, posed, i) if posed.shape[0] > 0 else abs(load)
            square += load * load
            unit = max(unit, load + response_of(rows, posed, diagonal, i) * largest)
            if i == first:
                r1, u1 = f[i], slip
            else:
                r2, u2 = f[i], slip
        mu = rows.mu[c] if last > first else 0.0
        if unit > 0.0:
            a, b, d = f[c] / largest, r1 / largest, r2 / largest
            worst = max(worst, natural_square(mu, a, b, d, u0 / unit, u1 / unit, u2 / unit))
        plain += natural_square(mu, f[c], r1, r2, u0, u1, u2)
        plain_load += square
        # A contact that no body moves is judged by its own terms only.
        if weight > 0.0:
            balanced += natural_square(mu, weight * f[c], weight * r1, weight * r2, u0, u1, u2) / weight
            balanced_load += square / weight
        z[nc + 2 * rows.nr + c] = math.sqrt(u1 * u1 + u2 * u2)
        first = last
    before = first + rows.nl
    for place in range(first, before + rows.lo.shape[0]):
        i = place if place < before else place + rows.nb
        response = response_of(rows, posed, diagonal, i)
        rate, load = rate_and_load(rows, i, motion, f, v_plus, rates)
        load = size_unforced(rows, posed, i) if posed.shape[0] > 0 else load
        lo, hi = 0.0, math.inf
        if place >= before:
            lo, hi = rows.lo[place - before], rows.hi[place - before]
        plain += (f[i] - min(max(f[i] - rate, lo), hi)) ** 2
        plain_load += load * load
        if response > 0.0:
            force = response * f[i]
            balanced += (force - min(max(force - rate, response * lo), response * hi)) ** 2 / response
            balanced_load += load * load / response
    out[:] = 0.0
    out[NATURAL_MAP] = math.sqrt(plain / plain_load) if plain_load > 0.0 else math.sqrt(plain)
    scaled = math.sqrt(balanced / balanced_load) if balanced_load > 0.0 else 0.0
    out[SCALED] = max(scaled, math.sqrt(worst))
    # The natural map adds newtons to metres per second, and does not decide.
    out[NATURAL_LIMIT] = max(out[NATURAL_MAP], 1.0)

"""Residuals of forces of contacts with Coulomb's exact cone, and of joint rows.

The measures are those of `lcp.friction.residuals`, computed from J, Y and v+ because W is not formed, and stored like
measures of an LCP (`lcp.kernels.residuals`). Forces and rates are balanced (`island_acceptance`), so they do not depend
on units. Less rounding is excused than there: of a row's terms only the load and its own force count.
"""

from __future__ import annotations

import math

from lcp.contacts.kernels.column_ranges import (
    delassus_diagonal_entry,
    dot_and_terms_on,
    response_of,
    row_ranges,
    size_unforced,
    sparse_dot,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.kernels import Floats, kernel
from lcp.kernels.cone_measures import natural_square
from lcp.kernels.residuals import NATURAL_LIMIT, NATURAL_MAP, ROUNDING, SCALED


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
    a, b, c, d = row_ranges(rows.column_ranges, i, v_plus.shape[0])
    load, rounding = free_rate_and_rounding(rows, i, rows.v_free, motion)
    rates[i] = sparse_dot(a, b, c, d, rows.J[i], v_plus) + rows.k[i]
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

"""Accept or reject candidate forces of an island: by the LCP's residuals, and by the mechanical conditions.

Neither M nor any product of rows of two contacts is formed: rates are computed from J, Y and v+. Two tests must pass.
The scaled residual decides for every solver, with the island's largest force as the scale of forces. In the certificate
of `certify` every row has its own scale. `contactlab.simulation.verification` requires the same.

Neither depends on units. A force f_i of row i and its rate are balanced by R_i = h J_i Y_i + gamma_i, the rate for a
unit of the force: sqrt(R_i) f_i and rate / sqrt(R_i) are both roots of a power, for rows of points, rotations or
moments. Friction rows have the largest R_i of their cone. Its slack is a rate, and so is the remaining rate of a boxed
row at its upper bound.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from lcp.compiler.kernels import copy_array
from lcp.contacts.kernels.boxed_rows import (
    evaluate_boxed,
    fill_boxed_rhs,
    first_limit,
    has_anchors,
    larger_bound,
    recover,
)
from lcp.contacts.kernels.certify import BOXED_CERT_SIZE, CERT_SIZE, certify, certify_boxed
from lcp.contacts.kernels.condition_scales import (
    MIN_RELATIVE_SCALE,
    drop_rounding,
    free_rate_and_rounding,
    kinetic_norm,
    measure_cones,
    row_scales_views,
    scale_variable,
    worst_scaled,
)
from lcp.contacts.kernels.contact_system import ContactSystem, dot_of_row, response_of, size_unforced
from lcp.contacts.kernels.solver_state import fill_delassus_diagonal
from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.residuals import (
    NATURAL_LIMIT,
    NATURAL_MAP,
    ROUNDING,
    SCALED,
    SMALL_LOADS,
    is_solved,
    row_residuals,
)

# Fraction of the tolerance that forces must reach, because verification from a record recomputes everything with other
# rounding.
SAFETY_FACTOR: Final = 0.9
# Factor above the tolerance from which forces are rejected early, by a residual with other rounding.
REJECT_FACTOR: Final = 2.0


EMPTY: Final = np.zeros(0)


class IslandProblem(NamedTuple):
    """Problem of one island for the strategies."""

    rows: ContactSystem  # [N; F; L; B]
    tree_starts: Ints  # (nt + 1,) first velocity of each tree, ascending; one tree if rows have all columns
    equal_compliance: bool  # whether equal-compliance forces are required, or any forces near the previous ones
    warm_start: bool  # whether z0 is from the previous step; 0 for new contacts
    exact_cone: (
        bool  # whether friction has the exact cone over two tangents; z has the tangential force as forces of edges
    )
    enabled: int  # bit mask of the enabled strategies
    z0: Floats  # (n,)
    tolerance: float  # of the scaled residual
    # (2 m,) J_i M^-1 J_i and |J_i v_free + k_i| of the rows before G was eliminated, used for acceptance; empty if the
    # rows' own values are used.
    posed: Floats = EMPTY


class IslandSolution(NamedTuple):
    """Solution of an island; without a solution only q is valid."""

    q: Floats  # (n,)
    z: Floats  # (n,) variables of the LCP, and w = M z + q
    w: Floats
    f: Floats  # (m,) forces of the rows
    v_plus: Floats  # (nv,)
    residuals: Floats  # of `lcp.kernels.residuals`
    certificate: Floats  # of `certify` and `certify_boxed`, in this order
    certificate_work: Floats  # (nv + 1,) output of `certify`
    best_z: Floats  # (n,) z of the forces with the smallest residual
    state: Floats  # (STATE,)
    dv_deps: Floats = EMPTY  # (nv,) kept from step to step, or empty: see `force_reuse`


# Indices in the state: residual of the best forces, whether the path's end is known, blending factor of previous and
# new forces (`blend_factor`), and systems solved by `solve_first`.
BEST_RESIDUAL: Final = 0
PATH_END: Final = 1
BLEND: Final = 2
SYSTEMS_SOLVED: Final = 3
STATE: Final = 4


@kernel(inline=True)
def with_rows(case: IslandProblem, rows: ContactSystem) -> IslandProblem:
    """Return the problem with other rows."""
    return IslandProblem(
        rows,
        case.tree_starts,
        case.equal_compliance,
        case.warm_start,
        case.exact_cone,
        case.enabled,
        case.z0,
        case.tolerance,
        case.posed,
    )


@kernel(inline=True)
def is_enabled(case: IslandProblem, attempt: int) -> bool:
    """Return True if a strategy is enabled."""
    return (case.enabled >> attempt) & 1 == 1


@kernel(inline=True)
def count_rows(rows: ContactSystem) -> int:
    """Count the rows [N; F; L; G; B]; eliminated rows G do not count."""
    return rows.nc + rows.nr + rows.nl + rows.nb + rows.lo.shape[0]


@kernel(inline=True)
def scales_float_size(m: int, n: int) -> int:
    """Return the number of floats of the row scales, for m rows and n LCP variables."""
    return 2 * m + 3 * n + 1


@kernel(inner=True)
def fill_rhs_and_scales(
    rows: ContactSystem, posed: Floats, v: Floats, diagonal: Floats, q: Floats, loads: Floats
) -> None:
    """Fill q of the LCP, and in the loads the rounding of the rates and the scales of the LCP's rows.

    ``v`` (nv,) is the velocity at z = 0, ``diagonal`` the diagonal of the Delassus matrix over the rows [N; F].
    ``posed`` is the field of `IslandProblem`.
    """
    # rounding of the rates and the scales are parts of the loads
    nc = rows.nc
    nr = rows.nr
    m = count_rows(rows)
    rounding_errors = loads[m : 2 * m]
    scales = row_scales_views(loads, m, q.shape[0])
    motion = kinetic_norm(rows)
    anchored = posed.shape[0] > 0 or has_anchors(rows.lo, rows.hi)
    # normal rows and limits
    heaviest = 0.0
    for i in range(nc + nr + rows.nl):
        if nc <= i < nc + nr:
            continue
        place = i if i < nc else first_limit(rows) + i - nc - nr
        q[place], rounding_errors[i] = free_rate_and_rounding(rows, i, v, motion)
        amount = size_unforced(rows, posed, i) if anchored else abs(q[place])
        heaviest = max(heaviest, scale_variable(scales, place, amount, response_of(rows, posed, diagonal, i)))
    # friction rows, cone by cone
    first = nc
    for cone in range(rows.r.shape[0]):
        last = first + rows.r[cone]
        # the largest response of a cone's rows scales all of them
        response = 0.0
        for i in range(first, last):
            response = max(response, response_of(rows, posed, diagonal, i))
        root = math.sqrt(response)
        inverse = 1.0 / root if root > 0.0 else 0.0
        # both directions of each friction row
        for i in range(first, last):
            rate, rounding_errors[i] = free_rate_and_rounding(rows, i, v, motion)
            q[i] = rate
            q[i + nr] = -rate
            amount = size_unforced(rows, posed, i) if anchored else abs(rate)
            scales.amounts[i] = scales.amounts[i + nr] = amount
            scales.sizes[i] = scales.sizes[i + nr] = root
            scales.units[i] = scales.units[i + nr] = root
            heaviest = max(heaviest, amount * inverse)
        # the row of the friction bound
        place = nc + 2 * nr + cone
        normal = scales.units[rows.cone_contacts[cone]]
        q[place] = 0.0
        scales.amounts[place] = 0.0
        bound = rows.mu[cone] / normal if normal > 0.0 else 0.0
        scales.sizes[place] = max(bound, inverse, rows.gammaE[cone] * root)
        scales.units[place] = inverse
        first = last
    # boxed rows
    heaviest = max(heaviest, fill_boxed_rhs(rows, posed, v, q, scales))
    # For bodies without load the remaining motion is rounding, and not a load.
    scales.load[0] = max(heaviest, ROUNDING / SMALL_LOADS * motion / math.sqrt(rows.h))


@kernel(inner=True)
def largest_force(rows: ContactSystem, posed: Floats, z: Floats, f: Floats, units: Floats) -> float:
    """Return the largest force f_i sqrt(R_i), with R_i the response of row i to its own force, over all rows.

    Forces of contacts and limits are read from ``z`` and have their roots in ``units``. A boxed row counts with its
    force in ``f``, but with at least `MIN_RELATIVE_SCALE` of its larger bound, because its rounding is relative to it.
    """
    # contacts and friction
    largest = 0.0
    for i in range(rows.nc + 2 * rows.nr):
        largest = max(largest, units[i] * abs(z[i]))
    # limits
    limit = first_limit(rows)
    for i in range(limit, limit + rows.nl):
        largest = max(largest, units[i] * abs(z[i]))
    # boxed rows
    first = rows.nc + rows.nr + rows.nl + rows.nb
    for b in range(rows.lo.shape[0]):
        force = max(abs(f[first + b]), MIN_RELATIVE_SCALE * larger_bound(rows.lo[b], rows.hi[b]))
        largest = max(largest, math.sqrt(response_of(rows, posed, f[:0], first + b)) * force)
    return largest


@kernel(inner=True)
def fill_slacks(rows: ContactSystem, diagonal: Floats, answer: IslandSolution, loads: Floats) -> None:
    """Fill the rates of the rows, the slip speeds lambda and the rates of boxed rows in z, and all of w.

    They follow from the forces in z and f and from v+. A rate in w is set to 0 if it is within its rounding, because
    bodies that fall side by side have no other rate.
    """
    # rates of all rows
    z, w = answer.z, answer.w
    m = count_rows(rows)
    rate, rounding_errors = loads[:m], loads[m : 2 * m]
    nc = rows.nc
    nr = rows.nr
    r = rows.r
    gamma = rows.gamma
    for i in range(nc + nr + rows.nl):
        rate[i] = dot_of_row(rows, i, rows.J[i], answer.v_plus) + rows.k[i]
    # normal rows
    first = nc
    for c in range(nc):
        w[c] = drop_rounding(rate[c] + gamma[c] * z[c], rounding_errors[c])
    # friction: force left to the bound, and slip speed
    for c in range(r.shape[0]):
        last = first + r[c]
        spent = 0.0
        slack = 0.0
        for i in range(first, last):
            spent += z[i] + z[i + nr]
            slack = max(slack, -rate[i] - gamma[i] * z[i], rate[i] - gamma[i] * z[i + nr])
        left = rows.mu[c] * z[rows.cone_contacts[c]] - spent
        cone = nc + 2 * nr + c
        # The slip speed belongs to a force at its bound; otherwise a slip is rounding, or not a solution.
        speed = slack if r[c] == 0 or left * diagonal[first] <= slack else 0.0
        z[cone] = speed
        w[cone] = left + rows.gammaE[c] * speed
        # slacks of the friction rows in both directions
        for i in range(first, last):
            w[i] = drop_rounding(rate[i] + gamma[i] * z[i] + speed, rounding_errors[i])
            w[i + nr] = drop_rounding(-rate[i] + gamma[i] * z[i + nr] + speed, rounding_errors[i])
        first = last
    # limit rows, then boxed rows
    limit = first_limit(rows)
    for i in range(rows.nl):
        w[limit + i] = drop_rounding(rate[first + i] + gamma[first + i] * z[limit + i], rounding_errors[first + i])
    evaluate_boxed(rows, answer.f, answer.v_plus, rate, z, w)


@kernel(inner=True)
def fill_residuals(case: IslandProblem, answer: IslandSolution, diagonal: Floats, loads: Floats) -> None:
    """Fill the measures of the forces in z, with f and v+; ``loads`` come from `fill_rhs_and_scales`."""
    rows = case.rows
    recover(rows, answer.z, answer.f, answer.v_plus)
    if case.exact_cone:
        rates = loads[: count_rows(rows)]
        measure_cones(rows, case.posed, diagonal, answer.z, answer.f, answer.v_plus, rates, answer.residuals)
    else:
        fill_residuals_of_state(rows, case.posed, diagonal, answer, loads)


@kernel(inner=True)
def fill_residuals_of_state(
    rows: ContactSystem, posed: Floats, diagonal: Floats, answer: IslandSolution, loads: Floats
) -> None:
    """Fill the measures of the forces in z, as `fill_residuals`, from the f and v+ that already belong to them."""
    fill_slacks(rows, diagonal, answer, loads)
    scales = row_scales_views(loads, count_rows(rows), answer.z.shape[0])
    largest = largest_force(rows, posed, answer.z, answer.f, scales.units)
    args = scales.amounts, scales.sizes, scales.units, float(scales.load[0]), largest
    row_residuals(*args, answer.z, answer.w, answer.residuals)


@kernel(inner=True)
def is_rejected_early(case: IslandProblem, answer: IslandSolution, loads: Floats, tolerance: float) -> bool:
    """Return True if a normal rate already shows that the scaled residual of the forces in z is too large."""
    # scales and largest force
    rows = case.rows
    m = count_rows(rows)
    z = answer.z
    rounding_errors, scales = loads[m : 2 * m], row_scales_views(loads, m, z.shape[0])
    largest = largest_force(rows, case.posed, z, answer.f, scales.units)
    # residual of each normal row, from its rate and its force
    for c in range(rows.nc):
        rate = dot_of_row(rows, c, rows.J[c], answer.v_plus) + rows.k[c] + rows.gamma[c] * z[c]
        unit = scales.amounts[c] + scales.sizes[c] * largest
        w = drop_rounding(rate, rounding_errors[c]) / unit if unit > 0.0 else 0.0
        if abs(min(scales.units[c] * z[c] / largest if largest > 0.0 else 0.0, w)) > REJECT_FACTOR * tolerance:
            return True
    return False


@kernel(inline=True)
def worst_violation(rows: ContactSystem, answer: IslandSolution) -> float:
    """Return the largest violation over its scale in the certificate, whose last part exists for boxed rows only."""
    return worst_scaled(answer.certificate[: CERT_SIZE + (BOXED_CERT_SIZE if rows.lo.shape[0] > 0 else 0)])


@kernel(inner=True)
def fill_certificate(case: IslandProblem, answer: IslandSolution, loads: Floats) -> float:
    """Fill the certificate of f and v+, measured before; return the largest violation over its scale."""
    rows = case.rows
    rates = loads[: count_rows(rows)]
    certificate = answer.certificate[:CERT_SIZE]
    edges = answer.f if case.exact_cone else answer.z
    certify(rows, rows.Y, case.exact_cone, edges, answer.f, answer.v_plus, rates, answer.certificate_work, certificate)
    if rows.lo.shape[0] > 0:
        boxed = answer.certificate[CERT_SIZE : CERT_SIZE + BOXED_CERT_SIZE]
        certify_boxed(rows, answer.f, answer.v_plus, rates, answer.certificate_work, boxed)
    return worst_violation(rows, answer)


@kernel(inner=True)
def accept_or_keep_best(case: IslandProblem, answer: IslandSolution, diagonal: Floats, loads: Floats) -> bool:
    """Fill the residuals and the certificate of the forces in z; return True if they solve the problem.

    ``answer.best_z`` gets them if they violate it less than all before.
    """
    fill_residuals(case, answer, diagonal, loads)
    worst = fill_certificate(case, answer, loads)
    natural = case.tolerance * answer.residuals[NATURAL_MAP] / answer.residuals[NATURAL_LIMIT]
    far = max(worst, answer.residuals[SCALED], natural)
    if far < answer.state[BEST_RESIDUAL]:
        answer.state[BEST_RESIDUAL] = far
        copy_array(answer.z, answer.best_z)
    return is_solved(answer.residuals, SAFETY_FACTOR * case.tolerance) and worst <= SAFETY_FACTOR * case.tolerance


@kernel(inner=True)
def judge_posed(
    rows: ContactSystem,
    exact: bool,
    edges: Floats,
    answer: IslandSolution,
    diagonal: Floats,
    loads: Floats,
    tolerance: float,
) -> bool:
    """Return True if the forces solve the original problem, before rows G were eliminated.

    They come from a solver or from the problem without G. ``edges`` (n,) are copied to ``answer.z``, with forces by the
    edges of the cones. ``answer`` also has f, v+, and the output of `certify` and `certify_boxed`; its q is scratch.
    ``diagonal`` (nc + nr,) and ``loads`` are filled, ``rows.diagonal`` is empty.
    """
    copy_array(edges, answer.z)
    fill_delassus_diagonal(rows, diagonal)
    if exact:
        measure_cones(rows, rows.diagonal, diagonal, answer.z, answer.f, answer.v_plus, loads, answer.residuals)
    else:
        fill_rhs_and_scales(rows, rows.diagonal, rows.v_free, diagonal, answer.q, loads)
        fill_residuals_of_state(rows, rows.diagonal, diagonal, answer, loads)
    return is_solved(answer.residuals, tolerance) and worst_violation(rows, answer) <= tolerance

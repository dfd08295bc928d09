"""State of a search for the forces of an island's contacts and joint rows, and its conversion from z of an LCP.

Rows are [N; F; L; B] of `rows`, with equations eliminated. Every contact has the same number of friction directions,
and a cone of moments the same number, or one.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.kernels import copy_array
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.boxed_rows import first_limit, recover_boxed_forces, store_boxed_forces
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    SLIDE_FLOATS,
    ContactState,
    FrictionCone,
    enclosing_edge,
    fill_contact_rates,
    fill_edge_directions,
)
from lcp.contacts.kernels.contact_system import (
    ContactSystem,
    abs_terms_range,
    packed_ints,
    row_ranges,
    row_response,
)
from lcp.contacts.kernels.elimination import Elimination, elimination_ints, elimination_views, factor_panels
from lcp.contacts.kernels.mode_system import apply_contact_impulse, form_system
from lcp.kernels import Floats, Ints, kernel

#: Marks a mode that is not chosen yet.
UNKNOWN: Final = -1


class JointRowState(NamedTuple):
    """Further state of the nj rows [L; B]."""

    lo: Floats  # bounds of their forces
    hi: Floats
    previous_p: Floats  # forces from before, about which they have their compliance
    rates: Floats  # scratch


class SavedStep(NamedTuple):
    """Forces of contacts and joint rows that a step saves in order to restore them."""

    start: Floats  # (n, 3) forces from which the next compliance is tried
    fixed: Floats  # (n, 3)
    moving: Floats  # (n, 3)
    previous_p: Floats  # (nj,) of joint rows


class SolverState(NamedTuple):
    """State of the search for an island's forces."""

    contacts: ContactState
    joined: JointRowState
    previous_modes: Ints  # (n,) modes before a step
    speed: float  # upper bound of the free motion along a row of a contact
    v: Floats  # (nv,) velocity
    trial_v: Floats
    trees: Elimination
    W: Floats  # (3, nv) scratch
    K: Floats  # panels of the matrix, or of its factors
    scratch3_a: Floats  # (3,) scratch
    scratch3_b: Floats  # (3,) scratch
    kept: SavedStep
    memory: Floats  # of the methods
    loads: Floats  # scales of the rows, see `fill_rhs_and_scales`


@kernel
def state_float_size(ncone: int, m: int, nj: int, nv: int) -> int:
    """Return the length of the float workspace; m rows [N; F] and nj rows [L; B]."""
    return nv * nv + 5 * nv + 24 * (ncone + nj) + m + 6 * nj + 2 * CONTACT_DIM + SLIDE_FLOATS * ncone


@kernel
def state_int_size(ncone: int, m: int, nt: int) -> int:
    """Return the length of the integer workspace, for ncone cones, m rows and nt trees."""
    return 3 * (ncone + m) + elimination_ints(ncone, nt) + packed_ints(m)


@kernel(inline=True)
def state_diagonal_view(rows: ContactSystem, wf: Floats) -> Floats:
    """Return the view in ``wf`` of the responses (m,) of the rows [N; F; L; B] to their own forces."""
    nv, nj = rows.v_free.shape[0], rows.nl + rows.lo.shape[0]
    at = nv * nv + 5 * nv + 15 * (rows.r.shape[0] + nj)
    return wf[at : at + rows.nc + rows.nr + nj]


@kernel(inner=True)
def fill_delassus_diagonal(rows: ContactSystem, diagonal: Floats) -> None:
    """Fill the response of each row to its own force."""
    for i in range(diagonal.shape[0]):
        diagonal[i] = row_response(rows, i)


@kernel(inner=True)
def fill_zero_diagonal(rows: ContactSystem, diagonal: Floats) -> None:
    """Set zero diagonal entries of normals, between bodies that cannot move, to the largest entry of a normal.

    Such a contact opens, or has no load, so any positive entry serves.
    """
    largest = 0.0
    for c in range(rows.nc):
        largest = max(largest, diagonal[c])
    for c in range(rows.nc):
        if diagonal[c] == 0.0:
            diagonal[c] = largest


@kernel(inner=True)
def max_free_speed(rows: ContactSystem) -> float:
    """Return the largest sum of the magnitudes of the terms of a normal rate without forces, |J_c| |v_free| + |k_c|."""
    nv = rows.v_free.shape[0]
    speed = 0.0
    for c in range(rows.nc):
        a, b, d, e = row_ranges(rows.column_ranges, c, nv)
        first = abs_terms_range(a, b, rows.J[c], rows.v_free, abs(rows.k[c]))
        speed = max(speed, abs_terms_range(d, e, rows.J[c], rows.v_free, first))
    return speed


@kernel(inner=True)
def solver_state_views(rows: ContactSystem, starts: Ints, loads: Floats, wf: Floats, wi: Ints) -> SolverState:
    """Return the views of the solver state in its workspaces, and fill the bounds of [L; B].

    The diagonal must already be in ``wf`` (`fill_delassus_diagonal`).

    ``starts`` (nt + 1,) are the first velocities of the trees.
    """
    # sizes
    nv = rows.v_free.shape[0]
    nj = rows.nl + rows.lo.shape[0]
    ncone = rows.r.shape[0]
    n = ncone + nj
    # matrix of the velocities and its vectors
    K = wf[: nv * nv]
    at = nv * nv
    vectors = view_2d(wf, at, 2, nv)
    W = view_2d(wf, at + 2 * nv, 3, nv)
    at += 5 * nv
    # forces, rates and Jacobians, and the diagonal
    p = view_2d(wf, at, n, CONTACT_DIM)
    s = view_2d(wf, at + 3 * n, n, CONTACT_DIM)
    B = wf[at + 6 * n : at + 15 * n].reshape(n, CONTACT_DIM, CONTACT_DIM)
    diagonal = state_diagonal_view(rows, wf)
    at += 15 * n + diagonal.shape[0]
    of_joints = view_2d(wf, at, 4, nj)
    at += 4 * nj
    kept = SavedStep(
        view_2d(wf, at, n, CONTACT_DIM),
        view_2d(wf, at + 3 * n, n, CONTACT_DIM),
        view_2d(wf, at + 6 * n, n, CONTACT_DIM),
        wf[at + 9 * n : at + 9 * n + nj],
    )
    at += 9 * n + nj
    contacts = ContactState(wi[:n], p, s, B, diagonal)
    joined = JointRowState(of_joints[0], of_joints[1], of_joints[2], of_joints[3])
    # limits push only; boxed rows have their own bounds
    for i in range(nj):
        joined.lo[i] = 0.0 if i < rows.nl else rows.lo[i - rows.nl]
        joined.hi[i] = math.inf if i < rows.nl else rows.hi[i - rows.nl]
        joined.previous_p[i] = min(max(0.0, joined.lo[i]), joined.hi[i])
        p[ncone + i, 1] = p[ncone + i, 2] = 0.0
    # scratch, previous modes and the elimination's integers
    scratch = view_2d(wf, at, 2, CONTACT_DIM)
    before = wi[n : 2 * n]
    trees = elimination_views(starts, rows.nc, wi[3 * n :])
    memory = wf[state_float_size(ncone, rows.nc + rows.nr, nj, nv) :]
    return SolverState(
        contacts, joined, before, max_free_speed(rows), vectors[0], vectors[1], trees, W, K, scratch[0], scratch[1],
        kept, memory, loads,
    )  # fmt: skip


@kernel(inner=True)
def make_friction_cone(rows: ContactSystem, exact: bool, turns: Floats, wf: Floats, wi: Ints) -> FrictionCone:
    """Fill the views of the cones' common polygon, or of the disc if ``exact``, and return them.

    The field r is -1 if cones have different numbers of directions. In the plane polygon and disc are the same.
    ``turns`` get the edges. The slide states are the last part of the search's ``wf``, the first rows F of the cones
    the third part of its ``wi``.
    """
    # views of the slide states and of the cones' first rows
    ncone = rows.r.shape[0]
    at = state_float_size(ncone, rows.nc + rows.nr, rows.nl + rows.lo.shape[0], rows.v_free.shape[0])
    slides = view_2d(wf, at - SLIDE_FLOATS * ncone, ncone, SLIDE_FLOATS)
    n = ncone + rows.nl + rows.lo.shape[0]
    first = wi[2 * n : 2 * n + ncone]
    # common number of directions; cones of moments may have one
    r = rows.r[0] if rows.nc > 0 else 0
    row = rows.nc
    for c in range(ncone):
        first[c] = row
        row += rows.r[c]
        if rows.r[c] != r and (c < rows.nc or r < 1 or rows.r[c] != 1):
            r = -1
    # edges of the polygon; a disc in space uses the tangents themselves, without rounding
    if r > 0:
        fill_edge_directions(r, turns)
    disc = exact and r > 1
    for j in range(2 * r + 1 if disc else 0):
        turns[j, 0] = math.floor(turns[j, 0] + 0.5)
        turns[j, 1] = math.floor(turns[j, 1] + 0.5)
    # second tangent from the direction most nearly perpendicular to the first
    across, skew, stretch = r // 2 if r > 1 else 0, 0.0, 1.0
    if r > 1 and r % 2 == 1:
        skew, stretch = -turns[across, 0] / turns[across, 1], 1.0 / turns[across, 1]
    return FrictionCone(-1 if disc and r != 2 else r, first, across, skew, stretch, turns, disc, slides)


@kernel(inner=True)
def recover_velocity(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> None:
    """Compute the velocities ``search.v`` of the state's forces, and the rates of all rows."""
    # free velocity plus the impulses of all forces
    contacts, v = search.contacts, search.v
    copy_array(rows.v_free, v)
    for c in range(contacts.p.shape[0]):
        apply_contact_impulse(rows, polygon, c, contacts.p[c], v)
    # rates at these velocities
    fill_contact_rates(rows, polygon, v, 1.0, contacts.s)


@kernel(inner=True)
def factor_system(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> bool:
    """Form and factor the matrix of the slopes ``contacts.B`` in ``search.K``; return False if it is singular."""
    form_system(rows, polygon, search.contacts, search.trees, search.W, search.K)
    return factor_panels(search.trees, search.K, search.W[0])


@kernel(inner=True)
def contact_force_from_z(rows: ContactSystem, polygon: FrictionCone, c: int, z0: Floats, p: Floats) -> None:
    """Fill the forces p (3,) of a contact, or of a cone of moments, from z0."""
    # normal force of the contact
    p[0] = max(z0[rows.cone_contacts[c]], 0.0)
    p[1] = 0.0
    p[2] = 0.0
    # sum of the friction forces along the edges
    for e in range(rows.r[c]):
        i = polygon.first[c] + e
        signed = max(z0[i], 0.0) - max(z0[i + rows.nr], 0.0)
        p[1] += signed * polygon.edge_directions[e, 0]
        p[2] += signed * polygon.edge_directions[e, 1]
    if rows.r[c] == 1:
        p[2] = 0.0
    if c >= rows.nc:
        # If the length is zero there is no moment.
        scale = 1.0 / rows.mu[c] if rows.mu[c] > 0.0 else 0.0
        p[1] *= scale
        p[2] *= scale


@kernel(inner=True)
def is_supported(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> bool:
    """Return True if the strategies can solve the problem.

    All contacts must have equal polygons, no softness of F and lambda, and normals that respond to their force.
    """
    # cones of different shapes are not supported
    if polygon.r < 0:
        return False
    # no softness in friction, and a positive response of the normal
    for c in range(rows.r.shape[0]):
        friction = rows.gammaE[c]
        for i in range(polygon.first[c], polygon.first[c] + rows.r[c]):
            friction = max(friction, rows.gamma[i])
        if friction > 0.0 or not search.contacts.diagonal[rows.cone_contacts[c]] > 0.0:
            return False
    return True


@kernel(inner=True)
def load_row_forces(rows: ContactSystem, search: SolverState, z0: Floats) -> None:
    """Load the forces of joint rows in z0, within their bounds, into the state as their forces from before."""
    joined, first = search.joined, first_limit(rows)
    for i in range(rows.nl):
        joined.previous_p[i] = z0[first + i]
    recover_boxed_forces(first + rows.nl, rows.lo, rows.hi, z0, joined.previous_p[rows.nl :])
    for i in range(joined.lo.shape[0]):
        joined.previous_p[i] = min(max(joined.previous_p[i], joined.lo[i]), joined.hi[i])


@kernel(inner=True)
def load_forces(rows: ContactSystem, polygon: FrictionCone, search: SolverState, z0: Floats) -> None:
    """Load the forces of z0 into the state; their modes are not known yet."""
    contacts, ncone = search.contacts, rows.r.shape[0]
    contacts.mode[:] = UNKNOWN
    for c in range(ncone):
        contact_force_from_z(rows, polygon, c, z0, contacts.p[c])
    load_row_forces(rows, search, z0)
    for i in range(search.joined.lo.shape[0]):
        contacts.p[ncone + i, 0] = search.joined.previous_p[i]


@kernel(inner=True)
def center_rows(search: SolverState) -> None:
    """Make the forces of joint rows in the state those from before, about which they have their compliance."""
    before, p = search.joined.previous_p, search.contacts.p
    for i in range(before.shape[0]):
        before[i] = p[p.shape[0] - before.shape[0] + i, 0]


@kernel(inner=True)
def forces_unchanged(rows: ContactSystem, polygon: FrictionCone, search: SolverState, z0: Floats, part: float) -> bool:
    """Return True if all forces differ from the forces in z0 by at most ``part`` times the largest force."""
    contacts, ncone = search.contacts, rows.r.shape[0]
    # contacts: largest force and largest difference
    largest = 0.0
    off = 0.0
    before = search.scratch3_a
    for c in range(ncone):
        contact_force_from_z(rows, polygon, c, z0, before)
        largest = max(largest, contacts.p[c, 0])
        for i in range(CONTACT_DIM):
            off = max(off, abs(contacts.p[c, i] - before[i]))
    if off > part * largest:
        return False
    # joint rows: the same, with their own scale
    load_row_forces(rows, search, z0)
    largest = 0.0
    off = 0.0
    for i in range(search.joined.lo.shape[0]):
        force = search.joined.previous_p[i]
        largest = max(largest, abs(force))
        off = max(off, abs(contacts.p[ncone + i, 0] - force))
    return off <= part * largest


@kernel(inner=True)
def stay_near(search: SolverState, before: Floats, part: float) -> bool:
    """Return True if the contacts' forces differ from ``before`` (n, 3) by at most ``part`` times the largest force."""
    p = search.contacts.p
    # largest force and largest difference
    largest = 0.0
    off = 0.0
    for c in range(p.shape[0] - search.joined.lo.shape[0]):
        largest = max(largest, p[c, 0])
        for i in range(CONTACT_DIM):
            off = max(off, abs(p[c, i] - before[c, i]))
    return off <= part * largest


@kernel(inner=True)
def store_forces(rows: ContactSystem, polygon: FrictionCone, search: SolverState, z: Floats) -> None:
    """Write the forces of the state to z (n,), in the order of the LCP's variables; lambda is set to 0.

    A disc's or planar force is split into fF+ and fF-; in a polygon it is split along the two edges that enclose it.
    The forces of joint rows become those from before. Verification fills lambda.
    """
    # normal forces
    nc = rows.nc
    nr = rows.nr
    contacts, joined, ncone = search.contacts, search.joined, rows.r.shape[0]
    for c in range(nc):
        z[c] = contacts.p[c, 0]
    # friction forces of each cone
    for c in range(ncone):
        p = contacts.p[c]
        r = rows.r[c]
        first = polygon.first[c]
        # the moment is scaled by its length
        length = 1.0 if c < nc else rows.mu[c]
        for e in range(r):
            z[first + e] = 0.0
            z[first + nr + e] = 0.0
        z[nc + 2 * nr + c] = 0.0
        # disc or one direction: positive and negative parts
        if polygon.exact or r == 1:
            for e in range(r):
                z[first + e] = length * max(p[1 + e], 0.0)
                z[first + nr + e] = length * max(-p[1 + e], 0.0)
        elif r > 0:
            j, along, next_along = enclosing_edge(r, polygon.edge_directions, p[1], p[2])
            z[first + j if j < r else first + nr + j - r] = length * along
            j = (j + 1) % (2 * r)
            z[first + j if j < r else first + nr + j - r] = length * next_along
    # limits and boxed rows
    first = first_limit(rows)
    center_rows(search)
    for i in range(rows.nl):
        z[first + i] = joined.previous_p[i]
    for i in range(joined.lo.shape[0]):
        joined.rates[i] = contacts.s[ncone + i, 0] + rows.gamma[nc + nr + i] * joined.previous_p[i]
    store_boxed_forces(first + rows.nl, rows.lo, rows.hi, joined.previous_p[rows.nl :], joined.rates[rows.nl :], z)


@kernel(inner=True)
def copy_rows(source: Floats, target: Floats) -> None:
    """Copy a matrix."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]

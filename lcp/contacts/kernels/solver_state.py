"""State of a search for the forces of an island's contacts and joint rows, and its conversion from z of an LCP.

Rows are [N; F; L; B] of `rows`, with equations eliminated. Every contact has the same number of friction directions,
and a cone of moments the same number, or one.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.compiler.views import view_2d
from lcp.contacts.kernels.boxed_rows import first_limit, recover_boxed_forces, store_boxed_forces
from lcp.contacts.kernels.column_ranges import (
    abs_terms_range,
    packed_ints,
    row_dot,
    row_ranges,
    row_response,
)
from lcp.contacts.kernels.contact_law import (
    CONTACT_DIM,
    SLIDE_FLOATS,
    ContactState,
    FrictionCone,
    enclosing_edge,
    fill_contact_rates,
    fill_edge_directions,
)
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import Elimination, elimination_ints, elimination_views
from lcp.contacts.kernels.mode_system import apply_contact_impulse, apply_row_impulse
from lcp.kernels import Floats, Ints, kernel

#: Marks a mode of a contact, or a slope of a joint row, that is not chosen yet.
UNKNOWN: Final = -1


class JointRowState(NamedTuple):
    """State of the rows [L; B]."""

    lo: Floats  # bounds of their forces
    hi: Floats
    p: Floats  # forces
    previous_p: Floats  # forces from before
    s: Floats  # rates
    slope: Floats
    diagonal: Floats  # response of each row to its own force
    gamma: Floats


class SolverState(NamedTuple):
    """State of the search for an island's forces."""

    contacts: ContactState
    joined: JointRowState
    previous_modes: Ints  # (ncone,) modes before a step
    speed: float  # upper bound of the free motion along a row of a contact
    v: Floats  # (nv,) velocity
    trial_v: Floats
    trees: Elimination
    W: Floats  # (3, nv) scratch
    K: Floats  # panels of the matrix, or of its factors
    scratch3_a: Floats  # (3,) scratch
    scratch3_b: Floats  # (3,) scratch


@kernel
def state_float_size(ncone: int, m: int, nj: int, nv: int) -> int:
    """Return the length of the float workspace; m rows [N; F] and nj rows [L; B]."""
    return nv * nv + 5 * nv + 15 * ncone + m + 7 * nj + 2 * CONTACT_DIM + SLIDE_FLOATS * ncone


@kernel
def state_int_size(ncone: int, m: int, nt: int) -> int:
    """Return the length of the integer workspace, for ncone cones, m rows and nt trees."""
    return 3 * ncone + elimination_ints(ncone, nt) + packed_ints(m)


@kernel(inline=True)
def state_diagonal_view(rows: ContactSystem, wf: Floats) -> Floats:
    """Return the view in ``wf`` of the responses (nc + nr,) of the rows [N; F] to their own forces."""
    nv = rows.v_free.shape[0]
    at = nv * nv + 5 * nv + 15 * rows.r.shape[0]
    return wf[at : at + rows.nc + rows.nr]


@kernel(inner=True)
def fill_delassus_diagonal(rows: ContactSystem, diagonal: Floats) -> None:
    """Fill the response of each row [N; F] to its own force."""
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
        sum_of = abs_terms_range(a, b, rows.J[c], rows.v_free, abs(rows.k[c]))
        if d < e:
            sum_of = abs_terms_range(d, e, rows.J[c], rows.v_free, sum_of)
        speed = max(speed, sum_of)
    return speed


@kernel(inner=True)
def solver_state_views(rows: ContactSystem, starts: Ints, wf: Floats, wi: Ints) -> SolverState:
    """Return the views of the solver state in its workspaces, and fill the diagonal, bounds and gamma of [L; B].

    The diagonal of the rows [N; F] must already be in ``wf`` (`fill_delassus_diagonal`).

    ``starts`` (nt + 1,) are the first velocities of the trees.
    """
    # sizes
    ncone = rows.r.shape[0]
    nv = rows.v_free.shape[0]
    m = rows.nc + rows.nr
    nj = rows.nl + rows.lo.shape[0]
    # matrix of the velocities and its vectors
    K = wf[: nv * nv]
    at = nv * nv
    vectors = view_2d(wf, at, 2, nv)
    W = view_2d(wf, at + 2 * nv, 3, nv)
    at += 5 * nv
    # forces, rates and Jacobians of the contacts
    p = view_2d(wf, at, ncone, CONTACT_DIM)
    s = view_2d(wf, at + 3 * ncone, ncone, CONTACT_DIM)
    B = wf[at + 6 * ncone : at + 15 * ncone].reshape(ncone, CONTACT_DIM, CONTACT_DIM)
    at += 15 * ncone
    # diagonals, then the quantities of the joint rows
    diagonal = state_diagonal_view(rows, wf)
    at += m
    of_joints = view_2d(wf, at, 7, nj)
    at += 7 * nj
    contacts = ContactState(wi[:ncone], p, s, B, diagonal)
    joined = JointRowState(
        of_joints[0],
        of_joints[1],
        of_joints[2],
        of_joints[3],
        of_joints[4],
        of_joints[5],
        of_joints[6],
        rows.gamma[m : m + nj],
    )
    # limits push only; boxed rows have their own bounds
    for i in range(nj):
        joined.lo[i] = 0.0 if i < rows.nl else rows.lo[i - rows.nl]
        joined.hi[i] = math.inf if i < rows.nl else rows.hi[i - rows.nl]
        joined.diagonal[i] = row_response(rows, m + i)
        joined.previous_p[i] = min(max(0.0, joined.lo[i]), joined.hi[i])
    # scratch, previous modes and the elimination's integers
    scratch = view_2d(wf, at, 2, CONTACT_DIM)
    before = wi[ncone : 2 * ncone]
    trees = elimination_views(starts, rows.nc, wi[3 * ncone :])
    return SolverState(
        contacts, joined, before, max_free_speed(rows), vectors[0], vectors[1], trees, W, K, scratch[0], scratch[1]
    )


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
    first = wi[2 * ncone : 3 * ncone]
    # common number of directions; cones of moments may have one
    r = rows.r[0] if rows.nc > 0 else 0
    row = rows.nc
    for c in range(ncone):
        first[c] = row
        row += rows.r[c]
        if rows.r[c] != r and (c < rows.nc or r < 1 or rows.r[c] != 1):
            r = -1
    # fewer than two directions: no friction, friction in a plane, or unequal cones
    if r < 2:
        if r == 1:
            fill_edge_directions(1, turns)
        return FrictionCone(r, r, first, 0, 0.0, 1.0, turns, False, slides)
    # polygon or disc in space
    fill_edge_directions(r, turns)
    if exact:
        for j in range(2 * r + 1):
            # Use the tangents themselves, without rounding.
            turns[j, 0] = math.floor(turns[j, 0] + 0.5)
            turns[j, 1] = math.floor(turns[j, 1] + 0.5)
        return FrictionCone(r if r == 2 else -1, 2, first, 1, 0.0, 1.0, turns, True, slides)
    # second tangent from the direction most nearly perpendicular to the first
    across = r // 2
    if r % 2 == 0:
        return FrictionCone(r, r, first, across, 0.0, 1.0, turns, False, slides)
    skew, stretch = -turns[across, 0] / turns[across, 1], 1.0 / turns[across, 1]
    return FrictionCone(r, r, first, across, skew, stretch, turns, False, slides)


@kernel(inner=True)
def recover_velocity(rows: ContactSystem, polygon: FrictionCone, search: SolverState) -> None:
    """Compute the velocities ``search.v`` of the state's forces, and the rates of all rows."""
    # free velocity plus the impulses of all forces
    contacts, joined, v = search.contacts, search.joined, search.v
    nv = v.shape[0]
    for p in range(nv):
        v[p] = rows.v_free[p]
    for c in range(contacts.p.shape[0]):
        apply_contact_impulse(rows, polygon, c, contacts.p[c], v)
    first = rows.nc + rows.nr
    for i in range(joined.p.shape[0]):
        apply_row_impulse(rows, first + i, joined.p[i], v)
    # rates at these velocities
    fill_contact_rates(rows, polygon, v, 1.0, contacts.s)
    for i in range(joined.p.shape[0]):
        joined.s[i] = row_dot(rows, first + i, v) + rows.k[first + i]


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
def load_forces(rows: ContactSystem, polygon: FrictionCone, search: SolverState, z0: Floats) -> None:
    """Load the forces of z0 into the state."""
    # contact forces; their modes are not known yet
    contacts, joined = search.contacts, search.joined
    for c in range(contacts.p.shape[0]):
        p = contacts.p[c]
        contact_force_from_z(rows, polygon, c, z0, p)
        contacts.mode[c] = UNKNOWN
    # joint forces within their bounds
    first = first_limit(rows)
    for i in range(rows.nl):
        joined.p[i] = max(z0[first + i], 0.0)
    recover_boxed_forces(first + rows.nl, rows.lo, rows.hi, z0, joined.p[rows.nl :])
    for i in range(joined.p.shape[0]):
        joined.p[i] = min(max(joined.p[i], joined.lo[i]), joined.hi[i])
        joined.previous_p[i] = joined.p[i]
        joined.slope[i] = UNKNOWN


@kernel(inner=True)
def forces_unchanged(rows: ContactSystem, polygon: FrictionCone, search: SolverState, z0: Floats, part: float) -> bool:
    """Return True if all forces differ from the forces in z0 by less than this fraction of the largest force."""
    contacts, joined = search.contacts, search.joined
    # contacts: largest force and largest difference
    largest = 0.0
    off = 0.0
    before = search.scratch3_a
    for c in range(contacts.p.shape[0]):
        contact_force_from_z(rows, polygon, c, z0, before)
        largest = max(largest, contacts.p[c, 0])
        for i in range(CONTACT_DIM):
            off = max(off, abs(contacts.p[c, i] - before[i]))
    if off > part * largest:
        return False
    # joint rows: the same, with their own scale
    first = first_limit(rows)
    recover_boxed_forces(first + rows.nl, rows.lo, rows.hi, z0, joined.previous_p[rows.nl :])
    largest = 0.0
    off = 0.0
    for i in range(joined.p.shape[0]):
        force = max(z0[first + i], 0.0) if i < rows.nl else joined.previous_p[i]
        largest = max(largest, abs(force))
        off = max(off, abs(joined.p[i] - force))
    return off <= part * largest


@kernel(inner=True)
def stay_near(search: SolverState, before: Floats, part: float) -> bool:
    """Return True if the contacts' forces are within this fraction of the largest force of ``before`` (ncone, 3)."""
    p = search.contacts.p
    # largest force and largest difference
    largest = 0.0
    off = 0.0
    for c in range(p.shape[0]):
        largest = max(largest, p[c, 0])
        for i in range(CONTACT_DIM):
            off = max(off, abs(p[c, i] - before[c, i]))
    return off <= part * largest


@kernel(inner=True)
def store_forces(rows: ContactSystem, polygon: FrictionCone, search: SolverState, z: Floats) -> None:
    """Write the forces of the state to z (n,), in the order of the LCP's variables; lambda is set to 0.

    A disc's or planar force is split into fF+ and fF-; in a polygon it is split along the two edges that enclose it.
    ``joined.previous_p`` is overwritten by the rates of the joint rows. Verification fills lambda.
    """
    # normal forces
    nc = rows.nc
    nr = rows.nr
    contacts, joined = search.contacts, search.joined
    for c in range(nc):
        z[c] = contacts.p[c, 0]
    # friction forces of each cone
    for c in range(contacts.p.shape[0]):
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
    for i in range(rows.nl):
        z[first + i] = joined.p[i]
    for i in range(joined.p.shape[0]):
        joined.previous_p[i] = joined.s[i] + joined.gamma[i] * joined.p[i]
    store_boxed_forces(first + rows.nl, rows.lo, rows.hi, joined.p[rows.nl :], joined.previous_p[rows.nl :], z)


@kernel(inner=True)
def copy_rows(source: Floats, target: Floats) -> None:
    """Copy a matrix."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]

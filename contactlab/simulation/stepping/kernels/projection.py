"""Position projection: after the velocities of a step are found, q is moved to reduce penetrations.

If a rigid contact, or a rigid stop of a joint, is deeper than allowed, let e = gap + h N v+ be the gaps after the step,
linearised at its start. The displacement of its island, dq = M^-1 (N' p + T' s + L' p), satisfies

    0 <= p  _|_  e + a/2 + N dq >= 0,      |h^2 fT + s| <= mu (h^2 fN + p),  T dq = 0 if it is less,

where fN and fT are the forces of the step and a is the allowed depth. e is bounded below by -h times the maximum
correction speed. If bodies turn fast, e includes the gap correction of `kinematic`. Equations of joints stay satisfied:
G dq = 0. dq is the smallest motion in the metric of the masses under the friction of all contacts with a force or a
multiplier p. So piles do not spread if the corrections are small compared with the friction. q is moved along h v+ +
dq; v+ stays unchanged, so no speed results. p and s have the unit kg m.

Contacts and stops with a stiffness take no part: their penetration is their force. Nor do drives.

The problem is nonlinear in s and needs only an accuracy of a fraction of a. So it is relaxed row by row (projected
Gauss-Seidel; J. J. Moreau, M. Jean, Numerical treatment of contact and friction, 1996), on existing rows: no matrix is
formed. The depth that is left after `SWEEPS` is corrected in the next steps; bodies without space to move share the
remaining depth. Islands without too deep contacts or stops are not changed.
"""

from __future__ import annotations

import math

from contactlab.constraint_solver.kernels import LIMIT
from contactlab.simulation.stepping.kernels.arrays import Chunk, IslandWork, JointRows, PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import (
    PROJECTION_RATE,
    STOP_DEPTH,
    STOP_PROJECTION_RATE,
    allowance_of,
    compliance_of,
    dot3,
    extent_of,
    fastest_of,
    fastest_of_stops,
    posed_rows,
    rows_left,
    scatter,
)
from contactlab.simulation.stepping.kernels.kinematic import belt_velocity, kinematic_index, kinematic_point_velocity
from contactlab.simulation.stepping.kernels.layout import (
    BODY_A,
    GAP,
    GAP_CORRECTION,
    NEXT_ISLAND,
    NORMAL,
    POINT,
    TREE_DOF,
    FloatArray,
    Parameters,
    StepControl,
)
from lcp.compiler.kernels import fill_array
from lcp.contacts.kernels.contact_system import ContactSystem, row_ranges, sparse_dot
from lcp.kernels import kernel

SWEEPS = 60
# Convergence: no contact moves by more than this fraction of the allowed depth in a sweep.
CLOSE = 0.02
# Fraction of the allowed depth that is left. It is close to 1, so that a rolling body is moved often and by little.
LEFT = 0.9
# Minimum unit of depths, as a fraction of the smaller body's extent, if the allowed depth is zero.
MIN_UNIT = 1e-6


@kernel(inner=True)
def fill_gaps(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    rows: ContactSystem,
    control: StepControl,
    parameters: Parameters,
    e: FloatArray,
    allowed: FloatArray,
) -> bool:
    """Fill e (nc + nl,) and ``allowed`` (nc + nl,) for contacts and stops; return True if any is deeper than allowed.

    e are the gaps after the step [m, rad], plus the part of the allowed depth that is left, with the lower bound of the
    module's docstring. They are infinite for compliant rows and for limits that are not stops, which take no part.
    ``allowed`` are the allowed depths, not smaller than MIN_UNIT of the bodies' extent: the units of depths.
    """
    progress = island.progress[0]
    h = parameters.h
    first = work.contact_start[control.island]
    nc, nv = rows.nc, progress.nv
    deep = False
    for c in range(nc):
        index = work.island_contacts[first + c]
        floats, ints = work.contact_float[index], work.contact_int[index]
        e[c] = math.inf
        allowed[c] = allowance_of(world, ints, parameters)
        stiffness, dissipation = compliance_of(world, ints)
        response = h * stiffness + dissipation
        if 0.0 < response < math.inf:
            continue
        # rate of the gap after the step
        begin, middle, upper, end = row_ranges(island.column_ranges, c, nv)
        rate = sparse_dot(begin, middle, upper, end, rows.J[c], island.v_plus)
        kinematic_row = kinematic_index(world, ints[BODY_A])
        if kinematic_row >= 0:
            surface = work.scratch[0:3]
            kinematic_point_velocity(work, kinematic_row, floats[POINT : POINT + 3], surface)
            rate -= dot3(floats[NORMAL : NORMAL + 3], surface)
            belt_velocity(work, kinematic_row, floats[POINT : POINT + 3], surface)
            rate += dot3(floats[NORMAL : NORMAL + 3], surface)
        # the gap to be opened
        gap = floats[GAP] + h * rate
        deep = deep or gap + floats[GAP_CORRECTION] < -allowed[c]
        e[c] = (
            max(gap + LEFT * allowed[c], -h * fastest_of(world, ints, parameters, PROJECTION_RATE))
            + floats[GAP_CORRECTION]
        )
        # The unit of depths must not be zero.
        allowed[c] = max(allowed[c], MIN_UNIT * extent_of(world.extent, ints))
    if joints is not None:
        at = joints.row_start[control.island]
        for i in range(rows.nl):
            number = joints.island_rows[at + i]
            row = joints.rows[number]
            e[nc + i] = math.inf
            allowed[nc + i] = STOP_DEPTH
            response = h * row.stiffness + row.dissipation
            if row.kind != LIMIT or 0.0 < response < math.inf:
                continue
            J = rows.J[nc + rows.nr + i]
            rate = 0.0
            for j in range(nv):
                rate += J[j] * island.v_plus[j]
            gap = joints.error[number] + h * rate
            deep = deep or gap < -STOP_DEPTH
            e[nc + i] = max(gap + LEFT * STOP_DEPTH, -h * fastest_of_stops(parameters, STOP_PROJECTION_RATE))
    return deep


@kernel(inner=True)
def hold_turns(
    world: PackedWorld, work: StepWork, island: IslandWork, rows: ContactSystem, control: StepControl
) -> None:
    """Replace Y of contact rows by J / mass for shifts of single free bodies, and by 0 for their rotations.

    A rolling body is slightly deep in every step. If each correction rotated it by its inertia, it would lean
    increasingly.
    """
    # trees of the island that are single free bodies
    progress = island.progress[0]
    r = rows.r[0] if rows.nc > 0 else 0
    for n in range(work.tree_start[control.island], work.tree_start[control.island + 1]):
        k = work.island_trees[n]
        dof, begin = world.trees[k, TREE_DOF], work.tree_offset[k]
        if world.shifting[dof] == 0.0:
            continue
        size = world.trees[k + 1, TREE_DOF] - dof
        # contacts that act on the tree
        for c in range(rows.nc):
            first, middle, upper, end = row_ranges(rows.column_ranges, c, progress.nv)
            if not (first <= begin < middle or upper <= begin < end):
                continue
            # normal and friction rows: response by mass for shifts, none for rotations
            for t in range(1 + r):
                row = c if t == 0 else rows.nc + c * r + t - 1
                for j in range(size):
                    rows.Y[row, begin + j] = max(0.0, world.shifting[dof + j]) * rows.J[row, begin + j]


@kernel(inner=True)
def displace(row: int, by: float, rows: ContactSystem, dq: FloatArray) -> None:
    """Add the effect of a multiplier: dq += Y[row] * by, with Y[row] = M^-1 J[row]'."""
    a, b, c, d = row_ranges(rows.column_ranges, row, dq.shape[0])
    Y = rows.Y[row]
    for j in range(a, b):
        dq[j] += Y[j] * by
    for j in range(c, d):
        dq[j] += Y[j] * by


@kernel(inner=True)
def moved(row: int, rows: ContactSystem, dq: FloatArray) -> float:
    """Return J[row] dq, the change [m or rad] of a row's gap or angle, for a displacement dq (nv,)."""
    a, b, c, d = row_ranges(rows.column_ranges, row, dq.shape[0])
    return sparse_dot(a, b, c, d, rows.J[row], dq)


@kernel(inner=True)
def response(row: int, rows: ContactSystem) -> float:
    """Return the diagonal entry J[row] M^-1 J[row]' of the Delassus matrix."""
    a, b, c, d = row_ranges(rows.column_ranges, row, rows.v_free.shape[0])
    return sparse_dot(a, b, c, d, rows.J[row], rows.Y[row])


@kernel(inline=True)
def second_direction(r: int) -> int:
    """Return which of r friction directions, evenly spread over half a turn, is most normal to the first; or -1."""
    return -1 if r < 2 else r // 2


@kernel(inner=True)
def borne(rows: ContactSystem, turns: FloatArray, f: FloatArray, c: int, r: int, other: int, s: FloatArray) -> None:
    """Fill the two entries of contact c in s with h^2 fT, along the first direction and direction ``other`` (or -1).

    ``f`` are the forces [N F] of the step, r the number of directions.
    """
    x, y = 0.0, 0.0
    for k in range(r):
        force = rows.h * rows.h * f[rows.nc + c * r + k]
        x += force * turns[k, 0]
        y += force * turns[k, 1]
    s[2 * c + 1] = y / turns[other, 1] if other > 0 else 0.0
    s[2 * c] = x - s[2 * c + 1] * turns[other, 0] if other > 0 else x


@kernel(inner=True)
def take_off(rows: ContactSystem, turns: FloatArray, f: FloatArray, r: int, other: int, s: FloatArray) -> None:
    """Subtract the friction that contacts bear in the step from s, two components for each contact."""
    for c in range(rows.nc):
        a, b = s[2 * c], s[2 * c + 1]
        borne(rows, turns, f, c, r, other, s)
        s[2 * c], s[2 * c + 1] = a - s[2 * c], b - s[2 * c + 1]


@kernel(inner=True)
def relax(
    rows: ContactSystem,
    turns: FloatArray,
    f: FloatArray,
    e: FloatArray,
    allowed: FloatArray,
    p: FloatArray,
    s: FloatArray,
    diagonal: FloatArray,
    dq: FloatArray,
) -> None:
    """Find the multipliers p (nc + nl,), s (2 nc,) and the displacement dq (nv,) by Gauss-Seidel sweeps.

    dq must be 0 on entry. e and ``allowed`` are from `fill_gaps`; rows with infinite e take no part. ``turns`` (r, 2)
    are the friction directions in two tangents, ``f`` the forces [N F] of the step. ``diagonal`` (3 nc + nl,) is
    scratch. s is along the first direction and `second_direction`; during the sweeps it includes h^2 times the
    friction of the step.
    """
    nc, nl = rows.nc, rows.nl
    r = rows.r[0] if nc > 0 else 0
    other = second_direction(r)
    cosine = turns[0, 0] * turns[other, 0] + turns[0, 1] * turns[other, 1] if other > 0 else 0.0
    n = nc + nl
    for i in range(n):
        row = i if i < nc else rows.nr + i
        p[i] = 0.0
        diagonal[i] = response(row, rows) if e[i] < math.inf else 0.0
    for c in range(nc):
        borne(rows, turns, f, c, r, other, s)
        for k in range(2):
            diagonal[n + 2 * c + k] = -1.0
    # relax row by row
    for _ in range(SWEEPS):
        change = 0.0
        for i in range(n):
            w = diagonal[i]
            if not w > 0.0:
                continue
            row = i if i < nc else rows.nr + i
            new = max(0.0, p[i] - (e[i] + moved(row, rows, dq)) / w)
            by = new - p[i]
            if by != 0.0:
                p[i] = new
                displace(row, by, rows, dq)
                change = max(change, abs(by) * w / allowed[i])
            if i >= nc or r == 0:
                continue
            # bound of friction, from the contact's force and its multiplier
            bound = rows.mu[i] * max(0.0, new + rows.h * rows.h * f[i])
            if bound == 0.0 and s[2 * i] == 0.0 and s[2 * i + 1] == 0.0:
                continue
            # Friction: the contact point must not slide in this displacement.
            for k in range(2 if other > 0 else 1):
                at = nc + i * r + (0 if k == 0 else other)
                if diagonal[n + 2 * i + k] < 0.0:
                    diagonal[n + 2 * i + k] = response(at, rows)
                w = diagonal[n + 2 * i + k]
                if not w > 0.0:
                    continue
                by = -moved(at, rows, dq) / w
                s[2 * i + k] += by
                displace(at, by, rows, dq)
            # project onto the cone
            a, b = s[2 * i], s[2 * i + 1]
            size = math.sqrt(max(0.0, a * a + b * b + 2.0 * cosine * a * b))
            if size > bound:
                for k in range(2 if other > 0 else 1):
                    less = s[2 * i + k] * (bound / size)
                    by = less - s[2 * i + k]
                    s[2 * i + k] = less
                    displace(nc + i * r + (0 if k == 0 else other), by, rows, dq)
        if not change > CLOSE:
            break
    take_off(rows, turns, f, r, other, s)


@kernel(inner=True)
def deepest_left(rows: ContactSystem, e: FloatArray, allowed: FloatArray, dq: FloatArray) -> float:
    """Return the largest depth of contacts and limits after a displacement dq, over the allowed depth; 0: none."""
    worst = 0.0
    for i in range(rows.nc + rows.nl):
        if e[i] < math.inf:
            row = i if i < rows.nc else rows.nr + i
            worst = max(worst, -(e[i] + moved(row, rows, dq)) / allowed[i])
    return worst


@kernel(inner=True)
def apply_projection(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    rows: ContactSystem,
    chunk: Chunk,
    control: StepControl,
    p: FloatArray,
    s: FloatArray,
    dq: FloatArray,
) -> None:
    """Set the displacement of the island's trees to dq, and record p and s; s as two tangential components."""
    i = control.island
    nc = rows.nc
    row0 = control.chunk_contacts
    first = work.contact_start[i]
    r = rows.r[0] if nc > 0 else 0
    other = second_direction(r)
    # rows of the record
    for c in range(nc):
        row = chunk.contact[row0 + work.island_contacts[first + c]]
        row.projection_multiplier = p[c]
        for k in range(2):
            along_one = s[2 * c] * island.edge_directions[0, k] if r > 0 else 0.0
            if other > 0:
                along_one += s[2 * c + 1] * island.edge_directions[other, k]
            row.projection_multiplier_tangential[k] = along_one
    if joints is not None:
        at = control.chunk_joints + joints.row_start[i]
        for n in range(rows.nl):
            chunk.joint[at + n].projection_multiplier = p[nc + n]
    # displacement of the trees
    scatter(world, work, i, dq, work.projection_displacement)


@kernel(short_loops=True)
def project(
    world: PackedWorld,
    work: StepWork,
    island: IslandWork,
    joints: JointRows | None,
    chunk: Chunk,
    control: StepControl,
    parameters: Parameters,
) -> int:
    """Compute and apply the island's displacement if a row is too deep; return NEXT_ISLAND with the next island set.

    A displacement that would increase the largest depth is not applied. z, w, q and other buffers are overwritten.
    """
    progress = island.progress[0]
    rows = posed_rows(island, joints, parameters.h)
    n = rows.nc + rows.nl
    e = island.q[:n]
    allowed = island.best_z[:n]
    if fill_gaps(world, work, island, joints, rows, control, parameters, e, allowed):
        if rows.nb + rows.nl + rows.lo.shape[0] == 0:
            hold_turns(world, work, island, rows, control)
        if joints is not None and rows.nb > 0:
            rows = rows_left(rows, island, joints)
        # the displacement that opens the gaps
        p = island.z[:n]
        s = island.z[n : n + 2 * rows.nc]
        dq = island.certificate_work[: progress.nv]
        fill_array(dq, 0.0)
        before = deepest_left(rows, e, allowed, dq)
        relax(rows, island.edge_directions, island.f, e, allowed, p, s, island.w[: n + 2 * rows.nc], dq)
        # Rows without space to move can become worse: then do not project.
        if deepest_left(rows, e, allowed, dq) <= before:
            apply_projection(world, work, island, joints, rows, chunk, control, p, s, dq)
    control.island += 1
    return NEXT_ISLAND

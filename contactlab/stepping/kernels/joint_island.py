"""Joint rows in an island's problem: the rows, the elimination of the equations, and their warm start."""

from __future__ import annotations

from contactlab.formulation.kernels.bilateral import (
    add_bilateral_impulses,
    bilateral_work_size,
    factor_bilateral,
    fill_posed,
    lock_terms,
    project_rows,
)
from contactlab.stepping.kernels.joint_rows import equation_scale, fill_joint_row
from contactlab.stepping.kernels.layout import (
    BOXED,
    COMPLIANT_EQUATION,
    LIMIT,
    Chunk,
    FloatArray,
    IntArray,
    IslandWork,
    JointRows,
    PackedWorld,
    Parameters,
    StepControl,
    StepWork,
)
from lcp.compiler.kernels import copy_array, fill_array
from lcp.compiler.views import view_2d
from lcp.contacts.kernels.boxed_rows import add_impulses, boxed_variables, first_limit
from lcp.contacts.kernels.contact_system import ContactSystem, row_ranges
from lcp.kernels import kernel


@kernel(inline=True)
def is_boxed(rank: int, cfm: float) -> bool:
    """Return True if a row is one of B: boxed rows, and position equations with compliance, without bounds on f."""
    return rank == BOXED or (cfm > 0.0 and rank == COMPLIANT_EQUATION)


@kernel(inner=True)
def count_joint_rows(joints: JointRows, island: IslandWork, i: int, cfm: float) -> None:
    """Store the numbers nl, ng and nbox of limit, bilateral and boxed joint rows of island ``i`` in its progress."""
    # count limits and boxed rows
    nl = 0
    nbox = 0
    first = joints.row_start[i]
    last = joints.row_start[i + 1]
    for place in range(first, last):
        rank = joints.rows[joints.island_rows[place]].rank
        if rank == LIMIT:
            nl += 1
        elif is_boxed(rank, cfm):
            nbox += 1
    # the rest are bilateral
    progress = island.progress[0]
    progress.nl = nl
    progress.ng = last - first - nl - nbox
    progress.nbox = nbox


@kernel(inner=True)
def add_joint_rows(
    world: PackedWorld, work: StepWork, joints: JointRows, rows: ContactSystem, i: int, parameters: Parameters
) -> int:
    """Fill the rows [L; G; B] of island ``i``, and the bounds of B; return the number of variables of its LCP."""
    # places of the three kinds of rows
    first = joints.row_start[i]
    before = rows.nc + rows.nr
    first_equation = before + rows.nl
    boxed = first_equation + rows.nb
    # fill each row, and store what its kind needs
    for row in range(before, rows.k.shape[0]):
        number = joints.island_rows[first + row - before]
        k, gamma, low, high = fill_joint_row(world, work, joints, number, parameters, rows.J[row], rows.Y[row])
        rows.k[row] = k
        rows.gamma[row] = gamma
        if first_equation <= row < boxed:
            joints.G_scale[row - first_equation] = equation_scale(joints, number)
            joints.G_error[row - first_equation] = joints.error[number]
        if row >= boxed:
            rows.lo[row - boxed] = low
            rows.hi[row - boxed] = high
    # number of variables
    xs, ys = boxed_variables(rows.lo, rows.hi)
    return first_limit(rows) + rows.nl + xs + ys


@kernel(inner=True)
def eliminate_equalities(rows: ContactSystem, spans: IntArray, joints: JointRows) -> None:
    """Eliminate the equations G: fill J, Y = C J, k, gamma and v0 of the rows [N; F; L; B] in ``joints``.

    Also fill the pseudo-inverse P of G M^-1 G^T. Rows have entries only in their ``spans``. Rows that the equations
    lock become 0 in J, and their constant rate is in k.
    """
    # factors of the equations
    nv = rows.v_free.shape[0]
    ng = rows.nb
    nu = rows.nc + rows.nr + rows.nl
    own = rows.k.shape[0] - ng
    G = rows.J[nu : nu + ng]
    YG = rows.Y[nu : nu + ng]
    P = view_2d(joints.P, 0, ng, ng)
    factor_bilateral(G, YG, joints.G_scale[:ng], joints.G_error[:ng], P, joints.work[: bilateral_work_size(ng, nv)])
    left = view_2d(joints.J, 0, own, nv)
    responses = view_2d(joints.Y, 0, own, nv)
    # the remaining rows
    for row in range(own):
        place = row if row < nu else row + ng
        joints.k[row] = rows.k[place]
        joints.gamma[row] = rows.gamma[place]
        a, b, c, d = row_ranges(spans, row, nv)
        for p in range(a, b):
            left[row, p] = rows.J[place, p]
            responses[row, p] = rows.Y[place, p]
        for p in range(c, d):
            left[row, p] = rows.J[place, p]
            responses[row, p] = rows.Y[place, p]
    # their projection along the equations
    fill_posed(rows.J, rows.Y, rows.k, rows.v_free, spans, nu, ng, joints.posed[: 2 * own])
    locked = joints.locked[:own]
    project_rows(G, YG, P, left, responses, spans, locked, joints.work)
    # velocity that satisfies the equations
    v0 = joints.v0[:nv]
    copy_array(rows.v_free, v0)
    impulses = joints.f[:ng]
    add_bilateral_impulses(G, YG, P, rows.k[nu : nu + ng], v0, impulses, joints.work)
    lock_terms(locked, left, spans, v0, rows.v_free, joints.k[:own])
    for row in range(own):
        if locked[row] != 0:
            fill_array(left[row], 0.0)


@kernel(inner=True)
def recover_with_equations(
    rows: ContactSystem, joints: JointRows, forces: FloatArray, f: FloatArray, v_plus: FloatArray
) -> None:
    """Fill the forces f of all rows and v+ from the ``forces`` of the remaining rows, filled by `recover`.

    v+ is formed only from the forces and M^-1, so that the certificate checks the forces.
    """
    # forces of the remaining rows, and the motion they give
    ng = rows.nb
    nu = rows.nc + rows.nr + rows.nl
    m = rows.k.shape[0]
    copy_array(rows.v_free, v_plus)
    copy_array(forces, f[:nu])
    copy_array(forces[nu:], f[nu + ng : m])
    add_impulses(rows.h, f[:nu], rows.Y, rows.column_ranges, v_plus)
    add_impulses(rows.h, f[nu + ng : m], rows.Y[nu + ng : m], rows.column_ranges[nu + ng :], v_plus)
    # impulses of the equations, from the motion without them
    impulses = f[nu : nu + ng]
    G = rows.J[nu : nu + ng]
    P = view_2d(joints.P, 0, ng, ng)
    add_bilateral_impulses(G, rows.Y[nu : nu + ng], P, rows.k[nu : nu + ng], v_plus, impulses, joints.work)
    # impulses to forces
    for i in range(ng):
        impulses[i] /= rows.h


@kernel(inner=True)
def fill_joint_warm_start(island: IslandWork, joints: JointRows, rows: ContactSystem, i: int, cfm: float) -> bool:
    """Fill z0 after the contacts with the previous step's variables of the same rows; return False if none exist."""
    # go through the island's joint rows in their order
    xs, _ = boxed_variables(rows.lo, rows.hi)
    matched = False
    x = first_limit(rows)
    b = 0
    for place in range(joints.row_start[i], joints.row_start[i + 1]):
        row = joints.island_rows[place]
        rank = joints.rows[row].rank
        # limits have one variable
        if rank == LIMIT:
            island.z0[x] = joints.previous_z[row, 0] if joints.was_active[row] != 0 else 0.0
            matched = matched or joints.was_active[row] != 0
            x += 1
        elif is_boxed(rank, cfm):
            if rows.lo[b] != rows.hi[b]:
                was = joints.was_active[row] != 0
                island.z0[x] = joints.previous_z[row, 0] if was else 0.0
                island.z0[x + xs] = joints.previous_z[row, 1] if was else 0.0
                matched = matched or was
                x += 1
            b += 1
    return matched


@kernel(inner=True)
def write_joint_rows(
    rows: ContactSystem, island: IslandWork, joints: JointRows, chunk: Chunk, control: StepControl
) -> None:
    """Write the joint rows of the island in progress, and store their LCP variables by row."""
    # places of the rows and of their variables
    progress = island.progress[0]
    i = control.island
    before = rows.nc + rows.nr
    nu = before + rows.nl
    boxed = nu + rows.nb
    xs, _ = boxed_variables(rows.lo, rows.hi)
    limit = first_limit(rows)
    x = limit + rows.nl
    first = joints.row_start[i]
    # variables of the row
    for place in range(joints.row_start[i + 1] - first):
        number = joints.island_rows[first + place]
        row = before + place
        z = joints.z[number]
        z[0] = 0.0
        z[1] = 0.0
        if row < nu:
            z[0] = island.z[limit + place]
        elif row >= boxed and rows.lo[row - boxed] != rows.hi[row - boxed]:
            z[0] = island.z[x]
            z[1] = island.z[x + xs]
            x += 1
        # speed of the row after the step
        rate = 0.0
        for p in range(progress.nv):
            rate += rows.J[row, p] * island.v_plus[p]
        # its record
        record = chunk.joint[control.chunk_joints + first + place]
        record.step = control.step
        record.island = i
        record.row = number
        record.error = joints.error[number]
        record.force = island.f[row]
        record.rate = rate
        record.projection_multiplier = 0.0
        record.z[0] = z[0]
        record.z[1] = z[1]


@kernel(inner=True)
def store_joint_warm_start(joints: JointRows, chunk: Chunk, control: StepControl) -> None:
    """At the end of a step, store which joint rows are active and their z, as the warm start of the next step.

    Also record the drives' targets in the chunk, and count its joint rows.
    """
    for i in range(joints.active.shape[0]):
        joints.was_active[i] = joints.active[i]
        copy_array(joints.z[i], joints.previous_z[i])
    copy_array(joints.target, chunk.drive_target[control.chunk_steps])
    control.chunk_joints += joints.row_start[control.n_islands]

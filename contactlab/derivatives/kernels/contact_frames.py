"""Frames of contacts: their axes, the Jacobian of the motion along these, and the forces in them."""

from __future__ import annotations

from contactlab.collision.kernels.contact_rows import planar_tangents
from contactlab.derivatives.kernels import (
    AXES,
    BOUND,
    FORCE,
    RATE,
    ROLL,
    SPIN,
    DerivativeWork,
)
from contactlab.multibody.kernels import CUSTOM_RATES, CUSTOM_ROW, NOTHING, VELOCITIES
from contactlab.multibody.kernels.derivatives import column_rates
from contactlab.multibody.kernels.kinematics import fill_frames, velocity_of_point
from contactlab.multibody.kernels.layout import Frames, Tree, model_and_workspace_views
from contactlab.multibody.spatial.arrays import Vec3
from contactlab.multibody.spatial.kernels import (
    add,
    add_spatial,
    copy,
    cross,
    opposite,
    put_spatial,
    subtract,
    times,
    vector,
    vector_at,
)
from contactlab.simulation.stepping.kernels.arrays import PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.blocks import materials_of
from contactlab.simulation.stepping.kernels.kinematic import belt_velocity, kinematic_index, kinematic_point_velocity
from contactlab.simulation.stepping.kernels.layout import (
    BODY_A,
    BODY_B,
    BODY_DOF,
    BODY_ROOT,
    MU,
    NORMAL,
    POINT,
    FloatArray,
    IntArray,
    StepControl,
)
from contactlab.simulation.stepping.kernels.moments import rolling_axes
from lcp.compiler.views import view_2d
from lcp.kernels import kernel


@kernel(inline=True)
def axis(own: FloatArray, number: int) -> FloatArray:
    """Return the axis ``number`` (3,) of a contact, world axes, as a view of its entries ``own``."""
    return own[AXES + 3 * number : AXES + 3 * number + 3]


@kernel(inline=True)
def dot(a: FloatArray, b: FloatArray) -> float:
    """Return a . b."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@kernel(inner=True)
def axpy(own: FloatArray, times: float, other: FloatArray) -> None:
    """Add ``times`` times ``other`` to ``own``, (n,) each."""
    for j in range(own.shape[0]):
        own[j] += times * other[j]


@kernel(inner=True)
def at_start(world: PackedWorld, work: StepWork, m: DerivativeWork) -> None:
    """Set state and kinematics in work to the start of the step."""
    copy(m.q, work.q)
    copy(m.v, work.v)
    none = view_2d(work.W, 0, 0, CUSTOM_ROW)
    fill_frames(world.ints, world.floats, m.q, m.v, none, NOTHING, VELOCITIES, work.W)


@kernel(inner=True)
def read_cone(own: FloatArray, number: int, z: FloatArray, at: int, turns: FloatArray, r: int) -> None:
    """Fill the two force components of cone ``number`` in ``own``, along its axes, from its edge forces in z.

    Its edge forces are z[at:at + 2 r]: r along the directions in ``turns``, and then r against them.
    """
    x, y = 0.0, 0.0
    for e in range(r):
        x += (z[at + e] - z[at + r + e]) * turns[e, 0]
        y += (z[at + e] - z[at + r + e]) * turns[e, 1]
    own[FORCE + 1 + 2 * number], own[FORCE + 2 + 2 * number] = x, y


@kernel(inner=True)
def force_of(own: FloatArray) -> Vec3:
    """Return the force of a contact on body B, world axes."""
    n, t1, t2 = vector_at(own, AXES), vector_at(own, AXES + 3), vector_at(own, AXES + 6)
    return add(times(own[FORCE], n), add(times(own[FORCE + 1], t1), times(own[FORCE + 2], t2)))


@kernel(inner=True)
def read_contacts(
    world: PackedWorld, work: StepWork, lengths: FloatArray, m: DerivativeWork, control: StepControl
) -> None:
    """Fill forces, bounds and axes of the contacts of the step, and add their wrenches on the bodies.

    With ``lengths`` of moments, work must hold the kinematics at the start.
    """
    r = m.turns.shape[0] // 2
    for c in range(control.n_contacts):
        own, floats, ints, z = m.contact[c], work.contact_float[c], work.contact_int[c], work.contact_z[c]
        a, b = ints[BODY_A], ints[BODY_B]
        # Axes and forces of sliding.
        n, t1, t2 = axis(own, 0), axis(own, 1), axis(own, 2)
        copy(floats[NORMAL : NORMAL + 3], n)
        planar_tangents(n, world.plane, t1, t2)
        own[FORCE], own[BOUND] = z[0], floats[MU]
        read_cone(own, 0, z, 1, m.turns, r)
        # Wrench on body B, about the world's origin.
        force = force_of(own)
        moment = cross(vector_at(floats, POINT), force)
        # Axes, bounds and moments of spin and rolling.
        if m.mode.shape[1] > 1:
            first, second = materials_of(world, ints)
            for kind in range(2):
                own[BOUND + 1 + kind] = lengths[kind, first, second] if first >= 0 else 0.0
            d1, d2 = axis(own, ROLL), axis(own, ROLL + 1)
            rolling_axes(world, work, a, b, n, d1, d2)
            read_cone(own, 1, z, 2 + 2 * r, m.line, 1)
            read_cone(own, 2, z, 5 + 2 * r, m.turns, r)
            copy(n, axis(own, SPIN))
            rolling = add(times(own[FORCE + ROLL], vector(d1)), times(own[FORCE + ROLL + 1], vector(d2)))
            moment = add(moment, add(times(own[FORCE + SPIN], vector(n)), rolling))
        # Add it to both bodies.
        add_spatial(moment, force, m.wrenches[b])
        if a >= 0:
            add_spatial(opposite(moment), opposite(force), m.wrenches[a])


@kernel(inner=True)
def at_velocity(world: PackedWorld, m: DerivativeWork, v: FloatArray, ready: int) -> None:
    """Fill m.V with the kinematics at the start of the step and this velocity, then the rates of the columns."""
    none, rates = view_2d(m.V, 0, 0, CUSTOM_ROW), view_2d(m.V, 0, 0, CUSTOM_RATES)
    fill_frames(world.ints, world.floats, m.q, v, none, ready, VELOCITIES, m.V)
    t, f, nl, nv = model_and_workspace_views(world.ints, world.floats, m.V)
    A, K = view_2d(m.V, f.start, nl, 6), view_2d(m.V, f.start + 6 * nl, nv, 18)
    A[:] = 0.0
    m.way[:] = 0.0
    column_rates(t, f, v, m.way[:nv], A, rates, K)


@kernel(inner=True)
def columns_at(world: PackedWorld, f: Frames, body: int, x: FloatArray, out: FloatArray) -> None:
    """Fill out (nv, 6), zeroed by the caller, by column: a body's angular velocity and its point's velocity at x."""
    j = world.bodies[body, BODY_DOF] if body >= 0 else -1
    if j < 0:
        return
    # The point as seen from the origin of the tree's vectors.
    d = subtract(vector(x), vector(f.p[world.bodies[body, BODY_ROOT]]))
    # Along the path to the root: turn, then motion of the point.
    while j >= 0:
        put_spatial(vector(f.S[j]), velocity_of_point(f.S[j], d), out[j])
        j = world.dof_parent[j]


@kernel(inner=True)
def list_dofs(world: PackedWorld, a: int, b: int, dofs: IntArray) -> int:
    """Fill ``dofs`` with the degrees of freedom that move body a or b, ascending; return their number. a can be -1."""
    i = world.bodies[b, BODY_DOF]
    j = world.bodies[a, BODY_DOF] if a >= 0 else -1
    # Both paths to the root, descending, without repetition.
    count = 0
    while i >= 0 or j >= 0:
        dofs[count] = max(i, j)
        at = dofs[count]
        i = world.dof_parent[i] if i == at else i
        j = world.dof_parent[j] if j == at else j
        count += 1
    # Reverse the order.
    for k in range(count // 2):
        dofs[k], dofs[count - 1 - k] = dofs[count - 1 - k], dofs[k]
    return count


@kernel(inner=True)
def fill_columns(world: PackedWorld, f: Frames, m: DerivativeWork, a: int, b: int, x: FloatArray) -> int:
    """Fill ``m.columns`` (2, nv, 6), the velocities at x of body b, then of a, per unit of their degrees of freedom.

    Also fill ``m.dofs`` with these degrees of freedom, and return their number.
    """
    count = list_dofs(world, a, b, m.dofs)
    for place in range(count):
        m.columns[:, m.dofs[place]] = 0.0
    columns_at(world, f, b, x, m.columns[0])
    columns_at(world, f, a, x, m.columns[1])
    return count


@kernel(inner=True)
def add_motion_at(V: FloatArray, o: FloatArray, x: FloatArray, sign: float, out: FloatArray) -> None:
    """Add sign times velocity and angular velocity at x to out (6,), of a motion V (6,) about the origin o."""
    velocity = velocity_of_point(V, subtract(vector(x), vector(o)))
    add_spatial(times(sign, velocity), times(sign, vector(V)), out)


@kernel(inner=True)
def add_velocity(f: Frames, t: Tree, body: int, x: FloatArray, sign: float, out: FloatArray) -> None:
    """Add sign times velocity and angular velocity of a body's point at x to out (6,)."""
    link = t.body_link[body] if body >= 0 else -1
    if link < 0:
        return
    add_motion_at(f.V[link], f.p[t.root[link]], x, sign, out)


@kernel(inner=True)
def relative_motion(
    world: PackedWorld,
    work: StepWork,
    f: Frames,
    t: Tree,
    a: int,
    b: int,
    x: FloatArray,
    kinematic_row: int,
    out: FloatArray,
) -> None:
    """Fill out (6,) with velocity and angular velocity at x of body b relative to body a and its surface.

    ``kinematic_row`` is the number of a among the kinematic bodies, -1 if it is not one.
    """
    # Difference of the two bodies' motions.
    out[:] = 0.0
    add_velocity(f, t, b, x, 1.0, out)
    add_velocity(f, t, a, x, -1.0, out)
    # Motion of a kinematic body's surface.
    if kinematic_row >= 0:
        surface = work.scratch[45:48]
        kinematic_point_velocity(work, kinematic_row, x, surface)
        axpy(out[:3], -1.0, surface)
        axpy(out[3:6], -1.0, work.motion_twist[kinematic_row])


@kernel
def contact_frames(world: PackedWorld, work: StepWork, m: DerivativeWork, control: StepControl) -> None:
    """Fill m.frame with the Jacobian rows of all contacts along their axes, and RATE of m.contact with their rates.

    The rates are components of the relative velocity of B against A at the velocity of m.V, kinematic surfaces
    included. Along the normal they use the motion of a belt's body, not of its surface.
    """
    t, f, _, _ = model_and_workspace_views(world.ints, world.floats, m.V)
    u = work.scratch[30:36]
    for number in range(control.n_contacts):
        ints, own = work.contact_int[number], m.contact[number]
        a, b, x = ints[BODY_A], ints[BODY_B], work.contact_float[number, POINT : POINT + 3]
        # Relative velocity after the step.
        count = fill_columns(world, f, m, a, b, x)
        driven = kinematic_index(world, a)
        relative_motion(world, work, f, t, a, b, x, driven, u)
        # Along each axis: its rate, and its row.
        for i in range(m.frame.shape[1]):
            d, own_frame, part = axis(own, i), m.frame[number, i], 0 if i >= SPIN else 3
            own[RATE + i] = dot(d, u[3 - part : 6 - part])
            if i == 0 and driven >= 0:
                # The normal row uses the body's velocity, not its belt's.
                belt_velocity(work, driven, x, work.scratch[45:48])
                own[RATE] += dot(d, work.scratch[45:48])
            own_frame[:] = 0.0
            for place in range(count):
                j = m.dofs[place]
                own_frame[j] = dot(d, m.columns[0, j, part : part + 3]) - dot(d, m.columns[1, j, part : part + 3])

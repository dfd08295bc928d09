"""Derivatives by q of contact rows, and of the effect of their forces: points, normals and axes move.

A contact's relative velocity u at its point changes with the motion of the bodies
(`multibody.kernels.derivatives`) and by omega x dp as the point moves over them. Its components along normal and
tangents also change with these axes. A force that is constant in these axes turns with them, and moves with the point.
The same is true for moments, with the relative angular velocity in place of u. The first axis of rolling friction is
along the rolling at the start of the step, and turns with the state.
"""

from __future__ import annotations

import math

from contactlab.derivatives.kernels import (
    CONE,
    CONTACT,
    FEATURE,
    FORCE,
    KINK_HORIZON,
    NEIGHBOUR,
    REASON,
    ROLL,
    ROLLING,
    ROW,
    SPIN,
    DerivativeWork,
)
from contactlab.derivatives.kernels.contact_frames import (
    add_motion_at,
    axis,
    axpy,
    dot,
    fill_columns,
    force_of,
    relative_motion,
)
from contactlab.multibody.kernels.kinematics import add_cross_motion
from contactlab.multibody.kernels.layout import Frames, Tree, model_and_workspace_views
from contactlab.multibody.spatial.kernels import (
    add,
    copy,
    cross,
    put,
    put_spatial,
    subtract,
    times,
    vector,
    vector_at,
)
from contactlab.simulation.stepping.kernels.arrays import PackedWorld, StepWork
from contactlab.simulation.stepping.kernels.kinematic import belt_velocity, kinematic_index
from contactlab.simulation.stepping.kernels.layout import BODY_A, BODY_B, POINT, FloatArray, StepControl
from contactlab.simulation.stepping.kernels.moments import STILL
from lcp.compiler.views import view_2d
from lcp.kernels import kernel


@kernel(inner=True)
def add_change(
    t: Tree,
    f: Frames,
    K: FloatArray,
    body: int,
    j: int,
    moves: bool,
    x: FloatArray,
    dp: FloatArray,
    sign: float,
    six: FloatArray,
    out: FloatArray,
) -> None:
    """Add sign times the change by q_j of a body's motion at x, which moves by dp, to out (6,)."""
    link = t.body_link[body] if body >= 0 else -1
    if link < 0:
        return
    V = f.V[link]
    # Change of the body's own motion, if q_j moves it.
    if moves:
        copy(K[j, :6], six)
        add_cross_motion(V, f.S[j], -1.0, six)
        add_motion_at(six, f.p[t.root[link]], x, sign, out)
    # Change of the point: omega x dp.
    put(cross(vector(V[:3]), vector(dp)), six[:3])
    axpy(out[:3], sign, six[:3])


@kernel(inline=True)
def turn_axes(n: FloatArray, t1: FloatArray, plane: FloatArray, dn: FloatArray, d1: FloatArray, d2: FloatArray) -> None:
    """Fill d1, d2 (3,) with the changes of the tangents t1, t2 of `planar_tangents` for a change dn of the normal n."""
    # The vector along the first tangent before normalisation, and its change.
    put(cross(vector(plane), vector(n)), d1)
    size = math.sqrt(dot(d1, d1))
    if size < 0.5:
        axis = 0
        if abs(n[1]) < abs(n[axis]):
            axis = 1
        if abs(n[2]) < abs(n[axis]):
            axis = 2
        size = math.sqrt(1.0 - n[axis] * n[axis])
        put(times(-1.0, add(times(dn[axis], vector(n)), times(n[axis], vector(dn)))), d1)
    else:
        put(cross(vector(plane), vector(dn)), d1)
    # Change of the unit vector, and of the second tangent n x t1.
    put(times(1.0 / size, subtract(vector(d1), times(dot(t1, d1), vector(t1)))), d1)
    turn_second(n, t1, d1, dn, d2)


@kernel
def speed_rates(
    world: PackedWorld,
    work: StepWork,
    m: DerivativeWork,
    control: StepControl,
    with_kinematic: bool,
    out: FloatArray,
) -> None:
    """Fill out (nc, na, nx) with the derivatives of all contacts' rates by q, at the velocity of m.V.

    The axes na of a contact are normal, two tangents, and with moments spin and two axes of rolling. They turn with q;
    the rolling axes also turn with v, in columns from nv on. With ``with_kinematic`` rates are relative to the
    motion of kinematic bodies.
    """
    t, f, nl, nv = model_and_workspace_views(world.ints, world.floats, m.V)
    K = view_2d(m.V, f.start + 6 * nl, nv, 18)
    w = work.scratch
    dp, dn, d1, d2, du, u, six = w[0:3], w[3:6], w[6:9], w[9:12], w[12:18], w[18:24], w[24:30]
    belt, more = w[30:33], w[33:36]
    for c in range(control.n_contacts):
        ints, own = work.contact_int[c], m.contact[c]
        a, b, x = ints[BODY_A], ints[BODY_B], work.contact_float[c, POINT : POINT + 3]
        n, t1, t2 = axis(own, 0), axis(own, 1), axis(own, 2)
        # Clear the output.
        count = fill_columns(world, f, m, a, b, x)
        out[c] = 0.0
        # Relative motion, and the velocity of a belt.
        driven = kinematic_index(world, a) if with_kinematic else -1
        relative_motion(world, work, f, t, a, b, x, driven, u)
        if driven >= 0:
            belt_velocity(work, driven, x, belt)
        for place in range(count):
            j = m.dofs[place]
            point_change(m, c, j, n, dp, dn)
            # Change of the relative motion; the point moves over a kinematic surface.
            relative_change(t, f, K, m, a, b, j, x, dp, six, du)
            if driven >= 0:
                put(subtract(vector(du), cross(vector(work.motion_twist[driven]), vector(dp))), du)
            # Change of the normal rate.
            normal_rate = dot(dn, u) + dot(n, du)
            if driven >= 0:
                # The normal row uses the body's velocity, not its belt's.
                put(cross(vector(work.belt_twist[driven]), vector(dp)), more)
                normal_rate += dot(dn, belt) + dot(n, more)
            # Changes of the tangential rates, and of the rates of spin and rolling.
            turn_axes(n, t1, world.plane, dn, d1, d2)
            out[c, 0, j] = normal_rate
            out[c, 1, j] = dot(d1, u) + dot(t1, du)
            out[c, 2, j] = dot(d2, u) + dot(t2, du)
            if out.shape[1] > SPIN:
                out[c, SPIN, j] = dot(dn, u[3:6]) + dot(n, du[3:6])
                turn_second(n, axis(own, ROLL), m.rolling_axis_rates[c, j], dn, d2)
                out[c, ROLL, j] = dot(m.rolling_axis_rates[c, j], u[3:6]) + dot(axis(own, ROLL), du[3:6])
                out[c, ROLL + 1, j] = dot(d2, u[3:6]) + dot(axis(own, ROLL + 1), du[3:6])
                dn[:] = 0.0
                turn_second(n, axis(own, ROLL), m.rolling_axis_rates[c, nv + j], dn, d2)
                out[c, ROLL, nv + j] = dot(m.rolling_axis_rates[c, nv + j], u[3:6])
                out[c, ROLL + 1, nv + j] = dot(d2, u[3:6])


@kernel(inline=True)
def turn_second(n: FloatArray, first: FloatArray, d1: FloatArray, dn: FloatArray, d2: FloatArray) -> None:
    """Fill d2 (3,) with the change of the axis n x first as the first changes by d1 and the normal n by dn."""
    put(add(cross(vector(dn), vector(first)), cross(vector(n), vector(d1))), d2)


@kernel(inner=True)
def relative_change(
    t: Tree,
    f: Frames,
    K: FloatArray,
    m: DerivativeWork,
    a: int,
    b: int,
    j: int,
    x: FloatArray,
    dp: FloatArray,
    six: FloatArray,
    out: FloatArray,
) -> None:
    """Fill out (6,) with the change by q_j of the motion of b relative to a at x, which moves by dp."""
    out[:] = 0.0
    of_b, of_a = m.columns[0, j], m.columns[1, j]
    # A column that is not zero moves its body.
    add_change(t, f, K, b, j, dot(of_b, of_b) > 0.0, x, dp, 1.0, six, out)
    add_change(t, f, K, a, j, dot(of_a, of_a) > 0.0, x, dp, -1.0, six, out)


@kernel(inner=True)
def point_change(m: DerivativeWork, c: int, j: int, n: FloatArray, dp: FloatArray, dn: FloatArray) -> None:
    """Fill dp, dn (3,) with the derivatives of a contact's point and normal by q_j."""
    rates, of_b, of_a = m.rates[c], m.columns[0, j], m.columns[1, j]
    # Both move with body A, and by the relative displacement.
    put(vector_at(of_a, 3), dp)
    put(cross(vector(of_a), vector(n)), dn)
    for k in range(3):
        dp[k] += dot(rates[k], of_b) - dot(rates[k], of_a)
        dn[k] += dot(rates[3 + k], of_b) - dot(rates[3 + k], of_a)


@kernel
def contact_rates(
    world: PackedWorld, work: StepWork, m: DerivativeWork, control: StepControl, h: float, kinks: int
) -> int:
    """Fill the derivatives by q of gaps and contact forces, the latter constant in the contacts' axes.

    h times the derivative of the generalised force of these forces is added to m.X. Loaded contacts at which other
    features touch nearby are appended to the list of ``kinks`` kinks. Return its new length. The head of work.W has the
    kinematics at the start of the step, m.V the same with any velocity.
    """
    _, f, _, nv = model_and_workspace_views(world.ints, world.floats, m.V)
    w = work.scratch
    dp, dn, d1, d2, force, moment = w[24:27], w[27:30], w[30:33], w[33:36], w[36:39], w[39:45]
    for number in range(control.n_contacts):
        ints, own = work.contact_int[number], m.contact[number]
        a, b, x = ints[BODY_A], ints[BODY_B], work.contact_float[number, POINT : POINT + 3]
        n, t1 = axis(own, 0), axis(own, 1)
        if m.on_kink[number, 0] != 0 and own[FORCE] > 0.0:
            kinks = append_kink(m, kinks, FEATURE, number, 0, -1, 0.0, 0.0, 0.0, 0.0, -1)
        count = fill_columns(world, f, m, a, b, x)
        m.gaps[number] = 0.0
        m.force_rates[number] = 0.0
        # Derivative of the gap.
        by_gap = m.rates[number, 6]
        for place in range(count):
            j = m.dofs[place]
            m.gaps[number, j] = dot(by_gap, m.columns[0, j]) - dot(by_gap, m.columns[1, j])
        # The force in world axes; without a force the rest is zero.
        put(force_of(own), force)
        if dot(force, force) == 0.0:
            continue
        for place in range(count):
            j = m.dofs[place]
            point_change(m, number, j, n, dp, dn)
            # Changes of the force and of its moment about the fixed point.
            turn_axes(n, t1, world.plane, dn, d1, d2)
            turned = add(times(own[FORCE + 1], vector(d1)), times(own[FORCE + 2], vector(d2)))
            turned = add(times(own[FORCE], vector(dn)), turned)
            put_spatial(cross(vector(dp), vector(force)), turned, moment)
            for k in range(3):
                m.force_rates[number, k, j] = turned[k]
            if m.mode.shape[1] > 1:
                add_moment(own, m.rolling_axis_rates[number, j], dn, d2, moment)
            # Generalised force of these changes.
            for other in range(count):
                i = m.dofs[other]
                m.X[i, j] += h * (dot(m.columns[0, i], moment) - dot(m.columns[1, i], moment))
            # Axes of rolling also turn with v.
            if m.mode.shape[1] > 1:
                dn[:] = 0.0
                moment[:] = 0.0
                add_moment(own, m.rolling_axis_rates[number, nv + j], dn, d2, moment)
                for other in range(count):
                    i = m.dofs[other]
                    m.X[i, nv + j] += h * (dot(m.columns[0, i], moment) - dot(m.columns[1, i], moment))
    return kinks


@kernel(inline=True)
def add_moment(own: FloatArray, d1: FloatArray, dn: FloatArray, d2: FloatArray, out: FloatArray) -> None:
    """Add to out (3,) the change of moments along turning axes, the first of rolling by d1, the normal by dn."""
    turn_second(axis(own, 0), axis(own, ROLL), d1, dn, d2)
    rolling = add(times(own[FORCE + ROLL], vector(d1)), times(own[FORCE + ROLL + 1], vector(d2)))
    put(add(vector(out), add(times(own[FORCE + SPIN], vector(dn)), rolling)), out)


@kernel(inner=True)
def append_kink(
    m: DerivativeWork,
    kinks: int,
    why: int,
    contact: int,
    cone: int,
    row: int,
    speed: float,
    way: float,
    slope: float,
    towards: float,
    neighbour: int,
) -> int:
    """Append a kink with ``way`` of at most KINK_HORIZON to the list, if it has space; return the number of kinks."""
    if way > KINK_HORIZON or kinks >= m.kinks.shape[0]:
        return kinks
    own = m.kinks[kinks]
    own[REASON], own[CONTACT], own[ROW], own[NEIGHBOUR], own[CONE] = why, contact, row, neighbour, cone
    m.kink_distances[kinks, 0], m.kink_distances[kinks, 1], m.kink_distances[kinks, 2] = speed, way, slope
    m.towards[kinks] = towards
    return kinks + 1


@kernel(inner=True)
def turn_rolling(own: FloatArray, w: FloatArray, speed: float, dw: FloatArray, dn: FloatArray, out: FloatArray) -> None:
    """Fill out (3,) with the change of d = (w - (n . w) n) / speed as w changes by dw and the normal by dn."""
    n, d = axis(own, 0), axis(own, ROLL)
    spun = add(times(dot(n, w), vector(dn)), times(dot(dn, w) + dot(n, dw), vector(n)))
    put(subtract(vector(dw), spun), out)
    put(times(1.0 / speed, subtract(vector(out), times(dot(d, out), vector(d)))), out)


@kernel
def rolling_rates(world: PackedWorld, work: StepWork, m: DerivativeWork, control: StepControl) -> None:
    """Fill ``m.rolling_axis_rates`` and the speed of rolling before the step.

    m.V must have the kinematics at the velocity before the step, and m.rates must be filled.
    """
    t, f, nl, nv = model_and_workspace_views(world.ints, world.floats, m.V)
    K = view_2d(m.V, f.start + 6 * nl, nv, 18)
    s = work.scratch
    u, du, six, dp, dn, d2 = s[0:6], s[6:12], s[12:18], s[18:21], s[21:24], s[24:27]
    planar = dot(world.plane, world.plane) > 0.0
    for c in range(control.n_contacts):
        ints, own, rolled = work.contact_int[c], m.contact[c], m.rolling_axis_rates[c]
        a, b, x, n = ints[BODY_A], ints[BODY_B], work.contact_float[c, POINT : POINT + 3], axis(own, 0)
        count = fill_columns(world, f, m, a, b, x)
        rolled[:] = 0.0
        # Speed of the rolling before the step.
        relative_motion(world, work, f, t, a, b, x, kinematic_index(world, a), u)
        w, dw = u[3:6], du[3:6]
        own[ROLLING] = math.sqrt(max(0.0, dot(w, w) - dot(n, w) ** 2))
        if planar:
            # The axis is the normal of the plane.
            own[ROLLING] = math.inf
            continue
        for place in range(count):
            j = m.dofs[place]
            point_change(m, c, j, n, dp, dn)
            if own[ROLLING] <= STILL:
                turn_axes(n, axis(own, ROLL), world.plane, dn, rolled[j], d2)
                continue
            # By q_j, then by v_j.
            relative_change(t, f, K, m, a, b, j, x, dp, six, du)
            turn_rolling(own, w, own[ROLLING], dw, dn, rolled[j])
            dn[:] = 0.0
            put(subtract(vector(m.columns[0, j]), vector(m.columns[1, j])), dw)
            turn_rolling(own, w, own[ROLLING], dw, dn, rolled[nv + j])

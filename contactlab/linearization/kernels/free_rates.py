"""How impulse and momentum of a step without its constraint forces change: the right-hand side of its derivative.

With the constraint forces held, and the wrenches that they make standing still,

    r = M v + h (tau - bias) - M^ v+  + h J^T f      is 0,      M^ = M + h D + h^2 K,

and by q and v it changes by -h d(inverse dynamics) at a = (v+ - v) / h, which has the bias in it, and by what the
midpoint rule makes of turning impulses, differentiated here by the implicit function theorem. Velocity products that
are limited, of fast chains, are differenced.
"""

from __future__ import annotations

from typing import Final

from contactlab.linearization.kernels.contact_frames import at_start
from contactlab.linearization.kernels.layout import Memory
from contactlab.multibody.kernels.codes import FLOATING, GOOD
from contactlab.multibody.kernels.configurations import integrate_configuration
from contactlab.multibody.kernels.derivatives import dynamics_derivatives
from contactlab.multibody.kernels.gyroscopic import PARTS, is_free_rotor, midpoint_step, turning_load
from contactlab.multibody.kernels.layout import model_and_workspace_views, tree
from contactlab.multibody.kernels.sizes import CUSTOM_RATES, CUSTOM_ROW, NOTHING, VELOCITIES
from contactlab.multibody.kernels.velocities import fill_frames
from contactlab.multibody.kernels.velocity_products import limiter_weight
from contactlab.multibody.kernels.workspace import part_at, rows_at
from contactlab.stepping.kernels.free_motion import free_motion, turns_fast
from contactlab.stepping.kernels.layout import (
    GYROSCOPIC_EXPLICIT,
    GYROSCOPIC_IMPLICIT,
    TREE_DOF,
    TREE_LINK,
    FloatArray,
    JointRows,
    PackedWorld,
    Parameters,
    StepWork,
)
from lcp.kernels import kernel

#: Stride [rad, m, rad/s, m/s] of the differences of fast chains.
STRIDE: Final = 1e-5


@kernel(inner=True)
def skew_times(a: FloatArray, M: FloatArray, out: FloatArray) -> None:
    """out (3, 3) = [a]x M."""
    for k in range(3):
        out[0, k] = a[1] * M[2, k] - a[2] * M[1, k]
        out[1, k] = a[2] * M[0, k] - a[0] * M[2, k]
        out[2, k] = a[0] * M[1, k] - a[1] * M[0, k]


@kernel(inner=True)
def spin_slope(I: FloatArray, w: FloatArray, out: FloatArray) -> None:
    """out (3, 3): d(w x I w)/dw = [w]x I - [I w]x."""
    skew_times(w, I, out)
    lx = I[0, 0] * w[0] + I[0, 1] * w[1] + I[0, 2] * w[2]
    ly = I[1, 0] * w[0] + I[1, 1] * w[1] + I[1, 2] * w[2]
    lz = I[2, 0] * w[0] + I[2, 1] * w[1] + I[2, 2] * w[2]
    out[0, 1] += lz
    out[0, 2] -= ly
    out[1, 0] -= lz
    out[1, 2] += lx
    out[2, 0] += ly
    out[2, 1] -= lx


@kernel(inner=True)
def solve_3(A: FloatArray, B: FloatArray) -> None:
    """B (3, n) := A^-1 B by cofactors."""
    c00 = A[1, 1] * A[2, 2] - A[1, 2] * A[2, 1]
    c01 = A[1, 2] * A[2, 0] - A[1, 0] * A[2, 2]
    c02 = A[1, 0] * A[2, 1] - A[1, 1] * A[2, 0]
    inverse = 1.0 / (A[0, 0] * c00 + A[0, 1] * c01 + A[0, 2] * c02)
    for k in range(B.shape[1]):
        x, y, z = B[0, k] * inverse, B[1, k] * inverse, B[2, k] * inverse
        B[0, k] = c00 * x + (A[0, 2] * A[2, 1] - A[0, 1] * A[2, 2]) * y + (A[0, 1] * A[1, 2] - A[0, 2] * A[1, 1]) * z
        B[1, k] = c01 * x + (A[0, 0] * A[2, 2] - A[0, 2] * A[2, 0]) * y + (A[0, 2] * A[1, 0] - A[0, 0] * A[1, 2]) * z
        B[2, k] = c02 * x + (A[0, 1] * A[2, 0] - A[0, 0] * A[2, 1]) * y + (A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]) * z


@kernel(inner=True)
def spin_rates(
    six: FloatArray, torque: FloatArray, w: FloatArray, h: float, I: FloatArray, B: FloatArray, work: FloatArray
) -> None:
    """B (3, 6): change of w+ - w of `midpoint_spin` by w and by the torque. ``work`` (39,) is scratch."""
    wm, C, J = part_at(work, 0, 3), rows_at(work, 3, 3, 3), rows_at(work, 12, 3, 3)
    E = rows_at(work, 21, 3, 6)
    parts = 1
    while True:
        part = h / parts
        dx, dy, dz = 0.0, 0.0, 0.0
        for i in range(3):
            for k in range(6):
                B[i, k] = 0.0
        solved = True
        for _ in range(parts):
            ex, ey, ez, solved = midpoint_step(
                six, torque[0], torque[1], torque[2], w[0] + dx, w[1] + dy, w[2] + dz, part
            )
            if not solved:
                break
            wm[0], wm[1], wm[2] = w[0] + dx + 0.5 * ex, w[1] + dy + 0.5 * ey, w[2] + dz + 0.5 * ez
            spin_slope(I, wm, C)
            for i in range(3):
                for k in range(3):
                    J[i, k] = I[i, k] + 0.5 * part * C[i, k]
            # I d + h wm x I wm = h torque, wm = w + d / 2: of the part's own w, and of the torque.
            for i in range(3):
                for k in range(6):
                    E[i, k] = part if k == 3 + i else 0.0
                    for l in range(3):
                        E[i, k] -= part * C[i, l] * (B[l, k] + (1.0 if k == l else 0.0))
            solve_3(J, E)
            for i in range(3):
                for k in range(6):
                    B[i, k] += E[i, k]
            dx, dy, dz = dx + ex, dy + ey, dz + ez
        if solved or parts >= PARTS:
            return
        parts *= 2


@kernel(inner=True)
def turning_rates(world: PackedWorld, work: StepWork, m: Memory, i: int, h: float, spins: bool) -> None:
    """Add to X what `turning_impulse` changes by q, v and tau, for a link i that is a tree of its own."""
    t, f, _, nv = model_and_workspace_views(world.ints, world.floats, work.W)
    Ri, a = f.R[i], t.iv[i]
    com = t.com[i]
    x, y, z = com[0], com[1], com[2]
    scratch = part_at(m.V, 0, 160)
    six, I, B = part_at(scratch, 0, 6), rows_at(scratch, 6, 3, 3), rows_at(scratch, 15, 3, 6)
    C, torque, by_turn = rows_at(scratch, 33, 3, 3), part_at(scratch, 45, 3), rows_at(scratch, 48, 3, 3)
    first, b, (torque[0], torque[1], torque[2]) = turning_load(t, f.R, f.S, i, work.tau, six)
    w = m.v[first : first + 3]
    I[0, 0], I[1, 1], I[2, 2] = six[0], six[1], six[2]
    I[0, 1], I[0, 2], I[1, 2] = six[3], six[4], six[5]
    I[1, 0], I[2, 0], I[2, 1] = six[3], six[4], six[5]
    # By the turn e of the body: its torque changes by com x (b x e) = b (com . e) - e (com . b).
    dot = x * b[0] + y * b[1] + z * b[2]
    for k in range(3):
        for l in range(3):
            by_turn[k, l] = b[k] * com[l] - (dot if k == l else 0.0)
    spin_slope(I, w, C)
    if spins:
        spin_rates(six, torque, w, h, I, B, part_at(scratch, 60, 60))
    for k in range(3):
        for l in range(3):
            gain = h * C[k, l]
            impulse = 0.0
            if spins:
                impulse = -h if k == l else 0.0
                for n in range(3):
                    gain += I[k, n] * B[n, l]
                    impulse += I[k, n] * B[n, 3 + l]
            m.X[first + k, nv + first + l] += gain
            C[k, l] = impulse
    if not spins:
        return
    for k in range(3):
        for l in range(3):
            for n in range(3):
                m.X[first + k, first + l] += C[k, n] * by_turn[n, l]
            m.X[first + k, 2 * nv + first + l] += C[k, l]
        if t.kind[i] == FLOATING:
            for l in range(3):
                # The force's axis in body axes; com x it.
                sx, sy, sz = -f.S[a + l, 3], -f.S[a + l, 4], -f.S[a + l, 5]
                ux = Ri[0] * sx + Ri[3] * sy + Ri[6] * sz
                uy = Ri[1] * sx + Ri[4] * sy + Ri[7] * sz
                uz = Ri[2] * sx + Ri[5] * sy + Ri[8] * sz
                value = C[k, 0] * (y * uz - z * uy) + C[k, 1] * (z * ux - x * uz) + C[k, 2] * (x * uy - y * ux)
                m.X[first + k, 2 * nv + a + l] += value


@kernel
def limited_rates(
    world: PackedWorld, work: StepWork, joints: JointRows | None, m: Memory, h: float, p: Parameters
) -> None:
    """Add to X what limits of velocity products change by q and v, of trees that turn fast, by differences."""
    t, f, _, nv = model_and_workspace_views(world.ints, world.floats, work.W)
    none = rows_at(work.W, 0, 0, CUSTOM_ROW)
    rule = p.gyroscopic
    nt = world.trees.shape[0] - 1
    for tree_number in range(nt):
        first, last = world.trees[tree_number, TREE_LINK], world.trees[tree_number + 1, TREE_LINK]
        a, b = world.trees[tree_number, TREE_DOF], world.trees[tree_number + 1, TREE_DOF]
        fill_frames(world.ints, world.floats, m.q, m.v, none, NOTHING, VELOCITIES, work.W)
        if is_free_rotor(t, first, last) or not limiter_weight(t, f.V, first, last, h) > 0.0:
            continue
        for column in range(2 * (b - a)):
            j = a + column % (b - a)
            for side in range(2):
                way = STRIDE if side == 0 else -STRIDE
                for k in range(nv):
                    m.way[k] = 0.0
                    work.v[k] = m.v[k]
                for k in range(work.q.shape[0]):
                    work.q[k] = m.q[k]
                if column < b - a:
                    m.way[j] = way
                    integrate_configuration(world.ints, world.floats, m.q, m.way, 1.0, work.q)
                else:
                    work.v[j] += way
                for explicit in range(2):
                    p.gyroscopic = GYROSCOPIC_EXPLICIT if explicit else rule
                    fill_frames(world.ints, world.floats, work.q, work.v, none, NOTHING, VELOCITIES, work.W)
                    free_motion(world, work, joints, h, p)
                    sign = (1.0 if side == 0 else -1.0) * (-1.0 if explicit else 1.0)
                    for k in range(a, b):
                        m.X[k, j if column < b - a else nv + j] += sign * work.Mv[k] / (2.0 * STRIDE)
    p.gyroscopic = rule


@kernel
def free_rates(world: PackedWorld, work: StepWork, joints: JointRows | None, m: Memory, h: float, p: Parameters) -> int:
    """Fill X (nv, columns) with r by q, v, tau and targets; then the step's own M^ and free motion once more.

    ``m.wrenches`` hold the constraint forces; work.q and work.v become those of the start. `GOOD`, or what failed.
    """
    nv = work.v.shape[0]
    none = rows_at(m.W, 0, 0, CUSTOM_ROW)
    rates = rows_at(m.W, 0, 0, CUSTOM_RATES)
    for j in range(nv):
        m.way[j] = (m.v_plus[j] - m.v[j]) / h
        for k in range(m.X.shape[1]):
            m.X[j, k] = 0.0
    code = dynamics_derivatives(
        world.ints, world.floats, m.q, m.v, m.way[:nv], m.wrenches, none, rates, m.W, NOTHING, 0, m.dynamics
    )
    if code != GOOD:
        return code
    dq, dv, M = m.dynamics[0], m.dynamics[1], m.dynamics[2]
    for j in range(nv):
        for k in range(nv):
            m.X[j, k] = -h * dq[j, k]
            m.X[j, nv + k] = M[j, k] - h * dv[j, k]
        m.X[j, 2 * nv + j] = h
    at_start(world, work, m)
    if p.gyroscopic != GYROSCOPIC_EXPLICIT:
        t = tree(world.ints, world.floats)
        for k in range(world.trees.shape[0] - 1):
            first = world.trees[k, TREE_LINK]
            if is_free_rotor(t, first, world.trees[k + 1, TREE_LINK]):
                turning_rates(world, work, m, first, h, p.gyroscopic == GYROSCOPIC_IMPLICIT)
        if turns_fast(world, work.W, h):
            limited_rates(world, work, joints, m, h, p)
            at_start(world, work, m)
    if joints is not None:
        for s in range(joints.springs.shape[0]):
            spring = joints.springs[s]
            stiffness = joints.drives[spring.drive].stiffness
            m.X[spring.dof, spring.dof] -= h * stiffness
            m.X[spring.dof, 3 * nv + spring.drive] += h * stiffness
    free_motion(world, work, joints, h, p)
    return GOOD

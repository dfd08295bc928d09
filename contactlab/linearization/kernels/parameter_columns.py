"""Derivatives of a step by a parameter of the world, from two worlds with nearby values.

The worlds may differ only in numbers: masses, materials, gains, bounds. State, velocity after the step and forces are
constant; impulses and laws of rows are computed for the other world, by the kernels of the step.
"""

from __future__ import annotations

import math
from typing import Final

from contactlab.contact.kernels.contact_rows import pair_restitution
from contactlab.formulation.kernels.laws import unilateral_law
from contactlab.linearization.kernels.contact_frames import at_start, at_velocity, contact_frames, dot, read_contacts
from contactlab.linearization.kernels.layout import BOUND, FORCE, RATE, DerivativeWork
from contactlab.multibody.kernels.codes import NOTHING
from contactlab.stepping.kernels.blocks import PUSH_RATE, compliance_of, fastest_of, materials_of
from contactlab.stepping.kernels.free_motion import free_motion
from contactlab.stepping.kernels.joint_rows import joint_law
from contactlab.stepping.kernels.layout import (
    CONTACT_ID,
    GAP,
    HALF_SPACE,
    RESTITUTION,
    SHAPE_A,
    SHAPE_B,
    TREE_BLOCK,
    TREE_DOF,
    VN_MINUS,
    Chunk,
    Collision,
    FloatArray,
    IntArray,
    JointRows,
    PackedWorld,
    Parameters,
    StepControl,
    StepWork,
)
from lcp.compiler.views import view_2d
from lcp.kernels import kernel

#: A force within this fraction of a nearby world's bound counts as at the bound.
NEARLY: Final = 1e-3


@kernel(inner=True)
def factor_times(branch: IntArray, L: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray) -> None:
    """Fill out (n,) with L^T L x, for a factor along branches; y (n,) is scratch."""
    n = x.shape[0]
    # y = L x, then L^T y.
    for i in range(n):
        y[i] = L[i, i] * x[i]
        out[i] = 0.0
        j = branch[i]
        while j >= 0:
            y[i] += L[i, j] * x[j]
            j = branch[j]
    for i in range(n):
        out[i] += L[i, i] * y[i]
        j = branch[i]
        while j >= 0:
            out[j] += L[i, j] * y[i]
            j = branch[j]


@kernel(inner=True)
def friction_of(world: PackedWorld, c: Collision | None, ints: IntArray, mu: float) -> float:
    """Return the coefficient of friction of a contact in a world, or ``mu`` if its surfaces have none."""
    if ints[SHAPE_B] < 0:
        return mu
    # With a half-space whose shapes detection does not distinguish.
    if ints[SHAPE_A] < 0 and ints[HALF_SPACE] >= 0 and ints[CONTACT_ID] >= 0:
        return world.pair_mu[ints[SHAPE_B], ints[HALF_SPACE]]
    a, b = materials_of(world, ints)
    if c is not None and a >= 0:
        return c.pair_mu[a, b]
    return mu


@kernel
def add_parameter_difference(
    world: PackedWorld,
    work: StepWork,
    chunk: Chunk,
    control: StepControl,
    p: Parameters,
    collision: Collision | None,
    joints: JointRows | None,
    lengths: FloatArray,
    m: DerivativeWork,
    column: int,
    weight: float,
) -> None:
    """Add ``weight`` times impulses and laws of a step in a world of the same layout to the column of a parameter.

    Impulses Mv - M v+ go to m.by_parameter. k + gamma f and bounds of forces go to m.by_law for contacts, and to
    m.by_row for joint rows. The step is the last one of the loop, and v+ and f are its results. work.q and work.v
    become the state of its start.
    """
    nv, h = m.v.shape[0], p.last_h
    # Impulses without constraint forces.
    before = p.h
    p.h = h
    at_start(world, work, m)
    free_motion(world, work, joints, h, p)
    y, out = m.way[:nv], m.way[nv : 2 * nv]
    for k in range(world.trees.shape[0] - 1):
        a, b = world.trees[k, TREE_DOF], world.trees[k + 1, TREE_DOF]
        L = view_2d(work.L, world.trees[k, TREE_BLOCK], b - a, b - a)
        factor_times(world.branch[a:b], L, m.v_plus[a:b], y[a:b], out[a:b])
        for j in range(a, b):
            m.by_parameter[j, column] += weight * (work.Mv[j] - out[j])
    # Laws of the contacts: normal rows, and bounds of friction.
    read_contacts(world, work, lengths, m, control)
    at_velocity(world, m, m.v_plus, NOTHING)
    contact_frames(world, work, m, control)
    for c in range(control.n_contacts):
        own, floats, ints = m.contact[c], work.contact_float[c], work.contact_int[c]
        free = own[RATE] + dot(m.frame[c, 0], work.v_free) - dot(m.frame[c, 0], m.v_plus)
        a, b = materials_of(world, ints)
        e = 0.0
        if a >= 0:
            e = pair_restitution(world.restitution, a, b, -floats[VN_MINUS])
        stiffness, dissipation = compliance_of(world, ints)
        gap, approach, fastest = floats[GAP], floats[VN_MINUS], fastest_of(world, ints, p, PUSH_RATE)
        own_k, gamma = unilateral_law(
            gap, approach, free, h, e, p.restitution_threshold, p.erp, p.cfm, stiffness, dissipation, fastest
        )
        if e > 0.0 and floats[RESTITUTION] == 0.0 and gap > 0.0 and own_k == e * approach and fastest < math.inf:
            # Without restitution an impact closes its gap: k jumps. Only the effect of e beyond the jump is included.
            own_k += gap / h
        m.by_law[c, 0, column] += weight * (own_k + gamma * own[FORCE])
        m.by_law[c, 1, column] += weight * friction_of(world, collision, ints, 0.0)
        for cone in range(1, m.mode.shape[1]):
            m.by_law[c, 1 + cone, column] += weight * own[BOUND + cone]
    # Laws and bounds of joint rows.
    if joints is not None:
        for record in range(control.chunk_joints):
            entry = chunk.joint[record]
            wanted, softness, low, high = joint_law(work, joints, entry.row, p)
            m.by_row[record, 0, column] += weight * (wanted + softness * entry.force)
            bound = 0.0
            # The bound matters only if the force is at the bound in the world itself.
            if entry.force >= high * (1.0 - NEARLY) and high > 0.0:
                bound = high
            elif entry.force <= low * (1.0 - NEARLY) and low < 0.0:
                bound = low
            m.by_row[record, 1, column] += weight * bound
    p.h = before

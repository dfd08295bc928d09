"""What acts on the joints of a compiled MuJoCo model: ranges, damping, friction, springs, servos, loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.constraints import LoopConstraint
from contactlab.formulation.bridge import JointLimit, PositionDrive
from contactlab.spatial import Transform
from contactlab.world.builder import WorldBuilder
from contactlab.world.mjcf.bodies import SCALAR, body_names, joint_names, placed


def is_servo(m: Any, a: int) -> bool:
    """Whether an actuator is a position or velocity servo on a hinge or slide, without dynamics of its own."""
    import mujoco

    gain, bias = m.actuator_gaintype[a], m.actuator_biastype[a]
    affine = gain == mujoco.mjtGain.mjGAIN_FIXED and bias == mujoco.mjtBias.mjBIAS_AFFINE
    on_joint = m.actuator_trntype[a] == mujoco.mjtTrn.mjTRN_JOINT and m.jnt_type[m.actuator_trnid[a, 0]] in SCALAR
    if not (affine and on_joint and m.actuator_dyntype[a] == mujoco.mjtDyn.mjDYN_NONE and m.actuator_gear[a, 0]):
        return False
    kp, (offset, by_length, by_speed) = m.actuator_gainprm[a, 0], m.actuator_biasprm[a, :3]
    low, high = m.actuator_forcerange[a]
    even = not m.actuator_forcelimited[a] or low == -high
    position = by_length == -kp and by_speed <= 0.0
    return bool(even and offset == 0.0 and kp > 0.0 and (position or (by_length == 0.0 and by_speed == -kp)))


def is_taken_equality(m: Any, e: int) -> bool:
    """Whether an equality is an active connect or weld of bodies."""
    import mujoco

    taken = m.eq_type[e] == mujoco.mjtEq.mjEQ_CONNECT or m.eq_type[e] == mujoco.mjtEq.mjEQ_WELD
    return bool(m.eq_active0[e] and taken and m.eq_objtype[e] == mujoco.mjtObj.mjOBJ_BODY)


def add_actions(builder: WorldBuilder, m: Any, moved: dict[int, str]) -> None:
    """Hand the builder what acts on the joints; ``moved`` is the body each joint moves."""
    labels = joint_names(m)
    for j, body in moved.items():
        dof, at = int(m.jnt_dofadr[j]), int(m.jnt_qposadr[j])
        if m.dof_damping[dof] > 0.0:
            builder.add_joint_damping(body, float(m.dof_damping[dof]))
        if m.dof_frictionloss[dof] > 0.0:
            builder.add_joint_friction(body, float(m.dof_frictionloss[dof]))
        if m.jnt_type[j] not in SCALAR:
            continue
        # q counts from the reference here.
        reference = float(m.qpos0[at])
        if m.jnt_limited[j]:
            low, high = (float(x) - reference for x in m.jnt_range[j])
            builder.add_joint_limit(JointLimit(body, low, high))
        if m.jnt_stiffness[j] > 0.0:
            rest = float(m.qpos_spring[at]) - reference
            name = f"spring of {labels[j]}"
            builder.add_drive(PositionDrive(body, rest, float(m.jnt_stiffness[j]), name=name))
    for a in range(m.nu):
        if is_servo(m, a):
            builder.add_drive(_servo(m, a, moved))
    for e in range(m.neq):
        if is_taken_equality(m, e):
            builder.add_loop(_loop(m, e))


def _servo(m: Any, a: int, moved: dict[int, str]) -> PositionDrive:
    """Return a servo at the control 0, with gains seen from the joint."""
    import mujoco

    j, gear = int(m.actuator_trnid[a, 0]), float(m.actuator_gear[a, 0])
    name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_ACTUATOR, a) or f"actuator {a}"
    stiffness, damping = (max(0.0, -float(x)) * gear * gear for x in m.actuator_biasprm[a, 1:3])
    limit = abs(gear) * float(m.actuator_forcerange[a, 1]) if m.actuator_forcelimited[a] else np.inf
    target = -float(m.qpos0[m.jnt_qposadr[j]]) if stiffness else 0.0
    return PositionDrive(moved[j], target, stiffness, damping, max_force=limit, name=name)


def _loop(m: Any, e: int) -> list[LoopConstraint]:
    """Return the rows of a connect (three) or a weld (six)."""
    import mujoco

    names, data = body_names(m), m.eq_data[e]
    a, b = names[m.eq_obj1id[e]], names[m.eq_obj2id[e]]
    label = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_EQUALITY, e) or f"equality {e}"
    if m.eq_type[e] == mujoco.mjtEq.mjEQ_CONNECT:
        frames = Transform(p=data[0:3]), Transform(p=data[3:6])
        rows = range(3, 6)
    else:
        frames = placed(data[3:6], data[6:10]), Transform()
        rows = range(6)
    return [LoopConstraint(a, b, *frames, np.eye(6)[row], name=label) for row in rows]

"""Actions on joints and actuators of a compiled MuJoCo model.

Actions are ranges, friction, springs, equalities, loops and gravity compensation. Position and velocity servos of
joints become drives. All other actuators are forces that depend on the user's controls.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from contactlab.constraint_solver.model_problem.drives import PositionDrive
from contactlab.constraint_solver.model_problem.options import JointLimit
from contactlab.multibody.constraints import LoopConstraint
from contactlab.multibody.spatial import Transform
from contactlab.simulation.world.body_builder import BodyBuilder
from contactlab.simulation.world.joint_actions import JointActions, JointPolynomial, MimicJoint
from contactlab.simulation.world.mjcf.robot import (
    DYNAMICS,
    ActuatorTerm,
    Attached,
    GravityCompensated,
    MjcfActuator,
    PassiveForces,
    Tendon,
)
from contactlab.simulation.world.mjcf.source import BALL, FREE, SCALAR, MjcfError, Source, make_pose, mujoco, name_in


def is_taken_equality(m: Any, e: int) -> bool:
    """Return True if an equality is supported and active: connect or weld of bodies or sites, or of scalar joints."""
    kind, of = int(m.eq_type[e]), int(m.eq_objtype[e])
    if kind in (int(mujoco().mjtEq.mjEQ_CONNECT), int(mujoco().mjtEq.mjEQ_WELD)):
        return bool(m.eq_active0[e] and of in (int(mujoco().mjtObj.mjOBJ_BODY), int(mujoco().mjtObj.mjOBJ_SITE)))
    return bool(m.eq_active0[e] and (_relation(m, e) or _polynomial(m, e)) is not None)


def _relation(m: Any, e: int) -> tuple[int, int, float, float] | None:
    """Return joint, followed joint, factor and offset (from the references) of an equality of two scalar joints."""
    kind, kinds, data = int(m.eq_type[e]), mujoco().mjtEq, m.eq_data[e]
    one, two = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    if kind == kinds.mjEQ_JOINT and two >= 0 and not np.any(data[2:5]):
        return one, two, float(data[1]), float(data[0])
    if kind == kinds.mjEQ_TENDON and two < 0 and not np.any(data[2:5]):
        terms = tendon_terms(m, one)
        if terms is not None and len(terms) == 2:
            (a, first), (b, second) = terms.items()
            return a, b, -second / first, float(data[0]) / first
    return None


def _polynomial(m: Any, e: int) -> tuple[int, int, tuple[float, ...]] | None:
    """Return joint, followed joint (-1 for none) and coefficients (from the references) of an equality of joints."""
    if m.eq_type[e] != mujoco().mjtEq.mjEQ_JOINT:
        return None
    one, two = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    return one, two, tuple(float(x) for x in m.eq_data[e, : 5 if two >= 0 else 1])


def tendon_terms(m: Any, tendon: int) -> dict[int, float] | None:
    """Return the joints of a fixed tendon, by number, with their coefficients other than 0; None for a spatial one."""
    at, terms = int(m.tendon_adr[tendon]), dict[int, float]()
    for wrap in range(at, at + int(m.tendon_num[tendon])):
        if m.wrap_type[wrap] != mujoco().mjtWrap.mjWRAP_JOINT:
            return None
        if m.wrap_prm[wrap]:
            joint = int(m.wrap_objid[wrap])
            terms[joint] = terms.get(joint, 0.0) + float(m.wrap_prm[wrap])
    return terms


def add_actions(builder: BodyBuilder, source: Source, actuators: tuple[MjcfActuator, ...]) -> None:
    """Add the joint actions to the builder, with the actuators that are drives."""
    m = source.m
    for j in source.moved:
        joint = source.handle(j)
        dof, at = int(m.jnt_dofadr[j]), int(m.jnt_qposadr[j])
        if m.dof_damping[dof] > 0.0 and not source.is_flag_disabled("damper", "passive"):
            builder.add_joint_damping(joint, float(m.dof_damping[dof]))
        if m.dof_frictionloss[dof] > 0.0 and not source.is_flag_disabled("frictionloss", "constraint"):
            builder.add_joint_friction(joint, float(m.dof_frictionloss[dof]))
        if m.jnt_type[j] not in SCALAR:
            continue
        # q is relative to the reference here.
        reference = float(m.qpos0[at])
        if m.jnt_limited[j] and not source.is_flag_disabled("limit", "constraint"):
            low, high = (float(x) - reference for x in m.jnt_range[j])
            builder.add_joint_limit(JointLimit(joint, low, high))
        if m.jnt_stiffness[j] > 0.0 and not source.is_flag_disabled("spring", "passive"):
            rest = float(m.qpos_spring[at]) - reference
            name = f"{source.prefix}spring of {source.joints[j]}"
            builder.add_drive(PositionDrive(joint, rest, float(m.jnt_stiffness[j]), name=name))
    for actuator in actuators:
        if actuator.drive is not None:
            builder.add_drive(actuator.drive)
    if source.is_flag_disabled("equality", "constraint"):
        return
    for e in range(m.neq):
        if not is_taken_equality(m, e):
            continue
        relation = _relation(m, e)
        polynomial = _polynomial(m, e)
        if relation is None and polynomial is not None:
            one, two, coefficients = polynomial
            label, followed = source.prefix + name_in(m, "equality", e), source.moved.get(two)
            builder.add_loop(JointPolynomial(source.moved[one], followed, np.array(coefficients), label))
        elif relation is None:
            builder.add_loop(_loop(source, e))
        else:
            one, two, factor, offset = relation
            follower = MimicJoint(source.moved[one], source.moved[two], factor, offset)
            builder.add_actions(JointActions(mimics=(follower,)))


def _loop(source: Source, e: int) -> list[LoopConstraint]:
    """Return the rows of a connect (three) or a weld (six)."""
    m, data = source.m, source.m.eq_data[e]
    numbers = [int(m.eq_obj1id[e]), int(m.eq_obj2id[e])]
    connects = m.eq_type[e] == mujoco().mjtEq.mjEQ_CONNECT
    if m.eq_objtype[e] == mujoco().mjtObj.mjOBJ_SITE:
        # Two sites coincide: origins, or frames.
        frames = [make_pose(m.site_pos[s], m.site_quat[s]) for s in numbers]
        numbers = [int(m.site_bodyid[s]) for s in numbers]
    elif connects:
        frames = [Transform(p=data[0:3]), Transform(p=data[3:6])]
    else:
        frames = [make_pose(data[3:6], data[6:10]), Transform()]
    one, two = (source.pose @ frame if i == 0 else frame for i, frame in zip(numbers, frames, strict=True))
    label = source.prefix + name_in(m, "equality", e)
    a, b = (source.bodies[i] for i in numbers)
    return [LoopConstraint(a, b, one, two, np.eye(6)[row], name=label) for row in range(3 if connects else 0, 6)]


def passive_forces(source: Source) -> PassiveForces:
    """Return the supported passive forces of bodies and tendons of a file."""
    m, lifted, tendons = source.m, list[GravityCompensated](), list[Tendon]()
    if source.is_flag_disabled("passive") or (source.is_flag_disabled("spring") and source.is_flag_disabled("damper")):
        return PassiveForces()
    if not source.is_flag_disabled("gravity"):
        for i in np.flatnonzero(m.body_gravcomp):
            share = float(m.body_mass[i] * m.body_gravcomp[i])
            lifted.append(GravityCompensated(Attached(source.bodies[i], np.array(m.body_ipos[i])), share))
    for t in range(m.ntendon):
        stiffness = 0.0 if source.is_flag_disabled("spring") else float(m.tendon_stiffness[t])
        damping = 0.0 if source.is_flag_disabled("damper") else float(m.tendon_damping[t])
        if (stiffness or damping) and is_taken_tendon(m, t):
            tendons.append(_tendon(source, t, stiffness, damping))
    return PassiveForces(tuple(lifted), tuple(tendons))


def is_taken_tendon(m: Any, t: int) -> bool:
    """Return True if a tendon's spring and damper are supported: linear, along sites or of scalar joints."""
    for field in ("tendon_stiffnesspoly", "tendon_dampingpoly", "tendon_springyield"):
        if np.any(getattr(m, field, np.zeros(m.ntendon))[t]):
            return False
    terms, path = tendon_terms(m, t), range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t])
    if terms is None:
        return all(m.wrap_type[wrap] == mujoco().mjtWrap.mjWRAP_SITE for wrap in path)
    return all(m.jnt_type[j] in SCALAR for j in terms)


def _tendon(source: Source, t: int, stiffness: float, damping: float) -> Tendon:
    """Return a tendon with a spring and damper, along sites or of scalar joints."""
    m, points, terms = source.m, list[Attached](), tendon_terms(source.m, t)
    if terms is None:
        for wrap in range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t]):
            site = int(m.wrap_objid[wrap])
            body, point = int(m.site_bodyid[site]), np.array(m.site_pos[site])
            points.append(Attached(source.bodies[body], point if body else source.pose.apply(point)))
    summed = {} if terms is None else terms
    return Tendon(
        name=name_in(m, "tendon", t),
        points=tuple(points),
        terms=tuple((source.moved[j], factor) for j, factor in summed.items()),
        offset=sum(factor * float(m.qpos0[m.jnt_qposadr[j]]) for j, factor in summed.items()),
        stiffness=stiffness,
        damping=damping,
        rest=(float(m.tendon_lengthspring[t, 0]), float(m.tendon_lengthspring[t, 1])),
    )


def actuators_of(source: Source) -> tuple[MjcfActuator, ...]:
    """Return the actuators in the file's order; unsupported ones have no terms and no effect."""
    m = source.m
    if source.is_flag_disabled("actuation"):
        return ()
    if getattr(m, "nactuator", m.nu) != m.nu:
        raise MjcfError("actuator", "some have several controls, which is not supported")
    made, ranges = [_actuator(source, a) for a in range(m.nu)], force_ranges(source)
    return tuple(_within_range(one, made, ranges) if one.drive is not None else one for one in made)


def force_ranges(source: Source) -> dict[tuple[str, int], tuple[float, float]]:
    """Return the ranges of the total actuator force on a hinge or slide, by body and coordinate."""
    m = source.m
    joints = [j for j in range(m.njnt) if m.jnt_actfrclimited[j] and m.jnt_type[j] in SCALAR]
    return {(source.moved[j], 0): _range(m.jnt_actfrcrange[j], True) for j in joints}


def tendon_ranges(source: Source) -> list[tuple[list[int], tuple[float, float]]]:
    """Return the ranges of the total force of all actuators of a tendon, with their numbers."""
    m, by_tendon = source.m, dict[int, list[int]]()
    for a in range(0 if source.is_flag_disabled("actuation") else m.nu):
        if m.actuator_trntype[a] == mujoco().mjtTrn.mjTRN_TENDON and m.tendon_actfrclimited[m.actuator_trnid[a, 0]]:
            by_tendon.setdefault(int(m.actuator_trnid[a, 0]), []).append(a)
    return [(numbers, _range(m.tendon_actfrcrange[t], True)) for t, numbers in by_tendon.items()]


def is_disabled(m: Any, a: int) -> bool:
    """Return True if the file disables an actuator's group (actuatorgroupdisable), so that it has no effect."""
    group = int(m.actuator_group[a])
    return bool(0 <= group < 31 and int(m.opt.disableactuator) >> group & 1)


def _within_range(
    servo: MjcfActuator, actuators: list[MjcfActuator], ranges: dict[tuple[str, int], tuple[float, float]]
) -> MjcfActuator:
    """Return a servo limited to the range of its joint: as a drive with a bound, or else as a force.

    The range limits the sum of all actuators of the joint. A drive has a separate bound, the same in both directions,
    and the bound of a speed servo does not include the force of its target.
    """
    (term,), drive = servo.terms, servo.drive
    assert drive is not None
    low, high = ranges.get(term[:2], (-math.inf, math.inf))
    if low == -math.inf and high == math.inf:
        return servo
    alone = sum(any(other[:2] == term[:2] for other in one.terms) for one in actuators) == 1
    if alone and low == -high and drive.stiffness > 0.0:
        return dataclasses.replace(servo, drive=dataclasses.replace(drive, max_force=min(drive.max_force, high)))
    return dataclasses.replace(servo, drive=None)


def _actuator(source: Source, a: int) -> MjcfActuator:
    """Return actuator ``a`` with its law and ranges, as a drive if it is a servo of a scalar joint.

    An unsupported or disabled actuator has no terms.
    """
    m = source.m
    gain, bias, dyn = int(m.actuator_gaintype[a]), int(m.actuator_biastype[a]), int(m.actuator_dyntype[a])
    gains, biases, dynamics = mujoco().mjtGain, mujoco().mjtBias, mujoco().mjtDyn
    none = int(biases.mjBIAS_NONE)
    affine = gain in (int(gains.mjGAIN_FIXED), int(gains.mjGAIN_AFFINE)) and bias in (none, int(biases.mjBIAS_AFFINE))
    kinds = (dynamics.mjDYN_NONE, dynamics.mjDYN_INTEGRATOR, dynamics.mjDYN_FILTER, dynamics.mjDYN_FILTEREXACT)
    word = dict(zip(map(int, kinds), DYNAMICS, strict=True)).get(dyn)
    by_length = bool(m.actuator_gainprm[a, 1] or m.actuator_biasprm[a, 1])
    taken = affine and word is not None and not is_disabled(m, a)
    terms, offset = _terms(source, a, by_length) if taken else ((), 0.0)
    clamped = m.actuator_ctrllimited[a] and not source.is_flag_disabled("clampctrl")
    name = source.prefix + name_in(m, "actuator", a)
    law = np.array(m.actuator_gainprm[a, :3])
    if gain == gains.mjGAIN_FIXED:
        law[1:] = 0.0
    actuator = MjcfActuator(
        name=name,
        terms=terms,
        offset=offset,
        gain=_three(law),
        bias=(0.0, 0.0, 0.0) if bias == none else _three(m.actuator_biasprm[a]),
        ctrl_range=_range(m.actuator_ctrlrange[a], clamped),
        force_range=_range(m.actuator_forcerange[a], m.actuator_forcelimited[a]),
        dynamics=word or "none",
        time_constant=float(m.actuator_dynprm[a, 0]),
        act_range=_range(m.actuator_actrange[a], m.actuator_actlimited[a]),
        drive=None,
    )
    if not on_scalar_joint(m, a):
        return actuator
    return dataclasses.replace(actuator, drive=_servo(actuator, source.handle(int(m.actuator_trnid[a, 0]))))


def _terms(source: Source, a: int, by_length: bool) -> tuple[tuple[ActuatorTerm, ...], float]:
    """Return the coordinates that the actuator acts on, with gears, and its length if all of them are 0."""
    m, kinds = source.m, mujoco().mjtTrn
    gear, kind, target = m.actuator_gear[a], int(m.actuator_trntype[a]), int(m.actuator_trnid[a, 0])
    shares: dict[int, float] | None = None
    if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
        if m.jnt_type[target] in SCALAR:
            shares = {target: float(gear[0])}
        elif not by_length and kind == kinds.mjTRN_JOINT:
            count = {FREE: 6, BALL: 3}[int(m.jnt_type[target])]
            along = np.array(gear[:count])
            if count == 6:
                along[:3] = source.pose.R @ along[:3]
            return tuple(ActuatorTerm(source.moved[target], i, float(x)) for i, x in enumerate(along) if x), 0.0
    elif kind == kinds.mjTRN_TENDON:
        fixed = tendon_terms(m, target)
        shares = None if fixed is None else {j: float(gear[0]) * x for j, x in fixed.items()}
        if shares is not None and any(m.jnt_type[j] not in SCALAR for j in shares):
            shares = None
    if shares is None:
        return (), 0.0
    offset = sum(x * float(m.qpos0[m.jnt_qposadr[j]]) for j, x in shares.items())
    return tuple(ActuatorTerm(source.moved[j], 0, x) for j, x in shares.items() if x), offset


def on_scalar_joint(m: Any, a: int) -> bool:
    """Return True if an actuator acts on a single hinge or slide."""
    on_joint = int(m.actuator_trntype[a]) in (
        int(mujoco().mjtTrn.mjTRN_JOINT),
        int(mujoco().mjtTrn.mjTRN_JOINTINPARENT),
    )
    return bool(on_joint and m.jnt_type[m.actuator_trnid[a, 0]] in SCALAR)


def _servo(actuator: MjcfActuator, joint: str) -> PositionDrive | None:
    """Return the drive of a position or velocity servo at control 0, with gains referred to the joint, or None."""
    if len(actuator.terms) != 1:
        return None
    (term,), (kp, *by_state), (constant, by_length, by_speed) = actuator.terms, actuator.gain, actuator.bias
    if any(by_state) or constant or kp <= 0.0:
        return None
    gear, (low, high) = term.gear, actuator.force_range
    if by_length == -kp and by_speed <= 0.0 and low == -high:
        target, stiffness = -actuator.offset / gear, kp * gear * gear
        limit = abs(gear) * high
        return PositionDrive(joint, target, stiffness, -by_speed * gear * gear, max_force=limit, name=actuator.name)
    if by_length == 0.0 and by_speed == -kp and high == np.inf:
        return PositionDrive(joint, 0.0, 0.0, kp * gear * gear, name=actuator.name)
    return None


def _three(values: Any) -> tuple[float, float, float]:
    a, b, c = (float(x) for x in values[:3])
    return a, b, c


def _range(values: Any, limited: Any) -> tuple[float, float]:
    return (float(values[0]), float(values[1])) if limited else (-np.inf, np.inf)

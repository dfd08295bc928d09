"""Actuators of a compiled MuJoCo model: servos of joints as drives, all others as forces of the user's controls."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from contactlab.formulation.model_problem import PositionDrive
from contactlab.world.mjcf.actions import tendon_terms
from contactlab.world.mjcf.errors import MjcfError
from contactlab.world.mjcf.robot import DYNAMICS, ActuatorTerm, MjcfActuator
from contactlab.world.mjcf.source import BALL, FREE, SCALAR, Source, name_in


def actuators_of(source: Source) -> tuple[MjcfActuator, ...]:
    """Return the actuators in the file's order; unsupported ones have no terms and do nothing."""
    m = source.m
    if source.is_flag_disabled("actuation"):
        return ()
    if getattr(m, "nactuator", m.nu) != m.nu:
        raise MjcfError("actuator", "some have several controls, which is not taken")
    made, ranges = [_actuator(source, a) for a in range(m.nu)], force_ranges(source)
    return tuple(_within_range(one, made, ranges) if one.drive is not None else one for one in made)


def force_ranges(source: Source) -> dict[tuple[str, int], tuple[float, float]]:
    """Return the ranges of the total actuator force on a hinge or slide, by body and coordinate."""
    m = source.m
    joints = [j for j in range(m.njnt) if m.jnt_actfrclimited[j] and m.jnt_type[j] in SCALAR]
    return {(source.moved[j], 0): _range(m.jnt_actfrcrange[j], True) for j in joints}


def tendon_ranges(source: Source) -> list[tuple[list[int], tuple[float, float]]]:
    """Return the ranges of the total force of all actuators of a tendon, with their numbers."""
    import mujoco

    m, by_tendon = source.m, dict[int, list[int]]()
    for a in range(0 if source.is_flag_disabled("actuation") else m.nu):
        if m.actuator_trntype[a] == mujoco.mjtTrn.mjTRN_TENDON and m.tendon_actfrclimited[m.actuator_trnid[a, 0]]:
            by_tendon.setdefault(int(m.actuator_trnid[a, 0]), []).append(a)
    return [(numbers, _range(m.tendon_actfrcrange[t], True)) for t, numbers in by_tendon.items()]


def is_disabled(m: Any, a: int) -> bool:
    """Return True if the file switches off an actuator's group (actuatorgroupdisable): it does nothing."""
    group = int(m.actuator_group[a])
    return bool(0 <= group < 31 and int(m.opt.disableactuator) >> group & 1)


def _within_range(
    servo: MjcfActuator, actuators: list[MjcfActuator], ranges: dict[tuple[str, int], tuple[float, float]]
) -> MjcfActuator:
    """Return a servo within the range of its joint: as the bound of its drive, or as a force if a drive cannot have it.

    The range is that of the sum of all actuators there; a drive has a bound of its own, the same both ways, and that of
    a speed servo does not have the force of its target.
    """
    (term,), drive = servo.terms, servo.drive
    assert drive is not None
    low, high = ranges.get(term[:2], (-math.inf, math.inf))
    if low == -math.inf and high == math.inf:
        return servo
    alone = sum(any(other[:2] == term[:2] for other in one.terms) for one in actuators) == 1
    if alone and low == -high and drive.stiffness > 0.0:
        return servo.with_drive(dataclasses.replace(drive, max_force=min(drive.max_force, high)))
    return servo.with_drive(None)


def _actuator(source: Source, a: int) -> MjcfActuator:
    import mujoco

    m = source.m
    gain, bias, dyn = int(m.actuator_gaintype[a]), int(m.actuator_biastype[a]), int(m.actuator_dyntype[a])
    gains, biases, dynamics = mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtDyn
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
    return actuator.with_drive(_servo(actuator, source.handle(int(m.actuator_trnid[a, 0]))))


def _terms(source: Source, a: int, by_length: bool) -> tuple[tuple[ActuatorTerm, ...], float]:
    """Return the coordinates that the actuator acts on, with gears, and its length if all of them are 0."""
    import mujoco

    m, kinds = source.m, mujoco.mjtTrn
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
    """Return True if an actuator acts on a hinge or slide by itself."""
    import mujoco

    on_joint = int(m.actuator_trntype[a]) in (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    return bool(on_joint and m.jnt_type[m.actuator_trnid[a, 0]] in SCALAR)


def _servo(actuator: MjcfActuator, joint: str) -> PositionDrive | None:
    """Return the drive of a position or velocity servo at the control 0, with gains seen from the joint, or None."""
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

"""Actions on joints of a compiled MuJoCo model: ranges, friction, springs, servos, equalities, loops, gravcomp."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.constraints import LoopConstraint
from contactlab.formulation.model_problem import JointLimit, PositionDrive
from contactlab.spatial import Transform
from contactlab.world.builder import WorldBuilder
from contactlab.world.joint_actions import JointActions, MimicJoint
from contactlab.world.mjcf.passive import Attached, GravityCompensated, PassiveForces, Tendon
from contactlab.world.mjcf.robot import MjcfActuator
from contactlab.world.mjcf.source import SCALAR, Source, make_pose, name_in
from contactlab.world.point_spring import JointPolynomial


def is_taken_equality(m: Any, e: int) -> bool:
    """Return True if an equality is an active connect or weld, of bodies or sites, or of hinges and slides."""
    import mujoco

    kind, of = int(m.eq_type[e]), int(m.eq_objtype[e])
    if kind in (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)):
        return bool(m.eq_active0[e] and of in (int(mujoco.mjtObj.mjOBJ_BODY), int(mujoco.mjtObj.mjOBJ_SITE)))
    return bool(m.eq_active0[e] and (_relation(m, e) or _polynomial(m, e)) is not None)


def _relation(m: Any, e: int) -> tuple[int, int, float, float] | None:
    """Return joint, joint it follows, factor and offset (from the references) of an equality of two scalar joints."""
    import mujoco

    kind, kinds, data = int(m.eq_type[e]), mujoco.mjtEq, m.eq_data[e]
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
    """Return joint, joint it follows (-1 for none) and coefficients (from the references) of an equality of joints."""
    import mujoco

    if m.eq_type[e] != mujoco.mjtEq.mjEQ_JOINT:
        return None
    one, two = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    return one, two, tuple(float(x) for x in m.eq_data[e, : 5 if two >= 0 else 1])


def tendon_terms(m: Any, tendon: int) -> dict[int, float] | None:
    """Return the joints of a fixed tendon, by number, with their coefficients other than 0; None for a spatial one."""
    import mujoco

    at, terms = int(m.tendon_adr[tendon]), dict[int, float]()
    for wrap in range(at, at + int(m.tendon_num[tendon])):
        if m.wrap_type[wrap] != mujoco.mjtWrap.mjWRAP_JOINT:
            return None
        if m.wrap_prm[wrap]:
            joint = int(m.wrap_objid[wrap])
            terms[joint] = terms.get(joint, 0.0) + float(m.wrap_prm[wrap])
    return terms


def add_actions(builder: WorldBuilder, source: Source, actuators: tuple[MjcfActuator, ...]) -> None:
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
        # q counts from the reference here.
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
    followers = []
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
            followers.append(MimicJoint(source.moved[one], source.moved[two], factor, offset))
    builder.add_actions(JointActions(mimics=tuple(followers)))


def _loop(source: Source, e: int) -> list[LoopConstraint]:
    """Return the rows of a connect (three) or a weld (six)."""
    import mujoco

    m, data = source.m, source.m.eq_data[e]
    numbers = [int(m.eq_obj1id[e]), int(m.eq_obj2id[e])]
    connects = m.eq_type[e] == mujoco.mjtEq.mjEQ_CONNECT
    if m.eq_objtype[e] == mujoco.mjtObj.mjOBJ_SITE:
        # Two sites come together: origins, or frames.
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
    """Return True if the spring and damper of a tendon are taken: along sites, or of hinges and slides; linear."""
    import mujoco

    for field in ("tendon_stiffnesspoly", "tendon_dampingpoly", "tendon_springyield"):
        if np.any(getattr(m, field, np.zeros(m.ntendon))[t]):
            return False
    terms, path = tendon_terms(m, t), range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t])
    if terms is None:
        return all(m.wrap_type[wrap] == mujoco.mjtWrap.mjWRAP_SITE for wrap in path)
    return all(m.jnt_type[j] in SCALAR for j in terms)


def _tendon(source: Source, t: int, stiffness: float, damping: float) -> Tendon:
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

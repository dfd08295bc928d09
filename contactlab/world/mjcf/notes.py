"""Notes on features of a MuJoCo file that the world does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from contactlab.world.mjcf.actions import is_taken_equality, is_taken_tendon, passive_forces
from contactlab.world.mjcf.actuators import force_ranges, is_disabled, on_scalar_joint
from contactlab.world.mjcf.filters import colliding
from contactlab.world.mjcf.robot import MjcfActuator
from contactlab.world.mjcf.source import BALL, SCALAR, Source, name_in
from contactlab.world.sensors import Sensor

MOST_NAMES = 8


def unsupported_notes(source: Source, actuators: tuple[MjcfActuator, ...], sensors: Mapping[str, Sensor]) -> list[str]:
    """Return one sentence for each kind of thing that is left out, with the names it concerns."""
    import mujoco

    m, labels = source.m, source.joints
    of_dof = [labels[int(j)] for j in m.dof_jntid]
    notes = []

    def note(words: str, names: list[str]) -> None:
        if names:
            notes.append(f"{words} not taken: {_listed(names)}")

    def dofs(values: Any) -> list[str]:
        return [name for name, value in zip(of_dof, values, strict=True) if value]

    def every(kind: str, numbers: Any) -> list[str]:
        return [name_in(m, kind, int(i)) for i in numbers]

    def given(field: str) -> Any:
        # If this version of mujoco has it.
        values = np.asarray(getattr(m, field, ()))
        return np.flatnonzero(values.reshape(len(values), -1).any(axis=1)) if values.size else ()

    if not source.is_flag_disabled("sensor"):
        read = np.array([source.prefix + name in sensors for name in every("sensor", range(m.nsensor))], dtype=np.bool_)
        note("sensors", every("sensor", np.flatnonzero(~read)))
    bound = not source.is_flag_disabled("constraint")
    note("range of ball joints", [labels[j] for j in range(m.njnt) if m.jnt_limited[j] and m.jnt_type[j] == BALL])
    turning = [j for j in range(m.njnt) if m.jnt_type[j] not in SCALAR]
    note("stiffness of free and ball joints", [labels[j] for j in turning if m.jnt_stiffness[j] > 0.0])
    curved = [name for name in ("jnt_stiffnesspoly", "dof_dampingpoly") if np.any(getattr(m, name, 0.0))]
    note("polynomial terms of springs and dampers", curved)
    scalar = [j for j in range(m.njnt) if m.jnt_type[j] in SCALAR]
    shifted = [labels[j] for j in scalar if m.qpos0[m.jnt_qposadr[j]] != 0.0]
    if shifted:
        notes.append(f"q = qpos - ref: q counts from the reference position (ref) of joints: {_listed(shifted)}")
    without = [one.name for a, one in enumerate(actuators) if not one.terms and not is_disabled(m, a)]
    note("actuators that are muscles, or act on sites, bodies or spatial tendons", without)
    forces = [one for a, one in enumerate(actuators) if on_scalar_joint(m, a) and one.drive is None and any(one.bias)]
    ranged = [one.name for one in forces if one.terms and one.terms[0][:2] in force_ranges(source)]
    note("servos within actuatorfrcrange as drives, where no drive has such a bound (they are forces of tau),", ranged)
    note("damping, rotor inertia and delays of actuators", every("actuator", _special_actuators(given)))
    note("tendons with a force or range of their own", every("tendon", _acting_tendons(m, bound)))
    passive = passive_forces(source)
    by_themselves = [*(one.at.body for one in passive.lifted), *(one.name for one in passive.tendons)]
    if by_themselves:
        notes.append(
            f"gravcomp, springs and dampers of tendons act through `MjcfRobot.tau` alone: {_listed(by_themselves)}"
        )
    if bound and not source.is_flag_disabled("equality"):
        left = [e for e in range(m.neq) if m.eq_active0[e] and not is_taken_equality(m, e)]
        note("equality constraints", every("equality", left))
    meeting = colliding(source)
    note(
        "torsional and rolling friction (condim) of geoms", every("geom", [g for g in meeting if m.geom_condim[g] > 3])
    )
    if int(m.opt.enableflags) & int(mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        notes.append("contact parameters of <option> (o_friction, ...; the flag override) not taken")
    ranged_weight = [labels[j] for j in np.flatnonzero(m.jnt_actgravcomp) if m.jnt_actfrclimited[j]]
    note("actuatorgravcomp within actuatorfrcrange", ranged_weight if passive.lifted else [])
    note(
        "mocap, of bodies, which stand fixed until `WorldBuilder.move_body` moves them,",
        [source.bodies[i] for i in range(m.nbody) if m.body_mocapid[i] >= 0],
    )
    note("deformable bodies", every("flex", range(m.nflex)))
    if m.opt.density or m.opt.viscosity:
        notes.append("forces of the medium (density, viscosity, wind) not taken")
    return notes


def _listed(names: list[str]) -> str:
    several = list(dict.fromkeys(names))
    more = f" and {len(several) - MOST_NAMES} more" if len(several) > MOST_NAMES else ""
    return f"{', '.join(map(repr, several[:MOST_NAMES]))}{more}"


def _special_actuators(given: Any) -> list[int]:
    fields = ("actuator_damping", "actuator_armature", "actuator_delay")
    return sorted({int(a) for field in fields for a in given(field)})


def _acting_tendons(m: Any, bound: bool) -> list[int]:
    """Return the tendons with unsupported passive forces; others are springs, or belong to actuators."""
    found = []
    for t in range(m.ntendon):
        fields = ("tendon_armature", *(("tendon_frictionloss", "tendon_limited") if bound else ()))
        others = any(np.any(np.asarray(getattr(m, field, np.zeros(m.ntendon)))[t]) for field in fields)
        own = m.tendon_stiffness[t] != 0.0 or m.tendon_damping[t] != 0.0
        if others or (own and not is_taken_tendon(m, t)):
            found.append(t)
    return found

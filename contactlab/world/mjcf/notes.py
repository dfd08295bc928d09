"""What a compiled MuJoCo model has that is not taken, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.world.mjcf.actions import is_servo, is_taken_equality
from contactlab.world.mjcf.bodies import BALL, SCALAR, body_names, joint_names

__all__ = ["notes_of"]

MOST_NAMES = 8


def notes_of(m: Any) -> list[str]:
    """Return one sentence for each kind of thing that is left out, with the names it concerns."""
    import mujoco

    labels, bodies = joint_names(m), body_names(m)
    of_dof = [labels[int(j)] for j in m.dof_jntid]
    notes = []

    def note(words: str, names: list[str]) -> None:
        several = list(dict.fromkeys(names))
        if several:
            more = f" and {len(several) - MOST_NAMES} more" if len(several) > MOST_NAMES else ""
            notes.append(f"{words} not taken: {', '.join(map(repr, several[:MOST_NAMES]))}{more}")

    def dofs(values: Any) -> list[str]:
        return [name for name, value in zip(of_dof, values, strict=True) if value]

    def every(kind: Any, count: int, word: str) -> list[str]:
        return [mujoco.mj_id2name(m, kind, i) or f"{word} {i}" for i in range(count)]

    note("rotor inertia (armature) of joints", dofs(m.dof_armature))
    note("range of ball joints", [labels[j] for j in range(m.njnt) if m.jnt_limited[j] and m.jnt_type[j] == BALL])
    turning = [j for j in range(m.njnt) if m.jnt_type[j] not in SCALAR]
    note("stiffness of free and ball joints", [labels[j] for j in turning if m.jnt_stiffness[j] > 0.0])
    curved = [name for name in ("jnt_stiffnesspoly", "dof_dampingpoly") if np.any(getattr(m, name, 0.0))]
    note("polynomial terms of springs and dampers", curved)
    scalar = [j for j in range(m.njnt) if m.jnt_type[j] in SCALAR]
    shifted = [labels[j] for j in scalar if m.qpos0[m.jnt_qposadr[j]] != 0.0]
    note("reference position (ref) of joints, from which q counts here,", shifted)
    actuators = every(mujoco.mjtObj.mjOBJ_ACTUATOR, m.nu, "actuator")
    others = [actuators[a] for a in range(m.nu) if not is_servo(m, a)]
    note("actuators other than servos of joints (their force is the caller's tau)", others)
    note("tendons", every(mujoco.mjtObj.mjOBJ_TENDON, m.ntendon, "tendon"))
    equalities = every(mujoco.mjtObj.mjOBJ_EQUALITY, m.neq, "equality")
    note("equality constraints", [equalities[e] for e in range(m.neq) if not is_taken_equality(m, e)])
    note("explicit contact pairs", every(mujoco.mjtObj.mjOBJ_PAIR, m.npair, "pair"))
    note("gravity compensation of bodies", [bodies[i] for i in range(m.nbody) if m.body_gravcomp[i]])
    note("mocap, of bodies, which stand fixed,", [bodies[i] for i in range(m.nbody) if m.body_mocapid[i] >= 0])
    note("deformable bodies", every(mujoco.mjtObj.mjOBJ_FLEX, m.nflex, "flex"))
    if m.opt.density or m.opt.viscosity:
        notes.append("forces of the medium (density, viscosity, wind) not taken")
    return notes

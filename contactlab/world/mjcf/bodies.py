"""Bodies, joints and inertias of a compiled MuJoCo model, as a model of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.multibody import Model, ModelBuilder, joints
from contactlab.multibody.model import WORLD
from contactlab.spatial import RigidInertia, Transform, quaternion

FREE, BALL, SLIDE, HINGE = range(4)  # mujoco's mjtJoint
SCALAR = (SLIDE, HINGE)


def placed(position: Any, turn: Any) -> Transform:
    """Return the pose of a position and a quaternion (w, x, y, z)."""
    return Transform(quaternion.to_matrix(np.asarray(turn) / np.linalg.norm(turn)), np.array(position))


def named(m: Any, kind: Any, i: int, word: str) -> str:
    """Name of an element by its kind and number; one without is called by its number."""
    import mujoco

    return mujoco.mj_id2name(m, kind, i) or f"{word} {i}"


def body_names(m: Any) -> list[str]:
    """Names of the bodies by number; those without one are called by their number, number 0 is the world."""
    import mujoco

    names = [named(m, mujoco.mjtObj.mjOBJ_BODY, i, "body") for i in range(m.nbody)]
    return [WORLD, *names[1:]]


def joint_names(m: Any) -> list[str]:
    """Names of the joints by number."""
    import mujoco

    return [named(m, mujoco.mjtObj.mjOBJ_JOINT, i, "joint") for i in range(m.njnt)]


def model_of(m: Any) -> tuple[Model, dict[int, str]]:
    """Return the model, and the name of the body that each joint (by number) moves.

    A body of several joints hangs by one body without mass for each but the last; one whose last joint does not go
    through its origin is fixed to a body without mass that does. So the order of q and v is MuJoCo's.
    """
    builder = ModelBuilder(m.opt.gravity)
    names, labels, moved = body_names(m), joint_names(m), {}
    for i in range(1, m.nbody):
        parent, place = names[m.body_parentid[i]], placed(m.body_pos[i], m.body_quat[i])
        first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        for j in range(first, first + count):
            kind, anchor = int(m.jnt_type[j]), np.array(m.jnt_pos[j])
            if kind == FREE:
                # Its configuration is the pose in the world: where the body was put is in the start alone.
                place, anchor = Transform(), np.zeros(3)
            last = j == first + count - 1 and not anchor.any()
            name = names[i] if last else f"{names[i]}/{labels[j]}"
            inertia = _inertia(m, i) if last else None
            at = place @ Transform(p=anchor)
            builder.add_body(name, parent=parent, joint=_joint(m, j), placement=at, inertia=inertia)
            moved[j] = name
            parent, place = name, Transform(p=-anchor)
        if not count or parent != names[i]:
            builder.add_body(names[i], parent=parent, joint=joints.Fixed(), placement=place, inertia=_inertia(m, i))
    return builder.build(), moved


def _joint(m: Any, j: int) -> joints.Joint:
    kind = int(m.jnt_type[j])
    if kind == FREE:
        return joints.FloatingBase()
    if kind == BALL:
        return joints.Spherical()
    return joints.Revolute(m.jnt_axis[j]) if kind == HINGE else joints.Prismatic(m.jnt_axis[j])


def _inertia(m: Any, i: int) -> RigidInertia | None:
    mass, moments = float(m.body_mass[i]), np.array(m.body_inertia[i])
    if mass == 0.0 and not moments.any():
        return None
    frame = placed(m.body_ipos[i], m.body_iquat[i])
    about = frame.R @ np.diag(moments) @ frame.R.T
    about = 0.5 * (about + about.T)
    return RigidInertia(mass, frame.p, inertia=about, physical=False)

"""Bodies, joints and inertias of a compiled MuJoCo model, as a model of ours; its configurations as ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import Model, ModelBuilder, joints
from contactlab.multibody.model import WORLD
from contactlab.spatial import RigidInertia, Transform, quaternion
from contactlab.spatial.arrays import FloatArray
from contactlab.world.mjcf.source import BALL, FREE, HINGE, SCALAR, Source, placed


def model_of(source: Source, gravity: ArrayLike) -> Model:
    """Return the model, its bodies under their names in the world.

    A body of several joints hangs by one body without mass for each but the last; one whose last joint does not go
    through its origin is fixed to a body without mass that does. So the order of q and v is MuJoCo's. What moves on a
    body that is welded to the world hangs on the world itself, which it may touch, as in MuJoCo.
    """
    m, names = source.m, source.bodies
    builder = ModelBuilder(gravity)
    for i in range(1, m.nbody):
        above, place = int(m.body_parentid[i]), placed(m.body_pos[i], m.body_quat[i])
        first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        parent = names[above]
        if above == 0 or (count and source.stands(above)):
            parent, place = WORLD, source.standing(above) @ place
        for j in range(first, first + count):
            kind, anchor = int(m.jnt_type[j]), np.array(m.jnt_pos[j])
            if kind == FREE:
                # Its configuration is the pose in the world: where the body was put is in the start alone.
                place, anchor = Transform(), np.zeros(3)
            name = source.moved[j]
            inertia = _inertia(m, i) if name == names[i] else None
            at = place @ Transform(p=anchor)
            dof = int(m.jnt_dofadr[j])
            rotor = np.array(m.dof_armature[dof : dof + {FREE: 6, BALL: 3}.get(kind, 1)])
            builder.add_body(
                name,
                parent=parent,
                joint=_joint(m, j),
                placement=at,
                inertia=inertia,
                armature=rotor,
                joint_name=source.handle(j),
            )
            parent, place = name, Transform(p=-anchor)
        if not count or parent != names[i]:
            builder.add_body(names[i], parent=parent, joint=joints.Fixed(), placement=place, inertia=_inertia(m, i))
    return builder.build()


def configuration(source: Source, qpos: Any) -> FloatArray:
    """Return q of a qpos: angles and shifts count from the joint's reference, free bodies stand where the file is put.

    The order is the file's.
    """
    m, q = source.m, np.array(qpos, dtype=np.float64)
    for j in range(m.njnt):
        at, kind = int(m.jnt_qposadr[j]), int(m.jnt_type[j])
        if kind in SCALAR:
            q[at] -= m.qpos0[at]
            continue
        turn = slice(at + 3, at + 7) if kind == FREE else slice(at, at + 4)
        q[turn] /= np.linalg.norm(q[turn])
        if kind == FREE:
            q[at : at + 3] = source.pose.apply(q[at : at + 3])
            q[turn] = quaternion.multiply(quaternion.from_matrix(source.pose.R), q[turn])
    return q


def velocity(source: Source, qvel: Any) -> FloatArray:
    """Return v of a qvel, in the file's order: velocities of free bodies turn with the file's pose."""
    m, v = source.m, np.array(qvel, dtype=np.float64)
    for j in np.flatnonzero(np.asarray(m.jnt_type) == FREE):
        at = int(m.jnt_dofadr[j])
        v[at : at + 3] = source.pose.R @ v[at : at + 3]
    return v


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

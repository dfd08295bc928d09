"""MuJoCo with its defaults; with the elliptic cone and impratio 10; or with its manual's noslip iterations.

MuJoCo has no coefficient of restitution: contact is a spring and a damper. Scenes with restitution are not offered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.conformance.case import EngineContacts, NotSupportedError, Scene
from contactlab.spatial.arrays import FloatArray

#: Releases that must not be used for comparisons: 4.0.0 has a wrong Hessian for sparse Jacobians.
WRONG_RELEASES = ("4.0.0",)


def import_mujoco() -> Any:
    """Return the package ``mujoco``, for measurements.

    Raises
    ------
    ModuleNotFoundError
        The package is not installed.
    ImportError
        The installed release is one of `WRONG_RELEASES`.
    """
    import mujoco

    if mujoco.__version__ in WRONG_RELEASES:
        raise ImportError(
            f"MuJoCo {mujoco.__version__} has a wrong Hessian for sparse Jacobians, so its figures mean nothing: "
            f"install another release, for example pip install 'mujoco!={mujoco.__version__}'"
        )
    return mujoco


class MuJoCo:
    """The package ``mujoco``."""

    def __init__(self, setting: str = "") -> None:
        mujoco = import_mujoco()
        self.name = f"mujoco:{setting}" if setting else "mujoco"
        self.version = str(mujoco.__version__)
        self._setting = setting

    def load(self, scene: Scene, h: float) -> MuJoCoRun:
        """Return a run of the scene; a restitution raises `NotSupportedError`."""
        import mujoco

        if scene.restitution > 0.0:
            raise NotSupportedError("MuJoCo has no coefficient of restitution")
        spec = mujoco.MjSpec()
        spec.option.timestep, spec.option.gravity = h, scene.gravity
        if self._setting:
            spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
        if self._setting == "noslip":
            spec.option.noslip_iterations = 10
        friction = [scene.mu, 0.005, 0.0001]
        # With condim 3 a contact has only sliding friction, as in the scene.
        for wall in scene.walls:
            turn = np.zeros(4)
            mujoco.mju_quatZ2Vec(turn, np.array(wall.normal, dtype=float))
            spot = (wall.offset * np.array(wall.normal, dtype=float)).tolist()
            plane, endless = mujoco.mjtGeom.mjGEOM_PLANE, [0.0, 0.0, 1.0]
            spec.worldbody.add_geom(type=plane, size=endless, pos=spot, quat=turn, friction=friction, condim=3)
        made: list[Any] = []
        for i, body in enumerate(scene.bodies):
            joint, inverse, turn = scene.joint_of(i), np.zeros(4), np.array(body.turn, dtype=float)
            if joint is None:
                one = spec.worldbody.add_body(name=f"body {i}", pos=body.position, quat=body.turn)
                one.add_freejoint()
            else:
                parent = spec.worldbody if joint.other < 0 else made[joint.other]
                if joint.other >= 0:
                    mujoco.mju_negQuat(inverse, np.array(scene.bodies[joint.other].turn, dtype=float))
                    mujoco.mju_mulQuat(turn, inverse, np.array(body.turn, dtype=float))
                one = parent.add_body(name=f"body {i}", pos=scene.local(joint.other, body.position), quat=turn)
                sort = mujoco.mjtJoint.mjJNT_HINGE if joint.kind == "revolute" else mujoco.mjtJoint.mjJNT_SLIDE
                axis = scene.local(i, joint.axis, point=False)
                one.add_joint(type=sort, pos=scene.local(i, joint.point), axis=axis)
            made.append(one)
            one.explicitinertial, one.mass, one.inertia = True, body.mass, body.inertia
            one.ipos = (0.0, 0.0, 0.0)
            if body.shape is None:
                continue
            kind = getattr(mujoco.mjtGeom, f"mjGEOM_{body.shape.kind.upper()}")
            size = [*body.shape.size, 0.0, 0.0][:3]
            one.add_geom(type=kind, size=size, friction=friction, condim=3)
        for pin in scene.pins:
            names = ["world" if k < 0 else f"body {k}" for k in (pin.body, pin.other)]
            row = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_BODY)
            row.name1, row.name2, row.data[:3] = *names, scene.local(pin.body, pin.point)
        model = spec.compile()
        data = mujoco.MjData(model)
        for i, body in enumerate(scene.bodies):
            turn = np.zeros(9)
            mujoco.mju_quat2Mat(turn, np.array(body.turn, dtype=float))
            spin = turn.reshape(3, 3).T @ np.array(body.spin, dtype=float)
            if scene.joint_of(i) is None:
                first = model.body(f"body {i}").dofadr[0]
                data.qvel[first : first + 6] = (*body.velocity, *spin)
            data.xfrc_applied[model.body(f"body {i}").id, :3] = body.force
        mujoco.mj_forward(model, data)
        return MuJoCoRun(model, data, [model.body(f"body {i}").id for i in range(len(scene.bodies))])


class MuJoCoRun:
    """A model and its data."""

    def __init__(self, model: Any, data: Any, ids: list[int]) -> None:
        self._model, self._data, self._ids = model, data, ids
        self._number = {one: i for i, one in enumerate(ids)}

    def step(self) -> None:
        """Make one step of h; after `mj_step`, poses and velocities of bodies are from its beginning."""
        import mujoco

        mujoco.mj_step(self._model, self._data)
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_comVel(self._model, self._data)

    def poses(self) -> FloatArray:
        """Return the poses (n, 7) of all bodies: centre of mass [m] and unit quaternion (w, x, y, z)."""
        return np.hstack((self._data.xpos[self._ids], self._data.xquat[self._ids]))

    def velocities(self) -> FloatArray:
        """Return the velocities (n, 6) of all bodies: of the centre of mass, then angular; world axes."""
        import mujoco

        twists = np.zeros((len(self._ids), 6))
        for one, twist in zip(self._ids, twists, strict=True):
            mujoco.mj_objectVelocity(self._model, self._data, mujoco.mjtObj.mjOBJ_BODY, one, twist, 0)
        return np.roll(twists, 3, axis=1)

    def contacts(self) -> EngineContacts:
        """Return the contacts of the last step; MuJoCo's normal points from the first geom into the second.

        So the body of the second geom is ``body`` of `EngineContacts`, and the force acts on it.
        """
        import mujoco

        model, data, wrench = self._model, self._data, np.zeros(6)
        body, other, force = [], [], []
        for i, contact in enumerate(data.contact[: data.ncon]):
            mujoco.mj_contactForce(model, data, i, wrench)
            body.append(self._number.get(int(model.geom_bodyid[contact.geom2]), -1))
            other.append(self._number.get(int(model.geom_bodyid[contact.geom1]), -1))
            force.append(contact.frame.reshape(3, 3).T @ wrench[:3])
        point = np.array([contact.pos for contact in data.contact[: data.ncon]]).reshape(-1, 3)
        normal = np.array([contact.frame[:3] for contact in data.contact[: data.ncon]]).reshape(-1, 3)
        return EngineContacts(tuple(body), tuple(other), point, normal, np.array(force).reshape(-1, 3))

"""Sensors of a compiled MuJoCo model."""

from __future__ import annotations

from collections.abc import Callable

from contactlab.contact import PlacedShape
from contactlab.multibody.model import WORLD
from contactlab.spatial import Transform
from contactlab.world.mjcf.filters import colliding, is_ground
from contactlab.world.mjcf.geoms import primitive
from contactlab.world.mjcf.source import Source, make_pose, name_in
from contactlab.world.sensors import (
    Accelerometer,
    AngularVelocity,
    Clipped,
    FrameOrientation,
    FramePosition,
    Gyroscope,
    JointForce,
    JointPosition,
    JointTorque,
    JointVelocity,
    LinearVelocity,
    Sensor,
    SubtreeAngularMomentum,
    SubtreeCenterOfMass,
    SubtreeVelocity,
    Touch,
    Velocimeter,
)

#: Frames by their names in mujoco.
ON_FRAMES: dict[str, Callable[[str, Transform], Sensor]] = {
    "accelerometer": Accelerometer,
    "velocimeter": Velocimeter,
    "gyro": Gyroscope,
    "force": JointForce,
    "torque": JointTorque,
    "framepos": FramePosition,
    "framequat": FrameOrientation,
    "framelinvel": LinearVelocity,
    "frameangvel": AngularVelocity,
}

#: Of a body and all that hangs on it.
ON_SUBTREES: dict[str, Callable[[str], Sensor]] = {
    "subtreecom": SubtreeCenterOfMass,
    "subtreelinvel": SubtreeVelocity,
    "subtreeangmom": SubtreeAngularMomentum,
}


def sensors_of(source: Source) -> dict[str, Sensor]:
    """Return those that are taken by their names in the world, in the file's order."""
    m = source.m
    made = (
        {}
        if source.is_flag_disabled("sensor")
        else {name_in(m, "sensor", s): _clipped(source, s) for s in range(m.nsensor)}
    )
    return {source.prefix + name: sensor for name, sensor in made.items() if sensor is not None}


def _clipped(source: Source, s: int) -> Sensor | None:
    """Return a sensor within its cutoff; directions and orientations have none."""
    import mujoco

    sensor, cutoff, kinds = _sensor(source, s), float(source.m.sensor_cutoff[s]), mujoco.mjtDataType
    if (
        sensor is None
        or cutoff <= 0.0
        or source.m.sensor_datatype[s] in (kinds.mjDATATYPE_AXIS, kinds.mjDATATYPE_QUATERNION)
    ):
        return sensor
    return Clipped(sensor, -cutoff, cutoff)


def _sensor(source: Source, s: int) -> Sensor | None:
    import mujoco

    m, number = source.m, int(source.m.sensor_objid[s])
    kind = mujoco.mjtSensor(int(m.sensor_type[s])).name.removeprefix("mjSENS_").lower()
    if kind in ("jointpos", "ballquat"):
        offset = float(m.qpos0[m.jnt_qposadr[number]]) if kind == "jointpos" else 0.0
        return JointPosition(source.handle(number), offset)
    if kind in ("jointvel", "ballangvel"):
        return JointVelocity(source.handle(number))
    if kind in ON_SUBTREES:
        # Children of a static body belong to the world here; a body without mass has no centre.
        whole = not source.is_static(number) and m.body_subtreemass[number] > 0.0
        return ON_SUBTREES[kind](source.bodies[number]) if whole else None
    frame = _frame(source, int(m.sensor_objtype[s]), number)
    if frame is None or m.sensor_refid[s] >= 0:
        return None
    body, pose = frame
    if body == WORLD and kind in ("touch", "force", "torque"):
        return None
    if kind == "touch":
        zone = primitive(int(m.site_type[number]), m.site_size[number])
        touched = any(m.geom_bodyid[g] == m.site_bodyid[number] and not is_ground(source, g) for g in colliding(source))
        return Touch(body, PlacedShape(zone, pose)) if touched and zone is not None else None
    return ON_FRAMES[kind](body, pose) if kind in ON_FRAMES else None


def _frame(source: Source, kind: int, i: int) -> tuple[str, Transform] | None:
    """Return the body that a frame of mujoco's is on, and its pose in it."""
    import mujoco

    m, kinds = source.m, mujoco.mjtObj
    if kind == kinds.mjOBJ_XBODY:
        body, pose = i, Transform()
    elif kind == kinds.mjOBJ_BODY:
        body, pose = i, make_pose(m.body_ipos[i], m.body_iquat[i])
    elif kind == kinds.mjOBJ_GEOM:
        body, pose = int(m.geom_bodyid[i]), make_pose(m.geom_pos[i], m.geom_quat[i])
    elif kind == kinds.mjOBJ_SITE:
        body, pose = int(m.site_bodyid[i]), make_pose(m.site_pos[i], m.site_quat[i])
    else:
        return None
    return source.bodies[body], source.pose @ pose if body == 0 else pose

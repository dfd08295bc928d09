"""MuJoCo files (MJCF) in a world builder: their sensors, and notes on unsupported features.

mujoco's own reader reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from contactlab.collision import PlacedShape
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial import Transform
from contactlab.multibody.spatial.arrays import read_only, warn_caller
from contactlab.simulation.world.body_builder import BodyBuilder
from contactlab.simulation.world.errors import blaming_file
from contactlab.simulation.world.mjcf.actuators import (
    actuators_of,
    add_actions,
    force_ranges,
    is_disabled,
    is_taken_equality,
    is_taken_tendon,
    on_scalar_joint,
    passive_forces,
    tendon_ranges,
)
from contactlab.simulation.world.mjcf.geoms import (
    Classes,
    add_geoms,
    colliding,
    configuration,
    is_ground,
    model_of,
    primitive,
    velocity,
)
from contactlab.simulation.world.mjcf.robot import Keyframe, MjcfActuator, MjcfRobot
from contactlab.simulation.world.mjcf.source import (
    BALL,
    SCALAR,
    MjcfContentError,
    MjcfError,
    MjcfWarning,
    Source,
    check_references,
    make_pose,
    mujoco,
    name_in,
    unknown_attributes,
)
from contactlab.simulation.world.sensors import (
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

#: Sensors of frames by their names in mujoco.
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

#: Sensors of subtrees.
ON_SUBTREES: dict[str, Callable[[str], Sensor]] = {
    "subtreecom": SubtreeCenterOfMass,
    "subtreelinvel": SubtreeVelocity,
    "subtreeangmom": SubtreeAngularMomentum,
}


def sensors_of(source: Source) -> dict[str, Sensor]:
    """Return the supported sensors by their names in the world, in the file's order."""
    m = source.m
    made = (
        {}
        if source.is_flag_disabled("sensor")
        else {name_in(m, "sensor", s): _clipped(source, s) for s in range(m.nsensor)}
    )
    return {source.prefix + name: sensor for name, sensor in made.items() if sensor is not None}


def _clipped(source: Source, s: int) -> Sensor | None:
    """Return a sensor clipped to its cutoff; directions and orientations have none."""
    sensor, cutoff, kinds = _sensor(source, s), float(source.m.sensor_cutoff[s]), mujoco().mjtDataType
    if (
        sensor is None
        or cutoff <= 0.0
        or source.m.sensor_datatype[s] in (kinds.mjDATATYPE_AXIS, kinds.mjDATATYPE_QUATERNION)
    ):
        return sensor
    return Clipped(sensor, -cutoff, cutoff)


def _sensor(source: Source, s: int) -> Sensor | None:
    """Return one sensor, not clipped, or None for an unsupported kind, reference frame or frame."""
    m, number = source.m, int(source.m.sensor_objid[s])
    kind = mujoco().mjtSensor(int(m.sensor_type[s])).name.removeprefix("mjSENS_").lower()
    if kind in ("jointpos", "ballquat"):
        offset = float(m.qpos0[m.jnt_qposadr[number]]) if kind == "jointpos" else 0.0
        return JointPosition(source.handle(number), offset)
    if kind in ("jointvel", "ballangvel"):
        return JointVelocity(source.handle(number))
    if kind in ON_SUBTREES:
        # The children of a static body belong to the world here; a massless body has no centre.
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
    """Return body and pose in it of the frame ``i`` of a mujoco type ``kind``; None for other types."""
    m, kinds = source.m, mujoco().mjtObj
    none = np.zeros((m.nbody, 3)), np.tile((1.0, 0.0, 0.0, 0.0), (m.nbody, 1))
    tables = {
        int(kinds.mjOBJ_XBODY): (range(m.nbody), *none),
        int(kinds.mjOBJ_BODY): (range(m.nbody), m.body_ipos, m.body_iquat),
        int(kinds.mjOBJ_GEOM): (m.geom_bodyid, m.geom_pos, m.geom_quat),
        int(kinds.mjOBJ_SITE): (m.site_bodyid, m.site_pos, m.site_quat),
    }
    if kind not in tables:
        return None
    body, pose = int(tables[kind][0][i]), make_pose(tables[kind][1][i], tables[kind][2][i])
    return source.bodies[body], source.pose @ pose if body == 0 else pose


MAX_NAMES = 8


def unsupported_notes(source: Source, actuators: tuple[MjcfActuator, ...], sensors: Mapping[str, Sensor]) -> list[str]:
    """Return one sentence for each kind of unsupported feature, with the names of its elements."""
    m, labels, enabled = source.m, source.joints, not source.is_flag_disabled("constraint")
    scalar, turning = ([j for j in range(m.njnt) if (m.jnt_type[j] in SCALAR) is wanted] for wanted in (True, False))
    forces = [one for a, one in enumerate(actuators) if on_scalar_joint(m, a) and one.drive is None and any(one.bias)]
    passive, bounds = passive_forces(source), force_ranges(source)

    def every(kind: str, numbers: Any) -> list[str]:
        return [name_in(m, kind, int(i)) for i in numbers]

    rows: tuple[tuple[str, list[str]], ...] = (
        (
            "sensors not taken",
            []
            if source.is_flag_disabled("sensor")
            else [name for name in every("sensor", range(m.nsensor)) if source.prefix + name not in sensors],
        ),
        ("range of ball joints not taken", [labels[j] for j in turning if m.jnt_limited[j] and m.jnt_type[j] == BALL]),
        ("stiffness of free and ball joints not taken", [labels[j] for j in turning if m.jnt_stiffness[j] > 0.0]),
        (
            "polynomial terms of springs and dampers not taken",
            [name for name in ("jnt_stiffnesspoly", "dof_dampingpoly") if np.any(getattr(m, name, 0.0))],
        ),
        (
            "q = qpos - ref: q counts from the reference position (ref) of joints",
            [labels[j] for j in scalar if m.qpos0[m.jnt_qposadr[j]] != 0.0],
        ),
        (
            "actuators that are muscles, or act on sites, bodies or spatial tendons not taken",
            [one.name for a, one in enumerate(actuators) if not one.terms and not is_disabled(m, a)],
        ),
        (
            "servos within actuatorfrcrange as drives, where no drive has such a bound (they are forces of tau), "
            "not taken",
            [one.name for one in forces if one.terms and one.terms[0][:2] in bounds],
        ),
        ("damping, rotor inertia and delays of actuators not taken", every("actuator", _special_actuators(m))),
        ("tendons with a force or range of their own not taken", every("tendon", _acting_tendons(m, enabled))),
        (
            "gravcomp, springs and dampers of tendons act through `MjcfRobot.tau` alone",
            [*(one.at.body for one in passive.lifted), *(one.name for one in passive.tendons)],
        ),
        (
            "equality constraints not taken",
            every("equality", [e for e in range(m.neq) if m.eq_active0[e] and not is_taken_equality(m, e)])
            if enabled and not source.is_flag_disabled("equality")
            else [],
        ),
        (
            "torsional and rolling friction (condim) of geoms not taken",
            every("geom", [g for g in colliding(source) if m.geom_condim[g] > 3]),
        ),
        (
            "actuatorgravcomp within actuatorfrcrange not taken",
            [labels[j] for j in np.flatnonzero(m.jnt_actgravcomp) if m.jnt_actfrclimited[j] and passive.lifted],
        ),
        (
            "mocap, of bodies, which stand fixed until `WorldBuilder.move_body` moves them, not taken",
            [source.bodies[i] for i in range(m.nbody) if m.body_mocapid[i] >= 0],
        ),
        ("deformable bodies not taken", every("flex", range(m.nflex))),
    )
    notes = [f"{words}: {_listed(names)}" for words, names in rows if names]
    if int(m.opt.enableflags) & int(mujoco().mjtEnableBit.mjENBL_OVERRIDE):
        notes.append("contact parameters of <option> (o_friction, ...; the flag override) not taken")
    if m.opt.density or m.opt.viscosity:
        notes.append("forces of the medium (density, viscosity, wind) not taken")
    return notes


def _listed(names: list[str]) -> str:
    """Return the different names as a text, shortened after the first `MAX_NAMES`."""
    several = list(dict.fromkeys(names))
    more = f" and {len(several) - MAX_NAMES} more" if len(several) > MAX_NAMES else ""
    return f"{', '.join(map(repr, several[:MAX_NAMES]))}{more}"


def _special_actuators(m: Any) -> list[int]:
    """Return the numbers of the actuators with damping, rotor inertia or a delay; older releases lack the fields."""
    fields = ("actuator_damping", "actuator_armature", "actuator_delay")
    values = [np.asarray(getattr(m, field, np.zeros(m.nu))) for field in fields]
    return [a for a in range(m.nu) if any(np.any(one[a]) for one in values)]


def _acting_tendons(m: Any, bound: bool) -> list[int]:
    """Return the numbers of the tendons with unsupported forces: armature, or a spring or damper that is not taken.

    With ``bound`` also tendons with dry friction or a range; without it the file disables constraints.
    """
    found = []
    for t in range(m.ntendon):
        fields = ("tendon_armature", *(("tendon_frictionloss", "tendon_limited") if bound else ()))
        others = any(np.any(np.asarray(getattr(m, field, np.zeros(m.ntendon)))[t]) for field in fields)
        own = m.tendon_stiffness[t] != 0.0 or m.tendon_damping[t] != 0.0
        if others or (own and not is_taken_tendon(m, t)):
            found.append(t)
    return found


def compile_mjcf(path: str | PathLike[str], root: str | PathLike[str] | None) -> tuple[Any, list[str]]:
    """Return mujoco's compiled model of a file, and its attributes without effect. References stay in one folder."""
    try:
        reader = mujoco()
    except ImportError as cause:
        raise MjcfError("path", "MuJoCo files need mujoco, which is not installed: pip install '.[mjcf]'") from cause
    file, folder = _file(path, root)
    said = check_references(file, folder)
    try:
        return reader.MjSpec.from_file(str(file)).compile(), unknown_attributes(said)
    except (ValueError, reader.FatalError) as error:
        raise MjcfError("path", f"{file.name}: {error}") from error


def add_compiled(
    builder: BodyBuilder,
    m: Any,
    ignored: list[str],
    *,
    classes: Classes,
    name: str | None = None,
    pose: Transform | None = None,
    keyframe: str | None = None,
    surroundings: bool = True,
) -> MjcfRobot:
    """Add a compiled model to a builder, and return its robot: joints, actuators, keyframes, sensors and notes.

    ``classes`` has the bit of each class of geoms that the builder has; new classes are added. ``ignored`` are the
    names of attributes without effect, for the notes. ``surroundings`` adds also the geoms that are fixed to the world.
    """
    source = Source(m, "" if name is None else f"{name}/", Transform() if pose is None else pose)
    frames = _keyframes(source)
    if keyframe is not None and keyframe not in frames:
        known = ", ".join(map(repr, frames)) or "none"
        raise MjcfError("keyframe", f"there is none called {keyframe!r}; there are {known}")
    with blaming_file(MjcfContentError):
        model = model_of(source, builder.gravity)
        if keyframe is None:
            q, v = configuration(source, m.qpos0), np.zeros(m.nv)
        else:
            q, v = frames[keyframe].q, frames[keyframe].v
        builder.add_model(model, q, v)
        actuators = actuators_of(source)
        add_actions(builder, source, actuators)
        notes = add_geoms(builder, source, classes, surroundings=surroundings)
    if ignored:
        notes.append(f"attributes not taken: {', '.join(ignored)}")
    if not np.array_equal(builder.gravity, source.gravity):
        notes.append(f"gravity {source.gravity.tolist()} not taken: the world has its own")
    sensors = sensors_of(source)
    return MjcfRobot(
        name=name,
        joints=MappingProxyType(dict(zip(source.joints, source.moved.values(), strict=True))),
        actuators=actuators,
        keyframes=MappingProxyType(frames),
        sensors=MappingProxyType(sensors),
        notes=(*notes, *unsupported_notes(source, actuators, sensors)),
        timestep=float(m.opt.timestep),
        _force_ranges=MappingProxyType(force_ranges(source)),
        _tendon_ranges=tuple(tendon_ranges(source)),
        _passive=passive_forces(source),
    )


def warn_of(notes: tuple[str, ...]) -> None:
    """Issue one `MjcfWarning` with the unsupported features, attributed to the caller of the library."""
    if notes:
        warn_caller("; ".join(notes), MjcfWarning)


def _keyframes(source: Source) -> dict[str, Keyframe]:
    """Return the keyframes by name: q, v, controls, activations and time."""
    m = source.m
    return {
        name_in(m, "key", k): Keyframe(
            q=read_only(configuration(source, m.key_qpos[k])),
            v=read_only(velocity(source, m.key_qvel[k])),
            ctrl=read_only(np.array(m.key_ctrl[k])),
            act=read_only(np.array(m.key_act[k])),
            time=float(m.key_time[k]),
        )
        for k in range(m.nkey)
    }


def _file(path: str | PathLike[str], root: str | PathLike[str] | None) -> tuple[Path, Path]:
    """Return the resolved file and the folder its references must stay in; raise if the file lies outside."""
    try:
        file = Path(path).resolve(strict=True)
        folder = file.parent if root is None else Path(root).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise MjcfError("path", f"cannot be opened ({error})") from error
    if not file.is_file():
        raise MjcfError("path", f"{path} is not a file")
    if not file.is_relative_to(folder):
        raise MjcfError("path", f"{path} lies outside {folder}")
    return file, folder

"""Read a MuJoCo file into a world, with a list of unsupported features."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from contactlab.spatial import Transform
from contactlab.spatial.arrays import read_only
from contactlab.spatial.errors import warn_caller
from contactlab.world.builder import WorldBuilder
from contactlab.world.errors import blaming_file
from contactlab.world.mjcf.actions import add_actions, passive_forces
from contactlab.world.mjcf.actuators import actuators_of, force_ranges, tendon_ranges
from contactlab.world.mjcf.attributes import unknown_attributes
from contactlab.world.mjcf.errors import MjcfContentError, MjcfError, MjcfWarning
from contactlab.world.mjcf.filters import Classes
from contactlab.world.mjcf.geoms import add_geoms, configuration, model_of, velocity
from contactlab.world.mjcf.notes import unsupported_notes
from contactlab.world.mjcf.references import check_references
from contactlab.world.mjcf.robot import Keyframe, MjcfRobot
from contactlab.world.mjcf.sensors import sensors_of
from contactlab.world.mjcf.source import Source, name_in
from contactlab.world.world import World


@dataclass(frozen=True, eq=False)
class MjcfScene:
    """A world made of a MuJoCo file.

    Attributes
    ----------
    world
        The world.
    robot
        Robot of the file: actuators, keyframes, notes.
    """

    world: World
    robot: MjcfRobot

    @property
    def notes(self) -> tuple[str, ...]:
        """Return one sentence for each unsupported feature of the file."""
        return self.robot.notes

    @property
    def timestep(self) -> float:
        """The file's step [s]."""
        return self.robot.timestep


def load_mjcf(
    path: str | PathLike[str], *, root: str | PathLike[str] | None = None, keyframe: str | None = None
) -> MjcfScene:
    """Read a MuJoCo file; `World.from_mjcf` documents the arguments.

    Taken are bodies, free, ball, hinge and slide joints, inertias (given or from geoms), the geoms that collide (plane,
    sphere, capsule, cylinder, box, ellipsoid and mesh as hulls, height field), sliding friction, contype, conaffinity,
    excluded and explicit pairs and keyframes; ranges, damping, dry friction and springs of hinges and slides; actuators
    of joints and fixed tendons, of which position and velocity servos of joints are drives under their names and the
    others forces (`MjcfRobot`), and so are gravity compensation, springs and dampers of tendons; sensors
    (`MjcfRobot.sensors`); connect and weld, of bodies or sites; joints that follow others or are held. Which bodies may
    touch is MuJoCo's choice. Stops and loops are rigid. q and v are MuJoCo's, except for angles and shifts, which count
    from the reference position. A geom of another kind that collides is an error; what else is not taken is in the
    notes.

    Raises
    ------
    MjcfError
        A file that is not there, refers to what lies outside the root, loads plugins, or is refused by mujoco; a geom
        that is not taken; mujoco is not installed.
    """
    m, ignored = compile_mjcf(path, root)
    builder = WorldBuilder(Source(m).gravity)
    robot = add_compiled(builder, m, ignored, classes={}, keyframe=keyframe)
    return MjcfScene(builder.build(), robot)


def compile_mjcf(path: str | PathLike[str], root: str | PathLike[str] | None) -> tuple[Any, list[str]]:
    """Return mujoco's compiled model of a file, and its attributes without effect. References stay in one folder."""
    try:
        import mujoco
    except ImportError as cause:
        message = "MuJoCo files need mujoco, which is not installed: pip install '.[mjcf]'"
        raise MjcfError("path", message) from cause
    file, folder = _file(path, root)
    said = check_references(file, folder)
    try:
        return mujoco.MjSpec.from_file(str(file)).compile(), unknown_attributes(said)
    except (ValueError, mujoco.FatalError) as error:
        raise MjcfError("path", f"{file.name}: {error}") from error


def add_compiled(
    builder: WorldBuilder,
    m: Any,
    ignored: list[str],
    *,
    classes: Classes,
    name: str | None = None,
    pose: Transform | None = None,
    keyframe: str | None = None,
    surroundings: bool = True,
) -> MjcfRobot:
    """Add a compiled model to a builder, whose classes of geoms are in ``classes``.

    ``ignored`` are the attributes that were said without success, to be named.
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
    """Name the unsupported features in one `MjcfWarning`, attributed to the caller of the library."""
    if notes:
        warn_caller("; ".join(notes), MjcfWarning)


def _keyframes(source: Source) -> dict[str, Keyframe]:
    m, found = source.m, {}
    for k in range(m.nkey):
        q, v = configuration(source, m.key_qpos[k]), velocity(source, m.key_qvel[k])
        ctrl, act = np.array(m.key_ctrl[k]), np.array(m.key_act[k])
        time = float(m.key_time[k])
        found[name_in(m, "key", k)] = Keyframe(read_only(q), read_only(v), read_only(ctrl), read_only(act), time)
    return found


def _file(path: str | PathLike[str], root: str | PathLike[str] | None) -> tuple[Path, Path]:
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

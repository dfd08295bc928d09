"""From a MuJoCo file to a world, with a list of what was left out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.spatial.arrays import FloatArray
from contactlab.world.builder import WorldBuilder
from contactlab.world.mjcf.errors import MjcfError, MjcfWarning
from contactlab.world.world import World

__all__ = ["MjcfScene", "load_mjcf", "warn_of"]


@dataclass(frozen=True, eq=False)
class MjcfScene:
    """A world made of a MuJoCo file.

    Attributes
    ----------
    world
        The world.
    notes
        What the file has and the world has not, one sentence each.
    timestep
        The file's step [s].
    """

    world: World
    notes: tuple[str, ...]
    timestep: float


def load_mjcf(
    path: str | PathLike[str], *, root: str | PathLike[str] | None = None, keyframe: str | None = None
) -> MjcfScene:
    """Read a MuJoCo file; `World.from_mjcf` says what the arguments are.

    Taken are bodies, free, ball, hinge and slide joints, inertias (given or from geoms), the geoms that collide (plane,
    sphere, capsule, cylinder, box, ellipsoid and mesh as hulls, height field), sliding friction, contype, conaffinity,
    excluded pairs and keyframes; ranges, damping, dry friction and springs of hinges and slides, position and velocity
    servos at the control 0 (drives under their names), connect and weld. Stops and loops are rigid. q and v are
    MuJoCo's, but for angles and shifts, which count from the reference position. A geom of another kind that collides
    is an error; what else is not taken is in the notes.

    Raises
    ------
    MjcfError
        A file that is not there, refers to what lies outside the root, loads plugins, or is refused by mujoco; a geom
        that is not taken; mujoco is not installed.
    """
    try:
        import mujoco
    except ImportError as cause:
        message = "MuJoCo files need mujoco, which is not installed: pip install 'contactlab[mjcf]'"
        raise MjcfError("path", message) from cause
    from contactlab.world.mjcf.actions import add_actions
    from contactlab.world.mjcf.bodies import model_of
    from contactlab.world.mjcf.geoms import add_exclusions, add_geoms
    from contactlab.world.mjcf.notes import notes_of
    from contactlab.world.mjcf.references import check_references

    file, folder = _file(path, root)
    check_references(file, folder)
    try:
        m = mujoco.MjSpec.from_file(str(file)).compile()
    except (ValueError, mujoco.FatalError) as error:
        raise MjcfError("path", f"{file.name}: {error}") from error
    model, moved = model_of(m)
    builder = WorldBuilder(m.opt.gravity)
    q, v = _start(m, keyframe)
    builder.add_model(model, q, v)
    add_actions(builder, m, moved)
    add_geoms(builder, m)
    notes = [*add_exclusions(builder, m), *notes_of(m)]
    return MjcfScene(builder.build(), tuple(notes), float(m.opt.timestep))


def warn_of(scene: MjcfScene) -> None:
    """Name what was left out in one `MjcfWarning`, attributed to the caller of the caller."""
    if scene.notes:
        warnings.warn("; ".join(scene.notes), MjcfWarning, stacklevel=3)


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


def _start(m: Any, keyframe: str | None) -> tuple[FloatArray, FloatArray]:
    """Return q and v at the start; angles and shifts count from the joint's reference."""
    import mujoco

    from contactlab.world.mjcf.bodies import FREE, SCALAR

    q, v = np.array(m.qpos0), np.zeros(m.nv)
    if keyframe is not None:
        number = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_KEY, keyframe)
        if number < 0:
            raise MjcfError("keyframe", f"there is none called {keyframe!r}")
        q, v = np.array(m.key_qpos[number]), np.array(m.key_qvel[number])
    for j in range(m.njnt):
        at, kind = int(m.jnt_qposadr[j]), int(m.jnt_type[j])
        if kind in SCALAR:
            q[at] -= m.qpos0[at]
        else:
            turn = slice(at + 3, at + 7) if kind == FREE else slice(at, at + 4)
            q[turn] /= np.linalg.norm(q[turn])
    return q, v

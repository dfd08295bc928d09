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
from contactlab.world.mjcf.actions import add_actions, is_servo, is_taken_equality
from contactlab.world.mjcf.bodies import BALL, FREE, SCALAR, body_names, joint_names, model_of, named
from contactlab.world.mjcf.errors import MjcfError, MjcfWarning
from contactlab.world.mjcf.geoms import add_exclusions, add_geoms
from contactlab.world.mjcf.references import check_references
from contactlab.world.world import World

MOST_NAMES = 8


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
    notes = [*add_exclusions(builder, m), *_notes(m)]
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


def _notes(m: Any) -> list[str]:
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
        return [named(m, kind, i, word) for i in range(count)]

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

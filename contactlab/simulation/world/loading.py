"""Files of robots as new worlds: a robot description (URDF) on the ground, or a MuJoCo file (MJCF)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from contactlab.collision import HalfSpace, Material
from contactlab.multibody.urdf.geometry import PackageRoots
from contactlab.simulation.world.builder import WorldBuilder
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.urdf_world import BadMeshes, MeshModes
from contactlab.simulation.world.world import World

if TYPE_CHECKING:
    from contactlab.simulation.world.mjcf.robot import MjcfRobot


def load_urdf_world(
    path_or_text: str | PathLike[str],
    *,
    floating_base: bool = False,
    ground: HalfSpace | bool = True,
    material: Material | None = None,
    collisions: bool = True,
    meshes: MeshModes = "convex",
    bad_meshes: BadMeshes = "raise",
    self_collisions: bool = False,
    q: ArrayLike | Mapping[str, float] | None = None,
    v: ArrayLike | None = None,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    package_roots: PackageRoots = None,
) -> World:
    """Return a world of one robot, with the collision shapes of its description, on the ground.

    Parameters
    ----------
    path_or_text, floating_base, gravity, package_roots
        As for `contactlab.multibody.load_urdf`, whose errors it raises.
    ground
        True for the half-space z <= 0, called "ground"; another half-space; False for none.
    material
        Material of robot and ground; None for ``Material(0.8)``.
    collisions, meshes, bad_meshes, self_collisions
        As for `WorldBuilder.add_urdf`. This is its short form: use `add_urdf` for more robots, bodies and drives.
    q, v
        Start (nq,), (nv,), or positions by joint, the rest neutral. If ``q`` does not contain the base's pose, a
        floating base is raised or lowered until the lowest shape touches the ground.

    Raises
    ------
    SimulationConfigError
        A shape is not supported, with the name of its link, or an argument is invalid.
    """
    plane = HalfSpace() if ground is True else ground
    builder, rests = WorldBuilder(gravity), Material(0.8) if material is None else material
    whole = not (q is None or isinstance(q, Mapping))
    if isinstance(plane, HalfSpace):
        builder.add_half_space("ground", plane, rests)
    elif plane is not False:
        raise SimulationConfigError("ground", f"must be True, False or a HalfSpace, got {type(plane).__name__}")
    builder.add_urdf(
        path_or_text,
        floating_base=floating_base,
        stand_on="ground" if floating_base and not whole and isinstance(plane, HalfSpace) else None,
        material=rests,
        collisions=collisions,
        meshes=meshes,
        bad_meshes=bad_meshes,
        self_collisions=self_collisions,
        q=q,
        v=v,
        package_roots=package_roots,
    )
    return builder.build()


@dataclass(frozen=True, eq=False)
class MjcfScene:
    """A world made from a MuJoCo file.

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
    """Read a MuJoCo file (MJCF) by mujoco's own reader (the extra ``mjcf``).

    Masses, poses and joints are from the compiled model, so that mass matrix and bias agree with MuJoCo's.

    Parameters
    ----------
    path
        The file.
    root
        Folder that must contain it and all its references, with links resolved; default the folder of the file.
    keyframe
        Name of the keyframe to start from; default the model's reference pose, at rest.

    Supported are:

    - bodies; free, ball, hinge and slide joints; inertias (given or from geoms);
    - geoms that collide: plane, sphere, capsule, cylinder, box, height field, and hulls of ellipsoids and meshes;
    - sliding friction, contype, conaffinity, excluded and explicit pairs, keyframes;
    - ranges, damping, dry friction and springs of hinges and slides;
    - actuators of joints and fixed tendons: position and velocity servos of joints are drives under their names, the
      others are forces (`MjcfRobot`);
    - gravity compensation, springs and dampers of tendons, also as forces; sensors (`MjcfRobot.sensors`);
    - connect and weld, of bodies or sites; joints that follow others or are locked.

    Pairs of bodies that may touch are the same as in MuJoCo. Stops and loops are rigid. q and v are MuJoCo's, except
    for angles and shifts, which are relative to the reference position. Other colliding geoms raise an error; other
    unsupported elements are in the notes.

    Raises
    ------
    MjcfError
        The file does not exist, refers to files outside the root, loads plugins, is rejected by mujoco, or has an
        unsupported geom that collides; or mujoco is not installed.
    """
    from contactlab.simulation.world.mjcf.reading import add_compiled, compile_mjcf
    from contactlab.simulation.world.mjcf.source import Source

    m, ignored = compile_mjcf(path, root)
    builder = WorldBuilder(Source(m).gravity)
    robot = add_compiled(builder, m, ignored, classes={}, keyframe=keyframe)
    return MjcfScene(builder.build(), robot)


def load_mjcf_world(
    path: str | PathLike[str], *, root: str | PathLike[str] | None = None, keyframe: str | None = None
) -> World:
    """Return the world of a MuJoCo file; an `MjcfWarning` names the unsupported elements. See `load_mjcf`."""
    from contactlab.simulation.world.mjcf.reading import warn_of

    scene = load_mjcf(path, root=root, keyframe=keyframe)
    warn_of(scene.notes)
    return scene.world

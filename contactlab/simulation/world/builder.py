"""Builder of worlds: every call is checked immediately, and a call that raises leaves the builder unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import HalfSpace, Material, Mesh
from contactlab.multibody import BodySpec, UrdfModel
from contactlab.multibody.model import structure
from contactlab.multibody.spatial import Transform, quaternion
from contactlab.multibody.spatial.arrays import close_names, read_only
from contactlab.multibody.urdf import load_urdf
from contactlab.multibody.urdf.geometry import PackageRoots
from contactlab.simulation.world.body_builder import BodyBuilder, check_name
from contactlab.simulation.world.collision_filter import build_collision_filter
from contactlab.simulation.world.errors import SimulationConfigError, check_type
from contactlab.simulation.world.joint_builder import Coefficients, Limits, model_of
from contactlab.simulation.world.surface import ALL, is_ground
from contactlab.simulation.world.urdf_world import (
    BadMeshes,
    MeshModes,
    add_links,
    collision_shapes,
    place_on_plane,
    with_joints,
    with_root_pose,
)
from contactlab.simulation.world.world import World

if TYPE_CHECKING:
    from contactlab.simulation.world.mjcf.robot import MjcfRobot


class WorldBuilder(BodyBuilder):
    """Collect bodies and half-spaces, then `build` the `World`.

    Parameters
    ----------
    gravity
        (3,) [m/s^2], world axes.
    body_contacts
        Whether bodies touch one another; False if they are known not to meet: collision detection between them is then
        neither compiled nor run. Bodies of one weld, or connected by a joint, never touch; see also
        `exclude_collision`.
    planar
        (3,) normal of a plane in which everything moves, as (0, 1, 0) for x and z; None for a world in space. Free
        bodies then have three coordinates, along `World.plane`'s axes and about it. Every contact has one friction
        direction, for any ``edges`` of the stepper: the cone is exact.

    Examples
    --------
    >>> from contactlab.collision import Box, HalfSpace, Material
    >>> from contactlab.multibody.spatial import RigidInertia
    >>> builder = WorldBuilder()
    >>> builder.add_half_space("floor", HalfSpace((0, 0, 1), 0.0), Material(0.5))
    >>> builder.add_free_body("cube", RigidInertia.solid_box(1.0, (0.1,) * 3), Box.cube(0.1), Material(0.5))
    >>> builder.build()
    World(bodies=['cube'], half_spaces=['floor'])
    """

    def add_urdf(
        self,
        path_or_text: str | PathLike[str],
        *,
        name: str | None = None,
        pose: Transform | None = None,
        floating_base: bool = False,
        stand_on: str | None = None,
        material: Material | None = None,
        collisions: bool = True,
        meshes: MeshModes = "convex",
        bad_meshes: BadMeshes = "raise",
        self_collisions: bool = False,
        q: ArrayLike | Mapping[str, float] | None = None,
        v: ArrayLike | None = None,
        package_roots: PackageRoots = None,
        limits: Limits = "model",
        damping: Coefficients = "model",
        friction: Coefficients = "model",
        mimics: bool = True,
        effort_limits: bool = False,
        category: int = 1,
        mask: int = ALL,
    ) -> UrdfModel:
        """Add the robot of a description with its collision shapes; return its model, as read.

        Limits, damping, dry friction and mimics come from the description unless others are given. The <visual>
        elements of its links are kept for pictures; their mesh files are read when they are drawn.

        Parameters
        ----------
        path_or_text, floating_base, package_roots
            As for `contactlab.multibody.load_urdf`, whose errors it raises.
        name
            Prefix, with "/", of the names of links and joints, so that several robots are possible: "left/elbow".
        pose
            Pose of the root; default the world's origin. Without a floating base ``q`` does not contain it.
        stand_on
            Name of an existing half-space on which a floating base stands: it is moved along the normal until the
            lowest shape touches.
        material
            None for ``Material(0.8)``.
        collisions
            Whether the links get the shapes of their <collision> elements.
        meshes
            Treatment of meshes: "convex", their hull (of at most 256 corners); "exact", a `Mesh`, where two that are
            not convex cannot touch; "skip", no shape. Or a mapping from links to these, with "convex" for other links.
            Reading meshes needs the extra ``collision``.
        bad_meshes
            Treatment of invalid meshes: "raise"; "skip", with an `UrdfWarning` that lists them with reasons.
        self_collisions
            Whether links of this robot touch one another; links connected by a joint never do.
        q, v
            Start (nq,), (nv,) of the robot; default neutral and at rest. A whole ``q`` gives the pose of a
            floating base, which excludes ``pose`` and ``stand_on``; positions by joint, ``{"knee": 0.3}``, do not.
        limits, damping, friction, mimics, effort_limits
            As in `add_model`; joints by the names of the description.
        category, mask
            Collision filter of the links, as in `add_shape`.

        Raises
        ------
        SimulationConfigError
            A shape is not supported; the error has its link, its file, and advice. Or an argument is invalid.
        """
        if name is not None:
            check_name(name, ())
        check_type("pose", Transform() if pose is None else pose, Transform)
        surface = Material(0.8) if material is None else material
        check_type("material", surface, Material)
        if stand_on is not None and stand_on not in self._half_spaces:
            raise SimulationConfigError(
                "stand_on", f"no half-space is called {stand_on!r}{close_names(stand_on, self._half_spaces)}"
            )
        if stand_on is not None and not floating_base:
            raise SimulationConfigError("stand_on", "needs floating_base=True; use pose for a fixed root")
        by_joint = isinstance(q, Mapping)
        if floating_base and not (q is None or by_joint) and (pose is not None or stand_on is not None):
            raise SimulationConfigError(
                "q", "places the floating base: give it or pose and stand_on; positions by joint, a dict, go with both"
            )
        model = load_urdf(path_or_text, floating_base=floating_base, gravity=self._gravity, package_roots=package_roots)
        shapes = collision_shapes(model, meshes, bad_meshes) if collisions else []
        placed, start = model, with_joints(model, q, mimics=mimics) if isinstance(q, Mapping) else q
        if pose is not None and not floating_base:
            placed = with_root_pose(model, pose)
        if floating_base and (q is None or by_joint):
            start = model.neutral if start is None else np.asarray(start)
            if pose is not None:
                start = np.concatenate((pose.p, quaternion.from_matrix(pose.R), start[7:]))
            if stand_on is not None:
                start = place_on_plane(model, start, self._half_spaces[stand_on][0], shapes)
        prefix = "" if name is None else f"{name}/"
        with self._unchanged_on_error():
            self.add_model(
                placed,
                start,
                v,
                prefix=prefix,
                limits=limits,
                damping=damping,
                friction=friction,
                mimics=mimics,
                effort_limits=effort_limits,
            )
            add_links(self, model, shapes, surface, prefix, pose, (category, mask), self_collisions=self_collisions)
        return model

    def build(self) -> World:
        """Return the world; later changes of the builder do not affect it."""
        if not self._bodies:
            raise SimulationConfigError("bodies", "a world needs at least one body, got none")
        specs = by_trees([spec for spec, _, _ in self._bodies.values()], self._gravity)
        names = [spec.name for spec in specs]
        number = {name: i for i, name in enumerate(names)}
        surfaces = [(i, surface) for i, name in enumerate(names) for surface in self._surfaces.get(name, ())]
        visuals = [(i, visual) for i, name in enumerate(names) for visual in self._visuals.get(name, ())]
        model = model_of(specs, self._gravity)
        for i, surface in surfaces:
            if is_ground(surface.shape) and structure(model).body_link[i] >= 0:
                kind = type(surface.shape).__name__
                raise SimulationConfigError("shape", f"{names[i]!r} moves: a {kind} must stand fixed to the world")
        world = World(
            model=model,
            surfaces=tuple(surface for _, surface in surfaces),
            surface_bodies=tuple(i for i, _ in surfaces),
            half_space_names=tuple(self._half_spaces),
            half_spaces=tuple(half_space for half_space, *_ in self._half_spaces.values()),
            half_space_materials=tuple(material for _, material, *_ in self._half_spaces.values()),
            half_space_filters=tuple((category, mask) for *_, category, mask in self._half_spaces.values()),
            initial_q=read_only(np.concatenate([self._bodies[name][1] for name in names])),
            initial_v=read_only(np.concatenate([self._bodies[name][2] for name in names])),
            excluded_pairs=tuple((number[a], number[b]) for a, b in self._ignored),
            body_contacts=self._body_contacts,
            joint_actions=self._actions,
            plane=self._plane,
            motions=tuple((number[name], motion) for name, motion in self._motions.items()),
            visuals=tuple(visual for _, visual in visuals),
            visual_bodies=tuple(i for i, _ in visuals),
        )
        if any(isinstance(surface.shape, Mesh) for surface in world.surfaces):
            # Two meshes that cannot touch each other are reported here, not in the first step.
            build_collision_filter(world)
        return world

    def add_mjcf(
        self,
        path: str | PathLike[str],
        *,
        name: str | None = None,
        pose: Transform | None = None,
        root: str | PathLike[str] | None = None,
        keyframe: str | None = None,
        surroundings: bool = True,
    ) -> MjcfRobot:
        """Add the bodies of a MuJoCo file (MJCF); `simulation.world.mjcf.load_mjcf` lists the supported elements.

        Parameters
        ----------
        path, root, keyframe
            As for `load_mjcf`.
        name
            Prefix, with "/", of the names of bodies, half-spaces and drives: "spot" makes "spot/hip" of "hip". None for
            names as in the file; the names must be free.
        pose
            Pose of the file's world in this one.
        surroundings
            Whether the geoms of the file's world are also added: its floor, walls, terrain.

        Returns
        -------
        MjcfRobot
            Names, actuators, keyframes, and unsupported features, which are also in an `MjcfWarning`.

        Notes
        -----
        Filters: shapes without filters touch geoms as a geom with MuJoCo's defaults would. Two files touch as they
        would in one file. Files also use the bits from the second on, so your filters share them.
        """
        from contactlab.simulation.world.mjcf.reading import add_compiled, compile_mjcf, warn_of

        if name is not None:
            check_name(name, ())
        check_type("pose", Transform() if pose is None else pose, Transform)
        m, ignored = compile_mjcf(path, root)
        with self._unchanged_on_error():
            robot = add_compiled(
                self,
                m,
                ignored,
                classes=self._geoms,
                name=name,
                pose=pose,
                keyframe=keyframe,
                surroundings=surroundings,
            )
        warn_of(robot.notes)
        return robot


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


def by_trees(specs: list[BodySpec], gravity: ArrayLike) -> list[BodySpec]:
    """Return the bodies in this order if trees are consecutive, else sorted, with bodies fixed to the world first."""
    model = model_of(specs, gravity)
    if np.all(np.diff(structure(model).root) >= 0):
        return specs
    # The sort is stable: parents stay before their children.
    return [specs[i] for i in np.argsort(model.body_trees, kind="stable")]

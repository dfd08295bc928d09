"""Builder of worlds: every call is checked immediately, and a call that raises leaves the builder unchanged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import Material, Mesh
from contactlab.multibody import BodySpec, Model, ModelBuilder, UrdfModel, joints
from contactlab.multibody.arguments import check_configuration, check_velocity
from contactlab.multibody.model import WORLD
from contactlab.multibody.packing import structure
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.multibody.spatial.errors import close_names
from contactlab.multibody.urdf import load_urdf
from contactlab.multibody.urdf.geometry import PackageRoots
from contactlab.simulation.world.collision_filter import build_collision_filter, by_trees, model_of, with_prefix
from contactlab.simulation.world.errors import SimulationConfigError, check_type
from contactlab.simulation.world.joint_builder import Coefficients, Limits
from contactlab.simulation.world.motion import PrescribedMotion, check_moves_in_plane, planar_body, plane_normal
from contactlab.simulation.world.shape_builder import LIMIT, AnyShape, ShapeBuilder, check_moves, check_name, start_of
from contactlab.simulation.world.surface import ALL, Collider, as_colliders, is_ground
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
    from contactlab.simulation.world.mjcf import MjcfRobot

# A contact's id has 20 bits for a body's number.
MAX_BODIES = 1 << 20


class WorldBuilder(ShapeBuilder):
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

    def __init__(
        self, gravity: ArrayLike = (0.0, 0.0, -9.81), *, body_contacts: bool = True, planar: ArrayLike | None = None
    ) -> None:
        super().__init__(plane_normal(planar))
        self._gravity = finite_array(gravity, "gravity", (3,), SimulationConfigError)
        self._body_contacts = bool(body_contacts)
        self._geoms: dict[tuple[int, int, int], int] = {}  # classes of the geoms of MuJoCo files, and their bits

    def add_free_body(
        self,
        name: str,
        inertia: RigidInertia,
        shape: AnyShape | Sequence[AnyShape],
        material: Material,
        q: ArrayLike | Transform | None = None,
        v: ArrayLike | None = None,
        *,
        category: int = 1,
        mask: int = ALL,
    ) -> None:
        """Add a free body, with the joint `FloatingBase`.

        Parameters
        ----------
        name
            Name, different from all other bodies.
        inertia, shape, material
            All relative to the body's origin and axes. Several shapes are a sequence; `PlacedShape` gives one a pose.
        q
            (7,) start: origin [m] and unit quaternion (w, x, y, z), or a `Transform`, in which no order can be
            confused; default the world origin without rotation. In a planar world also (3,): its coordinates in the
            plane.
        v
            (6,) start: velocity of the origin in world axes [m/s], angular velocity in body axes [rad/s]; default 0. In
            a planar world also (3,).
        category, mask
            Collision filter, as in `add_shape`.
        """
        check_name(name, self._bodies)
        check_type("inertia", inertia, RigidInertia)
        surfaces = as_colliders(shape, material, None, LIMIT, category, mask)
        if isinstance(q, Transform):
            q = np.concatenate((q.p, quaternion.from_matrix(q.R)))
        if self._plane is None:
            one = ModelBuilder(self._gravity).add_body(name, joint=joints.FloatingBase(), inertia=inertia).build()
            self._add(one.bodies, one, q, v)
        else:
            self._add(*planar_body(name, inertia, self._gravity, self._plane, q, v))
        self._surfaces[name] = surfaces

    def add_fixed_body(
        self,
        name: str,
        shape: AnyShape | Sequence[AnyShape],
        material: Material,
        placement: Transform | None = None,
        *,
        category: int = 1,
        mask: int = ALL,
    ) -> None:
        """Add a body that is fixed in the world at ``placement``: a stair, a table, a piece of terrain."""
        check_name(name, self._bodies)
        self._add_fixed(name, placement, as_colliders(shape, material, None, LIMIT, category, mask))

    def add_kinematic_body(
        self,
        name: str,
        shape: AnyShape | Sequence[AnyShape],
        material: Material,
        motion: PrescribedMotion,
        *,
        category: int = 1,
        mask: int = ALL,
    ) -> None:
        """Add a body with a prescribed motion, which contacts do not change: a belt, a shaker, a turntable, a wall.

        Parameters
        ----------
        name
            Name, different from all other bodies.
        shape, material
            As for a free body; also a `HalfSpace`.
        motion
            One of `contactlab.simulation.world.motion`, or a user's motion: pose and twist as functions of time.
        category, mask
            Collision filter, as in `add_shape`.
        """
        check_name(name, self._bodies)
        start, surfaces = start_of(motion), as_colliders(shape, material, None, LIMIT, category, mask)
        check_moves(surfaces)
        self._add_fixed(name, start, surfaces)
        self._motions[name] = motion

    def add_model(
        self,
        model: Model,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        prefix: str = "",
        limits: Limits = "model",
        damping: Coefficients = "model",
        friction: Coefficients = "model",
        mimics: bool = True,
        effort_limits: bool = False,
    ) -> None:
        """Add the bodies of a model with their joints; `add_shape` gives them shapes for contact.

        Parameters
        ----------
        model
            Any model without custom joints. Its gravity must equal the builder's.
        q, v
            (nq,), (nv,) start; default neutral, with mimic joints in agreement, and at rest.
        prefix
            Prefix of the names of bodies and joints; the resulting names must be free.
        limits
            Joint limits: "model" for the limits of the robot description, None, or `JointLimit` values.
        damping, friction
            Viscous damping and dry friction: "model" for the values of the description, None, or a number by joint.
        mimics
            Whether mimic joints of the description are constrained.
        effort_limits
            Whether drives of its joints without a ``max_force`` have the effort limit of the description.

        Notes
        -----
        The world's model holds the bodies in the order added, tree by tree: bodies of a model that mixes its trees are
        sorted, each tree at the place of its first body. `World.model` has the resulting order.
        """
        check_type("model", model, Model)
        check_type("prefix", prefix, str)
        if not np.array_equal(model.gravity, self._gravity):
            raise SimulationConfigError(
                "model", f"has gravity {model.gravity.tolist()}, the world {self._gravity.tolist()}"
            )
        if model.packed.custom:
            raise SimulationConfigError("model", "has custom joints, which the compiled loop cannot evaluate")
        if self._plane is not None:
            check_moves_in_plane(model, self._plane)
        # A body whose prefixed name is "world" would be confused with the parent of the roots.
        taken = {WORLD, *self._bodies}
        for body in model.bodies:
            check_name(prefix + body.name, taken)
        with self._unchanged_on_error():
            self._add([with_prefix(body, prefix) for body in model.bodies], model, self._start(model, q, mimics), v)
            self._take_joints(model, prefix, limits, damping, friction, mimics, effort_limits)

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
            As for `contactlab.multibody.Model.from_urdf`, whose errors it raises.
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
            As for `World.from_mjcf`.
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
        from contactlab.simulation.world.mjcf import add_compiled, compile_mjcf, warn_of

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

    @property
    def gravity(self) -> FloatArray:
        """(3,) [m/s^2], world axes."""
        return self._gravity.copy()

    @contextlib.contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Undo all changes within the block if it raises for an invalid argument."""
        before = {field: value.copy() if isinstance(value, dict) else value for field, value in vars(self).items()}
        try:
            yield
        except ValueError:
            vars(self).update(before)
            raise

    def _model_so_far(self) -> Model:
        return model_of([spec for spec, _, _ in self._bodies.values()], self._gravity)

    def _add_fixed(self, name: str, placement: Transform | None, surfaces: tuple[Collider, ...]) -> None:
        """Store a body that is fixed in the world, with its colliders."""
        one = ModelBuilder(self._gravity).add_body(name, joint=joints.Fixed(), placement=placement).build()
        self._add(one.bodies, one, None, None)
        self._surfaces[name] = surfaces

    def _add(self, specs: Iterable[BodySpec], model: Model, q: ArrayLike | None, v: ArrayLike | None) -> None:
        """Store the bodies with their initial q and v; by default neutral and at rest. Raise if they are too many."""
        if len(self._bodies) + model.nb > MAX_BODIES:
            raise SimulationConfigError("bodies", f"at most {MAX_BODIES} fit a contact id")
        start_q = model.neutral if q is None else check_configuration(model, q)
        start_v = np.zeros(model.nv) if v is None else check_velocity(model, v)
        for spec, body in zip(specs, model.bodies, strict=True):
            own_q, own_v = start_q[model.q_slice(body.name)], start_v[model.v_slice(body.name)]
            self._bodies[spec.name] = (spec, own_q, own_v)

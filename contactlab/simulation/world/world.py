"""A world: a multibody model with shapes and materials, half-spaces, gravity and a start."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.collision import ContactError, HalfSpace, Material, PlacedShape, Shape, Sphere
from contactlab.multibody import Model, MultibodyError, body_poses
from contactlab.multibody.arguments import check_configuration, check_velocity
from contactlab.multibody.constraints import ConstraintSet
from contactlab.multibody.joint_data import positions
from contactlab.multibody.model import WORLD
from contactlab.multibody.spatial.arrays import FloatArray, read_only
from contactlab.multibody.urdf.geometry import PackageRoots
from contactlab.simulation.world.collision_filter import body_trees, check_model, first_dofs
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.joint_actions import JointActions, JointRow, joint_rows
from contactlab.simulation.world.motion import PrescribedMotion
from contactlab.simulation.world.shape_builder import Visual
from contactlab.simulation.world.state import StepperState
from contactlab.simulation.world.surface import Collider, Extents, RayHits, cast_rays, extents_of
from contactlab.simulation.world.urdf_world import BadMeshes, MeshModes

if TYPE_CHECKING:
    from contactlab.collision.detection import PackedShapes


@dataclass(frozen=True, eq=False)
class World:
    """Bodies, joints and colliders of a simulation, made by `WorldBuilder`; immutable.

    Attributes
    ----------
    model
        The bodies and their joints, with gravity. A free body has the joint `FloatingBase`. Connected links form a
        tree; the bodies of one tree are consecutive.
    surfaces, surface_bodies
        Shapes with their materials, in the order of their bodies, and the numbers of these bodies. A body may have any
        number of shapes.
    half_space_names, half_spaces, half_space_materials
        The fixed surroundings.
    half_space_filters
        Category and mask of each, as in a `Collider`; empty without filters.
    initial_q, initial_v
        (nq,) and (nv,) start, read-only.
    excluded_pairs
        Pairs of numbers of bodies that never touch each other.
    body_contacts
        Whether bodies touch one another at all. Bodies of one weld, and bodies connected by a joint, never do.
    joint_actions
        Stops, damping, dry friction, drives, followers and loops.
    motions
        The kinematic bodies: number and motion of each. In the model they are fixed at their pose of time 0.
    plane
        (3,) unit normal of the plane of motion, None in space.
    visuals, visual_bodies
        Visuals of bodies that differ from their colliders, in the order of the bodies, and the numbers of these bodies.
        No motion depends on them.
    """

    model: Model
    surfaces: tuple[Collider, ...]
    surface_bodies: tuple[int, ...]
    half_space_names: tuple[str, ...]
    half_spaces: tuple[HalfSpace, ...]
    half_space_materials: tuple[Material, ...]
    initial_q: FloatArray
    initial_v: FloatArray
    excluded_pairs: tuple[tuple[int, int], ...] = ()
    body_contacts: bool = True
    joint_actions: JointActions = field(default_factory=JointActions)
    motions: tuple[tuple[int, PrescribedMotion], ...] = ()
    plane: FloatArray | None = None
    half_space_filters: tuple[tuple[int, int], ...] = ()
    visuals: tuple[Visual, ...] = ()
    visual_bodies: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_model(self.model)
        for field_name, checked in (("initial_q", check_configuration), ("initial_v", check_velocity)):
            try:
                object.__setattr__(self, field_name, read_only(checked(self.model, getattr(self, field_name))))
            except MultibodyError as error:
                raise SimulationConfigError(field_name, error.detail) from error
        n, grounds = len(self.surfaces), len(self.half_spaces)
        if not grounds:
            object.__setattr__(self, "half_space_filters", ())
        filters = len(self.half_space_filters) or grounds
        lengths = {"half_space_names": grounds, "half_space_materials": grounds, "surface_bodies": n}
        for field_name, wanted in (lengths | {"visual_bodies": len(self.visuals)}).items():
            if len(getattr(self, field_name)) != wanted:
                raise SimulationConfigError(field_name, f"must have {wanted}, got {len(getattr(self, field_name))}")
        if filters != grounds:
            raise SimulationConfigError("half_space_filters", f"must have {grounds} or none, got {filters}")
        pairs = (number for pair in self.excluded_pairs for number in pair)
        for number in (*self.surface_bodies, *self.visual_bodies, *(body for body, _ in self.motions), *pairs):
            if not 0 <= number < self.model.nb:
                raise SimulationConfigError("model", f"has {self.model.nb} bodies, none of number {number}")
        kinematic_names = {self.model.names[body] for body, _ in self.motions}
        for loop in self.joint_actions.loops:
            for name in kinematic_names.intersection(loop.joined or ()):
                raise SimulationConfigError(
                    "loop", f"joins {name!r}, whose motion it would not see: a kinematic body acts by contact alone"
                )

    @classmethod
    def from_urdf(
        cls,
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
            As for `contactlab.multibody.Model.from_urdf`, whose errors it raises.
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
        from contactlab.simulation.world.builder import WorldBuilder

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

    @classmethod
    def from_mjcf(
        cls, path: str | PathLike[str], *, root: str | PathLike[str] | None = None, keyframe: str | None = None
    ) -> World:
        """Return the world of a MuJoCo file (MJCF), read by mujoco's own reader (the extra ``mjcf``).

        Masses, poses and joints are from the compiled model, so that mass matrix and bias agree with MuJoCo's.
        `contactlab.simulation.world.mjcf.load_mjcf` lists the supported elements, and returns the unsupported ones;
        here an
        `MjcfWarning` names them.

        Parameters
        ----------
        path
            The file.
        root
            Folder that must contain it and all its references, with links resolved; default the folder of the file.
        keyframe
            Name of the keyframe to start from; default the model's reference pose, at rest.
        """
        from contactlab.simulation.world.mjcf import load_mjcf, warn_of

        scene = load_mjcf(path, root=root, keyframe=keyframe)
        warn_of(scene.notes)
        return scene.world

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Length of v."""
        return self.model.nv

    def initial_state(self, h: float = 0.0, *, q: ArrayLike | None = None, v: ArrayLike | None = None) -> StepperState:
        """Return the start at time 0, with another q (nq,) or v (nv,) if given, and without warm start.

        ``h`` [s], if not 0, is the first step of an adaptive stepper; a fixed-step stepper ignores it.
        """
        return StepperState(
            q=self.initial_q if q is None else check_configuration(self.model, q),
            v=self.initial_v if v is None else check_velocity(self.model, v),
            h=h,
        )

    @cached_property
    def tree_starts(self) -> NDArray[np.int64]:
        """First velocity of each kinematic tree (nt + 1,); the last entry is nv."""
        return first_dofs(self.model)

    @cached_property
    def body_trees(self) -> NDArray[np.int64]:
        """Number of the kinematic tree of each body (nb,); -1 for a body fixed to the world."""
        return body_trees(self.model)

    @cached_property
    def extents(self) -> Extents:
        """Size of each shape, and the rotations that move its surface."""
        return extents_of(self.surfaces)

    @cached_property
    def has_moment_friction(self) -> bool:
        """Return True if any surface has torsional or rolling friction."""
        materials = (*(surface.material for surface in self.surfaces), *self.half_space_materials)
        return any(material.torsional > 0.0 or material.rolling > 0.0 for material in materials)

    @cached_property
    def packed_shapes(self) -> PackedShapes:
        """The shapes, then the half-spaces, packed for collision detection.

        A user's shape has only a number. A shape that is too large raises `SimulationConfigError`.
        """
        from contactlab.collision.detection import pack_shapes

        placed = [
            PlacedShape(s.shape if isinstance(s.shape, Shape) else Sphere(1.0), s.placement) for s in self.surfaces
        ]
        try:
            return pack_shapes([*placed, *self.half_spaces])
        except ContactError as error:
            raise SimulationConfigError(error.field, error.detail) from error

    def cast_rays(
        self,
        q: ArrayLike,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        reach: float = np.inf,
        exclude: Collection[str] = (),
        time: float = 0.0,
    ) -> RayHits:
        """Return the first surface that each ray hits, with the bodies at q, as for range finders and depth cameras.

        Parameters
        ----------
        q
            (nq,) configuration.
        origins, directions
            (n, 3), world axes, or (3,) for all rays; directions have any nonzero length.
        reach
            Maximum distance of a hit [m].
        exclude
            Names of bodies that the rays pass through, such as the body in which they start.
        time
            Time at which kinematic bodies are placed [s].

        Notes
        -----
        Surfaces count from either side: a ray that starts in a solid hits its surface from inside. Meshes are hit in
        their collision form (hulls, or triangles), terrain on its surface, not on its sides. 4096 rays and 20 shapes
        take a few milliseconds.

        Raises
        ------
        SimulationConfigError
            A user's shape, which has support points and no surface: exclude its body.
        """
        R, p = body_poses(self.model, np.asarray(q, dtype=np.float64))
        for body, motion in self.motions:
            pose = motion.pose(time)
            R[body], p[body] = pose.R, pose.p
        return cast_rays(self, (R, p), origins, directions, reach, exclude)

    @cached_property
    def loops(self) -> ConstraintSet:
        """The loops as a set of constraints of the model, in their order."""
        return ConstraintSet(self.model, [loop.constraint for loop in self.joint_actions.loops])

    @cached_property
    def coordinate_index(self) -> Mapping[tuple[str, int], tuple[int, int]]:
        """Index of each coordinate, by the body that its joint moves and its number: `place_of`."""
        model, found = self.model, {}
        for body in model.bodies:
            dof, at = model.v_slice(body.name).start, model.q_slice(body.name).start
            for i, own in enumerate(positions(body.joint)):
                found[body.name, i] = (dof + i, -1 if own is None else at + own)
        return found

    def place_of(self, joint: str, coordinate: int = 0) -> tuple[int, int]:
        """Return the index of a joint's coordinate in v, and of its position in q (-1 if it has none).

        The joint is named by the body it moves, or by its own name.
        """
        place = self.coordinate_index.get((joint, coordinate))
        if place is None and joint not in self.model.names:
            # Raises for an unknown name, with similar ones.
            place = self.coordinate_index.get((self.model.body_of_joint(joint), coordinate))
        if place is None:
            raise SimulationConfigError("coordinate", f"joint {joint!r} has none of the number {coordinate!r}")
        return place

    def name_of(self, body: int, half_space: int = -1) -> str:
        """Return the name of a half-space, or of a body; "world" for neither, in an external contact."""
        if half_space >= 0:
            return self.half_space_names[half_space]
        return self.model.names[body] if body >= 0 else WORLD

    @cached_property
    def joint_rows(self) -> tuple[JointRow, ...]:
        """Joint rows of the contact problem, in the order of their numbers."""
        return joint_rows(self)

    def __repr__(self) -> str:
        return f"World(bodies={list(self.model.names)}, half_spaces={list(self.half_space_names)})"

"""Part of the world builder for bodies, and for their colliders and visuals."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import HalfSpace, HeightField, Material, Shape
from contactlab.multibody import BodySpec, Model, ModelBuilder, joints
from contactlab.multibody.arguments import check_configuration, check_velocity
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion
from contactlab.multibody.spatial.arrays import FloatArray, finite_array
from contactlab.simulation.world.errors import SimulationConfigError, check_type
from contactlab.simulation.world.joint_builder import Coefficients, JointBuilder, Limits
from contactlab.simulation.world.motion import (
    PrescribedMotion,
    check_in_plane,
    check_moves_in_plane,
    planar_body,
    plane_normal,
)
from contactlab.simulation.world.surface import (
    ALL,
    LIMIT,
    AnyShape,
    Collider,
    Visual,
    VisualMesh,
    as_colliders,
    as_visual,
    check_filter,
)

# A contact's id has 20 bits for a body's number.
MAX_BODIES = 1 << 20


class BodyBuilder(JointBuilder):
    """Collects bodies, half-spaces, shapes and visuals; `WorldBuilder` is one."""

    def __init__(
        self, gravity: ArrayLike = (0.0, 0.0, -9.81), *, body_contacts: bool = True, planar: ArrayLike | None = None
    ) -> None:
        super().__init__(gravity)
        self._plane = plane_normal(planar)
        self._body_contacts = bool(body_contacts)
        self._geoms: dict[tuple[int, int, int], int] = {}  # classes of the geoms of MuJoCo files, and their bits
        self._surfaces: dict[str, tuple[Collider, ...]] = {}
        self._visuals: dict[str, tuple[Visual, ...]] = {}
        self._motions: dict[str, PrescribedMotion] = {}
        self._ignored: dict[tuple[str, str], None] = {}
        self._half_spaces: dict[str, tuple[HalfSpace, Material, int, int]] = {}

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

    def add_half_space(
        self, name: str, half_space: HalfSpace, material: Material, *, category: int = 1, mask: int = ALL
    ) -> None:
        """Add a fixed half-space with a new name; see `add_shape` for the filters."""
        check_name(name, self._half_spaces)
        check_type("half_space", half_space, HalfSpace)
        check_type("material", material, Material)
        if self._plane is not None:
            check_in_plane("half_space", half_space.normal, self._plane)
        if len(self._half_spaces) >= LIMIT:
            raise SimulationConfigError("half_space", f"at most {LIMIT} fit a contact id")
        self._half_spaces[name] = (half_space, material, *check_filter(category, mask))

    def add_shape(
        self,
        body: str,
        shape: AnyShape | Sequence[AnyShape],
        material: Material,
        *,
        placement: Transform | None = None,
        category: int = 1,
        mask: int = ALL,
        shown: bool = True,
    ) -> None:
        """Add one shape, or several, to a body at ``placement`` from the shape's axes to the body's.

        Two shapes can touch if the category of either has a bit in common with the other's mask, 32 bits each. So
        shapes of category 2 with the mask ``~2 & 0xFFFFFFFF`` touch all but one another. Half-spaces have filters too.
        Pictures omit shapes that are not ``shown``; `add_visual` adds visuals in their place.
        """
        self._need_body(body, "body")
        added = as_colliders(shape, material, placement, LIMIT, category, mask)
        if body in self._motions:
            check_moves(added)
        if not shown:
            added = tuple(dataclasses.replace(surface, visible=False) for surface in added)
        self._surfaces[body] = (*self._surfaces.get(body, ()), *added)

    def move_body(self, body: str, motion: PrescribedMotion) -> None:
        """Make a body that is fixed in the world kinematic, with a prescribed motion.

        It may be a mocap body of a MuJoCo file, or a body that a description fixes to the world.

        Parameters
        ----------
        body
            Its name; it must have no children.
        motion
            As for `add_kinematic_body`; it contains the pose of the body from the start.
        """
        self._need_body(body, "body")
        spec, q, v = self._bodies[body]
        hanging = next((other.name for other, *_ in self._bodies.values() if other.parent == body), None)
        if spec.parent != WORLD or spec.joint.nv:
            raise SimulationConfigError("body", f"{body!r} does not stand fixed in the world: its joint moves it")
        if hanging is not None:
            raise SimulationConfigError("body", f"{hanging!r} hangs on {body!r}, and would not move with it")
        start = start_of(motion)
        check_moves(self._surfaces.get(body, ()))
        self._bodies[body] = (dataclasses.replace(spec, placement=start), q, v)
        self._motions[body] = motion

    def add_visual(
        self,
        body: str,
        shape: Shape | VisualMesh,
        *,
        placement: Transform | None = None,
        rgba: ArrayLike | None = None,
    ) -> None:
        """Add a visual to a body, without contact.

        Parameters
        ----------
        body, placement
            Body, and pose in it.
        shape
            One of `contactlab.collision`, or a mesh, whose file is read when it is drawn.
        rgba
            Red, green, blue and opacity, each from 0 to 1, for parts without a colour.
        """
        self._need_body(body, "body")
        self._visuals[body] = (*self._visuals.get(body, ()), as_visual(shape, placement, rgba))

    def exclude_collision(self, a: str, b: str) -> None:
        """Exclude contacts between two bodies."""
        for body in (a, b):
            self._need_body(body, "body")
        self._ignored[(a, b)] = None

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


def check_name(name: object, taken: Iterable[str]) -> None:
    """Raise if a name is empty, not a string, or already used."""
    if not isinstance(name, str) or not name:
        raise SimulationConfigError("name", f"must be a non-empty string, got {name!r}")
    if name in taken:
        raise SimulationConfigError("name", f"{name!r} is used already")


def start_of(motion: object) -> Transform:
    """Return the first pose of a motion; raise if the value is not a motion."""
    if not isinstance(motion, PrescribedMotion):
        raise SimulationConfigError("motion", f"must offer pose(t) and twist(t), got {type(motion).__name__}")
    finite_array(motion.twist(0.0), "motion.twist", (6,), SimulationConfigError)
    return motion.pose(0.0)


def check_moves(surfaces: Iterable[Collider]) -> None:
    """Raise if a kinematic body cannot have these shapes."""
    if any(isinstance(surface.shape, HeightField) for surface in surfaces):
        raise SimulationConfigError("shape", "a HeightField must stand still")


def with_prefix(body: BodySpec, prefix: str) -> BodySpec:
    """Return a body with a prefix before its name and the name of its parent."""
    parent = body.parent if body.parent == WORLD else prefix + body.parent
    name, joint_name = prefix + body.name, prefix + body.joint_name
    return dataclasses.replace(body, name=name, parent=parent, joint_name=joint_name)

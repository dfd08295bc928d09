"""A world: a multibody model with shapes and materials, half-spaces, gravity and a start; the state between steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.collision import ContactError, HalfSpace, Material, PlacedShape, Shape, Sphere
from contactlab.multibody import Model, MultibodyError, body_poses
from contactlab.multibody.arguments import check_configuration, check_velocity
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.constraints import ConstraintSet
from contactlab.multibody.model import structure
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, finite_array, finite_number, read_only, set_fields
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.joint_actions import JointActions, JointRow, joint_rows
from contactlab.simulation.world.motion import PrescribedMotion
from contactlab.simulation.world.surface import Collider, Extents, RayHits, Visual, extents_of

if TYPE_CHECKING:
    from contactlab.collision.detection import PackedShapes


#: Empty arrays of ids, pairs of numbers and numbers.
NO_IDS, NO_PAIRS, NO_NUMBERS = (
    read_only(np.zeros(shape, dtype=kind))
    for shape, kind in (((0,), np.int64), ((0, 2), np.float64), ((0,), np.float64))
)


@dataclass(frozen=True, eq=False)
class StepperState:
    """State of a stepper. A step from the same state gives the same bits in any run.

    Parameters
    ----------
    q, v
        Configuration (nq,) and velocity (nv,) of the world's bodies.
    time
        [s].
    h
        Size of the step that led here [s], 0 at a start. An adaptive stepper starts with it; a fixed-step stepper
        ignores it.
    contact_ids
        (nc,) int64, ascending: the contacts of the step that led here.
    z
        (nc, w) their LCP variables, the warm start: normal force [N], r forces along the friction directions and r
        against them [N], slip speed [m/s]; w = 2 + 2 r.
    row_ids, row_z
        (n,) int64, ascending, and (n, 2): the same for the joint rows (`World.joint_rows`) that took part.
    rest, tau
        In runs with sleeping bodies: the time for which each tree has rested [s] (nt,), and the applied force of the
        step that led here (nv,). If empty, both are 0.

    Notes
    -----
    Arrays are copied and read-only; the value can be copied and pickled.
    """

    q: FloatArray
    v: FloatArray
    time: float = 0.0
    h: float = 0.0
    contact_ids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    z: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    row_ids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    row_z: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    rest: FloatArray = field(default_factory=lambda: np.zeros(0))
    tau: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        ids, row_ids = _ids("contact_ids", self.contact_ids), _ids("row_ids", self.row_ids)
        shapes = {"z": (None, None), "row_z": (row_ids.size, 2)} | dict.fromkeys(("q", "v", "rest", "tau"), (None,))
        checked: dict[str, Any] = {
            "contact_ids": ids,
            "row_ids": row_ids,
            "time": finite_number(self.time, "time", SimulationConfigError),
            "h": finite_number(self.h, "h", SimulationConfigError, least=0.0),
        }
        for name, shape in shapes.items():
            checked[name] = finite_array(getattr(self, name), name, shape, SimulationConfigError)
        if len(checked["z"]) != ids.size:
            raise SimulationConfigError("z", f"has {len(checked['z'])} rows for {ids.size} contact ids")
        set_fields(self, **checked)

    @classmethod
    def of_run(cls, time: float, h: float, **arrays: NDArray[Any]) -> StepperState:
        """Return the state with these values, which the run has already checked.

        Read-only arrays, such as `NO_IDS`, are not copied.
        """
        state = object.__new__(cls)
        held = state.__dict__
        held["time"], held["h"] = time, h
        for name, array in arrays.items():
            own = array
            if array.flags.writeable:
                own = array.copy()
                own.setflags(write=False)
            held[name] = own
        return state

    def without_warm_start(self) -> StepperState:
        """Return the same state without contacts and joint rows: the next step's solver starts cold."""
        none = np.zeros(0, dtype=np.int64)
        return replace(self, contact_ids=none, z=np.zeros((0, 0)), row_ids=none, row_z=np.zeros((0, 2)))


def _ids(name: str, given: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a read-only int64 copy of ids (n,); raise unless they ascend without repetition."""
    ids = np.array(given)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise SimulationConfigError(name, f"must be whole numbers (n,), got {ids.dtype} {ids.shape}")
    if np.any(ids[1:] <= ids[:-1]):
        raise SimulationConfigError(name, "must ascend without repetition")
    ids = ids.astype(np.int64)
    ids.flags.writeable = False
    return ids


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
    def tree_starts(self) -> IntArray:
        """First velocity of each kinematic tree (nt + 1,); the last entry is nv."""
        return self.model.tree_starts

    @cached_property
    def body_trees(self) -> IntArray:
        """Number of the kinematic tree of each body (nb,); -1 for a body fixed to the world."""
        return self.model.body_trees

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
        return self.cast_rays_at((R, p), origins, directions, reach=reach, exclude=exclude)

    def cast_rays_at(
        self,
        poses: tuple[FloatArray, FloatArray],
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        reach: float = np.inf,
        exclude: Collection[str] = (),
    ) -> RayHits:
        """Return the hits of rays as `cast_rays`, with the bodies at poses (nb, 3, 3) and (nb, 3)."""
        from contactlab.collision.detection import first_hits

        out = {self.model.index(name) for name in exclude}
        shapes = [s for s, owner in enumerate(self.surface_bodies) if owner not in out]
        for s in shapes:
            if not isinstance(self.surfaces[s].shape, Shape):
                kind, name = type(self.surfaces[s].shape).__name__, self.model.names[self.surface_bodies[s]]
                detail = f"must name {name!r}: its shape, a {kind}, has no surface for rays"
                raise SimulationConfigError("exclude", detail)
        n, n_half_spaces = len(self.surfaces), len(self.half_spaces)
        chosen = np.array([*shapes, *range(n, n + n_half_spaces)], dtype=np.int64)
        # The pose of the world, for half-spaces, follows the poses of the bodies.
        rows = np.vstack(
            [np.concatenate([poses[0].reshape(-1, 9), poses[1]], axis=1), [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]]
        )
        owner = np.array([*self.surface_bodies, *[-1] * n_half_spaces], dtype=np.int64)
        packed = self.packed_shapes
        packed = packed._replace(kind=packed.kind[chosen], size=packed.size[chosen], place=packed.place[chosen])
        distance, number, normal = first_hits(packed, rows[owner[chosen]], origins, directions, reach)
        # A last entry for rays without a hit, whose number is -1.
        number = np.append(chosen, -1)[number]
        return RayHits(
            distance=distance,
            normal=normal,
            body=np.append(owner, -1)[number],
            shape=np.where(number < n, number, -1),
            half_space=np.where(number < n, -1, number - n),
        )

    @cached_property
    def loops(self) -> ConstraintSet:
        """The loops as a set of constraints of the model, in their order."""
        return ConstraintSet(self.model, [loop.constraint for loop in self.joint_actions.loops])

    @cached_property
    def coordinate_index(self) -> Mapping[tuple[str, int], tuple[int, int]]:
        """Index of each coordinate, by the body that its joint moves and its number: `place_of`."""
        names = ((body.name, i) for body in self.model.bodies for i in range(body.joint.nv))
        places = enumerate(self.model.position_index.tolist())
        return dict(zip(names, places, strict=True))

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
        return joint_rows(self.joint_actions, self.model, self.loops, self.place_of, (self.initial_q, self.initial_v))

    def __repr__(self) -> str:
        return f"World(bodies={list(self.model.names)}, half_spaces={list(self.half_space_names)})"


def check_model(model: Model) -> None:
    """Raise `SimulationConfigError` with the reason if the loop cannot step a model."""
    for body in model.bodies:
        if any(joint is body.joint for joint, _, _ in model.packed.custom):
            raise SimulationConfigError(
                "model", f"the joint of {body.name!r} is a custom one, which the compiled loop cannot evaluate"
            )
    root, iv = structure(model).root, structure(model).iv
    apart = np.flatnonzero(np.diff(root) < 0)
    if apart.size:
        dof = int(iv[apart[0] + 1])
        name = next(body.name for body in model.bodies if dof < model.v_slice(body.name).stop)
        raise SimulationConfigError(
            "model", f"bodies of one tree must be consecutive, {name!r} is not; `WorldBuilder.add_model` sorts them"
        )

"""Part of the world builder for colliders and visuals of bodies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from numpy.typing import ArrayLike

from contactlab.contact import BodyShape, HalfSpace, HeightField, Material, PlacedShape, Shape
from contactlab.multibody.model import WORLD
from contactlab.spatial import Transform
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.world.errors import SimulationConfigError, check_type
from contactlab.world.joint_builder import JointBuilder
from contactlab.world.motion import PrescribedMotion
from contactlab.world.plane import check_in_plane
from contactlab.world.surface import ALL, Collider, as_colliders, check_filter
from contactlab.world.visual import Visual, VisualMesh, as_visual

#: Shape of a collider: one of the library, or a user's shape with support points, which touches only half-spaces.
AnyShape = Shape | BodyShape | PlacedShape

# Numbers of a contact's parts share one 64-bit id: 21 bits each for half-space and support point, 20 for the body.
LIMIT = 1 << 21


class ShapeBuilder(JointBuilder):
    """Collects half-spaces, and the shapes and visuals of bodies; `WorldBuilder` is one."""

    def __init__(self, plane: FloatArray | None) -> None:
        super().__init__()
        self._plane = plane
        self._surfaces: dict[str, tuple[Collider, ...]] = {}
        self._visuals: dict[str, tuple[Visual, ...]] = {}
        self._motions: dict[str, PrescribedMotion] = {}
        self._ignored: dict[tuple[str, str], None] = {}
        self._half_spaces: dict[str, tuple[HalfSpace, Material, int, int]] = {}

    def add_half_space(
        self, name: str, half_space: HalfSpace, material: Material, *, category: int = 1, mask: int = ALL
    ) -> None:
        """Add a fixed half-space with a new name; `add_shape` documents the filters."""
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
        """Give a body one more shape, or several, at ``placement`` from the shape's axes to the body's.

        Two shapes can touch if the category of either has a bit in common with the other's mask, 32 bits each; so
        shapes of category 2 with the mask ``~2 & 0xFFFFFFFF`` touch all but one another. Half-spaces have filters too.
        Pictures leave out shapes that are not ``shown``; `add_visual` adds what is seen instead.
        """
        self._check_body(body)
        added = as_colliders(shape, material, placement, LIMIT, category, mask)
        if body in self._motions:
            check_moves(added)
        if not shown:
            added = tuple(dataclasses.replace(surface, visible=False) for surface in added)
        self._surfaces[body] = (*self._surfaces.get(body, ()), *added)

    def move_body(self, body: str, motion: PrescribedMotion) -> None:
        """Let a body that stands fixed in the world move as a motion says, like a kinematic body.

        A mocap body of a MuJoCo file, or a body that a description fixes to the world, becomes one.

        Parameters
        ----------
        body
            Its name; nothing may hang on it.
        motion
            As for `add_kinematic_body`; it has the pose of the body from the start.
        """
        self._check_body(body)
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
        """Give a body something to be seen, which touches nothing.

        Parameters
        ----------
        body, placement
            Body, and placement on it.
        shape
            One of `contactlab.contact`, or a mesh, whose file is read when it is drawn.
        rgba
            Red, green, blue and opacity, each from 0 to 1, for parts without a colour.
        """
        self._check_body(body)
        self._visuals[body] = (*self._visuals.get(body, ()), as_visual(shape, placement, rgba))

    def exclude_collision(self, a: str, b: str) -> None:
        """Let two bodies pass through each other."""
        for body in (a, b):
            self._check_body(body)
        self._ignored[(a, b)] = None

    def _check_body(self, body: str) -> None:
        if body not in self._bodies:
            raise SimulationConfigError("body", f"no body is called {body!r}")


def check_name(name: object, taken: Iterable[str]) -> None:
    """Refuse a name that is no name, or is taken."""
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
    """Refuse shapes that a kinematic body cannot have."""
    if any(isinstance(surface.shape, HeightField) for surface in surfaces):
        raise SimulationConfigError("shape", "a HeightField must stand still")

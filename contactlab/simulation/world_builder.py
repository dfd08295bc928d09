"""Builder of worlds: every call is checked at once, and a refused call leaves the builder as it was."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact import BodyShape, HalfSpace, Material
from contactlab.multibody import FreeBodies
from contactlab.simulation.errors import SimulationConfigError
from contactlab.simulation.world import World
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray, finite_array, read_only

__all__ = ["WorldBuilder"]

# Numbers of a contact's parts share one 64-bit id: 21 bits each for body, half-space and support point.
LIMIT = 1 << 21


class WorldBuilder:
    """Collect bodies and half-spaces, then `build` the `World`.

    Parameters
    ----------
    gravity
        (3,) [m/s^2], world axes.

    Examples
    --------
    >>> from contactlab.contact import Box, HalfSpace, Material
    >>> from contactlab.spatial import RigidInertia
    >>> builder = WorldBuilder()
    >>> builder.add_half_space("floor", HalfSpace((0, 0, 1), 0.0), Material(0.5))
    >>> builder.add_free_body("cube", RigidInertia.solid_box(1.0, (0.1,) * 3), Box.cube(0.1), Material(0.5))
    >>> builder.build()
    World(bodies=['cube'], half_spaces=['floor'])
    """

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self._gravity = finite_array(gravity, "gravity", (3,), SimulationConfigError)
        self._bodies: dict[str, tuple[RigidInertia, BodyShape, Material, FloatArray, FloatArray]] = {}
        self._half_spaces: dict[str, tuple[HalfSpace, Material]] = {}

    def add_half_space(self, name: str, half_space: HalfSpace, material: Material) -> None:
        """Add a fixed half-space under a name no other half-space has."""
        self._check_name(name, self._half_spaces)
        _check_type("half_space", half_space, HalfSpace)
        _check_type("material", material, Material)
        if len(self._half_spaces) >= LIMIT:
            raise SimulationConfigError("half_space", f"at most {LIMIT} fit a contact id")
        self._half_spaces[name] = (half_space, material)

    def add_free_body(
        self,
        name: str,
        inertia: RigidInertia,
        shape: BodyShape,
        material: Material,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
    ) -> None:
        """Add a free body.

        Parameters
        ----------
        name
            One no other body has.
        inertia, shape, material
            All about the body's own origin and axes.
        q
            (7,) start: origin [m] and unit quaternion (w, x, y, z); default the world origin, unturned.
        v
            (6,) start: velocity of the origin in world axes [m/s], angular velocity in body axes [rad/s]; default 0.
        """
        self._check_name(name, self._bodies)
        _check_type("inertia", inertia, RigidInertia)
        _check_type("material", material, Material)
        if not isinstance(shape, BodyShape):
            raise SimulationConfigError("shape", f"must offer support_points(), got {type(shape).__name__}")
        points, radii = shape.support_points()
        radii = finite_array(radii, "shape.radii", (None,), SimulationConfigError)
        finite_array(points, "shape.points", (radii.size, 3), SimulationConfigError)
        if radii.size == 0:
            raise SimulationConfigError("shape", "has no support point")
        if np.any(radii < 0.0):
            raise SimulationConfigError("shape.radii", f"entry [{int(np.argmin(radii))}] is negative: {radii.min()}")
        if radii.size > LIMIT or len(self._bodies) >= LIMIT:
            raise SimulationConfigError("shape", f"at most {LIMIT} bodies and points per body fit a contact id")
        one = FreeBodies([name], [inertia], self._gravity)
        start_q = one.neutral() if q is None else one.check_q(q)
        start_v = np.zeros(6) if v is None else one.check_v(v)
        self._bodies[name] = (inertia, shape, material, start_q, start_v)

    def build(self) -> World:
        """Return the world; the builder may be used on, without effect on it."""
        if not self._bodies:
            raise SimulationConfigError("bodies", "a world needs at least one body, got none")
        inertias, shapes, materials, q, v = zip(*self._bodies.values(), strict=True)
        return World(
            bodies=FreeBodies(self._bodies, inertias, self._gravity),
            shapes=tuple(shapes),
            materials=tuple(materials),
            half_space_names=tuple(self._half_spaces),
            half_spaces=tuple(half_space for half_space, _ in self._half_spaces.values()),
            half_space_materials=tuple(material for _, material in self._half_spaces.values()),
            initial_q=read_only(np.concatenate(q)),
            initial_v=read_only(np.concatenate(v)),
        )

    def _check_name(self, name: object, taken: dict[str, object] | object) -> None:
        if not isinstance(name, str) or not name:
            raise SimulationConfigError("name", f"must be a non-empty string, got {name!r}")
        assert isinstance(taken, dict)
        if name in taken:
            raise SimulationConfigError("name", f"{name!r} is used already")


def _check_type(field: str, value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise SimulationConfigError(field, f"must be a {wanted.__name__}, got {type(value).__name__}")

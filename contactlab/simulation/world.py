"""A world: free bodies with shapes and materials, half-spaces, gravity and a start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact import BodyShape, HalfSpace, Material, combine
from contactlab.multibody import FreeBodies
from contactlab.simulation.kernels.layout import Model
from contactlab.simulation.state import StepperState
from contactlab.spatial.arrays import FloatArray

__all__ = ["World"]


@dataclass(frozen=True, eq=False)
class World:
    """What moves and what it can touch. Made by `WorldBuilder`; immutable.

    Attributes
    ----------
    bodies
        The `FreeBodies`: names, inertias, gravity.
    shapes, materials
        One per body, in the order of ``bodies.names``.
    half_space_names, half_spaces, half_space_materials
        The fixed surroundings.
    initial_q, initial_v
        (nq,) and (nv,) start, read-only.
    """

    bodies: FreeBodies
    shapes: tuple[BodyShape, ...]
    materials: tuple[Material, ...]
    half_space_names: tuple[str, ...]
    half_spaces: tuple[HalfSpace, ...]
    half_space_materials: tuple[Material, ...]
    initial_q: FloatArray
    initial_v: FloatArray

    @property
    def nq(self) -> int:
        """Length of q, 7 per body."""
        return self.bodies.nq

    @property
    def nv(self) -> int:
        """Length of v, 6 per body."""
        return self.bodies.nv

    def initial_state(self, h: float = 0.0, *, q: ArrayLike | None = None, v: ArrayLike | None = None) -> StepperState:
        """Return the start at time 0, with another q (nq,) or v (nv,) where given and no warm start.

        ``h`` [s], where not 0, is the step an adaptive stepper sets out from; one with a fixed step takes its own.
        """
        return StepperState(
            q=self.initial_q if q is None else self.bodies.check_q(q),
            v=self.initial_v if v is None else self.bodies.check_v(v),
            h=h,
        )

    @cached_property
    def model(self) -> Model:
        """The arrays the kernels take. They are writable only for the compiler's sake: never modify them."""
        packed = self.bodies.packed
        supports = [shape.support_points() for shape in self.shapes]
        counts = [len(radii) for _, radii in supports]
        pairs = [[combine(surface, own) for surface in self.half_space_materials] for own in self.materials]
        pair_array = np.array(pairs, dtype=np.float64).reshape(self.bodies.nb, len(self.half_spaces), 2)
        return Model(
            mass=packed.mass,
            com=packed.com,
            inertia=packed.inertia,
            inertia_inv=packed.inertia_inv,
            gravity=packed.gravity,
            point_start=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).astype(np.int64),
            points=np.array([p for points, _ in supports for p in points], dtype=np.float64).reshape(-1, 3),
            radii=np.array([radius for _, radii in supports for radius in radii], dtype=np.float64),
            normals=np.array([half_space.normal for half_space in self.half_spaces]).reshape(-1, 3).copy(),
            offsets=np.array([half_space.offset for half_space in self.half_spaces], dtype=np.float64),
            pair_mu=np.ascontiguousarray(pair_array[:, :, 0]),
            pair_restitution=np.ascontiguousarray(pair_array[:, :, 1]),
        )

    def __repr__(self) -> str:
        return f"World(bodies={list(self.bodies.names)}, half_spaces={list(self.half_space_names)})"

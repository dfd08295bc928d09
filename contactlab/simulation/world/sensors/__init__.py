"""Sensors: small values, read of a run after any step, or of a record for all its steps at once.

``run.read(Accelerometer("torso"))`` is a vector (d,), ``recording.read(...)`` of the same sensor (n_steps, d). Any
object with a method ``measure(view)`` is a sensor; ``view`` is a `StepView` with the data of the steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from contactlab.collision import PlacedShape, Shape
from contactlab.collision.detection import PackedShapes, first_hits, pack_shapes
from contactlab.collision.shapes.shape import pose_row
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial import Transform
from contactlab.multibody.spatial.arrays import FloatArray, close_names, finite_array, set_fields
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.sensors.joint import (
    Accelerometer,
    AngularVelocity,
    FrameOrientation,
    FramePosition,
    Gyroscope,
    JointForce,
    JointPosition,
    JointTorque,
    JointVelocity,
    LinearVelocity,
    OnBody,
    SubtreeAngularMomentum,
    SubtreeCenterOfMass,
    SubtreeVelocity,
    Velocimeter,
    turned_back,
)
from contactlab.simulation.world.sensors.step_view import Clipped, Noisy, Sensor, StepView
from contactlab.simulation.world.world import World

__all__ = [
    "Accelerometer", "AngularVelocity", "Clipped", "ContactForce", "ContactWrench", "FrameOrientation", "FramePosition",
    "Gyroscope", "JointForce", "JointPosition", "JointTorque", "JointVelocity", "LinearVelocity", "Noisy",
    "RangeFinder", "Sensor", "StepView", "SubtreeAngularMomentum", "SubtreeCenterOfMass", "SubtreeVelocity", "Touch",
    "Velocimeter",
]  # fmt: skip

IN_BODY = pose_row(Transform())[None]


def _check_other(world: World, name: str) -> None:
    """Raise if neither a body nor a half-space has this name."""
    known = (*world.model.names, *world.half_space_names)
    if name not in known and name != WORLD:
        raise SimulationConfigError("other", f"no body or half-space is called {name!r}{close_names(name, known)}")


def _check_shapes(world: World, body: str, table: Any) -> None:
    """Raise if a body cannot be in contact: it has no shape, and the steps have no external contacts."""
    names = world.model.names
    # External contacts have no shapes, and can act on any body.
    if body in names and names.index(body) not in world.surface_bodies and not (table.shape_b < 0).any():
        raise SimulationConfigError(
            "body", f"{body!r} has no shape, so that nothing touches it: WorldBuilder.add_shape"
        )


@dataclass(frozen=True, eq=False)
class ContactForce:
    """Sum of the contact forces on a body, mean over the step, (3,) world axes [N].

    Parameters
    ----------
    body
        Name of the body on which they act.
    other
        Their source: a body or half-space, or "world" for all surfaces of the world; None for all.
    shapes
        Numbers in `World.surfaces`: one shape of either body, or a pair, that must take part. Empty for all.
    """

    body: str
    other: str | None = None
    shapes: tuple[int, ...] = ()

    def measure(self, view: StepView) -> FloatArray:
        """Return the mean force on the body (3,) [N], or (n, 3) of n steps; raise for unknown names."""
        force: FloatArray = self._pair(view).force_on(self.body)
        return force.reshape(*view.q.shape[:-1], 3)

    def _pair(self, view: StepView) -> Any:
        """Return the `ContactPair`."""
        if self.body in view.world.half_space_names and self.body not in view.world.model.names:
            way = f"{type(self).__name__}({self.other or 'a body'!r}, {self.body!r}) has the opposite force"
            raise SimulationConfigError("body", f"{self.body!r} is a half-space, and goes second: {way}")
        if self.other is not None:
            _check_other(view.world, self.other)
        table, count = view.contact_table(self.body), len(view.world.surfaces)
        for name in (self.body, self.other):
            if name is not None:
                _check_shapes(view.world, name, table)
        for shape in self.shapes:
            if not 0 <= shape < count:
                raise SimulationConfigError("shapes", f"{shape}: the world has shapes 0 .. {count - 1}")
            table = table.rows((table.shape_a == shape) | (table.shape_b == shape))
        return table.between(self.body, self.other)


@dataclass(frozen=True, eq=False)
class ContactWrench(ContactForce):
    """Moment of the contact forces on a body about one of its points, and their sum, (6,) world axes [N m, N].

    Means over the step; the point is at its position before the step, like the contacts. The moment includes torsional
    and rolling friction.

    Parameters
    ----------
    body, other, shapes
        As for `ContactForce`.
    point
        (3,) [m] in body coordinates.
    """

    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        finite_array(self.point, "point", (3,), SimulationConfigError)

    def measure(self, view: StepView) -> FloatArray:
        """Return mean moment and force (6,) [N m, N], or (n, 6) of n steps."""
        pair, (_, at) = self._pair(view), view.pose(self.body, Transform(p=self.point), before=True)
        wrench: FloatArray = pair.net_wrench(at=at, on=self.body)
        return wrench.reshape(*view.q.shape[:-1], 6)


@dataclass(frozen=True, eq=False)
class Touch:
    """Sum of the normal forces of a body's contacts in a zone, mean over the step, (1,) [N].

    A contact counts if it is in the zone, or if the ray along its normal out of the body meets the zone. So the zone
    may cover the surface or be outside it, as in MuJoCo.

    Parameters
    ----------
    body
        Name of the body.
    zone
        A shape in the body, bare or `PlacedShape`; it takes no part in collisions.
    """

    body: str
    zone: Shape | PlacedShape

    def __post_init__(self) -> None:
        if not isinstance(self.zone, Shape | PlacedShape):
            raise SimulationConfigError("zone", f"must be a shape or PlacedShape, got {type(self.zone).__name__}")

    @cached_property
    def _packed(self) -> PackedShapes:
        return pack_shapes([self.zone])

    def measure(self, view: StepView) -> FloatArray:
        """Return the mean normal force in the zone (1,) [N], or (n, 1) of n steps."""
        known = view.contact_table(self.body)
        _check_shapes(view.world, self.body, known)
        table = known.between(self.body).table
        lead = view.q.shape[:-1]
        R, p = view.pose(self.body, Transform(), before=True)
        # Convert to the axes of the body: one row per contact, with its step.
        steps = (table.step - table.scope.first) if lead else np.zeros(len(table), dtype=np.int64)
        R, p = R.reshape(-1, 3, 3)[steps], p.reshape(-1, 3)[steps]
        outward = np.where(table.body_a == view.world.model.index(self.body), 1.0, -1.0)[:, None] * table.normal
        distance, _, _ = first_hits(self._packed, IN_BODY, turned_back(R, table.point - p), turned_back(R, outward))
        total = np.zeros(lead or (1,))
        np.add.at(total, steps, np.where(np.isfinite(distance), table.impulse_normal, 0.0))
        return np.asarray((total / view.h).reshape(*lead, 1))


@dataclass(frozen=True, eq=False)
class RangeFinder(OnBody):
    """Distances (n,) [m] from the frame's origin to the hits of rays, after the step.

    Parameters
    ----------
    body, placement
        Frame of the sensor; the rays pass through its body.
    directions
        (n, 3) in the frame's axes, of any length; by default one ray along z.
    reach
        Range of the sensor, and the reading if a ray has no closer hit [m].
    exclude
        Names of further bodies that the rays pass through.
    """

    directions: FloatArray = field(default_factory=lambda: np.array([[0.0, 0.0, 1.0]]))
    reach: float = np.inf
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, directions=finite_array(self.directions, "directions", (None, 3), SimulationConfigError))

    def measure(self, view: StepView) -> FloatArray:
        """Return the distances of the rays' hits (d,) [m], or (n, d) of n steps, none beyond ``reach``."""
        out, lead = {self.body, *self.exclude} - {"world"}, view.q.shape[:-1]
        frames = (*view.pose(self.body, self.placement), *view.poses())
        by_step = zip(*(part.reshape(-1, *part.shape[len(lead) :]) for part in frames), strict=True)
        readings = [
            view.world.cast_rays_at(
                (bodies_R, bodies_p), p, self.directions @ R.T, reach=self.reach, exclude=out
            ).distance
            for R, p, bodies_R, bodies_p in by_step
        ]
        return np.minimum(np.reshape(readings, (*lead, len(self.directions))), self.reach)

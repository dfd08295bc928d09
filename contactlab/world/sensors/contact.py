"""Sensors of contact forces, means over a step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from contactlab.contact import Placed, Shape
from contactlab.contact.detection import PackedShapes, pack_shapes
from contactlab.contact.detection.packing import pose_row
from contactlab.contact.detection.rays import first_hits
from contactlab.spatial import Transform
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.world.errors import SimulationConfigError
from contactlab.world.sensors.motion import turned_back
from contactlab.world.sensors.step_view import StepView

IN_BODY = pose_row(Transform())[None]


@dataclass(frozen=True, eq=False)
class ContactForce:
    """Sum of the contact forces on a body, mean over the step, (3,) world axes [N].

    Parameters
    ----------
    body
        Name of the body they act on.
    other
        What they come from: a body or half-space, or "world" for all that is the world's own; None for everything.
    shapes
        Numbers in `World.surfaces`: one shape of either, or a pair, that has to take part. Empty for all.
    """

    body: str
    other: str | None = None
    shapes: tuple[int, ...] = ()

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        force: FloatArray = self._pair(view).force_on(self.body)
        return force.reshape(*view.q.shape[:-1], 3)

    def _pair(self, view: StepView) -> Any:
        """Return the `ContactPair`."""
        if self.body in view.world.half_space_names:
            way = f"{type(self).__name__}({self.other or 'a body'!r}, {self.body!r}) has the opposite force"
            raise SimulationConfigError("body", f"{self.body!r} is a half-space, and goes second: {way}")
        table, count = view.contact_table(self.body), len(view.world.surfaces)
        for shape in self.shapes:
            if not 0 <= shape < count:
                raise SimulationConfigError("shapes", f"{shape}: the world has shapes 0 .. {count - 1}")
            table = table.rows((table.shape_a == shape) | (table.shape_b == shape))
        return table.between(self.body, self.other)


@dataclass(frozen=True, eq=False)
class ContactWrench(ContactForce):
    """Moment of the contact forces on a body about one of its points, and their sum, (6,) world axes [N m, N].

    Means over the step; the point is where it was before the step, as the contacts are. Torsional and rolling friction
    is in the moment.

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
        """Return the reading."""
        _, at = view.pose(self.body, Transform(p=self.point), before=True)
        wrench: FloatArray = self._pair(view).net_wrench(at=at, on=self.body)
        return wrench.reshape(*view.q.shape[:-1], 6)


@dataclass(frozen=True, eq=False)
class Touch:
    """Sum of the normal forces of a body's contacts in a zone, mean over the step, (1,) [N].

    A contact counts that lies in the zone, or from which the normal leads into it, out of the body: the zone may cover
    the surface or stand before it, as MuJoCo's may.

    Parameters
    ----------
    body
        Name of the body.
    zone
        A shape in the body, bare or `Placed`; it takes no part in collisions.
    """

    body: str
    zone: Shape | Placed

    def __post_init__(self) -> None:
        if not isinstance(self.zone, Shape | Placed):
            raise SimulationConfigError("zone", f"must be a shape or Placed, got {type(self.zone).__name__}")

    @cached_property
    def _packed(self) -> PackedShapes:
        return pack_shapes([self.zone])

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        table = view.contact_table(self.body).between(self.body).table
        lead = view.q.shape[:-1]
        R, p = view.pose(self.body, Transform(), before=True)
        # Into the axes of the body: one row of contacts each, and the steps they belong to.
        steps = (table.step - table.scope.first) if lead else np.zeros(len(table), dtype=np.int64)
        R, p = R.reshape(-1, 3, 3)[steps], p.reshape(-1, 3)[steps]
        outward = np.where(table.body_a == view.world.model.index(self.body), 1.0, -1.0)[:, None] * table.normal
        rays = turned_back(R, table.point - p), turned_back(R, outward)
        distance, _, _ = first_hits(self._packed, IN_BODY, *rays)
        total = np.zeros(lead or (1,))
        np.add.at(total, steps, np.where(np.isfinite(distance), table.impulse_normal, 0.0))
        return np.asarray((total / view.h).reshape(*lead, 1))

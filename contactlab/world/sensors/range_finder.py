"""Range finders, lidars and depth cameras: distances along rays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.world.errors import SimulationConfigError
from contactlab.world.rays import cast_rays
from contactlab.world.sensors.motion import OnBody
from contactlab.world.sensors.step_view import StepView


@dataclass(frozen=True, eq=False)
class RangeFinder(OnBody):
    """Distances (n,) [m] from the frame's origin to what rays meet, after the step.

    Parameters
    ----------
    body, placement
        Where it is; the rays pass through the body itself.
    directions
        (n, 3) in the frame's axes, of any length; by default one ray along z.
    reach
        How far it sees: the reading where a ray meets nothing nearer [m].
    exclude
        Names of further bodies that the rays pass through.
    """

    directions: FloatArray = field(default_factory=lambda: np.array([[0.0, 0.0, 1.0]]))
    reach: float = np.inf
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        rays = finite_array(self.directions, "directions", (None, 3), SimulationConfigError)
        object.__setattr__(self, "directions", read_only(rays))

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        out = {self.body, *self.exclude} - {"world"}
        lead = view.q.shape[:-1]
        R, p = (part.reshape(-1, *part.shape[len(lead) :]) for part in view.pose(self.body, self.placement))
        bodies = [part.reshape(-1, *part.shape[len(lead) :]) for part in view.poses()]
        readings = np.empty((len(R), len(self.directions)))
        for k, reading in enumerate(readings):
            at = bodies[0][k], bodies[1][k]
            hits = cast_rays(view.world, at, p[k], self.directions @ R[k].T, self.reach, out)
            reading[:] = np.minimum(hits.distance, self.reach)
        return readings.reshape(*lead, -1)

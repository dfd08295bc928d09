"""Where runs begin: near a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from contactlab.learning.errors import LearningError
from contactlab.multibody import integrate
from contactlab.spatial.arrays import FloatArray, finite_number
from contactlab.world.state import StepperState
from contactlab.world.world import World


@dataclass(frozen=True)
class Noise:
    """The world's initial state, moved at random; first all of q is drawn, then all of v.

    Parameters
    ----------
    q
        Each coordinate moves by up to so much [rad or m], orientations by a rotation vector; uniform. No joint leaves
        its range by it: it begins at the stop. Contacts are not looked at: see `docs/learning.md` for what stands.
    v
        The same of velocities [rad/s or m/s].
    v_law
        ``"uniform"``, within that; ``"normal"``, with that as deviation.

    Raises
    ------
    LearningError
        Naming the field and the value.
    """

    q: float = 0.0
    v: float = 0.0
    v_law: Literal["uniform", "normal"] = "uniform"

    def __post_init__(self) -> None:
        for name in ("q", "v"):
            if (value := finite_number(getattr(self, name), name, LearningError)) < 0.0:
                raise LearningError(name, f"must not be negative, got {value}")
        if self.v_law not in ("uniform", "normal"):
            raise LearningError("v_law", f"must be 'uniform' or 'normal', got {self.v_law!r}")

    def __call__(self, world: World, rng: np.random.Generator) -> StepperState:
        """Return where a run begins."""
        moved = rng.uniform(-self.q, self.q, world.nv)
        law = rng.standard_normal if self.v_law == "normal" else lambda n: rng.uniform(-1.0, 1.0, n)
        q = integrate(world.model, world.initial_q, moved, 1.0) if self.q else world.initial_q
        if self.q:
            _keep_to_stops(world, q)
        return world.initial_state(q=q, v=world.initial_v + self.v * law(world.nv))


def _keep_to_stops(world: World, q: FloatArray) -> None:
    """Move joints that were taken beyond a stop back to it; what begins beyond one goes no further."""
    for limit in world.joint_actions.limits:
        _, at = world.place_of(limit.joint, limit.coordinate)
        begins = world.initial_q[at]
        q[at] = min(max(q[at], min(limit.lower, begins)), max(limit.upper, begins))

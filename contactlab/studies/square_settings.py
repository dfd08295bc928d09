"""Settings of square-drop runs, what is chosen and not measured, and the choices that were fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass

from contactlab.studies.square_path import Calibration
from contactlab.studies.toss_settings import check_settings

#: The camera against the floor in the 364 public drops, from their poses at rest.
SHARED_CALIBRATION = Calibration(angle=-0.03339, height=2.944e-3, slope=2.940e-3)
# Dry friction of the plates, from the flights of the public drops (`docs/validation.md`): mass times these [m/s^2].
GUIDE_X, GUIDE_Z = 0.2, 0.5
#: Acceleration of the flights before the first impact [m/s^2], which starts are fitted with.
FALL = 9.22


@dataclass(frozen=True)
class SquareSettings:
    """What is chosen, not measured, in a run."""

    mu: float = 0.1  # friction coefficient between square and floor
    restitution: float = 0.0  # Newton's coefficient, 0 to 1
    # Speed of approach [m/s] above which a contact rebounds with it; slower ones close their gap.
    impact_speed: float = 0.05
    gravity: float = 9.81  # [m/s^2]
    # Dry friction of the glass plates along x and z: the deceleration it causes [m/s^2].
    guide_x: float = 0.0
    guide_z: float = 0.0
    inertia_scale: float = 1.0  # factor of the moment of inertia of a full square
    # Of a corner on the floor [N/m, N s/m]; infinite and 0 for a rigid contact. Not together with a restitution.
    stiffness: float = math.inf
    dissipation: float = 0.0
    substeps: int = 4  # time steps per frame

    def __post_init__(self) -> None:
        check_settings(self, ("mu", "impact_speed", "guide_x", "guide_z"), ("gravity", "inertia_scale"))


#: Named settings; their numbers were fitted to the 364 public drops.
MODELS = {
    "no rebound": SquareSettings(mu=0.1),
    "rigid": SquareSettings(mu=0.1, restitution=0.4),
    "rigid, gravity 9.2": SquareSettings(mu=0.1, restitution=0.4, gravity=9.2),
    "rigid, guide friction": SquareSettings(mu=0.1, restitution=0.4, guide_x=GUIDE_X, guide_z=GUIDE_Z),
    "corners give way, guide friction": SquareSettings(
        mu=0.1, stiffness=12e3, dissipation=2.5, guide_x=GUIDE_X, guide_z=GUIDE_Z, substeps=8
    ),
}

_MU = (0.06, 0.08, 0.1, 0.12, 0.15, 0.2)
#: Points over which a model is fitted.
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "rigid": {"mu": _MU, "restitution": (0.35, 0.4, 0.45, 0.5)},
    "rigid, guide friction": {"mu": _MU, "restitution": (0.35, 0.4, 0.45, 0.5)},
    "corners give way, guide friction": {"mu": (0.08, 0.1, 0.115, 0.13), "dissipation": (1.0, 1.75, 2.5, 4.0)},
}

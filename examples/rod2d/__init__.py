"""A planar rod on the half-space y <= 0: its problem data and three methods to move it.

`rod` has the body and its geometry, `problems` the problem data of each level, `compliant` the continuous model with
springs at the ends, `motion` the rigid accelerations, impacts and steps that follow from the problem data.
"""

from .compliant import compliant_acceleration, compliant_force, friction_coefficient
from .motion import after_impact, is_impacting, mode, rigid_acceleration, step
from .problems import acceleration_data, impact_data, step_data
from .rod import DEFAULT_STATE, Rod, State

__all__ = [
    "DEFAULT_STATE",
    "Rod",
    "State",
    "acceleration_data",
    "after_impact",
    "compliant_acceleration",
    "compliant_force",
    "friction_coefficient",
    "impact_data",
    "is_impacting",
    "mode",
    "rigid_acceleration",
    "step",
    "step_data",
]

"""An LCP/MLCP contact-solver toolkit in Drake's style, on an RBDL-style multibody core.

Problem data feed a `ConstraintSolver`, which reduces mixed problems to LCPs and solves them by Lemke or quadratic
programs. Time stepping, impact laws and races of solvers stand on it.

The names below load on first use, so that ``import contactlab`` costs next to nothing. All others are in
`contactlab.multibody`, `contactlab.collision`, `contactlab.constraint_solver`, `contactlab.simulation`,
`contactlab.impact`, `contactlab.event_driven`, `contactlab.derivatives`, `contactlab.view` and `contactlab.lab`. The
complementarity solvers are in `lcp`, the problem data in `problem_data`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contactlab.collision import Box, Capsule, Cylinder, HalfSpace, Material, Sphere
    from contactlab.constraint_solver.certificate import ForceChoice
    from contactlab.constraint_solver.model_problem import problem_data_from
    from contactlab.constraint_solver.quadratic_programs import ConvexRelaxation, StaggeredProjections
    from contactlab.constraint_solver.solver import ConstraintSolveError, ConstraintSolver
    from contactlab.constraint_solver.strategy_solver import EqualCompliance
    from contactlab.event_driven import EventDriven
    from contactlab.multibody.spatial import RigidInertia, Transform
    from contactlab.simulation import Batch, Simulation, rollout
    from contactlab.simulation.recording import Recording
    from contactlab.simulation.simulate_run import simulate
    from contactlab.simulation.stepping import TimeStepping
    from contactlab.simulation.verification import verify
    from contactlab.simulation.world import World, WorldBuilder
    from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData
    from problem_data.validation import FileError

__all__ = [
    "Batch", "Box", "Capsule", "Cylinder", "EventDriven", "HalfSpace", "Material", "Recording", "RigidInertia",
    "Simulation", "Sphere", "TimeStepping", "Transform", "World", "WorldBuilder", "rollout", "simulate", "verify",
    "ForceChoice", "ConstraintAccelProblemData", "ConstraintSolveError", "ConstraintSolver", "ConstraintVelProblemData",
    "ConvexRelaxation", "EqualCompliance", "FileError", "StaggeredProjections", "problem_data_from", "__version__",
]  # fmt: skip

__version__ = "0.1.0"

_NAMES = {
    "contactlab.simulation": "Batch Simulation rollout simulate",
    "contactlab.collision": "Box Capsule Cylinder HalfSpace Material Sphere",
    "contactlab.event_driven": "EventDriven",
    "contactlab.simulation.recording": "Recording",
    "contactlab.multibody.spatial": "RigidInertia Transform",
    "contactlab.simulation.stepping": "TimeStepping",
    "contactlab.simulation.world": "World WorldBuilder",
    "contactlab.simulation.verification": "verify",
    "contactlab.constraint_solver.certificate": "ForceChoice",
    "contactlab.constraint_solver": "ConstraintSolveError ConstraintSolver",
    "contactlab.constraint_solver.model_problem": "problem_data_from",
    "contactlab.constraint_solver.quadratic_programs": "ConvexRelaxation StaggeredProjections",
    "contactlab.constraint_solver.strategy_solver": "EqualCompliance",
    "problem_data": "ConstraintAccelProblemData ConstraintVelProblemData",
    "problem_data.validation": "FileError",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Import a public name from its module the first time it is asked for."""
    if name not in _HOME:
        from contactlab.naming import unknown_name

        raise unknown_name(__name__, name, __all__)
    value: object = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, and neither modules nor imports."""
    return sorted(__all__)

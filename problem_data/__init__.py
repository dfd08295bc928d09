"""Constraint problem data: the constrained dynamics at one instant, as operators and vectors.

The package knows neither bodies nor solvers. A problem is a frozen value that can be printed, saved,
reloaded and solved again:

>>> import problem_data
>>> problem_data.ConstraintVelProblemData(M=[[1.0]], Mv=[-1.0], N=[[1.0]])
ConstraintVelProblemData(nv=1, contacts=1, friction rows=0, limits=0, bilaterals=0)
"""

from problem_data.acceleration import ConstraintAccelProblemData
from problem_data.constrained import AccelerationBlocks, ConstraintForces, VelocityBlocks
from problem_data.io import load, save
from problem_data.operators import LinearMap
from problem_data.validation import FileError, ProblemDataError
from problem_data.velocity import ConstraintVelProblemData

__all__ = [
    "AccelerationBlocks", "ConstraintAccelProblemData", "ConstraintForces", "ConstraintVelProblemData", "FileError",
    "LinearMap", "ProblemDataError", "VelocityBlocks", "load", "save",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Raise for a name that is not here; Drake's solver is in contactlab."""
    text = f"module {__name__!r} has no attribute {name!r}"
    if name == "ConstraintSolver":
        text += ": Drake's ConstraintSolver is contactlab.ConstraintSolver here"
    raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    """List the public names, and neither modules nor imports."""
    return sorted(__all__)

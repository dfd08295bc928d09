"""Rigid bodies in contact: from body state to certified contact forces, every arrow open to view.

The names below load on first use, so that ``import contactlab`` costs next to nothing. Everything else has one
address each: `contactlab.spatial`, `contactlab.multibody`, `contactlab.contact`, `contactlab.formulation`,
`contactlab.simulation`. The complementarity solvers live in `lcp`, the problem data in `problem_data`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contactlab.certificate import Choice
    from contactlab.constraint_solver import ConstraintSolveError, ConstraintSolver
    from contactlab.formulation.convex_relaxation import ConvexRelaxation
    from contactlab.formulation.proposal import EqualCompliance
    from contactlab.formulation.staggered_projections import StaggeredProjections
    from problem_data.errors import FileError

__all__ = [
    "Choice",
    "ConstraintSolveError",
    "ConstraintSolver",
    "ConvexRelaxation",
    "EqualCompliance",
    "FileError",
    "StaggeredProjections",
    "__version__",
]

__version__ = "0.1.0"

_HOME = {
    "Choice": "contactlab.certificate",
    "ConstraintSolveError": "contactlab.constraint_solver",
    "ConstraintSolver": "contactlab.constraint_solver",
    "ConvexRelaxation": "contactlab.formulation.convex_relaxation",
    "EqualCompliance": "contactlab.formulation.proposal",
    "FileError": "problem_data.errors",
    "StaggeredProjections": "contactlab.formulation.staggered_projections",
}


def __getattr__(name: str) -> object:
    """Import a public name from its module the first time it is asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the lazy names beside the loaded ones."""
    return sorted(globals().keys() | _HOME.keys())

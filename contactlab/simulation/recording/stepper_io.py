"""Steppers as JSON values. A solver of a user's class is stored by its name only."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import lcp
from contactlab.constraint_solver.discretized import DiscretizedLCP
from contactlab.constraint_solver.friction_backend import (
    VERIFIED,
    FrictionAnswer,
    FrictionBackend,
    law_of,
    qp_code_objection,
)
from contactlab.constraint_solver.quadratic_programs import ConvexRelaxation, StaggeredProjections
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording.world_io import Json, by_name
from contactlab.simulation.stepping.prepared import Sleep
from contactlab.simulation.stepping.time_stepping import TimeStepping
from contactlab.simulation.world.errors import SimulationConfigError
from lcp.contacts.strategies import strategies_of

_fields: Any = dataclasses.fields  # of a class known only at run time


def stepper_to_json(stepper: TimeStepping) -> Json:
    """Return the stepper's options as JSON values; a solver that is not one of `lcp`'s by its name."""
    values = {field.name: getattr(stepper, field.name) for field in dataclasses.fields(stepper)}
    if stepper.max_depenetration_velocity == math.inf:
        values["max_depenetration_velocity"] = "inf"
    values["sleep"] = None if stepper.sleep is None else dataclasses.asdict(stepper.sleep)
    values["solver"] = None if stepper.solver is None else _solver_to_json(stepper.solver)
    return values


@dataclasses.dataclass(frozen=True)
class ForgottenBackend:
    """A user's friction backend, or one with a user's code, as stored in a record: only these fields."""

    name: str
    law: str
    tolerance: float

    def solve_contacts(self, formed: DiscretizedLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Raise an error: the record does not contain the code."""
        detail = f"{self.name} is code that the record does not hold; give the stepper one: dataclasses.replace"
        raise SimulationConfigError("solver", detail)


def stepper_from_json(data: Json) -> TimeStepping:
    """Return the stepper; with the default solver if the record's was not one of `lcp`'s.

    The default also replaces quadratic programming solvers, which steppers once accepted for worlds without friction.
    """
    solver = None if data["solver"] is None else _solver_from_json(data["solver"])
    solver = None if qp_code_objection(solver) else solver
    sleep = None if data.get("sleep") is None else Sleep(**data["sleep"])
    # Before schema 8 a run stopped at unsolved islands, and before schema 9 impacts ignored the gap. Records without
    # the integrator used Euler's rule.
    early = {"on_unsolved": "raise", "integrator": "euler", "max_depenetration_velocity": "inf"}
    given = {**early, **data, "solver": solver, "sleep": sleep}
    if given["max_depenetration_velocity"] == "inf":
        given["max_depenetration_velocity"] = math.inf
    # Older records have ``attempts``; each is now a part of one strategy.
    if "attempts" in given:
        given["strategies"] = strategies_of(given.pop("attempts"))
    return TimeStepping(**given)


# Solvers of `lcp`, combinators included, and friction backends.
_SOLVERS = by_name(
    *lcp.ALL_SOLVERS,
    *lcp.OPTIONAL_SOLVERS,
    *lcp.ALL_FRICTION_SOLVERS,
    *(lcp.Cascade, lcp.Fallback, lcp.Feasibility, lcp.Refined, lcp.Regularized),
    *(ConvexRelaxation, StaggeredProjections),
)
# Friction solvers of old records, and their present replacements.
_RENAMED = {
    "FrictionCascade": "ContactStrategies",
    "ContactAttempts": "ContactStrategies",
    "ProximalPoint": "SemismoothNewton",
}


def _solver_to_json(solver: Any) -> Json:
    """Return the solver's class name and options, options None for one of a user's class.

    Of a friction backend also the law and the tolerance.
    """
    data: Json = {"name": type(solver).__name__, "options": None}
    if _SOLVERS.get(data["name"]) is type(solver):
        data["options"] = {field.name: _option_to_json(getattr(solver, field.name)) for field in _fields(solver)}
    if isinstance(solver, FrictionBackend):
        # Stored for backends, and solvers within them, that a record cannot contain: a step is checked by these values.
        data |= {"law": law_of(solver), "tolerance": getattr(solver, "tolerance", VERIFIED)}
    return data


def _option_to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_option_to_json(item) for item in value]
    return _solver_to_json(value) if hasattr(value, "solve") else value


def _solver_from_json(data: Json) -> Any:
    """Return the solver, or None for one that is not of `lcp`, or contains one.

    For a backend, law and tolerance are always known.
    """
    forgotten = ForgottenBackend(data["name"], data["law"], data["tolerance"]) if "law" in data else None
    if data["options"] is None:
        return forgotten
    options = {name: _option_from_json(value) for name, value in data["options"].items()}
    name: str = data["name"]
    cls = _SOLVERS[_RENAMED.get(name, name)]
    if cls is lcp.ContactStrategies and "attempts" in options:
        options["strategies"] = strategies_of(options.pop("attempts"))
    if cls is lcp.Fallback:
        solvers = options.pop("solvers")
        return None if None in solvers else lcp.Fallback(*solvers, **options)
    return forgotten if None in (options.get("inner", True), options.get("qp", True)) else cls(**options)


def _option_from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_option_from_json(item) for item in value)
    return _solver_from_json(value) if isinstance(value, dict) else value

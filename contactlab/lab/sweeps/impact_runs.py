"""Families of impacts on worker processes: the map of `contactlab.impact.impact_map`, one task for each point."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.impact import ImpactLaw, ImpactMap, all_laws
from contactlab.impact.compare import Point, assemble_map, coefficients_of, parameter_grid, problem_at, solve_point
from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.store import SweepResult
from contactlab.lab.sweeps.tasks import FunctionName, load_function, name_of
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintVelProblemData

_loaded = functools.lru_cache(maxsize=8)(load_function)


@dataclasses.dataclass(frozen=True, eq=False)
class ImpactGrid:
    """A family of impacts under several laws, for `contactlab.lab.sweep`: what `contactlab.impact.impact_map` takes.

    Parameters
    ----------
    problem, laws
        As there, at the top level of a module, or of a script that calls this under ``if __name__ == "__main__":``.
    axes, restitutions
        As there.

    Raises
    ------
    ImpactError
        An axis without values.
    """

    problem: Callable[..., ConstraintVelProblemData]
    axes: Mapping[str, ArrayLike]
    restitutions: Sequence[float] | FloatArray = (0.0, 0.5, 1.0)
    laws: Callable[[float], Mapping[str, ImpactLaw]] = all_laws

    def __post_init__(self) -> None:
        parameter_grid(self.axes), coefficients_of(self.restitutions)

    @property
    def function(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """What runs a task."""
        return solve_impact

    def tasks(self) -> list[dict[str, Any]]:
        """Return a task for every point of the grid, for all restitutions and laws."""
        shared = {
            "problem": dataclasses.asdict(name_of(self.problem)),
            "laws": dataclasses.asdict(name_of(self.laws)),
            "restitutions": coefficients_of(self.restitutions).tolist(),
        }
        return [{**shared, "at": at} for _, at in parameter_grid(self.axes)[1]]

    def to_impact_map(self, result: SweepResult) -> ImpactMap:
        """Return the map of what `contactlab.lab.sweep` of this grid returned.

        Raises
        ------
        SweepError
            A point that failed, with its parameters.
        """
        for row in result.failures:
            raise SweepError(f"{len(result.failures)} points failed, the first at {row['at']}: {row['error']}")
        e = coefficients_of(self.restitutions)
        return assemble_map(
            parameter_grid(self.axes)[0], e, tuple(self.laws(float(e[0]))), [_point(row) for row in result.rows]
        )


def solve_impact(task: dict[str, Any]) -> dict[str, Any]:
    """Solve one task of an `ImpactGrid`: its row, arrays as lists with None for NaN."""
    problem, laws = (_loaded(FunctionName(**task[name])) for name in ("problem", "laws"))
    data = problem_at(problem, task["at"], ConstraintVelProblemData)
    energy, motion, notices, v_plus = solve_point(data, [laws(e) for e in task["restitutions"]])
    numbers = {"energy": energy, "motion": motion, "notices": notices, "v_plus": v_plus}
    row = {name: [None if value != value else value for value in given.ravel()] for name, given in numbers.items()}
    return {**row, "shape": list(v_plus.shape)}


def _point(row: Mapping[str, Any]) -> Point:
    shape = row["shape"]
    energy, v_plus = (np.array(row[name], dtype=np.float64) for name in ("energy", "v_plus"))
    motion, notices = np.array(row["motion"], dtype=np.int64), np.array(row["notices"], dtype=bool)
    return energy.reshape(shape[:2]), motion.reshape(shape[:2]), notices.reshape(shape[:2]), v_plus.reshape(shape)

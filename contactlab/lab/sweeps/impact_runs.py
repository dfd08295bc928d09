"""Families of impacts on worker processes: the map of `contactlab.impact.sweep`, one task for each point."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.impact import ImpactLaw, ImpactMap, every_law
from contactlab.impact.sweep import Point, assembled, coefficients_of, grid, posed, solve_point
from contactlab.lab.errors import SweepError
from contactlab.lab.sweeps.functions import FunctionName, load_function, name_of
from contactlab.lab.sweeps.sweeping import sweep
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintVelProblemData


def impact_sweep(
    problem: Callable[..., ConstraintVelProblemData],
    axes: Mapping[str, ArrayLike],
    *,
    restitutions: Sequence[float] | FloatArray = (0.0, 0.5, 1.0),
    laws: Callable[[float], Mapping[str, ImpactLaw]] = every_law,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> ImpactMap:
    """Solve a family of impacts under several laws, on worker processes: the numbers of `contactlab.impact.sweep`.

    Parameters
    ----------
    problem, laws
        As there, at the top level of a module, or of a script that calls this under ``if __name__ == "__main__":``.
    axes, restitutions
        As there.
    out, jobs, cluster, progress
        See `contactlab.lab.sweep`: what stands in the folder is not solved again.

    Raises
    ------
    ImpactError
        An axis without values.
    SweepError
        A point that failed, with its parameters, and what `contactlab.lab.sweep` refuses.
    """
    values, points = grid(axes)
    e = coefficients_of(restitutions)
    shared = {
        "problem": dataclasses.asdict(name_of(problem)),
        "laws": dataclasses.asdict(name_of(laws)),
        "restitutions": e.tolist(),
    }
    tasks = [{**shared, "at": at} for _, at in points]
    result = sweep(solve_impact, tasks, out=out, jobs=jobs, cluster=cluster, progress=progress)
    for row in result.failures:
        raise SweepError(f"{len(result.failures)} points failed, the first at {row['at']}: {row['error']}")
    return assembled(values, e, tuple(laws(float(e[0]))), [_point(row) for row in result.rows])


def solve_impact(task: dict[str, Any]) -> dict[str, Any]:
    """Solve one task of `impact_sweep`: its row, arrays as lists with None for NaN."""
    problem, laws = (_loaded(FunctionName(**task[name])) for name in ("problem", "laws"))
    data = posed(problem, task["at"], ConstraintVelProblemData)
    energy, motion, notices, v_plus = solve_point(data, [laws(e) for e in task["restitutions"]])
    numbers = {"energy": energy, "motion": motion, "notices": notices, "v_plus": v_plus}
    row = {name: [None if value != value else value for value in given.ravel()] for name, given in numbers.items()}
    return {**row, "shape": list(v_plus.shape)}


def _point(row: Mapping[str, Any]) -> Point:
    shape = row["shape"]
    energy, v_plus = (np.array(row[name], dtype=np.float64) for name in ("energy", "v_plus"))
    motion, notices = np.array(row["motion"], dtype=np.int64), np.array(row["notices"], dtype=bool)
    return energy.reshape(shape[:2]), motion.reshape(shape[:2]), notices.reshape(shape[:2]), v_plus.reshape(shape)


@functools.lru_cache(maxsize=8)
def _loaded(name: FunctionName) -> Callable[..., Any]:
    return load_function(name)

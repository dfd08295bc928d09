"""Problems of runs: what a step solved, from a record or from saved problem data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import lcp
import problem_data
from contactlab.formulation.acceleration import form_acceleration_lcp
from contactlab.formulation.discretized import form_discretized_lcp
from contactlab.lab.errors import DatasetError
from contactlab.simulation import RecordError, Recording

DEFAULT_H = 1e-3  # s, as in `contactlab explain`


def captured_problem(
    data: problem_data.ConstraintVelProblemData | problem_data.ConstraintAccelProblemData, h: float = DEFAULT_H
) -> lcp.LCP:
    """Return the LCP that problem data make, bilateral rows eliminated.

    Parameters
    ----------
    data
        As `contactlab.simulation.Recording.problem` or `problem_data.load` gives them. Velocity-level data make the
        problem of a step, acceleration-level data that of the forces at an instant.
    h
        Size of the step [s]; of no meaning to acceleration-level data.

    Raises
    ------
    problem_data.ProblemDataError
        h is not positive, or the bilateral rows cannot be eliminated.
    """
    if isinstance(data, problem_data.ConstraintAccelProblemData):
        instant = form_acceleration_lcp(data)
        return instant.problem
    step = form_discretized_lcp(data, h)
    return step.problem


def load_problem_data(path: Path, h: float = DEFAULT_H) -> lcp.LCP:
    """Return the LCP of a file that `problem_data.save` wrote; a `DatasetError` says what is wrong with it."""
    try:
        return captured_problem(problem_data.load(path), h)
    except (problem_data.ProblemDataError, lcp.ProblemError, OSError) as error:
        raise DatasetError(path, getattr(error, "field", ""), str(error)) from error


def recorded_problems(path: Path, most_steps: int) -> Iterator[tuple[str, lcp.LCP]]:
    """Yield problems of a record, named ``step000012-island0``: all islands of so many steps, evenly spread.

    Steps without contacts or limits, which solve nothing, do not count. A `DatasetError` says why a record cannot be
    read.
    """
    recording = open_record(path)
    solving = np.flatnonzero(recording.islands)
    chosen = solving[np.unique(np.linspace(0, max(solving.size - 1, 0), most_steps).round().astype(int))]
    for i in map(int, chosen if solving.size else ()):
        for island in range(int(recording.islands[i])):
            yield f"step{i:06d}-island{island}", recorded_problem(path, recording, i, island)


def open_record(path: Path) -> Recording:
    """Return a record; a `DatasetError` says what is wrong with it."""
    try:
        return Recording.open(path)
    except (RecordError, OSError) as error:
        raise DatasetError(path, getattr(error, "field", ""), str(error)) from error


def recorded_problem(path: Path, recording: Recording, step: int, island: int) -> lcp.LCP:
    """Return the problem of one island of one step."""
    try:
        return captured_problem(recording.problem(step, island), float(recording.h[step]))
    except (IndexError, problem_data.ProblemDataError, lcp.ProblemError) as error:
        raise DatasetError(path, f"step {step}, island {island}", str(error)) from error

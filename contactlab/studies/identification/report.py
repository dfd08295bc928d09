"""From a file to what is identified in it, held against recordings that were not used, as plain values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.lab.datasets.fetching import only_file
from contactlab.lab.datasets.npz import array_names, files_with
from contactlab.lab.errors import DatasetError
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.studies.identification.arm import arm_recordings
from contactlab.studies.identification.planar import impact_recordings, square_recordings
from contactlab.studies.identification.problem import IdentificationResult
from contactlab.studies.identification.recordings import Recordings, fit
from contactlab.studies.identification.tosses import cube_recordings, elbow_recordings

#: By name of a piece of work and the work itself to its result, which may have been there before.
Kept = Callable[[str, Callable[[], dict[str, Any]]], dict[str, Any]]


def open_recordings(path: Path, robot: Path | None = None, *, threads: int | None = None) -> Recordings:
    """Return the recordings of a file, or of a folder with one; what they are its arrays tell.

    Tosses of the cube or of the elbow, planar impacts, or a recording of a ``robot`` described by a URDF or scene file.
    """
    if robot is not None:
        try:
            return arm_recordings(path, robot, threads=threads)
        except DatasetError:
            raise
        except ValueError as error:
            raise DatasetError(robot, "", str(error)) from error
    if path.is_dir() and files_with(path, "jac_normal"):
        return impact_recordings(path)
    path = only_file(path)
    if path.suffix.lower() == ".csv":
        raise DatasetError(path, "", "a robot's recording: its description, URDF or scene file, is needed, too")
    names = array_names(path)
    if "jac_normal" in names:
        return impact_recordings(path)
    if {"theta", "half_width"} <= names:
        return square_recordings(path, threads=threads)
    if "eval_ic" in names:
        return cube_recordings(path, threads=threads)
    if "joint" in names:
        return elbow_recordings(path, threads=threads)
    if {"t", "q", "tau"} <= names:
        raise DatasetError(path, "", "a robot's recording: its description, URDF or scene file, is needed, too")
    detail = (
        "holds no tosses (eval_ic; joint), planar impacts (jac_normal), square drops (theta), nor a robot's t, q, tau"
    )
    raise DatasetError(path, "", detail)


def report(
    recordings: Recordings,
    *,
    names: Sequence[str] = (),
    values: Mapping[str, float] | None = None,
    share: float = 0.4,
    seed: int = 0,
    iterations: int = 30,
    kept: Kept = lambda name, work: work(),
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Identify parameters from one part of the recordings, score them on both; return it all as JSON values.

    The ``share`` is that of recordings held back, where motions are scored, ``seed`` of its draw; ``kept`` does a piece
    of work, or finds its result; the others are as in `fit`.
    """
    rows, held = recordings.split(share if recordings.errors is not None else 0.0, seed)
    given = dict(values or {})

    def identified() -> dict[str, Any]:
        return _values(fit(recordings, rows, names=names, values=given, iterations=iterations, progress=progress))

    found = kept("fit", identified)
    told = {**given, **{name: one["value"] for name, one in found["parameters"].items()}}
    scores: dict[str, Any] = {}
    if recordings.errors is not None:
        for part, chosen in (("fitted", rows), ("held_back", held)):
            for which, numbers in (("nominal", recordings.nominal), ("identified", told)):
                if chosen.size:
                    work = _scored(recordings, numbers, chosen)
                    scores.setdefault(part, {})[which] = kept(f"{part}, {which}", work)
    return {
        "recordings": recordings.title,
        "fitted": int(rows.size),
        "held_back": int(held.size),
        "noise": recordings.noise,
        **found,
        "stay": given,
        "nominal": dict(recordings.nominal),
        "scores": scores,
    }


def score(errors: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return means over the motions that ran, how many there are and how many failed."""
    ran = np.isfinite(next(iter(errors.values())))
    means = {name: float(np.mean(of[ran])) if ran.any() else None for name, of in errors.items()}
    return {**means, "motions": int(ran.size), "failed": int(np.count_nonzero(~ran))}


def _scored(recordings: Recordings, numbers: Mapping[str, float], rows: IntArray) -> Callable[[], dict[str, Any]]:
    """Return the work of scoring some values."""

    def work() -> dict[str, Any]:
        assert recordings.errors is not None
        return score(recordings.errors(numbers, rows))

    return work


def _values(found: IdentificationResult) -> dict[str, Any]:
    """Return what was found as JSON values; None for what is not finite."""
    return {
        "parameters": {
            one.name: {"value": float(x), "low": _number(low), "high": _number(high), "unit": one.unit}
            for one, x, (low, high) in zip(found.parameters, found.values, found.intervals, strict=True)
        },
        "covariance": [[_number(x) for x in row] for row in found.covariance],
        "residual": _number(found.residual),
        "windows": int(found.weights.size),
        "standing_out": int(np.count_nonzero((found.weights > 0.0) & (found.weights < 1.0))),
        "without_prediction": int(np.count_nonzero(found.weights == 0.0)),
        "verdict": found.verdict.name.lower(),
        "why": found.why,
        "advice": found.verdict.advice,
        "iterations": found.iterations,
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None

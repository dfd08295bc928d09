"""Identification from planar recordings: single impacts of any body, and squares dropped between two plates.

Single impacts give friction and restitution of a law in closed form, from the velocities before and after. Drops give
friction, restitution, inertia, and the resistance of the plates, from a window about the first impact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.lab.datasets.recordings import (
    PlanarImpacts,
    SquareDrops,
    find_planar_impacts,
    load_planar_impacts,
    load_square_drops,
)
from contactlab.lab.errors import DatasetError
from contactlab.simulation import TimeStepping, World
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.studies import square
from contactlab.studies.identification.gauss_newton import Recordings
from contactlab.studies.identification.problem import Parameter, Problem, differences
from contactlab.studies.identification.windows import Windows, window_problem
from contactlab.studies.planar_fit import (
    REFERENCE_SPEED,
    SUSPECTS,
    PlanarModel,
    momentum_balance,
    prediction_errors,
    take,
)
from contactlab.studies.planar_laws import Law, planar_impulses
from contactlab.studies.square import run_squares, square_world

#: Noise of the velocities before and after an impact, relative to the speed before, in the norm of the mass matrix. The
#: second includes the error of a law of two numbers. With equal values, a varying e would fit the noise of the speeds.
NOISE_BEFORE, NOISE_AFTER = 0.01, 0.05
LAW: Law = "Poisson"
IMPACT_PARAMETERS = (
    Parameter("mu", 0.1, 2e-3, 0.0, 2.0),
    Parameter("restitution", 0.5, 2e-3, 0.0, 1.0),
    Parameter("offset", 0.0, 2e-5, -0.01, 0.01, "m"),
    Parameter("exponent", 0.0, 5e-3, -2.0, 2.0),
)


def impact_recordings(path: str | Path) -> Recordings:
    """Return the impacts of a file, or of the only file of impacts in a folder."""
    return planar_impacts(load_planar_impacts(find_planar_impacts(path)))


def planar_impacts(data: PlanarImpacts) -> Recordings:
    """Return the impacts of loaded data, with the sign of the tangent lever from the momentum balance."""
    balance = momentum_balance(data)
    model = PlanarModel(LAW, balance.lever_turned, ingredients=("offset", "exponent"))

    def problem(parameters: tuple[Parameter, ...], fixed: Mapping[str, float], rows: IntArray) -> Problem:
        return _impact_problem(take(data, rows), model.lever_turned, parameters, fixed, rows)

    def errors(values: Mapping[str, float], rows: IntArray) -> Mapping[str, FloatArray]:
        told = {one.name: one.start for one in IMPACT_PARAMETERS} | dict(values)
        numbers = np.array([told[one.name] for one in IMPACT_PARAMETERS])
        return {"error": prediction_errors(take(data, rows), model, numbers)[0]}

    def doubt(values: Mapping[str, float]) -> str:
        mu = values.get("mu", IMPACT_PARAMETERS[0].start)
        wrong = balance.contradiction(friction=mu > 0.0)
        return f"{wrong}: look at {SUSPECTS}" if wrong else ""

    return Recordings(
        title=f"planar impacts, tangent row {balance.reading}",
        noise=f"{100 * NOISE_BEFORE:g} % of the speed before, {100 * NOISE_AFTER:g} % after the impact, "
        "in the norm of the masses",
        parameters=IMPACT_PARAMETERS,
        default_parameters=("mu", "restitution"),
        nominal={"mu": 0.1, "restitution": 0.5},
        groups=np.arange(len(data)),
        problem=problem,
        errors=errors,
        unidentifiable={
            "mass": "impulses are not measured: velocities of any mass are the same",
            "inertia": "velocities cannot distinguish it from the lever of the contact; they determine `offset`",
        },
        plausibility_check=doubt,
    )


def _impact_problem(
    data: PlanarImpacts,
    lever_turned: bool,
    parameters: tuple[Parameter, ...],
    fixed: Mapping[str, float],
    groups: IntArray,
) -> Problem:
    """Return the problem of fitting a law to impacts; each impact is a window.

    The velocity before the impact is an unknown of the window, because it is measured like the velocity after it.
    """
    before, after, normal = data.before, data.after, data.normal
    tangent = data.tangent * [1.0, 1.0, -1.0 if lever_turned else 1.0]
    unit = np.sqrt((data.mass * before**2).sum(axis=1))[:, None] / np.sqrt(data.mass)
    told = {one.name: one.start for one in IMPACT_PARAMETERS} | dict(fixed)

    def residuals(values: FloatArray, local: FloatArray) -> FloatArray:
        n = {**told, **dict(zip((one.name for one in parameters), values.tolist(), strict=True))}
        v = before + NOISE_BEFORE * local * unit
        J = np.stack((normal + [0.0, 0.0, n["offset"]], tangent), axis=1)
        u, W = np.einsum("nij,nj->ni", J, v), np.einsum("nij,j,nkj->nik", J, 1.0 / data.mass, J)
        e = n["restitution"] * (np.maximum(-u[:, 0], 1e-9) / REFERENCE_SPEED) ** -n["exponent"]
        p = planar_impulses(LAW, W, u, n["mu"], np.clip(e, 0.0, 1.0))
        predicted = v + np.einsum("nij,ni->nj", J, p) / data.mass
        return np.asarray(np.hstack(((after - predicted) / (NOISE_AFTER * unit), -local)))

    return Problem(parameters, groups.copy(), residuals, differences(residuals, parameters, np.full(3, 1e-3)), 3)


#: Number of frames of a window before and after the first impact; frames must not be lost or outliers.
BEFORE = AFTER = 6
SUBSTEPS = 8
# Noise of a sample in flight [m, m, rad], and additional noise after the impact.
FLIGHT, MODEL = np.array([5e-4, 7e-4, 2e-2]), np.array([2e-3, 2e-3, 5e-2])
SQUARE_PARAMETERS = (
    Parameter("mu", 0.15, 2e-3, 0.0, 2.0),
    Parameter("restitution", 0.3, 1e-2, 0.0, 1.0),
    Parameter("inertia_scale", 1.0, 5e-3, 0.2, 5.0, "of a full square"),
    Parameter("guide_x", 0.2, 1e-2, 0.0, 5.0, "m/s^2"),
    Parameter("guide_z", 0.5, 1e-2, 0.0, 5.0, "m/s^2"),
)


def square_recordings(path: str | Path, *, threads: int | None = None) -> Recordings:
    """Return the drops of a file that have a complete window about their first impact."""
    drops = load_square_drops(path)
    every = square.prepare(drops, square.SHARED_CALIBRATION, square.FALL)
    starts = {i: first for i, one in enumerate(every) if (first := _first(drops, one)) is not None}
    if not starts:
        raise DatasetError(path, "", f"no drop has {BEFORE} good frames before its first impact and {AFTER} after it")
    paths = [every[i] for i in starts]
    windows = _windows(drops, paths, list(starts.values()))

    def settings(values: Mapping[str, float]) -> square.SquareSettings:
        known = {one.name for one in fields(square.SquareSettings)}
        chosen: dict[str, Any] = {name: x for name, x in values.items() if name in known}
        return replace(square.MODELS["rigid, guide friction"], substeps=SUBSTEPS, **chosen)

    stepper = TimeStepping(drops.dt / SUBSTEPS, restitution_threshold=settings({}).impact_speed)

    def problem(parameters: tuple[Parameter, ...], fixed: Mapping[str, float], rows: IntArray) -> Problem:
        def having(numbers: Mapping[str, float]) -> World:
            return square_world(settings(numbers), square.SHARED_CALIBRATION, drops.side)

        return window_problem(windows.at(rows), parameters, having, stepper, fixed=fixed, threads=threads)

    def errors(values: Mapping[str, float], rows: IntArray) -> Mapping[str, FloatArray]:
        found = run_squares(
            drops, [paths[i] for i in rows], settings(values), square.SHARED_CALIBRATION, threads=threads
        )
        return {"position_percent": found.position, "rotation_deg": found.rotation}

    return Recordings(
        title="square drops",
        noise="0.5 mm, 0.7 mm, 0.02 rad in flight, 2 mm and 0.05 rad more after the impact",
        parameters=SQUARE_PARAMETERS,
        default_parameters=("mu", "restitution"),
        nominal={"mu": 0.1, "restitution": 0.0},
        groups=np.arange(len(paths)),
        problem=problem,
        errors=errors,
        unidentifiable={"mass": "drops of any mass are the same, with all forces in proportion"},
    )


def _first(drops: SquareDrops, path: square.SquarePath) -> int | None:
    """Return the index of the first sample of the window around a drop's first impact, or None.

    The result is None if there is no impact, or if the window has lost frames or outliers.
    """
    floor = square.SHARED_CALIBRATION.height + square.SHARED_CALIBRATION.slope * path.pose[:, 0]
    clear = square.lowest_corner(path.pose[:, 1], path.pose[:, 2], drops.half_width) - floor > square.CLEAR
    rising = np.concatenate(([False], np.diff(path.pose[:, 1]) > 0.0))
    touching = ~clear | rising
    first = int(np.argmax(touching)) - BEFORE
    rows = slice(first, first + BEFORE + AFTER + 1)
    if not touching.any() or first < 0 or rows.stop > len(path.frame):
        return None
    whole = path.frame[rows][-1] - path.frame[first] == BEFORE + AFTER
    return first if whole and path.valid[rows].all() else None


def _windows(drops: SquareDrops, paths: list[square.SquarePath], starts: list[int]) -> Windows:
    """Return one window around each drop's impact; its initial state is the fitted flight at the first sample."""
    fall = np.array([0.0, -square.FALL, 0.0])
    late = np.array([path.frame[k] * drops.dt for path, k in zip(paths, starts, strict=True)])[:, None]
    q, v = (np.array([getattr(path, name) for path in paths]) for name in ("q", "v"))
    n = BEFORE + AFTER + 1
    return Windows(
        q=q + late * v + 0.5 * late**2 * fall,
        v=v + late * fall,
        measured=np.array([path.pose[k : k + n] for path, k in zip(paths, starts, strict=True)]),
        noise=np.array([FLIGHT + (MODEL if k >= BEFORE else 0.0) for k in range(n)]),
        every=SUBSTEPS,
        groups=np.arange(len(paths)),
    )

"""Identification from single planar impacts: friction and restitution in closed form, from velocities."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from contactlab.lab.datasets.recordings import (
    PlanarImpacts,
    find_planar_impacts,
    load_planar_impacts,
)
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.studies.identification.gauss_newton import Recordings
from contactlab.studies.identification.problem import Parameter, Problem, differences
from contactlab.studies.planar_fit import (
    REFERENCE_SPEED,
    SUSPECTS,
    PlanarModel,
    momentum_balance,
    prediction_errors,
    take,
)
from contactlab.studies.planar_laws import Law, planar_impulses

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

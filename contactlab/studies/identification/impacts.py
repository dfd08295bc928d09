"""Single planar impacts: friction and restitution of a law in closed form, from velocities before and after."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from contactlab.lab.datasets.planar_impacts import PlanarImpacts, find_planar_impacts, load_planar_impacts
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.studies.identification.problem import Parameter, Problem, differences
from contactlab.studies.identification.recordings import Recordings
from contactlab.studies.planar_fit import PlanarModel, prediction_errors
from contactlab.studies.planar_laws import planar_impulses

#: Noise in the norm of the mass matrix, against the speed before: of the velocity before, and of that after, where it
#: also stands for what no law of two numbers tells. Equal ones would let an e that varies fit the noise of speeds.
BEFORE, AFTER = 0.01, 0.05
REFERENCE_SPEED = 2.0
#: The tangent row as the balance of momentum has it (`docs/validation.md`), and the law of impulses.
MODEL = PlanarModel("Poisson", consistent=True, ingredients=("offset", "exponent"))
PARAMETERS = (
    Parameter("mu", 0.1, 2e-3, 0.0, 2.0),
    Parameter("restitution", 0.5, 2e-3, 0.0, 1.0),
    Parameter("offset", 0.0, 2e-5, -0.01, 0.01, "m"),
    Parameter("exponent", 0.0, 5e-3, -2.0, 2.0),
)


def impact_recordings(path: str | Path) -> Recordings:
    """Return the impacts of a file, or of the only such file of a folder."""
    return planar_impacts(load_planar_impacts(find_planar_impacts(path)))


def planar_impacts(data: PlanarImpacts) -> Recordings:
    """Return impacts, as read."""

    def problem(parameters: tuple[Parameter, ...], fixed: Mapping[str, float], rows: IntArray) -> Problem:
        return _problem(data, parameters, fixed, rows)

    def errors(values: Mapping[str, float], rows: IntArray) -> Mapping[str, FloatArray]:
        told = {one.name: one.start for one in PARAMETERS} | dict(values)
        kept = PlanarImpacts(
            data.path, data.before[rows], data.after[rows], data.normal[rows], data.tangent[rows], data.mass, 0
        )
        numbers = np.array([told[one.name] for one in PARAMETERS])
        return {"error": prediction_errors(kept, MODEL, numbers)[0]}

    return Recordings(
        title="planar impacts",
        noise=f"{100 * BEFORE:g} % of the speed before, {100 * AFTER:g} % after the impact, in the norm of the masses",
        parameters=PARAMETERS,
        usual=("mu", "restitution"),
        nominal={"mu": 0.1, "restitution": 0.5},
        groups=np.arange(len(data)),
        problem=problem,
        errors=errors,
        hidden={
            "mass": "impulses are not measured: velocities of any mass are the same",
            "inertia": "velocities alone do not tell it from the lever of the contact; `offset` is what they tell",
        },
    )


def _problem(
    data: PlanarImpacts, parameters: tuple[Parameter, ...], fixed: Mapping[str, float], rows: IntArray
) -> Problem:
    """Return the problem: the velocity before is an unknown, measured like that after."""
    before, after = data.before[rows], data.after[rows]
    normal, tangent = data.normal[rows], data.tangent[rows] * [1.0, 1.0, -1.0]
    unit = np.sqrt((data.mass * before**2).sum(axis=1))[:, None] / np.sqrt(data.mass)
    told = {one.name: one.start for one in PARAMETERS} | dict(fixed)

    def residuals(values: FloatArray, local: FloatArray) -> FloatArray:
        n = {**told, **dict(zip((one.name for one in parameters), values.tolist(), strict=True))}
        v = before + BEFORE * local * unit
        J = np.stack((normal + [0.0, 0.0, n["offset"]], tangent), axis=1)
        u, W = np.einsum("nij,nj->ni", J, v), np.einsum("nij,j,nkj->nik", J, 1.0 / data.mass, J)
        e = n["restitution"] * (np.maximum(-u[:, 0], 1e-9) / REFERENCE_SPEED) ** -n["exponent"]
        p = planar_impulses(MODEL.law, W, u, n["mu"], np.clip(e, 0.0, 1.0))
        predicted = v + np.einsum("nij,ni->nj", J, p) / data.mass
        return np.asarray(np.hstack(((after - predicted) / (AFTER * unit), -local)))

    return Problem(parameters, rows.copy(), residuals, differences(residuals, parameters, np.full(3, 1e-3)), 3)

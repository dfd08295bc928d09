"""A free run of a constrained model, for its energy: what the author of a constraint should look at first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.evaluation import constraint_velocity_error
from contactlab.constraints.system import constrained_system
from contactlab.multibody.configuration import integrate
from contactlab.multibody.energy import kinetic_energy, potential_energy
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray


@dataclass(frozen=True)
class FreeRun:
    """Drift of the energy and of the rows in a run without driving forces."""

    steps: int
    energy_drift: float  # largest change of kinetic and potential energy [J]
    #: Largest kinetic energy on the way, or largest change of it [J]: what the drift is measured against.
    energy_scale: float
    error: float  # largest velocity error of a row


def free_run(
    model: Model, cs: ConstraintSet, q: FloatArray, v: FloatArray, duration: float, steps: int, t: float
) -> FreeRun:
    """Explicit midpoint steps (second order, quaternions included) from t on; no driving forces, no stabilisation."""
    h = duration / steps
    for group in cs.groups:
        cs = cs.with_baumgarte(group.name, None)
    first = scale = kinetic_energy(model, q, v)
    start = first + potential_energy(model, q)
    drift = error = 0.0
    for step in range(steps):
        half = v + 0.5 * h * _acceleration(model, cs, q, v, t + step * h)
        middle = integrate(model, q, v, 0.5 * h)
        v = v + h * _acceleration(model, cs, middle, half, t + (step + 0.5) * h)
        q = integrate(model, q, half, h)
        kinetic = kinetic_energy(model, q, v)
        scale = max(scale, kinetic, abs(kinetic - first))
        drift = max(drift, abs(kinetic + potential_energy(model, q) - start))
        rates = constraint_velocity_error(model, q, v, cs, t=t + (step + 1) * h)
        error = max(error, float(np.abs(rates).max(initial=0.0)))
    return FreeRun(steps, float(drift), float(scale), error)


def _acceleration(model: Model, cs: ConstraintSet, q: FloatArray, v: FloatArray, t: float) -> FloatArray:
    """The accelerations under the constraints, by least squares of the whole system, whatever the rank."""
    zero = np.zeros(model.nv)
    system = constrained_system(model, q, v, zero, cs, t=t)
    # Scaled to a unit diagonal of H, lest light bodies count as no bodies.
    scale = 1.0 / np.sqrt(np.diag(system.H))
    H, G = system.H * scale[:, None] * scale, system.G * scale
    n = cs.n_rows
    A = np.block([[H, -G.T], [G, np.zeros((n, n))]])
    x = np.linalg.lstsq(A, np.concatenate([-system.C * scale, system.gamma]), rcond=1e-12)[0]
    return np.asarray(x[: model.nv] * scale)

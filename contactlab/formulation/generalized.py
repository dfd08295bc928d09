"""What constraint forces do: generalised forces, accelerations and velocity changes, at both levels.

Packed vectors are [fN | fF | fL | fG | fB]. At acceleration level the normal force of a sliding contact acts along its
row of (N - mu_s Q)', fF has no entry for that contact, and there is no fB.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from contactlab.formulation.blocks import force_responses
from contactlab.formulation.step import check_step
from contactlab.spatial.arrays import FloatArray
from problem_data import ConstraintAccelProblemData, ConstraintForces, ConstraintVelProblemData, ProblemDataError

__all__ = [
    "acceleration_by_forces",
    "generalized_force",
    "mean_acceleration",
    "packed_forces",
    "total_acceleration",
]

ProblemData = ConstraintAccelProblemData | ConstraintVelProblemData


def packed_forces(data: ProblemData, forces: ConstraintForces | ArrayLike) -> FloatArray:
    """The forces as one vector, checked against the row counts of the problem."""
    if not isinstance(forces, ConstraintForces):
        forces = ConstraintForces.from_packed(data, forces)
    counts = (data.nc, data.nr, data.nl, data.nb, data.nbox)
    lengths = tuple(len(part) for part in (forces.fN, forces.fF, forces.fL, forces.fG, forces.fB))
    if lengths != counts:
        raise ProblemDataError(
            "forces", f"fN, fF, fL, fG, fB of lengths {lengths}, wanted {counts} (nc, nr, nl, nb, nbox)"
        )
    return forces.packed()


def generalized_force(data: ProblemData, forces: ConstraintForces | ArrayLike) -> FloatArray:
    """R' fN + F' fF + L' fL + G' fG + B' fB, shape (nv,); R is N, less mu_s Q where a contact slides."""
    packed = packed_forces(data, forces)
    if isinstance(data, ConstraintAccelProblemData):
        accel = data.blocks()
        total: FloatArray = packed[: accel.nc] @ accel.R + packed[accel.nc :] @ accel.J[accel.nc :]
        return total
    total = packed @ data.blocks().J
    return total


def acceleration_by_forces(data: ProblemData, forces: ConstraintForces | ArrayLike) -> FloatArray:
    """M^-1 times the generalised force, shape (nv,): of impulses, the velocity change."""
    acceleration: FloatArray = packed_forces(data, forces) @ force_responses(data.blocks())
    return acceleration


def total_acceleration(data: ConstraintAccelProblemData, forces: ConstraintForces | ArrayLike) -> FloatArray:
    """M^-1 (tau + generalised constraint force), shape (nv,)."""
    return data.blocks().a_free + acceleration_by_forces(data, forces)


def mean_acceleration(
    data: ConstraintVelProblemData, v: ArrayLike, forces: ConstraintForces | ArrayLike, h: float
) -> FloatArray:
    """(v+ - v) / h of a step, shape (nv,), with v the velocity at its start; external forces are in Mv already."""
    step = check_step(h)
    start = np.asarray(v, dtype=np.float64)
    if start.shape != (data.nv,):
        raise ProblemDataError("v", f"shape {start.shape}, wanted ({data.nv},): one entry per velocity")
    return (data.blocks().v_free - start) / step + acceleration_by_forces(data, forces)

"""Inertia of a model at one configuration: M^-1 B and M v without the mass matrix, or with it where that is cheaper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from contactlab.multibody.inverse_dynamics import inverse_dynamics
from contactlab.multibody.kinematics import Kinematics
from contactlab.multibody.mass_matrix import MassMatrixFactor
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray
from problem_data.inertia import FunctionInertia

__all__ = ["factor_inertia", "momentum"]


def factor_inertia(factor: MassMatrixFactor) -> FunctionInertia:
    """B -> M^-1 B for problem data: it takes vectors and matrices, which need not be found out by trial."""
    return FunctionInertia(factor.solve, factor.model.nv, vectors=True, matrices=True)


def momentum(model: Model, kin: Kinematics) -> FloatArray:
    """M v (nv,) in O(nv): the forces that would bring about the accelerations v at rest, without gravity."""
    floats = model.packed.floats.copy()
    floats[:3] = 0.0
    weightless = replace(model, gravity=np.zeros(3), packed=replace(model.packed, floats=floats))
    return inverse_dynamics(weightless, kin._q, np.zeros(model.nv), kin._v)

"""The Delassus matrix of a set of constraints, and solving with it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.constraint_set import ConstraintSet
from contactlab.constraints.evaluation import constraint_jacobian
from contactlab.constraints.kernels.kkt_codes import RANK_TOLERANCE
from contactlab.constraints.solve.factorisations import LinearSolver, row_basis, solve_square, unit_columns
from contactlab.constraints.solve.solution import KKTSolution, System, finished
from contactlab.multibody.kinematics import Instant, Kinematics, kinematics
from contactlab.multibody.mass_matrix import factorize_mass_matrix
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray


@functools.cache
def _kernel() -> Any:
    from contactlab.constraints.kernels.delassus_matrix import delassus_matrix

    return delassus_matrix


def delassus_matrix(model: Model, q: Instant, cs: ConstraintSet, *, t: float = 0.0) -> FloatArray:
    """K = G M^-1 G^T (nc, nc): accelerations of the rows that unit constraint forces cause.

    Unit forces are carried from the bodies they act on to the root, through the articulated bodies: O(links) for
    each row and no mass matrix (Kokkevis and Metaxas 1998). Any rows, redundant ones too; RBDL's K. Arguments as for
    `constraint_jacobian`.
    """
    at = q if isinstance(q, Kinematics) else kinematics(model, q)
    G = constraint_jacobian(model, at, cs, t=t)
    m, nv = G.shape
    factor = factorize_mass_matrix(model, at)
    K = np.empty((m, m))
    work = np.empty(nv * (m + 5) + 24)
    _kernel()(model.packed.ints, model.packed.floats, factor._factor, G, work, K)
    return K


def solve_by_unit_forces(
    model: Model, q: Instant, H: FloatArray, G: FloatArray, c: ArrayLike, gamma: FloatArray, linear_solver: LinearSolver
) -> KKTSolution:
    """The range-space method with M^-1 from the articulated bodies and a factorisation of the caller's choice."""
    load = np.asarray(c, dtype=np.float64)
    scale = unit_columns(H)
    basis = row_basis(G * scale, RANK_TOLERANCE, linear_solver)
    rows = basis.Q / scale
    factor = factorize_mass_matrix(model, q)
    Y, free = factor.solve(rows.T), factor.solve(load)
    mu = solve_square(rows @ Y, basis.targets(gamma) - rows @ free, linear_solver)
    return finished(System(H, G, load, gamma), free + Y @ mu, basis.multipliers(mu), basis.rank)

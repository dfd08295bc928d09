"""Operands and solution of a constrained system, for every solver."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraints.errors import ConstraintError
from contactlab.constraints.kernels.kkt_codes import METHODS, RANK_TOLERANCE, System, kkt_size
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array, finite_number

__all__ = ["KKTSolution", "System", "finished", "read_system", "read_tolerance", "residual_of", "solved"]


@dataclass(frozen=True, eq=False)
class KKTSolution:
    """Solution of H x - G^T lambda = c, G x = gamma.

    Attributes
    ----------
    x
        (n,) the motion. Unique where it exists; G x = gamma in the least-squares sense, in the rows' own units, where
        gamma contradicts itself.
    multipliers
        (nc,) lambda; the shortest (Euclidean, in the rows' own units) where rows are redundant.
    rank
        Numerical rank of G: rows scaled to unit length, columns to H having about a unit diagonal, a row counts as a
        combination of others where less than ``tolerance`` (1e-10) of its length is left; a row shorter than 1e-13 of
        the longest is zero.
    residual
        Largest |G_i x - gamma_i| / (|gamma_i| + sum_j |G_ij| (|x_j| + |c_j| / H_jj)), every denominator being at
        least 1e-6 of the largest: near 1e-16 where gamma is consistent, far from it where it is not. The last term,
        what c would do to each x_j by itself, keeps rounding small beside what has cancelled.
    """

    x: FloatArray
    multipliers: FloatArray
    rank: int
    residual: float


@functools.cache
def _kernels() -> Any:
    from contactlab.constraints.kernels import constraint_residual, kkt

    return kkt.solve_kkt, constraint_residual.constraint_residual


def read_system(H: ArrayLike, G: ArrayLike, c: ArrayLike, gamma: ArrayLike) -> System:
    """Checked copies of the operands, finite; H symmetric but for rounding, of which the mean is taken."""
    load = finite_array(c, "c", (None,), ConstraintError)
    n = load.shape[0]
    matrix = finite_array(H, "H", (n, n), ConstraintError)
    bias = finite_array(gamma, "gamma", (None,), ConstraintError)
    rows = finite_array(G, "G", (bias.shape[0], n), ConstraintError)
    largest = np.abs(matrix).max(initial=0.0)
    skew = np.abs(matrix - matrix.T)
    if not skew.max(initial=0.0) <= 1e-9 * largest:
        i, j = np.unravel_index(int(np.argmax(skew)), skew.shape)
        raise ConstraintError("H", f"is not symmetric: [{i}, {j}] is {matrix[i, j]}, [{j}, {i}] is {matrix[j, i]}")
    return System(np.ascontiguousarray(0.5 * matrix + 0.5 * matrix.T), rows, load, bias)


def read_tolerance(tolerance: float | None) -> float:
    """The rank tolerance, between 0 and 1."""
    if tolerance is None:
        return RANK_TOLERANCE
    value = finite_number(tolerance, "tolerance", ConstraintError)
    if not 0.0 <= value < 1.0:
        raise ConstraintError("tolerance", f"must be in [0, 1), got {value}")
    return value


def solved(
    method: str, system: System, tolerance: float, parents: IntArray | None = None, dense: bool = True
) -> KKTSolution:
    """Solution by the compiled solvers; H is used up."""
    m, n = system.G.shape
    x, multipliers, sizes = np.empty(n), np.empty(m), alone(system.H, system.c)
    tree = np.arange(-1, n - 1) if parents is None else parents
    work, order = np.empty(kkt_size(n, m)), np.empty(n + m, dtype=np.int64)
    solve = _kernels()[0]
    code = solve(METHODS[method], tree, int(dense), system, tolerance, work, order, x, multipliers)
    if code < 0:
        raise loose()
    return finished(system, x, multipliers, code, sizes)


def loose() -> ConstraintError:
    """The error where H leaves a motion undetermined."""
    return ConstraintError(
        "H", "is singular, or not positive, on motions that the constraints allow: the motion is not determined"
    )


def residual_of(G: FloatArray, x: FloatArray, gamma: FloatArray, alone: FloatArray) -> float:
    """The residual as `KKTSolution` has it, alone (n,) being |c_j| / H_jj."""
    return float(_kernels()[1](G, x, gamma, alone.copy(), np.empty(2 * G.shape[0])))


def alone(H: FloatArray, c: FloatArray) -> FloatArray:
    """|c_j| / H_jj (n,), zero without inertia."""
    diagonal = np.diag(H)
    return np.asarray(np.abs(c) / np.where(diagonal > 0.0, diagonal, np.inf))


def finished(
    system: System, x: FloatArray, multipliers: FloatArray, rank: int, sizes: FloatArray | None = None
) -> KKTSolution:
    """The solution with its residual; one that is not finite is an error.

    ``sizes`` are those of `alone`, which are computed from H where it still stands.
    """
    if not (np.isfinite(x).all() and np.isfinite(multipliers).all()):
        raise ConstraintError("H", "the entries are finite but so large or so small that the solution is not")
    scale = alone(system.H, system.c) if sizes is None else sizes
    return KKTSolution(x, multipliers, int(rank), residual_of(system.G, x, system.gamma, scale))

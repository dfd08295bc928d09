"""Systems H x - G^T lambda = c, G x = gamma on bare arrays, by three methods that differ in what they do first."""

from __future__ import annotations

from contactlab.constraints.solve.methods import direct, null_space, range_space_sparse
from contactlab.constraints.solve.solution import KKTSolution, LinearSolver

__all__ = ["KKTSolution", "LinearSolver", "direct", "null_space", "range_space_sparse"]

"""Systems H x - G^T lambda = c, G x = gamma on bare arrays, by three methods that differ in what they do first."""

from __future__ import annotations

from contactlab.constraints.solve.direct import direct
from contactlab.constraints.solve.factorisations import LinearSolver
from contactlab.constraints.solve.null_space import null_space
from contactlab.constraints.solve.range_space import range_space_sparse
from contactlab.constraints.solve.solution import KKTSolution

__all__ = ["KKTSolution", "LinearSolver", "direct", "null_space", "range_space_sparse"]

"""What an answer is worth, by the problem's own data; nothing of it is the solver's word."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lcp
from contactlab.lab.racing.kinds import FRICTION, kind_of
from lcp.friction.infeasibility import no_admissible_motion
from lcp.friction.residuals import measure

__all__ = ["measured", "verdict"]


def measured(problem: Any, result: Any) -> tuple[float, float, bool]:
    """Residual, natural map and whether it is solved at the result's tolerance, anew on the problem's data.

    The residual is the scaled one, that of the equations included; of friction the larger of FCLIB's and the scaled
    one, where rounding leaves the former a meaning. The natural map is unscaled; of friction FCLIB's residual.
    """
    if kind_of(problem).league == FRICTION:
        return _measured_friction(problem, result)
    z, u = (result.y, result.u) if isinstance(problem, lcp.MLCP) else (result.z, None)
    if not (np.isfinite(z).all() and (u is None or np.isfinite(u).all())):
        return math.inf, math.inf, False
    residuals = lcp.residuals(problem, z, u)
    residual = max(residuals.scaled, residuals.equations_scaled)
    return residual, max(residuals.natural_map, residuals.equations), residuals.solved(result.tolerance)


def _measured_friction(problem: Any, result: Any) -> tuple[float, float, bool]:
    if isinstance(problem, lcp.GlobalFrictionProblem):
        reduction = problem.reduce()
        _, _, u, equations = reduction.motion(result.r)
        residuals, _ = measure(reduction.problem, result.r, u, equations)
        solved = reduction.consistent and residuals.solved(result.tolerance)
    else:
        residuals, _ = measure(problem, result.r)
        solved = residuals.solved(result.tolerance)
    return max(residuals.error, residuals.equations), residuals.fclib, solved


def verdict(problem: Any, result: Any) -> tuple[str, float, float]:
    """Status, residual and natural map. That there is no solution is believed with its proof only."""
    residual, natural, solved = measured(problem, result)
    if solved:
        return "SOLVED", residual, natural
    if not math.isfinite(residual):
        return "NOT_FINITE", residual, natural
    status: lcp.Status = result.status
    if status is lcp.Status.SOLVED or not _believed(problem, result):
        status = lcp.Status.STALLED
    return status.name, residual, natural


def _believed(problem: Any, result: Any) -> bool:
    """Whether a status needs no proof, or has it."""
    if result.status is lcp.Status.UNSOLVABLE:
        return isinstance(result.evidence, lcp.Enumerated)
    if result.status not in (lcp.Status.INFEASIBLE, lcp.Status.INCONSISTENT):
        return True
    if kind_of(problem).league != FRICTION:
        proves = getattr(result.evidence, "proves", None)
        return proves is not None and bool(proves(problem))
    reduction = problem.reduce() if isinstance(problem, lcp.GlobalFrictionProblem) else None
    if result.status is lcp.Status.INCONSISTENT:
        return reduction is not None and not reduction.consistent
    return no_admissible_motion(problem if reduction is None else reduction.problem) is not None

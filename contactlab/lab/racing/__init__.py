"""Races: comparisons of solvers on sets of problems, verified with the data of the problems."""

from __future__ import annotations

from contactlab.lab.errors import RaceError
from contactlab.lab.racing.entrant import Competitor, entrant_of
from contactlab.lab.racing.external_solvers import ALL_PEERS
from contactlab.lab.racing.kinds import RaceRow
from contactlab.lab.racing.racing import race
from contactlab.lab.racing.report import RaceReport
from contactlab.lab.racing.statistics import (
    Growth,
    PerformanceProfile,
    RaceGroup,
    SolverSummary,
    fit_growth,
    performance_profile,
    shifted_geometric_mean,
)
from contactlab.lab.racing.trial import CurvePoint, ResidualCurve, residual_curve

__all__ = [
    "ALL_PEERS", "Competitor", "CurvePoint", "Growth", "PerformanceProfile", "RaceError", "RaceGroup", "RaceReport",
    "RaceRow", "ResidualCurve", "SolverSummary", "entrant_of", "fit_growth", "performance_profile", "race",
    "residual_curve", "shifted_geometric_mean",
]  # fmt: skip

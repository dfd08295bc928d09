"""Parameters from recordings, with intervals: least squares over windows of simulated motion."""

from __future__ import annotations

from contactlab.studies.identification.gauss_newton import identify
from contactlab.studies.identification.problem import (
    IdentificationError,
    Identified,
    Parameter,
    Problem,
    Verdict,
    differences,
)
from contactlab.studies.identification.recordings import Recordings, fit
from contactlab.studies.identification.windows import Windows, window_problem, world_with

__all__ = [
    "IdentificationError",
    "Identified",
    "Parameter",
    "Problem",
    "Recordings",
    "Verdict",
    "Windows",
    "differences",
    "fit",
    "identify",
    "window_problem",
    "world_with",
]  # fmt: skip

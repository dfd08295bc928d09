"""Identification of parameters from recordings, with intervals, by least squares over windows of simulated motion."""

from __future__ import annotations

from contactlab.studies.identification.gauss_newton import Recordings, fit, identify
from contactlab.studies.identification.problem import (
    IdentificationError,
    IdentificationResult,
    IdentificationVerdict,
    Parameter,
    Problem,
    differences,
)
from contactlab.studies.identification.windows import Windows, window_problem, with_parameters

__all__ = [
    "IdentificationError", "IdentificationResult", "IdentificationVerdict", "Parameter", "Problem", "Recordings",
    "Windows", "differences", "fit", "identify", "window_problem", "with_parameters",
]  # fmt: skip

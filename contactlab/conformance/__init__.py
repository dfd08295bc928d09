"""Conformance suite: tests of any engine against closed-form solutions and known complaints of the field.

>>> from contactlab.conformance import conform
>>> conform(["ours"], ["projectile"]).score("ours")
(1, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.conformance.adapters import UnknownEngineError, engine_of
from contactlab.conformance.case import (
    Body,
    Case,
    CaseResult,
    CaseVerdict,
    Engine,
    EngineContacts,
    HalfSpaceSpec,
    Joint,
    Measure,
    NotReportedError,
    NotSupportedError,
    Pin,
    Run,
    Scene,
    ShapeSpec,
)
from contactlab.conformance.cases import CASES
from contactlab.conformance.suite import Report, conform
from contactlab.naming import module_hooks

__all__ = [
    "CASES", "Body", "Case", "CaseResult", "CaseVerdict", "Engine", "EngineContacts", "HalfSpaceSpec", "Joint",
    "Measure", "NotReportedError", "NotSupportedError", "Pin", "Report", "Run", "Scene", "ShapeSpec",
    "UnknownEngineError", "conform", "engine_of",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__, {})

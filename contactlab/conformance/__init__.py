"""A suite that holds any engine to the field's known complaints and closed forms.

>>> from contactlab.conformance import conform
>>> conform(["ours"], ["projectile"]).score("ours")
(1, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.conformance.adapters import UnknownEngineError, engine_of
from contactlab.conformance.case import Case, CaseResult, CaseVerdict, Measure, NotToldError
from contactlab.conformance.cases import CASES
from contactlab.conformance.scene import (
    Body,
    Contacts,
    Engine,
    Joint,
    NotOfferedError,
    Pin,
    Run,
    Scene,
    ShapeSpec,
    Wall,
)
from contactlab.conformance.suite import Report, conform
from contactlab.naming import doors

__all__ = [
    "CASES",
    "Body",
    "Case",
    "CaseResult",
    "CaseVerdict",
    "Contacts",
    "Engine",
    "Joint",
    "Measure",
    "NotOfferedError",
    "NotToldError",
    "Pin",
    "Report",
    "Run",
    "Scene",
    "ShapeSpec",
    "UnknownEngineError",
    "Wall",
    "conform",
    "engine_of",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = doors(__name__, __all__, {})

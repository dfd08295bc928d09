"""A suite that holds any engine to the field's known complaints and closed forms.

>>> from contactlab.conformance import conform
>>> conform(["ours"], ["projectile"]).score("ours")
(1, 1)
"""

from __future__ import annotations

from contactlab.conformance.adapters import UnknownEngineError, engine_of
from contactlab.conformance.case import Case, Measure, NotToldError
from contactlab.conformance.cases import CASES
from contactlab.conformance.engine import Contacts, Engine, NotOfferedError, Run
from contactlab.conformance.rows import Row, Verdict
from contactlab.conformance.scene import Body, Joint, Pin, Scene, Shape, Wall
from contactlab.conformance.suite import Report, conform

__all__ = [
    "CASES",
    "Body",
    "Case",
    "Contacts",
    "Engine",
    "Joint",
    "Measure",
    "NotOfferedError",
    "NotToldError",
    "Pin",
    "Report",
    "Row",
    "Run",
    "Scene",
    "Shape",
    "UnknownEngineError",
    "Verdict",
    "Wall",
    "conform",
    "engine_of",
]

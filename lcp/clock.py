"""Limits of time: seconds of the processor, so that what else a machine is doing decides no answer."""

from __future__ import annotations

import dataclasses
from typing import Any

from lcp.hearing import processor_seconds
from lcp.options import with_fields

__all__ = ["processor_seconds", "within"]


def within(solver: Any, seconds: float) -> Any:
    """The solver, and those in its fields, with limits of time of at most so many seconds; itself where they are."""
    if not dataclasses.is_dataclass(solver) or not hasattr(solver, "solve"):
        return solver
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(solver):
        value = getattr(solver, field.name)
        if field.name == "time_limit":
            if isinstance(value, float) and value > seconds:
                changed[field.name] = max(seconds, 1e-9)
        elif (inner := within(value, seconds)) is not value:
            changed[field.name] = inner
    return with_fields(solver, changed) if changed else solver

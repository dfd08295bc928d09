"""What a solver can be trusted with; tests, tables and line-ups are derived from these flags."""

from __future__ import annotations

import enum


class Traits(enum.Flag):
    """Matrix classes a solver is proven for, and abilities."""

    POSITIVE_DEFINITE = enum.auto()
    POSITIVE_SEMIDEFINITE = enum.auto()
    P_MATRIX = enum.auto()
    COPOSITIVE = enum.auto()
    WARM_START = enum.auto()
    SPARSE = enum.auto()
    MIXED = enum.auto()
    BOXED = enum.auto()

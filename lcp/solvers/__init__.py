"""The solvers, one per file. `ALL_SOLVERS` is the list that tests, tables and line-ups are derived from."""

from __future__ import annotations

from lcp.solvers.lemke import Lemke
from lcp.solvers.traits import Traits

ALL_SOLVERS = (Lemke,)

__all__ = ["ALL_SOLVERS", "Lemke", "Traits"]

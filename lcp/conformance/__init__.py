"""The conformance tests of the solvers of `lcp`, for custom solvers.

>>> import lcp
>>> from lcp import conformance
>>> conformance.check(lcp.Lemke()).passed
True
"""

from __future__ import annotations

from lcp.conformance.checking import check
from lcp.conformance.report import Check, ConformanceError, ConformanceReport

__all__ = ["Check", "ConformanceError", "ConformanceReport", "check"]

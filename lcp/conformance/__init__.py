"""The conformance tests of the solvers of `lcp`, for custom solvers.

>>> import lcp
>>> from lcp import conformance
>>> conformance.check(lcp.Lemke()).passed
True
"""

from __future__ import annotations

from lcp.conformance.checking import Check, ConformanceError, ConformanceReport, check

__all__ = ["Check", "ConformanceError", "ConformanceReport", "check"]

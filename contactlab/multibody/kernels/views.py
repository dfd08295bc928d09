"""One- and two-dimensional views of a stretch of a flat buffer, and working memory, for nothing."""

from __future__ import annotations

from contactlab.multibody.kernels.sizes import STACK
from lcp.compiler.views import part_at, rows_at, stack_of

__all__ = ["part_at", "rows_at", "stack"]

stack = stack_of(STACK)

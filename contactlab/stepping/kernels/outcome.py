"""The end of a step that failed."""

from __future__ import annotations

from contactlab.stepping.kernels.layout import FAILED, SHRINK_H, Control
from lcp.kernels import kernel


@kernel(inline=True)
def failed(control: Control, failure: int) -> int:
    """Note why the step failed and return FAILED, or SHRINK_H where it may be tried again."""
    control.failure = failure
    return SHRINK_H if control.adaptive != 0 else FAILED

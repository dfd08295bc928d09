"""The end of a step that failed."""

from __future__ import annotations

from contactlab.stepping.kernels.layout import FAILED, Control
from lcp.kernels import kernel


@kernel(inline=True)
def failed(control: Control, failure: int) -> int:
    """Note why the step failed and return FAILED."""
    control.failure = failure
    return FAILED

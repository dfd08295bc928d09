"""Functions for kernels in addition to numpy, found with the sources of the kernels that import them."""

from __future__ import annotations

from typing import Any

from lcp.compiler.decorator import kernel

__all__ = ["copy_array", "fill_array"]


@kernel(inner=True)
def copy_array(source: Any, out: Any) -> None:
    """Copy the first entries of an array (n,) to the whole of another one."""
    for i in range(out.shape[0]):
        out[i] = source[i]


@kernel(inner=True)
def fill_array(out: Any, value: float) -> None:
    """Set every entry of an array (n,) to a value."""
    for i in range(out.shape[0]):
        out[i] = value

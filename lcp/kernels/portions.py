"""How much compiled code does at once: between two portions Ctrl-C and limits of time are heeded."""

from __future__ import annotations

from typing import Final

from lcp.kernels import kernel

#: Multiply-adds of a portion: about a tenth of a second.
PORTION: Final = 200_000_000


@kernel(inline=True)
def pivots_at_once(n: int, most: int) -> int:
    """Pivots, each of up to n^2 multiply-adds, that make a portion; ``most`` of small problems."""
    return max(1, min(most, PORTION // max(1, n * n)))

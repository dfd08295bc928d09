"""The private parts of numba that are used, and the releases each of them was tried with.

A release without an entry does without: numba compiles kernels in its usual way, to the same bits in more time.
"""

from __future__ import annotations

import functools

__all__ = ["TRIED", "tried"]

# 0.66 is not among them: its `pointer_add` is compiled wrongly on x86-64 (numba issue 10695), and `views` calls it.
_RELEASES = ("0.65", "0.67", "0.68")

#: Patch, and the minor releases of numba it was tried with.
TRIED: dict[str, tuple[str, ...]] = {
    # numba's cache takes a locator that is keyed on all sources of a kernel (`cache`).
    "cache": _RELEASES,
    # The option `_nrt` leaves out reference counting, and with it the fusion of array expressions, which allocates.
    "uncounted": _RELEASES,
    # A callee is compiled for integers, not for each literal it is called with (`decorator`).
    "literals": _RELEASES,
    # Kernels that only kernels call are neither optimised nor translated by themselves (`pipeline`).
    "inner": _RELEASES,
    # Loops are unrolled and vectorised where a kernel says that they are long (`pipeline`).
    "loops": _RELEASES,
    # Kernels are passed no numbers that they do not read (`pipeline`).
    "arguments": _RELEASES,
    # Variables assigned once stay values (`pipeline`).
    "values": _RELEASES,
    # Signatures are looked up once, options without a property for each (`lookups`).
    "lookups": _RELEASES,
    # Passes are run without announcements; variables of uncounted kernels are not deleted (`spared`).
    "passes": ("0.68",),
    # What is done over and over is done once (`spared`).
    "spared": ("0.68",),
    # A kernel that is inlined is not copied before (`lookups`).
    "copies": _RELEASES,
    # Tuples and arrays are taken apart where they were put together (`aggregates`).
    "aggregates": _RELEASES,
    # No index counts from the end, and no slice ends beyond an array (`indices`).
    "indices": _RELEASES,
    # Views of buffers, and arrays on the stack, are written down directly (`views`).
    "views": _RELEASES,
    # What numba makes of arguments is kept in a buffer; compiled code is called without a look at them (`held`).
    "held": _RELEASES,
    # Functions are marked with a tier of processors, not compiled for the one at hand (`processor`).
    "tiers": _RELEASES,
}


@functools.cache
def tried(patch: str) -> bool:
    """Whether a patch was tried with the installed release."""
    import numba

    return numba.__version__.rpartition(".")[0] in TRIED[patch]

"""Array indices without negative values, and slices within the array.

numba checks every index for a negative one, which counts from the end, and every slice for ends beyond the array. In
loops over six velocities these checks were half of all instructions, although hardly any kernel needs them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from lcp.compiler.releases import is_tested

__all__ = ["plain_indexing"]

# Modules of kernels with indices that count from the end: there -1 is the position after all entries examined.
COUNTING = ("lcp.kernels.lemke", "lcp.kernels.extended")
# Packages whose other kernels have no such indices; kernels of users can have them.
OURS = ("lcp.", "contactlab.", "problem_data.")


@contextlib.contextmanager
def plain_indexing(module: str) -> Iterator[None]:
    """Compile the indices of this module's kernels without checks; such blocks can be nested, under numba's lock."""
    from numba.cpython import slicing
    from numba.np import arrayobj

    numbas = _numbas()
    before = arrayobj.fix_integer_index, slicing.fix_slice
    if is_tested("indices"):
        counts = module.startswith(COUNTING) or not module.startswith(OURS)
        arrayobj.fix_integer_index, slicing.fix_slice = numbas if counts else (_from_start, _within)
    try:
        yield
    finally:
        arrayobj.fix_integer_index, slicing.fix_slice = before


@functools.cache
def _numbas() -> tuple[Any, Any]:
    """Return numba's functions, before any is replaced."""
    from numba.cpython import slicing
    from numba.np import arrayobj

    return arrayobj.fix_integer_index, slicing.fix_slice


def _from_start(context: Any, builder: Any, index_type: Any, index: Any, size: Any) -> Any:
    """Return an index unchanged, except for a literal -1."""
    from numba.core import types

    literal = getattr(index_type, "literal_value", 0)
    if literal < 0:
        # Of numba's own functions.
        return builder.add(size, context.get_constant(types.intp, literal))
    return context.cast(builder, index, index_type, types.intp if index_type.signed else types.uintp)


def _within(builder: Any, bounds: Any, size: Any) -> None:
    """Use the end of the array as the end of a slice without one."""
    from llvmlite import ir

    endless = ir.Constant(size.type, 2 ** (size.type.width - 1) - 1)
    bounds.stop = builder.select(builder.icmp_signed("==", bounds.stop, endless), size, bounds.stop)

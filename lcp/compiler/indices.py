"""Array indices as kernels mean them: from the start, and within the array.

numba looks at every index for a negative one, to count from the end, and at every slice for ends that lie beyond the
array. In loops over six velocities that was half of all instructions, for what hardly any kernel does.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from lcp.compiler.releases import is_tested

__all__ = ["plain_indexing"]

# Modules of kernels that count from the end: -1 stands there for the place behind all that is looked at.
COUNTING = ("lcp.kernels.lemke", "lcp.kernels.extended")
# Whose kernels are known not to, otherwise: kernels of users may count from the end.
OURS = ("lcp.", "contactlab.", "problem_data.")


@contextlib.contextmanager
def plain_indexing(module: str) -> Iterator[None]:
    """Compile indices of a kernel of this module as it means them; such blocks may be nested, under numba's lock."""
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
    """Before anything stands in for them."""
    from numba.cpython import slicing
    from numba.np import arrayobj

    return arrayobj.fix_integer_index, slicing.fix_slice


def _from_start(context: Any, builder: Any, index_type: Any, index: Any, size: Any) -> Any:
    """An index as it is, but for a literal -1."""
    from numba.core import types

    literal = getattr(index_type, "literal_value", 0)
    if literal < 0:
        # Of numba's own functions.
        return builder.add(size, context.get_constant(types.intp, literal))
    return context.cast(builder, index, index_type, types.intp if index_type.signed else types.uintp)


def _within(builder: Any, bounds: Any, size: Any) -> None:
    """The end of a slice that has none is the end of the array."""
    from llvmlite import ir

    endless = ir.Constant(size.type, 2 ** (size.type.width - 1) - 1)
    bounds.stop = builder.select(builder.icmp_signed("==", bounds.stop, endless), size, bounds.stop)

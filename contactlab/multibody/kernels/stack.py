"""Working memory on the stack of the kernel that asks for it: no allocator is called, and threads share nothing.

An array made in Python and handed over costs 0.2 us each call; one allocated by compiled code takes as long, because of
the reference counting that comes with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.multibody.kernels.sizes import STACK
from contactlab.spatial.arrays import FloatArray

__all__ = ["stack"]


def _compiled() -> Any:
    """The array as an intrinsic of the compiler; see `contactlab.multibody.kernels.views`."""
    from numba.core import cgutils, types  # noqa: TID251  # no kernel: what kernels are compiled into
    from numba.extending import intrinsic  # noqa: TID251
    from numba.np.arrayobj import make_array, populate_array  # noqa: TID251

    def stack(typing: Any) -> Any:
        """An array of `STACK` numbers, not set to anything, that is gone when the calling kernel returns."""
        result = types.Array(types.float64, 1, "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = make_array(signature.return_type)(context, builder)
            item = context.get_abi_sizeof(context.get_data_type(types.float64))
            populate_array(
                array,
                data=cgutils.alloca_once(builder, context.get_data_type(types.float64), size=STACK),
                shape=cgutils.pack_array(builder, [context.get_constant(types.intp, STACK)]),
                strides=cgutils.pack_array(builder, [context.get_constant(types.intp, item)]),
                itemsize=context.get_constant(types.intp, item),
                meminfo=None,
            )
            return array._getvalue()

        return result(), generate

    return intrinsic(stack)


def _plain() -> Any:
    def stack() -> FloatArray:
        """An array of `STACK` numbers."""
        return np.empty(STACK)

    return stack


def _chosen() -> Any:
    from numba.core import config  # noqa: TID251

    return _plain() if config.DISABLE_JIT else _compiled()


stack = _chosen()

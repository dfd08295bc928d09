"""Arrays without cost within a kernel: views of parts of a flat buffer, and working memory.

numba's ``reshape`` calls its runtime, 8 ns each time, so a dozen views cost as much as the poses of a small arm. Its
slices check for negative and too large ends, in code that takes long to compile. Here shape and strides of a view are
stored directly. Working memory on the stack of the kernel calls no allocator, and threads share nothing. An array
passed from Python costs 0.2 us per call, and so does one that compiled code allocates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcp.compiler.decorator import kernel
from lcp.compiler.releases import is_tested

__all__ = ["view_1d", "view_2d", "stack_array"]


def _intrinsic_views() -> tuple[Any, Any]:
    """Return the numba intrinsics ``view_2d`` and ``view_1d``, described at the functions below."""
    from numba.core import cgutils, types
    from numba.extending import intrinsic
    from numba.np.arrayobj import populate_array

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, arguments[0])
        view = context.make_array(signature.return_type)(context, builder)
        flat = signature.args[0]
        item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(flat.dtype)))
        shape = arguments[2:]
        if flat.layout == "C":
            start = builder.gep(source.data, [arguments[1]])
            strides = [item] if len(shape) == 1 else [builder.mul(shape[1], item), item]
        else:
            strides = cgutils.unpack_tuple(builder, source.strides, 1)
            start = cgutils.pointer_add(builder, source.data, builder.mul(arguments[1], strides[0]))
        populate_array(
            view,
            data=start,
            shape=cgutils.pack_array(builder, shape),
            strides=cgutils.pack_array(builder, strides),
            itemsize=item,
            meminfo=source.meminfo,
            parent=source.parent,
        )
        return view._getvalue()

    def view_2d(typing: Any, flat: Any, start: Any, n: Any, width: Any) -> Any:
        """Return the C-contiguous view (n, width) of the contiguous ``flat`` from ``start`` on, without checks."""
        if not (isinstance(flat, types.Array) and flat.layout == "C"):
            return None
        return flat.copy(ndim=2)(flat, types.int64, types.int64, types.int64), generate

    def view_1d(typing: Any, flat: Any, start: Any, n: Any) -> Any:
        """Return the view (n,) of ``flat``, contiguous or one-dimensional, from ``start`` on, without checks."""
        if not (isinstance(flat, types.Array) and (flat.ndim == 1 or flat.layout == "C")):
            return None
        return flat.copy(ndim=1)(flat, types.int64, types.int64), generate

    return intrinsic(view_2d), intrinsic(view_1d)


def _intrinsic_stack(size: int) -> Any:
    """Return a numba intrinsic without arguments that allocates ``size`` float64 numbers on the stack."""
    from numba.core import cgutils, types
    from numba.extending import intrinsic
    from numba.np.arrayobj import populate_array

    def stack(typing: Any) -> Any:
        """Return an uninitialised array of this size, which is valid until the calling kernel returns."""
        result = types.Array(types.float64, 1, "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.return_type)(context, builder)
            item = context.get_abi_sizeof(context.get_data_type(types.float64))
            populate_array(
                array,
                data=cgutils.alloca_once(builder, context.get_data_type(types.float64), size=size),
                shape=cgutils.pack_array(builder, [context.get_constant(types.intp, size)]),
                strides=cgutils.pack_array(builder, [context.get_constant(types.intp, item)]),
                itemsize=context.get_constant(types.intp, item),
                meminfo=None,
            )
            return array._getvalue()

        return result(), generate

    return intrinsic(stack)


def _patched() -> bool:
    from numba.core import config

    return not config.DISABLE_JIT and is_tested("views")


def stack_array(size: int) -> Callable[[], NDArray[np.float64]]:
    """Return a function that gives a kernel an uninitialised array of ``size`` numbers for as long as it runs."""
    if _patched():
        stack: Callable[[], NDArray[np.float64]] = _intrinsic_stack(size)
        return stack
    return kernel(allocates=True, inline=True)(lambda: np.empty(size))


def _view_2d(flat: NDArray[Any], start: int, n: int, width: int) -> NDArray[Any]:
    """Return the view (n, width) of the array ``flat`` from ``start`` on."""
    return flat.reshape(-1)[start : start + n * width].reshape((n, width))


def _view_1d(flat: NDArray[Any], start: int, n: int) -> NDArray[Any]:
    """Return the view (n,) of the array ``flat`` from ``start`` on."""
    return flat.reshape(-1)[start : start + n]


# For any type of array.
view_2d: Callable[[NDArray[Any], int, int, int], Any]
view_1d: Callable[[NDArray[Any], int, int], Any]
view_2d, view_1d = _intrinsic_views() if _patched() else (kernel(inline=True)(_view_2d), kernel(inline=True)(_view_1d))

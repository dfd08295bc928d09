"""One- and two-dimensional views of a stretch of a flat buffer, for nothing.

numba's own ``reshape`` calls into its runtime, 8 ns each time: a dozen views then cost as much as the poses of a small
arm. Its slices look for negative and excessive ends, in code that takes long to compile. Here a view's shape and
strides are written down directly.
"""

from __future__ import annotations

from typing import Any

from contactlab.spatial.arrays import FloatArray

__all__ = ["part_at", "rows_at"]


def _compiled() -> tuple[Any, Any]:
    """The views as intrinsics of the compiler; numba is imported here, kernels being imported when compiling."""
    from numba.core import cgutils, types  # noqa: TID251  # no kernel: what kernels are compiled into
    from numba.extending import intrinsic  # noqa: TID251
    from numba.np.arrayobj import make_array, populate_array  # noqa: TID251

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = make_array(signature.args[0])(context, builder, arguments[0])
        view = make_array(signature.return_type)(context, builder)
        flat = signature.args[0]
        item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(flat.dtype)))
        shape = arguments[2:]
        strides = [item] if len(shape) == 1 else [builder.mul(shape[1], item), item]
        populate_array(
            view,
            data=builder.gep(source.data, [arguments[1]]),
            shape=cgutils.pack_array(builder, shape),
            strides=cgutils.pack_array(builder, strides),
            itemsize=item,
            meminfo=source.meminfo,
            parent=source.parent,
        )
        return view._getvalue()

    def rows_at(typing: Any, flat: Any, start: Any, n: Any, width: Any) -> Any:
        """View (n, width), C-contiguous, of the contiguous array ``flat`` from ``start`` on; nothing is checked."""
        if not (isinstance(flat, types.Array) and flat.ndim == 1 and flat.layout == "C"):
            return None
        return flat.copy(ndim=2)(flat, types.int64, types.int64, types.int64), generate

    def part_at(typing: Any, flat: Any, start: Any, n: Any) -> Any:
        """View (n,) of the contiguous array ``flat`` from ``start`` on; nothing is checked."""
        if not (isinstance(flat, types.Array) and flat.ndim == 1 and flat.layout == "C"):
            return None
        return flat(flat, types.int64, types.int64), generate

    return intrinsic(rows_at), intrinsic(part_at)


def _plain() -> tuple[Any, Any]:
    def rows_at(flat: FloatArray, start: int, n: int, width: int) -> FloatArray:
        """View (n, width) of the array ``flat`` from ``start`` on."""
        return flat[start : start + n * width].reshape((n, width))

    def part_at(flat: FloatArray, start: int, n: int) -> FloatArray:
        """View (n,) of the array ``flat`` from ``start`` on."""
        return flat[start : start + n]

    return rows_at, part_at


def _chosen() -> tuple[Any, Any]:
    from numba.core import config  # noqa: TID251

    return _plain() if config.DISABLE_JIT else _compiled()


rows_at, part_at = _chosen()

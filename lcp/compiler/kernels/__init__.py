"""Functions for kernels in addition to numpy, found with the sources of the kernels that import them.

Copies and fills of arrays; words of memory that threads share, which are read, set and incremented atomically, in one
order for all threads.
"""

from __future__ import annotations

from typing import Any

from lcp.compiler.bound_call import supports_bound_calls
from lcp.compiler.decorator import kernel

__all__ = ["atomic_add", "atomic_load", "atomic_store", "copy_array", "fill_array"]


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


def _load(words: Any, i: int) -> Any:
    return words[i]


def _store(words: Any, i: int, value: int) -> None:
    words[i] = value


def _add(words: Any, i: int, value: int) -> Any:
    words[i] += value
    return words[i] - value


def _intrinsics() -> tuple[Any, Any, Any]:
    """Return the numba intrinsics load(words, i), exchange(words, i, value) and add(words, i, value) on int64 arrays.

    They are sequentially consistent. Exchange and add return the previous value. Without support of bound calls they
    are plain functions for one thread.
    """
    from numba.core import types
    from numba.extending import intrinsic, register_jitable

    if not supports_bound_calls():
        return register_jitable(_load), register_jitable(_store), register_jitable(_add)

    def place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(context.make_array(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])

    def atomic_load(typing: Any, words: Any, i: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load_atomic(place(context, builder, signature, arguments), "seq_cst", 8)

        return types.int64(words, types.int64), generate

    def changed(operation: str) -> Any:
        def change(typing: Any, words: Any, i: Any, value: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                at = place(context, builder, signature, arguments)
                return builder.atomic_rmw(operation, at, arguments[2], "seq_cst")

            return types.int64(words, types.int64, types.int64), generate

        return change

    return intrinsic(atomic_load), intrinsic(changed("xchg")), intrinsic(changed("add"))


#: In kernels: word i of an array; set it to another value, or add a number; the previous value is returned.
atomic_load: Any
atomic_store: Any
atomic_add: Any
atomic_load, atomic_store, atomic_add = _intrinsics()

"""Kernels with stored arguments: repeated calls pass one buffer instead of unpacking the arguments.

Unpacking a tuple of a hundred arrays costs 15 us at every call from Python. If a kernel is called repeatedly with the
same arrays, numba's unpacked arguments are stored in a buffer, and only the buffer is passed, which costs 0.2 us.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from lcp.compiler.releases import is_tested

__all__ = ["BoundCall", "supports_bound_calls", "call_address", "unpack_arguments"]


def _intrinsics() -> tuple[Any, Any]:
    """Return the numba intrinsics ``unpack_arguments(buffer, type)`` and ``call_address(code, buffer)``.

    The first reads a tuple of the type from words in the buffer. The second calls the entry at an address with the
    address of a buffer. Without support of bound calls both are plain Python functions.
    """
    from numba.core import types
    from numba.extending import intrinsic, register_jitable

    if not supports_bound_calls():
        # The arguments replace their type, and calls replace their addresses.
        return register_jitable(lambda held, types: types), lambda code, buffer: code()

    def unpack_arguments(typing: Any, buffer: Any, like: Any) -> Any:
        kind = like.instance_type

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            model, places = context.data_model_manager[kind], itertools.count()
            word = context.get_value_type(types.intp)
            words = context.make_array(buffer)(context, builder, arguments[0]).data
            words = builder.bitcast(words, word.as_pointer())

            def read(part: Any) -> Any:
                # Word by word, because each expression with the whole tuple would contain all of its types.
                if isinstance(part, tuple | list):
                    return [read(one) for one in part]
                at = builder.gep(words, [word(next(places))], inbounds=True)
                return builder.load(builder.bitcast(at, part.as_pointer()))

            return model.from_argument(builder, read(model.get_argument_type()))

        return kind(buffer, like), generate

    def call_address(typing: Any, code: Any, buffer: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            # Signature of an entry: (buffer, type); the type has no data.
            of_entry = types.Array(types.uint8, 1, "C"), types.TypeRef(types.intp)
            convention, held = context.call_conv, context.make_array(of_entry[0])(context, builder)
            held.data = builder.inttoptr(arguments[1], held.data.type)
            entry = convention.get_function_type(types.intp, of_entry).as_pointer()
            given = held._getvalue(), context.get_dummy_value()
            return convention.call_function(
                builder, builder.inttoptr(arguments[0], entry), types.intp, of_entry, given
            )[1]

        return types.intp(types.intp, types.intp), generate

    return intrinsic(unpack_arguments), intrinsic(call_address)


def supports_bound_calls() -> bool:
    """Return True if arguments can be stored; otherwise kernels are called with the arguments themselves."""
    from numba.core import config

    return not config.DISABLE_JIT and is_tested("held")


#: In kernels: the arguments of a type, read from a buffer; the result of the `BoundCall` with these addresses.
unpack_arguments: Any
call_address: Any
unpack_arguments, call_address = _intrinsics()


def _add_words(value: Any, words: list[int]) -> None:
    """Add numba's memory form of an argument, which consists of words of eight bytes."""
    if isinstance(value, np.ndarray):
        # numpy would describe the type of a record, too.
        at = value.__array_interface__["data"][0] if value.dtype.names is None else value.ctypes.data
        # It has no reference count, and is not returned.
        words += (0, 0, value.size, value.itemsize, at, *value.shape, *value.strides)
    elif isinstance(value, tuple):
        for part in value:
            _add_words(part, words)
    elif isinstance(value, np.void):
        # The address of the array of one record.
        words.append(np.asarray(value.base).ctypes.data)
    elif value is None:
        words.append(0)
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        words.append(int(value))
    else:
        raise TypeError(f"a BoundCall holds arrays, records, tuples, integers and None, not {type(value).__name__}")


def _remembered(value: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """Return the words of a value as an int64 array, from ``known`` if they are there; otherwise store them there.

    ``known`` has the identity of each value as key.
    """
    if id(value) not in known:
        words: list[int] = []
        _add_words(value, words)
        # Stored with the value, which keeps its identity valid.
        known[id(value)] = value, np.array(words, dtype=np.int64)
    return known[id(value)][1]


# By an entry and the fingerprint of its arguments: their type, its bytes, the compiled code, and its address.
_entries: dict[tuple[Any, bytes], tuple[Any, int, Any, int]] = {}


def _compiled(entry: Any, arguments: tuple[Any, ...]) -> tuple[Any, int, Any, int]:
    """Compile an entry for these arguments, or take it from memory or disk."""
    from numba import _dispatcher, typeof

    # numba's key for the types of arguments: finding the types themselves takes a hundred times as long.
    key = entry, _dispatcher.compute_fingerprint(arguments)
    if key not in _entries:
        like = typeof(arguments)
        signature = (typeof(np.zeros(0, dtype=np.uint8)), typeof(like))
        entry.compile(signature)
        compiled = entry.overloads[signature]
        code = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        _entries[key] = like, _size(entry, like), compiled, code
    return _entries[key]


def _size(entry: Any, like: Any) -> int:
    """Return the size in bytes of a value of numba's type ``like``, for the target of the kernel ``entry``."""

    def words(part: Any) -> int:
        return sum(map(words, part)) if isinstance(part, tuple | list) else 1

    return 8 * words(entry.targetdescr.target_context.data_model_manager[like].get_argument_type())


class BoundCall:
    """Kernel with stored arguments, for repeated calls.

    Parameters
    ----------
    entry
        A kernel of (buffer, type) that takes its arguments from the buffer by `unpack_arguments`, as a tuple of that
        type. Without the compiler it is called with None and the arguments.
    arguments
        Arrays, tuples of arrays, integers, None, and records of an array of one: only their address is stored. The
        object keeps them alive.
    known
        Words of arguments from other calls, by identity; new ones are added.

    Attributes
    ----------
    call
        A function without arguments that calls the kernel, as the object itself does, in half the time.
    addresses
        (2,) addresses of the code and of its buffer, for a kernel that calls them by `call_address`, valid while this
        object exists; the object itself and 0 without the compiler.
    keeps
        Other calls, which this one calls by their addresses; it keeps them alive.
    """

    def __init__(
        self,
        entry: Callable[..., Any],
        arguments: tuple[Any, ...],
        known: dict[int, tuple[Any, Any]] | None = None,
    ) -> None:
        self.arguments = arguments
        self._entry = entry
        self.call: Callable[[], Any] = functools.partial(entry, None, arguments)
        self.keeps: list[BoundCall] = []
        # Number of words of each argument; without the compiler there are none.
        self._counts: list[int] = []
        if not supports_bound_calls():
            self.addresses: Any = np.array([self, 0], dtype=object)
            return
        # The compiled code itself, which checks no types.
        like, size, compiled, code = _compiled(entry, arguments)
        known = {} if known is None else known
        parts = [_remembered(argument, known) for argument in arguments]
        self._counts = [part.size for part in parts]
        words = self._buffer = np.concatenate(parts)
        if words.nbytes != size:
            raise TypeError(f"arguments of a BoundCall take {size} bytes, not {words.nbytes}: not all are of words")
        buffer = words.view(np.uint8)
        self.call = functools.partial(compiled.entry_point, buffer, like)
        self.addresses = np.array([code, buffer.ctypes.data], dtype=np.int64)

    def replace_argument(self, old: Any, new: Any) -> None:
        """Replace a stored argument by another one of the same type and size, here and in `keeps`."""
        known: dict[int, tuple[Any, Any]] = {}
        for call in (self, *self.keeps):
            first = 0
            for argument, count in zip(call.arguments, call._counts, strict=False):
                if argument is old:
                    call._buffer[first : first + count] = _remembered(new, known)
                first += count
            call.arguments = tuple(new if argument is old else argument for argument in call.arguments)
            if not call._counts:
                call.call = functools.partial(call._entry, None, call.arguments)

    def __reduce__(self) -> NoReturn:
        # The buffer of a copy would have the addresses of these arrays, not of its own.
        raise TypeError("a BoundCall holds addresses of arrays, and cannot be copied or pickled")

    def __call__(self) -> Any:
        """Call the kernel."""
        return self.call()

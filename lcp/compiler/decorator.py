"""The decorator of all kernels of the project."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

from lcp.compiler.releases import is_tested
from lcp.interruptible import run_interruptibly

__all__ = ["compile_for", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(
    *,
    allocates: bool = ...,
    inline: bool = ...,
    inner: bool = ...,
    short_loops: bool = ...,
    long_loops: bool = ...,
    vectors: bool = ...,
) -> Callable[[F], F]: ...
def kernel(
    function: F | None = None,
    *,
    allocates: bool = False,
    inline: bool = False,
    inner: bool = False,
    short_loops: bool = False,
    long_loops: bool = False,
    vectors: bool = False,
) -> Any:
    """Compile a function of arrays and scalars with the project's options.

    Parameters
    ----------
    function
        The function; ``@kernel`` and ``@kernel(...)`` both work.
    allocates
        True for the few drivers that create arrays. Others are compiled without reference counting and must not.
    inline
        True for leaf helpers called in inner loops: they are inlined before optimisation.
    inner
        True for kernels that only other kernels call: the code for calls from Python is not compiled, which for
        arguments of many arrays takes as long as the kernel itself.
    short_loops
        True for a kernel that Python calls, and that contains many others with short loops: no loop is unrolled or
        vectorised.
    long_loops
        True for an inner kernel whose loops are still worth unrolling.
    vectors
        True for an inner kernel with equal operations on several adjacent numbers, for vector instructions.

    Notes
    -----
    float64 throughout, no fastmath (the compiled step and the public path must agree to the last bit, however the
    compiler inlines), the GIL released, numpy's error model (division by zero gives inf, no exception). With the
    environment variable ``NUMBA_DISABLE_JIT=1`` the function is returned as it is.
    """
    if function is None:
        return functools.partial(
            kernel,
            allocates=allocates,
            inline=inline,
            inner=inner,
            short_loops=short_loops,
            long_loops=long_loops,
            vectors=vectors,
        )

    from numba.core import config

    if config.DISABLE_JIT:
        return function
    # The entry for callers from C, which is not used, is not compiled.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    if inner:
        options["no_cpython_wrapper"] = True
    if not allocates and is_tested("uncounted"):
        options["_nrt"] = False
    if inline:
        options["inline"] = "always"
    dispatcher = _dispatcher(function, options, short_loops, long_loops, vectors)
    if not inner and not inline and is_tested("inner"):
        _allow_calls_from_kernels(
            dispatcher, _dispatcher(function, options | {"no_cpython_wrapper": True}, False, long_loops)
        )
    return dispatcher


def compile_for(kernel: Any, *arguments: Any) -> None:
    """Compile a kernel for these arguments, or read it from disk, without a run. No effect without the compiler."""
    if hasattr(kernel, "is_kernel"):
        kernel.compile(tuple(kernel.typeof_pyval(argument) for argument in arguments))


def _dispatcher(
    function: Callable[..., Any], options: dict[str, Any], short_loops: bool, long_loops: bool, vectors: bool = False
) -> Any:
    """Return numba's object for a function compiled with these options."""
    import numba

    from lcp.compiler.cache import KernelCache
    from lcp.compiler.compile_events import announce_compilations
    from lcp.compiler.pipeline import compiler_class

    if is_tested("inner") or is_tested("values"):
        options = options | {"pipeline_class": compiler_class(short_loops, long_loops, vectors)}
    dispatcher = numba.njit(**options)(function)
    dispatcher.is_kernel = True
    announce_compilations()
    if is_tested("cache"):
        dispatcher._cache = KernelCache(function, "no_cpython_wrapper" in options)
    if is_tested("literals"):
        _one_version_per_type(dispatcher)
    _compile_fast(dispatcher)
    _compile_interruptibly(dispatcher)
    return dispatcher


def _allow_calls_from_kernels(dispatcher: Any, inner: Any) -> None:
    """Let other kernels call a kernel as one that Python never calls: see `pipeline`."""
    dispatcher.get_call_template = inner.get_call_template
    dispatcher.get_overload = inner.get_overload
    dispatcher.inner = inner


def _one_version_per_type(dispatcher: Any) -> None:
    """Compile one version for an integer argument, not one for every literal (k = 0) with which it is called.

    numba gives a variable with a constant value the type of this constant, so each such call would compile the whole
    callee again.
    """
    from numba.core.types import unliteral as plain  # type: ignore[attr-defined]

    original = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return original(tuple(plain(arg) for arg in args), {name: plain(arg) for name, arg in kws.items()})

    dispatcher.get_call_template = get_call_template


def _compile_interruptibly(dispatcher: Any) -> None:
    """Compile in a separate thread: Ctrl-C is handled immediately, and not inside numba, which it would break."""
    from numba.core.compiler_lock import global_compiler_lock

    from lcp.compiler.compile_events import count_as_waiting

    original = dispatcher.compile

    def compile_heard(signature: Any) -> Any:
        if global_compiler_lock.is_locked():
            # This thread compiles a caller of the kernel: another thread would wait for it without end.
            return original(signature)
        with count_as_waiting():
            return run_interruptibly(lambda: original(signature), ends=True)

    dispatcher.compile = compile_heard


def _compile_fast(dispatcher: Any) -> None:
    """Compile the dispatcher's kernel under `fast_compilation` and with `plain_indexing` of its module."""
    from lcp.compiler.type_lookup_cache import fast_compilation

    module = dispatcher.py_func.__module__
    compiler = dispatcher._compiler
    original = compiler.compile

    def compile_swiftly(args: Any, return_type: Any) -> Any:
        with fast_compilation(), plain_indexing(module):
            return original(args, return_type)

    compiler.compile = compile_swiftly


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

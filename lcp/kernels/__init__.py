"""Compiled arithmetic of `lcp`, and the one decorator every kernel of the project goes through.

A kernel is a plain function of arrays and scalars. It returns an integer or fills arrays it was handed, never raises
and, unless it says ``allocates=True``, never allocates: reference counting is then compiled out, which is worth a
factor 1.4 to 2.5 where small array helpers are called inside branches.

Compiled code is cached on disk. numba keys its cache on the file a function stands in and misses edits to functions
called from other files; the locator below keys it on all kernel sources of the package instead.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_announced = False


@functools.cache
def _source_hash(top_package: str) -> str:
    """Hash of every kernel source a kernel of ``top_package`` may call: its own and those of `lcp`."""
    import hashlib

    digest = hashlib.sha256()
    for name in sorted({top_package, "lcp"}):
        module = sys.modules.get(name) or importlib.import_module(name)
        for folder in module.__path__ if hasattr(module, "__path__") else ():
            for file in sorted(Path(folder).rglob("*.py")):
                if "kernels" in file.parts[-2:-1]:
                    digest.update(file.name.encode())
                    digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def _cache_folder() -> str | None:
    """First writable folder for compiled kernels, or None where there is none (kernels then compile in memory)."""
    import tempfile

    candidates = [os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")]
    candidates.append(os.path.join(os.path.expanduser("~"), ".cache"))
    for candidate in candidates:
        if not candidate or not os.path.isabs(candidate):
            continue
        folder = os.path.join(candidate, "contactlab-kernels")
        try:
            os.makedirs(folder, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


@functools.cache
def _cache_class() -> Any:
    """numba's function cache with our folder and our source stamp (numba's own API for locators is not public)."""
    import hashlib

    from numba.core import caching

    class Locator(caching._CacheLocator):
        def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
            self._top = py_func.__module__.partition(".")[0]
            self._file = py_file

        def get_cache_path(self) -> str:
            # Two checkouts on one machine must not evict each other: the file's own place is in the path.
            place = hashlib.sha256(os.path.abspath(self._file).encode()).hexdigest()[:16]
            return os.path.join(_cache_folder() or "", place)

        def get_source_stamp(self) -> str:
            return _source_hash(self._top)

        def get_disambiguator(self) -> str:
            return hashlib.sha256(self._file.encode()).hexdigest()[:10]

        @classmethod
        def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Locator:
            return cls(py_func, py_file)

    class Impl(caching.CompileResultCacheImpl):
        _locator_classes = [Locator]

    class KernelCache(caching.FunctionCache):
        _impl_class = Impl

        def save_overload(self, sig: Any, data: Any) -> None:
            # A full or vanished disk must not break a solve: the kernel is already in memory.
            try:
                super().save_overload(sig, data)
            except OSError:
                return

    return KernelCache


def _announce() -> None:
    """Say once per process that kernels are being compiled: the first run is silent for seconds otherwise."""
    global _announced
    if not _announced:
        _announced = True
        print("contactlab: compiling kernels (once per machine) ...", file=sys.stderr, flush=True)


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, allocates: bool = ..., inline: bool = ..., inner: bool = ...) -> Callable[[F], F]: ...
def kernel(function: F | None = None, *, allocates: bool = False, inline: bool = False, inner: bool = False) -> Any:
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
        True for kernels that only other kernels call: what Python would need to call them is not compiled, which for
        arguments of many arrays takes as long as the kernel itself.

    Notes
    -----
    float64 throughout, no fastmath (the compiled step and the public path must agree to the last bit, however the
    compiler inlines), the GIL released, numpy's error model (division by zero gives inf, no exception). With the
    environment variable ``NUMBA_DISABLE_JIT=1`` the function is returned as it is.
    """
    if function is None:
        return functools.partial(kernel, allocates=allocates, inline=inline, inner=inner)

    import numba
    from numba.core import config

    if config.DISABLE_JIT:
        return function
    # The entry for callers from C, which nobody uses, is not compiled.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    if inner:
        options["no_cpython_wrapper"] = True
    if not allocates:
        options["_nrt"] = False
    if inline:
        options["inline"] = "always"
    dispatcher = numba.njit(**options)(function)
    if _cache_folder() is not None:
        dispatcher._cache = _cache_class()(function)
    _one_version_per_type(dispatcher)
    _watch_compilation(dispatcher)
    return dispatcher


def _one_version_per_type(dispatcher: Any) -> None:
    """Compile one version for an integer argument, not another for every literal (k = 0) it is called with.

    numba types a variable that holds a constant as that constant; each such call would cost a compilation of the
    whole callee.
    """
    from numba.core.types import unliteral as plain  # type: ignore[attr-defined]

    original = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return original(tuple(plain(arg) for arg in args), {name: plain(arg) for name, arg in kws.items()})

    dispatcher.get_call_template = get_call_template


def _watch_compilation(dispatcher: Any) -> None:
    """Announce the first real compilation (a cache hit compiles nothing and stays silent)."""
    compiler = dispatcher._compiler
    original = compiler.compile

    def compile_announced(args: Any, return_type: Any) -> Any:
        _announce()
        return original(args, return_type)

    compiler.compile = compile_announced

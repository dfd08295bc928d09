"""Compiled arithmetic of `lcp`, and the one decorator every kernel of the project goes through.

A kernel is a plain function of arrays and scalars. It returns an integer or fills arrays it was handed, never raises
and, unless it says ``allocates=True``, never allocates: reference counting is then compiled out, which is worth a
factor 1.4 to 2.5 where small array helpers are called inside branches.

Compiled code is cached on disk. numba keys its cache on the file a function stands in and misses edits to functions
called from other files; the locator below keys it on the sources of all kernel modules that a file reaches by its
imports (``from ... import ...``, the form used in every folder of kernels).
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, overload

__all__ = ["kernel", "when_compiling"]

F = TypeVar("F", bound=Callable[..., Any])

_announced = False
# What is to be done at the next compilation.
_actions: list[Callable[[], object]] = []


_IMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n#]+)", re.MULTILINE)


@functools.cache
def _package_folder(name: str) -> Path | None:
    """Folder of a top-level package that is imported already: kernels can only call what was."""
    places = getattr(sys.modules.get(name), "__path__", None)
    return Path(places[0]) if places else None


@functools.cache
def _kernel_imports(file: Path) -> tuple[Path, ...]:
    """Kernel modules that ``file`` imports: files of a folder ``kernels``, in any package."""
    found: dict[Path, None] = {}
    for module, names in _IMPORT.findall(file.read_text(encoding="utf-8")):
        parts = module.split(".")
        top = _package_folder(parts[0])
        if top is None or "kernels" not in parts:
            continue
        place = top.joinpath(*parts[1:])
        for candidate in (place, *(place / name for name in re.findall(r"\w+", names))):
            for source in (candidate.with_suffix(".py"), candidate / "__init__.py"):
                if source.is_file():
                    found[source] = None
    return tuple(sorted(found))


@functools.cache
def _source_hash(file: Path) -> str:
    """Hash of a kernel's own source and of every kernel source it reaches by its imports."""
    import hashlib

    reached, waiting = {file}, [file]
    while waiting:
        for source in _kernel_imports(waiting.pop()):
            if source not in reached:
                reached.add(source)
                waiting.append(source)
    digest = hashlib.sha256()
    # By name, not by place: the same sources in another folder have the same hash.
    for source in sorted(reached, key=lambda path: (path.name, path.parent.parent.name)):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
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

    from lcp.kernels.compiling import rebuild_inner

    class Locator(caching._CacheLocator):
        def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
            self._file = py_file

        def get_cache_path(self) -> str:
            # Two checkouts on one machine must not evict each other: the file's own place is in the path.
            place = hashlib.sha256(os.path.abspath(self._file).encode()).hexdigest()[:16]
            return os.path.join(_cache_folder() or "", place)

        def get_source_stamp(self) -> str:
            return _source_hash(Path(self._file))

        def get_disambiguator(self) -> str:
            return hashlib.sha256(self._file.encode()).hexdigest()[:10]

        @classmethod
        def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Locator:
            return cls(py_func, py_file)

    class Impl(caching.CompileResultCacheImpl):
        _locator_classes = [Locator]

        def rebuild(self, target_context: Any, payload: Any) -> Any:
            inner = rebuild_inner(target_context, payload)
            return super().rebuild(target_context, payload) if inner is None else inner

    class KernelCache(caching.FunctionCache):
        _impl_class = Impl
        inner = False

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            return super()._index_key(sig, codegen), self.inner

        def save_overload(self, sig: Any, data: Any) -> None:
            # A full or vanished disk must not break a solve: the kernel is already in memory.
            try:
                super().save_overload(sig, data)
            except OSError:
                return

    return KernelCache


@contextlib.contextmanager
def when_compiling(action: Callable[[], object]) -> Iterator[None]:
    """Call ``action`` at the first compilation within the block, if there is any that the cache does not spare."""
    _actions.append(action)
    try:
        yield
    finally:
        if action in _actions:
            _actions.remove(action)


def _announce() -> None:
    """Say once per process that kernels are being compiled: the first run is silent for seconds otherwise."""
    global _announced
    while _actions:
        _actions.pop()()
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
    dispatcher = _dispatcher(function, options)
    if not inner and not inline:
        _called_by_kernels(dispatcher, _dispatcher(function, options | {"no_cpython_wrapper": True}))
    return dispatcher


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """numba's object for a function compiled with these options."""
    import numba

    from lcp.kernels.compiling import compiler_class

    dispatcher = numba.njit(pipeline_class=compiler_class(), **options)(function)
    if _cache_folder() is not None:
        dispatcher._cache = _cache_class()(function)
        dispatcher._cache.inner = "no_cpython_wrapper" in options
    _one_version_per_type(dispatcher)
    _watch_compilation(dispatcher)
    return dispatcher


def _called_by_kernels(dispatcher: Any, inner: Any) -> None:
    """Let other kernels call a kernel as one that Python never calls: see `compiling`."""
    dispatcher.get_call_template = inner.get_call_template
    dispatcher.get_overload = inner.get_overload
    dispatcher.inner = inner


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
    """Announce the first real compilation (a cache hit compiles nothing and stays silent), and be quick about it."""
    from lcp.kernels.compiling import swiftly

    compiler = dispatcher._compiler
    original = compiler.compile

    def compile_announced(args: Any, return_type: Any) -> Any:
        _announce()
        with swiftly():
            return original(args, return_type)

    compiler.compile = compile_announced

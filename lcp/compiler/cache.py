"""The cache of compiled kernels on disk.

numba keys its cache on the location of the file of a function, and misses edits to functions called from other files.
Here the key is the code from which a kernel was compiled. It consists of the sources of the compiler, and of all kernel
modules that a file reaches by its imports. Every folder of kernels uses the form ``from ... import ...``. The versions
and the tier of processors are also in the key. So another environment, checkout or container can use the same code.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lcp.compiler.kernel_files import (
    KernelFile,
    build_tag,
    cache_folder,
    known,
    read_code,
    remove_unused,
    seed_file,
)
from lcp.compiler.pipeline import rebuild_inner, rebuild_library
from lcp.compiler.releases import machine

__all__ = ["KernelCache", "cache_folder"]

_IMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n#]+)", re.MULTILINE)


@functools.cache
def _package_folder(name: str) -> Path | None:
    """Return the folder of a top-level package that is already imported: kernels can only call imported ones."""
    places = getattr(sys.modules.get(name), "__path__", None)
    return Path(places[0]) if places else None


@functools.cache
def _kernel_imports(file: Path) -> tuple[Path, ...]:
    """Return the kernel modules that ``file`` imports: files of a folder ``kernels``, in any package."""
    sources: dict[Path, None] = {}
    for module, names in _IMPORT.findall(file.read_text(encoding="utf-8")):
        parts = module.split(".")
        top = _package_folder(parts[0])
        if top is None or "kernels" not in parts:
            continue
        place = top.joinpath(*parts[1:])
        for candidate in (place, *(place / name for name in re.findall(r"\w+", names))):
            for source in (candidate.with_suffix(".py"), candidate / "__init__.py"):
                if source.is_file():
                    sources[source] = None
    return tuple(sorted(sources))


@functools.cache
def _source_hash(file: Path) -> str:
    """Return the hash of a file of kernels, of every kernel source that it imports, and of the compiler's sources."""
    reached, waiting = {file, *Path(__file__).parent.glob("*.py")}, [file]
    while waiting:
        for source in _kernel_imports(waiting.pop()):
            if source not in reached:
                reached.add(source)
                waiting.append(source)
    digest = hashlib.sha256()
    # By name, not by location: the same sources in another folder have the same hash.
    for source in sorted(reached, key=lambda path: path.parts[-3:]):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _place(function: Callable[..., Any], file: str) -> str:
    """Return the name of the code folder for the kernels in a file, below `build_tag`.

    It consists of the module's name, or the file's name and location, and a hash of the sources.
    """
    name = function.__module__
    if "kernels" not in name.split("."):
        # Other inputs of such a file are not known, so another file with the same text has another folder.
        name = f"{Path(file).stem}.{hashlib.sha256(os.path.abspath(file).encode()).hexdigest()[:16]}"
    return f"{name}-{_source_hash(Path(file))[:24]}"


# Libraries of inner kernels, by the names of their folder and file.
_libraries: dict[tuple[str, str], Any] = {}


def _stored_library(target: Any, reference: tuple[str, str], data: Any = None) -> Any:
    """Return the library of a stored inner kernel, or None if the code of it or of one of its callees is missing."""
    if reference not in _libraries:
        data = read_code(*reference) if data is None else data
        if data is None:
            return None
        callees = [_stored_library(target, callee) for callee in data[0][3]]
        if any(callee is None for callee in callees):
            return None
        library = _libraries[reference] = rebuild_library(target, data, callees)
        library.reference = reference
    return _libraries[reference]


class KernelCache:
    """The cache of one kernel, in place of numba's; ``inner``: of its form that only kernels call."""

    def __init__(self, function: Callable[..., Any], inner: bool) -> None:
        import numba
        from numba.core.serialize import dumps

        self._py_func, self._inner = function, inner
        file = inspect.getfile(function)
        place, stamp = _place(function, file), (numba.__version__, _source_hash(Path(file)))
        # Without the brackets of functions in functions.
        base = f"{Path(file).stem}.{re.sub('[<>]', '', function.__qualname__)}-kernel"
        self._place = place
        self.cache_path = os.path.join(cache_folder() or "", build_tag(), place)
        self._file, self._seed = KernelFile(self.cache_path, base, stamp, dumps), seed_file(place, base, stamp, dumps)
        known.extend(file for file in (self._seed, self._file) if file is not None)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the stored compilation for a signature, or None."""
        from numba.core.compiler import CompileResult

        target_context.refresh()
        for file in (self._seed, self._file if cache_folder() else None):
            name, data = ("", None) if file is None else file.load(self._key(sig))
            if data is not None and not self._inner:
                return CompileResult._rebuild(target_context, *data)
            library = None if data is None else _stored_library(target_context, (self._place, name), data)
            if library is not None:
                return rebuild_inner(target_context, data, library)
        return None

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Store a compilation, unless it, or one that it calls, contains addresses of this process."""
        root, library = cache_folder(), compiled.library
        if root is None or library.has_dynamic_globals:
            return
        if self._inner and any(callee.reference is None for callee in library.callees):
            return
        remove_unused(root)
        # A full or missing disk must not break a solve: the kernel is already in memory.
        with contextlib.suppress(OSError):
            os.makedirs(self.cache_path, exist_ok=True)
            name = self._file.save(self._key(sig), compiled._reduce())
            if self._inner:
                library.reference = self._place, name
                _libraries[library.reference] = library

    def _key(self, sig: Any) -> Any:
        """Return numba's key with our name of the machine; numba's is the one of the very processor."""
        from numba.core.caching import Cache

        return Cache._index_key(self, sig, SimpleNamespace(magic_tuple=machine)), self._inner

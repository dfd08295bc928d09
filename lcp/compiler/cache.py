"""The cache of compiled kernels on disk.

numba keys its cache on the location of the file of a function, and misses edits to functions called from other files.
Here the key is the code from which a kernel was compiled: the sources of all kernel modules that a file reaches by its
imports (``from ... import ...``, the form used in every folder of kernels), and the sources of the compiler. The
versions and the tier of processors are also in the key. So another environment, checkout or container can use the same
code.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lcp.compiler.kernel_files import build_tag, cache_folder, known, remove_unused, seed_file
from lcp.compiler.pipeline import rebuild_inner
from lcp.compiler.releases import machine

__all__ = ["cache_folder", "kernel_cache"]

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


@functools.cache
def kernel_cache() -> Any:
    """Return a class of numba's function cache with our folders and our source stamp."""
    import numba
    from numba.core import caching
    from numba.core.serialize import dumps

    from lcp.compiler.kernel_files import KernelFile

    class Locator(caching._CacheLocator):
        def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
            self._file, self._place = py_file, _place(py_func, py_file)

        def get_cache_path(self) -> str:
            return os.path.join(cache_folder() or "", build_tag(), self._place)

        def get_source_stamp(self) -> str:
            return _source_hash(Path(self._file))

        def get_disambiguator(self) -> str:
            return "kernel"

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

        def __init__(self, py_func: Callable[..., Any]) -> None:
            super().__init__(py_func)
            stamp = numba.__version__, self._impl.locator.get_source_stamp()
            base, place = self._impl.filename_base, os.path.basename(self._cache_path)
            self._cache_file = KernelFile(self._cache_path, base, stamp, dumps)
            self._seed = seed_file(place, base, stamp, dumps)
            known.extend(file for file in (self._seed, self._cache_file) if file is not None)

        def _load_overload(self, sig: Any, target_context: Any) -> Any:
            for file in (self._seed, self._cache_file if cache_folder() else None):
                data = None if file is None else file.load(self._index_key(sig, target_context.codegen()))
                if data is not None:
                    return self._impl.rebuild(target_context, data)
            return None

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            # numba's name is the one of the very processor for which it compiles.
            return super()._index_key(sig, SimpleNamespace(magic_tuple=machine)), self.inner

        def save_overload(self, sig: Any, data: Any) -> None:
            root = cache_folder()
            if root is None:
                return
            remove_unused(root)
            # A full or missing disk must not break a solve: the kernel is already in memory.
            try:
                super().save_overload(sig, data)
            except OSError:
                return

    return KernelCache

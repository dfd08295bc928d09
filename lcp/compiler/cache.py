"""The cache of compiled kernels on disk.

numba keys its cache on the file a function stands in and misses edits to functions called from other files; the locator
below keys it on the sources of all kernel modules that a file reaches by its imports (``from ... import ...``, the form
used in every folder of kernels), and on those of the compiler.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lcp.compiler.pipeline import rebuild_inner

__all__ = ["cache_folder", "kernel_cache"]

_IMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n#]+)", re.MULTILINE)


@functools.cache
def _package_folder(name: str) -> Path | None:
    """Folder of a top-level package that is imported already: kernels can only call what was."""
    places = getattr(sys.modules.get(name), "__path__", None)
    return Path(places[0]) if places else None


@functools.cache
def _kernel_imports(file: Path) -> tuple[Path, ...]:
    """Kernel modules that ``file`` imports: files of a folder ``kernels``, in any package."""
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
    """Hash of a file of kernels, of every kernel source it reaches by its imports, and of the compiler's."""
    reached, waiting = {file, *Path(__file__).parent.glob("*.py")}, [file]
    while waiting:
        for source in _kernel_imports(waiting.pop()):
            if source not in reached:
                reached.add(source)
                waiting.append(source)
    digest = hashlib.sha256()
    # By name, not by place: the same sources in another folder have the same hash.
    for source in sorted(reached, key=lambda path: path.parts[-3:]):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _private(status: os.stat_result) -> bool:
    """Whether a folder is this user's alone to write: code is run from it."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


@functools.cache
def cache_folder() -> str | None:
    """First folder for compiled kernels that this user alone may write, or None (kernels then compile in memory)."""
    import tempfile
    import warnings

    candidates = [os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")]
    candidates.append(os.path.join(os.path.expanduser("~"), ".cache"))
    for candidate in candidates:
        if not candidate or not os.path.isabs(candidate):
            continue
        folder = os.path.join(candidate, "contactlab-kernels")
        try:
            os.makedirs(candidate, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            if not _private(os.stat(folder)):
                warnings.warn(
                    f"compiled kernels are neither taken from {folder} nor kept there: another user owns it or may "
                    f"write to it, and what stands there is run; `chmod go-w {folder}`, or remove it",
                    RuntimeWarning,
                    stacklevel=2,
                )
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


@functools.cache
def kernel_cache() -> Any:
    """Class of numba's function cache with our folder and our source stamp."""
    import numba
    from numba.core import caching
    from numba.core.serialize import dumps

    from lcp.compiler.entries import KernelFile

    class Locator(caching._CacheLocator):
        def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
            self._file = py_file

        def get_cache_path(self) -> str:
            # Two checkouts on one machine must not evict each other: the place of the file is in the path.
            place = hashlib.sha256(os.path.abspath(self._file).encode()).hexdigest()[:16]
            return os.path.join(cache_folder() or "", place)

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

        def __init__(self, py_func: Callable[..., Any]) -> None:
            super().__init__(py_func)
            stamp = numba.__version__, self._impl.locator.get_source_stamp()
            self._cache_file = KernelFile(self._cache_path, self._impl.filename_base, stamp, dumps)

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            return super()._index_key(sig, codegen), self.inner

        def save_overload(self, sig: Any, data: Any) -> None:
            # A full or vanished disk must not break a solve: the kernel is already in memory.
            try:
                super().save_overload(sig, data)
            except OSError:
                return

    return KernelCache

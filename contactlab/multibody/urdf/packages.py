"""Folders of mesh files: inside the folders the caller named, nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import normpath
from pathlib import Path

from contactlab.multibody.urdf.errors import UrdfError
from contactlab.multibody.urdf.guarded_xml import shown
from contactlab.multibody.urdf.reading import Element

#: What ``package_roots`` may be: folders by package name, or folders that hold packages as subfolders.
PackageRoots = Mapping[str, str | PathLike[str]] | Iterable[str | PathLike[str]] | str | PathLike[str] | None

_DRIVE = re.compile(r"[A-Za-z]:")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def _folder(value: str | PathLike[str], name: str) -> Path:
    folder = Path(fspath(value)).resolve()
    if not folder.is_dir():
        raise UrdfError("package_roots", f"{name} is not a folder: {fspath(value)!r}", source="argument")
    return folder


@dataclass(frozen=True, eq=False)
class Packages:
    """The folders meshes may lie in."""

    named: dict[str, Path]  # folder of each package named by the caller
    roots: tuple[Path, ...]  # folders whose subfolders are packages
    home: Path | None  # folder of the description, None for text

    @classmethod
    def of(cls, package_roots: PackageRoots, file: Path | None) -> Packages:
        """The caller's folders, which must exist, and that of the file."""
        home = file.resolve().parent if file is not None else None
        if package_roots is None:
            return cls({}, (), home)
        if isinstance(package_roots, Mapping):
            return cls({name: _folder(at, f"[{name!r}]") for name, at in package_roots.items()}, (), home)
        several = [package_roots] if isinstance(package_roots, str | PathLike) else list(package_roots)
        return cls({}, tuple(_folder(at, f"[{i}]") for i, at in enumerate(several)), home)

    def find(self, element: Element, uri: str) -> Path | None:
        """The existing file a URI names, None where it is in no folder the caller named.

        A URI that names a place of its own choosing (an absolute path, or steps upwards out of the folders) is refused,
        whether there is such a file or not.
        """
        scheme = _SCHEME.match(uri)
        rest = uri[scheme.end() :] if scheme else uri
        kind = scheme.group(1).lower() if scheme else ""
        if kind not in ("", "package"):
            if kind == "file":
                raise element.error(f"{shown(uri)} is a place of the file's own choosing; only package:// and relative")
            return None  # "model://", "http://": nothing is fetched, the record keeps the text
        if kind == "package":
            rest = rest.lstrip("/")  # "package:///name/..." is in use; the name is looked up among the roots either way
        parts = re.split(r"[/\\]", rest)
        if rest.startswith(("/", "\\")) or _DRIVE.match(rest):
            raise element.error(f"{shown(uri)} is absolute; only package:// and relative paths are followed")
        if kind == "package":
            return self._in_package(element, uri, parts)
        return self._first(element, uri, parts, [] if self.home is None else [self.home])

    def _in_package(self, element: Element, uri: str, parts: list[str]) -> Path | None:
        name, inside = parts[0], parts[1:]
        if name in ("", ".", "..") or not any(inside):
            raise element.error(f"{shown(uri)} names no package and file")
        bases = [self.named[name]] if name in self.named else [root / name for root in self.roots]
        return self._first(element, uri, inside, bases)

    def _first(self, element: Element, uri: str, parts: list[str], bases: list[Path]) -> Path | None:
        refusal = element.error(f"{shown(uri)} leads out of the folders meshes may lie in (see package_roots)")
        if not bases and _leaves(parts):
            raise refusal
        for base in bases:
            path = base.joinpath(*parts)
            # First on paper, so that nothing outside is touched; then with links followed, which can lead out as well.
            if not self._allows(Path(normpath(path))):
                raise refusal
            real = _real(path)
            if real is not None:
                if not self._allows(real):
                    raise refusal
                return real
        return None

    def _allows(self, path: Path) -> bool:
        folders = [*self.named.values(), *self.roots, *([] if self.home is None else [self.home])]
        return any(path.is_relative_to(folder) for folder in folders)


def _real(path: Path) -> Path | None:
    """The file a path leads to once links are followed; None where there is none or its name cannot be one."""
    try:
        real = path.resolve(strict=True)
        return real if real.is_file() else None
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        return None


def _leaves(parts: Iterable[str]) -> bool:
    """Whether a relative path steps above where it starts."""
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else 0 if part in ("", ".") else 1
        if depth < 0:
            return True
    return False

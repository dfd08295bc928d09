"""What a MuJoCo file refers to: nothing outside one folder, no plugins, no entities; looked at before it is read."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from xml.parsers import expat

from contactlab.world.mjcf.errors import MjcfError
from problem_data.files import content_of

MOST_BYTES = 16 * 2**20
MOST_FILES = 100

# Attributes of <compiler> that name folders, and of any element that name files.
FOLDERS = ("meshdir", "texturedir", "assetdir")
FILES = re.compile(r"file(name|right|left|up|down|front|back)?")
REFUSED = {"plugin": "is a plugin", "extension": "loads plugins", "model": "is another model", "attach": "attaches one"}

_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*://")


def check_references(file: Path, root: Path) -> None:
    """Raise an `MjcfError` where a file, or one it includes, refers to what lies outside ``root``, or loads code."""
    pending, seen = [file], set[Path]()
    parents, folders, named = [file.parent], [("", file)], list[tuple[str, Path]]()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if len(seen) > MOST_FILES:
            raise MjcfError("include", f"more than {MOST_FILES} files")
        own_folders, names, includes = _scan(one)
        parents.append(one.parent)
        folders += [(folder, one) for folder in own_folders]
        named += [(name, one) for name in names]
        # mujoco looks in the folders of the main file and of the one that names it.
        for name in includes:
            found = [_check_path(name, root, base, one) for base in {file.parent, one.parent}]
            pending += [path for path in found if path.is_file()]
    # What one file says of folders holds for the names in all.
    for base in set(parents):
        for folder, one in dict.fromkeys(folders):
            _check_path(folder, root, base, one)
            for name, namer in named:
                _check_path(name, root, base / folder, namer)


def _check_path(name: str, root: Path, base: Path, file: Path) -> Path:
    """Return where a name leads from a folder, links followed or not, which has to be within the root."""
    if _ABSOLUTE.match(name):
        raise MjcfError("file", f"{file.name}: {name!r} is absolute")
    try:
        real = (base / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise MjcfError("file", f"{file.name}: {name!r} is no path ({error})") from error
    for path in (real, Path(os.path.normpath(base / name))):
        if not path.is_relative_to(root):
            up = "upwards, " if ".." in re.split(r"[/\\]", name) else ""
            raise MjcfError("file", f"{file.name}: {name!r} leads {up}out of {root}")
    return real


def _scan(file: Path) -> tuple[list[str], list[str], list[str]]:
    """Return the folders, files and includes that one file names."""
    folders: list[str] = []
    names: list[str] = []
    includes: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag in REFUSED and not (tag == "model" and "file" not in attributes):
            raise MjcfError(tag, f"{file.name}: <{tag}> {REFUSED[tag]}, which is not taken")
        for name, value in attributes.items():
            if tag == "compiler" and name in FOLDERS:
                folders.append(value)
            elif FILES.fullmatch(name):
                (includes if tag == "include" else names).append(value)

    def doctype(*_: Any) -> None:
        raise MjcfError("XML", f"{file.name}: has a DOCTYPE, which is not taken")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(content_of(file, _refused, MOST_BYTES), True)
    except expat.ExpatError as error:
        raise MjcfError("XML", f"{file.name}: {error}") from error
    return folders, names, includes


def _refused(file: Path, _: str, detail: str) -> MjcfError:
    return MjcfError("path", f"{file.name} {detail}")

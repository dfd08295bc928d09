"""Check the references of a MuJoCo file before it is read: no file outside one folder, no plugins, no entities."""

from __future__ import annotations

import os
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any
from xml.parsers import expat

from contactlab.world.mjcf.attributes import Said
from contactlab.world.mjcf.errors import MjcfError
from problem_data.files import read_bytes

MOST_BYTES = 16 * 2**20
MOST_FILES = 100

# Attributes of <compiler> that name folders, and of any element that name files.
FOLDERS = ("meshdir", "texturedir", "assetdir")
FILES = re.compile(r"file(name|right|left|up|down|front|back)?")
REFUSED = {"plugin": "is a plugin", "extension": "loads plugins", "model": "is another model", "attach": "attaches one"}

_ABSOLUTE = re.compile(r"/|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*://")


def check_references(file: Path, root: Path) -> list[Said]:
    """Raise an `MjcfError` if a file, or one it includes, refers to a file outside ``root``, or loads code.

    Return the contents of the files.
    """
    said = list[Said]()
    pending, seen = [file], dict[Path, set[Path]]()
    parents, folders, named = [file.parent], [("", file)], list[tuple[str, Path]]()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        if len(seen) == MOST_FILES:
            raise MjcfError("include", f"more than {MOST_FILES} files")
        own_folders, names, includes = _scan(one, said)
        parents.append(one.parent)
        folders += [(folder, one) for folder in own_folders]
        named += [(name, one) for name in names]
        # mujoco looks in the folders of the main file and of the one that names it.
        bases = {file.parent, one.parent}
        found = [path for name in includes for base in bases for path in _check_path(name, root, base, one)]
        seen[one] = {path for path in found if path.is_file()}
        pending += seen[one]
    _check_circles(seen)
    # Folders stated in one file apply to the names in all files.
    for base in set(parents):
        for folder, one in dict.fromkeys(folders):
            _check_path(folder, root, base, one)
            for name, namer in named:
                _check_path(name, root, base / folder, namer)
    return said


def _check_circles(included: dict[Path, set[Path]]) -> None:
    """Raise if files include one another in a circle, because mujoco ends the process on some of them."""
    graph: dict[Path, set[Path]] = {}
    for file, others in included.items():
        graph.setdefault(file.resolve(), set()).update(other.resolve() for other in others)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " -> ".join(path.name for path in reversed(error.args[1]))
        raise MjcfError("include", f"goes round in a circle: {circle}") from error


def _check_path(name: str, root: Path, base: Path, file: Path) -> set[Path]:
    """Return the paths of a name from a folder, by its text, as in mujoco, and by links; all within the root."""
    if name.startswith("package:"):
        detail = f"{file.name}: {name!r} is a URDF file's: `World.from_urdf` and `WorldBuilder.add_urdf` read those"
        raise MjcfError("file", detail)
    if _ABSOLUTE.match(name):
        raise MjcfError("file", f"{file.name}: {name!r} is absolute")
    text = Path(os.path.normpath(base / name))
    try:
        paths = {text, text.resolve(), (base / name).resolve()}
    except (OSError, RuntimeError, ValueError) as error:
        raise MjcfError("file", f"{file.name}: {name!r} is no path ({error})") from error
    for path in paths:
        if not path.is_relative_to(root):
            up = "upwards, " if ".." in name.split("/") else ""
            raise MjcfError("file", f"{file.name}: {name!r} leads {up}out of {root}")
    return paths


def _scan(file: Path, said: list[Said]) -> tuple[list[str], list[str], list[str]]:
    """Return the folders, files and includes that one file names, and collect its contents."""
    folders: list[str] = []
    names: list[str] = []
    includes: list[str] = []
    above: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag in REFUSED and not (tag == "model" and "file" not in attributes):
            raise MjcfError(tag, f"{file.name}: <{tag}> {REFUSED[tag]}, which is not taken")
        said.append((above[1] if len(above) > 1 else "", tag, attributes))
        above.append(tag)
        for name, written in attributes.items():
            # mujoco takes one for the other, whatever the system.
            value = written.replace("\\", "/")
            if tag == "compiler" and name in FOLDERS:
                folders.append(value)
            elif FILES.fullmatch(name):
                (includes if tag == "include" else names).append(value)

    def end(_: str) -> None:
        above.pop()

    def doctype(*_: Any) -> None:
        raise MjcfError("XML", f"{file.name}: has a DOCTYPE, which is not taken")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(read_bytes(file, _refused, MOST_BYTES), True)
    except expat.ExpatError as error:
        raise MjcfError("XML", f"{file.name}: {error}") from error
    return folders, names, includes


def _refused(file: Path, _: str, detail: str) -> MjcfError:
    return MjcfError("path", f"{file.name} {detail}")

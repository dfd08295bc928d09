"""What a MuJoCo file refers to: nothing outside one folder, no plugins, no entities; looked at before it is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.parsers import expat

from contactlab.world.mjcf.errors import MjcfError

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
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if len(seen) > MOST_FILES:
            raise MjcfError("include", f"more than {MOST_FILES} files")
        folders, names, includes = _scan(one)
        # mujoco looks in the folders of the main file and of the one that names it, with and without its own folders.
        bases = [base / folder for base in {file.parent, one.parent} for folder in ("", *folders)]
        for name in (*folders, *names, *includes):
            _check_path(name, root, bases, one)
        pending += [found for name in includes for base in bases if (found := (base / name).resolve()).is_file()]


def _check_path(name: str, root: Path, bases: list[Path], file: Path) -> None:
    if _ABSOLUTE.match(name) or ".." in re.split(r"[/\\]", name):
        raise MjcfError("file", f"{file.name}: {name!r} is absolute or leads upwards")
    for base in bases:
        try:
            real = (base / name).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise MjcfError("file", f"{file.name}: {name!r} is no path ({error})") from error
        if not real.is_relative_to(root):
            raise MjcfError("file", f"{file.name}: {name!r} leads out of {root}")


def _scan(file: Path) -> tuple[list[str], list[str], list[str]]:
    """Return the folders, files and includes that one file names."""
    if file.stat().st_size > MOST_BYTES:
        raise MjcfError("path", f"{file.name} has more than {MOST_BYTES} bytes")
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
        parser.Parse(file.read_bytes(), True)
    except expat.ExpatError as error:
        raise MjcfError("XML", f"{file.name}: {error}") from error
    return folders, names, includes

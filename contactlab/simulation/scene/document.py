"""A TOML document from anybody: bounded, never evaluated, with the lines its keys stand on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from contactlab.simulation.scene.lines import index_lines
from contactlab.simulation.scene.table import SceneError, Table

MOST_BYTES = 1 << 20


def read_document(path: Path, label: str = "scene file") -> tuple[Table, str]:
    """Return the root table, called ``label`` in errors, and the text; a `SceneError` says what is wrong with a file.

    Nothing of the document is known to be right but that it is TOML.
    """
    text = _text(path)
    try:
        values = tomllib.loads(text)
    except RecursionError as error:
        raise SceneError(path, 0, "", "is nested too deeply") from error
    except ValueError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        detail = " ".join(str(error).split())
        raise SceneError(path, int(found[1]) if found else 0, "", f"is not TOML: {detail}") from error
    return Table(path, index_lines(text), (), label, values, None), text


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise SceneError(path, 0, "", "there is no such file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SceneError(path, 0, "", f"cannot be read ({error.strerror})") from error
    if len(content) > MOST_BYTES:
        raise SceneError(path, 0, "", f"is larger than {MOST_BYTES} bytes")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise SceneError(path, 0, "", f"is not UTF-8 (byte {error.start})") from error

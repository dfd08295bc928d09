"""A TOML document from anybody: bounded, never evaluated, with the lines its keys stand on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from contactlab.simulation.scene.lines import index_lines
from contactlab.simulation.scene.table import SceneError, Table
from problem_data.files import text_of

MOST_BYTES = 1 << 20


def read_document(path: Path, label: str = "scene file") -> tuple[Table, str]:
    """Return the root table, called ``label`` in errors, and the text; a `SceneError` says what is wrong with a file.

    Nothing of the document is known to be right but that it is TOML.
    """
    if not path.is_file():
        raise SceneError(path, 0, "", "there is no such file")
    text = text_of(path, _refused, MOST_BYTES).replace("\r\n", "\n")
    try:
        values = tomllib.loads(text)
    except RecursionError as error:
        raise SceneError(path, 0, "", "is nested too deeply") from error
    except ValueError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        detail = " ".join(str(error).split())
        raise SceneError(path, int(found[1]) if found else 0, "", f"is not TOML: {detail}") from error
    return Table(path, index_lines(text), (), label, values, None), text


def _refused(path: Path, field: str, detail: str) -> SceneError:
    return SceneError(path, 0, field, detail)

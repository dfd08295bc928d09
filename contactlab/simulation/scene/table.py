"""An untrusted TOML document, bounded and never evaluated, and its tables, read key by key.

Types and ranges are checked; errors name line and key. Values can be changed at dotted paths, for sweeps.
"""

from __future__ import annotations

import copy
import difflib
import math
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from contactlab.multibody.spatial.arrays import FieldError
from problem_data.files import read_text
from problem_data.validation import FileError

T = TypeVar("T")
#: Place of a value: names of tables and keys, and indices within arrays of tables.
Place = tuple[str | int, ...]

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\\]*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
# Strings and comments.
_TOKEN = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)


class LineIndex(dict[Place, int]):
    """Lines (from 1) by place."""

    def line(self, place: Place) -> int:
        """Return the line of a place, or of the innermost enclosing place with a line, or 0."""
        return next((self[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self), 0)


def index_lines(text: str) -> LineIndex:
    """Return the line number, from 1, of each header and key of a TOML document.

    The document must be valid: `tomllib` has read it.
    """
    lines = LineIndex()
    counts: dict[Place, int] = {}
    table: Place = ()
    depth = 0
    for number, line in enumerate(_TOKEN.sub(_neutral, text).split("\n"), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header is not None and not depth:
            table = _resolved(_parts(header[2]), counts)
            if header[1] == "[[":
                # The line of an array is the line of its first entry.
                lines.setdefault(table, number)
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            lines[table] = number
        elif key is not None and not depth:
            lines.setdefault((*table, *_parts(key[1])), number)
        depth += len(re.findall(r"[\[{]", line)) - len(re.findall(r"[\]}]", line))
    return lines


def _neutral(token: re.Match[str]) -> str:
    """Return a string without brackets, and a comment or a string of several lines as its line breaks."""
    if token[0].startswith(("#", '"""', "'''")):
        return "\n" * token[0].count("\n")
    return re.sub(r"[\[\]{}]", "_", token[0])


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))


def _resolved(names: tuple[str, ...], counts: dict[Place, int]) -> Place:
    """Return the place of a header: the name of an enclosing array of tables stands for its last entry."""
    place: Place = ()
    for i, name in enumerate(names):
        place = (*place, name)
        if place in counts and i < len(names) - 1:
            place = (*place, counts[place])
    return place


LARGEST = 1e12  # no length, mass or time of a scene is larger
LONGEST_TEXT = 300


class SceneError(FileError):
    """A scene file that cannot be used.

    Attributes
    ----------
    path
        The file.
    line
        Line of the fault, from 1; 0 for the file as a whole.
    key
        Table and key at fault, as in ``[[body]] 'mass'``; empty for the file as a whole.
    detail
        Description of the fault.
    """

    def __init__(self, path: Path, line: int, key: str, detail: str) -> None:
        super().__init__(path, line, key, detail)
        self.path, self.line, self.key, self.detail = path, line, key, detail

    def __str__(self) -> str:
        where = f"{self.path}, line {self.line}" if self.line else str(self.path)
        return f"{where}: {self.key}: {self.detail}" if self.key else f"{where}: {self.detail}"


class Table:
    """One table, as `tomllib` read it; keys that are not in ``known`` raise an error, unless it is None.

    Errors name it by its label, as in ``[[body]]``, and find the line by its place in the file.
    """

    def __init__(
        self, path: Path, lines: LineIndex, place: Place, label: str, values: Any, known: Collection[str] | None
    ) -> None:
        self.path, self.lines, self.place, self.label = path, lines, place, label
        if not isinstance(values, dict):
            raise self.error("", f"must be a table, got {_kind(values)}")
        self.values: dict[str, Any] = values
        for key in values:
            if known is not None and key not in known:
                raise self.error(key, f"unknown key{suggestion(key, known)}")

    def error(self, key: str, detail: str) -> SceneError:
        """Return an error about a key of this table, or about the table as a whole."""
        name = f"{self.label} '{key}'" if key else self.label
        return SceneError(self.path, self.lines.line((*self.place, key) if key else self.place), name, detail)

    @contextmanager
    def wrap_errors(self, key: str = "") -> Iterator[None]:
        """Convert errors of the library to `SceneError` about ``key``, else about the key they name, or the table."""
        try:
            yield
        except SceneError:
            raise
        except (FieldError, ValueError, TypeError) as error:
            # The key is the last word of a field such as "PositionDrive.stiffness".
            field = getattr(error, "field", "").rpartition(".")[2]
            own = key or (field if field in self.values else "")
            # The error names the key already.
            detail = error.detail if isinstance(error, FieldError) and error.field == own else str(error)
            raise self.error(own, " ".join(detail.split())) from error

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def required(self, *keys: str) -> None:
        """Raise if the table lacks one of the keys."""
        for key in keys:
            if key not in self.values:
                raise self.error(key, "is missing")

    def exactly_one_of(self, *keys: str) -> str:
        """Return the one of ``keys`` that the table has; raise `SceneError` if it has none of them, or several."""
        given = [key for key in keys if key in self.values]
        if len(given) != 1:
            got = f"got {' and '.join(map(repr, given))}" if given else "none is given"
            raise self.error(given[-1] if given else "", f"wants one of {', '.join(map(repr, keys))}; {got}")
        return given[0]

    def text(self, key: str, default: str | None = None) -> str:
        """Return the nonempty string of a key, at most LONGEST_TEXT long; without the key ``default``.

        The key is required if ``default`` is None. Other values raise `SceneError`, as in all methods here.
        """
        value: str = self._typed(key, default, str, "a string")
        if len(value) > LONGEST_TEXT or (not value and value != default):
            raise self.error(key, f"must have 1 to {LONGEST_TEXT} characters, got {len(value)}")
        return value

    def choice(self, key: str, known: Mapping[str, T]) -> T:
        """Return the value in ``known`` of the name that a required key has."""
        if self.text(key) not in known:
            raise self.error(key, f"unknown {key} '{self.text(key)}'{suggestion(self.text(key), known)}")
        return known[self.text(key)]

    def boolean(self, key: str, default: bool) -> bool:
        """Return the bool of a key, or ``default`` without the key."""
        return bool(self._typed(key, default, bool, "true or false"))

    def integer(self, key: str, default: int | None, least: int, most: int) -> int:
        """Return the whole number of a key, from ``least`` to ``most``; the key is required if ``default`` is None."""
        value: int = self._typed(key, default, int, "a whole number")
        if not least <= value <= most:
            raise self.error(key, f"must lie between {least} and {most}, got {value}")
        return value

    def number(self, key: str, default: float | None = None, *, positive: bool = False) -> float:
        """Return the finite number of a key; the key is required if ``default`` is None."""
        value = self._number(key, self._typed(key, default))
        if positive and value <= 0.0:
            raise self.error(key, f"must be positive, got {value:g}")
        return value

    def numbers(self, *keys: str) -> dict[str, Any]:
        """Return the numbers of all keys, or of the given ``keys`` that the table has."""
        return {key: self.number(key) for key in keys or self.values if key in self.values}

    def vector(self, key: str, length: int | None, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """Return the finite numbers of a key, ``length`` of them if it is given; without the key ``default``.

        The key is required if ``default`` is None.
        """
        return self._vector(key, self._typed(key, default), length)

    def strings(self, key: str) -> tuple[str, ...]:
        """Return the nonempty strings of a required key."""
        value = self._typed(key, None)
        if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
            raise self.error(key, f"must be an array of strings, got {_kind(value)}")
        return tuple(value)

    def vectors(self, key: str, length: int | None, most: int) -> tuple[tuple[float, ...], ...]:
        """Return the 1 to ``most`` vectors of a required key, each with ``length`` numbers if it is given."""
        value = self._list(key, None, f"an array of arrays of {length or 'some'} numbers", most)
        if not value:
            raise self.error(key, "must not be empty")
        return tuple(self._vector(key, entry, length) for entry in value)

    def table(self, key: str, known: Collection[str] | None) -> Table:
        """Return the table of a required key; ``known`` are the keys that it may have, None for any."""
        label = f"[{self._prefix()}{key}]"
        return Table(self.path, self.lines, (*self.place, key), label, self._typed(key, None), known)

    def tables(self, key: str, known: Collection[str] | None, most: int) -> list[Table]:
        """Return the at most ``most`` tables of the array [[key]], empty if it is missing; ``known``: their keys."""
        value = self._list(key, [], f"an array of tables, [[{self._prefix()}{key}]]", most)
        place, label = (*self.place, key), f"[[{self._prefix()}{key}]]"
        return [Table(self.path, self.lines, (*place, i), label, entry, known) for i, entry in enumerate(value)]

    def resolve_path(self, key: str, text: str, folder: str = "the folder of this file", *, file: bool = False) -> Path:
        """Return the absolute path of an existing file or folder within the document's folder, with links followed.

        ``file`` requires a file. Other paths raise `SceneError`, which calls the document's folder ``folder``.
        """
        home = self.path.parent.resolve()
        # The system rejects paths with a NUL character, in a circle of links, or too long.
        try:
            path = (home / text).resolve()
            found = path.is_file() if file else path.exists()
        except (OSError, RuntimeError, ValueError) as error:
            raise self.error(key, f"{text!r} is no path ({error})") from error
        if not path.is_relative_to(home):
            raise self.error(key, f"'{text}' lies outside {folder}")
        if not found:
            raise self.error(key, f"there is no {'file ' if file else ''}'{text}' in {folder}")
        return path

    def _prefix(self) -> str:
        """Return the prefix of the names of tables in this one."""
        return f"{self.label.strip('[]')}." if self.place else ""

    def _typed(self, key: str, default: Any, kind: type = object, stated: str = "") -> Any:
        """Return the value of a key, which must be of a type; ``stated`` is the type in words."""
        if key not in self.values and default is None:
            raise self.error(key, "is missing")
        value = self.values.get(key, default)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(key, f"must be {stated}, got {_kind(value)}")
        return value

    def _list(self, key: str, default: Any, stated: str, most: int) -> list[Any]:
        """Return an array of at most ``most`` entries."""
        value: list[Any] = self._typed(key, default, list, stated)
        if len(value) > most:
            raise self.error(key, f"has {len(value)} entries, at most {most} are taken")
        return value

    def _number(self, key: str, value: Any) -> float:
        """Return a value as a float; raise `SceneError` for a bool, and unless it is finite and at most LARGEST."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.error(key, f"must be a number, got {_kind(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(key, f"must be finite, got {value}")
        if abs(value) > LARGEST:
            raise self.error(key, f"must not exceed {LARGEST:g}")
        return float(value)

    def _vector(self, key: str, value: Any, length: int | None) -> tuple[float, ...]:
        """Return an array's numbers as floats; raise `SceneError` for another ``length`` (None: any)."""
        if not isinstance(value, list | tuple):
            raise self.error(key, f"must be an array of {length or 'some'} numbers, got {_kind(value)}")
        if length is not None and len(value) != length:
            raise self.error(key, f"must have {length} numbers, got {len(value)}")
        return tuple(self._number(key, entry) for entry in value)


def suggestion(word: str, known: Collection[str]) -> str:
    """Return ``, did you mean ...?`` for a word close to a known one, otherwise the known words."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f", did you mean '{close[0]}'?"
    return f"; known are {', '.join(sorted(known))}" if known else ""


def _kind(value: Any) -> str:
    """Return the name of a value's type in TOML."""
    names = {bool: "a boolean", int: "a whole number", float: "a number", str: "a string", list: "an array"}
    return {**names, dict: "a table"}.get(type(value), f"a {type(value).__name__}")


MAX_BYTES = 1 << 20


def read_document(path: Path, label: str = "scene file") -> tuple[Table, str]:
    """Return the root table, called ``label`` in errors, and the text; raise `SceneError` if the file is invalid.

    The document is valid TOML; nothing else is checked.
    """
    if not path.is_file():
        raise SceneError(path, 0, "", "there is no such file")
    text = read_text(path, _refused, MAX_BYTES).replace("\r\n", "\n")
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


_STEP = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."']+?))\s*(?:\.|$)""")


def with_overrides(root: Table, changes: Mapping[str, Any]) -> Table:
    """Return a copy of the root table of a scene with other values by path.

    A path is a sequence of keys with dots between them, as in ``stepper.h``. An entry of an array of tables is named by
    its ``name``, or by its number from 0, as in ``body.cube.mass`` or ``body.0.mass``; an entry of a vector by its
    number, as in ``body.cube.position.2``. A name with dots or spaces is in quotes. The last key may be new to its
    table. An invalid path raises a `SceneError`, whose key is the path.
    """
    values = copy.deepcopy(root.values)
    for path, value in changes.items():
        holder, key = _place(root, values, path, new=True)
        holder[key] = copy.deepcopy(value)
    return Table(root.path, root.lines, root.place, root.label, values, None)


def value_at(root: Table, path: str) -> Any:
    """Return the value at a path; raise `SceneError` if there is none."""
    holder, key = _place(root, root.values, path, new=False)
    return holder[key]


def _place(root: Table, values: Any, path: str, *, new: bool) -> tuple[Any, Any]:
    """Return the table or array that contains the last part of a path, and this part's key or index.

    ``values`` are the contents of the scene. With ``new`` the last key may be missing. Raise `SceneError` for any other
    unknown part.
    """
    parts, at = [], 0
    while (found := _STEP.match(path, at)) and at < len(path):
        parts.append(next(part for part in found.groups() if part is not None))
        at = found.end()
    if at < len(path) or not parts or path.rstrip().endswith("."):
        raise _error(root, path, "is not a path of names with dots between them")
    holder, here = None, values
    for n, part in enumerate(parts):
        holder, key = here, part
        if isinstance(here, list):
            key = _index(root, path, here, part)
        elif not isinstance(here, dict):
            raise _error(root, path, f"'{parts[n - 1]}' is a single value, not a table or an array")
        elif part not in here and not (new and n == len(parts) - 1):
            raise _error(root, path, f"the scene has no '{part}' there{suggestion(part, here)}")
        here = holder.get(key) if isinstance(holder, dict) else holder[key]
    return holder, key


def _index(root: Table, path: str, entries: list[Any], part: str) -> int:
    """Return the index of an entry given by name, or by number from 0 if no entry has this name.

    Raise `SceneError` for an unknown entry, and for a name that several entries have.
    """
    names = [str(entry.get("name", "")) if isinstance(entry, dict) else "" for entry in entries]
    if names.count(part) > 1:
        raise _error(root, path, f"'{part}' names {names.count(part)} entries; use their numbers")
    if part in names:
        return names.index(part)
    if part.isascii() and part.isdigit() and int(part) < len(entries):
        return int(part)
    known = [name for name in names if name]
    raise _error(root, path, f"'{part}' is none of the {len(entries)} entries{suggestion(part, known)}")


def _error(root: Table, path: str, detail: str) -> SceneError:
    return SceneError(root.path, 0, f"'{path}'", detail)

"""Parts of a sweep: functions by name, tasks as JSON with their keys, results, and the folder of their rows.

Every finished row is a line of its file, on disk before the next row is written.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib
import io
import itertools
import json
import os
import runpy
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.simulation.recording.writer import Lock, LockHeldError
from problem_data.files import partial_files, write_atomic
from problem_data.validation import FileError


class SweepError(ValueError):
    """A sweep cannot begin or continue; the reason is the function, a task, the folder or the cluster.

    Finished rows are in the folder; the same call continues from there.
    """


class RowsError(SweepError, FileError):
    """Invalid rows in the folder of a sweep."""


#: Set in worker processes: a sweep started there is from a script without `if __name__ == "__main__"`.
WORKER_VARIABLE = "CONTACTLAB_SWEEP_WORKER"
_SCRIPT = "__sweep_main__"


@dataclass(frozen=True)
class FunctionName:
    """Location of a function."""

    module: str  # name of its module; of a script its file name without the suffix
    name: str  # name of the function in it
    script: str = ""  # path of the script it was defined in, empty for a module that can be imported

    @property
    def qualified(self) -> str:
        """``module.name``, which is part of the keys of the tasks."""
        return f"{self.module}.{self.name}"


def name_of(function: Callable[..., Any]) -> FunctionName:
    """Return the location of a function, from which another process can import it.

    A function of the running script is located by the path of the script. A lambda, a method, a nested function, or a
    function that cannot be imported raises a `SweepError`.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not name.isidentifier():
        raise SweepError(f"function must be a function at the top level of a module, got {name or function!r}")
    if module in ("__main__", _SCRIPT):
        code = getattr(function, "__code__", None)
        script = os.path.abspath(code.co_filename) if code is not None else ""
        if not os.path.isfile(script):
            raise SweepError(f"function {name} was typed in, not read from a file: put it into a module or a script")
        return FunctionName(Path(script).stem, name, script)
    address = FunctionName(module, name)
    try:
        leads_to = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise SweepError(f"function {address.qualified} cannot be imported: {error}") from error
    if leads_to is not function:
        raise SweepError(f"{address.qualified} is not the function given but {leads_to!r}")
    return address


def load_function(function: FunctionName) -> Callable[[dict[str, Any]], Any]:
    """Return the function of a task; exceptions of its module's import are not caught."""
    if function.script:
        # Under another name than __main__, so that the main part of the script is not executed again.
        space: Mapping[str, Any] = runpy.run_path(function.script, run_name=_SCRIPT)
    else:
        space = vars(importlib.import_module(function.module))
    loaded: Callable[[Any], Any] = space[function.name]
    return loaded


#: Entries of a row that are reserved for the sweep.
RESERVED = ("key", "outcome", "error", "seconds")
FRAMES = 6  # number of innermost frames kept of a traceback
LONGEST_MESSAGE = 2000


@dataclass(frozen=True)
class SweepTask:
    """One task as JSON, with its key."""

    key: str  # SHA-256 of the function's name and of the task as canonical JSON, hexadecimal
    text: str  # the task as canonical JSON: keys sorted, no spaces


def to_sweep_task(function: FunctionName, i: int, task: Any) -> SweepTask:
    """Return task number ``i`` with its JSON text and its key, the SHA-256 of the function and this text.

    A `SweepError` names a task that JSON cannot represent.
    """
    if not isinstance(task, Mapping):
        raise SweepError(f"tasks[{i}] must be a dict, got {type(task).__name__}")
    for name in task:
        if not isinstance(name, str):
            raise SweepError(f"tasks[{i}]: the key {name!r} is not a string")
        if name in RESERVED:
            raise SweepError(f"tasks[{i}]: '{name}' is an entry of the rows, call it otherwise")
    try:
        text = json.dumps(dict(task), sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise SweepError(f"tasks[{i}] cannot be written as JSON: {error}") from error
    return SweepTask(hashlib.sha256(f"{function.qualified}\n{text}".encode()).hexdigest(), text)


def whole(value: object, least: int) -> bool:
    """Return True if a value is an integer, NumPy's included, of at least ``least``."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(value >= least)


def grid(parameters: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values, the last name changing fastest; without names, one empty combination."""
    for name, values in parameters.items():
        given: object = values
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) == 0:
            raise SweepError(f"parameters: '{name}' must be a list of values, got {values!r}")
    columns = [[plain(value) for value in values] for values in parameters.values()]
    return [dict(zip(parameters, point, strict=True)) for point in itertools.product(*columns)]


def plain(value: Any) -> Any:
    """Return NumPy numbers and arrays, and tuples, in the form in which JSON reads them."""
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    return value.tolist() if hasattr(value, "tolist") else value


@dataclass(frozen=True)
class TaskResult:
    """Outcome and values of a task."""

    outcome: str  # ``done``, ``failed``, ``timeout`` or ``lost``
    values: dict[str, Any]  # values that the function returned, if it did
    error: str = ""  # type, message and last frames of its exception, or the end of its process
    seconds: float | None = None  # duration; None if it is unknown


def run_task(function: Callable[[dict[str, Any]], Any], text: str) -> TaskResult:
    """Call the function with a task from JSON and return its result; an exception makes it ``failed``."""
    started = time.perf_counter()
    try:
        returned = function(json.loads(text))
        seconds = time.perf_counter() - started
        values = _to_json_values(returned)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a task raises is its row, and stops nothing
        return TaskResult("failed", {}, _describe_error(error), time.perf_counter() - started)
    return TaskResult("done", values, "", seconds)


def _to_json_values(returned: Any) -> dict[str, Any]:
    """Return a function's result as JSON values; raise a `TypeError` unless it is a flat dict with valid names."""
    if not isinstance(returned, dict):
        raise TypeError(f"the function must return a dict, it returned {type(returned).__name__}")
    for name, value in returned.items():
        if not isinstance(name, str):
            raise TypeError(f"the function returned the key {name!r}, which is not a string")
        if name in RESERVED:
            raise TypeError(f"the function returned '{name}', an entry that is the sweep's own")
        if isinstance(value, dict):
            raise TypeError(f"the function returned a dict as '{name}': rows are flat")
    values: dict[str, Any] = json.loads(json.dumps(returned, default=_numpy_to_json))
    return values


def _numpy_to_json(value: Any) -> Any:
    """Return a NumPy value as number or list, bit for bit; another type raises (``default`` of `json.dumps`)."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a row holds JSON values, not {type(value).__name__}")


def _describe_error(error: BaseException) -> str:
    """Return type, message and the innermost frames of an error, beginning with the function's frame."""
    frames = traceback.extract_tb(error.__traceback__)[1:][-FRAMES:]
    try:
        message = " ".join(str(error).split())[:LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001  an exception whose text fails is still reported
        message = "(its message cannot be read)"
    head = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return "\n".join([head, *(line.rstrip() for line in traceback.format_list(frames))])


ROWS = "rows.jsonl"
LOCK = "lock"
TABLE = "rows.csv"


class Store:
    """The finished rows of a folder, with the exclusive right to add to them; a context manager. It creates the folder.

    It raises a `SweepError` if another sweep writes to the folder, the disk refuses, or a line is not a valid row. An
    incomplete last line, from a run that was killed, is removed instead.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with contextlib.ExitStack() as held, _writing(folder):
            held.callback(write_lock(folder, "another sweep is writing here").release)
            for file in partial_files(folder / TABLE):
                file.unlink(missing_ok=True)
            self.rows = _read_rows(folder / ROWS)
            # Unbuffered, so that Python does not retry a failed write later.
            self._file = held.enter_context((folder / ROWS).open("ab", buffering=0))
            self._held = held.pop_all()

    def add(self, row: dict[str, Any]) -> None:
        """Write a row to disk before returning; it replaces an earlier row with the same key."""
        line = memoryview(json.dumps(row).encode() + b"\n")
        with _writing(self.folder / ROWS):
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        self.rows[row["key"]] = row

    def finish(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write the table of all rows."""
        with _writing(self.folder / TABLE):
            write_csv(self.folder / TABLE, rows)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()


def write_lock(folder: Path, taken: str) -> Lock:
    """Return the lock for writing to a folder; if another process has it, raise `SweepError` with its owner."""
    try:
        return Lock(folder / LOCK)
    except LockHeldError as owner:
        raise SweepError(f"{folder}: {taken}: {owner}") from None


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Convert errors of the disk to `SweepError`."""
    try:
        yield
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror or error}; finished rows are kept") from error


def _read_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Return the rows by key, the last of each; remove an incomplete last line of a killed run."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    rows = {}
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            row = json.loads(line)
            rows[str(row["key"])] = dict(row, outcome=str(row["outcome"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RowsError(f"{path}, line {number}: not a row of a sweep ({type(error).__name__}: {error})") from None
    return rows


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """The rows of a sweep.

    Attributes
    ----------
    rows
        One dict per task, in the order of the tasks: ``key`` (SHA-256 of function and task), ``outcome``, ``error``,
        ``seconds``, the entries of the task, and the values that the function returned. The outcome is ``done``,
        ``failed`` (the task raised or ended its process), ``timeout`` or ``lost`` (its worker died repeatedly).
        ``error`` has a text unless the outcome is ``done``. ``seconds`` is None if it could not be measured.
    computed
        Number of tasks that this call ran; the others were in the folder.
    folder
        Folder of the rows; None for a sweep in memory.
    """

    rows: list[dict[str, Any]]
    computed: int
    folder: Path | None

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows that are not ``done``."""
        return [row for row in self.rows if row["outcome"] != "done"]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"SweepResult({len(self.rows)} rows, {len(self.failures)} not done, {self.computed} computed now)"


def write_csv(path: str | os.PathLike[str], rows: Sequence[dict[str, Any]], first: Sequence[str] = RESERVED) -> Path:
    """Write rows as a table, atomically; lists are written as JSON, and numbers without loss of digits.

    The columns ``first`` come first, even if no row has them; the others follow in the order of their occurrence.
    """
    path = Path(path)
    names = dict.fromkeys((*first, *(name for row in rows for name in row)))
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(names))
    writer.writeheader()
    writer.writerows({name: _to_cell(value) for name, value in row.items()} for row in rows)
    write_atomic(path, stream.getvalue().encode())
    return path


def _to_cell(value: Any) -> Any:
    """Return a value for a CSV cell: lists, dicts and bools become JSON (None becomes an empty cell)."""
    return json.dumps(value) if isinstance(value, list | dict | bool) else value

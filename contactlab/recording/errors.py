"""Errors of records on disk."""

from __future__ import annotations

from pathlib import Path

from problem_data.errors import FileError


class RecordError(FileError):
    """A record that cannot be read: not there, truncated, foreign, or inconsistent.

    Attributes
    ----------
    path
        The file or folder.
    field
        The array or entry at fault, empty when it is the file as a whole.
    """

    def __init__(self, path: Path, field: str, detail: str) -> None:
        super().__init__(path, field, detail)
        self.path, self.field, self.detail = path, field, detail

    def __str__(self) -> str:
        where = f"{self.path}: {self.field}" if self.field else str(self.path)
        return f"{where}: {self.detail}"


class RecordWriteError(OSError):
    """A record that cannot be written: the disk is full, the folder gone or closed.

    What was written before stands, and opens: the file is replaced whole or not at all.

    Attributes
    ----------
    path
        The file.
    """

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(cause.errno, cause.strerror or str(cause))
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: cannot be written ({self.strerror}); what was written before can be opened"

    def __reduce__(self) -> tuple[object, ...]:
        return RecordWriteError, (self.path, OSError(self.errno, self.strerror))

"""Errors of the lab."""

from __future__ import annotations

from pathlib import Path

from problem_data.validation import FileError


class DatasetError(FileError):
    """A data file that cannot be used: unreadable, of another kind, truncated, or with an invalid entry.

    Parameters
    ----------
    path
        The file.
    field
        The array at fault, with the index of its first offending entry if there is one (``pos[12, 2]``); empty if the
        whole file is at fault.
    message
        The error, with the offending value.
    """

    def __init__(self, path: str | Path, field: str, message: str) -> None:
        self.path, self.field, self.message = Path(path), field, message
        super().__init__(f"{path}: {field}: {message}" if field else f"{path}: {message}")

    def __reduce__(self) -> tuple[type[DatasetError], tuple[Path, str, str]]:
        """Rebuild from the three arguments, so that worker processes can return the error."""
        return type(self), (self.path, self.field, self.message)


class RaceError(ValueError):
    """A race cannot begin because of a solver's name or setting, a problem, or a limit. The text names valid values."""


class SweepError(ValueError):
    """A sweep cannot begin or continue; the reason is the function, a task, the folder or the cluster.

    Finished rows are in the folder; the same call continues from there.
    """


class RowsError(SweepError, FileError):
    """Invalid rows in the folder of a sweep."""

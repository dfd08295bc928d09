"""Errors of the lab."""

from __future__ import annotations

from pathlib import Path

from problem_data.errors import FileError


class DatasetError(FileError):
    """A data file that cannot be used: unreadable, foreign, truncated, or with an entry outside its meaning.

    Parameters
    ----------
    path
        The file.
    field
        The array at fault, with the index of its first offending entry where there is one (``pos[12, 2]``);
        empty when the file as a whole is at fault.
    message
        What is wrong, and the offending value.
    """

    def __init__(self, path: str | Path, field: str, message: str) -> None:
        self.path, self.field, self.message = Path(path), field, message
        super().__init__(f"{path}: {field}: {message}" if field else f"{path}: {message}")

    def __reduce__(self) -> tuple[type[DatasetError], tuple[Path, str, str]]:
        """Rebuild from the three arguments: an error must survive the way back from a worker process."""
        return type(self), (self.path, self.field, self.message)


class RaceError(ValueError):
    """A race that cannot begin: a solver's name or setting, a problem, a limit. The text names what would do."""


class SweepError(ValueError):
    """A sweep that cannot begin or continue: the function, a task, the folder or the cluster is at fault, not one run.

    Rows finished before it stand in the folder; the same call continues from there.
    """


class RowsError(SweepError, FileError):
    """Rows in the folder of a sweep that are none."""

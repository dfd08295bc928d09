"""The error types of the package: a fault in problem data or packed forces; and a file that cannot be used."""

from __future__ import annotations


class FileError(ValueError):
    """A file that cannot be used: not there, too large, damaged, foreign, or with contents outside their meaning.

    Whatever reads files, here and in the packages above, raises an error derived from this one for whatever is in
    them. Errors of the operating system may be an OSError.
    """


class ProblemDataError(ValueError):
    """A field of problem data, of a packed force vector or of a saved file is not acceptable.

    Parameters
    ----------
    field : str
        Name of the faulty field, in the symbols of the problem (``"N"``, ``"mu"``, ``"gammaF"``, ...);
        ``"path"`` when a file as a whole cannot be read.
    message : str
        Reason: the offending entry with its index and value, or the actual and the wanted shape.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class ProblemFileError(ProblemDataError, FileError):
    """A file of problem data that cannot be used; see `ProblemDataError`."""

"""The one error type of the package: a fault in problem data or packed forces."""

from __future__ import annotations


class ProblemDataError(ValueError):
    """A field of problem data, of a packed force vector or of a saved file is not acceptable.

    Parameters
    ----------
    field : str
        Name of the faulty field, in the symbols of the problem (``"N"``, ``"mu"``, ``"gammaF"``, ...);
        ``"path"`` when a file as a whole cannot be read.
    message : str
        What is wrong with it: the offending entry with its index and value, or the shape met and wanted.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

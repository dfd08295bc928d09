"""The error of scene files."""

from __future__ import annotations

from pathlib import Path

__all__ = ["SceneError"]


class SceneError(ValueError):
    """A scene file that cannot be used.

    Attributes
    ----------
    path
        The file.
    line
        Where in it, from 1; 0 for the file as a whole.
    key
        Table and key at fault, as in ``[[body]] 'mass'``; empty for the file as a whole.
    detail
        What is wrong.
    """

    def __init__(self, path: Path, line: int, key: str, detail: str) -> None:
        super().__init__(path, line, key, detail)
        self.path = path
        self.line = line
        self.key = key
        self.detail = detail

    def __str__(self) -> str:
        where = f"{self.path}, line {self.line}" if self.line else str(self.path)
        return f"{where}: {self.key}: {self.detail}" if self.key else f"{where}: {self.detail}"

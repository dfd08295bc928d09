"""Errors of runs and records."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import lcp
    from contactlab.recording.record import Recording
    from problem_data import ConstraintVelProblemData

__all__ = ["RecordError", "RecordWriteError", "SimulationError"]


class RecordError(ValueError):
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
        self.path = path
        self.field = field
        self.detail = detail

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


class SimulationError(RuntimeError):
    """A run that had to stop. Every step before it is in ``recording``.

    Attributes
    ----------
    problem
        The island's problem data, or None when no problem was posed (a velocity ran out of range).
    problem_path
        The file it was saved to, which `problem_data.load` reopens, or None.
    step, time
        The step that failed, counted from 0 in this run, and the time at its start [s].
    h
        The step size of ``problem`` [s]; of an adaptive stepper the last one tried.
    result
        What the solver answered, or None without a problem.
    recording
        The record up to the start of the failed step.
    """

    def __init__(
        self,
        message: str,
        *,
        step: int,
        time: float,
        h: float,
        problem: ConstraintVelProblemData | None,
        problem_path: Path | None,
        result: lcp.Result | lcp.FrictionResult | None,
        recording: Recording,
    ) -> None:
        super().__init__(message)
        self.step = step
        self.time = time
        self.h = h
        self.problem = problem
        self.problem_path = problem_path
        self.result = result
        self.recording = recording

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword arguments survive pickling between processes only this way.
        fields = ("step", "time", "h", "problem", "problem_path", "result", "recording")
        return functools.partial(SimulationError, str(self), **{name: getattr(self, name) for name in fields}), ()

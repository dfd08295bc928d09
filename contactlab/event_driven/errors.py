"""Why an event-driven run had to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from problem_data import ConstraintAccelProblemData

if TYPE_CHECKING:
    from contactlab.event_driven.recording import EventRecording


class EventError(RuntimeError):
    """A run that had to stop; everything before it is in ``recording``.

    Attributes
    ----------
    time
        Where [s].
    recording
        The run so far.
    """

    def __init__(self, message: str, *, time: float, recording: EventRecording | None = None) -> None:
        super().__init__(message)
        self.time, self.recording = time, recording


class InconsistentContact(EventError):
    """Rigid friction has no acceleration, or several, at this state: Painleve's paradox.

    Attributes
    ----------
    contacts
        Names of the sliding contacts whose normal response is not positive.
    solutions
        Number of solutions of the acceleration-level LCP, by enumeration; -1 where it is too large to enumerate.
    problem
        The problem, for `problem_data.save`.
    """

    def __init__(
        self,
        message: str,
        *,
        time: float,
        contacts: tuple[str, ...],
        solutions: int,
        problem: ConstraintAccelProblemData,
        recording: EventRecording | None = None,
    ) -> None:
        super().__init__(message, time=time, recording=recording)
        self.contacts, self.solutions, self.problem = contacts, solutions, problem

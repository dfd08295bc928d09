"""The steps of a run that is not over, kept one by one: a record of them can be had at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.recording.recording import Recording
from contactlab.stepping.record_schema import Rows, rows_of_chunks
from contactlab.world.state import StepperState

if TYPE_CHECKING:
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World

# Single steps that are joined to a piece: twenty arrays for each would take more memory than what is in them.
PIECE = 256


class KeptSteps:
    """What steps from one state left in the chunk, in order.

    Parameters
    ----------
    world, stepper, start
        What was stepped, how, and from where.
    """

    def __init__(self, world: World, stepper: TimeStepping, start: StepperState) -> None:
        self._world, self._stepper, self._start = world, stepper, start
        self._pieces: list[Rows] = []
        # Copies of chunks, not yet joined.
        self._steps: list[Rows] = []
        self._recording: Recording | None = None

    def add(self, rows: Rows) -> None:
        """Keep the rows of a chunk (`copy_of_chunk`), which are those of the next step."""
        self._recording = None
        self._steps.append(rows)
        if len(self._steps) >= PIECE:
            self._join()

    def _join(self) -> None:
        if self._steps:
            self._pieces.append(rows_of_chunks(self._steps))
            self._steps = []

    def recording(self) -> Recording:
        """Return the record of all steps so far."""
        if self._recording is None:
            self._join()
            self._recording = Recording.of_run(self._world, self._stepper, self._start, self._pieces)
        return self._recording

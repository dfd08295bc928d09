"""How an event-driven run came about: its arcs of smooth motion and the jumps between them, for derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contactlab.event_driven.phase import Side, Tau
from contactlab.spatial.arrays import FloatArray

if TYPE_CHECKING:
    from contactlab.event_driven.recording import Event
    from contactlab.event_driven.stepper import EventDriven


@dataclass(frozen=True, eq=False)
class Jump:
    """A jump of the velocity: an impact, a capture or a jam."""

    event: Event
    pairs: tuple[int, ...]  # numbers of the contacts that its law was given, in their order


@dataclass(frozen=True, eq=False)
class Arc:
    """Smooth motion with fixed modes, and what came before and after it."""

    jumps: tuple[Jump, ...]  # at its start, in their order
    sides: tuple[Side, ...]
    riding: tuple[int, ...]  # closed without a force
    start: float
    end: float
    # y = (q, v), behind the jumps and at the end.
    y: FloatArray
    y_end: FloatArray
    # What ended it: ("gap", contact), or "force", "slip", "response", "cone" with the place in ``sides``; none at the
    # end of the run.
    ended: tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class Course:
    """A run: its stepper, the applied force, which may be constant, and its arcs; the last may be a point."""

    stepper: EventDriven
    tau: Tau
    constant: bool
    arcs: tuple[Arc, ...]

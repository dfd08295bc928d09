"""Event-driven simulation: smooth motion between located events, with an impact law of `contactlab.impact`."""

from typing import TYPE_CHECKING

from contactlab.event_driven.recording import EventError, EventRecording, InconsistentContact
from contactlab.event_driven.stepper import EventDriven
from contactlab.event_driven.trace import Event, EventKind
from contactlab.event_driven.transition import EventKink, Transition, transition
from contactlab.naming import module_hooks

__all__ = [
    "Event", "EventDriven", "EventError", "EventKind", "EventRecording", "InconsistentContact", "EventKink",
    "Transition", "transition",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)

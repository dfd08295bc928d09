"""Event-driven simulation: smooth motion between located events, impacts by a law of `contactlab.impact`."""

from contactlab.event_driven.errors import EventError, InconsistentContact
from contactlab.event_driven.kink import Kink
from contactlab.event_driven.recording import Event, EventKind, EventRecording
from contactlab.event_driven.stepper import EventDriven
from contactlab.event_driven.transition import Transition, transition

__all__ = [
    "Event",
    "EventDriven",
    "EventError",
    "EventKind",
    "EventRecording",
    "InconsistentContact",
    "Kink",
    "Transition",
    "transition",
]

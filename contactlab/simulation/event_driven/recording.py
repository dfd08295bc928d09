"""What an event-driven run leaves: states, events, forces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from contactlab.simulation.state import StepperState
from contactlab.simulation.world import World

__all__ = ["Event", "EventKind", "EventRecording"]

FloatArray = NDArray[np.float64]


class EventKind(Enum):
    """What happened."""

    IMPACT = "impact"
    #: an impact so soon after the last one of the same contact that it closed all that touch, without rebound
    ZENO = "zeno"
    #: contact made without approach, or kept after an impact
    CLOSE = "close"
    OPEN = "open"
    SLIDE = "slide"
    STICK = "stick"
    #: rigid friction had no acceleration; an impulse without collision stopped the slip
    JAM = "jam"


@dataclass(frozen=True, eq=False)
class Event:
    """One event.

    Parameters
    ----------
    time : float
        [s].
    kind : EventKind
        What happened.
    contacts : tuple of str
        Names of the contacts concerned.
    v_minus, v_plus : ndarray, shape (nv,)
        Velocity before and after; the same but for impacts.
    energy_before, energy_after : float
        Kinetic energy [J].
    """

    time: float
    kind: EventKind
    contacts: tuple[str, ...]
    v_minus: FloatArray
    v_plus: FloatArray
    energy_before: float
    energy_after: float

    def __repr__(self) -> str:
        return f"Event({self.time:.9g} s, {self.kind.value}, {', '.join(self.contacts)})"


@dataclass(frozen=True, eq=False, repr=False)
class EventRecording:
    """A run between events; several rows may share a time, before and after an impact.

    Parameters
    ----------
    world : World
        What moved.
    time : ndarray, shape (n,)
        [s].
    q, v : ndarray, shapes (n, nq), (n, nv)
        States.
    kinetic, potential : ndarray, shape (n,)
        Energies [J].
    events : tuple of Event
        In their order.
    contact_names : tuple of str
        All pairs that could touch.
    forces : ndarray, shape (n, nk, 3)
        Force of each on its body B, world axes [N].
    gaps : ndarray, shape (n, nk)
        Distances [m]: how far closed contacts have drifted.
    evaluations : int
        Evaluations of the acceleration.
    """

    world: World
    time: FloatArray
    q: FloatArray
    v: FloatArray
    kinetic: FloatArray
    potential: FloatArray
    events: tuple[Event, ...]
    contact_names: tuple[str, ...]
    forces: FloatArray
    gaps: FloatArray
    evaluations: int
    _index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        for name in ("time", "q", "v", "kinetic", "potential", "forces", "gaps"):
            getattr(self, name).flags.writeable = False
        object.__setattr__(self, "_index", {name: i for i, name in enumerate(self.contact_names)})

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy (n,) [J]."""
        return self.kinetic + self.potential

    def of_kind(self, *kinds: EventKind) -> tuple[Event, ...]:
        """Return the events of some kinds."""
        return tuple(event for event in self.events if event.kind in kinds)

    def force(self, contact: str) -> FloatArray:
        """Return the force of one contact on its body B, world axes (n, 3) [N]."""
        return self.forces[:, self._index[contact]]

    def state(self, i: int = -1) -> StepperState:
        """Return state ``i``, the last by default, to go on from."""
        return StepperState(q=self.q[i], v=self.v[i], time=float(self.time[i]))

    def at(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Return q and v of the last row at or before a time [s]."""
        i = max(0, int(np.searchsorted(self.time, time, side="right")) - 1)
        return self.q[i], self.v[i]

    def __iter__(self) -> Iterator[tuple[float, FloatArray, FloatArray]]:
        return zip(self.time.tolist(), self.q, self.v, strict=True)

    def __repr__(self) -> str:
        end = f"{self.time[-1]:.6g} s" if self.time.size else "nothing"
        return f"EventRecording({end}, {self.time.size} states, {len(self.events)} events)"

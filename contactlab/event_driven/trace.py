"""The trace of an event-driven run: its options, its events, and its arcs of smooth motion with the jumps between them.

Recordings show the events. Derivatives follow the arcs and jumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from contactlab.collision import ContactError, check_edges
from contactlab.event_driven.phase import ContactMode, Tau
from contactlab.impact import ImpactLaw
from contactlab.multibody.spatial.arrays import FloatArray, finite_number
from contactlab.simulation.world.errors import SimulationConfigError
from problem_data import ConstraintVelProblemData


@dataclass(frozen=True, eq=False)
class EventOptions:
    """Options of event-driven runs; `EventDriven` describes them."""

    impact: ImpactLaw | None = None
    rtol: float = 1e-9
    atol: float = 1e-11
    max_step: float = 0.02
    output_step: float | None = None
    edges: int = 16
    gap_tolerance: float = 1e-9
    rest_speed: float = 1e-9
    slip_speed: float = 1e-8
    zeno_interval: float = 1e-5
    max_events: int = 100_000
    stabilisation: float = 20.0
    on_inconsistency: Literal["raise", "impulse", "open"] = "raise"

    def __post_init__(self) -> None:
        positive = ("rtol", "atol", "max_step", "gap_tolerance", "rest_speed", "slip_speed")
        for name in (*positive, "zeno_interval", "stabilisation"):
            value = finite_number(
                getattr(self, name), name, SimulationConfigError, positive=name in positive, least=0.0
            )
            object.__setattr__(self, name, value)
        if self.output_step is not None:
            finite_number(self.output_step, "output_step", SimulationConfigError, positive=True)
        if self.max_events < 1:
            raise SimulationConfigError("max_events", f"must be at least 1, got {self.max_events}")
        if self.on_inconsistency not in ("raise", "impulse", "open"):
            detail = f"must be 'raise', 'impulse' or 'open', got {self.on_inconsistency!r}"
            raise SimulationConfigError("on_inconsistency", detail)
        if self.impact is not None and (isinstance(self.impact, type) or not isinstance(self.impact, ImpactLaw)):
            raise SimulationConfigError(
                "impact", f"must be a law with title, solve and of_materials, got {self.impact!r}"
            )
        try:
            object.__setattr__(self, "edges", check_edges(self.edges))
        except ContactError as error:
            raise SimulationConfigError("edges", error.detail) from error


class EventKind(Enum):
    """The kind of an event."""

    IMPACT = "impact"
    #: an impact so soon after the last one of the same contact that it closed all touching contacts, without rebound
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
        Velocity before and after; equal except for impacts.
    energy_before, energy_after : float
        Kinetic energy [J].
    impulses : ndarray, shape (nk, 3)
        Impulse of each of the run's contacts on its body B, world axes [N s]; 0 except for impacts.
    problem : ConstraintVelProblemData or None
        Problem of an impact, for `impact.compare` and `impact.outcome_set`.
    """

    time: float
    kind: EventKind
    contacts: tuple[str, ...]
    v_minus: FloatArray
    v_plus: FloatArray
    energy_before: float
    energy_after: float
    impulses: FloatArray
    problem: ConstraintVelProblemData | None = None

    def __repr__(self) -> str:
        return f"Event({self.time:.9g} s, {self.kind.value}, {', '.join(self.contacts)})"


@dataclass(frozen=True, eq=False)
class Jump:
    """A jump of the velocity: an impact, a plastic impact or a jamming impact."""

    event: Event
    pairs: tuple[int, ...]  # numbers of the contacts in its law, in their order


@dataclass(frozen=True, eq=False)
class Arc:
    """Smooth motion with fixed modes, and the events before and after it."""

    jumps: tuple[Jump, ...]  # at its start, in their order
    sides: tuple[ContactMode, ...]
    unloaded: tuple[int, ...]  # closed without a force
    start: float
    end: float
    # y = (q, v), after the jumps and at the end.
    y: FloatArray
    y_end: FloatArray
    # Event at the end: ("gap", contact), or "force", "slip", "response", "cone" with the index in ``sides``; empty at
    # the end of the run.
    ended: tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class RunTrace:
    """A run: its options, the applied force, which may be constant, and its arcs; the last may be a point."""

    options: EventOptions
    tau: Tau
    constant: bool
    arcs: tuple[Arc, ...]

"""Event-driven simulation: smooth motion between located events, with an impact law of `contactlab.impact`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.event_driven.recording import EventError, EventRecording, InconsistentContact
from contactlab.event_driven.run import Run
from contactlab.event_driven.trace import Event, EventKind, EventOptions
from contactlab.event_driven.transition import EventKink, Transition, transition
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, finite_number, warn_caller
from contactlab.naming import module_hooks
from contactlab.simulation.recording.notices import ImplausibleWarning
from contactlab.simulation.stepping.wrenches import WrenchLaw, with_wrenches
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.world import StepperState, World

__all__ = [
    "Event", "EventDriven", "EventError", "EventKind", "EventRecording", "InconsistentContact", "EventKink",
    "Transition", "transition",
]  # fmt: skip

if TYPE_CHECKING:
    from contactlab.simulation.stepping.callbacks import Tau


@dataclass(frozen=True, eq=False)
class EventDriven(EventOptions):
    """Smooth motion by an adaptive integrator between located events, with an impact law at impacts.

    Between events every closed contact has a mode, stick or slip, with friction exactly against its slip, and forces
    from linear equations. An event ends a mode: a gap closes, a normal force vanishes, slip stops, a friction force
    reaches its cone. One acceleration-level LCP then gives the next modes. Balls and support points may touch
    half-spaces, and balls may touch one another. `TimeStepping` supports all shapes, needs no events, and is better for
    many contacts.

    Parameters
    ----------
    impact
        Impact law; None for Newton's, simultaneously. A law without restitution, such as ``Stronge()``, uses the
        restitution of the materials.
    rtol, atol
        Tolerances of the integrator (DOP853).
    max_step
        Maximum step of the integrator [s]: a gap that closes and opens again within one is missed.
    output_step
        Time between the rows of the recording [s]; None for the integrator's steps.
    edges
        Edges of the friction pyramid for contacts at rest and for impacts.
    gap_tolerance
        Gap up to which a contact is closed [m].
    rest_speed
        Maximum approach speed at which a contact closes without an impact [m/s].
    slip_speed
        Maximum tangential speed of a contact at rest [m/s].
    zeno_interval
        An impact that follows another of the same contact within this time [s] closes all touching contacts, without
        rebound. So infinitely many impacts in finite time end, early by about this interval times e / (1 - e).
    max_events
        Number of events above which the run stops with an error.
    stabilisation
        Rate [1/s] at which drift of closed contacts is corrected; 0 for none.
    on_inconsistency
        Response if rigid friction has no acceleration, or several (Painleve). "raise": raise `InconsistentContact`.
        "impulse": stop the slip by an impulse without collision. "open": of several accelerations use the one without
        force at the contacts in question, and the impulse if there is none.

    Raises
    ------
    SimulationConfigError
        A value is invalid; the error names the field and the value.

    References
    ----------
    F. Pfeiffer, C. Glocker, Multibody Dynamics with Unilateral Contacts (1996); F. Genot, B. Brogliato, European
    Journal of Mechanics A 18 (1999).
    """

    def run(
        self,
        world: World,
        duration: float,
        *,
        state: StepperState | None = None,
        tau: Tau = None,
        f_ext: WrenchLaw = None,
        progress: Callable[[float, float], None] | None = None,
    ) -> EventRecording:
        """Simulate a world for ``duration`` [s].

        Parameters
        ----------
        world
            The world; its contacts must be of the kinds above.
        duration
            [s].
        state
            Start; `World.initial_state` by default.
        tau
            Applied generalized force (nv,), or a function of (time, q, v), which must be continuous between events.
        f_ext
            Wrenches on bodies, by name, as in `simulate`, applied to the bodies' poses at every instant; also a
            function of (time, q, v), continuous between events.
        progress
            Called with (time, end) [s] after every event.

        Warns
        -----
        ImplausibleWarning
            The run is doubtful, for the reason in `EventRecording.notices`: once for each kind.

        Raises
        ------
        SimulationConfigError
            An argument is invalid, or event-driven runs do not support a shape.
        InconsistentContact
            Rigid friction has no acceleration, or several, and ``on_inconsistency`` is "raise".
        EventError
            Too many events, or the integrator failed.
        """
        seconds = finite_number(duration, "duration", SimulationConfigError, least=0.0)
        start = world.initial_state() if state is None else state
        applied = with_wrenches(world, tau, f_ext)
        if not callable(applied):
            given = np.zeros(world.nv) if applied is None else applied
            applied = finite_array(given, "tau", (world.nv,), SimulationConfigError)
        run = Run(self, world, start, _Force(applied, world.nv), not callable(applied))
        recording = run.run_until(start.time + seconds, progress)
        for text in run.doubts.values():
            warn_caller(text, ImplausibleWarning)
        return recording


@dataclass(frozen=True, eq=False)
class _Force:
    """A force, constant or a function; a constant one can be pickled with recordings."""

    given: FloatArray | Callable[[float, FloatArray, FloatArray], ArrayLike]
    nv: int

    def __call__(self, time: float, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the checked force."""
        if not callable(self.given):
            return self.given
        return finite_array(self.given(time, q, v), f"tau at time {time:.9g}", (self.nv,), SimulationConfigError)


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)

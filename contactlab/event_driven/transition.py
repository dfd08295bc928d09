"""Derivatives of event-driven runs: the state transition matrix, through events by saltation matrices.

Along smooth motion x = (q, v) the variation X' = A X is integrated with it, with exact A. The time of an event at
g(x) = 0 depends on the state, and X crosses the event by (Aizerman and Gantmakher 1958)::

    X+ = [D_x R + (f+ - D_x R f-) (dg/dx) / (dg/dx f-)] X

with the rates f of the motion before and after it. R is its jump, the identity if contacts stick, slip or open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.event_driven.candidates import Candidate
from contactlab.event_driven.event_rates import (
    NEAR_KINK,
    SLOW_FRACTION,
    Crossing,
    Layout,
    SmoothRates,
    crossings,
    jump_rates,
    phase_of,
    smooth_rates,
)
from contactlab.event_driven.phase import ContactMode, Mode, coupling
from contactlab.event_driven.recording import EventRecording
from contactlab.event_driven.trace import Arc, EventKind, RunTrace
from contactlab.multibody import kinematics
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.simulation.world.errors import SimulationConfigError

# Events closer than this [s] are simultaneous.
_SIMULTANEOUS = 1e-9

# Largest relative tolerance of the variation.
_RTOL = 1e-10

# Slip that has just decreased to the speed is at it only up to rounding.
_JUST_ABOVE = 1.0 + 1e-6

# Ratio of the motion across the slip to the motion along it below which slip is planar.
_PLANAR = 1e-9


class TransitionIntegrator:
    """X (2 nv, 2 nv and parameters), from the start of a run to its end."""

    def __init__(self, recording: EventRecording, course: RunTrace, layout: Layout) -> None:
        self.names, self.course, self.layout = recording.contact_names, course, layout
        self.nv, self.nq = layout.model.nv, layout.model.nq
        self.kinks: list[EventKink] = []
        total = 2 * self.nv + layout.width - layout.time - 1
        self.X = np.eye(2 * self.nv, total)
        # constant derivatives of parameters, and of the directions of slow slip: two rows for every side
        self.own = np.eye(total)[2 * self.nv :]
        self.D = np.zeros((0, total))
        # The contact of the last event.
        self.last = -1

    def run(self) -> None:
        """Carry the derivatives through all arcs of the run, and across the event between each two arcs."""
        last: Arc | None = None
        for arc in self.course.arcs:
            if last is None:
                self._begin(arc)
            else:
                self._cross(last, arc)
            if arc.end > arc.start:
                self._smooth(arc)
            last = arc
        if last is not None:
            self._finish(last)

    def _kink(self, time: float, contacts: Iterable[int], reason: str, off: float) -> None:
        """Add a kink to the report, unless the same one is in it."""
        kink = EventKink(time, tuple(self.names[k] for k in contacts), reason, off)
        if kink not in self.kinks:
            self.kinks.append(kink)

    def _total(self, by: FloatArray, dt: FloatArray | None = None) -> FloatArray:
        """Convert from the columns of a layout to the columns of X, at an instant that is shifted by dt."""
        t, width = self.layout.time, self.layout.width
        found = by[..., :t] @ self.X + by[..., t + 1 : width] @ self.own
        if by.shape[-1] > width:
            found = found + by[..., width:] @ self.D
        return np.asarray(found if dt is None else found + np.multiply.outer(by[..., t], dt))

    def _smooth(self, arc: Arc) -> None:
        """Integrate X with the motion of an arc, and report contacts that graze as kinks.

        If slow slip becomes fast, X advances by `_released` there.
        """
        from scipy.integrate import solve_ivp

        phase, nv, nx = phase_of(self.course, self.layout, arc.sides), self.nv, self.nq + self.nv

        def rates(t: float, z: FloatArray) -> FloatArray:
            q, v = phase.split(z[:nx])
            now = smooth_rates(self.course, self.layout, arc.sides, t, np.concatenate((q, v)))
            self.X = z[nx:].reshape(2 * nv, -1)
            dq = self.X[nv:] - coupling(self.layout.model, v) @ self.X[:nv]
            return np.concatenate((phase.q_rate(q, v), now.a, dq.ravel(), self._total(now.by).ravel()))

        o, model = self.course.options, self.layout.model
        closed = {side.index for side in arc.sides} | set(arc.unloaded)
        passed = [(k, one) for k, one in enumerate(self.layout.candidates) if k not in closed]

        def nearest(t: float, z: FloatArray, one: Candidate) -> float:
            return float(one.local(model, kinematics(model, *phase.split(z[:nx]))).u[0])

        def faster(t: float, z: FloatArray, side: ContactMode) -> float:
            u = self.layout.candidates[side.index].local(model, kinematics(model, *phase.split(z[:nx]))).u[1:]
            return float(np.linalg.norm(u)) - phase.slow

        t, z = arc.start, np.concatenate((arc.y, self.X.ravel()))
        slow = self._slow(arc, self._rates(arc.sides, t, arc.y))
        while True:
            events: list[Any] = [*(partial(nearest, one=one) for _, one in passed)]
            events += [partial(faster, side=arc.sides[i]) for i in slow]
            for place, event in enumerate(events):
                event.direction, event.terminal = 1.0, place >= len(passed)
            found = solve_ivp(rates, (t, arc.end), z, "DOP853", rtol=min(o.rtol, _RTOL), atol=o.atol, events=events)
            t, z = float(found.t[-1]), found.y[:, -1]
            self.X = z[nx:].reshape(2 * nv, -1)
            for (k, one), times, states in zip(passed, found.t_events or (), found.y_events or (), strict=False):
                for when, state in zip(times, states, strict=True):
                    gap = float(one.gap(model, kinematics(model, phase.split(state[:nx])[0])))
                    if abs(gap) <= o.gap_tolerance and arc.start + _SIMULTANEOUS < when < arc.end - _SIMULTANEOUS:
                        self._kink(float(when), [k], "grazing", abs(gap))
            if found.status != 1 or found.t_events is None:
                return
            i = next(i for i, times in zip(slow, found.t_events[len(passed) :], strict=True) if len(times))
            slow.remove(i)
            self._released(arc, i, t, np.concatenate(phase.split(z[:nx])))
            z = np.concatenate((z[:nx], self.X.ravel()))

    def _released(self, arc: Arc, i: int, t: float, y: FloatArray) -> None:
        """Advance X through the time t at which the slip of contact i becomes fast.

        Before it the direction of friction is fixed; from then on it is the direction of the slip.
        """
        before, after = (
            smooth_rates(self.course, self.layout, arc.sides, t, y, part) for part in (_JUST_ABOVE, 1.0 / _JUST_ABOVE)
        )
        r = before.rates[i]
        by = r.u[1:] / before.speed(i) @ np.hstack((r.u_q[1:], r.L[1:]))
        rate = float(by @ before.flow)
        if rate > 0.0:
            self.X = self.X + np.outer(after.flow - before.flow, by @ self.X / rate)

    def _begin(self, arc: Arc) -> None:
        """Start D for the first arc; if it starts with an impact, advance X through the impact as through any event.

        X then refers to a start shortly before the impact. Slow slip and an impact at the start are reported as kinks.
        """
        at = self._rates(arc.sides, arc.start, arc.y)
        for i in self._slow(arc, at):
            self._kink(arc.start, [arc.sides[i].index], "from rest", 0.0)
        if arc.jumps:
            contacts = [self.names.index(name) for jump in arc.jumps for name in jump.event.contacts]
            self._kink(arc.start, contacts, "at the start", 0.0)
            q = arc.y[: self.nq]
            before = self._rates((), arc.start, np.concatenate((q, arc.jumps[0].event.v_minus)))
            found = crossings(self.layout, before, (), q)
            hit = next(c for c in found if c.contact == contacts[0])
            dt = self._shift(hit, arc.start)
            self.X = self.X + np.outer(before.flow, dt)
            self._jump(arc, q)
            self.X = self.X - np.outer(at.flow, dt)
        self.D = np.zeros((2 * len(arc.sides), self.X.shape[1]))

    def _cross(self, last: Arc, arc: Arc) -> None:
        """Advance X and D through the event that ended ``last``, and its jumps; report kinks at the event."""
        t, q = last.end, last.y_end[: self.nq]
        before, after = self._rates(last.sides, t, last.y_end), self._rates(arc.sides, t, arc.y)
        what, place = last.ended[0]
        if what == "response":
            self._kink(t, [last.sides[place].index], "jam", 0.0)
            self._jump(arc, q)
            self.D = np.zeros((2 * len(arc.sides), self.X.shape[1]))
            return
        unloaded = [k for k in last.unloaded if (what, place) != ("gap", k)]
        found = crossings(self.layout, before, unloaded, q)
        hit = next(c for c in found if (c.what, c.place) == (what, place))
        dt = self._shift(hit, t)
        self._others(found, hit, t, dt)
        if last.end - last.start < _SIMULTANEOUS and self.last not in (-1, hit.contact):
            self._kink(t, [self.last, hit.contact], "at once", last.end - last.start)
        self.last = hit.contact
        if what == "gap" and not arc.jumps:
            self._kink(t, [hit.contact], "grazing", 0.0)
        slides = any(side.index == hit.contact and side.mode is Mode.SLIDE for side in arc.sides)
        across = before.speed(place) if what == "slip" and slides else 0.0
        # Slow slip that ends across its direction continues in another, by a convention of the run.
        if self.course.options.slip_speed < across < SLOW_FRACTION * before.slow:
            self._kink(t, [hit.contact], "turns at rest", across)
        self.X = self.X + np.outer(before.flow, dt)
        coned = self._cone_direction_rate(before, hit.place, dt) if what == "cone" else None
        self._jump(arc, q)
        D = self._directions(arc, after, hit.contact, coned)
        self.X, self.D = self.X - np.outer(after.flow, dt), D

    def _finish(self, last: Arc) -> None:
        """Report events at the end, or shortly after it, as kinks: small changes can move them across the end."""
        if last.ended or (last.end == last.start and len(self.course.arcs) > 1):
            contacts = {self.names.index(name) for jump in last.jumps for name in jump.event.contacts}
            self._kink(last.end, sorted(contacts), "at the end", 0.0)
            return
        at = self._rates(last.sides, last.end, last.y_end)
        for one in crossings(self.layout, at, last.unloaded, last.y_end[: self.nq]):
            if one.rate < 0.0 and abs(one.value / one.rate) < _SIMULTANEOUS:
                self._kink(last.end, [one.contact], "at the end", abs(one.value / one.rate))

    def _rates(self, sides: Iterable[ContactMode], t: float, y: FloatArray) -> SmoothRates:
        """Differentiate the motion of a phase at one instant; report a kink if redundant contacts share forces."""
        rates = smooth_rates(self.course, self.layout, tuple(sides), t, y)
        if rates.shared:
            self._kink(t, [side.index for side in rates.sides], "sharing", 0.0)
        return rates

    def _shift(self, hit: Crossing, t: float) -> FloatArray:
        """Return the derivative (columns,) of the event time by X; zero for a grazing event.

        An event that grazes, or nearly so, is also reported as a kink.
        """
        if abs(hit.rate) <= NEAR_KINK * hit.scale:
            self._kink(t, [hit.contact], "grazing", abs(hit.rate) / max(hit.scale, 1e-300))
        if abs(hit.rate) <= 1e-12 * hit.scale:
            return np.zeros(self.X.shape[1])
        return np.asarray(-self._total(hit.by) / hit.rate)

    def _others(self, found: list[Crossing], hit: Crossing, t: float, dt: FloatArray) -> None:
        """Report a kink "at once" if other events occur at the instant t of the event ``hit``.

        An event whose time has the same derivative ``dt`` (columns,) by X as ``hit`` stays simultaneous in every
        displaced motion: it is no kink.
        """
        others, off = [], 0.0
        for one in found:
            if one is hit or one.rate >= 0.0 or abs(one.value / one.rate) >= _SIMULTANEOUS:
                continue
            if np.abs(-self._total(one.by) / one.rate - dt).max() > _SIMULTANEOUS * max(1.0, float(np.abs(dt).max())):
                others.append(one.contact)
                off = max(off, abs(one.value / one.rate))
        if others:
            self._kink(t, sorted({hit.contact, *others}), "at once", off)

    def _jump(self, arc: Arc, q: FloatArray) -> None:
        """Advance X through the jumps at the start of an arc, and report kinks near a change of mode."""
        nv = self.nv
        for jump in arc.jumps:
            by, unsure = jump_rates(self.course, self.layout, jump, q)
            self.X = np.vstack((self.X[:nv], self._total(by)))
            if jump.event.kind is EventKind.JAM:
                self._kink(arc.start, [self.names.index(name) for name in jump.event.contacts], "jam", 0.0)
            for k in jump.pairs if unsure else ():
                self._kink(arc.start, [k], "mode", 0.0)

    def _slow(self, arc: Arc, at: SmoothRates) -> list[int]:
        """Return the indices in ``arc.sides`` of sliding contacts so slow that their direction is not the slip's."""
        slides = [i for i, side in enumerate(arc.sides) if side.mode is Mode.SLIDE]
        bound = at.slow * _JUST_ABOVE
        return [i for i in slides if self.layout.candidates[arc.sides[i].index].mu > 0.0 and at.speed(i) <= bound]

    def _cone_direction_rate(self, before: SmoothRates, i: int, dt: FloatArray) -> FloatArray:
        """Return the derivative (2, columns) by X of the direction in which contact i, on its cone, begins to slip.

        ``dt`` is the derivative of the event time.
        """
        size = float(np.linalg.norm(before.fT[i]))
        s = before.fT[i] / size
        return self._total(-(np.eye(2) - np.outer(s, s)) @ before.fT_by[i] / size, dt)

    def _directions(self, arc: Arc, after: SmoothRates, contact: int, coned: FloatArray | None) -> FloatArray:
        """Return the derivatives D of slow slip's directions at an event: two rows for each side of the arc.

        They follow from the slip, or of ``contact`` from the sticking force: ``coned``. Otherwise they are 0, with a
        kink "from rest" unless the contact can slip along one line only.
        """
        D = np.zeros((2 * len(arc.sides), self.X.shape[1]))
        for i in self._slow(arc, after):
            side, rows = arc.sides[i], slice(2 * i, 2 * i + 2)
            if after.speed(i) > self.course.options.slip_speed:
                D[rows] = self._total(after.turning(i)[:, : self.layout.width])
            elif coned is not None and side.index == contact:
                D[rows] = coned
            else:
                L = after.rates[i].L[1:]
                across = np.array([-side.direction[1], side.direction[0]]) @ L
                if float(np.abs(across).max()) > _PLANAR * float(np.abs(L).max()):
                    self._kink(arc.start, [side.index], "from rest", 0.0)
        return D


@dataclass(frozen=True)
class EventKink:
    """Reason for which a run has no derivative, or almost none.

    Parameters
    ----------
    time : float
        [s].
    contacts : tuple of str
        Names of the contacts.
    reason : str
        "grazing": an event function that hardly crosses zero, or a gap that almost closes; "at once": events at one
        instant, whose order depends on the start; "at the start", "at the end": an event there; "mode": an impact close
        to another mode (stick or slip), or whose friction pyramid is about to turn; "from rest": slip that begins at
        rest, with undetermined direction; "turns at rest": slip in space whose direction turns too fast at its stop;
        "jam": Painleve's paradox; "sharing": redundant contacts whose undetermined forces, chosen by convention, move
        the bodies.
    distance : float
        Distance: the rate of crossing over its maximum, or the gap left [m]; the time between the events [s]; the slip
        left [m/s], or slip or friction as a fraction; 0 on the kink.
    """

    time: float
    contacts: tuple[str, ...]
    reason: str
    distance: float


Parameter = Literal["tau", "gravity", "mu", "restitution"]

_PARAMETERS = ("tau", "gravity", "mu", "restitution")


@dataclass(frozen=True, eq=False)
class Transition:
    """The derivative of a run's end by its start and by parameters.

    Parameters
    ----------
    matrix : ndarray, shape (2 nv, 2 nv)
        d(dq, dv) at the end by (dq, dv) at the start, with q along `integrate`.
    parameters : mapping of str to ndarray, shape (2 nv, n)
        By name: "tau" (nv columns) and "gravity" (3), constants added to the acting ones; "mu" and
        "restitution", a column for each of ``contacts``.
    contacts : tuple of str
        The run's contacts.
    held : tuple of str
        Contacts closed at the start. The derivative refers to motions that keep them closed.
    kinks : tuple of EventKink
        Events without a derivative; ``matrix`` still refers to the events in their order.
    """

    matrix: FloatArray
    parameters: Mapping[str, FloatArray]
    contacts: tuple[str, ...]
    held: tuple[str, ...]
    kinks: tuple[EventKink, ...]

    @property
    def unique(self) -> bool:
        """Return True if there is one derivative, for all directions."""
        return not self.kinks

    def jvp(self, dx: ArrayLike | None = None, parameters: Mapping[str, ArrayLike] | None = None) -> FloatArray:
        """Return the change (2 nv,) of the end for a change dx (2 nv,) of the start and changes of the parameters."""
        n = len(self.matrix)
        total = np.zeros(n) if dx is None else self.matrix @ finite_array(dx, "dx", (n,), SimulationConfigError)
        for name, change in (parameters or {}).items():
            by = self._by(name)
            total = total + by @ finite_array(change, f"parameters[{name!r}]", (by.shape[1],), SimulationConfigError)
        return np.asarray(total)

    def vjp(self, w: ArrayLike, wrt: str | None = None) -> FloatArray:
        """Return the gradient by the start (2 nv,), or by a parameter, of a cost with the gradient w at the end."""
        by = self.matrix if wrt is None else self._by(wrt)
        return np.asarray(finite_array(w, "w", (len(self.matrix),), SimulationConfigError) @ by)

    def _by(self, name: str) -> FloatArray:
        if name not in self.parameters:
            raise SimulationConfigError("wrt", f"must be one of {tuple(self.parameters)}, got {name!r}")
        return self.parameters[name]


def transition(recording: EventRecording, wrt: Iterable[Parameter] = ()) -> Transition:
    """Return the derivative of an event-driven run: of its end by its start, and by parameters.

    Parameters
    ----------
    recording
        Recording of `EventDriven.run`; after an error, up to its time.
    wrt
        Parameters, of "tau", "gravity", "mu", "restitution".

    Returns
    -------
    Transition
        Impact laws, rows of contacts, and forces that are functions are differentiated by differences of fourth order,
        to about 1e-10. A law must depend on v only through the velocities of the contacts. If there is no derivative,
        `Transition.kinks` has the reasons.

    Raises
    ------
    SimulationConfigError
        ``wrt`` is invalid, or the recording has no ``course``.

    References
    ----------
    M. A. Aizerman, F. R. Gantmakher, On the stability of periodic motions, J. Appl. Math. Mech. 22 (1958); N. J. Kong,
    J. J. Payne, J. Zhu, A. M. Johnson, Saltation matrices: the essential tool for linearizing hybrid dynamical
    systems, Proc. IEEE 112 (2024).
    """
    names = tuple(wrt)
    if isinstance(wrt, str) or len(set(names)) < len(names) or any(name not in _PARAMETERS for name in names):
        raise SimulationConfigError("wrt", f"must be some of {_PARAMETERS}, each once, got {wrt!r}")
    if recording.course is None:
        raise SimulationConfigError("recording", "has no course: give what `EventDriven.run` returned")
    layout = Layout(recording.world.model, recording.candidates, names)
    walk = TransitionIntegrator(recording, recording.course, layout)
    walk.run()
    n = 2 * layout.model.nv
    by = np.split(walk.X, n + np.cumsum([0, *layout.sizes.values()]), axis=1)
    first = recording.course.arcs[:1]
    closed = sorted({side.index for arc in first for side in arc.sides} | {k for arc in first for k in arc.unloaded})
    return Transition(
        matrix=read_only(by[0].copy()),
        parameters={name: read_only(one.copy()) for name, one in zip(names, by[1:-1], strict=True)},
        contacts=recording.contact_names,
        held=tuple(recording.contact_names[k] for k in closed),
        kinks=tuple(walk.kinks),
    )

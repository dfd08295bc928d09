"""The loop of an event-driven run: integrate to the next event, identify it, continue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from contactlab.event_driven.candidates import (
    Candidate,
    PairKinematics,
    find_candidates,
    penetration_text,
    tunnelled_balls,
)
from contactlab.event_driven.modes import (
    MIN_RESPONSE,
    choose_modes,
    impact_problem,
    jamming_impact,
    law_of,
    plastic_impact,
)
from contactlab.event_driven.phase import SLOW, ContactMode, Mode, Phase, Tau, slip_direction
from contactlab.event_driven.recording import EventError, EventRecording, InconsistentContact
from contactlab.event_driven.trace import Arc, Event, EventKind, EventOptions, Jump, RunTrace
from contactlab.impact.collision import pyramid_tangents
from contactlab.multibody import kinematics, kinetic_energy, potential_energy
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.world import StepperState, World
from problem_data import ConstraintVelProblemData

_MAX_AT_ONCE = 100
# Fraction of the energy: a larger gain by an impact is reported.
_GAIN = 1e-6
# Fraction of the tolerance by which a gap must decrease below its start again for its return to count.
_SLACK = 1e-5


class Run:
    """One run in progress."""

    def __init__(self, options: EventOptions, world: World, start: StepperState, tau: Tau, constant: bool) -> None:
        if world.model.packed.custom:
            raise SimulationConfigError("world", "has custom joints: event-driven runs need q' = v or unit quaternions")
        self.options, self.world, self.model, self.tau, self.constant = options, world, world.model, tau, constant
        self.candidates = find_candidates(world)
        self.t = start.time
        self.y = np.concatenate((start.q, start.v))
        self.sides: list[ContactMode] = []
        self.unloaded: list[int] = []
        self.events: list[Event] = []
        self.jumps: list[Jump] = []
        self.arcs: list[Arc] = []
        self.rows: list[tuple[Any, ...]] = []
        self.notices: list[str] = []
        # Reasons for doubts, the first of each kind.
        self.doubts: dict[str, str] = {}
        self.last_impact: dict[int, float] = {}
        self.evaluations = 0

    def run_until(self, end: float, progress: Callable[[float, float], None] | None) -> EventRecording:
        """Run to the time ``end`` [s] and return the recording, with notices about penetrations.

        An impact that an arc reaches at ``end`` is not applied. ``progress(time, end)`` is called after each arc. Raise
        `EventError` for too many events, and for modes that change without end.
        """
        slips: dict[int, FloatArray] = {}
        still = 0
        while True:
            self._resolve_impacts(slips)
            if self.t >= end:
                self._arc(self.t, self.y, ())
                break
            start = self.t
            slips = self._integrate_arc(end)
            still = still + 1 if self.t <= start else 0
            if still > _MAX_AT_ONCE:
                raise self._error(f"the modes at t = {self.t:.9g} s change without end: {self.sides}")
            if progress is not None:
                progress(self.t, end)
            if len(self.events) > self.options.max_events:
                raise self._error(f"more than {self.options.max_events} events by t = {self.t:.9g} s")
            if self.t >= end:
                break
        recording = self.recording()
        self.doubts |= penetration_text(self.world, self.candidates, recording.time, recording.gaps)
        texts = (text for kind, text in self.doubts.items() if kind != "energy")
        return replace(recording, notices=(*self.notices, *texts))

    def recording(self) -> EventRecording:
        """Return the recording of the rows and events so far, with the notices of impacts only."""
        nk, nq, nv = len(self.candidates), self.model.nq, self.model.nv
        columns = list(zip(*self.rows, strict=True)) or [()] * 7
        time, q, v, kinetic, potential, forces, gaps = columns
        return EventRecording(
            world=self.world,
            time=np.array(time, dtype=np.float64),
            q=np.array(q).reshape(-1, nq),
            v=np.array(v).reshape(-1, nv),
            kinetic=np.array(kinetic, dtype=np.float64),
            potential=np.array(potential, dtype=np.float64),
            events=tuple(self.events),
            contact_names=tuple(candidate.name for candidate in self.candidates),
            forces=np.array(forces).reshape(len(time), nk, 3),
            gaps=np.array(gaps).reshape(len(time), nk),
            evaluations=self.evaluations,
            notices=tuple(self.notices),
            course=RunTrace(self.options, self.tau, self.constant, tuple(self.arcs)),
        )

    def _error(self, message: str) -> EventError:
        """Return the error of a run that stops now, with its recording."""
        return EventError(message, time=self.t, recording=self.recording())

    # -- between events

    def _integrate_arc(self, end: float) -> dict[int, FloatArray]:
        """Integrate to the next event or to time ``end`` [s], and update time, state and record.

        Return the slip directions (2,) of contacts whose friction reaches its bound in this event, by candidate.
        """
        from scipy.integrate import solve_ivp

        o = self.options
        phase = Phase(self.model, self.candidates, self.sides, self.tau, o.stabilisation, SLOW * o.slip_speed)
        names, functions = self._events(phase)
        limits: dict[str, Any] = {"rtol": o.rtol, "atol": o.atol, "max_step": o.max_step, "events": functions}
        dense = o.output_step is not None
        found = solve_ivp(phase, (self.t, end), self.y, method="DOP853", dense_output=dense, **limits)
        self.evaluations += int(found.nfev)
        if found.status < 0:
            self.t = float(found.t[-1])
            raise self._error(f"the integrator failed at t = {self.t:.9g} s: {found.message}")
        self._record_arc(phase, found)
        states = np.array([phase.split(y)[0] for y in found.y.T])
        if "long step" not in self.doubts and (text := tunnelled_balls(self.world, self.candidates, found.t, states)):
            self.doubts["long step"] = text
        start, before = self.t, self.y
        self.t = float(found.t[-1])
        q, v = phase.split(found.y[:, -1])
        self.y = np.concatenate((q, v))
        hits = zip(names, found.t_events or (), strict=False)
        self._arc(start, before, tuple(name for name, times in hits if found.status == 1 and len(times)))
        slips: dict[int, FloatArray] = {}
        if found.status == 1 and found.t_events is not None:
            _, _, forces = phase.forces(self.t, self.y)
            for (what, i), times in zip(names, found.t_events, strict=True):
                if len(times) and what == "cone":
                    index = self.sides[i].index
                    slips[index] = -forces.fT[i] / float(np.linalg.norm(forces.fT[i]))
        return slips

    def _arc(self, start: float, before: FloatArray, ended: tuple[tuple[str, int], ...]) -> None:
        """Append the arc from ``start`` [s] to the present time, with its jumps, to the list for derivatives.

        Begin a new list of jumps.
        """
        sides, unloaded, jumps = tuple(self.sides), tuple(self.unloaded), tuple(self.jumps)
        self.arcs.append(Arc(jumps, sides, unloaded, start, self.t, before, self.y, ended))
        self.jumps = []

    def _events(self, phase: Phase) -> tuple[list[tuple[str, int]], list[Any]]:
        """Return the functions that end the phase by decreasing through zero, with meaning and pair or side."""
        tolerance, now = self.options.gap_tolerance, kinematics(self.model, *self._state())
        closed = {side.index for side in self.sides}
        # A closed contact without a force at gap 0 must not be found again and again. A contact that has just opened
        # starts at gap 0, and only its return is an event.
        slack = {
            k: tolerance if k in self.unloaded else max(0.0, _SLACK * tolerance - float(one.gap(self.model, now)))
            for k, one in enumerate(self.candidates)
            if k not in closed
        }
        # After the event that ends fast slip, the speed is at the bound, up to rounding.
        fast = [float(np.linalg.norm(one.u[1:])) > phase.slow * (1.0 + 1e-6) for one in phase.locals(now)]

        # All functions are evaluated at the same instants.
        @lru_cache(maxsize=1)
        def values(t: float, state: bytes) -> dict[tuple[str, int], float]:
            instant, found, forces = phase.forces(t, np.frombuffer(state))
            ends = {("gap", k): float(self.candidates[k].gap(self.model, instant.kin)) + slack[k] for k in slack}
            for i, (side, local) in enumerate(zip(self.sides, found, strict=True)):
                mu, fN, u = self.candidates[side.index].mu, float(forces.fN[i]), local.u[1:]
                ends["force", i] = fN
                if mu > 0.0 and side.mode is Mode.STICK:
                    ends["cone", i] = mu * fN - float(np.linalg.norm(forces.fT[i]))
                elif mu > 0.0:
                    speed = float(np.linalg.norm(u))
                    # Fast slip that has become slow continues in a phase of its own, with the direction it has then.
                    slow = float(u @ side.direction) if speed <= phase.slow else speed
                    ends["slip", i] = speed - phase.slow if fast[i] else slow
                    # Normal acceleration per unit of normal force, with its friction and without.
                    pushed = local.L[0] - mu * slip_direction(local, side, phase.slow) @ local.L[1:]
                    own, plain = local.L[0] @ np.linalg.solve(instant.M, np.column_stack((pushed, local.L[0])))
                    ends["response", i] = float(own / plain) - MIN_RESPONSE
            return ends

        def end(t: float, y: FloatArray, name: tuple[str, int]) -> float:
            return values(t, y.tobytes())[name]

        names = list(values(self.t, self.y.tobytes()))
        functions: list[Any] = [partial(end, name=name) for name in names]
        for function in functions:
            function.terminal, function.direction = True, -1.0
        return names, functions

    def _record_arc(self, phase: Phase, found: Any) -> None:
        """Append rows of the record for an interval of smooth motion: state, energies, contact forces and gaps.

        ``found`` is the result of ``solve_ivp``. Rows are at its steps, or at both ends and the
        multiples of ``output_step`` between them.
        """
        times, states = found.t, found.y
        if self.options.output_step is not None:
            step = self.options.output_step
            first, last = float(found.t[0]), float(found.t[-1])
            inner = step * np.arange(np.floor(first / step) + 1, np.ceil(last / step))
            times = np.concatenate(([first], inner[(inner > first) & (inner < last)], [last]))
            states = found.sol(times)
        for t, y in zip(times, np.asarray(states).T, strict=True):
            instant, local, forces = phase.forces(float(t), y)
            every = np.zeros((len(self.candidates), 3))
            for side, pair, fN, fT in zip(self.sides, local, forces.fN, forces.fT, strict=True):
                every[side.index] = fN * pair.normal + fT @ pair.tangents
            gaps = [candidate.gap(self.model, instant.kin) for candidate in self.candidates]
            energies = kinetic_energy(self.model, instant.kin, None), potential_energy(self.model, instant.kin)
            self.rows.append((float(t), instant.kin.q, instant.kin.v, *energies, every, gaps))

    # -- at events

    def _resolve_impacts(self, slips: dict[int, FloatArray]) -> None:
        """Apply the impacts of this instant, then choose the modes of the contacts that stay closed.

        ``slips`` has the slip directions (2,) of contacts whose friction has just reached its bound, by candidate; they
        are not used after an impact. If the modes are inconsistent, a jamming impact follows, or the error, by
        ``on_inconsistency``. Raise `EventError` if contacts still approach after too many impacts.
        """
        o = self.options
        for _ in range(_MAX_AT_ONCE):
            touching = self._touching()
            approaching = [k for k, local in touching if local.u[0] < -o.rest_speed]
            pairs = [(k, local) for k, local in touching if local.u[0] <= o.rest_speed]
            if approaching:
                self._impact(pairs, approaching)
                slips = {}
                continue
            phase = Phase(self.model, self.candidates, [], self.tau, 0.0, SLOW * o.slip_speed)
            try:
                opens = o.on_inconsistency == "open"
                closed = [k for k, _ in pairs]
                chosen = choose_modes(phase, self.t, self.y, closed, o.edges, o.slip_speed, slips, opens=opens)
            except InconsistentContact as error:
                error.recording = self.recording()
                if o.on_inconsistency == "raise":
                    raise
                self._jamming_impact(error, pairs)
                slips = {}
                continue
            self._note_changes(*chosen)
            self.sides, self.unloaded = chosen
            return
        raise self._error(f"more than {_MAX_AT_ONCE} impacts at t = {self.t:.9g} s leave contacts approaching")

    def _touching(self) -> list[tuple[int, PairKinematics]]:
        """Return the closed pairs with candidates; for pairs already closed, the tolerance is 1000 times larger."""
        kin = kinematics(self.model, *self._state())
        held = {side.index for side in self.sides} | set(self.unloaded)
        found = []
        for k, candidate in enumerate(self.candidates):
            # a closed contact stays closed despite its drift, until its force is zero
            reach = self.options.gap_tolerance * (1e3 if k in held else 1.0)
            if candidate.gap(self.model, kin) <= reach:
                found.append((k, candidate.local(self.model, kin)))
        return found

    def _impact(self, pairs: list[tuple[int, PairKinematics]], approaching: list[int]) -> None:
        """Set the velocity to the one after the impact of these contacts, and record the event.

        Contacts that hit again within ``zeno_interval`` have a plastic impact, all others the impact law. Raise
        `EventError` if the law has no solution.
        """
        o = self.options
        candidates, data = self._impact_problem(pairs)
        soon = any(self.t - self.last_impact.get(k, -np.inf) <= o.zeno_interval for k in approaching)
        for k in approaching:
            self.last_impact[k] = self.t
        if soon:
            self._change(EventKind.ZENO, approaching, pairs, plastic_impact(data), problem=data)
            return
        law = law_of(o.impact, candidates)
        outcome = law.solve(data)
        if not outcome.solved:
            raise self._error(f"the impact at t = {self.t:.9g} s: {outcome.status.value} ({outcome.message})")
        if outcome.energy_ratio > 1.0 + _GAIN:
            ratio = f"{outcome.energy_ratio:.6g} times the energy before"
            self.notices.append(
                f"the impact at t = {self.t:.9g} s leaves {ratio}: {outcome.law} may, with friction and several "
                "contacts; Stronge's law does not"
            )
            self.doubts.setdefault("energy", self.notices[-1])
        if outcome.notice:
            who = ", ".join(candidate.name for candidate in candidates)
            self.notices.append(f"the impact at t = {self.t:.9g} s of {who}: {outcome.notice}")
        impulses = np.zeros((len(self.candidates), 3))
        spread = pyramid_tangents(o.edges // 2)
        friction = np.asarray(outcome.impulses.fF).reshape(len(pairs), -1)
        for (k, local), fN, fF in zip(pairs, outcome.impulses.fN, friction, strict=True):
            impulses[k] = fN * local.normal + fF @ spread @ local.tangents
        self._change(EventKind.IMPACT, approaching, pairs, outcome.v_plus, impulses, problem=data)

    def _jamming_impact(self, error: InconsistentContact, pairs: list[tuple[int, PairKinematics]]) -> None:
        """Apply the impact that stops the slip of a jammed contact without collision; raise if there is none."""
        candidates, data = self._impact_problem(pairs)
        place = [candidate.name for candidate in candidates].index(error.contacts[0])
        v_plus = jamming_impact(data, place)
        if v_plus is None:
            raise error
        self._change(EventKind.JAM, [pairs[place][0]], pairs, v_plus)

    def _impact_problem(
        self, pairs: list[tuple[int, PairKinematics]]
    ) -> tuple[list[Candidate], ConstraintVelProblemData]:
        """Return the candidates of closed pairs, and their impact problem."""
        candidates, kin = [self.candidates[k] for k, _ in pairs], kinematics(self.model, *self._state())
        found = [local for _, local in pairs]
        return candidates, impact_problem(self.model, kin, found, candidates, self.options.edges)

    def _change(
        self,
        kind: EventKind,
        contacts: list[int],
        pairs: list[tuple[int, PairKinematics]],
        v_plus: FloatArray,
        impulses: FloatArray | None = None,
        problem: ConstraintVelProblemData | None = None,
    ) -> None:
        """Record an event, append the jump, and set the velocity to v_plus."""
        q, v = self._state()
        self._event(kind, contacts, v, v_plus, impulses, problem)
        self.jumps.append(Jump(self.events[-1], tuple(k for k, _ in pairs)))
        self.y = np.concatenate((q, v_plus))

    def _note_changes(self, sides: list[ContactMode], unloaded: list[int]) -> None:
        """Record the changes of mode: contacts that close, open, stick and slip."""
        before = {side.index: side.mode for side in self.sides}
        after = {side.index: side.mode for side in sides}
        held = set(before) | set(self.unloaded)
        groups = {
            EventKind.OPEN: sorted(held - set(after) - set(unloaded)),
            EventKind.CLOSE: sorted((set(after) | set(unloaded)) - held),
            EventKind.SLIDE: [k for k, mode in after.items() if mode is Mode.SLIDE and before.get(k) is Mode.STICK],
            EventKind.STICK: [k for k, mode in after.items() if mode is Mode.STICK and before.get(k) is Mode.SLIDE],
        }
        v = self._state()[1]
        for kind, contacts in groups.items():
            if contacts:
                self._event(kind, contacts, v, v)

    def _event(
        self,
        kind: EventKind,
        contacts: list[int],
        v_minus: FloatArray,
        v_plus: FloatArray,
        impulses: FloatArray | None = None,
        problem: ConstraintVelProblemData | None = None,
    ) -> None:
        """Append an event with the energies before and after; contacts are candidates' numbers."""
        q = self._state()[0]
        before, after = (float(kinetic_energy(self.model, q, v)) for v in (v_minus, v_plus))
        names = tuple(self.candidates[k].name for k in contacts)
        given = np.zeros((len(self.candidates), 3)) if impulses is None else impulses
        self.events.append(Event(self.t, kind, names, v_minus.copy(), np.array(v_plus), before, after, given, problem))

    def _state(self) -> tuple[FloatArray, FloatArray]:
        return self.y[: self.model.nq], self.y[self.model.nq :]

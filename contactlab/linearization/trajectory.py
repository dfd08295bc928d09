"""Gradient of a cost over a record, by the adjoint: one pass through its steps, one back; or over events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contactlab.event_driven import EventKink, EventRecording, transition
from contactlab.linearization.kernels.layout import ON_KINK
from contactlab.linearization.linearization import Kink
from contactlab.linearization.linearize import StepLinearizer
from contactlab.linearization.parameters import Parameter
from contactlab.multibody import integrate
from contactlab.recording import Recording
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.world.errors import SimulationConfigError

#: Steps whose derivatives are kept at once; before and after them only states are.
PORTION = 256
#: And the bytes that these may take, but for eight steps.
ROOM = 2**26
#: Stride of differences of a cost that has no gradient of its own.
STRIDE = 1e-6

#: A term of the cost: of (number of the state, q, v). A number, or it with its gradients by dq and by v.
Cost = Callable[[int, FloatArray, FloatArray], float | tuple[float, FloatArray, FloatArray]]
#: A term of (number of the step, forces on bodies B of its contacts (nc, 3) [N]); a number, or it with its gradient.
ForceCost = Callable[[int, FloatArray], float | tuple[float, FloatArray]]


@dataclass(frozen=True, eq=False)
class Gradient:
    """A cost over n steps, and how it changes.

    Attributes
    ----------
    value
        The cost.
    q, v
        (nv,) by the start, q along `integrate`.
    tau
        (n, nv) by the applied force of each step.
    targets
        (n, n drives) by the targets of the drives in each step.
    parameters
        By name; of event-driven runs arrays, as `Transition.parameters` has them.
    kinks
        Steps on a kink, with the nearest kink: the piece of each step was used. Of event-driven
        runs those of `Transition.kinks`.
    """

    value: float
    q: FloatArray
    v: FloatArray
    tau: FloatArray
    targets: FloatArray
    parameters: Mapping[str, float | FloatArray]
    kinks: tuple[tuple[int, Kink], ...] | tuple[EventKink, ...]

    @property
    def unique(self) -> bool:
        """Return True if no step is on a kink."""
        return not self.kinks


@dataclass(frozen=True, eq=False)
class _Portion:
    """Derivatives of some steps and of their contact forces, by state, forces, targets and parameters."""

    A: FloatArray  # (steps, 2 nv, columns)
    forces: list[FloatArray]
    kinks: list[tuple[int, Kink]]


def gradient(
    recording: Recording | EventRecording,
    cost: Cost,
    *,
    force_cost: ForceCost | None = None,
    at: Sequence[int] | None = None,
    wrt: Sequence[str | Parameter] = (),
) -> Gradient:
    """Gradient of a cost over a record, by start, forces, targets and parameters.

    Parameters
    ----------
    recording
        Of `simulate`, of `Simulation.recording` or of a file. Its steps are made again, to the same bits. Or of
        `EventDriven.run`, whose derivatives are `transition`'s: its end alone costs, ``wrt`` are its names, and there
        are no rows of tau and targets.
    cost
        Cost of a state, summed over states: a function of (number of the state, q, v), in plain numpy. If it returns
        only a number, its gradient is from differences, 4 nv calls for a state; it can return the gradient as well:
        (number, by dq (nv,), by v (nv,)).
    force_cost
        Cost of the contact forces of a step: a function of (number of the step, forces (nc, 3)).
    at
        Numbers of the states that cost, such as ``(-1,)`` for the last alone; all of them if not given.
    wrt
        As for `linearize`.

    Returns
    -------
    Gradient
        With the steps on a kink: the result of `linearize` was used for these, closed contacts included.

    Raises
    ------
    SimulationConfigError
        A record with contacts from outside; a cost that is not a number; steps without derivatives, see `linearize`.

    Notes ----- Applied forces and targets are the recorded ones, step by step: the gradient does not contain the effect
    of feedback, or of a wrench with fixed world axes, on another motion.

    Takes three to four times the run. Of 256 steps at a time the derivatives are kept, 8 bytes for each of
    256 x 2 nv x (3 nv + drives + parameters) numbers, or of fewer in 64 MiB; of all others states alone.
    """
    if isinstance(recording, EventRecording):
        return _of_events(recording, cost, force_cost, at, wrt)
    n, nv = recording.n_steps, recording.world.nv
    states = range(n + 1) if at is None else sorted({_state(i, n) for i in at})
    linearizer = StepLinearizer(recording.world, recording.stepper, wrt)
    drives, names = (
        len(recording.world.joint_actions.drives),
        [one.name for one in linearizer.differentiator.parameters],
    )
    tau, targets, value = np.zeros((n, nv)), np.zeros((n, drives)), 0.0
    parameters, kinks = np.zeros(len(names)), list[tuple[int, Kink]]()
    # Gradient by the present state, and the states whose cost is not added yet.
    w, left = np.zeros(2 * nv), set(states)

    def add_state(i: int) -> float:
        if i not in left:
            return 0.0
        own, by = _of_state(recording, cost, i)
        np.add(w, by, out=w)
        return own

    portion_steps = min(PORTION, max(8, ROOM // (16 * nv * max(1, linearizer.differentiator.columns))))
    for first in range((n - 1) // portion_steps * portion_steps if n else 0, -1, -portion_steps):
        last = min(first + portion_steps, n)
        portion = _portion(linearizer, recording, first, last, keep_forces=force_cost is not None)
        kinks = portion.kinks + kinks
        for k in range(last - 1, first - 1, -1):
            value += add_state(k + 1)
            by = w @ portion.A[k - first]
            if force_cost is not None:
                more, by_forces = _of_forces(recording, force_cost, k)
                value += more
                by += np.einsum("ij,ijk->k", by_forces, portion.forces[k - first])
            w[:] = by[: 2 * nv]
            tau[k], targets[k] = by[2 * nv : 3 * nv], by[3 * nv : 3 * nv + drives]
            parameters += by[3 * nv + drives :]
    value += add_state(0)
    by_name = dict(zip(names, parameters.tolist(), strict=True))
    return Gradient(value, w[:nv].copy(), w[nv:].copy(), tau, targets, by_name, tuple(kinks))


def _of_events(
    recording: EventRecording,
    cost: Cost,
    force_cost: ForceCost | None,
    at: Sequence[int] | None,
    wrt: Sequence[str | Parameter],
) -> Gradient:
    """Return the gradient of an event-driven run."""
    n, nv = recording.time.size - 1, recording.world.nv
    if force_cost is not None or {_state(i, n) for i in ((0,) if at is None else at)} != {n}:
        raise SimulationConfigError("at", "must be (-1,), and no force may cost: of an event-driven run its end does")
    value, w = _of_state(recording, cost, n)
    # Names are checked there.
    found = transition(recording, wrt)  # type: ignore[arg-type]
    by = found.vjp(w)
    parameters = {name: found.vjp(w, name) for name in found.parameters}
    none = np.zeros((0, nv)), np.zeros((0, len(recording.world.joint_actions.drives)))
    return Gradient(value, by[:nv], by[nv:], *none, parameters, found.kinks)


def _state(i: int, n: int) -> int:
    if not -n - 1 <= i <= n:
        raise SimulationConfigError("at", f"names state {i}, the record holds 0 .. {n}")
    return i % (n + 1)


def _portion(linearizer: StepLinearizer, recording: Recording, first: int, last: int, *, keep_forces: bool) -> _Portion:
    """Make the steps first .. last again, and differentiate them."""
    rows, nv = recording.rows, recording.world.nv
    taus = rows["tau"] if rows["tau"].shape[0] else np.zeros((recording.n_steps, nv))
    found = _Portion(np.empty((last - first, 2 * nv, linearizer.differentiator.columns)), [], [])
    again: Iterator[tuple[int, int]] = linearizer.steps(
        recording.state(first), taus[first:last], rows["drive_target"][first:last]
    )
    for k, count in again:
        m = linearizer.differentiator.memory
        found.A[k] = m.A
        if keep_forces:
            found.forces.append(m.forces[: int(linearizer.driver.control.n_contacts)].copy())
        if count and m.kink_distances[:count, 1].min() <= ON_KINK:
            found.kinks.append((first + k, linearizer.kinks(count)[0]))
        if not np.array_equal(linearizer.driver.work.q, recording.q[first + k + 1]):
            detail = (
                f"step {first + k} is another when it is made again: of contacts from outside, or another machine's"
            )
            raise SimulationConfigError("recording", detail)
    return found


def _of_state(recording: Recording | EventRecording, cost: Cost, i: int) -> tuple[float, FloatArray]:
    """Return the cost of a state, and its gradient (2 nv,) by (dq, v)."""
    model, q, v = recording.world.model, recording.q[i], recording.v[i]
    nv = v.size
    given = cost(i, q, v)
    if isinstance(given, tuple) and len(given) == 3:
        value, by_q, by_v = given
        parts = [finite_array(by, "cost", (nv,), SimulationConfigError) for by in (by_q, by_v)]
        return _number(value, "cost"), np.concatenate(parts)
    value, by = _number(given, "cost"), np.empty(2 * nv)
    ways = STRIDE * np.eye(nv)
    for j in range(nv):
        there = [integrate(model, q, way, 1.0) for way in (ways[j], -ways[j])]
        near = [(there[0], v), (there[1], v), (q, v + ways[j]), (q, v - ways[j])]
        costs = [_number(cost(i, *one), "cost") for one in near]
        by[j], by[nv + j] = (costs[0] - costs[1]) / (2.0 * STRIDE), (costs[2] - costs[3]) / (2.0 * STRIDE)
    return value, by


def _of_forces(recording: Recording, cost: ForceCost, k: int) -> tuple[float, FloatArray]:
    """Return the cost of the contact forces of a step, and its gradient (nc, 3)."""
    forces = recording.contacts_at(k).impulse / recording.h[k]
    given = cost(k, forces)
    if isinstance(given, tuple) and len(given) == 2:
        by = finite_array(given[1], "force_cost", forces.shape, SimulationConfigError)
        return _number(given[0], "force_cost"), by
    value = _number(given, "force_cost")
    by, way = np.empty_like(forces), STRIDE * max(1.0, float(np.abs(forces).max(initial=0.0)))
    for place in np.ndindex(*forces.shape):
        near = []
        for sign in (way, -way):
            there = forces.copy()
            there[place] += sign
            near.append(_number(cost(k, there), "force_cost"))
        by[place] = (near[0] - near[1]) / (2.0 * way)
    return value, by


def _number(given: object, field: str) -> float:
    if isinstance(given, int | float | np.number) and np.isfinite(given):
        return float(given)
    detail = "one with two gradients" if field == "cost" else "one with its gradient"
    raise SimulationConfigError(field, f"must return a finite number, or {detail}, got {given!r}")

"""Derivatives of steps, exact to rounding, with the names of nearby kinks.

The equations of a solved step are differentiated on its linear piece, in the step's memory. Modes of contacts and joint
rows follow from the forces. The right-hand side is minus the derivatives, at fixed forces, of the bias h (by inverse
dynamics) and of the rows at v+. One small system for each island gives the derivatives of forces and velocities.

- Redundant forces keep their selection: the compliance is 1e-9 of the smallest response, extrapolated to zero.
- Points and normals of a pair of shapes are differenced, which is accurate to 1e-10 and shows where features change.
- Parameters need no formulas: impulses and laws of the step are computed in two nearby worlds, at the same state.
- Each condition of the piece is a quantity with a gradient, which gives the distance to the end of the piece. One-sided
  derivatives cross conditions that are zero, by Murty's rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contactlab.derivatives.kernels import ON_KINK
from contactlab.derivatives.linearization import Kink, Linearization, Parameter, parameter
from contactlab.derivatives.linearize import StepLinearizer, linearize
from contactlab.event_driven import EventKink, EventRecording, transition
from contactlab.multibody import integrate
from contactlab.multibody.spatial.arrays import FloatArray, finite_array
from contactlab.naming import module_hooks
from contactlab.simulation.recording import Recording
from contactlab.simulation.world.errors import SimulationConfigError

__all__ = ["Gradient", "Kink", "Linearization", "Parameter", "gradient", "linearize", "parameter"]

#: Number of steps whose derivatives are kept together; of other steps only states are kept.
PORTION = 256
#: Maximum bytes of these derivatives, with at least eight steps.
ROOM = 2**26
#: Stride of differences for a cost without gradient.
STRIDE = 1e-6

#: A term of the cost: function of (number of the state, q, v). It returns a number, or also the gradients by dq and v.
Cost = Callable[[int, FloatArray, FloatArray], float | tuple[float, FloatArray, FloatArray]]
#: Function of (number of the step, forces on bodies B of its contacts (nc, 3) [N]); returns a number, or also a
#: gradient.
ForceCost = Callable[[int, FloatArray], float | tuple[float, FloatArray]]


@dataclass(frozen=True, eq=False)
class Gradient:
    """A cost over n steps, and its gradient.

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
        By name; for event-driven runs arrays, as in `Transition.parameters`.
    kinks
        Steps on a kink, with the closest kink; the piece of each step was used. For event-driven runs the kinks of
        `Transition.kinks`.
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


def gradient(
    recording: Recording | EventRecording,
    cost: Cost,
    *,
    force_cost: ForceCost | None = None,
    at: Sequence[int] | None = None,
    wrt: Sequence[str | Parameter] = (),
) -> Gradient:
    """Return the gradient of a cost over a record, by start, forces, targets and parameters.

    Parameters
    ----------
    recording
        Record of `simulate`, of `Simulation.recording` or of a file. Its steps are made again, with the same bits. Or a
        record of `EventDriven.run`, with the derivatives of `transition`. Then only the final state has a cost, ``wrt``
        are the names of `transition`, and there are no rows of tau and targets.
    cost
        Cost of a state, summed over states: a function of (number of the state, q, v), in plain numpy. If it returns
        only a number, its gradient is computed by differences, with 4 nv calls per state. It can also return the
        gradient: (number, by dq (nv,), by v (nv,)).
    force_cost
        Cost of the contact forces of a step: a function of (number of the step, forces (nc, 3)).
    at
        Numbers of the states with a cost, such as ``(-1,)`` for only the last; default all.
    wrt
        As for `linearize`.

    Returns
    -------
    Gradient
        Includes the steps on a kink: for these the result of `linearize` was used, closed contacts included.

    Raises
    ------
    SimulationConfigError
        The record has external contacts, a cost is not a number, or a step has no derivative, see `linearize`.

    Notes
    -----
    Applied forces and targets are the recorded ones, step by step. The gradient does not contain the effect of
    feedback, or of a wrench with fixed world axes, on another motion.

    It takes three to four times the run. Derivatives are kept for 256 steps at a time, or for fewer steps in 64 MiB.
    They need 8 bytes for each of 256 x 2 nv x (3 nv + drives + parameters) numbers. For all others only states are
    kept.
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
    # Gradient by the present state, and the states whose cost is not yet added.
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
        A, forces, near = _derivatives(linearizer, recording, first, last, keep_forces=force_cost is not None)
        kinks = near + kinks
        for k in range(last - 1, first - 1, -1):
            value += add_state(k + 1)
            by = w @ A[k - first]
            if force_cost is not None:
                more, by_forces = _of_forces(recording, force_cost, k)
                value += more
                by += np.einsum("ij,ijk->k", by_forces, forces[k - first])
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
    """Return the gradient of a cost of the last state of an event-driven run, by the start and by parameters.

    Raise `SimulationConfigError` if forces have a cost, or ``at`` names other states. Gradients by tau and targets are
    empty.
    """
    n, nv = recording.time.size - 1, recording.world.nv
    if force_cost is not None or {_state(i, n) for i in ((0,) if at is None else at)} != {n}:
        raise SimulationConfigError("at", "must be (-1,), and no force may cost: of an event-driven run its end does")
    value, w = _of_state(recording, cost, n)
    # `transition` checks the names.
    found = transition(recording, wrt)  # type: ignore[arg-type]
    by = found.vjp(w)
    parameters = {name: found.vjp(w, name) for name in found.parameters}
    none = np.zeros((0, nv)), np.zeros((0, len(recording.world.joint_actions.drives)))
    return Gradient(value, by[:nv], by[nv:], *none, parameters, found.kinks)


def _state(i: int, n: int) -> int:
    if not -n - 1 <= i <= n:
        raise SimulationConfigError("at", f"names state {i}, the record holds 0 .. {n}")
    return i % (n + 1)


def _derivatives(
    linearizer: StepLinearizer, recording: Recording, first: int, last: int, *, keep_forces: bool
) -> tuple[FloatArray, list[FloatArray], list[tuple[int, Kink]]]:
    """Repeat the steps ``first`` to ``last`` - 1, and differentiate them; raise if a state differs from the record.

    Return the derivatives of the states (steps, 2 nv, columns) by state, forces, targets and parameters, of the contact
    forces of each step if ``keep_forces``, and the kinks.
    """
    rows, nv = recording.rows, recording.world.nv
    taus = rows["tau"] if rows["tau"].shape[0] else np.zeros((recording.n_steps, nv))
    A, forces = np.empty((last - first, 2 * nv, linearizer.differentiator.columns)), list[FloatArray]()
    kinks: list[tuple[int, Kink]] = []
    again: Iterator[tuple[int, int]] = linearizer.steps(
        recording.state(first), taus[first:last], rows["drive_target"][first:last]
    )
    for k, count in again:
        m = linearizer.differentiator.memory
        A[k] = m.A
        if keep_forces:
            forces.append(m.forces[: int(linearizer.driver.control.n_contacts)].copy())
        if count and m.kink_distances[:count, 1].min() <= ON_KINK:
            kinks.append((first + k, linearizer.kinks(count)[0]))
        if not np.array_equal(linearizer.driver.work.q, recording.q[first + k + 1]):
            detail = (
                f"step {first + k} is another when it is made again: of contacts from outside, or another machine's"
            )
            raise SimulationConfigError("recording", detail)
    return A, forces, kinks


def _of_state(recording: Recording | EventRecording, cost: Cost, i: int) -> tuple[float, FloatArray]:
    """Return the cost of state i of the record, and its gradient (2 nv,) by (dq, v), by differences if not given."""
    model, q, v = recording.world.model, recording.q[i], recording.v[i]
    nv = v.size
    given = cost(i, q, v)
    if isinstance(given, tuple) and len(given) == 3:
        value, by_q, by_v = given
        parts = [finite_array(by, "cost", (nv,), SimulationConfigError) for by in (by_q, by_v)]
        return _number(value, "cost"), np.concatenate(parts)

    def near(way: FloatArray) -> float:
        return _number(cost(i, integrate(model, q, way[:nv], 1.0), v + way[nv:]), "cost")

    return _number(given, "cost"), _slopes(near, 2 * nv, STRIDE)


def _of_forces(recording: Recording, cost: ForceCost, k: int) -> tuple[float, FloatArray]:
    """Return the cost of the contact forces of a step, and its gradient (nc, 3)."""
    forces = recording.contacts_at(k).impulse / recording.h[k]
    given = cost(k, forces)
    if isinstance(given, tuple) and len(given) == 2:
        by = finite_array(given[1], "force_cost", forces.shape, SimulationConfigError)
        return _number(given[0], "force_cost"), by

    def near(way: FloatArray) -> float:
        return _number(cost(k, forces + way.reshape(forces.shape)), "force_cost")

    stride = STRIDE * max(1.0, float(np.abs(forces).max(initial=0.0)))
    return _number(given, "force_cost"), _slopes(near, forces.size, stride).reshape(forces.shape)


def _slopes(value: Callable[[FloatArray], float], n: int, stride: float) -> FloatArray:
    """Return the derivatives (n,) of a function at zero, by central differences."""
    return np.array([(value(way) - value(-way)) / (2.0 * stride) for way in stride * np.eye(n)])


def _number(given: object, field: str) -> float:
    """Return a cost as a float; raise `SimulationConfigError`, naming ``field``, for any other or infinite value."""
    if isinstance(given, int | float | np.number) and np.isfinite(given):
        return float(given)
    detail = "one with two gradients" if field == "cost" else "one with its gradient"
    raise SimulationConfigError(field, f"must return a finite number, or {detail}, got {given!r}")


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)

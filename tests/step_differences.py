"""Differences of a time step for many states in one `Batch`, as a reference for derivatives."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from contactlab.multibody import difference, integrate
from contactlab.simulation import Batch, ImplausibleWarning, Simulation, StepperState, TimeStepping, World

Array = np.ndarray


def moved(world: World, state: StepperState, change: Array) -> StepperState:
    """The state with (dq, dv) added, dq along `integrate`; the initial forces of the step stay as they are."""
    nv = world.nv
    q = integrate(world.model, state.q, change[:nv], 1.0) if change[:nv].any() else state.q
    return replace(state, q=q, v=state.v + change[nv:])


class Steps:
    """The map from one state to a later one, at many nearby states.

    Parameters
    ----------
    world, stepper
        Whose step.
    threads
        Of the batch; None for all there are.
    """

    def __init__(self, world: World, stepper: TimeStepping, threads: int | None = None) -> None:
        self.world, self.stepper, self.threads = world, stepper, threads
        self._batches: dict[int, Batch] = {}

    def ends(
        self, states: Sequence[StepperState], taus: Array | None = None, targets: Array | None = None, n: int = 1
    ) -> tuple[Array, Array]:
        """The states after n steps: q (B, nq) and v (B, nv), NaN where a step failed.

        ``taus`` (B, nv) and ``targets`` (B, nd) are the same in all steps; with one more axis, (B, n, ...), each step
        has its own.
        """
        batch = self._batches.setdefault(len(states), Batch(self.world, self.stepper, states, threads=self.threads))
        batch.reset(states=states)
        by_step = (taus is not None and taus.ndim == 3) or (targets is not None and targets.ndim == 3)
        # Notices about runs this close to a checked one are not needed.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImplausibleWarning)
            batch.rollout(taus, targets, n) if by_step else batch.step(taus, targets, n)
        q, v = batch.q.copy(), batch.v.copy()
        q[batch.failed], v[batch.failed] = np.nan, np.nan
        return q, v

    def changes(
        self,
        state: StepperState,
        changes: Array,
        tau: Array | None = None,
        targets: Array | None = None,
        n: int = 1,
    ) -> Array:
        """Changes of the end (k, 2 nv) for changes (k, 2 nv) of the start; the origin is the end of the unchanged run.

        ``tau`` and ``targets`` belong to that run: (nv,) and (nd,), or (n, nv) and (n, nd).
        """
        states = [state, *(moved(self.world, state, change) for change in changes)]
        taus, aims = (None if x is None else np.tile(x, (len(states), *[1] * np.ndim(x))) for x in (tau, targets))
        return self._from_first(*self.ends(states, taus, aims, n))

    def _from_first(self, q: Array, v: Array) -> Array:
        found = np.full((len(q) - 1, 2 * self.world.nv), np.nan)
        good = np.isfinite(v).all(axis=1)
        for i in np.flatnonzero(good[1:]) if good[0] else ():
            found[i] = *difference(self.world.model, q[0], q[i + 1]), *(v[i + 1] - v[0])
        return found

    def sides(
        self,
        state: StepperState,
        directions: Array,
        tau: Array | None = None,
        targets: Array | None = None,
        *,
        step: float = 1e-6,
        n: int = 1,
    ) -> tuple[Array, Array]:
        """Return one-sided differences (k, 2 nv) along directions (k, 2 nv): forward, and backward."""
        found = self.changes(state, np.vstack((step * directions, -step * directions)), tau, targets, n)
        ahead, behind = np.split(found / step, 2)
        return ahead, -behind

    def by_controls(
        self, state: StepperState, tau: Array | None = None, targets: Array | None = None, *, step: float = 1e-5
    ) -> tuple[Array, Array]:
        """Centred differences of one step by tau, (2 nv, nv), and by the targets of drives, (2 nv, nd)."""
        nv, drives = self.world.nv, self.world.joint_actions.drives
        base = np.zeros(nv) if tau is None else np.asarray(tau, float)
        aims = np.array([drive.target for drive in drives]) if targets is None else np.asarray(targets, float)
        ways = np.vstack((np.zeros(nv + aims.size), np.eye(nv + aims.size), -np.eye(nv + aims.size))) * step
        q, v = self.ends([state] * len(ways), base + ways[:, :nv], aims + ways[:, nv:])
        ahead, behind = np.split(self._from_first(q, v), 2)
        found = ((ahead - behind) / (2.0 * step)).T
        return found[:, :nv], found[:, nv:]


@dataclass(frozen=True)
class Kink:
    """Where the pieces of a step meet, near a state."""

    reason: str
    distance: float
    contact: int | None = None
    row: int | None = None


@dataclass(frozen=True)
class Differenced:
    """The contents of `contactlab.derivatives.Linearization`, by differences of the step."""

    A: Array
    B: Array
    targets: Array
    unique: bool
    kinks: tuple[Kink, ...]
    next: StepperState


def linearized(
    steps: Steps, state: StepperState, tau: Array | None = None, targets: Array | None = None, *, step: float = 2e-6
) -> Differenced:
    """Linearize a step by its differences; unique if both sides agree, to 1e-4 of a column."""
    ahead, behind = steps.sides(state, np.eye(2 * steps.world.nv), tau, targets, step=step)
    middle = 0.5 * (ahead + behind)
    off = np.abs(ahead - behind).max(axis=1) > 1e-4 * np.maximum(1.0, np.abs(middle).max(axis=1))
    kinks = tuple(Kink(f"both sides differ in column {j}", 0.0, row=int(j)) for j in np.flatnonzero(off))
    B, by_targets = steps.by_controls(state, tau, targets)
    run = Simulation(steps.world, steps.stepper, state)
    run.step(tau, targets=targets)
    return Differenced(middle.T, B, by_targets, not kinks, kinks, run.state)

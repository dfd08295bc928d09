"""The worlds that the runs of a batch step: of one layout, so that one memory serves all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from contactlab.simulation.watching import Watch
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.stepping.prepared import Prepared, differing_layout, prepare
from contactlab.stepping.time_stepping import TimeStepping, check_run
from contactlab.stepping.wrenches import Wrench, applied_by
from contactlab.world.errors import SimulationConfigError
from contactlab.world.state import StepperState
from contactlab.world.world import World


class BatchWorlds:
    """Which world each of B runs steps.

    Attributes
    ----------
    first, of_run
        The first world, whose layout all have; that of each run.
    watches
        What watches runs of each world, before it has found anything.
    targets
        (B, nd) what the drives of each run aim at where nothing is told.
    """

    def __init__(self, worlds: Sequence[World], stepper: TimeStepping, runs: int | None) -> None:
        """One world for each of so many runs (None: as many as there are worlds), or one for all."""
        if not worlds:
            raise SimulationConfigError("worlds", "must be a world, or one for each run, got none")
        different = list(dict.fromkeys(worlds))
        for world in different:
            check_run(world, stepper)
        if runs is not None and len(worlds) not in (1, runs):
            raise SimulationConfigError("worlds", f"must be one, or one for each of {runs} states, got {len(worlds)}")
        given = list(worlds) if runs is None or len(worlds) == runs else list(worlds) * runs
        known = {world: prepare(world, stepper) for world in different}
        self.first = known[different[0]]
        for world, prepared in known.items():
            differs = "" if prepared is self.first else differing_layout(self.first, prepared)
            if differs:
                detail = f"has other {differs} than worlds[0]: one batch does not hold both"
                raise SimulationConfigError(f"worlds[{given.index(world)}]", detail)
        self.of_run = [known[world] for world in given]
        self.watches: dict[Prepared, Watch] = {known[world]: Watch(world, stepper) for world in different}
        self.targets = np.zeros((len(given), len(self.first.world.joint_actions.drives)))
        for i, world in enumerate(given):
            self.targets[i] = [drive.target for drive in world.joint_actions.drives]
        self._number = np.array([different.index(world) for world in given], dtype=np.int64)
        self._different = different

    def parts(self, runs: IntArray) -> Iterator[tuple[World, IntArray]]:
        """Yield each world and the places in ``runs`` of those that step it."""
        numbers = self._number[runs]
        for number in np.unique(numbers):
            yield self._different[number], np.flatnonzero(numbers == number)

    def applied_by(self, q: FloatArray, wrenches: Mapping[str, Wrench]) -> FloatArray:
        """Generalized forces (B, nv) of wrenches, by body, at the configurations q (B, nq) of all runs."""
        found = np.empty((q.shape[0], self.first.world.nv))
        for world, own in self.parts(np.arange(q.shape[0])):
            of_them = {name: wrench.of_runs(own) for name, wrench in wrenches.items()}
            found[own] = applied_by(world.model, q[own], of_them)
        return found

    @property
    def given(self) -> World | tuple[World, ...]:
        """The world, or that of each run where they differ."""
        return self._different[0] if len(self._different) == 1 else tuple(one.world for one in self.of_run)


def states_of(given: Any) -> list[StepperState]:
    """States as a list; what is no sequence is refused."""
    if isinstance(given, Sequence):
        return list(given)
    detail = f"must be a sequence of B states, got {type(given).__name__}: `[world.initial_state()] * B` makes one"
    raise SimulationConfigError("states", detail)

"""Notices of doubts that certificates do not cover, in runs without a record: the first of each kind."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording import notices
from contactlab.simulation.recording.recording import Recording
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.record_schema import row_lengths, rows_of_chunks, start_rows
from contactlab.simulation.stepping.time_stepping import TimeStepping
from contactlab.simulation.world.motion import Conveyor
from contactlab.simulation.world.world import StepperState, World


class NoticeMonitor:
    """Monitor of one run: `notices` are those found so far."""

    def __init__(self, world: World, stepper: TimeStepping) -> None:
        self._world, self._stepper, self._name = world, stepper, notices.NAMED
        materials = (*(surface.material for surface in world.surfaces), *world.half_space_materials)
        self._rebounds = any(material.restitution != 0.0 for material in materials)
        #: Whether a step can gain energy: by an impact, or by a moving kinematic body.
        self.bounces = self._rebounds or any(not isinstance(motion, Conveyor) for _, motion in world.motions)
        self._least_jam = notices.least_jam(world, stepper.h)
        self._least = notices.penetration_threshold(world)
        self._stops = notices.rigid_stops(world, stepper)
        self._rounding = notices.roundings(world, self._stops)
        self._begun = 0.0
        self.notices: tuple[notices.Notice, ...] = ()

    def copy_empty(self, name: notices.Named = notices.NAMED) -> NoticeMonitor:
        """Return a monitor without notices, in which ``name`` gives the names of steps."""
        other = copy.copy(self)
        other._name, other._begun, other.notices = name, 0.0, ()
        return other

    def add_new(self, found: Iterable[notices.Notice]) -> tuple[notices.Notice, ...]:
        """Store the first notice of each kind; return the new ones."""
        new = notices.new_kinds(found, self.notices)
        self.notices += new
        return new

    def energy_of(self, state: StepperState) -> tuple[float, float]:
        """Return kinetic and potential energy [J] of the initial state; infinite if no check needs them."""
        if not self.bounces:
            return np.inf, np.inf
        rows = start_rows(self._world, state, row_lengths(self._world, self._stepper))
        return float(rows["kinetic"][0]), float(rows["potential"][0])

    def is_due(self, driver: Driver, q: FloatArray, energy: Iterable[float], *, look: bool, begins: bool) -> bool:
        """Return True if the steps in the driver's rows may give a notice, apart from unsolved islands.

        ``look``: contacts are inspected. ``begins``: the first step is the world's first. q (nq,) and the kinetic and
        potential ``energy`` [J] are from before these steps.
        """
        gaps = driver.chunk.contact["gap"][: driver.contact_rows]
        if look and gaps.size and gaps.min() < self._least:
            return True
        if begins and self._stops and np.any(notices.limit_violation(self._stops, q[None]) > self._rounding):
            return True
        if not self.bounces:
            return False
        count = int(driver.control.chunk_steps)
        energies = [
            np.append(first, getattr(driver.chunk, name)[:count]) for first, name in zip(energy, _ENERGIES, strict=True)
        ]
        rise, allowed = np.diff(sum(energies)), notices.GAIN * energies[0][:-1]
        return bool(np.any((rise > allowed) & (self._rebounds | (rise > self._least_jam))))

    def inspect(self, driver: Driver, q: FloatArray, v: FloatArray) -> tuple[notices.Notice, ...]:
        """Return the new notices of the steps in the driver's rows, which begin at q and v; none about motion."""
        first, rows, chunk = driver.step - int(driver.control.chunk_steps), driver.copied(), driver.chunk
        named = rows_of_chunks([rows])
        named |= {f"{table}_step": named[f"{table}_step"] - first for table in ("contact", "joint", "island")}
        h = float(chunk.h[0])
        start = StepperState(q=q, v=v, time=float(chunk.time[0]) - h, h=h)
        recording = Recording.of_run(self._world, self._stepper, start, [named])
        found = list(
            notices.step_notices(recording, lambda: recording.ledger, lambda i: self._name(first + i), self._begun)
        )
        self._begun = max([self._begun, *(notice.worst for notice in found if notice.kind == "overlap")])
        return self.add_new(replace(notice, step=notice.step + first) for notice in found)


_ENERGIES = ("kinetic", "potential")

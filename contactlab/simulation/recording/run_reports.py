"""Reports from a run in progress: the error of a failed step, with its files; and notices of runs without a record."""

from __future__ import annotations

import copy
import functools
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

import lcp
import problem_data
from contactlab.constraint_solver.certificate import Check
from contactlab.constraint_solver.solution import advice_on
from contactlab.constraint_solver.strategy_solver import MAX_SECONDS
from contactlab.multibody import MultibodyError, kinematics, point_velocity_6d
from contactlab.multibody.arguments import singular_joint
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.recording import Recording, notices
from contactlab.simulation.recording.notices import deep_contact_text, moving_as_prescribed, pressed_by
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.island_view import ViewedContact
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.memory import OutOfMemoryError
from contactlab.simulation.stepping.prepared import world_arrays
from contactlab.simulation.stepping.record_schema import row_lengths, rows_of_chunks, start_rows
from contactlab.simulation.world.motion import Conveyor
from contactlab.simulation.world.world import StepperState, World

# Failures in which a diverging motion ends.
_OF_SPEED = (layout.FAILURE_NOT_FINITE, layout.FAILURE_LARGE, layout.FAILURE_SPACE)

_STRICTER = (
    "That is enough for `lcp.solve`; a step asks for `lcp.residuals(problem, z).scaled` within its tolerance as well: "
    "let the solver go on until it is."
)


class SimulationError(RuntimeError):
    """A run that had to stop. ``recording`` has every step before.

    Attributes
    ----------
    problem
        The island's problem data, or None if no problem was formed (a velocity out of range).
    problem_path
        The file with the problem, for `problem_data.load`, or None.
    step, time
        The step that failed, counted from 0 in this run, and the time at its start [s].
    h
        The step size of ``problem`` [s]; for an adaptive stepper the last one tried.
    result
        The solver's result, or None without a problem.
    recording
        The record up to the start of the failed step.
    contacts, joint_errors
        The contacts of the island, and the errors of its joint rows by number [rad or m]; empty without a problem.
    """

    def __init__(
        self,
        message: str,
        *,
        step: int,
        time: float,
        h: float,
        problem: problem_data.ConstraintVelProblemData | None,
        problem_path: Path | None,
        result: lcp.Result | lcp.FrictionResult | None,
        recording: Recording,
        contacts: tuple[ViewedContact, ...] = (),
        joint_errors: Mapping[int, float] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.step, self.time, self.h, self.recording = step, time, h, recording
        self.contacts, self.joint_errors = contacts, dict(joint_errors)
        self.problem, self.problem_path, self.result = problem, problem_path, result

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword arguments need this to be pickled between processes.
        fields = ("step", "time", "h", "problem", "problem_path", "result", "recording", "contacts", "joint_errors")
        return functools.partial(SimulationError, str(self), **{name: getattr(self, name) for name in fields}), ()


def simulation_error(driver: Driver, recording: Recording, *, path: Path | None = None) -> SimulationError:
    """Return an error that describes the failed step of ``driver``, and save its problem.

    Parameters
    ----------
    driver
        A driver whose loop returned FAILED.
    recording
        The record up to the failed step.
    path
        The record's file: the problem is saved next to it as ``<stem>_failed_step<i>.npz``. None: in the folder for
        temporary files.
    """
    world, stepper = recording.world, recording.stepper
    step, failure = driver.step, driver.control.failure
    limit = f", the last that h_min = {stepper.smallest_h:.6g} s allows" if stepper.adaptive else ""
    problem, result, saved = None, None, None
    contacts: tuple[ViewedContact, ...] = ()
    errors: dict[int, float] = {}
    speed = _speed(driver, world, always=failure in _OF_SPEED)
    if failure == layout.FAILURE_NOT_FINITE:
        detail = "the motion is no longer finite. Look at the applied forces and the last states of the record."
    elif failure == layout.FAILURE_SPACE:
        control = driver.control
        count = control.wanted if control.short == layout.SHORT_OF_CONTACTS else control.n_contacts
        detail = f"memory does not suffice for a step with {count} contacts{_amounts(driver.no_room)}."
    elif failure == layout.FAILURE_SINGULAR:
        detail = singular_joint(world.model, int(driver.control.wanted)).detail
    else:
        view = driver.view()
        members = np.flatnonzero(np.isin(world.body_trees, view.trees()))
        names = ", ".join(world.model.names[int(b)] for b in members[:5]) + (", ..." if members.size > 5 else "")
        island = f"island {view.number} ({names}"
        problem = view.problem()
        saved, note = _save(problem, step, path)
        from lcp.contacts.kernels.island_acceptance import BEST_RESIDUAL

        contacts, errors = tuple(view.contacts()), view.joint_errors()
        movers = moving_as_prescribed(world, (body for one in contacts for body in (one.body_a, one.body_b)))
        note = f"{deep_contact_text(world, contacts, step)}{pressed_by(movers) + '. ' if movers else ''}{note}"
        if failure == layout.FAILURE_LARGE:
            detail = (
                f"no forces were selected in {island}; {problem!r}), and its LCP of {driver.progress.n} unknowns is "
                "too large for a pivoting method to answer soon. Try a smaller h, adaptive=True or fewer edges; a "
                f"solver that is named is asked whatever the size. {note}"
            )
        elif failure == layout.FAILURE_INCONSISTENT:
            result = view.solve().result
            labels = [world.joint_rows[number].label for number in view.contradictions()]
            listed = ", ".join(repr(label) for label in labels[:6]) + (", ..." if len(labels) > 6 else "")
            detail = (
                f"the bilateral equations of {island}; {problem!r}), of loops, followers and drives that nothing "
                f"stops, contradict one another: {listed} do not agree, by more than errors of assembly explain. "
                "Remove or correct one of them, give a drive a largest force, or let loops give way with cfm. "
                f"{note}"
            )
        elif driver.progress.strategies_tried == layout.ALL_TRIED:
            off = float(driver.island.state[BEST_RESIDUAL])
            detail = (
                f"none of the attempts at {island}; {problem!r}) led to forces that solve it: the best are off by "
                f"{off:.1e} of its scale. Try a smaller h or adaptive=True; a solver that is named is asked "
                f"whatever the size.{_uncertified_rejection(driver, stepper)} {note}"
            )
        else:
            result = driver.last_result if driver.last_result is not None else view.solve().result
            detail = (
                f"the contact problem of {island}; {problem!r}) was not solved. {result.describe()} "
                f"{_stricter(driver) if result.solved else advice_on(result, problem)}"
                f"{_limit_advice(stepper, result)}"
                f"{_uncertified_rejection(driver, stepper)} {note}"
            )
    return SimulationError(
        f"step {step} (time {driver.time:.9g} s, h = {driver.h:.6g} s{limit}): {detail}{speed}",
        step=step,
        time=driver.time,
        h=driver.h,
        problem=problem,
        problem_path=saved,
        result=result,
        recording=recording,
        contacts=contacts,
        joint_errors=errors,
    )


def _amounts(error: MemoryError | None) -> str:
    if not isinstance(error, OutOfMemoryError):
        return ""
    return f", which needs {error.wanted / 2**30:.3g} GiB ({error.there / 2**30:.3g} GiB available)"


def _speed(driver: Driver, world: World, *, always: bool) -> str:
    """Return sentences about the fastest body, if its speed caused most contacts, or ``always``.

    Distant contacts are the ones that may close at the present speeds within h: a diverging motion has more and more.
    """
    work, parameters = driver.work, driver.parameters
    gaps = work.contact_float[: int(driver.control.n_contacts), layout.GAP]
    distant = int(np.count_nonzero(gaps > parameters.margin))
    if not always and 2 * distant <= gaps.size:
        return ""
    names, packed = world.model.names, world_arrays(world).packed
    try:
        motion = kinematics(world.model, work.q, work.v)
        twists = np.array([point_velocity_6d(world.model, motion, None, name, np.zeros(3)) for name in names])
    except MultibodyError:
        return ""
    if not twists.size or not np.isfinite(twists).all():
        return ""
    # Largest distance of a body's surface from its origin.
    reach = np.zeros(len(names))
    owners = np.repeat(np.arange(len(names)), np.diff(packed.point_start))
    np.maximum.at(reach, owners, np.linalg.norm(packed.points, axis=1) + packed.radii)
    with np.errstate(over="ignore"):
        spins, origins = (
            np.hypot(np.hypot(part[:, 0], part[:, 1]), part[:, 2]) for part in np.split(twists, 2, axis=1)
        )
        speeds = origins + reach * spins
    fastest, h = int(speeds.argmax()), driver.h
    seen = f"; {distant} of {gaps.size} contacts are at a distance, met for their speed alone" if distant else ""
    return (
        f" The fastest body, '{names[fastest]}', moves at {speeds[fastest]:.3g} m/s, {speeds[fastest] * h:.3g} m in "
        f"one step of h = {h:.3g} s{seen}. If that is not meant the motion diverges: lower h, or the stiffness and "
        "damping of the forces applied (drives, which are implicit, are stable at any)."
    )


def _limit_advice(stepper: TimeStepping, result: lcp.Result | lcp.FrictionResult) -> str:
    """Return advice for default solvers that reached their limit of time or pivots."""
    if stepper.solver is not None or result.status.name != "ITERATION_LIMIT":
        return ""
    return (
        f" The default gives an island {MAX_SECONDS:g} CPU seconds; a named solver has its own limits. "
        "A smaller h, compliant contacts (Material.stiffness, cfm) and smaller penetrations make it easier."
    )


def _stricter(driver: Driver) -> str:
    """Return sentences for a solver that reports success in a step that failed: the step's condition is stricter."""
    law = _law_residual(driver)
    if law is None:
        return _STRICTER
    return (
        f"A step asks for more: the residual of the law that it states is {law:.2g}, see "
        "`contactlab.constraint_solver.friction_backend`. Ask the code for more digits, or `tolerance` for fewer."
    )


def _law_residual(driver: Driver) -> float | None:
    """Return the residual of a friction backend's own law; None without a backend."""
    from lcp.kernels.residuals import SCALED

    asked = driver.parameters.backend and driver.progress.nc
    return float(driver.island.residuals[SCALED]) if asked else None


def _uncertified_rejection(driver: Driver, stepper: TimeStepping) -> str:
    """Return the reason why the best forces were rejected, for a run that accepts uncertified forces."""
    if not stepper.accepts_uncertified:
        return ""
    conditions = np.reshape(driver.island.certificate, (-1, 2))
    worst = max(0.0, *(Check(violation, scale).scaled for violation, scale in conditions.tolist()))
    law = _law_residual(driver)
    worst = worst if law is None else law
    if worst <= layout.UNCERTIFIED_TOLERANCE:
        return " The best forces found make energy, so that they were not taken."
    taken = layout.UNCERTIFIED_TOLERANCE
    return f" The best forces found violate a condition by {worst:.2g} of its scale; at most {taken:g} is accepted."


def _save(problem: problem_data.ConstraintVelProblemData, step: int, path: Path | None) -> tuple[Path | None, str]:
    """Save the problem of a failed step; return the file, and a sentence for the error's message.

    The file is next to the record at ``path``, or a temporary one if there is no record. If the disk fails, no error is
    raised, because it would hide the failed step: the file is None, and the sentence gives the reason.
    """
    made = None
    try:
        if path is None:
            handle, name = tempfile.mkstemp(prefix=f"contactlab_failed_step{step}_", suffix=".npz")
            os.close(handle)
            target = made = Path(name)
        else:
            target = path.with_name(f"{path.stem}_failed_step{step}.npz")
        problem_data.save(target, problem)
    except OSError as error:
        if made is not None:
            made.unlink(missing_ok=True)  # empty
        return None, f"The problem could not be saved ({error}); it is this error's `problem`."
    return target, f"The problem is in {target} (problem_data.load)."


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

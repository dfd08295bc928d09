"""What can be said of a step that failed, from the files that the run left."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import lcp
import problem_data
from contactlab.formulation.cone import form_cone_problem
from contactlab.formulation.discretized import form_discretized_lcp
from contactlab.multibody.model import WORLD
from contactlab.recording.errors import RecordError
from contactlab.recording.failure import SimulationError
from contactlab.recording.recording import Recording
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping import EXTERNAL_ID
from contactlab.stepping.driver import Driver
from contactlab.stepping.island_view import IslandView
from contactlab.stepping.time_stepping import TimeStepping
from contactlab.world.world import World
from problem_data import ConstraintVelProblemData, ProblemDataError

__all__ = ["ContactLine", "Explanation", "JointLine", "explain_failure"]

_DUMP = re.compile(r"(?P<stem>.+)_failed_step(?P<step>\d+)\.npz")


@dataclass(frozen=True)
class ContactLine:
    """One contact of a failed problem: whom it touches, where [m], how far apart [m], and its friction."""

    body: str
    other: str
    point: tuple[float, float, float]
    gap: float
    mu: float


@dataclass(frozen=True)
class JointLine:
    """One row of a joint or loop in a failed problem: what it is, and how far off or away [rad or m]."""

    label: str
    error: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """A failed step.

    Attributes
    ----------
    record, step, time
        The run's record, the step and its start [s]; None where only the problem is left.
    h
        Step size of the problem [s]; None where neither record nor caller says it.
    reason
        One sentence or more.
    problem, result
        The contact problem and the answer of the solver, asked again; None where none was formed.
    contacts, joints
        Its contacts and its rows of joints and loops, where the record tells.
    rank_normal, rank
        Ranks of the normal rows and of all rows.
    condition
        Largest over smallest positive eigenvalue of N M^-1 N^T; 1 without contacts.
    solved
        Whether this time the problem, or the step, was solved.
    advice
        What to try.
    environment
        The stamp of the record, empty without one.
    """

    record: Path | None
    step: int | None
    time: float | None
    h: float | None
    reason: str
    problem: ConstraintVelProblemData | None
    result: lcp.Result | lcp.FrictionResult | None
    contacts: tuple[ContactLine, ...]
    rank_normal: int
    rank: int
    condition: float
    solved: bool
    advice: tuple[str, ...]
    joints: tuple[JointLine, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def explain_failure(path: str | os.PathLike[str], *, h: float | None = None) -> Explanation:
    """Explain a dumped problem, or the step at which a record ends.

    Parameters
    ----------
    path
        ``<stem>_failed_step<i>.npz`` as a failed run leaves it, any other file of `problem_data.save`, or the record of
        the run. The record is looked for beside the problem, and tells step, time and contacts.
    h
        Step size [s] of a problem without a record; 1 ms where not given.

    Raises
    ------
    RecordError, ProblemDataError
        A file that cannot be read.
    """
    path = Path(path)
    named = _DUMP.fullmatch(path.name)
    if named is not None or not _is_record(path):
        loaded = problem_data.load(path)
        if not isinstance(loaded, ConstraintVelProblemData):
            raise ProblemDataError("format", f"{path} holds a problem of accelerations, no step of a simulation")
        record = None if named is None else path.with_name(named["stem"] + ".npz")
        recording = None if record is None else _opened(record)
        if recording is not None and named is not None and recording.n_steps == int(named["step"]):
            return replace(_of_record(recording, record, loaded), environment=recording.environment)
        step = None if named is None else int(named["step"])
        return _of_problem(loaded, None, step, None, 1e-3 if h is None else h, lcp.default_solver())
    recording = Recording.open(path)
    return replace(_of_record(recording, path, None), environment=recording.environment)


def _is_record(path: Path) -> bool:
    """Whether a path is that of a record: chunks, a run that was stopped, or a file with a description."""
    if path.is_dir() or path.with_name(path.name + ".chunks").is_dir():
        return True
    try:
        with np.load(path, allow_pickle=False) as archive:
            return "meta" in archive.files
    except (OSError, ValueError, EOFError):
        # `problem_data.load` says what is wrong with it.
        return False


def _opened(record: Path) -> Recording | None:
    try:
        return Recording.open(record)
    except RecordError:
        return None


def _of_record(recording: Recording, record: Path | None, dumped: ConstraintVelProblemData | None) -> Explanation:
    """Take the step again that the record does not have."""
    stepper, step = recording.stepper, recording.n_steps
    state = recording.state(step)
    taus = recording.rows["tau"]
    # What was applied in the failed step is not on record; the force before it is the nearest thing to it.
    tau = taus[-1] if taus.shape[0] else None
    targets = np.array(recording.rows["drive_target"][-1]) if step else None
    try:
        stepper.step(recording.world, state, tau, targets=targets)
    except SimulationError as error:
        if error.problem_path is not None:
            # The attempt leaves a file of its own, of what is explained here.
            error.problem_path.unlink(missing_ok=True)
        problem = error.problem if dumped is None else dumped
        if error.problem is None or error.result is None or problem is None:
            advice = ("Look at the applied forces and at the last states of the record.",)
            return Explanation(record, step, state.time, error.h, str(error), None, None, (), 0, 0, 1.0, False, advice)
        view = _island_of(recording, error.h, tau, targets, problem)
        world = recording.world
        contacts, joints = ((), ()) if view is None else (_contacts(world, view), _joints(world, view))
        found = _explanation(problem, record, step, state.time, error.h, error.result, contacts, stepper)
        if error.result.solved:
            # The unilateral part has a solution: it is the equations that have none.
            advice = ("Let loops give way (cfm), bound the force of drives, or look at the positions of the loops.",)
            found = replace(found, reason=str(error), solved=False, advice=advice)
        return replace(found, joints=joints)
    if dumped is not None:
        return _of_problem(dumped, record, step, state.time, stepper.h, stepper.lcp_solver, stepper.friction)
    reason = "The step after the record's last state is solved: the run ended, or was stopped from outside."
    if np.any(recording.rows["contact_id"] >= EXTERNAL_ID):
        reason += " Contacts from outside the loop, which the run had, were not there this time."
    return Explanation(record, step, state.time, stepper.h, reason, None, None, (), 0, 0, 1.0, True, ())


def _of_problem(
    problem: ConstraintVelProblemData,
    record: Path | None,
    step: int | None,
    time: float | None,
    h: float,
    solver: Any,
    friction: str = "pyramid",
) -> Explanation:
    """Solve a problem again."""
    formed = form_discretized_lcp(problem, h)
    contact_problem: Any = form_cone_problem(formed).problem if friction == "cone" else lcp.LCP(formed.MM, formed.qq)
    result = lcp.solve(contact_problem, solver)
    return _explanation(problem, record, step, time, h, result, (), None)


def _explanation(
    problem: ConstraintVelProblemData,
    record: Path | None,
    step: int | None,
    time: float | None,
    h: float,
    result: lcp.Result | lcp.FrictionResult,
    contacts: tuple[ContactLine, ...],
    stepper: TimeStepping | None,
) -> Explanation:
    blocks = problem.blocks()
    N, J = blocks.J[: blocks.nc], blocks.J
    condition = _condition(N @ blocks.Y[: blocks.nc].T)
    rank_normal, rank = (int(np.linalg.matrix_rank(A)) if A.size else 0 for A in (N, J))
    advice = [] if result.solved else [result.status.advice]
    if rank_normal < blocks.nc:
        advice.append(
            f"{blocks.nc - rank_normal} of {blocks.nc} normal rows follow from others: forces are not unique."
        )
    if condition > 1e10:
        advice.append("Masses or lever arms differ by many powers of ten: lcp.ExtendedLemke computes with 32 digits.")
    if stepper is not None and not stepper.adaptive:
        advice.append("adaptive = True tries such a step again with a smaller h.")
    reason = f"{'Solved now' if result.solved else 'The contact problem was not solved'}: {result.describe()}"
    return Explanation(
        record,
        step,
        time,
        h,
        reason,
        problem,
        result,
        contacts,
        rank_normal,
        rank,
        condition,
        result.solved,
        tuple(advice),
    )


def _condition(A: FloatArray) -> float:
    values = np.linalg.eigvalsh(A) if A.size else np.ones(1)
    positive = values[values > 1e-13 * max(values[-1], 0.0)]
    return float(positive[-1] / positive[0]) if positive.size else 1.0


def _other(world: World, body: int, half_space: int) -> str:
    """Return the name of what a body touches; "world" where a contact from outside the loop says no more."""
    if half_space >= 0:
        return world.half_space_names[half_space]
    return world.model.names[body] if body >= 0 else WORLD


def _island_of(
    recording: Recording,
    h: float,
    tau: FloatArray | None,
    targets: FloatArray | None,
    problem: ConstraintVelProblemData,
) -> IslandView | None:
    """Return the island, formed again from the record's last state, whose problem this is."""
    world, state = recording.world, recording.state(recording.n_steps)
    wanted = problem.blocks().J
    island = 0
    while True:
        driver = Driver(world, recording.stepper, state, steps=1, h=h, tau=tau, targets=targets, external=True)
        try:
            view = driver.form(island)
        except IndexError:
            return None
        if np.array_equal(view.problem().blocks().J, wanted):
            return view
        island += 1


def _joints(world: World, view: IslandView) -> tuple[JointLine, ...]:
    """Return the rows of joints of an island."""
    return tuple(JointLine(world.joint_rows[row].label, error) for row, error in view.joint_errors().items())


def _contacts(world: World, view: IslandView) -> tuple[ContactLine, ...]:
    """Return the contacts of an island."""
    lines = []
    for contact in view.contacts():
        x, y, z = contact.point.tolist()
        body, other = world.model.names[contact.body_b], _other(world, contact.body_a, contact.half_space)
        lines.append(ContactLine(body, other, (x, y, z), contact.gap, contact.mu))
    return tuple(lines)

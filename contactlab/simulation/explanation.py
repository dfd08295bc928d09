"""The explanation of a step that failed, from the files that the run left."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import lcp
import problem_data
from contactlab.constraint_solver.discretized import form_cone_problem, form_discretized_lcp
from contactlab.constraint_solver.friction_backend import FrictionBackend
from contactlab.constraint_solver.solution import advice_on
from contactlab.simulation import single_step
from contactlab.simulation.recording import Recording
from contactlab.simulation.recording.record import RecordError
from contactlab.simulation.recording.run_reports import SimulationError
from contactlab.simulation.recording.storage import META
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import EXTERNAL_ID
from contactlab.simulation.stepping.island_view import ViewedContact
from contactlab.simulation.world.world import World
from problem_data import ConstraintVelProblemData
from problem_data.files import NpzFile
from problem_data.validation import ProblemFileError

_DUMP = re.compile(r"(?P<stem>.+)_failed_step(?P<step>\d+)\.npz")


@dataclass(frozen=True, eq=False)
class Explanation:
    """A failed step."""

    # The step and its start [s]; None if there is only the problem.
    step: int | None
    time: float | None
    h: float  # step size of the problem [s]
    reason: str  # one sentence or more
    # The contact problem and the solver's new result; None if no problem was formed.
    problem: ConstraintVelProblemData | None = None
    result: lcp.Result | lcp.FrictionResult | None = None
    # A line of text for each of its contacts, and for each row of joints and loops, if there is a record.
    contacts: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    # Ranks of the normal rows and of all rows.
    rank_normal: int = 0
    rank: int = 0
    condition: float = 1.0  # largest over smallest positive eigenvalue of N M^-1 N^T; 1 without contacts
    solved: bool = False  # whether the problem, or the step, was solved this time
    advice: tuple[str, ...] = ()  # the advice
    environment: Mapping[str, str] = field(default_factory=dict)  # the stamp of the record, empty without one


def explain_failure(path: str | os.PathLike[str], *, h: float | None = None) -> Explanation:
    """Explain a saved problem, or the failed step at the end of a record.

    The file is ``<stem>_failed_step<i>.npz`` of a failed run, any other file of `problem_data.save`, or the record of
    the run. The record is searched next to the problem. Without a record, ``h`` [s] is 1 ms by default. An unreadable
    file raises an error.
    """
    path = Path(path)
    named = _DUMP.fullmatch(path.name)
    if named is None and _is_record(path):
        return _of_record(Recording.open(path), None)
    loaded = problem_data.load(path)
    if not isinstance(loaded, ConstraintVelProblemData):
        raise ProblemFileError("format", f"{path} holds a problem of accelerations, no step of a simulation")
    step, recording = None, None
    if named is not None:
        step = int(named["step"])
        with contextlib.suppress(RecordError):
            recording = Recording.open(path.with_name(named["stem"] + ".npz"))
        if recording is not None and recording.n_steps == step:
            return _of_record(recording, loaded)
    solver: Any = lcp.default_friction_solver() if loaded.friction == "cone" else lcp.default_solver()
    return _solved_again(Explanation(step, None, 1e-3 if h is None else h, ""), loaded, solver)


def _is_record(path: Path) -> bool:
    """Return True if the path is a record: chunks, a run that was stopped, or a file with a description."""
    if path.is_dir() or path.with_name(path.name + ".chunks").is_dir():
        return True
    # Of a damaged file `problem_data.load` raises the error.
    with contextlib.suppress(RecordError):
        return path.is_file() and META in NpzFile(path, RecordError).members
    return False


def _of_record(recording: Recording, dumped: ConstraintVelProblemData | None) -> Explanation:
    """Explain the end of a run: repeat the step after the last recorded state, and describe its failure, if it fails.

    If it does not, ``dumped``, a saved problem of this step, is solved again.
    """
    # A step accepted without a certificate would explain nothing.
    stepper = replace(recording.stepper, on_unsolved="raise")
    world, step = recording.world, recording.n_steps
    state = recording.state(step)
    base = Explanation(step, state.time, stepper.h, "", environment=recording.environment)
    taus = recording.rows["tau"]
    # The force applied in the failed step is not recorded; the force of the previous step is the closest known one.
    tau = taus[-1] if taus.shape[0] else None
    targets = np.array(recording.rows["drive_target"][-1]) if step else None
    try:
        single_step.step(world, stepper, state, tau, targets=targets)
    except SimulationError as error:
        if error.problem_path is not None:
            # The repetition saves the same problem in another file.
            error.problem_path.unlink(missing_ok=True)
        base = replace(base, h=error.h, reason=str(error))
        problem = error.problem if dumped is None else dumped
        if error.problem is None or error.result is None or problem is None:
            return replace(base, advice=("Look at the applied forces and at the last states of the record.",))
        found = _explained(base, problem, error.result, stepper)
        if error.result.solved:
            # The unilateral part has a solution: the equations have none.
            advice = ("Give loops a compliance (cfm), bound the force of drives, or check the positions of the loops.",)
            found = replace(found, reason=str(error), solved=False, advice=advice)
        if not np.array_equal(error.problem.blocks().J, problem.blocks().J):
            # The repetition failed in another island than the saved one.
            return found
        return replace(
            found,
            contacts=tuple(_contact_line(world, contact) for contact in error.contacts),
            joints=tuple(
                f"joint: {world.joint_rows[row].label}, off by or away from it {off:.3e} rad or m"
                for row, off in error.joint_errors.items()
            ),
        )
    if dumped is not None:
        solver = stepper.solver if stepper.asks_backend else stepper.lcp_solver
        # Files of older versions do not contain the friction law.
        return _solved_again(base, dumped.with_friction(stepper.friction), solver)
    reason = "The step after the record's last state is solved: the run ended, or was stopped from outside."
    if np.any(recording.rows["contact_id"] >= EXTERNAL_ID):
        reason += " Contacts from outside the loop, which the run had, were not there this time."
    return replace(base, reason=reason, solved=True)


def _solved_again(base: Explanation, problem: ConstraintVelProblemData, solver: Any) -> Explanation:
    """Solve a stored problem again, with its friction law, and return ``base`` with the result added."""
    formed = form_discretized_lcp(problem, base.h)
    if isinstance(solver, FrictionBackend):
        return _explained(base, problem, solver.solve_contacts(formed).result)
    contact_problem: Any = form_cone_problem(formed).problem if problem.friction == "cone" else formed.problem
    return _explained(base, problem, lcp.solve(contact_problem, solver))


def _explained(
    base: Explanation,
    problem: ConstraintVelProblemData,
    result: lcp.Result | lcp.FrictionResult,
    stepper: TimeStepping | None = None,
) -> Explanation:
    """Return the explanation with the facts of the problem and its solution added."""
    blocks = problem.blocks()
    N, J = blocks.J[: blocks.nc], blocks.J
    response = N @ blocks.Y[: blocks.nc].T
    values = np.linalg.eigvalsh(response) if response.size else np.ones(1)
    positive = values[values > 1e-13 * max(values[-1], 0.0)]
    condition = float(positive[-1] / positive[0]) if positive.size else 1.0
    rank_normal, rank = (int(np.linalg.matrix_rank(A)) if A.size else 0 for A in (N, J))
    advice = [] if result.solved else [advice_on(result, problem)]
    if rank_normal < blocks.nc:
        advice.append(
            f"{blocks.nc - rank_normal} of {blocks.nc} normal rows follow from others: forces are not unique."
        )
    if condition > 1e10:
        advice.append("Masses or lever arms differ by many powers of ten: lcp.ExtendedLemke computes with 32 digits.")
    if stepper is not None and not stepper.adaptive:
        advice.append("adaptive = True tries such a step again with a smaller h.")
    reason = f"{'Solved now' if result.solved else 'The contact problem was not solved'}: {result.describe()}"
    found = replace(base, reason=reason, problem=problem, result=result, solved=result.solved, advice=tuple(advice))
    return replace(found, rank_normal=rank_normal, rank=rank, condition=condition)


def _contact_line(world: World, contact: ViewedContact) -> str:
    """Return a line about a contact: bodies, point [m], gap [m] and friction."""
    body, other = world.name_of(contact.body_b), world.name_of(contact.body_a, contact.half_space)
    place = ", ".join(f"{x:.6g}" for x in contact.point)
    return f"contact: {body} on {other} at ({place}) m, gap {contact.gap:.3e} m, mu {contact.mu:g}"

"""What is kept of a run that had to stop: the problem in a file, the solver's answer, and the record so far."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import problem_data
from contactlab.multibody.arguments import singular_joint
from contactlab.stepping.errors import SimulationError
from contactlab.stepping.kernels import layout

if TYPE_CHECKING:
    from contactlab.recording.record import Recording
    from contactlab.stepping.driver import Driver
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World

__all__ = ["simulation_error"]


def simulation_error(
    driver: Driver, world: World, stepper: TimeStepping, recording: Recording, *, path: Path | None
) -> SimulationError:
    """Describe the failed step of ``driver`` and save its problem.

    Parameters
    ----------
    driver
        A driver whose loop returned FAILED.
    world, stepper
        Of the run.
    recording
        The record up to the failed step.
    path
        The record's file: the problem is saved beside it as ``<stem>_failed_step<i>.npz``; None: in the folder for
        temporary files.
    """
    step, time, h = driver.step, driver.time, driver.h
    limit = f", the last that h_min = {stepper.smallest_h:.6g} s allows" if stepper.adaptive else ""
    where = f"step {step} (time {time:.9g} s, h = {h:.6g} s{limit})"
    if driver.control.failure == layout.FAILURE_NOT_FINITE:
        message = (
            f"{where}: the motion is no longer finite. Look at the applied forces and the last states of the record; "
            "a smaller h may help."
        )
        return SimulationError(
            message, step=step, time=time, h=h, problem=None, problem_path=None, result=None, recording=recording
        )
    if driver.control.failure == layout.FAILURE_SINGULAR:
        dof = int(driver.control.singular_dof)
        message = f"{where}: {singular_joint(world.model, dof).detail}"
        return SimulationError(
            message, step=step, time=time, h=h, problem=None, problem_path=None, result=None, recording=recording
        )
    island = int(driver.control.island)
    members = np.flatnonzero(np.isin(world.body_trees, driver.island_trees()))
    names = ", ".join(world.model.names[int(b)] for b in members[:5]) + (", ..." if members.size > 5 else "")
    if driver.control.failure == layout.FAILURE_PROJECTION:
        message = (
            f"{where}: no displacement was found that ends the penetrations of island {island} ({names}). Look at the "
            "last state of the record; erp instead of projection asks for less."
        )
        return SimulationError(
            message, step=step, time=time, h=h, problem=None, problem_path=None, result=None, recording=recording
        )
    problem, _ = driver.posed()
    if driver.control.failure == layout.FAILURE_INCONSISTENT:
        saved, note = _save(problem, step, path)
        message = (
            f"{where}: the bilateral equations of island {island} ({names}; {problem!r}), of loops, followers and "
            f"drives that nothing stops, contradict one another. {note}"
        )
        return SimulationError(
            message,
            step=step,
            time=time,
            h=h,
            problem=problem,
            problem_path=saved,
            result=driver.solve_again(),
            recording=recording,
        )
    result = driver.last_result if driver.last_result is not None else driver.solve_again()
    saved, note = _save(problem, step, path)
    message = (
        f"{where}: the contact problem of island {island} ({names}; {problem!r}) was not solved. {result.describe()} "
        f"{result.status.advice} {note}"
    )
    return SimulationError(
        message, step=step, time=time, h=h, problem=problem, problem_path=saved, result=result, recording=recording
    )


def _save(problem: problem_data.ConstraintVelProblemData, step: int, path: Path | None) -> tuple[Path | None, str]:
    """Save the problem; a disk that refuses must not hide the failure itself."""
    try:
        if path is None:
            handle, name = tempfile.mkstemp(prefix=f"contactlab_failed_step{step}_", suffix=".npz")
            os.close(handle)
            target = Path(name)
        else:
            target = path.with_name(f"{path.stem}_failed_step{step}.npz")
        problem_data.save(target, problem)
    except OSError as error:
        return None, f"The problem could not be saved ({error}); it is this error's `problem`."
    return target, f"The problem is in {target} (problem_data.load)."

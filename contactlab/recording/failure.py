"""What is kept of a run that had to stop: the problem in a file, the solver's answer, and the record so far."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import problem_data
from contactlab.multibody.arguments import singular_joint
from contactlab.recording.plausibility import sunk
from contactlab.stepping.kernels import layout

if TYPE_CHECKING:
    import lcp
    from contactlab.recording.recording import Recording
    from contactlab.stepping.driver import Driver


class SimulationError(RuntimeError):
    """A run that had to stop. Every step before it is in ``recording``.

    Attributes
    ----------
    problem
        The island's problem data, or None when no problem was formed (a velocity ran out of range).
    problem_path
        The file it was saved to, which `problem_data.load` reopens, or None.
    step, time
        The step that failed, counted from 0 in this run, and the time at its start [s].
    h
        The step size of ``problem`` [s]; of an adaptive stepper the last one tried.
    result
        What the solver answered, or None without a problem.
    recording
        The record up to the start of the failed step.
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
    ) -> None:
        super().__init__(message)
        self.step = step
        self.time = time
        self.h = h
        self.problem = problem
        self.problem_path = problem_path
        self.result = result
        self.recording = recording

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword arguments survive pickling between processes only this way.
        fields = ("step", "time", "h", "problem", "problem_path", "result", "recording")
        return functools.partial(SimulationError, str(self), **{name: getattr(self, name) for name in fields}), ()


def simulation_error(driver: Driver, recording: Recording, *, path: Path | None = None) -> SimulationError:
    """Describe the failed step of ``driver`` and save its problem.

    Parameters
    ----------
    driver
        A driver whose loop returned FAILED.
    recording
        The record up to the failed step.
    path
        The record's file: the problem is saved beside it as ``<stem>_failed_step<i>.npz``; None: in the folder for
        temporary files.
    """
    world, stepper = recording.world, recording.stepper
    step, failure = driver.step, driver.control.failure
    limit = f", the last that h_min = {stepper.smallest_h:.6g} s allows" if stepper.adaptive else ""
    problem, result, saved = None, None, None
    if failure == layout.FAILURE_NOT_FINITE:
        detail = (
            "the motion is no longer finite. Look at the applied forces and the last states of the record; "
            "a smaller h may help."
        )
    elif failure == layout.FAILURE_SINGULAR:
        detail = singular_joint(world.model, int(driver.control.singular_dof)).detail
    else:
        view = driver.view()
        members = np.flatnonzero(np.isin(world.body_trees, view.trees()))
        names = ", ".join(world.model.names[int(b)] for b in members[:5]) + (", ..." if members.size > 5 else "")
        island = f"island {view.number} ({names}"
        if failure == layout.FAILURE_PROJECTION:
            detail = (
                f"no displacement was found that ends the penetrations of {island}). Look at the last state of the "
                "record; erp instead of projection asks for less."
            )
        else:
            problem = view.problem()
            saved, note = _save(problem, step, path)
            note = f"{sunk(world, view.contacts(), step)}{note}"
            if failure == layout.FAILURE_LARGE:
                detail = (
                    f"no forces were selected in {island}; {problem!r}), and its LCP of {driver.control.n} unknowns is "
                    "too large for a pivoting method to answer soon. Try a smaller h, adaptive=True or fewer edges; a "
                    f"solver that is named is asked whatever the size. {note}"
                )
            elif failure == layout.FAILURE_INCONSISTENT:
                result = view.solve()
                detail = (
                    f"the bilateral equations of {island}; {problem!r}), of loops, followers and drives that nothing "
                    f"stops, contradict one another. {note}"
                )
            else:
                result = driver.last_result if driver.last_result is not None else view.solve()
                detail = (
                    f"the contact problem of {island}; {problem!r}) was not solved. {result.describe()} "
                    f"{result.status.advice} {note}"
                )
    return SimulationError(
        f"step {step} (time {driver.time:.9g} s, h = {driver.h:.6g} s{limit}): {detail}",
        step=step,
        time=driver.time,
        h=driver.h,
        problem=problem,
        problem_path=saved,
        result=result,
        recording=recording,
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

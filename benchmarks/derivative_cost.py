"""Cost of derivatives of a step and of MuJoCo's `mjd_transitionFD` (forward differences), in turn in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from simulation_mujoco import mujoco, mujoco_model
from simulation_ours import world
from simulation_scenes import Scene, resting_boxes, scenes, stacked_boxes
from step_differences import Steps

from contactlab.simulation import Simulation, TimeStepping

EPS = 1e-6  # of MuJoCo's differences
SETTLE = 100  # steps before the state at which derivatives are taken
CALLS = 20  # of each in a round


def cost_scenes() -> dict[str, Scene]:
    """18 and 36 degrees of freedom, with up to 24 contacts."""
    return {
        "quadruped, 18 dof": scenes()["quadruped standing"],
        "3 boxes, 18 dof": Scene("3 boxes", SETTLE, resting_boxes(3)),
        "stack of 3, 18 dof": Scene("stack of 3", SETTLE, stacked_boxes(3)),
        "6 boxes, 36 dof": Scene("6 boxes", SETTLE, resting_boxes(6)),
        "stack of 6, 36 dof": Scene("stack of 6", SETTLE, stacked_boxes(6)),
    }


def by_mujoco(scene: Scene) -> tuple[Callable[[], None], int]:
    """Return a call of `mjd_transitionFD` at the settled state, and the contacts there."""
    model = mujoco_model(scene)
    data = mujoco.MjData(model)
    if scene.reference is not None:
        data.qpos[7:] = data.ctrl[:] = scene.reference(0.0)
    for _ in range(SETTLE):
        mujoco.mj_step(model, data)
    n = 2 * model.nv + model.na
    A = np.zeros((n, n))
    B = np.zeros((n, model.nu)) if model.nu else None

    def call() -> None:
        mujoco.mjd_transitionFD(model, data, EPS, False, A, B, None, None)

    return call, int(data.ncon)


def seconds(call: Callable[[], object], calls: int) -> float:
    """Return the seconds of the processor for a call, a mean of this many."""
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls


def cost(name: str, linearize: Any, rounds: int, *, own: bool) -> dict[str, Any]:
    """Return us of ours and of MuJoCo's, and the median of their ratios; ``own``: also of `Simulation.linearize`."""
    scene = cost_scenes()[name]
    place, stepper = world(scene, drives=True), TimeStepping(scene.h)
    run = Simulation(place, stepper)
    run.step(n=SETTLE)
    state, steps = run.state, Steps(place, stepper)
    theirs, contacts = by_mujoco(scene)
    calls: dict[str, Callable[[], object]] = {"mjd_transitionFD": theirs}
    calls["linearize"] = lambda: linearize(steps, state, None, None)
    if own:
        calls["Simulation.linearize"] = run.linearize
    for call in calls.values():
        call()
    # The time of a call determines how many calls make a round of some milliseconds.
    many = {key: max(1, min(CALLS, int(0.05 / max(seconds(call, 1), 1e-6)))) for key, call in calls.items()}
    spent: dict[str, list[float]] = {key: [] for key in calls}
    for turn in range(rounds):
        order = list(calls) if turn % 2 else list(calls)[::-1]
        for key in order:
            spent[key].append(1e6 * seconds(calls[key], many[key]))
    row: dict[str, Any] = {"scene": name, "contacts": len(run.contacts.id), "theirs": contacts, "rounds": rounds}
    for key, values in spent.items():
        row[f"{key}, us"] = statistics.median(values)
    for key in list(calls)[1:]:
        ratios = [a / b for a, b in zip(spent[key], spent["mjd_transitionFD"], strict=True)]
        row[f"{key}, ratio"] = statistics.median(ratios)
    return row

"""Functions for sweeps: worker processes import them by name, so they stand in a module of their own."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def walk(task: dict[str, Any]) -> dict[str, Any]:
    """A random walk: many roundings, the seed the task's own. Leaves a mark in ``marks`` each time it is computed."""
    if "marks" in task:
        with (Path(task["marks"]) / f"{task['seed']}").open("a") as file:
            file.write("x")
    if "sleep" in task:
        time.sleep(task["sleep"])
    steps = np.random.default_rng(task["seed"]).normal(size=1000)
    place = np.cumsum(steps * task.get("scale", 0.1))
    return {"end": place[-1], "path": place[:5], "far": bool(abs(place[-1]) > 3), "most": int(place.argmax())}


def poison(task: dict[str, Any]) -> dict[str, Any]:
    """Effects that a task can have on its process."""
    kind = task["kind"]
    if kind == "raise":
        raise ValueError("the well is poisoned")
    if kind == "exit":
        os._exit(3)
    if kind == "sys.exit":
        sys.exit("enough")
    if kind == "segfault":
        ctypes.string_at(0)
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "hang":
        _endless(np.zeros(1))
    if kind == "print":
        print("a line of its own")
        sys.stdin.read()
    if kind == "nested":
        return {"inner": {"a": 1}}
    if kind == "own":
        return {"key": 1}
    if kind == "object":
        return {"a": object()}
    return {"value": 1.0}


def _endless(x: np.ndarray) -> None:
    """Compiled code that never returns and, unlike Python's, cannot be interrupted: a kernel in a cycle."""
    import numba

    @numba.njit
    def spin(x: np.ndarray) -> float:
        while x[0] < 1.0:
            x[0] *= 0.5
        return x[0]

    spin(x)


def die_once(task: dict[str, Any]) -> dict[str, Any]:
    """Be killed from outside the first time, as by a machine out of memory."""
    mark = Path(task["mark"])
    if not mark.exists():
        mark.write_text("x")
        os.kill(os.getpid(), signal.SIGKILL)
    return {"survived": True}


def thrown_cube(parameters: dict[str, Any]) -> Any:
    """A scene from a function: a cube in free flight, as fast as parameter and seed say."""
    from contactlab.collision import Box, HalfSpace, Material
    from contactlab.multibody.spatial import RigidInertia
    from contactlab.simulation import TimeStepping, WorldBuilder
    from contactlab.simulation.scene import Scene

    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(mu=0.5))
    inertia = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    speed = parameters["speed"] + parameters["seed"]
    q, v = [0.0, 0.0, 5.0, 1.0, 0.0, 0.0, 0.0], [speed, 0.0, 0.0, 0.0, 0.0, 0.0]
    builder.add_free_body("cube", inertia, Box.cube(0.1), Material(mu=0.5), q, v)
    return Scene("thrown", "", builder.build(), TimeStepping(h=1e-3), 0.005)


def product(task: dict[str, Any]) -> dict[str, Any]:
    """A product large enough for BLAS to split among threads: its last bits tell how many there were."""
    matrix = np.random.default_rng(task["seed"]).normal(size=(700, 700))
    return {"trace": float(np.trace(matrix @ matrix.T)), "corner": (matrix @ matrix)[:3, :3].ravel()}

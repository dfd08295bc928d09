"""Small scenes for which nothing was tuned, one text for contactlab and MuJoCo; used by `campaign.py` and others.

``make(kind, seed)`` returns the scene for `campaign.py`. Seed 0 is the nominal scene, other seeds are drawn
(`draw.py`).
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from small_scenes.draw import Draw
from small_scenes.machines import MACHINES
from small_scenes.solids import SOLIDS

from contactlab.simulation import TimeStepping, World
from contactlab.simulation.world.mjcf import MjcfScene, load_mjcf

KINDS: dict[str, Callable[[Draw], str]] = SOLIDS | MACHINES
ALL = tuple(KINDS)


@dataclass(frozen=True, eq=False)
class SmallScene:
    """A text in MuJoCo's language; the controls of its keyframe are constant for motors and servos."""

    name: str
    text: str
    h: float
    bodies: tuple[()] = ()

    @cached_property
    def loaded(self) -> MjcfScene:
        """Return the text read by contactlab."""
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = Path(folder) / "scene.xml"
            file.write_text(self.text)
            return load_mjcf(file, keyframe="start")

    def world(self) -> World:
        """Return the world of the scene."""
        return self.loaded.world

    @property
    def kw(self) -> dict[str, Any]:
        """Return the drives' arguments for `simulate`."""
        world, robot = self.loaded.world, self.loaded.robot
        if not robot.actuators:
            return {}
        ctrl = robot.keyframes["start"].ctrl
        tau = robot.tau(world, ctrl, world.initial_q, world.initial_v)
        return {"tau": tau if tau.any() else None, "targets": robot.targets(ctrl) or None}

    def xml(self) -> str:
        """Return the scene for MuJoCo."""
        return self.text


def small_scene(kind: str, seed: int = 0) -> SmallScene:
    """Return a scene of a kind."""
    draw = Draw(seed)
    body = KINDS[kind](draw)
    if "<key " not in body:
        body += '<keyframe><key name="start"/></keyframe>'
    gravity = -9.81 * draw.unit
    option = f'<option timestep="{draw.h}" gravity="0 0 {gravity}"/>'
    text = f'<mujoco><compiler angle="radian"/>{option}<size njmax="2000"/>{body}</mujoco>'
    return SmallScene(kind, text, draw.h)


def make(kind: str, seed: int) -> tuple[SmallScene, TimeStepping, int, dict[str, Any]]:
    """Return scene, stepper, steps and a description of the scene."""
    scene, draw = small_scene(kind, seed), Draw(seed)
    meta = {"mode": "told" if seed == 0 else "drawn", "n": scene.world().model.nb, "mu": "", "h": f"{draw.h:.2g}"}
    meta["masses"] = f"{draw.weight:.2g} kg, {draw.length:.2g} m, x {draw.unit:g}"
    return scene, TimeStepping(draw.h), 500, meta

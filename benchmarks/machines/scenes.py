"""Machines and loose assemblies as scenes of the campaign: grippers, slider-cranks, cars, and the kinds of `depth.py`.

Run: ``python benchmarks/campaign.py --scenes benchmarks/machines --seeds 0:10``. The environment variable SCENE_SALT
gives other scenes for the same seeds. Seeds 0, 3, 6, ... have pyramids of 8 edges, the next ones of 4, then cones.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contactlab.collision import Box, Cylinder, HalfSpace, Material, PlacedShape, Sphere
from contactlab.multibody import ModelBuilder, joints, neutral
from contactlab.multibody.constraints import LoopConstraint
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import PositionDrive, TimeStepping, VelocityDrive, WorldBuilder

sys.path.append(str(Path(__file__).resolve().parent.parent))
from depth import KINDS, Made, about, ground, turn

MODES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("default", {}), ("edges4", {"edges": 4}), ("cone", {"friction": "cone"}),
)  # fmt: skip


def gripper(rng: np.random.Generator) -> Made:
    """Two fingers on a lift close on a row of boxes and carry them up."""
    n, half = int(rng.integers(1, 5)), float(rng.uniform(0.03, 0.05))
    builder, material = ground(float(rng.uniform(0.4, 0.9)))
    model = ModelBuilder()
    lift = RigidInertia(3.0, (0, 0, 0), 0.05 * np.eye(3))
    model.add_body("lift", joint=joints.Prismatic((0, 0, 1)), inertia=lift)
    for sign, name in ((1, "left"), (-1, "right")):
        model.add_body(
            name, parent="lift", joint=joints.Prismatic((-sign, 0, 0)), placement=Transform(p=(sign * 0.28, 0, 0)),
            inertia=RigidInertia(0.5, (0, 0, 0), 0.01 * np.eye(3)),
        )  # fmt: skip
    builder.add_model(model.build(), [0.1, 0.0, 0.0])
    for name in ("left", "right"):
        builder.add_shape(name, Box((0.01, 0.06, 0.06)), material)
        builder.add_drive(PositionDrive(name, 0.28, 2000.0, 200.0, max_force=float(rng.uniform(30.0, 80.0))))
    builder.add_drive(PositionDrive("lift", 0.1, 2e4, 2e3, name="up"))
    inertia = RigidInertia.solid_box(0.2, (half,) * 3)
    for i in range(n):
        x = (i - (n - 1) / 2) * (2.05 * half)
        place = (x, 0.0, half, *about(2, float(rng.uniform(-0.02, 0.02))))
        builder.add_free_body(f"box{i}", inertia, Box.cube(half), material, place)
    return builder.build(), 1.2, {"targets": {"up": lambda t: 0.1 + min(0.2, max(0.0, 0.4 * (t - 0.5)))}}


def slider_crank(rng: np.random.Generator) -> Made:
    """A crank drives a slide by a rod, which closes a loop, against a pile of boxes."""
    r, rod, torque = 0.12, 0.35, float(rng.uniform(20.0, 80.0))
    builder, material = ground(float(rng.uniform(0.2, 0.7)))
    model = ModelBuilder()
    model.add_body(
        "crank", joint=joints.Revolute((0, 1, 0)), placement=Transform(p=(0, 0, 0.1)),
        inertia=RigidInertia(1.0, (r / 2, 0, 0), 0.003 * np.eye(3)),
    )  # fmt: skip
    model.add_body(
        "rod", parent="crank", joint=joints.Revolute((0, 1, 0)), placement=Transform(p=(r, 0, 0)),
        inertia=RigidInertia(0.8, (rod / 2, 0, 0), 0.008 * np.eye(3)),
    )  # fmt: skip
    model.add_body(
        "slide", joint=joints.Prismatic((1, 0, 0)), placement=Transform(p=(0, 0, 0.1)),
        inertia=RigidInertia(2.0, (0, 0, 0), 0.01 * np.eye(3)),
    )  # fmt: skip
    builder.add_model(model.build(), [np.pi, np.pi, rod - r])
    builder.add_shape("slide", Box((0.03, 0.2, 0.09)), material)
    for axis in (3, 5):
        loop = LoopConstraint("slide", "rod", Transform(), Transform(p=(rod, 0, 0)), np.eye(6)[axis])
        builder.add_loop(loop, erp=0.2)
    builder.add_drive(VelocityDrive("crank", float(rng.uniform(2.0, 6.0)), max_force=torque))
    for i in range(int(rng.integers(6, 25))):
        half = 0.05 * rng.uniform(0.6, 1.0, 3)
        p = (rod - r + 0.1 + 0.11 * (i % 3), -0.15 + 0.12 * (i // 3 % 3), 0.06 + 0.12 * (i // 9))
        place = (*p, *about(2, float(rng.uniform(-0.3, 0.3))))
        builder.add_free_body(f"box{i}", RigidInertia.solid_box(1.0, half), Box(tuple(half)), material, place)
    return builder.build(), 0.6, {}


def car(rng: np.random.Generator) -> Made:
    """A car on four driven wheels carries spheres and boxes in its tray over sills."""
    r = 0.08
    builder, material = ground(float(rng.uniform(0.5, 1.0)))
    model = ModelBuilder()
    model.add_body("chassis", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(6.0, (0.25, 0.15, 0.03)))
    across = 0.6 * (3 * r * r + 4 * 0.025**2) / 12
    wheel = RigidInertia(0.6, (0, 0, 0), np.diag([across, 0.6 * r * r / 2, across]))
    corners = ((0.18, 0.2), (0.18, -0.2), (-0.18, 0.2), (-0.18, -0.2))
    for i, (x, y) in enumerate(corners):
        model.add_body(
            f"wheel{i}", parent="chassis", joint=joints.Revolute((0, 1, 0)), placement=Transform(p=(x, y, -0.03)),
            inertia=wheel,
        )  # fmt: skip
    made = model.build()
    q = np.array(neutral(made))
    q[:3] = (0.0, 0.0, r + 0.031)
    builder.add_model(made, q)
    walls = [PlacedShape(Box((0.25, 0.01, 0.06)), Transform(p=(0, sign * 0.14, 0.08))) for sign in (-1, 1)]
    walls += [PlacedShape(Box((0.01, 0.15, 0.06)), Transform(p=(sign * 0.24, 0, 0.08))) for sign in (-1, 1)]
    builder.add_shape("chassis", [Box((0.25, 0.15, 0.02)), *walls], material)
    speed = float(rng.uniform(4.0, 10.0))
    for i in range(4):
        builder.add_shape(f"wheel{i}", PlacedShape(Cylinder(r, 0.025), Transform(turn(0, np.pi / 2))), material)
        builder.add_drive(VelocityDrive(f"wheel{i}", speed, max_force=3.0))
    for i in range(3):
        sill = Transform(p=(0.9 + 0.6 * i, 0, 0))
        builder.add_fixed_body(f"sill{i}", Box((0.15, 0.6, float(rng.uniform(0.01, 0.025)))), material, sill)
    for k in range(int(rng.integers(8, 31))):
        p = (-0.16 + 0.065 * (k % 6), -0.09 + 0.06 * (k // 6 % 4), 0.35 + 0.06 * (k // 24))
        turned = about(2, float(rng.uniform(-3.0, 3.0)))
        if k % 2:
            builder.add_free_body(
                f"ball{k}", RigidInertia.solid_sphere(0.1, 0.025), Sphere(0.025), material, (*p, *turned)
            )
        else:
            half = (0.02, 0.025, 0.02)
            builder.add_free_body(f"box{k}", RigidInertia.solid_box(0.1, half), Box(half), material, (*p, *turned))
    return builder.build(), 1.2, {}


def piston(rng: np.random.Generator) -> Made:
    """A plunger with a limited force presses balls of three sizes in a shaft."""
    side, n = 0.1, int(rng.integers(8, 26))
    mu = float(rng.uniform(0.1, 0.6))
    builder = WorldBuilder()
    material = Material(mu)
    builder.add_half_space("floor", HalfSpace(), material)
    for name, normal in (("left", (1, 0, 0)), ("right", (-1, 0, 0)), ("front", (0, 1, 0)), ("back", (0, -1, 0))):
        builder.add_half_space(name, HalfSpace(normal, -side), material)
    top = 0.15 + 0.055 * (n // 9 + 1)
    model = ModelBuilder()
    model.add_body(
        "plunger", joint=joints.Prismatic((0, 0, 1)), inertia=RigidInertia(2.0, (0, 0, 0), 0.01 * np.eye(3)),
    )  # fmt: skip
    builder.add_model(model.build(), [top])
    builder.add_shape("plunger", Box((0.099, 0.099, 0.02)), material)
    builder.add_drive(
        VelocityDrive("plunger", -float(rng.uniform(0.1, 0.4)), max_force=float(rng.uniform(50.0, 300.0)))
    )
    for k in range(n):
        radius = 0.025 * float(rng.uniform(0.9, 1.05))
        p = np.array([-0.06 + 0.06 * (k % 3), -0.06 + 0.06 * (k // 3 % 3), 0.03 + 0.055 * (k // 9)])
        p += rng.uniform(-0.003, 0.003, 3)
        builder.add_free_body(
            f"ball{k}", RigidInertia.solid_sphere(0.1, radius), Sphere(radius), material, (*p, 1, 0, 0, 0)
        )
    return builder.build(), 1.0, {}


MADE: dict[str, Callable[[np.random.Generator], Made]] = {
    "gripper": gripper, "slider_crank": slider_crank, "car": car, "plunger": piston, **KINDS,
}  # fmt: skip
ALL = tuple(MADE)


@dataclass(frozen=True)
class Machine:
    """Scene in the form that the campaign needs."""

    made: Made

    @property
    def kw(self) -> dict[str, Any]:
        """Further arguments of `simulate`."""
        return self.made[2]

    def world(self) -> Any:
        """Return the world."""
        return self.made[0]

    def xml(self) -> None:
        """Return None: MuJoCo is not run."""


def make(kind: str, seed: int) -> tuple[Machine, TimeStepping, int, dict[str, Any]]:
    """Return the scene, the stepper, the number of steps, and its description for the table."""
    rng = np.random.default_rng([zlib.crc32((os.environ.get("SCENE_SALT", "") + kind).encode()), seed])
    scene = Machine(MADE[kind](rng))
    mode, options = MODES[seed % 3]
    h = (1e-3, 2e-3, 3e-3)[seed // 3 % 3]
    steps = round(min(scene.made[1], 1.2) / h)
    world = scene.world()
    told = {"mode": mode, "n": len(world.model.bodies), "mu": "", "h": h, "masses": ""}
    return scene, TimeStepping(h, **options), steps, told

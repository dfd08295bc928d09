"""contactlab itself: `TimeStepping` at its defaults, or with the exact cone of friction."""

from __future__ import annotations

import numpy as np

import contactlab
from contactlab.conformance.engine import Contacts
from contactlab.conformance.scene import Body, Scene
from contactlab.contact import Box, Capsule, HalfSpace, Material, Sphere
from contactlab.simulation import Simulation, TimeStepping, WorldBuilder, Wrench
from contactlab.spatial import RigidInertia, quaternion
from contactlab.spatial.arrays import FloatArray


def engine(setting: str) -> Ours:
    """Return the engine of a setting: "" or "cone"."""
    return Ours(setting)


class Ours:
    """contactlab."""

    version = contactlab.__version__

    def __init__(self, setting: str = "") -> None:
        self.name = "ours:cone" if setting else "ours"
        self._friction = "cone" if setting else "pyramid"

    def load(self, scene: Scene, h: float) -> OurRun:
        """Return a run."""
        builder, material = WorldBuilder(scene.gravity), Material(scene.mu, scene.restitution)
        for i, wall in enumerate(scene.walls):
            builder.add_half_space(f"wall {i}", HalfSpace(wall.normal, wall.offset), material)
        for i, body in enumerate(scene.bodies):
            inertia = RigidInertia(body.mass, inertia=np.diag(body.inertia))
            spin = quaternion.to_matrix(np.array(body.turn, dtype=float)).T @ np.array(body.spin, dtype=float)
            start = (*body.position, *body.turn), (*body.velocity, *spin)
            builder.add_free_body(f"body {i}", inertia, _shape(body), material, *start)
        run = Simulation(builder.build(), TimeStepping(h, friction=self._friction))
        return OurRun(run, {f"body {i}": Wrench(body.force) for i, body in enumerate(scene.bodies) if any(body.force)})


class OurRun:
    """A `Simulation`."""

    def __init__(self, run: Simulation, wrenches: dict[str, Wrench]) -> None:
        self._run, self._wrenches = run, wrenches

    def step(self) -> None:
        """Go on by h."""
        self._run.step(f_ext=self._wrenches or None)

    def poses(self) -> FloatArray:
        """Poses of all bodies."""
        return self._run.q.reshape(-1, 7).copy()

    def velocities(self) -> FloatArray:
        """Twists of all bodies, turned into world axes."""
        twists = self._run.v.reshape(-1, 6).copy()
        for twist, pose in zip(twists, self.poses(), strict=True):
            twist[3:] = quaternion.to_matrix(pose[3:]) @ twist[3:]
        return twists

    def contacts(self) -> Contacts:
        """Contacts of the last step."""
        table, h = self._run.contacts, self._run.stepper.h
        return Contacts(
            tuple(table.body_b.tolist()), tuple(table.body_a.tolist()), table.point, table.normal, table.impulse / h
        )


def _shape(body: Body) -> Box | Sphere | Capsule:
    size = body.shape.size
    if body.shape.kind == "box":
        return Box(size)
    return Sphere(size[0]) if body.shape.kind == "sphere" else Capsule(*size)

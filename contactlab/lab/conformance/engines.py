"""Engines of the suite, by name; and contactlab: `TimeStepping` with its defaults, or with the exact friction cone."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np

import contactlab
from contactlab.collision import Box, Capsule, HalfSpace, Material, Sphere
from contactlab.lab.conformance.case import Engine, EngineContacts, Scene, ShapeSpec
from contactlab.lab.conformance.peers import Drake, MuJoCo
from contactlab.multibody import Model, ModelBuilder, body_poses, joints, kinematics, point_velocity_6d
from contactlab.multibody.constraints import LoopConstraint
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion
from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation import Simulation, TimeStepping, WorldBuilder, Wrench


class Contactlab:
    """contactlab."""

    version = contactlab.__version__

    def __init__(self, setting: str = "") -> None:
        self.name = "ours:cone" if setting else "ours"
        self._friction = "cone" if setting else "pyramid"

    def load(self, scene: Scene, h: float) -> OurRun:
        """Return a run of the scene."""
        builder, material = WorldBuilder(scene.gravity), Material(scene.mu, scene.restitution)
        for i, wall in enumerate(scene.walls):
            builder.add_half_space(f"wall {i}", HalfSpace(wall.normal, wall.offset), material)
        model, q, v, centres = _tree(scene)
        builder.add_model(model, q, v)
        for i, body in enumerate(scene.bodies):
            if body.shape is not None:
                builder.add_shape(f"body {i}", _shape(body.shape), material, placement=Transform(p=centres[i]))
        for pin in scene.pins:
            ends = [Transform(p=np.array(scene.local(k, pin.point)) + (centres[k] if k >= 0 else 0.0))
                    for k in (pin.body, pin.other)]  # fmt: skip
            one, other = ("world" if k < 0 else f"body {k}" for k in (pin.body, pin.other))
            builder.add_loop([LoopConstraint(one, other, ends[0], ends[1], axis) for axis in np.eye(6)[3:]])
        return OurRun(Simulation(builder.build(), TimeStepping(h, friction=self._friction)), scene, model, centres)


class OurRun:
    """A run by `Simulation`; frames of bodies are at their joints, or at the centre of mass of free bodies."""

    def __init__(self, run: Simulation, scene: Scene, model: Model, centres: FloatArray) -> None:
        self._run, self._model, self._centres = run, model, centres
        bodies = enumerate(zip(scene.bodies, centres, strict=True))
        self._wrenches = {f"body {i}": Wrench(body.force, at=at) for i, (body, at) in bodies if any(body.force)}

    def step(self) -> None:
        """Make one step of h."""
        self._run.step(f_ext=self._wrenches or None)

    def poses(self) -> FloatArray:
        """Return the poses (n, 7) of all bodies: centre of mass [m] and unit quaternion (w, x, y, z)."""
        R, p = body_poses(self._model, self._run.q)
        return np.hstack(((R @ self._centres[:, :, None])[..., 0] + p, quaternion.from_matrix(R)))

    def velocities(self) -> FloatArray:
        """Return the velocities (n, 6) of all bodies: of the centre of mass, then angular; world axes."""
        at, points = kinematics(self._model, self._run.q, self._run.v), enumerate(self._centres)
        twists = np.array([point_velocity_6d(self._model, at, None, f"body {i}", centre) for i, centre in points])
        return np.roll(twists, 3, axis=1)

    def contacts(self) -> EngineContacts:
        """Return the contacts of the last step."""
        table, h = self._run.contacts, self._run.stepper.h
        return EngineContacts(
            tuple(table.body_b.tolist()), tuple(table.body_a.tolist()), table.point, table.normal, table.impulse / h
        )


def _tree(scene: Scene) -> tuple[Model, list[float], list[float], FloatArray]:
    """Return the model of all bodies, its start q and v, and the centres of mass (n, 3) in the bodies' frames.

    A body without a joint is free. The frame of a body with a joint is at the joint.
    """
    tree, centres = ModelBuilder(scene.gravity), np.zeros((len(scene.bodies), 3))
    q: list[float] = []
    v: list[float] = []
    kind: joints.FloatingBase | joints.Revolute | joints.Prismatic
    turns = [quaternion.to_matrix(np.array(body.turn, dtype=float)) for body in scene.bodies]
    for i, (body, turn) in enumerate(zip(scene.bodies, turns, strict=True)):
        joint = scene.joint_of(i)
        if joint is None:
            kind, parent, place = joints.FloatingBase(), "world", Transform()
            q, v = [*q, *body.position, *body.turn], [*v, *body.velocity, *(turn.T @ body.spin)]
        else:
            made = joints.Revolute if joint.kind == "revolute" else joints.Prismatic
            kind, q, v = made(turn.T @ joint.axis), [*q, 0.0], [*v, 0.0]
            centres[i] = turn.T @ (np.array(body.position, dtype=float) - joint.point)
            held = joint.other >= 0
            outer, base = (turns[joint.other], centres[joint.other]) if held else (np.eye(3), np.zeros(3))
            parent = f"body {joint.other}" if held else "world"
            place = Transform(outer.T @ turn, base + scene.local(joint.other, joint.point))
        inertia = RigidInertia(body.mass, centres[i], np.diag(body.inertia))
        tree.add_body(f"body {i}", parent=parent, joint=kind, placement=place, inertia=inertia)
    return tree.build(), q, v, centres


def _shape(shape: ShapeSpec) -> Box | Sphere | Capsule:
    if shape.kind == "box":
        return Box(shape.size)
    return Sphere(*shape.size) if shape.kind == "sphere" else Capsule(*shape.size)


#: By the name before the colon: the class, and settings ("" for the default).
ENGINES: dict[str, tuple[Callable[[str], Engine], tuple[str, ...]]] = {
    "ours": (Contactlab, ("", "cone")),
    "mujoco": (MuJoCo, ("", "elliptic", "noslip")),
    "drake": (Drake, ("", "tamsi", "sap", "similar", "lagged")),
}


class UnknownEngineError(ValueError):
    """No engine has this name, or the file does not exist."""


def check_name(name: str) -> None:
    """Raise an `UnknownEngineError` for a name without an engine, or a missing file."""
    first, setting = _parts(name)
    if first.endswith(".py"):
        if not Path(first).is_file():
            raise UnknownEngineError(f"there is no file {first}")
    elif setting not in ENGINES.get(first, (None, ()))[1]:
        known = ", ".join(f"{one}:{s}" if s else one for one, (_, settings) in ENGINES.items() for s in settings)
        raise UnknownEngineError(f"there is no engine {name!r}; there are {known}, and path.py:Name")


def engine_of(name: str) -> Engine:
    """Return the engine of a name such as ``mujoco:elliptic``, or of a file: ``path.py:Name``.

    Raises
    ------
    UnknownEngineError
        There is no engine of this name.
    ImportError
        The package of the engine is not installed.
    """
    check_name(name)
    first, setting = _parts(name)
    if first.endswith(".py"):
        # Run under another name than __main__, so that the main part of the script is not executed.
        found: Engine = runpy.run_path(first, run_name=f"_engine_{Path(first).stem}")[setting]()
        return found
    made: Engine = ENGINES[first][0](setting)
    return made


def _parts(name: str) -> tuple[str, str]:
    first, _, setting = name.rpartition(":") if ".py:" in name else name.partition(":")
    return first, setting

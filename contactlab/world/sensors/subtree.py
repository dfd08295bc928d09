"""Sensors of what hangs together: centre of mass of a body and all that it carries, its velocity, its spin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from contactlab.multibody import Model, body_poses, point_velocity_6d
from contactlab.spatial.arrays import FloatArray
from contactlab.world.errors import SimulationConfigError
from contactlab.world.sensors.motion import turned
from contactlab.world.sensors.step_view import StepView


def bodies_beyond(model: Model, body: str) -> set[str]:
    """Return the names of a body and of all that hang on it; of "world" those of all bodies, and its own."""
    model.index_or_world(body)  # an unknown one raises, with the close names
    beyond = {body}
    for one in model.bodies:
        if one.parent in beyond:
            beyond.add(one.name)
    return beyond


class _Part(NamedTuple):
    """One body of a subtree, world axes."""

    mass: float
    inertia: FloatArray  # (..., 3, 3) about its centre of mass
    place: FloatArray  # (..., 3) of the centre of mass
    motion: FloatArray  # (..., 6) angular velocity, velocity of the centre of mass


class _Subtree:
    """A subtree at the end of a step."""

    def __init__(self, view: StepView, body: str) -> None:
        self._view, self._body = view, body

    @cached_property
    def parts(self) -> list[_Part]:
        """Its bodies with mass."""
        view, model, found = self._view, self._view.world.model, []
        rotations, origins = body_poses(model, view.q)
        beyond = bodies_beyond(model, self._body)
        for i, one in enumerate(model.bodies):
            if one.name not in beyond or one.inertia is None:
                continue
            R, com = rotations[..., i, :, :], one.inertia.com
            motion = point_velocity_6d(model, view.q, view.v, one.name, com)
            inertia = R @ one.inertia.inertia @ np.swapaxes(R, -1, -2)
            found.append(_Part(one.inertia.mass, inertia, origins[..., i, :] + R @ com, motion))
        return found

    @cached_property
    def mass(self) -> float:
        """[kg]; one without any has no centre."""
        total = sum(part.mass for part in self.parts)
        if total <= 0.0:
            raise SimulationConfigError(
                "sensor", f"is of the mass of {self._body!r} and what hangs on it: there is none"
            )
        return total

    @cached_property
    def center(self) -> FloatArray:
        """(..., 3)."""
        return np.asarray(sum(part.mass * part.place for part in self.parts) / self.mass)

    @cached_property
    def velocity(self) -> FloatArray:
        """(..., 3) of the centre."""
        return np.asarray(sum(part.mass * part.motion[..., 3:] for part in self.parts) / self.mass)


@dataclass(frozen=True)
class SubtreeCenterOfMass:
    """Centre of mass of a body and all that hangs on it, after the step, (3,) world axes [m].

    Parameters
    ----------
    body
        Name of the body; "world" for everything.
    """

    body: str

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return _Subtree(view, self.body).center


@dataclass(frozen=True)
class SubtreeVelocity(SubtreeCenterOfMass):
    """Velocity of that centre of mass after the step, (3,) world axes [m/s]."""

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        return _Subtree(view, self.body).velocity


@dataclass(frozen=True)
class SubtreeAngularMomentum(SubtreeCenterOfMass):
    """Angular momentum of those bodies about their centre of mass after the step, (3,) world axes [kg m^2/s].

    Inertias of rotors (`armature`) are not in it.
    """

    def measure(self, view: StepView) -> FloatArray:
        """Return the reading."""
        tree = _Subtree(view, self.body)
        center, velocity = tree.center, tree.velocity
        total = np.zeros(center.shape)
        for part in tree.parts:
            arm, speed = part.place - center, part.motion[..., 3:] - velocity
            total = total + turned(part.inertia, part.motion[..., :3]) + part.mass * np.cross(arm, speed)
        return total

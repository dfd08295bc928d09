"""Contact forces as arrows, coloured by what the contact does; contacts that carry nothing as points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.simulation import OPEN, ContactTable, Recording, World
from contactlab.spatial.arrays import FloatArray, IntArray

LENGTH = 1.8  # radii of a typical body: the length of a force that is usual in the run
LONGEST = 2.4  # the same for the longest arrow: an impact's force is hundreds of weights
USUAL = 90.0  # percentile of the forces that counts as usual


@dataclass(frozen=True)
class ForceScale:
    """Length of the arrow of a force.

    Attributes
    ----------
    per_newton
        Length of arrow per force [m/N].
    longest
        No arrow is longer [m].
    """

    per_newton: float
    longest: float

    @classmethod
    def of_recording(cls, recording: Recording, size: float) -> ForceScale:
        """Scale by the forces of a run; ``size`` is the radius of a typical body [m] (`Stage.size`)."""
        contacts = recording.contacts
        force = np.linalg.norm(contacts.impulse, axis=1) / recording.h[contacts.step]
        force = force[force > 0.0]
        if not force.size:
            return cls.of_world(recording.world, size)
        return cls(LENGTH * size / float(np.percentile(force, USUAL)), LONGEST * size)

    @classmethod
    def of_world(cls, world: World, size: float) -> ForceScale:
        """Scale by the weight of the heaviest body, before anything is known of the forces."""
        masses = [body.inertia.mass for body in world.model.bodies if body.inertia is not None]
        weight = max(masses, default=1.0) * (float(np.linalg.norm(world.model.gravity)) or 9.81)
        return cls(LENGTH * size / weight, LONGEST * size)

    def arrows(self, force: FloatArray) -> FloatArray:
        """Arrows (n, 3) [m] of forces (n, 3) [N]."""
        size = np.linalg.norm(force, axis=1)
        length = np.minimum(self.per_newton * size, self.longest)
        return np.asarray(force * np.divide(length, size, out=np.zeros_like(size), where=size > 0.0)[:, None])

    def __str__(self) -> str:
        return f"{0.1 / self.per_newton:.3g} N per 0.1 m of arrow"


@dataclass(frozen=True, eq=False)
class Arrows:
    """Marks of one step's contacts, a row each.

    Attributes
    ----------
    points
        (n, 3) contact points, world axes [m].
    tips
        (n, 3) ends of the arrows; of an open contact the point itself.
    normals
        (n, 3) unit normals.
    modes, ids
        (n,) what each contact does, and its persistent number.
    """

    points: FloatArray
    tips: FloatArray
    normals: FloatArray
    modes: IntArray
    ids: IntArray

    @classmethod
    def of_step(cls, contacts: ContactTable, h: float, scale: ForceScale) -> Arrows:
        """Marks of a step of length ``h`` [s]; an arrow shows the force on body B."""
        tips = contacts.point + scale.arrows(contacts.impulse / h)
        return cls(contacts.point, tips, contacts.normal, contacts.mode, contacts.id)

    @classmethod
    def of_state(cls, recording: Recording, i: int, scale: ForceScale) -> Arrows:
        """Marks of the step that led to state ``i``; of the first state those of the step from it."""
        step = max(i - 1, 0)
        if recording.n_steps == 0:
            return cls.of_step(recording.contacts, 1.0, scale)
        return cls.of_step(recording.contacts_at(step), float(recording.h[step]), scale)

    @property
    def carrying(self) -> NDArray[np.bool_]:
        """Which contacts carry a force (n,)."""
        return np.asarray(self.modes != OPEN)

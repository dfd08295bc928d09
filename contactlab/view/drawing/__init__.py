"""Elements of a picture of a world, for any drawing library: solids, ground, arrows, colours, the states to show.

This package does not depend on a drawing library. `contactlab.view.viewer` (browser) and `contactlab.view.plotting`
(images) use it.

A playback has the states of a time-stepping or event-driven run, with forces as arrows, and numbers as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from contactlab.collision.shapes import SurfaceMesh
from contactlab.event_driven import EventKind, EventRecording
from contactlab.multibody import Kinematics, body_poses, kinematics, kinetic_energy, potential_energy
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.naming import module_hooks
from contactlab.simulation import OPEN, SLIDE, STICK, CertificateTable, ContactTable, Recording, Simulation, World
from contactlab.view.drawing.parts import Part, solid_of, visual_meshes
from contactlab.view.drawing.stage import Camera, Ground, SceneGeometry

__all__ = [
    "Arrows", "Camera", "ForceScale", "Ground", "Part", "Playable", "Playback", "Readout", "SceneGeometry",
    "SurfaceMesh", "frame_indices", "playback_of", "solid_of", "state_at", "visual_meshes",
]  # fmt: skip


LENGTH = 1.8  # length of a usual force of the run, in radii of a typical body
LONGEST = 2.4  # length of the longest arrow, because an impact's force is hundreds of weights
USUAL = 90.0  # percentile of the forces that counts as usual


@dataclass(frozen=True)
class ForceScale:
    """Length of the arrow of a force.

    Attributes
    ----------
    per_newton
        Length of arrow per force [m/N].
    longest
        Maximum length of an arrow [m].
    """

    per_newton: float
    longest: float

    @classmethod
    def of_world(cls, world: World, size: float) -> ForceScale:
        """Return a scale from the weight of the heaviest body, for unknown forces.

        ``size`` [m] is the radius of a typical body.
        """
        masses = [body.inertia.mass for body in world.model.bodies if body.inertia is not None]
        weight = max(masses, default=1.0) * (float(np.linalg.norm(world.model.gravity)) or 9.81)
        return cls(LENGTH * size / weight, LONGEST * size)

    def arrows(self, force: FloatArray) -> FloatArray:
        """Return the arrows (n, 3) [m] of forces (n, 3) [N]; an arrow longer than ``longest`` is shortened to it."""
        size = np.linalg.norm(force, axis=1)
        length = np.minimum(self.per_newton * size, self.longest)
        return np.asarray(force * np.divide(length, size, out=np.zeros_like(size), where=size > 0.0)[:, None])

    def __str__(self) -> str:
        force = 0.1 / self.per_newton
        told = f"{force:.3g} N" if force < 999.5 else f"{force / 1000.0:.3g} kN"
        return f"{told} per 0.1 m of arrow"


@dataclass(frozen=True, eq=False)
class Arrows:
    """Marks of one step's contacts, one row each.

    Attributes
    ----------
    points
        (n, 3) contact points, world axes [m].
    tips
        (n, 3) ends of the arrows; for an open contact, the contact point.
    normals
        (n, 3) unit normals.
    modes
        (n,) mode of each contact.
    """

    points: FloatArray
    tips: FloatArray
    normals: FloatArray
    modes: IntArray

    @classmethod
    def of_step(cls, contacts: ContactTable, h: float, scale: ForceScale) -> Arrows:
        """Return the marks of a step of length ``h`` [s]; an arrow shows the force on body B."""
        tips = contacts.point + scale.arrows(contacts.impulse / h)
        return cls(contacts.point, tips, contacts.normal, contacts.mode)

    @property
    def carrying(self) -> NDArray[np.bool_]:
        """Mask (n,) of the contacts that carry a force."""
        return np.asarray(self.modes != OPEN)


# Film of events: states per second, and maximum number of states.
RATE, MAX_STATES = 400.0, 4000
SLIPPING = 1e-6  # [m/s]

#: Objects that can be shown: records, and a `Simulation` that records.
Playable: TypeAlias = Recording | EventRecording | Simulation


def playback_of(recording: Playable) -> Playback:
    """Return the playback of a run; for a `Simulation`, of its recorded steps.

    An event-driven run has 400 states per second, interpolated between the recorded ones. A force belongs to the time
    of its state. After an impact it is the impulse divided by the time since the previous state.
    """
    if isinstance(recording, EventRecording):
        return EventPlayback(recording)
    return StepPlayback(recording.recording if isinstance(recording, Simulation) else recording)


class StepPlayback:
    """A time-stepping run to show: its states."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.world, self.time = recording.world, recording.time

    def poses(self) -> tuple[FloatArray, FloatArray]:
        """Return rotations (n, nb, 3, 3) and origins (n, nb, 3) [m]."""
        return self._recording.poses()

    def scale(self, size: float) -> ForceScale:
        """Return the scale by the usual forces of the run; ``size`` [m] is the radius of a typical body."""
        contacts = self._recording.contacts
        force = np.linalg.norm(contacts.impulse, axis=1) / self._recording.h[contacts.step]
        force = force[force > 0.0]
        if not force.size:
            return ForceScale.of_world(self.world, size)
        return ForceScale(LENGTH * size / float(np.percentile(force, USUAL)), LONGEST * size)

    def arrows(self, i: int, scale: ForceScale) -> Arrows:
        """Return the marks of the step that led to state ``i``; for the first state, of the step from it."""
        if self._recording.n_steps == 0:
            return Arrows.of_step(self._recording.contacts, 1.0, scale)
        step = max(i - 1, 0)
        return Arrows.of_step(self._recording.contacts_at(step), float(self._recording.h[step]), scale)

    def readout(self, i: int) -> Readout:
        """Return the numbers of state ``i``."""
        recording = self._recording
        time, energy = float(recording.time[i]), float(recording.kinetic[i] + recording.potential[i])
        if i == 0:
            return Readout(time, energy)
        rows = recording.certificates
        first, last = map(int, np.searchsorted(rows.step, (i - 1, i)))
        return Readout.of_step(time, energy, recording.contacts_at(i - 1), rows.rows(slice(first, last)))


class EventPlayback:
    """An event-driven run to show: states at uniform times."""

    def __init__(self, recording: EventRecording) -> None:
        self._recording = recording
        self.world = recording.world
        first, last = float(recording.time[0]), float(recording.time[-1])
        count = min(MAX_STATES, max(1, int(np.ceil((last - first) * RATE))))
        self.time: FloatArray = np.linspace(first, last, count + 1)
        self._q, self._v = recording.sample(self.time)

    def poses(self) -> tuple[FloatArray, FloatArray]:
        """Return rotations and origins, as for `StepPlayback`."""
        return body_poses(self.world.model, self._q)

    @cached_property
    def _forces(self) -> FloatArray:
        """Return the forces (n, nk, 3) [N] of the candidate contacts, interpolated linearly between recorded rows.

        The impulse of an impact, divided by the time between states, is added at the first state after it.
        """
        recording, time = self._recording, self.time
        left = np.clip(np.searchsorted(recording.time, time, side="right") - 1, 0, len(recording.time) - 1)
        right = np.minimum(left + 1, len(recording.time) - 1)
        gap = recording.time[right] - recording.time[left]
        share = np.divide(time - recording.time[left], gap, out=np.zeros_like(time), where=gap > 0.0)[:, None, None]
        forces = np.asarray((1.0 - share) * recording.forces[left] + share * recording.forces[right])
        step = float(time[-1] - time[0]) / max(1, len(time) - 1)
        for event in recording.of_kind(EventKind.IMPACT):
            shown = min(int(np.searchsorted(time, event.time)), len(time) - 1)
            if step > 0.0:
                forces[shown] += event.impulses / step
        return forces

    def scale(self, size: float) -> ForceScale:
        """Return the scale by the weight, because impacts would make all other arrows invisible."""
        return ForceScale.of_world(self.world, size)

    def arrows(self, i: int, scale: ForceScale) -> Arrows:
        """Return the marks of candidate contacts that touch or carry a force at state i."""
        force, kin, model = self._forces[i], self._kinematics(i), self.world.model
        local = [one.local(model, kin) for one in self._recording.candidates]
        points, normals = (np.array([getattr(x, k) for x in local]).reshape(-1, 3) for k in ("point", "normal"))
        slips = np.array([np.linalg.norm(one.u[1:]) > SLIPPING for one in local], dtype=np.bool_)
        carries = np.any(force != 0.0, axis=1)
        modes = np.where(carries, np.where(slips, SLIDE, STICK), OPEN).astype(np.int64)
        near = carries | (np.array([one.gap(model, kin) for one in self._recording.candidates]) <= 1e-6)
        tips = points + scale.arrows(force)
        return Arrows(points[near], tips[near], normals[near], modes[near])

    def readout(self, i: int) -> Readout:
        """Return the numbers of state i; certificates are None, because an event-driven run has none."""
        model, kin = self.world.model, self._kinematics(i)
        energy = float(kinetic_energy(model, kin, None)) + float(potential_energy(model, kin))
        touching = int(np.count_nonzero(np.any(self._forces[i] != 0.0, axis=1)))
        return Readout(float(self.time[i]), energy, len(self._recording.contact_names), touching)

    def _kinematics(self, i: int) -> Kinematics:
        return kinematics(self.world.model, self._q[i], self._v[i])


#: A run to show: its ``world``, ``time`` (n,) [s], and for state i poses, contact marks and numbers.
Playback: TypeAlias = StepPlayback | EventPlayback


def frame_indices(time: FloatArray, fps: float) -> list[int]:
    """Return indices of frames: the first state at or after each frame time, without repetitions, and the last state.

    Parameters
    ----------
    time
        (n,) ascending times of the states [s].
    fps
        Maximum number of frames per second of simulated time.
    """
    # Times are sums of h: a length that is a whole number of frames up to rounding has this number of frames.
    count = max(1, int(np.ceil((time[-1] - time[0]) * fps * (1.0 - 1e-9))))
    wanted = np.linspace(time[0], time[-1], count + 1)
    # Frame times are sums of h only up to rounding: tolerance of half a step.
    slack = 0.5 * float(np.diff(time).min()) if time.size > 1 else 0.0
    indices = np.searchsorted(time, wanted - slack)
    return [int(i) for i in np.unique(np.minimum(indices, time.size - 1))]


def state_at(time: FloatArray, when: float) -> int:
    """Return the index of the state nearest in time to ``when`` [s]."""
    return int(np.argmin(np.abs(time - when)))


@dataclass(frozen=True)
class Readout:
    """Numbers of one state.

    Attributes
    ----------
    time
        [s].
    energy
        Kinetic plus potential [J].
    contacts, touching
        Number of contacts of the step that led to the state, and of contacts with an impulse.
    scaled, mechanical
        Largest scaled residual, and largest scaled violation, of the islands of this step; None without islands.
    """

    time: float
    energy: float
    contacts: int = 0
    touching: int = 0
    scaled: float | None = None
    mechanical: float | None = None

    @classmethod
    def of_step(cls, time: float, energy: float, contacts: ContactTable, certificates: CertificateTable) -> Readout:
        """Return the numbers of a state from the tables of the step that led to it."""
        worst = certificates.worst() if len(certificates) else None
        scaled, mechanical = (None, None) if worst is None else (worst.scaled, worst.mechanical)
        return cls(time, energy, len(contacts), int(np.count_nonzero(contacts.mode != OPEN)), scaled, mechanical)

    def __str__(self) -> str:
        worst = "nothing to solve" if self.scaled is None else f"certificate {self.scaled:.1g}"
        return f"t = {self.time:.3f} s   E = {self.energy:.4g} J   {self.touching}/{self.contacts} contacts   {worst}"


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)

"""Robot from a MuJoCo file: names, actuators, passive forces, keyframes, and unsupported features.

Passive forces depend only on the state: gravity compensation, springs and dampers of tendons. A world does not have
them; `MjcfRobot.tau` adds them to the forces of the actuators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.constraint_solver.model_problem.drives import PositionDrive
from contactlab.multibody import Model, MultibodyError, body_poses, nonlinear_effects
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.simulation.world.mjcf.source import MjcfError
from contactlab.simulation.world.sensors import Sensor
from contactlab.simulation.world.world import StepperState, World

#: Rotation matrices (nb, 3, 3) and origins (nb, 3) of all bodies.
Poses = tuple[FloatArray, FloatArray]


class Attached(NamedTuple):
    """A point of a body, or of the world."""

    body: str
    point: FloatArray  # (3,) in the body's frame [m]


class GravityCompensated(NamedTuple):
    """A body with gravity compensation: a fraction of its weight is compensated."""

    at: Attached  # its centre of mass
    mass: float  # this fraction of its mass [kg]


@dataclass(frozen=True, eq=False)
class Tendon:
    """A spring and a damper along a path through points, or along a sum of coordinates.

    Attributes
    ----------
    name
        Name in the file.
    points
        Points of the path; empty for a sum.
    terms
        Terms of a sum: bodies whose joints it contains, with their coefficients.
    offset
        Length of a sum at q = 0.
    stiffness, damping
        [N/m, N s/m] of a path.
    rest
        Lengths between which the spring has no force.
    """

    name: str
    points: tuple[Attached, ...]
    terms: tuple[tuple[str, float], ...]
    offset: float
    stiffness: float
    damping: float
    rest: tuple[float, float]


@dataclass(frozen=True, eq=False)
class PassiveForces:
    """Supported passive forces: bodies with gravity compensation, and tendons."""

    lifted: tuple[GravityCompensated, ...] = ()
    tendons: tuple[Tendon, ...] = ()

    def tau(self, world: World, q: ArrayLike, v: ArrayLike) -> FloatArray:
        """Return the generalised forces (nv,) at a state of the world, or (B, nv) at B states.

        They are gravity compensation, and springs and dampers of tendons; (nv,) zeros if the robot has none. Raise
        `MjcfError` if the world does not have this robot at this q.
        """
        if not (self.lifted or self.tendons):
            return np.zeros(world.nv)
        model, places = world.model, np.asarray(q, dtype=np.float64)
        if places.ndim == 2:
            speeds = np.asarray(v, dtype=np.float64)
            return np.array([self.tau(world, *one) for one in zip(places, speeds, strict=True)])
        try:
            poses = body_poses(model, places)
            tau = _generalised(model, places, poses, [(one.at, -one.mass * model.gravity) for one in self.lifted])
            for tendon in self.tendons:
                length, arm = self._path(tendon, world, places, poses)
                low, high = tendon.rest
                stretch = length - min(max(length, low), high)
                tau -= (tendon.stiffness * stretch + tendon.damping * (arm @ np.asarray(v, dtype=np.float64))) * arm
        except (KeyError, MultibodyError) as error:
            raise MjcfError("world", f"does not have this robot at this q: {error}") from error
        return tau

    @staticmethod
    def _path(tendon: Tendon, world: World, q: FloatArray, poses: Poses) -> tuple[float, FloatArray]:
        """Return the length of a tendon, and its derivative by the velocities (nv,)."""
        length, arm = tendon.offset, np.zeros(world.nv)
        for body, coefficient in tendon.terms:
            dof, place = world.coordinate_index[body, 0]
            length += coefficient * q[place]
            arm[dof] += coefficient
        pulls = []
        ends = [_place(world.model, poses, one) for one in tendon.points]
        for (a, b), (start, end) in zip(pairwise(tendon.points), pairwise(ends), strict=True):
            way = end - start
            distance = float(np.linalg.norm(way))
            length += distance
            if distance > 0.0:
                pulls += [(a, -way / distance), (b, way / distance)]
        return length, arm + _generalised(world.model, q, poses, pulls)


def _place(model: Model, poses: Poses, at: Attached) -> FloatArray:
    """Return the position of a point in the world."""
    if at.body == WORLD:
        return at.point
    body, (R, p) = model.index(at.body), poses
    return np.asarray(p[body] + R[body] @ at.point)


def _generalised(
    model: Model, q: FloatArray, poses: Poses, forces: Sequence[tuple[Attached, FloatArray]]
) -> FloatArray:
    """Return the generalised force (nv,) of forces at points of bodies, world axes.

    The result equals `external_forces`, in a third of the time, because controllers call it in every step.
    """
    f_ext = np.zeros((model.nb, 6))
    for at, force in forces:
        if at.body != WORLD:
            (x, y, z), (fx, fy, fz) = _place(model, poses, at).tolist(), force.tolist()
            f_ext[model.index(at.body)] += (y * fz - z * fy, z * fx - x * fz, x * fy - y * fx, fx, fy, fz)
    return 0.0 - nonlinear_effects(model.without_gravity, q, np.zeros(model.nv), f_ext)


#: Dynamics between a control and the force: none, or a state of the actuator.
DYNAMICS = ("none", "integrator", "filter", "filterexact")

#: Controls (nu,), or a function of time that returns them.
Control = ArrayLike | Callable[[float], ArrayLike]


class ActuatorTerm(NamedTuple):
    """A coordinate that an actuator acts on."""

    body: str  # body of the joint
    coordinate: int
    gear: float  # force on the coordinate per force of the actuator


@dataclass(frozen=True)
class MjcfActuator:
    """One actuator: force = gain * control + bias, within its range, with affine gain and bias.

    Attributes
    ----------
    name
        Name in the world.
    terms
        Its coordinates, with gears; a fixed tendon acts on its joints. Empty if unsupported.
    offset
        Its length at q = 0 of the world [rad or m].
    gain, bias
        Constant, factor of the length, and factor of its rate.
    ctrl_range, force_range, act_range
        Ranges to which control, force and state are clamped; infinite for none.
    dynamics, time_constant
        One of `DYNAMICS`, and its time constant [s]: if it is not "none" the state replaces the control.
    drive
        The drive of the world, under the actuator's name, that represents the servo; None for a force.
    """

    name: str
    terms: tuple[ActuatorTerm, ...]
    offset: float
    gain: tuple[float, float, float]
    bias: tuple[float, float, float]
    ctrl_range: tuple[float, float]
    force_range: tuple[float, float]
    dynamics: str
    time_constant: float
    act_range: tuple[float, float]
    drive: PositionDrive | None


class _Law(NamedTuple):
    """Arrays from which `MjcfRobot.tau` computes all actuators together.

    Actuators that are drives add only a remainder.
    """

    coordinates: tuple[tuple[str, int], ...]  # bodies and coordinates, nc of them
    gears: FloatArray  # (nu, nc)
    offset: FloatArray  # (nu,)
    # (3, nu) constant, factor of the length, and factor of its rate.
    gain: FloatArray
    bias: FloatArray
    by_state: bool  # whether any force depends on the state
    # (nu,) ranges of forces; (nc,) of the total force on a coordinate.
    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray

    @classmethod
    def of(cls, actuators: tuple[MjcfActuator, ...], ranges: Mapping[tuple[str, int], tuple[float, float]]) -> _Law:
        """Return the arrays of a robot's actuators."""
        numbers: dict[tuple[str, int], int] = {}
        for place in (*(term[:2] for one in actuators for term in one.terms), *ranges):
            numbers.setdefault(place, len(numbers))
        gears, (gain, bias) = np.zeros((len(actuators), len(numbers))), np.zeros((2, 3, len(actuators)))
        for a, one in enumerate(actuators):
            for body, coordinate, gear in one.terms:
                gears[a, numbers[body, coordinate]] += gear
            if one.drive is None:
                gain[:, a], bias[:, a] = one.gain, one.bias
            elif one.drive.stiffness == 0.0:
                # The drive has the damping; the rest of a speed servo is the force of its target.
                gain[0, a] = one.gain[0]
        low, high = np.array([one.force_range for one in actuators]).reshape(-1, 2).T
        least, most = np.array([ranges.get(place, (-np.inf, np.inf)) for place in numbers]).reshape(-1, 2).T
        offset = np.array([one.offset for one in actuators], dtype=np.float64)
        by_state = bool(gain[1:].any() or bias.any())
        return cls(tuple(numbers), gears, offset, gain, bias, by_state, low, high, least, most)


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A named start.

    Attributes
    ----------
    q, v
        Of the file's joints in its order, in the world's convention; `MjcfRobot.state` inserts them into a world.
    ctrl, act
        Controls (nu,) and states (na,) of actuators.
    time
        [s].
    """

    q: FloatArray
    v: FloatArray
    ctrl: FloatArray
    act: FloatArray
    time: float


@dataclass(frozen=True, eq=False)
class MjcfRobot:
    """Robot that was read from a file into a world.

    Attributes
    ----------
    name
        Prefix of its names; None for names as in the file.
    joints
        Names of the file's joints, and the bodies of the world that they move, in the order of the file.
    actuators
        Actuators in the order of the file's controls. Servos of joints are drives of the world, with the control 0
        until it is changed. The others are forces, which ``tau`` computes.
    keyframes
        Keyframes by name.
    sensors
        Supported sensors, by their names in the world, for `Simulation.read` and `Recording.read`: accelerometers,
        gyros, velocimeters, touch, positions, orientations and velocities of frames, centres of mass and momenta of
        subtrees, forces and torques of joints in worlds without loops, positions and velocities of joints.
    notes
        Unsupported features of the file, one sentence each.
    timestep
        The file's step [s].
    """

    name: str | None
    joints: Mapping[str, str]
    actuators: tuple[MjcfActuator, ...]
    keyframes: Mapping[str, Keyframe]
    sensors: Mapping[str, Sensor]
    notes: tuple[str, ...]
    timestep: float
    # Ranges of the total force of all actuators of a coordinate, or of a tendon (their numbers).
    _force_ranges: Mapping[tuple[str, int], tuple[float, float]] = field(default_factory=dict)
    _tendon_ranges: tuple[tuple[list[int], tuple[float, float]], ...] = ()
    _passive: PassiveForces = field(default_factory=PassiveForces)

    @cached_property
    def ctrl_range(self) -> FloatArray:
        """(nu, 2) ranges of the controls; infinite for none."""
        return read_only(np.array([one.ctrl_range for one in self.actuators]).reshape(-1, 2))

    @cached_property
    def na(self) -> int:
        """Number of actuators with a state."""
        return sum(one.dynamics != "none" for one in self.actuators)

    @cached_property
    def _law(self) -> _Law:
        return _Law.of(self.actuators, self._force_ranges)

    def tau(
        self, world: World, ctrl: ArrayLike, q: ArrayLike, v: ArrayLike, act: ArrayLike | None = None
    ) -> FloatArray:
        """Return the forces (nv,) of the actuators that are not drives, plus `passive_tau`; (B, nv) for B states.

        Parameters
        ----------
        world
            World with this robot.
        ctrl
            (nu,) controls, clamped to their ranges; with a leading axis B for B states.
        q, v
            State of the world; or B states.
        act
            (na,) states of the actuators that have one, default 0; or B rows.
        """
        law, places = self._law, world.coordinate_index
        try:
            where = np.array([places[one] for one in law.coordinates], dtype=np.int64).reshape(-1, 2)
        except KeyError as unknown:
            raise MjcfError("world", f"has no joint of {unknown.args[0][0]!r}: this robot is in another") from unknown
        dof, at = where[:, 0], where[:, 1]
        force = law.gain[0] * (signals := self._signals(ctrl, act))
        if law.by_state:
            # Actuators on coordinates without a position, -1 here, do not depend on it.
            length = law.offset + _sums(np.asarray(q, dtype=np.float64)[..., at], law.gears.T)
            rate = _sums(np.asarray(v, dtype=np.float64)[..., dof], law.gears.T)
            force += (law.gain[1] * length + law.gain[2] * rate) * signals
            force += law.bias[0] + law.bias[1] * length + law.bias[2] * rate
        force = np.minimum(np.maximum(force, law.low), law.high)
        for numbers, (low, high) in self._tendon_ranges:
            total = force[..., numbers].sum(axis=-1, keepdims=True)
            share = np.minimum(np.maximum(total, low), high)
            force[..., numbers] *= np.divide(share, total, out=np.ones_like(total), where=total != 0.0)
        tau = np.zeros((*force.shape[:-1], world.nv))
        tau[..., dof] = np.minimum(np.maximum(_sums(force, law.gears), law.least), law.most)
        return tau + self.passive_tau(world, q, v)

    def passive_tau(self, world: World, q: ArrayLike, v: ArrayLike) -> FloatArray:
        """Return the forces (nv,) or (B, nv) without control: gravity compensation, springs, dampers of tendons."""
        return self._passive.tau(world, q, v)

    def targets(self, ctrl: ArrayLike, act: ArrayLike | None = None) -> dict[str, float]:
        """Return the targets of the position servos by name, for ``targets`` of `simulate`."""
        found = {}
        for actuator, signal in zip(self.actuators, self._signals(ctrl, act), strict=True):
            if actuator.drive is not None and actuator.drive.stiffness > 0.0:
                found[actuator.name] = (signal - actuator.offset) / actuator.terms[0].gear
        return found

    def next_act(self, ctrl: ArrayLike, act: ArrayLike, h: float) -> FloatArray:
        """Return the states (na,) of the actuators after a step of h [s] under the controls (nu,)."""
        held, state = self._controls(ctrl), finite_array(act, "act", (self.na,), MjcfError).copy()
        with_state = [(a, one) for a, one in enumerate(self.actuators) if one.dynamics != "none"]
        for i, (a, one) in enumerate(with_state):
            if one.dynamics == "integrator":
                state[i] += h * held[a]
            else:
                constant = max(one.time_constant, 1e-15)
                share = -math.expm1(-h / constant) if one.dynamics == "filterexact" else h / constant
                state[i] += share * (held[a] - state[i])
            state[i] = min(max(state[i], one.act_range[0]), one.act_range[1])
        return state

    def inputs(self, world: World, control: Control) -> dict[str, Any]:
        """Return ``tau`` and ``targets`` for `simulate`: ``simulate(world, stepper, 2.0, **robot.inputs(world, u))``.

        ``control`` is an array (nu,), or a function of time [s] that returns one. Actuators with a state need an
        explicit loop with `tau`, `targets` and `next_act` in each step.
        """
        if self.na:
            raise MjcfError("actuator", "some have a state: call tau, targets and next_act step by step")

        def at(time: float) -> FloatArray:
            return self._controls(control(time) if callable(control) else control)

        def tau(time: float, q: FloatArray, v: FloatArray) -> FloatArray:
            return self.tau(world, at(time), q, v)

        def target(name: str) -> Callable[[float], float]:
            return lambda time: self.targets(at(time))[name]

        held = self.targets(np.zeros(len(self.actuators)))
        return {"tau": tau, "targets": {name: target(name) for name in held}}

    def state(self, world: World, keyframe: str, h: float = 0.0) -> StepperState:
        """Return the world's start with this robot in a keyframe."""
        if keyframe not in self.keyframes:
            known = ", ".join(map(repr, self.keyframes)) or "none"
            raise MjcfError("keyframe", f"there is none called {keyframe!r}; there are {known}")
        frame, q, v = self.keyframes[keyframe], world.initial_q.copy(), world.initial_v.copy()
        # the entries of the file's joints, in its order
        model, bodies = world.model, self.joints.values()
        q[[i for body in bodies for i in range(model.nq)[model.q_slice(body)]]] = frame.q
        v[[i for body in bodies for i in range(model.nv)[model.v_slice(body)]]] = frame.v
        return world.initial_state(h, q=q, v=v)

    def _controls(self, ctrl: ArrayLike) -> FloatArray:
        given = finite_array(ctrl, "ctrl", (*_runs(ctrl), len(self.actuators)), MjcfError)
        return np.minimum(np.maximum(given, self.ctrl_range[:, 0]), self.ctrl_range[:, 1])

    def _signals(self, ctrl: ArrayLike, act: ArrayLike | None) -> FloatArray:
        """Return the input of each actuator's law: its control, or its state if it has one."""
        signals = self._controls(ctrl)
        if not self.na:
            return signals
        with_state = np.array([one.dynamics != "none" for one in self.actuators], dtype=np.bool_)
        state = 0.0 if act is None else finite_array(act, "act", (*_runs(ctrl), self.na), MjcfError)
        signals[..., with_state] = state
        return signals


def _runs(ctrl: ArrayLike) -> tuple[None, ...]:
    """Return the leading axes before the controls of one state: none, or an axis of runs."""
    return (None,) if np.ndim(ctrl) == 2 else ()


def _sums(values: FloatArray, factors: FloatArray) -> FloatArray:
    """Return values @ factors (n, m), summed in order: the same bits for one state as for many."""
    total = np.zeros((*values.shape[:-1], factors.shape[1]))
    for i, row in enumerate(factors):
        total += values[..., i, None] * row
    return total

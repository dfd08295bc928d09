"""Data of a step from the user: applied forces, motions, targets of drives, rows of joints, and external contacts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.collision import ContactError, Material, PowerLaw
from contactlab.collision.material import unit_vector
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.constraints.custom import CustomRows
from contactlab.multibody.spatial.arrays import (
    FloatArray,
    close_names,
    finite_array,
    finite_number,
    is_finite_array,
    read_only,
)
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.kernels.arrays import JointRows, StepWork
from contactlab.simulation.world.errors import SimulationConfigError, whole_number
from contactlab.simulation.world.motion import belt_twist
from contactlab.simulation.world.world import World

#: Function of (time, h) of a step: poses (n, 12) at its start, twists (n, 6) in it, poses at its end; rotations by
#: rows.
Motions = Callable[[float, float], tuple[FloatArray, FloatArray, FloatArray]]


def motion_callback(world: World) -> Motions | None:
    """Return a function (time, h) that gives the kinematic motions, or None if no body is kinematic."""
    if not world.motions:
        return None

    def asked(time: float, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        middle = time + 0.5 * h
        twists = [finite_array(m.twist(middle), "twist", (6,), SimulationConfigError) for _, m in world.motions]
        return motion_poses(world, time), np.array(twists), motion_poses(world, time + h)

    return asked


def motion_poses(world: World, time: float) -> FloatArray:
    """Return the poses (n, 12) of the kinematic bodies at a time."""
    poses = [motion.pose(time) for _, motion in world.motions]
    return np.array([np.append(pose.R.ravel(), pose.p) for pose in poses]).reshape(-1, 12)


def poses_at(world: World, times: FloatArray) -> FloatArray:
    """Return the poses (m, n, 12) of the kinematic bodies at times (m,)."""
    if not world.motions:
        return np.zeros((len(times), 0, 12))
    return np.array([motion_poses(world, time) for time in times]).reshape(len(times), -1, 12)


#: Applied generalized force (nv,) [N, N m]: none, constant, or a function of (time, q, v) called once per step.
Tau = ArrayLike | Callable[[float, FloatArray, FloatArray], ArrayLike] | None


def tau_at(tau: Tau, time: float, q: FloatArray, v: FloatArray) -> FloatArray:
    """Return the applied force (nv,) of a step that begins at (q, v)."""
    value = tau(time, q.copy(), v.copy()) if callable(tau) else np.zeros(v.size) if tau is None else tau
    if is_finite_array(value, v.shape):
        return value
    field = f"tau at time {time:.9g}" if callable(tau) else "tau"
    return finite_array(value, field, v.shape, SimulationConfigError)


NO_DRIVES = "are given for drives, and the world has none: WorldBuilder.add_drive"

#: The return value of a law of all targets: an array (nd,), or numbers by name.
Wanted = Mapping[str, float] | ArrayLike
#: Targets of drives by name, in place of the world's, each a number or a function of the time at the end of the step;
#: or one law for all targets, a function of (time, q, v) at the start of the step.
Targets = (
    Mapping[str, float | Callable[[float], float]]
    | FloatArray
    | Callable[[float, FloatArray, FloatArray], Wanted]
    | None
)


def is_constant(targets: Targets) -> TypeGuard[Wanted | None]:
    """Return True if all targets are numbers, so that no function is called."""
    return not callable(targets) and not (isinstance(targets, Mapping) and any(map(callable, targets.values())))


class StepCallbacks:
    """Calls the user's functions and the kinematic motions for every step of one run.

    They give applied forces, external contacts, targets of drives, and the rows of custom constraints.

    Parameters
    ----------
    world
        The world of the run.
    tau, targets, supply, motions
        See `Tau`, `Targets`, `Supply`, `Motions`.
    """

    def __init__(
        self, world: World, tau: Tau, targets: Targets, supply: Supply | None, motions: Motions | None
    ) -> None:
        self._world, self._tau, self._supply, self._motions = world, tau, supply, motions
        self._constant = np.array([drive.target for drive in world.joint_actions.drives], dtype=np.float64)
        self._number = {str(drive.name): i for i, drive in enumerate(world.joint_actions.drives)}
        self._functions: dict[int, tuple[str, Callable[[float], float]]] = {}
        self._law = targets if callable(targets) else None
        if self._law is not None and not self._constant.size:
            raise SimulationConfigError("targets", NO_DRIVES)
        custom = world.loops.packed.custom if world.joint_actions.loops else ()
        self._custom = tuple((one, CustomRowSupport(world, one)) for one in custom)
        numbers: Any = None if callable(targets) else targets
        if isinstance(targets, Mapping):
            self._functions = {self._drive(name): (name, one) for name, one in targets.items() if callable(one)}
            numbers = {name: one for name, one in targets.items() if not callable(one)}
        self._constant = self.constant_targets(numbers)
        #: whether there is an applied force
        self.with_tau = tau is not None
        # Whether some user code depends on the end of the step.
        self._ends = bool(motions or self._functions or self._custom)
        #: whether user code must be called in every step
        self.needs_callback = callable(tau) or self._law is not None or bool(supply) or self._ends

    def _drive(self, name: str) -> int:
        """Return the number of the drive with this name; raise `SimulationConfigError` if there is none."""
        if name not in self._number:
            if not self._number:
                raise SimulationConfigError("targets", NO_DRIVES)
            detail = f"no drive is called {name!r}{close_names(name, list(self._number))}"
            raise SimulationConfigError("targets", detail)
        return self._number[name]

    def constant_targets(self, targets: Wanted | None, when: str = "") -> FloatArray:
        """Return targets (nd,) given as an array of all or as numbers by name; other drives keep the world's targets.

        ``when`` is appended to the field's name in errors.
        """
        if targets is None:
            return self._constant
        if isinstance(targets, Mapping):
            values = self._constant.copy()
            for name, value in targets.items():
                values[self._drive(name)] = finite_number(value, f"targets[{name!r}]{when}", SimulationConfigError)
            return values
        if not self._number and np.size(targets):
            raise SimulationConfigError(f"targets{when}", NO_DRIVES)
        return finite_array(targets, f"targets{when}", (len(self._number),), SimulationConfigError)

    def write_constants(self, work: StepWork, joints: JointRows | None) -> None:
        """Write the applied force if it is constant, otherwise 0, and the constant targets."""
        work.tau[:] = tau_at(None if callable(self._tau) else self._tau, 0.0, work.q, work.v)
        if joints is not None:
            joints.target[:] = self._constant

    def call_at_start(self, work: StepWork, joints: JointRows | None, time: float, h: float) -> StepWork:
        """Call all user code for the step that begins; return the memory, with the external contacts in it."""
        q, v = work.q, work.v
        if callable(self._tau):
            work.tau[:] = tau_at(self._tau, time, q, v)
        if self._supply is not None:
            ints, floats = self._supply(time, q.copy(), v.copy())
            work = work._replace(external_int=ints, external_float=floats)
        if joints is not None and self._law is not None:
            wanted, when = self._law(time, q.copy(), v.copy()), f" at time {time:.9g}"
            if wanted is None:
                raise SimulationConfigError(f"targets{when}", "must be an array of all or numbers by name, got None")
            joints.target[:] = self.constant_targets(wanted, when)
        if self._ends:
            self.call_at_end(work, joints, time, h)
        return work

    def call_at_end(self, work: StepWork, joints: JointRows | None, time: float, h: float) -> None:
        """Call the user code that depends on the end of the step: motions and targets; and the user's rows."""
        if self._motions is not None:
            pose, twist, after = self._motions(time, h)
            work.motion_pose[:], work.motion_twist[:], work.motion_next[:] = pose, twist, after
            work.belt_twist[:] = belt_twist(pose, after, twist, h)
        if joints is None:
            return
        for number, (name, function) in self._functions.items():
            field = f"targets[{name!r}] at time {time + h:.9g}"
            joints.target[number] = finite_number(function(time + h), field, SimulationConfigError)
        if self._custom:
            self._write_custom_rows(joints, time, h, read_only(work.q.copy()), read_only(work.v.copy()))

    def _write_custom_rows(self, joints: JointRows, time: float, h: float, q: FloatArray, v: FloatArray) -> None:
        """Write the rows of custom constraints at the start of the step."""
        model = self._world.model
        for custom, reach in self._custom:
            G = custom.jacobian(model, q, v, time)
            reach.check(G, time)
            joints.loop_G[custom.rows] = G
            if custom.level == "acceleration":
                # The compiled rows then require G v+ = G v + h gamma.
                joints.loop_rate[custom.rows] = -(G @ v) - h * custom.gamma(model, q, v, time)
                continue
            joints.loop_error[custom.rows] = custom.position_error(model, q, time)
            joints.loop_rate[custom.rows] = custom.velocity_error(model, q, v, time) - G @ v


class CustomRowSupport:
    """Columns in which the rows of a custom constraint must be 0: the columns of trees without any of its bodies."""

    def __init__(self, world: World, custom: CustomRows) -> None:
        self._world, self._custom = world, custom
        own = {tree for row in world.joint_rows if row.loop_row == custom.rows.start for tree in row.trees}
        self._others = np.ones(world.nv, dtype=np.bool_)
        for tree in own:
            self._others[world.tree_starts[tree] : world.tree_starts[tree + 1]] = False

    def check(self, G: FloatArray, time: float) -> None:
        """Raise if the rows act on an undeclared tree, because the step would not solve all their trees together."""
        acts: NDArray[np.bool_] = np.any(G != 0.0, axis=0) & self._others
        if not acts.any():
            return
        model, dof = self._world.model, int(np.flatnonzero(acts)[0])
        body = next(name for name in model.names if model.v_slice(name).start <= dof < model.v_slice(name).stop)
        detail = f"{self._custom.label} acts on {body!r} at time {time:.9g}, whose tree it was not known to be about"
        raise SimulationConfigError("bodies", f"{detail}: name all its bodies, add_loop(..., bodies=)")


#: Contacts of a step: a function of (time, q, v), called once per step.
Contacts = Callable[[float, FloatArray, FloatArray], Iterable["ExternalContact"]] | None

#: The same as rows of `layout`, CONTACT_INTS and CONTACT_FLOATS, in ascending order of id.
Supply = Callable[[float, FloatArray, FloatArray], tuple[NDArray[np.int64], FloatArray]]

#: Columns of a contact table in the rows of `layout`.
INT_COLUMNS = {
    "body_a": layout.BODY_A,
    "body_b": layout.BODY_B,
    "half_space": layout.HALF_SPACE,
    "id": layout.CONTACT_ID,
    "shape_a": layout.SHAPE_A,
    "shape_b": layout.SHAPE_B,
}
FLOAT_COLUMNS: dict[str, int | slice] = {
    "point": slice(layout.POINT, layout.POINT + 3),
    "normal": slice(layout.NORMAL, layout.NORMAL + 3),
    "gap": layout.GAP,
    "mu": layout.MU,
    "restitution": layout.RESTITUTION,
}

EXTERNAL_ID = layout.EXTERNAL_ID
LARGEST_ID = EXTERNAL_ID - 1


@dataclass(frozen=True, eq=False, init=False)
class ExternalContact:
    """A contact that the caller found, between two bodies or between a body and the world.

    Parameters
    ----------
    body_a, body_b
        Names of the bodies; "world" for the world itself.
    point
        (3,) [m], world axes.
    normal
        (3,) world axes, from A into B, of any nonzero length; it is normalised.
    gap
        Distance along the normal [m], negative in an overlap.
    material
        Friction and restitution of the pair, used without combination; a number is only the coefficient of friction.
        The contact is rigid: a material with a stiffness or a law of restitution raises an error.
    id
        Number of the contact for the warm start, the same in every step: 0 to 2^62 - 1, unique in a step. None: its
        index in the sequence.

    Raises
    ------
    SimulationConfigError
        A field is invalid; the error names the field and the value.
    """

    body_a: str
    body_b: str
    point: FloatArray
    normal: FloatArray
    gap: float
    material: Material
    id: int | None

    def __init__(
        self,
        body_a: str,
        body_b: str,
        point: ArrayLike,
        normal: ArrayLike,
        gap: float,
        material: Material | float,
        *,
        id: int | None = None,
    ) -> None:
        for field, name in (("body_a", body_a), ("body_b", body_b)):
            if not isinstance(name, str):
                raise SimulationConfigError(field, f"must be the name of a body or {WORLD!r}, got {name!r}")
        try:
            direction = unit_vector(normal, "normal")
            own = material if isinstance(material, Material) else Material(material)
        except ContactError as error:
            raise SimulationConfigError(error.field, error.detail) from error
        if not math.isinf(own.stiffness):
            raise SimulationConfigError("material", f"must be rigid, got a stiffness of {own.stiffness} N/m")
        if own.torsional > 0.0 or own.rolling > 0.0:
            raise SimulationConfigError("material", "must be without torsional and rolling friction")
        if isinstance(own.restitution, PowerLaw):
            detail = f"must have a number for its restitution, that of its speed, got {own.restitution}"
            raise SimulationConfigError("material", detail)
        self.__dict__.update(
            body_a=body_a,
            body_b=body_b,
            point=read_only(finite_array(point, "point", (3,), SimulationConfigError)),
            normal=read_only(direction),
            gap=finite_number(gap, "gap", SimulationConfigError),
            material=own,
            id=None if id is None else whole_number("id", id, 0, LARGEST_ID),
        )


def contact_supplier(world: World, contacts: Contacts) -> Supply | None:
    """Return a function that gives checked rows of the user's contacts, or None if ``contacts`` is None."""
    if contacts is None:
        return None
    if not callable(contacts):
        detail = f"must be a function of (time, q, v), got {type(contacts).__name__}"
        raise SimulationConfigError("contacts", detail)
    numbers = {WORLD: -1, **{name: i for i, name in enumerate(world.model.names)}}
    # Bodies fixed to the world do not move either.
    moves = {name: number >= 0 and world.body_trees[number] >= 0 for name, number in numbers.items()}

    def supply(time: float, q: FloatArray, v: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        found: dict[int, ExternalContact] = {}
        for place, contact in enumerate(contacts(time, q, v)):
            field = f"contacts at time {time:.9g}"
            if not isinstance(contact, ExternalContact):
                detail = f"entry [{place}] must be an ExternalContact, got {type(contact).__name__}"
                raise SimulationConfigError(field, detail)
            for name in (contact.body_a, contact.body_b):
                if name not in numbers:
                    raise SimulationConfigError(field, f"entry [{place}]: no body is called {name!r}")
            pair = f"{contact.body_a!r} and {contact.body_b!r}"
            if contact.body_a == contact.body_b or not (moves[contact.body_a] or moves[contact.body_b]):
                raise SimulationConfigError(field, f"entry [{place}]: {pair} cannot move against each other")
            number = place if contact.id is None else contact.id
            if number in found:
                raise SimulationConfigError(field, f"entry [{place}]: the id {number} is there twice")
            found[number] = contact
        ints = np.full((len(found), layout.CONTACT_INTS), -1, dtype=np.int64)
        floats = np.zeros((len(found), layout.CONTACT_FLOATS))
        for row, number in enumerate(sorted(found)):
            contact = found[number]
            # The loop requires that B moves.
            turned = not moves[contact.body_b]
            a, b = (contact.body_b, contact.body_a) if turned else (contact.body_a, contact.body_b)
            ints[row, [layout.BODY_A, layout.BODY_B]] = numbers[a], numbers[b]
            ints[row, layout.CONTACT_ID] = EXTERNAL_ID + number
            floats[row, layout.POINT : layout.POINT + 3] = contact.point
            floats[row, layout.NORMAL : layout.NORMAL + 3] = 0.0 - contact.normal if turned else contact.normal
            law: Any = contact.gap, contact.material.mu, contact.material.restitution
            floats[row, [layout.GAP, layout.MU, layout.RESTITUTION]] = law
        return ints, floats

    return supply

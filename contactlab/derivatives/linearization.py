"""The derivative of one step: matrices, the nearby kinks, and the numbers of a world by which it is differentiated."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.constraint_solver.model_problem.drives import Drive
from contactlab.derivatives.kernels import AT_CONE, NEARLY_STICKING, NEXT_EDGE, ON_KINK
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, close_names, finite_array
from contactlab.simulation.stepping.kernels.layout import BODY_A, BODY_B, HALF_SPACE
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.world import StepperState, World

#: The one-sided derivative along a change of the start, and of tau.
Along = Callable[[FloatArray, FloatArray], FloatArray]

#: Reason why a piece ends, by number of `kernels`.
REASONS = (
    "gap at zero: held is given, else it opens",
    "touches without load",
    "hardly loaded, may open",
    "at the cone, may slide",
    "hardly slides, may stick",
    "slips between two directions of the polygon",
    "other features near by, as of parallel faces",
    "forces not selected",
    "at the speed from which it bounces",
    "at the largest force of its row",
    "forces nearly redundant",
    "hardly rolls, its axes of friction jump",
    "friction gives way to a motion that normal forces ask for",
    "depth is undone in the positions",
    "depth is pushed out at the largest speed, or as fast as it bounces",
    "closes its gap without restitution, and bounces with any",
)
#: The same for spin and rolling.
TURNING = (
    {AT_CONE: "at the bound of its spin, may spin", NEARLY_STICKING: "hardly spins, may stick"},
    {
        AT_CONE: "at the bound of its rolling, may roll",
        NEARLY_STICKING: "hardly rolls, may stick",
        NEXT_EDGE: "rolls between two directions of the polygon",
    },
)


@dataclass(frozen=True)
class Kink:
    """A change of the linear piece near a step, at which its derivative ends.

    Attributes
    ----------
    reason
        The change of the piece at the kink.
    contact
        Number of the contact in the step, -1 for none.
    row
        Number of the joint row (`World.joint_rows`), -1 for none.
    label
        The two bodies of the contact, or the name of the row.
    distance
        Distance as a velocity [m/s, rad/s].
    state_distance
        Length of the shortest change of (dq, dv) to the kink, to first order.
    """

    reason: str
    contact: int
    row: int
    label: str
    distance: float
    state_distance: float

    @classmethod
    def of(cls, world: World, number: Sequence[int], touching: Sequence[list[int]], how_far: Sequence[float]) -> Kink:
        """Return a kink from a row ``number`` of the memory and its distances ``how_far``.

        ``touching`` has the integers of the step's contacts.
        """
        reason, place, row, _, cone = number
        if row >= 0:
            label = world.joint_rows[row].label
        else:
            contact = touching[place]
            names = world.model.names
            other = world.half_space_names[contact[HALF_SPACE]] if contact[HALF_SPACE] >= 0 else "given"
            if contact[BODY_A] >= 0:
                other = names[contact[BODY_A]]
            label = f"{names[contact[BODY_B]]} on {other}"
        words = REASONS[reason] if cone == 0 else TURNING[cone - 1].get(reason, REASONS[reason])
        return cls(words, place, row, label, how_far[0], how_far[1])


@dataclass(frozen=True, eq=False)
class NearbyKinks:
    """The kinks near a step, as arrays; `Kink` values are made on request."""

    world: World
    numbers: NDArray[np.int64]  # (k, 5): reason, contact, joint row, neighbour, cone
    touching: NDArray[np.int64]  # (nc, columns) of the step's contacts
    distances: FloatArray  # (k, 3)

    def kinks(self) -> tuple[Kink, ...]:
        """Return the kinks, the closest first."""
        order = np.argsort(self.distances[:, 1], kind="stable")
        touching, far = self.touching.tolist(), self.distances.tolist()
        numbers = self.numbers.tolist()
        return tuple(Kink.of(self.world, numbers[i], touching, far[i]) for i in order)


@dataclass(frozen=True, eq=False)
class Linearization:
    """The derivative of one step: of (dq, dv) at its end, with dq along `integrate`, and dv the change of v.

    Attributes
    ----------
    A
        (2 nv, 2 nv) by (dq, dv) at its start.
    B
        (2 nv, nv) by the applied force tau.
    targets
        (2 nv, n drives) by the drives' targets.
    parameters
        By name, (2 nv,) by each parameter of ``wrt``.
    forces
        (nc, 3, columns) of the contact forces on bodies B [N], in world axes, in the order of the step's contacts;
        columns by (dq, dv), tau, targets and parameters, in this order. Moments are not included.
    joint_forces
        (nj, columns) of the forces of the active joint rows, in the order of the step's `joint_rows`: of a stop, away
        from it; of other rows, along the coordinate.
    next
        The state at its end.
    """

    A: FloatArray
    B: FloatArray
    targets: FloatArray
    parameters: Mapping[str, FloatArray]
    forces: FloatArray
    joint_forces: FloatArray
    next: StepperState
    _near: NearbyKinks = field(repr=False)
    _along: Along = field(repr=False)

    @functools.cached_property
    def kinks(self) -> tuple[Kink, ...]:
        """Return the kinks within 1e-4 of the state, the closest first."""
        return self._near.kinks()

    @property
    def unique(self) -> bool:
        """Return True if all one-sided derivatives are equal: there is no kink within 1e-6 of the state."""
        return not bool((self._near.distances[:, 1] <= ON_KINK).any())

    def jvp(self, dx: ArrayLike, du: ArrayLike | None = None) -> FloatArray:
        """Return A dx + B du: the change (2 nv,) at the end for changes of the start (2 nv,) and of tau (nv,)."""
        n, nv = self.B.shape
        change = self.A @ finite_array(dx, "dx", (n,), SimulationConfigError)
        return change if du is None else change + self.B @ finite_array(du, "du", (nv,), SimulationConfigError)

    def directional(self, dx: ArrayLike, du: ArrayLike | None = None) -> FloatArray:
        """Return the one-sided derivative (2 nv,) along a change of the start (2 nv,) and of tau (nv,).

        It is the derivative of the step from x + t dx as t goes to 0 from above. A small complementarity problem
        decides which kinks at the state dx crosses. If the state is on no kink, the result is ``jvp(dx, du)``. Jumps,
        features of shapes and forces that are not selected are not part of that problem: for these the present piece
        counts.

        Raises
        ------
        SimulationConfigError
            No solution was found, for example because forces would be unbounded.
        """
        n, nv = self.B.shape
        dx = finite_array(dx, "dx", (n,), SimulationConfigError)
        du = np.zeros(nv) if du is None else finite_array(du, "du", (nv,), SimulationConfigError)
        return self.jvp(dx, du) if self.unique else self._along(dx, du)

    def vjp(self, w: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return A^T w and B^T w: the gradients by (dq, dv) at the start and by tau, for w (2 nv,) at the end."""
        w = finite_array(w, "w", (self.B.shape[0],), SimulationConfigError)
        return np.asarray(self.A.T @ w), np.asarray(self.B.T @ w)


#: All bodies and half-spaces together.
ALL = "*"
MATERIAL = ("mu", "restitution", "stiffness", "dissipation", "torsional", "rolling")
INERTIAL = ("mass", "com_x", "com_y", "com_z", "I_xx", "I_yy", "I_zz", "I_xy", "I_xz", "I_yz")
JOINT = ("damping", "friction")
_NUMBERS = [one.name for kind in get_args(Drive) for one in fields(kind) if one.type == "float"]
DRIVE = tuple(dict.fromkeys(name for name in _NUMBERS if name != "target"))
_PLACES = {"x": 0, "y": 1, "z": 2}


#: Place of a number in a world: names of fields, indices of tuples, and the last place in an array.
Path = tuple[Any, ...]


@dataclass(frozen=True)
class Parameter:
    """A number of a world by which its motion can be differentiated, and which can be fitted.

    Attributes
    ----------
    name
        Its name in derivatives.
    value
        Its value in the world.
    world
        Function that returns the world with another value. Only numbers may change: masses and inertias, materials,
        gains, bounds, gravity; not the positions of bodies and surfaces.
    scale
        Unit of its changes.
    """

    name: str
    value: float
    world: Callable[[float], World]
    scale: float = 1.0


def parameter(world: World, name: str) -> Parameter:
    """Return a number of a world by its name, ``"owner.quantity"``.

    ========================================  =================================================================
    owner                                     quantities
    ========================================  =================================================================
    a body or half-space, ``*`` for all       ``mu``, ``restitution``, ``stiffness``, ``dissipation``,
                                              ``torsional``, ``rolling``: of its surfaces, which have one in
                                              common
    a body                                    ``mass``, ``com_x`` ... [m, body axes], ``I_xx`` ... ``I_yz``
                                              [kg m^2, about the centre of mass]: one at a time, the others held
    a body or joint                           ``damping``, ``friction`` of the joint that moves it
    a drive                                   ``stiffness``, ``damping``, ``max_force``, ``target_velocity``
    ``gravity``                               ``x``, ``y``, ``z`` [m/s^2]
    ========================================  =================================================================

    Raises
    ------
    SimulationConfigError
        The name is unknown, or the number has no unique value.
    """
    owner, _, quantity = name.rpartition(".")
    model, actions = world.model, world.joint_actions
    drives = [str(drive.name) for drive in actions.drives]
    known = [*model.names, *world.half_space_names]
    scale, none = math.nan, ""
    paths: list[Path]
    if owner == "gravity" and quantity in _PLACES:
        scale, paths = 9.81, [("model", "gravity", _PLACES[quantity])]
    elif owner in drives and quantity in DRIVE:
        number = drives.index(owner)
        if not hasattr(actions.drives[number], quantity):
            kind = type(actions.drives[number]).__name__
            raise SimulationConfigError("wrt", f"{name!r}: a {kind} has no {quantity}")
        paths = [("joint_actions", "drives", number, quantity)]
    elif quantity in MATERIAL and owner in (*known, ALL):
        bodies = [model.names[body] for body in world.surface_bodies]
        paths = [("surfaces", i, "material", quantity) for i, one in enumerate(bodies) if owner in (ALL, one)]
        grounds = enumerate(world.half_space_names)
        paths += [("half_space_materials", i, quantity) for i, one in grounds if owner in (ALL, one)]
        none = f"{owner!r} has no surface"
    elif quantity in INERTIAL and owner in model.names:
        scale, paths = _inertial(world, name, model.names.index(owner), quantity)
    elif quantity in JOINT:
        try:
            moved = model.body_of_joint(owner)
        except MultibodyError as error:
            raise SimulationConfigError("wrt", f"{name!r}: {error.detail}") from error
        entries = enumerate(getattr(actions, quantity))
        paths = [("joint_actions", quantity, i, "value") for i, one in entries if one.body == moved]
        none = f"{owner!r} has none: add_joint_{quantity} gives it one"
    elif owner not in (*known, *drives):
        names = close_names(owner, [*known, *drives])
        raise SimulationConfigError("wrt", f"{name!r} names no body, half-space or drive{names}")
    else:
        every = ", ".join(dict.fromkeys((*MATERIAL, *INERTIAL, *JOINT, *DRIVE)))
        raise SimulationConfigError("wrt", f"{name!r} has the unknown quantity {quantity!r}; known are {every}")
    value = _finite(name, {functools.reduce(_entry, path, world) for path in paths}, none)
    if math.isnan(scale):
        scale = max(abs(value), 0.1) if quantity in MATERIAL else abs(value) or 1.0
    return Parameter(name, value, functools.partial(_with_entries, world, paths), scale)


def _inertial(world: World, name: str, number: int, quantity: str) -> tuple[float, list[Path]]:
    """Return scale and places of a body's mass, or of an entry of its centre of mass or its inertia."""
    inertia = world.model.bodies[number].inertia
    if inertia is None or not inertia.mass > 0.0:
        raise SimulationConfigError("wrt", f"{name!r}: {world.model.names[number]!r} has no mass")
    own, trace = ("model", "bodies", number, "inertia"), float(np.trace(inertia.inertia))
    if quantity == "mass":
        return inertia.mass, [(*own, "mass")]
    part, _, axes = quantity.partition("_")
    places = [_PLACES[axis] for axis in axes]
    if part == "com":
        return math.sqrt(trace / inertia.mass) or 1.0, [(*own, "com", *places)]
    return trace or 1.0, [(*own, "inertia", pair) for pair in {tuple(places), tuple(places[::-1])}]


def _entry(owner: Any, place: Any) -> Any:
    """Return a field of a dataclass, or an entry of a tuple or an array."""
    return getattr(owner, place) if isinstance(place, str) else owner[place]


def _with_entries(owner: Any, paths: Sequence[Path], value: float) -> Any:
    """Return a copy of a dataclass, tuple or array with another value at some places."""
    if paths[0] == ():
        return value
    heads = dict.fromkeys(path[0] for path in paths)
    inside = {place: [path[1:] for path in paths if path[0] == place] for place in heads}
    new = {place: _with_entries(_entry(owner, place), inside[place], value) for place in heads}
    if isinstance(owner, tuple):
        return tuple(new.get(i, one) for i, one in enumerate(owner))
    if not isinstance(owner, np.ndarray):
        return replace(owner, **new)
    changed = owner.copy()
    for place, entry in new.items():
        changed[place] = entry
    return changed


def _finite(name: str, values: set[Any], none: str) -> float:
    """Return the only value; raise with the text ``none`` if there is none, and for several or infinite values."""
    if len(values) != 1:
        owner = name.rpartition(".")[0]
        detail = f"{owner!r} has several: {sorted(values, key=str)}" if values else none
        raise SimulationConfigError("wrt", f"{name!r}: {detail}")
    value = values.pop()
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise SimulationConfigError("wrt", f"{name!r} is {value!r}, not finite")
    return float(value)

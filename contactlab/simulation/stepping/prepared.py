"""Worlds, steppers and states for the compiled loop: checked and packed; states moved from world to world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.arguments import check_configuration, check_velocity
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import Motions, motion_callback
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.kernels.arrays import (
    Arrays,
    ArrayTuple,
    BatchState,
    Collision,
    JointRows,
    MomentFriction,
    PackedWorld,
)
from contactlab.simulation.stepping.packing import all_joints, pack_collision, pack_moments, pack_world
from contactlab.simulation.world.errors import SimulationConfigError, check_type
from contactlab.simulation.world.world import NO_IDS, NO_PAIRS, StepperState, World


def sleeping_tree_count(world: World, stepper: TimeStepping) -> int:
    """Return the number of trees that may sleep: all of them, or none."""
    return 0 if stepper.sleep is None else world.tree_starts.size - 1


class WorldArrays(NamedTuple):
    """The arrays of a world for kernels. They are writable only for the compiler: never modify them."""

    packed: PackedWorld  # trees, support points, half-spaces, materials
    collision: Collision | None  # the shapes that can touch one another, None if no two can
    joints: JointRows | None  # actions on joints, None if there are none
    moments: MomentFriction | None  # torsional and rolling friction, None if no surface has any


class StateArrays(ArrayTuple):
    """Arrays with the state of one run, of a driver or of a slot in a batch. Scalars are arrays (1,)."""

    # The first three are scalars. The fields `rest` and `previous_tau` have no entries if nothing sleeps.
    arrays: ClassVar[Arrays] = dict(list(BatchState.arrays.items())[:11])

    def write(self, state: StepperState, q: FloatArray, v: FloatArray) -> None:
        """Write a state whose contacts fit; q and v come from `checked_state`."""
        count = state.contact_ids.size
        self.time[0], self.last_h[0], self.contacts[0] = state.time, state.h, count
        self.q[:], self.v[:] = q, v
        if count:
            self.contact_id[:count], self.contact_z[:count] = state.contact_ids, state.z
        if self.was_active.size:
            self.was_active[:] = 0
            self.was_active[state.row_ids], self.row_z[state.row_ids] = 1, state.row_z
        for own, given in ((self.rest, state.rest), (self.previous_tau, state.tau)):
            if own.size:
                own[:] = given if given.size else 0.0

    def read(self) -> StepperState:
        """Return the state, as copies."""
        count, row_ids = int(self.contacts.item()), np.flatnonzero(self.was_active) if self.was_active.size else NO_IDS
        return StepperState.of_run(
            self.time.item(),
            self.last_h.item(),
            q=self.q,
            v=self.v,
            contact_ids=self.contact_id[:count],
            z=self.contact_z[:count],
            row_ids=row_ids,
            row_z=self.row_z[row_ids] if row_ids.size else NO_PAIRS,
            rest=self.rest,
            tau=self.previous_tau,
        )


# A world never changes, so its arrays are made once, and kept as long as it exists.
_ARRAYS: WeakKeyDictionary[World, WorldArrays] = WeakKeyDictionary()


def world_arrays(world: World) -> WorldArrays:
    """Return the arrays of a world; they are made once."""
    arrays = _ARRAYS.get(world)
    if arrays is None:
        joints = None if world.joint_actions.is_empty else all_joints(world)
        arrays = _ARRAYS[world] = WorldArrays(pack_world(world), pack_collision(world), joints, pack_moments(world))
    return arrays


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data of a run that do not depend on its start; made by `prepare`.

    Attributes
    ----------
    world, stepper
        The world, and its stepper with the thresholds of this world.
    arrays
        Arrays of the world.
    motions
        The motions of the kinematic bodies, None without such bodies.
    """

    world: World
    stepper: TimeStepping
    arrays: WorldArrays
    motions: Motions | None


def prepare(world: World, stepper: TimeStepping) -> Prepared:
    """Check and pack a world and a stepper; raise `SimulationConfigError` if they do not fit together."""
    stepper.check_world(world)
    return Prepared(world, stepper.in_world(world), world_arrays(world), motion_callback(world))


def check_run(world: object, stepper: object, state: object = None) -> None:
    """Raise if a world, stepper or state (None: the world's own) has the wrong type; the error says how to make one."""
    if type(world) is World and type(stepper) is TimeStepping and type(state) is StepperState:
        return
    made = {"world": "`WorldBuilder.build()`", "stepper": "`TimeStepping(h=...)`", "state": "`World.initial_state()`"}
    values = {"world": (world, World), "stepper": (stepper, TimeStepping), "state": (state, StepperState)}
    for field, (value, wanted) in values.items():
        if isinstance(value, wanted) or (field == "state" and value is None):
            continue
        more = f": {made[field]} makes one"
        if field == "stepper" and hasattr(value, "run"):
            raise SimulationConfigError(field, "is event-driven: call stepper.run(world, duration)")
        if field == "state" and isinstance(getattr(value, "state", None), StepperState):
            more = ": take its `state`"
        elif hasattr(value, "build"):
            more = ": call its `build()`"
        raise SimulationConfigError(field, f"must be a {wanted.__name__}, got {type(value).__name__}{more}")


def layout_difference(one: Prepared, other: Prepared) -> str:
    """Return the property in which two worlds need different memory, or an empty string.

    Masses, materials, gravity, gains, sizes of shapes and the like may differ.
    """
    left, right = _memory_properties(one), _memory_properties(other)
    return next((name for name in left if left[name] != right[name]), "")


def _memory_properties(prepared: Prepared) -> dict[str, object]:
    """Return the properties of a world on which the memory of its runs depends, by name."""
    world, arrays = prepared.world, prepared.arrays
    surfaces = zip(world.surface_bodies, world.surfaces, strict=True)
    return {
        "bodies": world.model.names,
        "joints": arrays.packed.ints.tolist(),
        "half-spaces": world.half_space_names,
        "surfaces": [(int(body), type(one.shape), len(one.support_points()[1])) for body, one in surfaces],
        "kinematic bodies": arrays.packed.motion.tolist(),
        "shapes that can touch one another": arrays.collision is None,
        "drives": [drive.name for drive in world.joint_actions.drives],
        "rows of joints": [(row.kind, row.trees, row.loop_row) for row in world.joint_rows],
        "damping of joints": arrays.joints is None,
        "torsional and rolling friction": arrays.moments is None,
        "plane": world.plane is None,
    }


def lcp_variables_per_contact(edges: int, moments: bool) -> int:
    """Return the number of LCP variables of one contact: fN, edges/2 of fF+ and of fF-, lambda; and of moments."""
    return 2 + edges + (4 + edges if moments else 0)


def checked_state(prepared: Prepared, state: StepperState, field: str = "state") -> tuple[FloatArray, FloatArray]:
    """Return copies of q and v of a state; raise `SimulationConfigError` if a run cannot start from it.

    ``field`` is the field's name in the error.
    """
    check_type(field, state, StepperState)
    world, edges = prepared.world, prepared.stepper.edges_in(prepared.world)
    width = lcp_variables_per_contact(edges, prepared.arrays.moments is not None)
    if state.contact_ids.size and state.z.shape[1] != width:
        detail = f"has {state.z.shape[1]} variables per contact, {edges} edges need {width}; see without_warm_start()"
        raise SimulationConfigError(f"{field}.z", detail)
    ids, rows = state.row_ids, len(world.joint_rows)
    if prepared.arrays.joints is not None and np.any((ids < 0) | (ids >= rows)):
        detail = f"the world has rows 0 .. {rows - 1}, got {ids.max()}; see without_warm_start()"
        raise SimulationConfigError(f"{field}.row_ids", detail)
    if prepared.stepper.sleep is not None:
        for name, own in (("rest", sleeping_tree_count(world, prepared.stepper)), ("tau", world.nv)):
            given = getattr(state, name).size
            if given not in (0, own):
                raise SimulationConfigError(f"{field}.{name}", f"has {given} entries, the world {own}")
    try:
        return check_configuration(world.model, state.q), check_velocity(world.model, state.v)
    except MultibodyError as error:
        raise SimulationConfigError(f"{field}.{error.field}", error.detail) from error


IntArray = NDArray[np.int64]
_PART = (1 << layout.ID_BITS) - 1


def transfer_state(state: StepperState, old_world: World, new_world: World) -> StepperState:
    """Return the state of a world as a start in another world, in which bodies were added, removed or fixed.

    Bodies that both worlds have, with the same name and kind of joint, keep their q and v; others begin as in the new
    world. Time and step stay. The warm start stays for contacts between the same shapes of the same bodies and
    half-spaces. It also stays for stops, drives, dry friction, followers and loops of the same names. Sleeping islands
    wake. Targets of drives belong to a world, not to a state.

    Parameters
    ----------
    state
        Of the old world, ``run.state``.
    old_world, new_world
        In any order of bodies; no names need be common.

    Returns
    -------
    StepperState
        For ``Simulation(new_world, stepper, state)``, or any other run from a state.

    Raises
    ------
    SimulationConfigError
        The state does not fit the old world.
    """
    check_type("state", state, StepperState)
    try:
        old_q = check_configuration(old_world.model, state.q)
        old_v = check_velocity(old_world.model, state.v)
    except MultibodyError as error:
        raise SimulationConfigError(f"state.{error.field}", f"is none of old_world: {error.detail}") from error
    old, new = old_world.model, new_world.model
    q, v = new_world.initial_q.copy(), new_world.initial_v.copy()
    known = {body.name: type(body.joint) for body in old.bodies}
    for body in new.bodies:
        name = body.name
        if known.get(name) is type(body.joint) and _sizes(old_world, name) == _sizes(new_world, name):
            q[new.q_slice(name)], v[new.v_slice(name)] = old_q[old.q_slice(name)], old_v[old.v_slice(name)]
    ids, z = state.contact_ids, state.z
    if old_world.has_moment_friction != new_world.has_moment_friction:
        # Their contacts have another number of variables.
        ids, z = ids[:0], z[:0]
    ids, z = _kept(_contact_ids(ids, old_world, new_world), z)
    rows = _numbers(map(_row_key, old_world.joint_rows), map(_row_key, new_world.joint_rows))
    row_ids, row_z = _kept(rows[state.row_ids], state.row_z)
    return StepperState(q, v, state.time, state.h, contact_ids=ids, z=z, row_ids=row_ids, row_z=row_z)


def _sizes(world: World, body: str) -> tuple[int, int]:
    q, v = world.model.q_slice(body), world.model.v_slice(body)
    return q.stop - q.start, v.stop - v.start


def _row_key(row: Any) -> Hashable:
    return row.kind, row.label, row.sign


def _kept(numbers: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the new numbers of contacts or rows that both worlds have, ascending, with their values.

    An entry of ``numbers`` is `_NONE` if the new world does not have the contact or row.
    """
    there = np.flatnonzero(numbers != _NONE)
    order = there[np.argsort(numbers[there])]
    return numbers[order], values[order]


# Number of anything that the new world does not have; not a contact id.
_NONE = np.iinfo(np.int64).max


def _numbers(old: Iterable[Hashable], new: Iterable[Hashable]) -> IntArray:
    """Return the new number of each old key; equal keys are matched in order; `_NONE` if there is none."""
    places = {key: i for i, key in enumerate(_counted(new))}
    return np.array([places.get(key, _NONE) for key in _counted(old)], dtype=np.int64)


def _counted(keys: Iterable[Hashable]) -> Iterable[Hashable]:
    """Yield pairs of each key and the number of equal keys before it, which are unique."""
    seen: Counter[Hashable] = Counter()
    for key in keys:
        yield key, seen[key]
        seen[key] += 1


def _contact_ids(ids: IntArray, old: World, new: World) -> IntArray:
    """Return the ids of contacts in another world (`docs/notation.md`), `_NONE` if it does not have them."""
    found = ids.copy()
    external = ids >= layout.EXTERNAL_ID
    bodies, shapes = _numbers(_body_keys(old), _body_keys(new)), _numbers(_shape_keys(old), _shape_keys(new))
    half_spaces = _numbers(old.half_space_names, new.half_space_names)
    with_half_space = np.flatnonzero((ids >= 0) & ~external)
    own = ids[with_half_space]
    bits = layout.ID_BITS
    body = bodies[own >> 2 * bits]
    ground = half_spaces[(own >> bits) & _PART]
    there = (body != _NONE) & (ground != _NONE)
    named = (np.where(there, body, 0) << 2 * bits) | (np.where(there, ground, 0) << bits) | (own & _PART)
    found[with_half_space] = np.where(there, named, _NONE)
    # Between shapes: if their order changes, features differ and the normal is opposite.
    between = np.flatnonzero(ids < 0)
    code = ids[between] - np.int64(layout.LOWEST_ID)
    i, j = np.divmod(code >> layout.FEATURE_BITS, max(shapes.size, 1))
    first, second = shapes[i], shapes[j]
    there = (first < second) & (second != _NONE)
    pair = np.where(there, first, 0) * (len(new.surfaces) + len(new.half_spaces)) + np.where(there, second, 0)
    feature = code & np.int64((1 << layout.FEATURE_BITS) - 1)
    found[between] = np.where(there, np.int64(layout.LOWEST_ID) + (pair << layout.FEATURE_BITS) + feature, _NONE)
    return found


def _body_keys(world: World) -> list[Hashable]:
    """Return the names of bodies, with the numbering of their support points."""
    parts: dict[int, list[Hashable]] = {}
    for body, surface in zip(world.surface_bodies, world.surfaces, strict=True):
        parts.setdefault(body, []).append((type(surface.shape), len(surface.support_points()[1])))
    return [(name, tuple(parts.get(b, ()))) for b, name in enumerate(world.model.names)]


def _shape_keys(world: World) -> list[Hashable]:
    """Return a key for each shape: (body name, kind) for shapes of bodies, then the names of the half-spaces.

    Shapes of one kind on one body have the same key.
    """
    names = world.model.names
    own = zip(world.surface_bodies, world.surfaces, strict=True)
    keys: list[Hashable] = [(names[body], type(surface.shape)) for body, surface in own]
    return [*keys, *world.half_space_names]

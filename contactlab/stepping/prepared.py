"""A world and a stepper prepared for the compiled loop: checked, and packed once for each world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from contactlab.multibody.arguments import check_configuration, check_velocity
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.errors import MultibodyError
from contactlab.stepping.callbacks import Motions, motion_callback
from contactlab.stepping.kernels.batch_layout import BatchState
from contactlab.stepping.kernels.layout import Arrays, ArrayTuple, Collision, JointRows, MomentFriction, PackedWorld
from contactlab.stepping.packing import all_joints, pack_collision, pack_moments, pack_world
from contactlab.stepping.world_numbers import sleeping_tree_count
from contactlab.world.errors import SimulationConfigError, check_type
from contactlab.world.state import NO_IDS, NO_PAIRS, StepperState

if TYPE_CHECKING:
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World


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

    def copy_from(self, other: StateArrays) -> None:
        """Copy the state of other arrays, whose contacts fit."""
        count = int(other.contacts.item())
        for name, own, given in zip(self._fields, self, other, strict=True):
            part = slice(count if name.startswith("contact_") else None)
            if own.size:
                own[part] = given[part]


# A world never changes, so its arrays are made once, and live as long as it.
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
    edges
        Edges of the friction pyramid, and of the tangents of a cone.
    sleepers
        Number of trees that may sleep: all, or none.
    """

    world: World
    stepper: TimeStepping
    arrays: WorldArrays
    motions: Motions | None
    edges: int
    sleepers: int


def prepare(world: World, stepper: TimeStepping) -> Prepared:
    """Check and pack a world and a stepper; raise `SimulationConfigError` if they do not fit together."""
    stepper.check_world(world)
    stepper = stepper.in_world(world)
    edges = stepper.edges_in(world)
    return Prepared(
        world, stepper, world_arrays(world), motion_callback(world), edges, sleeping_tree_count(world, stepper)
    )


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
    world, edges = prepared.world, prepared.edges
    width = lcp_variables_per_contact(edges, prepared.arrays.moments is not None)
    if state.contact_ids.size and state.z.shape[1] != width:
        detail = f"has {state.z.shape[1]} variables per contact, {edges} edges need {width}; see without_warm_start()"
        raise SimulationConfigError(f"{field}.z", detail)
    ids, rows = state.row_ids, len(world.joint_rows)
    if prepared.arrays.joints is not None and np.any((ids < 0) | (ids >= rows)):
        detail = f"the world has rows 0 .. {rows - 1}, got {ids.max()}; see without_warm_start()"
        raise SimulationConfigError(f"{field}.row_ids", detail)
    if prepared.stepper.sleep is not None:
        for name, own in (("rest", prepared.sleepers), ("tau", world.nv)):
            given = getattr(state, name).size
            if given not in (0, own):
                raise SimulationConfigError(f"{field}.{name}", f"has {given} entries, the world {own}")
    try:
        return check_configuration(world.model, state.q), check_velocity(world.model, state.v)
    except MultibodyError as error:
        raise SimulationConfigError(f"{field}.{error.field}", error.detail) from error

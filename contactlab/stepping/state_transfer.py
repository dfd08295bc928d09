"""Transfer of a state from one world to another by names: bodies are added, removed or fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody import MultibodyError
from contactlab.multibody.arguments import check_configuration, check_velocity
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.kernels import layout
from contactlab.stepping.kernels.layout import FEATURE_BITS, LOWEST_ID
from contactlab.world.errors import SimulationConfigError, check_type
from contactlab.world.state import StepperState

if TYPE_CHECKING:
    from contactlab.world.world import World

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
    code = ids[between] - np.int64(LOWEST_ID)
    i, j = np.divmod(code >> FEATURE_BITS, max(shapes.size, 1))
    first, second = shapes[i], shapes[j]
    there = (first < second) & (second != _NONE)
    pair = np.where(there, first, 0) * (len(new.surfaces) + len(new.half_spaces)) + np.where(there, second, 0)
    feature = code & np.int64((1 << FEATURE_BITS) - 1)
    found[between] = np.where(there, np.int64(LOWEST_ID) + (pair << FEATURE_BITS) + feature, _NONE)
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

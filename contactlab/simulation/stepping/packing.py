"""A world as the arrays of the compiled loop: its bodies, its shapes that can touch, its joint rows."""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import fields
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from contactlab.collision import Material, combine, combine_compliance, combine_moments
from contactlab.collision.material import law_numbers
from contactlab.multibody.constraints.kernels import SCRATCH
from contactlab.multibody.kernels import PRISMATIC, TRANSLATION
from contactlab.multibody.model import motions, structure, world_mass
from contactlab.multibody.packing import pack
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.stepping.kernels.arrays import Collision, JointRows, MomentFriction, PackedWorld
from contactlab.simulation.stepping.kernels.layout import (
    BODY_INTS,
    FREE_ALONE,
    FREE_EULER,
    FREE_INT,
    FREE_INT_END,
    FREE_KICKED,
    MAX_SHAPES,
    Record,
    Spring,
)
from contactlab.simulation.world.collision_filter import build_collision_filter, may_touch_half_space
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.joint_actions import JointRow
from contactlab.simulation.world.world import World

__all__ = [
    "FREE_ALONE",
    "FREE_EULER",
    "all_joints",
    "as_array",
    "free_kinds",
    "free_size",
    "grow_collision",
    "grow_joints",
    "new_collision",
    "new_joints",
    "new_record",
    "pack_collision",
    "pack_moments",
    "pack_world",
    "touching_materials",
]

R = TypeVar("R", bound=Record)


@functools.cache
def _joint_row_type() -> np.dtype[np.void]:
    """Return the data type of the numbers of joint rows, cached: kernels are dispatched by the object."""
    numbers = {one.name: str(one.type) for one in fields(JointRow) if one.type in ("int", "float")}
    return np.dtype((np.record, list({"kind": "int", "rank": "int", **numbers}.items())))


def new_record(kind: type[R]) -> R:
    """Return a record of a kind, all zero."""
    record: R = np.zeros(1, dtype=kind.dtype)[0]
    return record


def as_array(record: Any) -> NDArray[Any]:
    """Return the array of length one that holds a record of `new_record`."""
    array: NDArray[Any] = record.base
    return array


def records_of(dtype: np.dtype[np.void], values: Iterable[object]) -> NDArray[Any]:
    """Return records (n,) from attributes of their fields' names; 0 if one is missing."""
    return np.array([tuple(getattr(value, name, 0) for name in dtype.names or ()) for value in values], dtype=dtype)


def _motion_rows(world: World) -> IntArray:
    """Return the row of each body (nb,) among the kinematic ones, -1 for any other."""
    rows = np.full(world.model.nb, -1, dtype=np.int64)
    rows[[body for body, _ in world.motions]] = np.arange(len(world.motions))
    return rows


def pack_world(world: World) -> PackedWorld:
    """Pack a checked world. The arrays are writable only for the compiler: never modify them."""
    model, nb = world.model, world.model.nb
    parent, root, iv, dof_parent, dof_link, body_link = structure(model)
    first, roots = model.tree_starts, np.append(np.flatnonzero(parent < 0), parent.size)
    blocks = np.concatenate(([0], np.cumsum(np.diff(first) ** 2)))
    tree_of_body = model.body_trees
    bodies = [
        (tree, root[link], iv[link + 1] - 1) if link >= 0 else (-1, -1, -1)
        for tree, link in zip(tree_of_body, body_link, strict=True)
    ]
    begins = first[np.searchsorted(roots, dof_link, side="right") - 1]
    supports = [surface.support_points() for surface in world.surfaces]
    counts = np.zeros(nb, dtype=np.int64)
    np.add.at(counts, list(world.surface_bodies), [len(radii) for _, radii in supports])
    pairs = [[combine(ground, own.material)[0] for ground in world.half_space_materials] for own in world.surfaces]
    material, (stiffness, dissipation) = material_pairs(world, combine_compliance)
    pair_array = np.array(pairs, dtype=np.float64).reshape(len(world.surfaces), len(world.half_spaces))
    for i, s in np.ndindex(pair_array.shape):
        if not may_touch_half_space(world, i, s):
            pair_array[i, s] = -1.0
    return PackedWorld(
        ints=model.packed.ints,
        floats=model.packed.floats,
        fixed=world_mass(model).copy(),
        trees=np.stack((roots, first, blocks), axis=1).astype(np.int64),
        bodies=np.array(bodies, dtype=np.int64).reshape(nb, BODY_INTS),
        dof_parent=dof_parent,
        branch=np.where(dof_parent < 0, -1, dof_parent - begins).astype(np.int64),
        point_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        points=np.array([p for points, _ in supports for p in points], dtype=np.float64).reshape(-1, 3),
        radii=np.array([radius for _, radii in supports for radius in radii], dtype=np.float64),
        normals=np.array([half_space.normal for half_space in world.half_spaces]).reshape(-1, 3).copy(),
        offsets=np.array([half_space.offset for half_space in world.half_spaces], dtype=np.float64),
        point_shape=np.repeat(np.arange(len(supports)), [len(radii) for _, radii in supports]).astype(np.int64),
        pair_mu=pair_array,
        plane=np.zeros(3) if world.plane is None else world.plane.copy(),
        motion=_motion_rows(world),
        material=material,
        restitution=np.array([law_numbers(one.restitution) for one in different_materials(world)]).reshape(
            -1, law_numbers(0.0).size
        ),
        stiffness=stiffness,
        dissipation=dissipation,
        extent=_with_least(world.extents.min_width),
        longest=_with_least(world.extents.max_length),
        shifting=_shifting(world),
        **pack_free_trees(world),
    )


def _shifting(world: World) -> FloatArray:
    """Return per velocity (nv,): 1 / m for shifts of single free bodies, -1 for their turns, 0 for all others."""
    out = np.zeros(world.nv)
    for spec, tree in zip(world.model.bodies, world.body_trees, strict=True):
        if tree < 0 or np.count_nonzero(world.body_trees == tree) > 1 or spec.inertia is None:
            continue
        own = np.concatenate([_shifts(motion) for motion in spec.joint.chain()] or [np.zeros(0, dtype=bool)])
        if np.count_nonzero(own) == (3 if world.plane is None else 2):
            first = int(world.tree_starts[tree])
            out[first : first + own.size] = np.where(own, 1.0 / spec.inertia.mass, -1.0)
    return out


def _shifts(motion: Any) -> NDArray[np.bool_]:
    """Return True for velocities (nv,) of an elementary motion that are shifts: three of a floating base, or all."""
    straight = motion.nv - 3 if motion.nq in (4, 7) else motion.nv
    is_shift = motion.nq in (3, 7) or bool(motion.t.any() and not motion.w.any())
    return np.arange(motion.nv) < (straight if is_shift else 0)


def _with_least(sizes: FloatArray) -> FloatArray:
    """Append to sizes of shapes the value for contacts without a known shape: the minimum, or 1 m."""
    least = float(np.min(sizes, initial=math.inf))
    return np.append(sizes, least if math.isfinite(least) else 1.0)


def pack_moments(world: World) -> MomentFriction | None:
    """Pack the lengths of torsional and rolling friction; return None if no surface resists turning."""
    if not world.has_moment_friction:
        return None
    _, (torsional, rolling) = material_pairs(world, combine_moments)
    if world.plane is not None:
        torsional = np.zeros_like(torsional)  # in the plane there is no spin
    return MomentFriction(torsional, rolling, axes=np.zeros((0, 3)))


def different_materials(world: World) -> list[Material]:
    """Return the materials of a world by their number."""
    return list(dict.fromkeys([*(surface.material for surface in world.surfaces), *world.half_space_materials]))


def material_pairs(
    world: World, combined: Callable[[Material, Material], tuple[float, float]]
) -> tuple[IntArray, FloatArray]:
    """Number the n different materials; return the number of each surface's, and two coefficients by pair (2, n, n).

    Half-spaces follow the surfaces. ``combined`` returns the two coefficients of a pair of materials.
    """
    materials = [*(surface.material for surface in world.surfaces), *world.half_space_materials]
    different = different_materials(world)
    number = {material: i for i, material in enumerate(different)}
    numbers = np.array([number[material] for material in materials], dtype=np.int64)
    pairs = np.array([combined(a, b) for a in different for b in different]).reshape(*2 * (len(different),), 2)
    return numbers, np.ascontiguousarray(np.moveaxis(pairs, 2, 0))


def touching_materials(
    packed: PackedWorld, half_space: IntArray, shape_a: IntArray, shape_b: IntArray
) -> tuple[NDArray[np.bool_], IntArray, IntArray]:
    """Return which rows of a contact table have two surfaces, and the numbers of the materials of these rows."""
    a = np.where(half_space >= 0, packed.material.size - packed.offsets.size + half_space, shape_a)
    known = (a >= 0) & (shape_b >= 0)
    return known, packed.material[a[known]], packed.material[shape_b[known]]


# Initial capacities for candidate pairs, by shape, and for the contacts of one pair; both grow on demand.
PAIRS_PER_SHAPE = 16
CONTACTS_OF_A_PAIR = 64


def pack_collision(world: World) -> Collision | None:
    """Pack the shapes, without capacity for pairs and contacts; return None if no pair of them may touch."""
    touching = build_collision_filter(world)
    if touching is None:
        return None
    n_surfaces, n_half_spaces = len(world.surfaces), len(world.half_spaces)
    n = n_surfaces + n_half_spaces
    if n > MAX_SHAPES:
        raise SimulationConfigError("shapes", f"at most {MAX_SHAPES} fit a contact id, got {n}")
    material, (friction, _) = material_pairs(world, lambda a, b: (combine(a, b)[0], 0.0))
    return Collision(
        *world.packed_shapes,
        body=touching.body,
        link=touching.link,
        half_space=np.array([*[-1] * n_surfaces, *range(n_half_spaces)], dtype=np.int64),
        category=touching.category,
        mask=touching.mask,
        excluded=touching.excluded,
        material=material,
        pair_mu=friction,
        **Collision.zeros({"n": n, "pairs": 0, "contacts": 0}, first="poses"),
    )


def new_collision(packed: Collision, pairs: int = 0, contacts: int = 0) -> Collision:
    """Return packed shapes with new workspaces, for at least ``pairs`` pairs and ``contacts`` contacts of one pair."""
    from contactlab.collision.shapes.shape import workspace

    n = packed.kind.size
    lengths = {"n": n, "pairs": max(pairs, PAIRS_PER_SHAPE * n), "contacts": max(contacts, CONTACTS_OF_A_PAIR)}
    work, ints = workspace()
    workspaces = Collision.zeros(lengths, first="poses") | {"order": np.arange(n), "work": work, "ints": ints}
    return packed._replace(**workspaces)


def grow_collision(held: Collision, pairs: int, contacts: int) -> Collision:
    """Return larger workspaces: at least ``pairs`` pairs and half as many again, and ``contacts`` per pair."""
    room = held.pairs.size
    pairs = max(pairs, room * 3 // 2) if pairs > room else room
    return new_collision(held, pairs, max(contacts, held.features.size))


def all_joints(world: World) -> JointRows:
    """Pack the actions on the joints of a checked world, also if there are none."""
    actions = world.joint_actions
    rows, nv = world.joint_rows, world.nv
    damping = np.zeros(nv)
    for one in actions.damping:
        damping[world.place_of(one.body, one.coordinate)[0]] += one.value
    springs = []
    for i, term in actions.springs:
        dof, place = world.place_of(actions.drives[i].joint, actions.drives[i].coordinate)
        springs.append(SimpleNamespace(dof=dof, place=place, drive=i, **term._asdict()))
    packed = world.loops.packed
    counts = np.array([len(row.trees) for row in rows], dtype=np.int64)
    lengths = {"nd": len(actions.drives), "nloop": packed.n, "nv": nv}
    return JointRows(
        damping=damping,
        rows=records_of(_joint_row_type(), rows),
        row_trees=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        trees=np.array([tree for row in rows for tree in row.trees], dtype=np.int64),
        needs_position=np.array([drive.needs_position for drive in actions.drives], dtype=np.int64),
        springs=records_of(Spring.dtype, springs),
        loop_ints=packed.model_ints,
        loop_floats=packed.model_floats,
        target=np.array([drive.target for drive in actions.drives], dtype=np.float64),
        # Workspaces, allocated by `new_joints` and `grow_joints`.
        **JointRows.zeros(defaultdict(int, lengths), first="target_table"),
    )


def new_joints(packed: JointRows, trees: int) -> JointRows:
    """Return packed rows with new workspaces; the arrays of islands are empty."""
    nloop, nv = packed.loop_G.shape
    lengths = {"n": packed.rows.size, "nd": packed.target.size, "nloop": nloop, "nv": nv, "nt + 1": trees + 1}
    workspaces = JointRows.zeros(lengths | {"loop work": SCRATCH}, "target_table", "previous_z")
    return packed._replace(target=packed.target.copy(), **workspaces)


def grow_joints(held: JointRows, rows: int, nv: int, equations: int) -> JointRows:
    """Enlarge the workspaces to an island of at least this number of rows, velocities and rows G."""
    from contactlab.constraint_solver.kernels.bilateral import bilateral_work_size

    rows, nv = max(rows, held.k.size), max(nv, held.v0.size)
    P = max(equations * equations, held.P.size)
    ng = math.isqrt(P)
    lengths = {"m": rows, "2 m": 2 * rows, "nv": nv, "m nv": rows * nv, "ng": ng, "ng ng": P}
    return held._replace(**JointRows.zeros(lengths | {"work": int(bilateral_work_size(ng, nv))}, first="J"))


def acted_on(world: World) -> set[int]:
    """Return the trees on which surfaces or joint actions can act, in addition to weights and applied forces."""
    found = {int(world.body_trees[body]) for body in world.surface_bodies}
    found |= {tree for row in world.joint_rows for tree in row.trees}
    actions = world.joint_actions
    names = [one.body for one in actions.damping if one.value != 0.0]
    names += [world.model.body_of_joint(actions.drives[i].joint) for i, _ in actions.springs]
    return found | {int(world.body_trees[world.model.index(name)]) for name in names}


def free_kinds(world: World) -> IntArray:
    """Return how each tree (nt,) moves without active rows: a FREE_... of `kernels.layout`.

    Trees whose inertia depends on the configuration need more than one step of Euler's rule: trees with two heavy
    links, or with a heavy link that turns about several joints.
    """
    model = world.model
    parent = structure(model).parent
    kinds, _ = motions(model)
    first = np.append(np.flatnonzero(parent < 0), parent.size)
    mass = model.packed.floats[3 + 18 * parent.size : 3 + 19 * parent.size]
    acted = acted_on(world)
    out = np.full(first.size - 1, FREE_EULER, dtype=np.int64)
    for tree, (a, b) in enumerate(itertools.pairwise(first.tolist())):
        heavy = int(np.count_nonzero(mass[a:b] > 0.0))
        turning = int(np.count_nonzero(~np.isin(kinds[a:b], (PRISMATIC, TRANSLATION))))
        if b - a > 1 and (heavy > 1 or (heavy == 1 and turning > 1)):
            out[tree] = FREE_KICKED if tree in acted else FREE_ALONE
    return out


def pack_free_trees(world: World) -> dict[str, Any]:
    """Return the fields of `PackedWorld` for trees of several links, by name."""
    model = world.model
    first = np.append(np.flatnonzero(structure(model).parent < 0), model.packed.nl)
    several = np.diff(first) > 1
    if not several.any():
        return PackedWorld.zeros({"nt": 0, "free": 0}, first="free")
    ways, parts = free_kinds(world), []
    none = pack([], np.zeros(3))["packed"]
    for tree, way in enumerate(ways):
        if not several[tree]:
            parts.append(none)
            continue
        # The kick of a kicked tree contains its weights. A tree may hang on bodies that are fixed to the world.
        gravity = model.gravity if way == FREE_ALONE else np.zeros(3)
        bodies = zip(model.bodies, world.body_trees, strict=True)
        parts.append(pack([spec for spec, k in bodies if k in (tree, -1)], gravity)["packed"])
    ends = np.cumsum([(0, 0), *((part.ints.size, part.floats.size) for part in parts)], axis=0)
    (ints, floats), q = ends.T, motions(model)[1][first]
    columns = ways, ints[:-1], ints[1:], floats[:-1], floats[1:], q[:-1], q[1:]
    return {
        "free": np.stack(columns, axis=1).astype(np.int64),
        "free_ints": np.concatenate([part.ints for part in parts]),
        "free_floats": np.concatenate([part.floats for part in parts]),
    }


def free_size(packed: PackedWorld) -> int:
    """Return the number of floats that the Runge-Kutta method needs for the largest tree of several links."""
    from contactlab.multibody.kernels.integration import runge_kutta_size

    size = 0
    for row in packed.free:
        begin, end = int(row[FREE_INT]), int(row[FREE_INT_END])
        if end > begin:
            nl, nq, nv = packed.free_ints[begin : begin + 3].tolist()
            size = max(size, runge_kutta_size(nl, nv, nq) + 4 * nv)
    return size

"""Kinematic trees of a world, and pairs of its shapes that can collide.

Pairs depend on bodies, welds and joints, on filters, and on excluded pairs.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import BodyShape, Mesh, Shape
from contactlab.multibody import BodySpec, Model, ModelBuilder
from contactlab.multibody.model import WORLD
from contactlab.multibody.packing import structure
from contactlab.multibody.spatial.arrays import IntArray
from contactlab.simulation.world.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.simulation.world.world import World


def with_prefix(body: BodySpec, prefix: str) -> BodySpec:
    """Return a body with a prefix before its name and the name of its parent."""
    parent = body.parent if body.parent == WORLD else prefix + body.parent
    name, joint_name = prefix + body.name, prefix + body.joint_name
    return dataclasses.replace(body, name=name, parent=parent, joint_name=joint_name)


def model_of(specs: Iterable[BodySpec], gravity: ArrayLike) -> Model:
    """Return the model of bodies, in this order."""
    builder = ModelBuilder(gravity)
    for body in specs:
        builder.add_spec(body)
    return builder.build()


def by_trees(specs: list[BodySpec], gravity: ArrayLike) -> list[BodySpec]:
    """Return the bodies in this order if trees are consecutive, else sorted, with bodies fixed to the world first."""
    model = model_of(specs, gravity)
    if np.all(np.diff(structure(model).root) >= 0):
        return specs
    # The sort is stable: parents stay before their children.
    return [specs[i] for i in np.argsort(body_trees(model), kind="stable")]


def check_model(model: Model) -> None:
    """Raise `SimulationConfigError` with the reason if the loop cannot step a model."""
    for body in model.bodies:
        if any(joint is body.joint for joint, _, _ in model.packed.custom):
            raise SimulationConfigError(
                "model", f"the joint of {body.name!r} is a custom one, which the compiled loop cannot evaluate"
            )
    root, iv = structure(model).root, structure(model).iv
    apart = np.flatnonzero(np.diff(root) < 0)
    if apart.size:
        dof = int(iv[apart[0] + 1])
        name = next(body.name for body in model.bodies if dof < model.v_slice(body.name).stop)
        raise SimulationConfigError(
            "model", f"bodies of one tree must be consecutive, {name!r} is not; `WorldBuilder.add_model` sorts them"
        )


def first_dofs(model: Model) -> IntArray:
    """Return the index in v of the first velocity of each tree, followed by nv (nt + 1,)."""
    parent, _, iv, *_ = structure(model)
    return np.append(iv[:-1][parent < 0], model.nv).astype(np.int64)


def body_trees(model: Model) -> IntArray:
    """Return the tree of each body (nb,), -1 for a body fixed to the world."""
    parent, root, _, _, _, body_link = structure(model)
    number = np.cumsum(parent < 0) - 1
    return np.array([number[root[link]] if link >= 0 else -1 for link in body_link], dtype=np.int64)


# Bits of the broad phase: shapes of bodies, half-spaces of the world; the user's bits begin at bit FILTER.
BODIES, HALF_SPACES, FILTER = 1, 2, 2


class CollisionFilter(NamedTuple):
    """The n shapes of a world, its half-spaces last."""

    # Numbers of the body and the link of each shape, -1 for none.
    body: IntArray
    link: IntArray
    # Bits of the broad phase.
    category: IntArray
    mask: IntArray
    excluded: IntArray  # pairs i n + j, i < j, that do not touch for any bits; ascending


def build_collision_filter(world: World) -> CollisionFilter | None:
    """Return the collision filter, or None if no pair of shapes can touch; a pair of two meshes raises an error."""
    body = np.array([*world.surface_bodies, *[-1] * len(world.half_spaces)], dtype=np.int64)
    body_link = structure(world.model).body_link
    link = np.array([body_link[b] if b >= 0 else -1 for b in body], dtype=np.int64)
    touching = CollisionFilter(body, link, *_filters(world), _excluded(world, body.size))
    if not any(_partners(touching, i).size for i in range(link.size)):
        return None
    _check_meshes(world, touching)
    return touching


def _filters(world: World) -> tuple[IntArray, IntArray]:
    """Return category and mask (n,) of all shapes, followed by the world's half-spaces, for the search for pairs.

    Bodies' support points on half-spaces are tested separately, so their pairs are masked out here. The bits of the
    user's filters are above the bits of this module.
    """
    rows = []
    for surface in world.surfaces:
        if not isinstance(surface.shape, Shape):
            rows.append((0, 0))
            continue
        mask = surface.mask << FILTER if world.body_contacts else 0
        if not isinstance(surface.shape, BodyShape):
            mask |= HALF_SPACES
        rows.append((BODIES | surface.category << FILTER, mask))
    rows += [(HALF_SPACES, BODIES)] * len(world.half_spaces)
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def _check_meshes(world: World, touching: CollisionFilter) -> None:
    """Raise if two meshes may touch and neither is convex."""
    meshes = {i for i, s in enumerate(world.surfaces) if isinstance(s.shape, Mesh) and not s.shape.convex}
    for i in sorted(meshes):
        for j in meshes.intersection(_partners(touching, i).tolist()):
            a, b = (world.model.names[world.surface_bodies[k]] for k in (i, j))
            raise SimulationConfigError(
                "shape",
                f"the meshes of {a!r} and {b!r} are both not convex: give convex parts of one, or let them not touch",
            )


def _partners(touching: CollisionFilter, i: int) -> IntArray:
    """Return the later shapes that shape i can touch; all shapes fixed to the world are one body."""
    _, link, category, mask, excluded = touching
    later = np.arange(i + 1, link.size)
    may = (link[later] != link[i]) & (category[i] & mask[later] != 0) & (category[later] & mask[i] != 0)
    return np.asarray(later[may & ~np.isin(i * link.size + later, excluded)])


def _excluded(world: World, n: int) -> IntArray:
    """Return pairs i n + j of shapes: on connected bodies, on bodies that exclude each other, filtered half-spaces."""
    of_body, of_weld = defaultdict(list), defaultdict(list)
    welds, model, found = _welds(world.model), world.model, set[int]()
    for i, owner in enumerate(world.surface_bodies):
        of_body[owner].append(i)
        of_weld[welds[model.names[owner]]].append(i)
    joined = {(welds[body.parent], welds[body.name]) for body in model.bodies if body.parent != WORLD}
    joined -= {(weld, weld) for weld in welds.values()}
    for groups, pairs in ((of_weld, joined), (of_body, set(world.excluded_pairs))):
        for a, b in pairs:
            for i, j in itertools.product(groups.get(a, ()), groups.get(b, ())):
                found.add(min(i, j) * n + max(i, j))
    for i, s in itertools.product(range(len(world.surfaces)), range(len(world.half_space_filters))):
        if not may_touch_half_space(world, i, s):
            found.add(i * n + len(world.surfaces) + s)
    return np.array(sorted(found), dtype=np.int64)


def may_touch_half_space(world: World, surface: int, half_space: int) -> bool:
    """Return True if the filters allow contact of a shape, by its number, with one of the world's half-spaces."""
    if not world.half_space_filters:
        return True
    own, (category, mask) = world.surfaces[surface], world.half_space_filters[half_space]
    return bool(own.category & mask and category & own.mask)


def _welds(model: Model) -> dict[str, int]:
    """Return a number for the weld of each body: its link, or, if fixed to the world, the first body fixed there."""
    welds: dict[str, int] = {}
    for i, (body, link) in enumerate(zip(model.bodies, structure(model).body_link, strict=True)):
        fixed = -1 - i if body.parent == WORLD else welds[body.parent]
        welds[body.name] = int(link) if link >= 0 else fixed
    return welds

"""Pairs of the shapes of a world that can collide.

Pairs depend on bodies, welds and joints, on filters, and on excluded pairs.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from contactlab.collision import BodyShape, Mesh, Shape
from contactlab.multibody import Model
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.model import structure
from contactlab.multibody.spatial.arrays import IntArray
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.world import World

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
    """Return the excluded pairs i n + j of shapes: on connected bodies, by exclusion of bodies, or by filter bits."""
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

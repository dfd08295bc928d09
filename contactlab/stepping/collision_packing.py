"""The shapes of a world that can touch one another, as the arrays of collision detection; None where none can."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import BodyShape, ContactError, Material, Placed, Shape, Sphere, combine
from contactlab.multibody.model import WORLD
from contactlab.multibody.structure import structure
from contactlab.spatial import Transform
from contactlab.stepping.errors import SimulationConfigError
from contactlab.stepping.kernels.collision import MAX_SHAPES, Collision
from contactlab.stepping.kernels.layout import Control

if TYPE_CHECKING:
    from contactlab.multibody import Model
    from contactlab.world.world import World

__all__ = ["grow_collision", "may_touch_half_space", "new_collision", "pack_collision", "pair_tables"]

IntArray = NDArray[np.int64]

# Bits of the broad phase: shapes of bodies, half-spaces of the world; the user's begin at the place FILTER.
BODIES, HALF_SPACES, FILTER = 1, 2, 2

# First room for candidate pairs, by shape, and for the contacts of one pair; both grow on demand.
PAIRS_PER_SHAPE = 16
CONTACTS_OF_A_PAIR = 64


def pack_collision(world: World) -> Collision | None:
    """Lay the shapes out, without room for pairs and contacts; None where no pair of them may touch."""
    from contactlab.contact.detection import pack_shapes

    surfaces, n_surfaces, n_half_spaces = world.surfaces, len(world.surfaces), len(world.half_spaces)
    n = n_surfaces + n_half_spaces
    body = np.array([*world.surface_bodies, *[-1] * n_half_spaces], dtype=np.int64)
    body_link = structure(world.model).body_link
    link = np.array([body_link[b] if b >= 0 else -1 for b in body], dtype=np.int64)
    category, mask = _filters(world)
    excluded = _excluded(world, n)
    if not _any_pair(np.where(link < 0, -1, link), category, mask, excluded):
        return None
    if n > MAX_SHAPES:
        raise SimulationConfigError("shapes", f"at most {MAX_SHAPES} fit a contact id, got {n}")
    # One of the user's own has its place in the numbers, and no pair.
    own = [Placed(s.shape if isinstance(s.shape, Shape) else Sphere(1.0), s.placement) for s in surfaces]
    try:
        packed = pack_shapes([*own, *(Placed(half_space, Transform()) for half_space in world.half_spaces)])
    except ContactError as error:
        raise SimulationConfigError(error.field, error.detail) from error
    _check_meshes(world, packed.kind, np.where(link < 0, -1, link), (category, mask), excluded)
    material, pair_mu, pair_restitution = pair_tables(
        [*(surface.material for surface in surfaces), *world.half_space_materials]
    )
    return Collision(
        *packed,
        body=body,
        link=link,
        half_space=np.array([*[-1] * n_surfaces, *range(n_half_spaces)], dtype=np.int64),
        category=category,
        mask=mask,
        excluded=excluded,
        material=material,
        pair_mu=pair_mu,
        pair_restitution=pair_restitution,
        poses=np.zeros((n, 12)),
        boxes=np.zeros((n, 6)),
        reach=np.zeros(n),
        order=np.arange(n, dtype=np.int64),
        keys=np.zeros(n),
        pairs=np.zeros(0, dtype=np.int64),
        work=np.zeros(0),
        ints=np.zeros(0, dtype=np.int64),
        points=np.zeros((0, 7)),
        features=np.zeros(0, dtype=np.int64),
    )


def new_collision(packed: Collision, pairs: int = 0, contacts: int = 0) -> Collision:
    """Give packed shapes workspaces of their own, with room for so many pairs and contacts of one pair at least."""
    from contactlab.contact.detection.packing import workspace

    n = packed.kind.size
    pairs, contacts = max(pairs, PAIRS_PER_SHAPE * n), max(contacts, CONTACTS_OF_A_PAIR)
    work, ints = workspace()
    return packed._replace(
        poses=np.zeros((n, 12)),
        boxes=np.zeros((n, 6)),
        reach=np.zeros(n),
        order=np.arange(n, dtype=np.int64),
        keys=np.zeros(n),
        pairs=np.zeros(pairs, dtype=np.int64),
        work=work,
        ints=ints,
        points=np.zeros((contacts, 7)),
        features=np.zeros(contacts, dtype=np.int64),
    )


def grow_collision(held: Collision, control: Control) -> Collision | None:
    """Return larger workspaces where the loop found those held too small, None where it did not."""
    pairs, contacts = held.pairs.size, held.features.size
    more_pairs, more_contacts = int(control.want_pairs), int(control.want_pair_contacts)
    if more_pairs <= pairs and more_contacts <= contacts:
        return None
    # By half at least, so that growth is rare.
    pairs = max(more_pairs, pairs * 3 // 2) if more_pairs > pairs else pairs
    return new_collision(held, pairs, max(more_contacts, contacts))


def pair_tables(materials: list[Material]) -> tuple[IntArray, NDArray[np.float64], NDArray[np.float64]]:
    """Number the different materials; return each one's number and the tables of mu and restitution by number."""
    different = list(dict.fromkeys(materials))
    number = {material: i for i, material in enumerate(different)}
    pairs = np.array([[combine(a, b) for b in different] for a in different]).reshape(*2 * (len(different),), 2)
    numbers = np.array([number[material] for material in materials], dtype=np.int64)
    return numbers, pairs[:, :, 0].copy(), pairs[:, :, 1].copy()


def _filters(world: World) -> tuple[IntArray, IntArray]:
    """Return category and mask of every shape: support points meet the world's half-spaces on a way of their own.

    The bits of the user's filters stand above those of this module.
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


def _check_meshes(world: World, kind: IntArray, link: IntArray, bits: tuple[IntArray, IntArray], out: IntArray) -> None:
    """Refuse two meshes that may touch and of which neither is convex; ``out`` are the excluded pairs."""
    from contactlab.contact.detection.kernels.layout import MESH

    category, mask = bits
    excluded = set(out.tolist())
    for i, j in itertools.combinations([int(i) for i in np.flatnonzero(kind == MESH)], 2):
        apart = link[i] != link[j] and max(link[i], link[j]) >= 0
        if apart and category[i] & mask[j] and category[j] & mask[i] and i * kind.size + j not in excluded:
            a, b = (world.model.names[world.surface_bodies[k]] for k in (i, j))
            detail = (
                f"the meshes of {a!r} and {b!r} are both not convex: give convex parts of one, or let them not touch"
            )
            raise SimulationConfigError("shape", detail)


def _excluded(world: World, n: int) -> IntArray:
    """Pairs i n + j of shapes: on bodies a joint joins, on bodies that ignore each other, filtered from half-spaces."""
    of_body, of_weld = defaultdict(list), defaultdict(list)
    welds = _welds(world.model)
    for i, owner in enumerate(world.surface_bodies):
        of_body[owner].append(i)
        of_weld[welds[owner]].append(i)
    joined = set()
    for weld, body in zip(welds, world.model.bodies, strict=True):
        if body.parent != WORLD:
            parent = welds[world.model.names.index(body.parent)]
            if parent != weld:
                joined.add((parent, weld))
    found = set()
    for groups, pairs in ((of_weld, joined), (of_body, set(world.ignored))):
        for a, b in pairs:
            for i, j in itertools.product(groups.get(a, ()), groups.get(b, ())):
                found.add(min(i, j) * n + max(i, j))
    for i, s in itertools.product(range(len(world.surfaces)), range(len(world.half_space_filters))):
        if not may_touch_half_space(world, i, s):
            found.add(i * n + len(world.surfaces) + s)
    return np.array(sorted(found), dtype=np.int64)


def may_touch_half_space(world: World, surface: int, half_space: int) -> bool:
    """Whether the filters let a shape, by its number, touch one of the world's half-spaces."""
    if not world.half_space_filters:
        return True
    own, (category, mask) = world.surfaces[surface], world.half_space_filters[half_space]
    return bool(own.category & mask and category & own.mask)


def _welds(model: Model) -> list[int]:
    """Return a number for the weld of each body: its link, or, fixed to the world, the first body of its stand."""
    number = {name: i for i, name in enumerate(model.names)}
    welds: list[int] = []
    for i, link in enumerate(structure(model).body_link):
        parent = model.bodies[i].parent
        if link >= 0:
            welds.append(int(link))
        elif parent == WORLD:
            welds.append(-1 - i)
        else:
            welds.append(welds[number[parent]])
    return welds


def _any_pair(owner: IntArray, category: IntArray, mask: IntArray, excluded: IntArray) -> bool:
    """Whether some pair of shapes may touch."""
    n = owner.size
    for i in range(n):
        rest = slice(i + 1, n)
        may = (owner[rest] != owner[i]) & (category[i] & mask[rest] != 0) & (category[rest] & mask[i] != 0)
        pairs = i * n + i + 1 + np.flatnonzero(may)
        if not np.all(np.isin(pairs, excluded)):
            return True
    return False

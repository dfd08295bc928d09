"""The shapes of a world that can touch one another, as the arrays of collision detection; None where none can."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import combine
from contactlab.stepping.kernels.collision import MAX_SHAPES, Collision
from contactlab.stepping.kernels.layout import Control
from contactlab.stepping.packing import material_pairs
from contactlab.world.errors import SimulationConfigError
from contactlab.world.touching import touching_shapes

if TYPE_CHECKING:
    from contactlab.world.world import World

IntArray = NDArray[np.int64]

# First room for candidate pairs, by shape, and for the contacts of one pair; both grow on demand.
PAIRS_PER_SHAPE = 16
CONTACTS_OF_A_PAIR = 64


def pack_collision(world: World) -> Collision | None:
    """Lay the shapes out, without room for pairs and contacts; None where no pair of them may touch."""
    touching = touching_shapes(world)
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


def collision_in(held: Collision, packed: Collision) -> Collision:
    """Return packed shapes in the workspaces of others, of the same number."""
    own = ("poses", "boxes", "reach", "order", "keys", "pairs", "work", "ints", "points", "features")
    return packed._replace(**{name: getattr(held, name) for name in own})


def grow_collision(held: Collision, control: Control) -> Collision | None:
    """Return larger workspaces where the loop found those held too small, None where it did not."""
    pairs, contacts = held.pairs.size, held.features.size
    more_pairs, more_contacts = int(control.want_pairs), int(control.want_pair_contacts)
    if more_pairs <= pairs and more_contacts <= contacts:
        return None
    # By half at least, so that growth is rare.
    pairs = max(more_pairs, pairs * 3 // 2) if more_pairs > pairs else pairs
    return new_collision(held, pairs, max(more_contacts, contacts))
